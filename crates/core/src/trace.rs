//! The trace that an item belongs to: `traceparent` and `tracestate` of W3C Trace Context.
//!
//! It is handed on, from whoever creates an item to whoever works on it, and nothing else is done with it: no decision looks
//! at it and no entry holds it. It stands in the item's row and goes with the item's bodies when they are erased.
//!
//! What is not as the specification says is no trace, and never an error: a request must not fail because of its tracing.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// So much of a `tracestate` everybody must hand on, and a row must not grow with what nobody has to.
pub const STATE_BYTES_MAX: usize = 512;
/// The most that a `tracestate` may list.
const MEMBERS_MAX: usize = 32;
/// The longest key of a member, and its longest value.
const MEMBER_BYTES_MAX: usize = 256;
/// `00-` trace id `-` parent id `-` flags.
const PARENT_BYTES: usize = 55;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    parent: Box<str>,
    /// Empty: there is none.
    state: Box<str>,
}

impl Trace {
    /// None: this is no `traceparent`. A `tracestate` that is none is left out.
    pub fn read(parent: &str, state: &str) -> Option<Trace> {
        let parent = read_parent(parent.trim())?;
        let state = read_state(state).unwrap_or_default();
        Some(Trace { parent: parent.into(), state: state.into() })
    }

    pub fn parent(&self) -> &str {
        &self.parent
    }

    pub fn state(&self) -> Option<&str> {
        Some(&*self.state).filter(|state| !state.is_empty())
    }
}

/// Of a newer version than ours only the parts are used that we know, and it is handed on as ours.
fn read_parent(text: &str) -> Option<String> {
    let parts = text.is_ascii().then(|| text.get(..PARENT_BYTES)).flatten()?;
    let mut parts = parts.split('-');
    let mut part = |bytes: usize| parts.next().filter(|part| part.len() == bytes && is_hex(part));
    let (version, trace, parent, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    if version == "ff" || is_zero(trace) || is_zero(parent) {
        return None;
    }
    match (version, text.as_bytes().get(PARENT_BYTES)) {
        ("00", None) => Some(text.into()),
        ("00", Some(_)) => None,
        (_, None | Some(b'-')) => {
            let sampled = u8::from_str_radix(flags, 16).ok()? & 1;
            Some(format!("00-{trace}-{parent}-{sampled:02x}"))
        }
        (_, Some(_)) => None,
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The list as it came, without what is too much of it at its end. None: it is no such list.
fn read_state(text: &str) -> Option<String> {
    let members = text.split(',').map(|member| member.trim_matches([' ', '\t']));
    let members: Vec<&str> = members.filter(|member| !member.is_empty()).collect();
    if members.len() > MEMBERS_MAX || !members.iter().all(|member| is_member(member)) {
        return None;
    }
    let mut state = String::new();
    for member in members {
        let comma = if state.is_empty() { "" } else { "," };
        if state.len() + comma.len() + member.len() > STATE_BYTES_MAX {
            break;
        }
        state.push_str(comma);
        state.push_str(member);
    }
    Some(state)
}

fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let in_key = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let first = key.bytes().next();
    let is_key = first.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    is_key
        && key.bytes().all(in_key)
        && key.len() <= MEMBER_BYTES_MAX
        && (1..=MEMBER_BYTES_MAX).contains(&value.len())
        && value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    fn parent(text: &str) -> Option<String> {
        Trace::read(text, "").map(|trace| trace.parent().into())
    }

    #[test]
    fn a_traceparent_is_handed_on_as_it_came() {
        let good = format!("00-{TRACE}-{PARENT}-01");
        assert_eq!(parent(&good), Some(good.clone()));
        assert_eq!(parent(&format!(" {good}\t")), Some(good));
    }

    #[test]
    fn what_is_no_traceparent_is_no_trace() {
        let zero = |digits: usize| "0".repeat(digits);
        for wrong in [
            String::new(),
            "x".repeat(PARENT_BYTES),
            "ä".repeat(PARENT_BYTES),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-{TRACE}-{PARENT}-01-more"),
            format!("01-{TRACE}-{PARENT}-01more"),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("00-{}-{PARENT}-01", zero(32)),
            format!("00-{TRACE}-{}-01", zero(16)),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}{PARENT}--01"),
            format!("00-{TRACE}-{PARENT}-0g"),
        ] {
            assert_eq!(parent(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_newer_version_is_read_as_far_as_it_is_known() {
        for (newer, flags) in [("cc", "01"), ("cc", "03"), ("01", "02")] {
            let sampled = if flags == "02" { "00" } else { "01" };
            let known = Some(format!("00-{TRACE}-{PARENT}-{sampled}"));
            assert_eq!(parent(&format!("{newer}-{TRACE}-{PARENT}-{flags}")), known);
            assert_eq!(parent(&format!("{newer}-{TRACE}-{PARENT}-{flags}-what-will-be")), known);
        }
    }

    #[test]
    fn a_tracestate_is_a_list_or_left_out() {
        let state = |text: &str| {
            let trace = Trace::read(&format!("00-{TRACE}-{PARENT}-00"), text).expect("the parent is good");
            trace.state().map(String::from)
        };
        assert_eq!(
            state("rojo=00f067aa0ba902b7, congo=t61 rc,,"),
            Some("rojo=00f067aa0ba902b7,congo=t61 rc".into())
        );
        assert_eq!(state("t@vendor=1"), Some("t@vendor=1".into()));
        for wrong in ["", "rojo", "=1", "rojo=", "Rojo=1", "rojo=a=b", "rojo=ä"] {
            assert_eq!(state(wrong), None, "{wrong}");
        }
        assert_eq!(state(&vec!["a=1"; MEMBERS_MAX + 1].join(",")), None);
        let long = format!("{},b=2", vec![format!("a={}", "x".repeat(100)); 5].join(","));
        let kept = state(&long).expect("its beginning");
        assert!(kept.len() <= STATE_BYTES_MAX && long.starts_with(&kept), "{kept}");
        assert_eq!(kept.split(',').count(), 4, "whole members, from the first on");
    }
}
