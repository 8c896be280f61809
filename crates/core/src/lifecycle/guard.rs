//! Guards: the conditions in a table's Guard column, by the words they are written in.
//!
//! Three sorts. *Kernel* guards look at the item, the request and the world and are judged inside the write
//! transaction. *Payload* guards compare a field of the item's payload with a literal. *Attested* guards are about what
//! the kernel can not see (a workspace on somebody's disk, gates that ran there): the system that serves the call
//! establishes them and says so in its request; no client can.

use alloc::string::{String, ToString};
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use serde_json::Value;

use crate::code::Code;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Guard {
    /// This attempt is not the last one: failing now leaves another.
    AttemptsLeft,
    AttemptsExhausted,
    /// The worker says that trying again is useless.
    Permanent,
    /// A reason is given.
    Reason,
    /// The actor is the one who holds the item, in this incarnation or another.
    Owner,
    /// No other item of this kind and key is held.
    NoOtherRunning,
    /// Every item linked as `depends` has succeeded.
    DependenciesDone,
    /// Every item linked as `blocker` has ended.
    BlockersClosed,
    /// The request names a session that is held by this actor and has not lapsed.
    LiveSession,
    /// Every record in the request is on the item already, with the same content.
    SameProof,
    /// Attested: the caller's workspace may be changed.
    Workspace,
    /// Attested: every blocking gate of the item's plan passed.
    GatesPass,
    /// Attested: what the commit writes is what the domain's decomposer made of the payload.
    Decomposition,
    /// Attested: the commit writes one output bundle, which fits its schema, and the gate that will judge it.
    OutputBundle,
    /// Attested: the item says whose judgement it is, it is theirs, and they hand it in.
    Judgement,
    /// Attested: the commit says what has become of the event, and writes what follows from it.
    TerminalReason,
    /// Attested: the commit writes one run record, which fits its schema, and moves the ticket as that says.
    RunRecord,
    /// Attested: the move closes every open item that names this one as what it blocks. Such items have a link to this one, and
    /// this one none to them, so the kernel does not see them.
    BlockersNamed,
    Payload(Comparison),
}

const WORDS: [(&str, Guard); 18] = [
    ("attempts left", Guard::AttemptsLeft),
    ("attempts exhausted", Guard::AttemptsExhausted),
    ("permanent", Guard::Permanent),
    ("reason", Guard::Reason),
    ("owner", Guard::Owner),
    ("no other running for key", Guard::NoOtherRunning),
    ("dependencies done", Guard::DependenciesDone),
    ("blockers closed", Guard::BlockersClosed),
    ("live session", Guard::LiveSession),
    ("same proof", Guard::SameProof),
    ("workspace", Guard::Workspace),
    ("gates pass", Guard::GatesPass),
    ("decomposition", Guard::Decomposition),
    ("output bundle", Guard::OutputBundle),
    ("judgement", Guard::Judgement),
    ("terminal reason", Guard::TerminalReason),
    ("run record", Guard::RunRecord),
    ("blockers named", Guard::BlockersNamed),
];

impl Guard {
    /// The words of every guard that is not a comparison.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
    }

    /// Those that a system establishes.
    pub const ATTESTED: [Guard; 8] = [
        Guard::Workspace,
        Guard::GatesPass,
        Guard::Decomposition,
        Guard::OutputBundle,
        Guard::Judgement,
        Guard::TerminalReason,
        Guard::RunRecord,
        Guard::BlockersNamed,
    ];

    pub fn is_attested(&self) -> bool {
        Guard::ATTESTED.contains(self)
    }

    /// The code of a refusal for want of this guard.
    pub fn code(&self) -> Code {
        match self {
            Guard::Reason => Code::InvalidRequest,
            Guard::Owner | Guard::NoOtherRunning => Code::ClaimConflict,
            Guard::LiveSession => Code::SessionRequired,
            Guard::Workspace => Code::WorkspaceRequired,
            Guard::GatesPass | Guard::SameProof => Code::VerificationRequired,
            Guard::Decomposition => Code::NotDecomposed,
            Guard::AttemptsLeft | Guard::AttemptsExhausted | Guard::Permanent => Code::TransitionRefused,
            Guard::DependenciesDone | Guard::BlockersClosed | Guard::Payload(_) => Code::TransitionRefused,
            Guard::OutputBundle | Guard::TerminalReason | Guard::RunRecord => Code::TransitionRefused,
            Guard::BlockersNamed | Guard::Judgement => Code::TransitionRefused,
        }
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Guard::Payload(comparison) = self {
            return write!(f, "{comparison}");
        }
        let word = WORDS.iter().find(|(_, guard)| guard == self).map_or("?", |(word, _)| *word);
        f.write_str(word)
    }
}

/// The text is no guard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAGuard(pub String);

impl FromStr for Guard {
    type Err = NotAGuard;

    fn from_str(text: &str) -> Result<Guard, NotAGuard> {
        if let Some((_, guard)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(guard.clone());
        }
        match text.strip_prefix("payload ") {
            Some(rest) => rest.parse().map(Guard::Payload),
            None => Err(NotAGuard(alloc::format!("there is no guard `{text}`"))),
        }
    }
}

/// `payload /size <= 1000`: a field of the payload, by JSON pointer, against a literal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    pub pointer: String,
    pub operator: Operator,
    pub literal: Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    const ALL: [Operator; 6] = [
        Operator::Equal,
        Operator::NotEqual,
        Operator::LessOrEqual,
        Operator::Less,
        Operator::GreaterOrEqual,
        Operator::Greater,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
        }
    }
}

impl Comparison {
    /// A missing field equals nothing and is neither less nor greater, so only `!=` holds for it. Values of different
    /// types compare the same way.
    pub fn holds(&self, payload: &Value) -> bool {
        let found = payload.pointer(&self.pointer);
        let order = found.and_then(|found| order(found, &self.literal));
        match self.operator {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::Less => order == Some(Ordering::Less),
            Operator::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
        },
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        _ => None,
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "payload {} {} {}", self.pointer, self.operator.as_str(), self.literal)
    }
}

impl FromStr for Comparison {
    type Err = NotAGuard;

    fn from_str(text: &str) -> Result<Comparison, NotAGuard> {
        let wrong = |what: &str| {
            NotAGuard(alloc::format!(
                "{what} in `payload {text}`; a comparison reads `payload /field <= 1000`"
            ))
        };
        let mut parts = text.splitn(3, ' ').filter(|part| !part.is_empty());
        let (Some(pointer), Some(operator), Some(literal), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong("three parts are needed"));
        };
        if !pointer.starts_with('/') {
            return Err(wrong("the field is not a JSON pointer"));
        }
        let operator = Operator::ALL.into_iter().find(|known| known.as_str() == operator);
        let literal: Value = serde_json::from_str(literal).map_err(|_| wrong("the literal is not JSON"))?;
        if literal.is_array() || literal.is_object() {
            return Err(wrong("the literal is not a number, string, true, false or null"));
        }
        Ok(Comparison {
            pointer: pointer.to_string(),
            operator: operator.ok_or_else(|| wrong("the operator is none of = != < <= > >="))?,
            literal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guard_is_read_as_it_is_written() {
        for word in
            Guard::words().chain(["payload /a/b >= 1.5", "payload /s != \"x y\"", "payload /n = null"])
        {
            assert_eq!(word.parse::<Guard>().unwrap().to_string(), word);
        }
        for bad in [
            "",
            "attempts",
            "payload",
            "payload a = 1",
            "payload /a ~ 1",
            "payload /a = [1]",
            "payload /a = x",
        ] {
            assert!(bad.parse::<Guard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_missing_field_is_unequal_and_nothing_else() {
        let payload: Value = serde_json::from_str(r#"{"n": 5, "s": "b", "big": 9007199254740993}"#).unwrap();
        let cases = [
            ("/n <= 5", true),
            ("/n < 5", false),
            ("/n > 4.5", true),
            ("/s > \"a\"", true),
            ("/s = 5", false),
            ("/s != 5", true),
            ("/gone = 1", false),
            ("/gone != 1", true),
            ("/gone < 1", false),
            ("/big > 9007199254740992", true),
        ];
        for (text, holds) in cases {
            assert_eq!(text.parse::<Comparison>().unwrap().holds(&payload), holds, "{text}");
        }
    }
}
