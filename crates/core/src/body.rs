//! A body: the bytes of a payload, an output or a record. Kept exactly as they came, known to the log by hash alone.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::code::{Code, Problem};
use crate::hash::Hash;

/// Larger things are kept elsewhere and named by reference: a row that is read and hashed with every batch stays small.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Deeper than this nothing is read again: not by guards, not by schemas, not by most libraries.
pub const BODY_DEPTH_MAX: usize = 128;

/// JSON text, unchanged: numbers keep their digits, objects their order. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    bytes: Arc<[u8]>,
    hash: Hash,
}

impl Body {
    /// Accepts any JSON text (UTF-8, at most [`BODY_DEPTH_MAX`] levels deep, at most [`BODY_BYTES_MAX`]).
    pub fn json(bytes: impl Into<Vec<u8>>) -> Result<Body, Problem> {
        let bytes: Vec<u8> = bytes.into();
        if bytes.len() > BODY_BYTES_MAX {
            let detail = format!(
                "the body has {} bytes and at most {BODY_BYTES_MAX} are kept; store it elsewhere and send a reference",
                bytes.len()
            );
            return Err(Problem::new(Code::PayloadTooLarge, detail));
        }
        // Text that is skipped over is not looked at, so whether it is UTF-8 is asked first.
        let Ok(text) = core::str::from_utf8(&bytes) else {
            return Err(Problem::invalid("the body is not UTF-8 text"));
        };
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(IgnoredAny) if depth(&bytes) > BODY_DEPTH_MAX => {
                Err(Problem::invalid(format!("the body is more than {BODY_DEPTH_MAX} levels deep")))
            }
            Ok(IgnoredAny) => Ok(Body { hash: Hash::of(&bytes), bytes: bytes.into() }),
            Err(error) => Err(Problem::invalid(format!("the body is not JSON: {error}"))),
        }
    }

    /// A body that was accepted before and kept under its hash. None if these are not its bytes any more.
    pub fn kept(bytes: &[u8], hash: &Hash) -> Option<Body> {
        (Hash::of(bytes) == *hash).then(|| Body { hash: *hash, bytes: bytes.into() })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The parsed value, for guards, keys and schemas. None where a number is too large to compare (`1e400`).
    pub fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.bytes).ok()
    }
}

/// How deep JSON text is. What is only skipped over is not counted by its reader.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", core::str::from_utf8(&self.bytes).unwrap_or("?"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_texts() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Body::json(nested(BODY_DEPTH_MAX)).is_ok());
        assert!(Body::json(nested(BODY_DEPTH_MAX + 1)).is_err());
        assert!(Body::json(format!("{{\"a\":{}}}", nested(BODY_DEPTH_MAX))).is_err());
        assert!(Body::json(format!("\"{}\"", "[".repeat(500))).is_ok());
        assert!(Body::json(format!("[\"\\\"{}\", 1]", "[".repeat(500))).is_ok());
        assert!(Body::json(format!("[{}1]", "[1],".repeat(500))).is_ok());
    }
}
