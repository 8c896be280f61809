//! Names that people and programs give: validated once, at the edge of the kernel, and cheap to clone afterwards.
//!
//! An empty id or one with a control character is the kind of thing that haunts a log for a month; here it does not
//! get in. Each word states its alphabet and its greatest length.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Why a text is not such a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAWord {
    pub what: &'static str,
    pub rule: &'static str,
}

impl core::error::Error for NotAWord {}

impl fmt::Display for NotAWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a {}: {}", self.what, self.rule)
    }
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:literal, $rule:literal, $first:pat, $rest:pat) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub const BYTES_MAX: usize = $max;

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NotAWord;

            fn from_str(text: &str) -> Result<$name, NotAWord> {
                let mut characters = text.chars();
                let good = text.len() <= Self::BYTES_MAX
                    && matches!(characters.next(), Some($first))
                    && characters.all(|c| matches!(c, $rest));
                if good { Ok($name(text.into())) } else { Err(NotAWord { what: $what, rule: $rule }) }
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", &self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    };
}

word!(
    /// The name of a lifecycle: `job`, `ticket_ready`.
    Kind, "kind", 63, "a lower-case letter, then up to 62 of a-z, 0-9 and _",
    'a'..='z', 'a'..='z' | '0'..='9' | '_'
);
word!(
    /// A namespace; nothing crosses it.
    Store, "store", 63, "a lower-case letter or digit, then up to 62 of a-z, 0-9, _, - and .",
    'a'..='z' | '0'..='9', 'a'..='z' | '0'..='9' | '_' | '-' | '.'
);
word!(
    /// An event's name in a lifecycle table, as it stands in paths: `approve`, `time-out`.
    EventName, "event", 63, "a lower-case letter, then up to 62 of a-z and -",
    'a'..='z', 'a'..='z' | '-'
);
word!(
    /// What a lifecycle calls a state, a record, a message or a shown event: `IN_PROGRESS`, `truthbit`, `RUN_STARTED`.
    Label, "label", 63, "a letter, then up to 62 of a-z, A-Z, 0-9, _ and -",
    'a'..='z' | 'A'..='Z', 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'
);
word!(
    /// A problem's stable code: `LEASE_LOST`.
    CodeName, "code", 63, "an upper-case letter, then up to 62 of A-Z, 0-9 and _",
    'A'..='Z', 'A'..='Z' | '0'..='9' | '_'
);
word!(
    /// Who acts, or which incarnation of it: a token's id, an agent's name, a process's random id.
    Who, "actor id", 128, "1 to 128 visible ASCII characters without /",
    '!'..='.' | '0'..='~', '!'..='.' | '0'..='~'
);
word!(
    /// A client's word for a request (idempotency key, request id), an exclusive key, or a record's name within its item.
    Key, "key", 255, "1 to 255 bytes without control characters",
    ' '..='~' | '\u{a0}'..='\u{10ffff}', ' '..='~' | '\u{a0}'..='\u{10ffff}'
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_refuse_what_is_not_theirs() {
        for bad in ["", "Job", "1job", "a b", "a\0", "a/b", "job;--", "../x"] {
            assert!(bad.parse::<Kind>().is_err(), "{bad:?}");
        }
        for bad in ["", "tab\t", "nul\0", "line\n", "del\u{7f}", "csi\u{9b}"] {
            assert!(bad.parse::<Key>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(63).parse::<Kind>().is_ok());
        assert!("a".repeat(64).parse::<Kind>().is_err());
        assert!("Grüße 1".parse::<Key>().is_ok());
        assert!("a/b".parse::<Who>().is_err());
    }
}
