//! A file of a working copy, read for its hash: piece by piece, so that whoever reads can stop, and nothing but a file, so that reading
//! ends. A pipe or a device would be read for ever.

use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest, Sha256};
use tenure::core::hash::Hash;
use tenure::databases::regular_file;

use super::Workspace;

/// Hashed within a millisecond or so: often enough to look at the clock in between, and seldom enough not to be slowed down by that.
const PIECE_BYTES: usize = 1 << 20;

/// A file that is being read.
#[derive(Debug)]
pub struct Reading {
    file: File,
    hasher: Sha256,
    piece: Vec<u8>,
}

impl Workspace {
    /// The file at this path from the root, or that a link there leads to: build tools link their results from elsewhere, and what counts
    /// is what is in them. None: there is none, or it can not be opened.
    pub fn reading(&self, path: &str) -> Option<Reading> {
        let file = regular_file::open(&self.root.join(path)).ok()?;
        Some(Reading { file, hasher: Sha256::new(), piece: vec![0; PIECE_BYTES] })
    }
}

impl Reading {
    /// Reads on. The hash, once all of it is read.
    pub fn more(&mut self) -> io::Result<Option<Hash>> {
        match self.file.read(&mut self.piece) {
            Ok(0) => Ok(Some(Hash(self.hasher.finalize_reset().into()))),
            Ok(read) => {
                self.hasher.update(&self.piece[..read]);
                Ok(None)
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(why) => Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    fn hash(workspace: &Workspace, path: &str) -> Option<Hash> {
        let mut reading = workspace.reading(path)?;
        loop {
            if let Some(hash) = reading.more().unwrap() {
                return Some(hash);
            }
        }
    }

    // covers: T-04
    #[test]
    fn only_a_file_is_read_and_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at(".git")).unwrap();
        fs::write(at(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let workspace = Workspace::find(folder.path()).unwrap().unwrap();
        let long = vec![7; 2 * PIECE_BYTES + 1];
        fs::write(at("long"), &long).unwrap();
        fs::write(at("empty"), "").unwrap();
        fs::create_dir(at("folder")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for (link, to) in [("link", "long"), ("zero", "/dev/zero"), ("broken", "nowhere"), ("piped", "pipe")]
        {
            symlink(to, at(link)).unwrap();
        }
        assert_eq!(hash(&workspace, "long"), Some(Hash::of(&long)));
        assert_eq!(hash(&workspace, "link"), Some(Hash::of(&long)), "a link to a file is one");
        assert_eq!(hash(&workspace, "empty"), Some(Hash::of(b"")));
        for none in ["folder", "pipe", "zero", "broken", "piped", "missing", "long/inner"] {
            assert_eq!(hash(&workspace, none), None, "{none}");
        }
    }
}
