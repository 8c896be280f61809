//! Reading a file that a setting or a stored value names: a secret, a token, certificates.
//!
//! Symbolic links are followed: secrets are mounted as such. Only a regular file is read: a device has no end, and a pipe makes its
//! reader wait. Memory is bounded by the limit of the caller, whatever the file's length.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The longest file with one secret or token in it.
pub const SECRET_BYTES_MAX: usize = 4 << 10;

/// Opens a regular file for reading, without waiting for anything.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?.file_type();
    match (found.is_file(), found.is_dir()) {
        (true, _) => Ok(file),
        (false, true) => Err(ErrorKind::IsADirectory.into()),
        (false, false) => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// The bytes of a regular file that has at most `bytes_max` of them.
pub fn read(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        let words = format!("it has more than {bytes_max} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// The same, as text.
pub fn read_text(path: &Path, bytes_max: usize) -> io::Result<String> {
    let text = String::from_utf8(read(path, bytes_max)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    // fault: A17
    #[test]
    fn only_a_regular_file_within_the_limit_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("four"), "four").unwrap();
        symlink(at("four"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["four", "link"] {
            assert_eq!(read_text(&at(name), 4).unwrap(), "four", "{name}");
            assert_eq!(read(&at(name), 3).unwrap_err().to_string(), "it has more than 3 bytes", "{name}");
        }
        assert_eq!(read(&at(""), 4).unwrap_err().kind(), ErrorKind::IsADirectory);
        for name in ["zero", "pipe"] {
            assert_eq!(read(&at(name), 4).unwrap_err().to_string(), "it is no regular file", "{name}");
        }
        assert_eq!(read(&at("missing"), 4).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
