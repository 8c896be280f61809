//! What the end of a command means for its item.
//!
//! | its end | its item |
//! |---|---|
//! | 0 | committed, with what it wrote to standard output |
//! | 75 (`EX_TEMPFAIL`) | given back, to be tried later |
//! | told to end, and not 0 | given back: stopped or cancelled, it has not failed |
//! | anything else, or an output that can not be kept | failed; standard error says why |

use std::process::ExitStatus;
use std::time::Duration;

use std::os::unix::process::ExitStatusExt;

use serde_json::value::{RawValue, to_raw_value};
use tenure::Lines;
use tenure_core::body::BODY_BYTES_MAX;

/// `EX_TEMPFAIL` of `sysexits.h`: "the user is invited to retry".
const TRY_LATER: i32 = 75;
/// Of standard error so many lines go into a reason; more of them are kept with the attempt.
const REASON_LINES: usize = 5;
const REASON_CHARS_MAX: usize = 2_000;

/// What a command did.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// None: it wrote more than is kept.
    pub output: Option<Vec<u8>>,
    pub lines: Lines,
}

/// Why a command was told to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    Cancelled,
    Drained,
}

/// What the service is told of an attempt.
#[derive(Debug)]
pub enum Told {
    Committed { output: Option<Box<RawValue>> },
    Failed { reason: String },
    GivenBack { reason: String, delay: Duration },
}

impl Told {
    pub fn of(ended: &Ended, stopped: Option<Stopped>, later: Duration) -> Told {
        match (ended.status.code(), &ended.output, stopped) {
            (_, None, _) => {
                let reason =
                    format!("it wrote more than {BODY_BYTES_MAX} bytes of output; store it and write where");
                Told::Failed { reason }
            }
            (Some(0), Some(output), _) => match body(output) {
                Ok(output) => Told::Committed { output },
                Err(reason) => Told::Failed { reason },
            },
            (_, _, Some(Stopped::Cancelled)) => {
                Told::GivenBack { reason: "cancelled".to_string(), delay: Duration::ZERO }
            }
            (_, _, Some(Stopped::Drained)) => Told::given_back(),
            (Some(TRY_LATER), _, None) => {
                Told::GivenBack { reason: reason("try later", &ended.lines), delay: later }
            }
            (Some(code), _, None) => {
                Told::Failed { reason: reason(&format!("exit code {code}"), &ended.lines) }
            }
            (None, _, None) => {
                let signal = ended.status.signal().unwrap_or_default();
                Told::Failed { reason: reason(&format!("killed by signal {signal}"), &ended.lines) }
            }
        }
    }

    /// The worker ends, and has nothing against the item.
    pub fn given_back() -> Told {
        Told::GivenBack { reason: "the worker was stopped".to_string(), delay: Duration::ZERO }
    }

    /// For the line that people read.
    pub fn in_words(&self) -> String {
        match self {
            Told::Committed { .. } => "committed".to_string(),
            Told::Failed { reason } => format!("failed: {}", reason.replace('\n', " / ")),
            Told::GivenBack { reason, .. } => format!("given back: {}", reason.replace('\n', " / ")),
        }
    }
}

/// Standard output as JSON: as it is, or else as a text without the end of its last line. Nothing is no output.
fn body(output: &[u8]) -> Result<Option<Box<RawValue>>, String> {
    let Ok(text) = std::str::from_utf8(output) else {
        return Err("its output is neither JSON nor UTF-8 text".to_string());
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<Box<RawValue>>(text) {
        Ok(json) => Ok(Some(json)),
        Err(_) => {
            let text = text.strip_suffix('\n').unwrap_or(text);
            to_raw_value(text).map(Some).map_err(|why| why.to_string())
        }
    }
}

fn reason(what: &str, lines: &Lines) -> String {
    let said: Vec<&str> =
        lines.lines.iter().map(String::as_str).filter(|line| !line.trim().is_empty()).collect();
    let last = said[said.len().saturating_sub(REASON_LINES)..].join("\n");
    match last.is_empty() {
        true => what.to_string(),
        false => {
            let skip = last.chars().count().saturating_sub(REASON_CHARS_MAX);
            format!("{what}: {}", last.chars().skip(skip).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: i32, output: &[u8], lines: &[&str], stopped: Option<Stopped>) -> String {
        let mut kept = Lines::default();
        lines.iter().for_each(|line| kept.push(line));
        let status = ExitStatus::from_raw(code);
        let ended = Ended { status, output: Some(output.to_vec()), lines: kept };
        match Told::of(&ended, stopped, Duration::from_secs(9)) {
            Told::Committed { output } => {
                format!("commit {}", output.map_or("-".to_string(), |it| it.get().to_string()))
            }
            Told::Failed { reason } => format!("fail {reason}"),
            Told::GivenBack { reason, delay } => format!("release {} {reason}", delay.as_secs()),
        }
    }

    /// As the system has it: the code is in the second byte.
    fn exit(code: i32) -> i32 {
        code << 8
    }

    #[test]
    fn an_exit_code_is_an_outcome() {
        let (cancelled, drained) = (Some(Stopped::Cancelled), Some(Stopped::Drained));
        for (found, expected) in [
            (told(exit(0), b"{\"b\":1e400, \"a\":[]}\n", &[], None), "commit {\"b\":1e400, \"a\":[]}"),
            (told(exit(0), b"hello\nyou\n", &[], None), "commit \"hello\\nyou\""),
            (told(exit(0), b" \n", &["noise"], None), "commit -"),
            (told(exit(0), b"\xff", &[], None), "fail its output is neither JSON nor UTF-8 text"),
            (told(exit(75), b"", &["busy"], None), "release 9 try later: busy"),
            (
                told(exit(3), b"", &["a", "b", "c", " ", "d", "e", "f"], None),
                "fail exit code 3: b\nc\nd\ne\nf",
            ),
            (told(exit(1), b"{}", &[], None), "fail exit code 1"),
            (told(9, b"", &[], None), "fail killed by signal 9"),
            (told(15, b"", &[], cancelled), "release 0 cancelled"),
            (told(exit(1), b"", &["x"], drained), "release 0 the worker was stopped"),
            (told(exit(0), b"7", &[], drained), "commit 7"),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn too_much_output_is_a_failure() {
        let ended = Ended { status: ExitStatus::from_raw(0), output: None, lines: Lines::default() };
        let told = Told::of(&ended, None, Duration::ZERO);
        assert!(told.in_words().starts_with("failed: it wrote more than 1048576 bytes"), "{told:?}");
    }
}
