//! An entry with its canonical text and its hash: written and hashed once, then shared by whoever keeps or shows it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use super::Entry;
use crate::hash::Hash;

/// Cheap to clone. Two are equal when their text is, and that is when their hash is.
#[derive(Clone)]
pub struct Sealed(Arc<Parts>);

struct Parts {
    entry: Entry,
    text: Vec<u8>,
    hash: Hash,
}

impl Sealed {
    pub fn new(entry: Entry) -> Sealed {
        let text = entry.canonical();
        let hash = Hash::of(&text);
        Sealed(Arc::new(Parts { entry, text, hash }))
    }

    /// Reads one canonical line, as [`Entry::read`] does.
    pub fn read(line: &[u8]) -> Result<Sealed, String> {
        let entry = Entry::read(line)?;
        Ok(Sealed(Arc::new(Parts { entry, text: line.into(), hash: Hash::of(line) })))
    }

    /// The canonical text: exactly what was hashed.
    pub fn text(&self) -> &[u8] {
        &self.0.text
    }

    pub fn hash(&self) -> Hash {
        self.0.hash
    }
}

impl Deref for Sealed {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.0.entry
    }
}

impl PartialEq for Sealed {
    fn eq(&self, other: &Sealed) -> bool {
        self.0.hash == other.0.hash
    }
}

impl Eq for Sealed {}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.entry, f)
    }
}

impl From<Entry> for Sealed {
    fn from(entry: Entry) -> Sealed {
        Sealed::new(entry)
    }
}

impl From<&Entry> for Sealed {
    fn from(entry: &Entry) -> Sealed {
        Sealed::new(entry.clone())
    }
}

impl From<&Sealed> for Sealed {
    fn from(sealed: &Sealed) -> Sealed {
        sealed.clone()
    }
}
