//! What the documents tell people to type, typed: every shell block, line after line, in a folder of its own, with this build of the
//! program where they say `tenure` or `cargo run --release --`.
//!
//! Some lines are left out, as they have tests of their own and take long: `demo` (`serving.rs`), `chaos` (`chaos.rs`), `bench`
//! (`bench.rs`), and `./check`, which runs this.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::run::{Folder, folder};

const LEFT_OUT: [&str; 5] = [
    "cargo run --release -- demo",
    "cargo run --release -- chaos",
    "cargo run --release -- bench",
    "./check",
    "kill",
];
/// Where the documents say that a server is.
const ADDRESS: &str = "127.0.0.1:7878";
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A person at a shell, in a folder that has what the project's own has.
struct Typist {
    folder: Folder,
    path: String,
    /// Where the server is; it was free when it was asked for.
    address: String,
    server: Option<Child>,
    /// The lines that a shell remembers.
    exports: Vec<String>,
}

impl Drop for Typist {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Typist {
    fn new(name: &str) -> Typist {
        let folder = folder(name);
        let bin = folder.inner("bin");
        let program = env!("CARGO_BIN_EXE_tenure");
        symlink(program, format!("{bin}/tenure")).expect("a link");
        symlink(format!("{ROOT}/lifecycles"), folder.file("lifecycles")).expect("a link");
        // `cargo run --release -- ARGUMENTS`
        std::fs::write(format!("{bin}/cargo"), format!("#!/bin/sh\nshift 3\nexec {program} \"$@\"\n"))
            .unwrap();
        std::fs::set_permissions(format!("{bin}/cargo"), PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
        Typist { folder, path, address: "127.0.0.1:0".to_string(), server: None, exports: Vec::new() }
    }

    fn shell(&self, line: &str) -> Command {
        let script = format!("{}\n{line}", self.exports.join("\n"));
        let mut command = Command::new("sh");
        command.args(["-euc", &script]).current_dir(Path::new(self.folder.path()));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TENURE_")) {
            command.env_remove(name);
        }
        command.env("PATH", &self.path).env("TENURE_LISTEN", &self.address).stdin(Stdio::null());
        command
    }

    /// What the line stands for here: another address, and the id of the newest item.
    fn meant(&self, line: &str) -> String {
        let line = line.replace(ADDRESS, &self.address).replace("curl -s ", "curl -sSf ");
        match line.split(' ').any(|word| word == "ID") {
            true => line.replace(" ID", &format!(" {}", self.newest())),
            false => line,
        }
    }

    fn newest(&self) -> String {
        let listed = self.shell("tenure item list --newest --limit 1 --json").output().expect("a shell");
        let page: Value = serde_json::from_slice(&listed.stdout).expect("a list");
        page["items"][0]["id"].as_str().expect("there is an item").to_string()
    }

    fn types(&mut self, line: &str) {
        let typed = self.meant(line);
        let command = line.trim_start_matches("cargo run --release -- ").trim_start_matches("tenure ");
        match command.split(' ').next() {
            Some("serve") => self.serves(&typed),
            Some("work") => self.works(&typed),
            Some("export") if line.starts_with("export ") => self.exports.push(typed),
            _ => {
                let run = self.shell(&typed).output().expect("a shell");
                let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
                assert!(run.status.success(), "{line}\n{}\n{out}\n{err}", run.status);
            }
        }
    }

    /// It goes on until the end; the next line is typed in another terminal.
    fn serves(&mut self, line: &str) {
        assert!(self.server.is_none(), "{line}: one at a time");
        let mut server = self.shell(&format!("exec {line}")).stdout(Stdio::piped()).spawn().expect("a shell");
        let said = BufReader::new(server.stdout.take().expect("its output is a pipe"));
        let address = said.lines().map_while(Result::ok).find_map(|line| {
            line.trim()
                .strip_prefix("listening")
                .map(|rest| rest.trim().trim_start_matches("http://").to_string())
        });
        self.server = Some(server);
        self.address = address.unwrap_or_else(|| panic!("{line}: it does not listen"));
    }

    /// It goes on until it is stopped, which a person does when the work is done.
    fn works(&mut self, line: &str) {
        let newest = self.newest();
        let mut worker = self.shell(&format!("exec {line}")).stdout(Stdio::null()).spawn().expect("a shell");
        let waited =
            self.shell(&format!("tenure item show {newest} --wait 60 --json")).output().expect("a shell");
        let item: Value = serde_json::from_slice(&waited.stdout).expect("an item");
        let _ = worker.kill();
        let _ = worker.wait();
        assert_eq!(item["phase"], "succeeded", "{line}: {item}");
    }
}

/// The lines of the shell blocks of a document.
fn lines(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{ROOT}/{document}")).expect(document);
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let lines = blocks.flat_map(str::lines).filter(|line| !line.is_empty());
    lines.filter(|line| !LEFT_OUT.iter().any(|out| line.starts_with(out))).map(str::to_string).collect()
}

fn follow(name: &str, document: &str, serve_first: Option<&str>) {
    let mut typist = Typist::new(name);
    serve_first.into_iter().for_each(|line| typist.types(line));
    let lines = lines(document);
    assert!(lines.len() > 5, "{document}: {lines:?}");
    lines.iter().for_each(|line| typist.types(line));
}

#[test]
fn the_readme_works_as_it_is_written() {
    follow("typed-readme", "README.md", None);
}

#[test]
fn the_way_in_works_as_it_is_written() {
    follow("typed-start", "docs/start.md", None);
}

#[test]
fn schedules_work_as_they_are_written() {
    follow("typed-schedules", "docs/schedules.md", Some("tenure serve"));
}

#[test]
fn webhooks_work_as_they_are_written() {
    follow("typed-webhooks", "docs/webhooks.md", Some("tenure serve"));
}

/// The example of the specification (Standard Webhooks), checked by the lines that the document shows.
#[test]
fn a_signature_is_checked_by_the_lines_that_the_document_shows() {
    let text = std::fs::read_to_string(format!("{ROOT}/docs/webhooks.md")).expect("the document");
    let shown = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let script = format!(
        r#"{shown}
time.time = lambda: 1614265330
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
headers = {{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
           "webhook-signature": "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}}
body = b'{{"test": 2432232314}}'
assert is_ours(secret, headers, body)
assert not is_ours(secret, headers, body + b" ")
time.time = lambda: 1614265330 + 301
assert not is_ours(secret, headers, body)
"#
    );
    let run = Command::new("python3").args(["-c", &script]).output().expect("python3; ./check sees to it");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
