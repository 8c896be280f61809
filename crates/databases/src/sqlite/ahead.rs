//! The write-ahead log is given its length before it is needed.
//!
//! While its file still grows, a sync has to write down where the new blocks are, and costs nearly twice as much as one of a file
//! that has its length. So as soon as SQLite made the file longer, zeros are put behind it, as much as it has already; what is
//! written later finds its place there. SQLite takes zeros for the end of the log: no frame has such a checksum.
//!
//! It is a help and nothing else. A disk without much room is left alone, and one that fails here fails there too, where it is told.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What a command writes that lives for some milliseconds is less: its log does not grow for nothing.
const FROM_BYTES: u64 = 1 << 20;
/// How much more room the disk must have than it is asked for.
const ROOM: u64 = 64;
/// Zeros are written in pieces of this size.
const PIECE: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Ahead {
    path: PathBuf,
    /// As long as it was made here, or found.
    length: u64,
    /// Longer it is not made: what the log holds before it is begun anew.
    length_max: u64,
}

impl Ahead {
    pub fn of(database: &Path, length_max: u64) -> Ahead {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Ahead { path: path.into(), length: FROM_BYTES, length_max }
    }

    /// Makes it longer if somebody had to. Called under the write lock: nobody writes to it meanwhile.
    pub fn look(&mut self) {
        let Ok(found) = std::fs::metadata(&self.path) else { return };
        let length = found.len();
        if length <= self.length || length >= self.length_max {
            return;
        }
        self.length = self.length_max;
        let more = length.min(self.length_max - length);
        if has_room(&self.path, more) && extend(&self.path, length, more).is_ok() {
            self.length = length + more;
        }
    }
}

fn has_room(path: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) / ROOM >= bytes)
}

fn extend(path: &Path, length: u64, more: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let zeros = vec![0; PIECE];
    let end = length + more;
    let mut at = length;
    while at < end {
        let piece = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        file.write_all_at(&zeros[..piece], at)?;
        at += piece as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(length: usize, length_max: u64) -> (tempfile::TempDir, Ahead) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.db-wal"), vec![7; length]).unwrap();
        let ahead = Ahead::of(&folder.path().join("x.db"), length_max);
        (folder, ahead)
    }

    fn length(ahead: &Ahead) -> usize {
        usize::try_from(std::fs::metadata(&ahead.path).unwrap().len()).unwrap()
    }

    #[test]
    fn a_log_that_grew_has_zeros_behind_it_and_keeps_what_it_had() {
        let (_folder, mut ahead) = of((1 << 20) + 5, 16 << 20);
        ahead.look();
        let bytes = std::fs::read(&ahead.path).unwrap();
        assert_eq!(bytes.len(), 2 * ((1 << 20) + 5));
        assert!(bytes[..(1 << 20) + 5].iter().all(|byte| *byte == 7), "what was there is there");
        assert!(bytes[(1 << 20) + 5..].iter().all(|byte| *byte == 0));
        ahead.look();
        assert_eq!(length(&ahead), bytes.len(), "nobody made it longer since");
    }

    #[test]
    fn a_short_log_is_left_alone_and_so_is_one_that_is_long_enough() {
        let (_folder, mut ahead) = of(1 << 20, 16 << 20);
        ahead.look();
        assert_eq!(length(&ahead), 1 << 20);
        let (_folder, mut ahead) = of(3 << 20, 4 << 20);
        ahead.look();
        assert_eq!(length(&ahead), 4 << 20, "no longer than it may be");
        let (_folder, mut ahead) = of(5 << 20, 4 << 20);
        ahead.look();
        assert_eq!(length(&ahead), 5 << 20);
    }
}
