//! The commands that the pages on tickets, claims, runs and steps show, run as they stand there: in a folder of their own, against a server.
//!
//! What a page leaves to its reader (`ID`, an address, how often a runner runs) is put in; everything else is the page's. A line that is on a
//! page and that nobody here runs fails the test.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::kit::Place;
use crate::run::{folder, tenure};
use crate::serving::Server;

/// Where the pages have their server.
const SHOWN: &str = "http://127.0.0.1:7878";

fn page(name: &str) -> String {
    let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// What stands in the blocks of a language, block by block.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let behind = page.split(&fence).skip(1);
    behind.map(|rest| rest.split("```").next().unwrap_or_default().to_string()).collect()
}

/// The lines that a person types, without what is said about them.
fn lines(page: &str) -> Vec<String> {
    let all = blocks(page, "sh").concat();
    let line = |line: &str| line.split("  #").next().unwrap_or_default().trim().to_string();
    all.lines().map(line).filter(|line| !line.is_empty()).collect()
}

/// What stands in the text as code and begins so.
fn inline(page: &str, begins: &str) -> String {
    let code = page.split('`').find(|code| code.starts_with(begins) && !code.contains('\n'));
    code.unwrap_or_else(|| panic!("the page shows no `{begins}…`")).to_string()
}

/// A person in a folder, who has the program and a server.
struct Reader {
    folder: String,
    url: String,
}

impl Reader {
    /// Types a line. What it prints.
    #[track_caller]
    fn types(&self, line: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("a folder");
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-ec", &line.replace(SHOWN, &self.url)]).current_dir(&self.folder);
        for name in ["TENURE_DB", "TENURE_STORE", "TENURE_TOKEN", "TENURE_TOKEN_FILE", "TENURE_CONFIG"] {
            shell.env_remove(name);
        }
        shell.env("PATH", path).env("TENURE_URL", &self.url).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let ran = shell.output().expect("a shell");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{line}\n{said}\n{}", String::from_utf8_lossy(&ran.stderr));
        said
    }

    #[track_caller]
    fn json(&self, line: &str) -> Value {
        let said = self.types(line);
        serde_json::from_str(&said).unwrap_or_else(|why| panic!("{line}: {why}: {said}"))
    }

    /// Asks again until it is so. Each look is a process of its own, and takes its time.
    #[track_caller]
    fn until(&self, line: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let found = (0..2_000).map(|_| self.json(line)).find(is_so);
        found.unwrap_or_else(|| panic!("{line} does not become so"))
    }
}

fn first_word(said: &str) -> String {
    said.split_whitespace().next().expect("it says something").to_string()
}

// covers: M-01, M-04, M-09
#[test]
fn what_the_page_on_tickets_shows_can_be_typed() {
    let (page, place) = (page("tickets"), Place::file("page_tickets"));
    let repository = place.folder.inner("repository");
    let server = Server::start_with(&place.db, "127.0.0.1:0", &["--repository", &repository]);
    let reader = Reader { folder: repository, url: format!("http://{}", server.address) };
    reader.types("git init --quiet --initial-branch=main && echo '# a project' > README.md && git add --all");
    reader.types("git -c user.name=eva -c user.email=eva@example.org commit --quiet --message first");
    let mut id = String::new();
    for line in lines(&page) {
        match &*line {
            // The one that runs.
            "tenure serve --repository ." => {}
            line if line.starts_with("tenure ticket create") => id = first_word(&reader.types(line)),
            line if line.starts_with("tenure runner --") => {
                // One order, and not for ever.
                reader.types(&line.replacen("tenure runner", "tenure runner --count 1", 1));
                reader.until(&format!("tenure item show {id} --json"), |item| item["state"] == "DONE");
                let branches = reader.types("git branch --list 'tenure/*'");
                assert_eq!(branches.lines().count(), 1, "{branches}");
            }
            line if line.starts_with("tenure inbox ") => {
                let other = first_word(&reader.types("tenure ticket create 'the door'"));
                reader.types(&line.replace("ID", &other));
            }
            line if line.starts_with("git branch") => {
                reader.types(line);
                assert_eq!(reader.types("git branch --list 'tenure/*'"), "", "{line}");
            }
            line if line.contains(" ID") || line == "tenure inbox" || line.contains("ticket list") => {
                reader.types(&line.replace("ID", &id));
            }
            line => panic!("the page shows `{line}`, and nobody runs it here"),
        }
    }
    let filed = page.lines().find_map(|line| line.strip_prefix("File work with: ")).expect("it is shown");
    assert_eq!(reader.json(filed)["state"], "NEW", "{filed}");
}

// covers: C-01, C-04, C-05, C-12
#[test]
fn what_the_page_on_claims_shows_can_be_typed() {
    let (page, place) = (page("claims"), Place::file("page_claims"));
    let server = Server::start_with(&place.db, "127.0.0.1:0", &["--claim-retries", "0"]);
    let reader =
        Reader { folder: place.folder.path().to_string(), url: format!("http://{}", server.address) };
    let decomposed = |id: &str, state: &'static str| {
        let is_so = move |story: &Value| story["claim"]["decomposition_status"] == state;
        reader.until(&format!("tenure claim show {id} --json"), is_so)
    };
    let failed = first_word(&reader.types("tenure claim create 'What is this?'"));
    decomposed(&failed, "failed");
    let (mut id, mut truthbit) = (String::new(), String::new());
    let (of_workers, typed): (Vec<_>, Vec<_>) =
        lines(&page).into_iter().partition(|line| line.starts_with("curl"));
    for line in typed {
        match &*line {
            line if line.starts_with("tenure claim create") => {
                id = first_word(&reader.types(line));
                let bits = &decomposed(&id, "decomposed")["truthbits"];
                assert_eq!(bits.as_array().map(Vec::len), Some(2), "{bits}");
                truthbit = bits[0]["id"].as_str().expect("an id").to_string();
            }
            line if line.contains("TRUTHBIT") => drop(reader.types(&line.replace("TRUTHBIT", &truthbit))),
            // Only what failed is enqueued again.
            line if line.starts_with("tenure claim enqueue ID") => {
                reader.types(&line.replace("ID", &failed));
            }
            line if line.starts_with("tenure claim ") => drop(reader.types(&line.replace("ID", &id))),
            line => panic!("the page shows `{line}`, and nobody runs it here"),
        }
    }
    drop(server);

    // A worker of one's own, as the page says how to leave the claims to it.
    let without = inline(&page, "--without decomposers");
    let more: Vec<&str> = without.split(' ').collect();
    let server = Server::start_with(&place.db, "127.0.0.1:0", &more);
    let reader = Reader { url: format!("http://{}", server.address), ..reader };
    let claim = first_word(&reader.types("tenure claim create 'It rained in Paris on 2024-03-01.'"));
    let queued = |story: &Value| story["claim"]["decomposition_status"] == "queued";
    reader.until(&format!("tenure claim show {claim} --json"), queued);
    let [lease, decompose] = &of_workers[..] else { panic!("{of_workers:?}") };
    let mut leased = reader.json(lease)["leases"].take();
    // What was enqueued again above may come first.
    if leased[0]["item"] != claim.as_str() {
        leased = reader.json(lease)["leases"].take();
    }
    assert_eq!(leased[0]["item"], claim.as_str(), "{leased}");
    let token = leased[0]["lease_token"].as_str().expect("a token");
    let answer = reader.json(&format!("ID={claim}; {}", decompose.replace("…", token)));
    assert_eq!(answer["decomposition_status"], "decomposed", "{answer}");

    // What is configured is understood: all that is missing is the key.
    place.folder.write("tenure.toml", blocks(&page, "toml").concat());
    let config = place.folder.file("tenure.toml");
    let run = tenure(["serve", "--db", "memory:", "--listen", "127.0.0.1:0", "--config", &config]);
    let run = run.without("OPENAI_API_KEY").code(64);
    assert!(run.stderr.contains("OPENAI_API_KEY"), "{run:?}");
}

// covers: R-08, R-09, R-11
#[test]
fn what_the_pages_on_runs_and_steps_show_can_be_typed() {
    let (page, folder) = (page("runs"), folder("page_runs"));
    let db = format!("sqlite:{}", folder.file("t.db"));
    let server = Server::start(&db);
    let reader = Reader { folder: folder.path().to_string(), url: format!("http://{}", server.address) };
    let real = format!("{}/../systems/tests/systems/documents", env!("CARGO_MANIFEST_DIR"));
    reader.types(&format!("cp '{real}/invoice.pdf' invoice.pdf && cp '{real}/report.md' notes.md"));
    let mut document = String::new();
    for line in lines(&page) {
        match &*line {
            // The one that runs.
            "tenure serve" => {}
            line if line.starts_with("tenure doc add") => document = first_word(&reader.types(line)),
            line if line.contains(" DOCUMENT") => {
                let said = reader.types(&line.replace("DOCUMENT", &document));
                assert!(!line.contains("result") || said.contains("Invoice"), "{said}");
            }
            line => panic!("the page shows `{line}`, and nobody runs it here"),
        }
    }
    reader.types(&format!("cmp invoice.pdf copy.pdf && tenure doc wait {document}"));
    let again = reader.json(&inline(&page, "curl "));
    assert_ne!(again["document_id"], document.as_str(), "{again}");
    reader.types(&inline(&page, "tenure item erase ID").replace("ID", &document));
    drop(server);

    // The steps that the pages configure are steps, with a program and an address of whoever reads them.
    for name in ["runs", "steps"] {
        let configured =
            blocks(&self::page(name), "toml").concat().replace("token_variable = \"JUDGE_TOKEN\"\n", "");
        folder.write("tenure.toml", configured);
        let server = Server::configured(&db, &folder.file("tenure.toml"));
        assert_eq!(server.stop().0, Some(0), "{name}");
    }
}
