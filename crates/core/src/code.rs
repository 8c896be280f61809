//! The stable codes of a "no". The same spelling in answers, problem documents, exit output and documentation.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::word::{CodeName, NotAWord};

macro_rules! codes {
    ($($variant:ident = $text:literal, $status:literal;)*) => {
        /// A problem's code. `Own` is one that a lifecycle file names itself in a `! CODE` cell.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code { $($variant,)* Own(CodeName) }

        impl Code {
            /// Every code that the kernel and its systems know by name.
            pub const KNOWN: &[Code] = &[$(Code::$variant),*];

            pub fn as_str(&self) -> &str {
                match self { $(Code::$variant => $text,)* Code::Own(name) => name }
            }

            /// The HTTP status that carries it.
            pub fn status(&self) -> u16 {
                match self { $(Code::$variant => $status,)* Code::Own(_) => 409 }
            }
        }
    };
}

codes! {
    InvalidRequest = "INVALID_REQUEST", 400;
    Unauthenticated = "UNAUTHENTICATED", 401;
    SessionRequired = "SESSION_REQUIRED", 401;
    Forbidden = "FORBIDDEN", 403;
    NotFound = "NOT_FOUND", 404;
    TransitionRefused = "TRANSITION_REFUSED", 409;
    LeaseLost = "LEASE_LOST", 409;
    AlreadyCommitted = "ALREADY_COMMITTED", 409;
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", 409;
    AlreadyDecomposed = "ALREADY_DECOMPOSED", 409;
    NotDecomposed = "NOT_DECOMPOSED", 409;
    WorkspaceRequired = "WORKSPACE_REQUIRED", 409;
    VerificationRequired = "VERIFICATION_REQUIRED", 409;
    StoreBoundaryViolation = "STORE_BOUNDARY_VIOLATION", 409;
    ClaimConflict = "CLAIM_CONFLICT", 409;
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413;
    SchemaViolation = "SCHEMA_VIOLATION", 422;
    RateLimited = "RATE_LIMITED", 429;
    StoreUnavailable = "STORE_UNAVAILABLE", 503;
    ValidateTimeoutOrLock = "VALIDATE_TIMEOUT_OR_LOCK", 504;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Code {
    type Err = NotAWord;

    fn from_str(text: &str) -> Result<Code, NotAWord> {
        match Code::KNOWN.iter().find(|code| code.as_str() == text) {
            Some(code) => Ok(code.clone()),
            None => Ok(Code::Own(text.parse()?)),
        }
    }
}

/// A "no" with its reason: what was wrong and what to do about it, in words for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub code: Code,
    pub detail: String,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        Problem { code, detail: detail.into() }
    }

    pub fn invalid(detail: impl Into<String>) -> Problem {
        Problem::new(Code::InvalidRequest, detail)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}
