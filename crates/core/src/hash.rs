//! SHA-256: what the chain of a log and the identity of a body are made of.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// A SHA-256 value, shown as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// The hash of several parts, each preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
    pub fn of_parts(parts: &[&[u8]]) -> Hash {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Hash(hasher.finalize().into())
    }

    /// What every log begins with.
    pub const ZERO: Hash = Hash([0; 32]);

    /// The next link of a chain of hashes: SHA-256 of the 64 bytes of both. The log's chain runs over its entries' hashes.
    pub fn link(&self, next: &Hash) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(next.0);
        Hash(hasher.finalize().into())
    }

    /// As it is shown. Written for every entry, so without the formatting machinery.
    pub(crate) fn text(&self) -> [u8; 64] {
        let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        text
    }

    /// The first 128 bits, for ids that are derived from content.
    pub fn first_128(&self) -> u128 {
        let mut head = [0; 16];
        for (to, from) in head.iter_mut().zip(self.0) {
            *to = from;
        }
        u128::from_be_bytes(head)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    /// Eight digits are enough to tell two apart in a test's output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The text was not 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAHash;

impl FromStr for Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Hash, NotAHash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NotAHash),
        };
        if text.len() != 64 {
            return Err(NotAHash);
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = pair else { return Err(NotAHash) };
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Hash(hash))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(core::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(|NotAHash| de::Error::custom("not 64 lower-case hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_hash_is_shown_in_hexadecimal_and_read_back() {
        let hash = Hash::of(b"tenure");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(serde_json::to_string(&hash).unwrap(), alloc::format!("\"{hash}\""));
        assert_eq!("AB".parse::<Hash>(), Err(NotAHash));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(Hash::of_parts(&[b"ab", b"c"]), Hash::of_parts(&[b"a", b"bc"]));
    }
}
