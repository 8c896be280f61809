//! Running the program: one call builds the command, `code` runs it and holds it to an exit code.

use std::ffi::OsStr;
use std::fs;
use std::io::{Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tenure_core::lifecycle::shipped::SHIPPED;

/// A run that is being prepared, then what came of it. Its Debug form is everything one wants to see of a failure.
#[derive(Debug)]
pub struct Run {
    command: Command,
    input: String,
    reader: Reader,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug)]
enum Reader {
    Listens,
    HasGone,
}

pub fn tenure<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    Run::new(arguments)
}

impl Run {
    pub fn new<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The settings of whoever runs the tests are not what is tested.
        command.env_remove("NO_COLOR").env_remove("CLICOLOR").env_remove("CLICOLOR_FORCE");
        for name in ["DB", "URL", "STORE", "TOKEN", "TOKEN_FILE", "CONFIG", "LISTEN"] {
            command.env_remove(format!("TENURE_{name}"));
        }
        Run {
            command,
            input: String::new(),
            reader: Reader::Listens,
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    pub fn input(mut self, text: &str) -> Run {
        self.input = text.to_string();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Run {
        self.command.env(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Run {
        self.command.env_remove(name);
        self
    }

    /// In this folder.
    pub fn within(mut self, folder: &str) -> Run {
        self.command.current_dir(folder);
        self
    }

    /// Nobody reads what it prints, as after `| head -1` has seen its line.
    pub fn closed_pipe(mut self) -> Run {
        self.reader = Reader::HasGone;
        self
    }

    /// Runs it. Any other exit code is a failure that shows everything.
    #[track_caller]
    pub fn code(self, expected: i32) -> Run {
        let (run, code) = self.ended();
        assert_eq!(code, Some(expected), "{run:?}");
        run
    }

    /// Runs it to its end, whichever that is: everything that it printed, and its exit code.
    pub fn ended(mut self) -> (Run, Option<i32>) {
        if let Reader::HasGone = self.reader {
            let (reader, writer) = pipe().expect("a pipe");
            drop(reader);
            self.command.stdout(writer);
        }
        let mut child = self.command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("its input is a pipe");
        // A program that does not read its input has closed it, which is its right.
        let _ = stdin.write_all(self.input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the program ends");
        self.stdout = String::from_utf8(output.stdout).expect("it prints UTF-8");
        self.stderr = String::from_utf8(output.stderr).expect("it complains in UTF-8");
        (self, output.status.code())
    }

    /// Standard output as JSON, one object a line.
    #[track_caller]
    pub fn objects(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

/// A file of the transcripts.
pub fn fixture(file: &str) -> String {
    format!("{}/tests/transcripts/check.in/{file}", env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    fs::read_to_string(path).expect(path)
}

pub fn shipped(kind: &str) -> &'static str {
    let file = format!("{kind}.md");
    SHIPPED.iter().find(|shipped| shipped.file == file).expect(kind).source
}

/// A folder for one test, empty at the start.
pub struct Folder(PathBuf);

pub fn folder(name: &str) -> Folder {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("the folder of an earlier run goes");
    }
    fs::create_dir_all(&path).expect("a folder for the test");
    Folder(path)
}

impl Folder {
    pub fn path(&self) -> &str {
        self.0.to_str().expect("the folder has a UTF-8 name")
    }

    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(file), content).expect(file);
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the folder has a UTF-8 name").to_string()
    }

    pub fn inner(&self, name: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(&path).expect(name);
        path.to_str().expect("the folder has a UTF-8 name").to_string()
    }
}
