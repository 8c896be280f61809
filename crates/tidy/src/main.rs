//! `tidy requirements` and `tidy house`: read the repository, print what was found, exit 1 when something is wrong.

use std::io::{self, Write as _};
use std::process::ExitCode;

use tidy::coverage::coverage;
use tidy::faults;
use tidy::house;
use tidy::repository::Repository;
use tidy::requirements::List;
use tidy::tests_found::{Found, in_rust, in_script};

const USAGE: &str = "usage: tidy requirements   which tests cover which rule of docs/requirements.md; those that docs/faults.md names are there
       tidy house          the rules of the house, checked on every file
";

/// The list, what of it is finished, and a specification that may lie beside a clone.
const LIST: &str = "docs/requirements.md";
const FINISHED: &str = "docs/finished.txt";
const SPECIFICATION: &str = "../shared/spec/requirements.md";
/// Which tests show which fault.
const FAULTS: &str = "docs/faults.md";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answer = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["requirements"] => Repository::open().and_then(|repository| requirements(&repository)),
        ["house"] => Repository::open().map(|repository| kept(&repository)),
        ["--help" | "-h" | "help"] => Ok(Answer { report: USAGE.to_string(), failures: Vec::new() }),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(64);
        }
    };
    match answer {
        Ok(answer) => answer.print(),
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Answer {
    report: String,
    failures: Vec<String>,
}

impl Answer {
    /// The report, then the failures last, where they are seen. A reader that went away (`tidy … | head`) is no error.
    fn print(self) -> ExitCode {
        let mut text = self.report;
        for failure in &self.failures {
            text.push_str(&format!("FAILED  {failure}\n"));
        }
        let _ = io::stdout().write_all(text.as_bytes());
        if self.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn requirements(repository: &Repository) -> io::Result<Answer> {
    let in_file = |path: &str, complaints: Vec<String>| Answer {
        report: String::new(),
        failures: complaints.iter().map(|complaint| format!("{path}: {complaint}")).collect(),
    };
    let list = match List::parse(repository.text(LIST)?) {
        Ok(list) => list,
        Err(complaints) => return Ok(in_file(LIST, complaints)),
    };
    let finished = match list.finished(repository.text(FINISHED)?) {
        Ok(finished) => finished,
        Err(complaints) => return Ok(in_file(FINISHED, complaints)),
    };
    let found = tests(repository);
    let coverage = coverage(&list, &finished, &found);
    let mut answer = Answer { report: coverage.report + "\n", failures: coverage.failures };
    let wrong = faults::complaints(repository.text(FAULTS)?, repository.files(), &found);
    answer.failures.extend(in_file(FAULTS, wrong).failures);
    if let Some(specification) = repository.neighbour(SPECIFICATION) {
        answer.failures.extend(in_file(LIST, list.compare(&specification)).failures);
    }
    Ok(answer)
}

fn tests(repository: &Repository) -> Found {
    let mut found = Found::default();
    for (path, text) in repository.files() {
        let in_tests = path.starts_with("tests/") || path.contains("/tests/");
        let extension = path.rsplit_once('.').map(|(_, extension)| extension);
        match extension {
            Some("rs") if path.starts_with("crates/") || path.starts_with("examples/") => {
                found.extend(in_rust(path, &repository.module(path), text));
            }
            Some("sh" | "py" | "ts" | "js") if in_tests => found.extend(in_script(path, text)),
            Some(_) | None => {}
        }
    }
    found
}

fn kept(repository: &Repository) -> Answer {
    let house::Findings { hints, failures } = house::findings(repository.files());
    let mut report: String = hints.iter().map(|hint| format!("hint    {hint}\n")).collect();
    if failures.is_empty() {
        report.push_str(&format!("{} files, in order\n", repository.files().len()));
    }
    Answer { report, failures }
}
