//! Lifecycle texts as a command line names them: a file, every file of a folder, or standard input.
//!
//! Reads text and says why it could not. What the text means is for the commands.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tenure_core::lifecycle::parse::SOURCE_BYTES_MAX;
use tenure_core::lifecycle::shipped::SHIPPED;

use crate::outcome::Error;

/// How standard input is named.
pub const STDIN: &str = "-";

/// A text and where it came from.
pub struct Source {
    /// As the command line wrote it, so that a terminal can open `FILE:LINE`.
    pub file: String,
    pub text: String,
}

impl Source {
    pub fn read(file: &str) -> Result<Source, Error> {
        let (file, read) = match file {
            STDIN => ("<stdin>", read_bounded(io::stdin().lock())),
            path => (path, File::open(path).and_then(read_bounded)),
        };
        let file = file.to_string();
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(why) => return Err(Error::Unreadable { near: shipped_near(&file), file, why }),
        };
        if bytes.len() > SOURCE_BYTES_MAX {
            return Err(Error::TooLong { file });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source { file, text }),
            Err(_) => Err(Error::NotText { file }),
        }
    }

    pub fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.text.lines().nth(index).map(str::trim_end).filter(|line| !line.is_empty())
    }
}

/// One byte more than a lifecycle may have: enough to know that it is too long, however much there is.
fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(SOURCE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What the arguments stand for, each file once: a folder becomes its `.md` files, sorted by name.
pub fn expand(arguments: &[String]) -> Vec<Result<String, Error>> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut is_new = |file: &Result<String, Error>| {
        let Ok(file) = file else { return true };
        // What can not be found is told when it is read.
        let path = fs::canonicalize(file).unwrap_or_else(|_| PathBuf::from(file));
        let is_new = !seen.contains(&path);
        seen.push(path);
        is_new
    };
    arguments.iter().flat_map(|argument| files(argument)).filter(|file| is_new(file)).collect()
}

fn files(argument: &str) -> Vec<Result<String, Error>> {
    if argument == STDIN || !Path::new(argument).is_dir() {
        return vec![Ok(argument.to_string())];
    }
    match files_of(argument) {
        Ok(files) if files.is_empty() => vec![Err(Error::NothingInside { folder: argument.to_string() })],
        Ok(files) => files.into_iter().map(Ok).collect(),
        Err(why) => vec![Err(Error::Unreadable { file: argument.to_string(), why, near: None })],
    }
}

fn files_of(folder: &str) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") && path.is_file() {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    files.sort();
    Ok(files)
}

/// `job` for `job.md`.
pub fn stem(file: &str) -> &str {
    file.strip_suffix(".md").unwrap_or(file)
}

/// Somebody who writes `job.md` where there is no such file means the `job` that ships.
fn shipped_near(file: &str) -> Option<String> {
    let name = stem(file.strip_prefix("./").unwrap_or(file));
    SHIPPED.iter().map(|shipped| stem(shipped.file)).find(|kind| *kind == name).map(str::to_string)
}
