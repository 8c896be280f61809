//! What a commit that was answered has survived.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// It is on the disk.
    Full,
    /// It is with the operating system, or with a server that does not wait for its disk: it survives the end of the process, not
    /// a power cut.
    Relaxed,
    /// Nothing: it is gone with the process.
    None,
}

impl Durability {
    pub fn as_str(self) -> &'static str {
        match self {
            Durability::Full => "full",
            Durability::Relaxed => "relaxed",
            Durability::None => "none",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
