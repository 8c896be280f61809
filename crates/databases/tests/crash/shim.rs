//! The library that stands between a child and its disk, and its clock: built from `shim.c` when a test needs it.

use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug)]
pub struct Shim {
    folder: PathBuf,
    library: PathBuf,
}

/// Which call fails, and how.
#[derive(Clone, Copy, Debug)]
pub struct Failing {
    /// Endings of file names, with commas between.
    pub files: &'static str,
    pub call: &'static str,
    /// From 1; 0 for none.
    pub at: usize,
    pub how: How,
    pub errno: Errno,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Once,
    /// From then on, until [`Shim::mend`].
    Always,
    /// Half of it is written before it fails.
    Torn,
    /// The process is killed instead.
    Kill,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errno {
    Io = 5,
    NoSpace = 28,
    ReadOnly = 30,
}

impl Shim {
    pub fn build(folder: &Path) -> Shim {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../databases/tests/crash/shim.c");
        let library = folder.join("shim.so");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .status()
            .expect("there is a C compiler: SQLite was built with it");
        assert!(built.success(), "shim.c does not compile");
        Shim { folder: folder.into(), library }
    }

    /// The environment of a child that has this fault.
    pub fn variables(&self, failing: Failing) -> Vec<(&'static str, String)> {
        // What an earlier child left is not about this one.
        for left in [self.mended(), self.report(), self.journal()] {
            let _ = std::fs::remove_file(left);
        }
        let how = match failing.how {
            How::Once => "once",
            How::Always => "always",
            How::Torn => "torn",
            How::Kill => "kill",
        };
        vec![
            ("LD_PRELOAD", self.library.display().to_string()),
            ("TENURE_FAULT_FILES", failing.files.to_string()),
            ("TENURE_FAULT_CALL", failing.call.to_string()),
            ("TENURE_FAULT_AT", failing.at.to_string()),
            ("TENURE_FAULT_HOW", how.to_string()),
            ("TENURE_FAULT_ERRNO", (failing.errno as i32).to_string()),
            ("TENURE_FAULT_UNTIL", self.mended().display().to_string()),
            ("TENURE_FAULT_REPORT", self.report().display().to_string()),
        ]
    }

    /// As [`Shim::variables`], and everything that reaches the disk is noted.
    pub fn variables_with_journal(&self, failing: Failing) -> Vec<(&'static str, String)> {
        let mut variables = self.variables(failing);
        variables.push(("TENURE_FAULT_JOURNAL", self.journal().display().to_string()));
        variables
    }

    /// As [`Shim::variables_with_journal`], with the files and folders below this one by their paths.
    pub fn variables_with_paths(&self, failing: Failing, folder: &Path) -> Vec<(&'static str, String)> {
        let mut variables = self.variables_with_journal(failing);
        variables.push(("TENURE_FAULT_FOLDER", folder.display().to_string()));
        variables
    }

    /// The environment of a child whose clock on the wall is off by what [`Shim::set_clock`] said last.
    pub fn with_clock(&self, seconds: i64) -> Vec<(&'static str, String)> {
        self.set_clock(seconds);
        vec![
            ("LD_PRELOAD", self.library.display().to_string()),
            ("TENURE_FAULT_CLOCK", self.clock().display().to_string()),
        ]
    }

    /// Sets it, also while the child runs.
    pub fn set_clock(&self, seconds: i64) {
        // Whoever reads meanwhile reads the old one or the new one.
        let draft = self.folder.join("clock.draft");
        std::fs::write(&draft, seconds.to_string()).expect("a file can be made");
        std::fs::rename(draft, self.clock()).expect("it gets its name");
    }

    /// The disk works again.
    pub fn mend(&self) {
        std::fs::write(self.mended(), "").expect("a file can be made");
    }

    /// How many calls a child made that has ended.
    pub fn calls(&self) -> usize {
        let text = std::fs::read_to_string(self.report()).expect("the child left a report");
        text.trim().parse().expect("a number")
    }

    fn mended(&self) -> PathBuf {
        self.folder.join("mended")
    }

    fn clock(&self) -> PathBuf {
        self.folder.join("clock")
    }

    fn report(&self) -> PathBuf {
        self.folder.join("report")
    }

    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }
}
