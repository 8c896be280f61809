//! A PostgreSQL server of a test's own, started by `.ci/postgres`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// It goes with this.
pub struct Server {
    script: Child,
    lines: BufReader<ChildStdout>,
    /// What the script is told.
    pub input: Option<ChildStdin>,
    pub url: String,
}

impl Server {
    pub fn start(how: &str) -> Server {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut script = Command::new("bash")
            .args([".ci/postgres", how])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash is there");
        let lines = BufReader::new(script.stdout.take().expect("it was asked for"));
        let input = script.stdin.take();
        let mut server = Server { script, lines, input, url: String::new() };
        server.url = server.line();
        assert!(server.url.starts_with("postgres://"), "no server: {}", server.url);
        server
    }

    /// What the script says next.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a pipe can be read");
        line.trim_end().to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input is the end of the script, which takes the server with it.
        self.input = None;
        let _ = self.script.wait();
    }
}
