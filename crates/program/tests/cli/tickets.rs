//! Tickets in a real git repository: approved, run with a script, judged, done.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::kit::{Life, Place, Process};
use crate::serving::Server;

/// A repository with one commit, beside the database of its server.
struct Desk {
    place: Place,
    server: Server,
    repository: String,
}

impl Desk {
    fn of(place: Place) -> Desk {
        let repository = place.folder.inner("repository");
        let server = Server::start(&place.db);
        let desk = Desk { place, server, repository };
        desk.begin();
        desk
    }

    /// Its first commit.
    fn begin(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(format!("{}/README.md", self.repository), "# a project\n").unwrap();
        self.git(&["add", "--all"]);
        let who = ["-c", "user.name=eva", "-c", "user.email=eva@example.org"];
        self.git(&[&who[..], &["commit", "--quiet", "--message", "first"]].concat());
    }

    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(&self.repository).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let ran = git.output().expect("git runs");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("text")
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let url = self.url();
        self.place.json(&[arguments, &["--url", &url, "--json"]].concat())
    }

    #[track_caller]
    fn say(&self, arguments: &[&str]) -> String {
        let url = self.url();
        self.place.run(&[arguments, &["--url", &url]].concat()).code(0).stdout
    }

    /// A ticket that was approved.
    #[track_caller]
    fn approved(&self, arguments: &[&str]) -> String {
        let ticket = self.json(&[&["ticket", "create", "Say hello"], arguments].concat());
        let id = ticket["ticket_id"].as_str().expect("an id").to_string();
        self.say(&["ticket", "approve", &id, "--note", "go ahead"]);
        id
    }

    fn runner(&self, options: &[&str], script: &str) -> Process {
        let url = self.url();
        let mut arguments = vec!["runner", "--url", &url, "--repository", &self.repository];
        arguments.extend(options);
        arguments.extend(["--", "sh", "-c", script]);
        let mut runner = Process::start(&arguments, None);
        runner.until("carrying out work orders");
        runner
    }

    fn orders(&self) -> Vec<Value> {
        let (_, orders) = self.server.ask("GET", "/v1/work-orders", "");
        orders["items"].as_array().expect("a list").clone()
    }

    /// Nothing but the repository itself is left of what was worked in.
    #[track_caller]
    fn is_tidy(&self) {
        let trees = self.git(&["worktree", "list", "--porcelain"]);
        assert_eq!(trees.matches("worktree ").count(), 1, "{trees}");
    }
}

/// An executor that knows no secret.
const HELLO: &str = "test -z \"$TENURE_SESSION\" || exit 1; \
    cat > errand.json.tmp; rm errand.json.tmp; echo \"hello, $TENURE_TITLE\" >> README.md; echo done";

// covers: M-01, M-02, M-03, M-04, M-09
#[test]
fn a_ticket_becomes_a_patch_on_a_branch_of_its_own() {
    for place in [Place::file("tickets_file"), Place::postgres("tickets_postgres")] {
        let desk = Desk::of(place);
        let id = desk.approved(&["--gate", "test:grep -q hello README.md", "--gate", "human:is it polite?"]);
        let mut log = desk.place.follow();
        log.until("CREATED");
        let said = desk.say(&["ticket", "explain", &id]);
        assert!(said.contains("tenure runner -- COMMAND"), "{said}");
        let refused =
            desk.place.run(&["ticket", "block", &id, "--reason", "not now", "--url", &desk.url()]).code(1);
        assert!(refused.stderr.contains("TRANSITION_REFUSED: it is worked on"), "{refused:?}");
        let refused = desk.place.run(&["ticket", "approve", &id, "--url", &desk.url()]).code(1);
        assert!(refused.stderr.contains(&format!("run `tenure ticket explain {id}`")), "{refused:?}");
        let runner = desk.runner(&["--count", "1"], HELLO);
        assert_eq!(runner.ended(), Some(0));
        let inbox = desk.json(&["inbox"]);
        let gate = inbox["items"][0]["id"].as_str().expect("it waits").to_string();
        // With where to look: the branch, and how it differs.
        let question = inbox["items"][0]["question"].as_str().expect("words");
        let look =
            question.rsplit_once(": ").and_then(|(_, look)| look.strip_suffix(')')).expect("a command");
        assert!(question.starts_with("is it polite?") && question.contains(&id), "{question}");
        let look: Vec<&str> = look.split(' ').skip(1).collect();
        assert!(desk.git(&look).contains("+hello, Say hello"), "{look:?}");
        let said = desk.say(&["ticket", "explain", &id]);
        assert!(said.contains("tenure inbox approve") && said.contains("git diff"), "{said}");
        desk.say(&["inbox", "approve", &gate, "--note", "very"]);
        let done = desk.json(&["item", "show", &id, "--wait", "60"]);
        assert_eq!(done["state"], "DONE");

        let [order] = &desk.orders()[..] else { panic!("one work order") };
        let branch = format!("tenure/{}", order["work_order_id"].as_str().unwrap());
        let text = desk.git(&["show", &format!("{branch}:README.md")]);
        assert_eq!(text, "# a project\nhello, Say hello\n");
        assert_eq!(desk.git(&["log", "--format=%s", "-1", &branch]), "Say hello\n");
        assert_eq!(desk.git(&["show", "main:README.md"]), "# a project\n", "nothing else has changed");
        assert_eq!(desk.git(&["status", "--porcelain"]), "");
        desk.is_tidy();
        let said = desk.say(&["ticket", "explain", &id]);
        for words in [
            "SCHEDULED",
            "go ahead",
            "COMPLETED",
            &branch,
            "passed test:grep",
            "approved by",
            "PASS, to DONE",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}

// covers: M-04, M-08
#[test]
fn a_gate_that_fails_three_times_waits_in_the_inbox() {
    let desk = Desk::of(Place::file("tickets_blocked"));
    let id = desk.approved(&["--gate", "cmd:grep -q goodbye README.md"]);
    let runner = desk.runner(&["--count", "3"], HELLO);
    assert_eq!(runner.ended(), Some(0));
    let mut log = desk.place.follow();
    log.until("BLOCKED");
    let inbox = desk.say(&["inbox"]);
    assert!(inbox.contains(&id) && inbox.contains("cmd:grep -q goodbye"), "{inbox}");
    let shown = desk.say(&["ticket", "show", &id]);
    assert!(shown.contains("BLOCKED") && shown.contains("blocked"), "{shown}");
    let resolved = desk.json(&["ticket", "resolve", &id, "--note", "say goodbye, too"]);
    assert_ne!(resolved["state"], "BLOCKED");
    let runner = desk.runner(&["--count", "1"], "echo goodbye >> README.md");
    assert_eq!(runner.ended(), Some(0));
    assert_eq!(desk.json(&["item", "show", &id, "--wait", "60"])["state"], "DONE");
    desk.is_tidy();
    let refused = desk.place.run(&["ticket", "approve", &id, "--url", &desk.url()]).code(1);
    assert!(refused.stderr.contains("TRANSITION_REFUSED"), "{refused:?}");
}

// covers: M-03, M-07
#[test]
fn a_runner_that_is_killed_leaves_its_order_to_the_next_which_tidies_up() {
    let desk = Desk::of(Place::file("tickets_killed"));
    let id = desk.approved(&[]);
    let life = Life::new(&desk.place.folder, "life");
    let script = life.script("echo half >> README.md; exec sleep 1000");
    let first = desk.runner(&["--lease", "2"], &script);
    let living = life.begun();
    first.signal(Signal::KILL);
    drop(first);
    living.dead();
    let second = desk.runner(&["--count", "1", "--lease", "2"], HELLO);
    assert_eq!(second.ended(), Some(0));
    assert_eq!(desk.json(&["item", "show", &id, "--wait", "60"])["state"], "DONE");
    let [order] = &desk.orders()[..] else { panic!("one work order") };
    let branch = format!("tenure/{}", order["work_order_id"].as_str().unwrap());
    assert_eq!(desk.git(&["show", &format!("{branch}:README.md")]), "# a project\nhello, Say hello\n");
    desk.is_tidy();
}

// covers: M-03
#[test]
fn a_command_that_outlasts_its_budget_is_ended_and_the_bundle_says_so() {
    let desk = Desk::of(Place::file("tickets_budget"));
    let id = desk.approved(&["--budget", "1s"]);
    let life = Life::new(&desk.place.folder, "life");
    let runner = desk.runner(&["--count", "1"], &life.script("exec sleep 1000"));
    life.begun().dead();
    assert_eq!(runner.ended(), Some(0));
    let order = desk.orders()[0]["work_order_id"].as_str().unwrap().to_string();
    let (_, output) = desk.server.ask("GET", &format!("/v1/work-orders/{order}/output"), "");
    assert_eq!(output["output_bundle"]["outcome"], "BUDGET_EXHAUSTED", "{output}");
    assert_eq!(output["output_bundle"]["ticket_id"], id);
    desk.is_tidy();
}

// covers: M-03
#[test]
fn who_leaves_the_group_of_a_command_is_ended_with_its_budget_too() {
    let desk = Desk::of(Place::file("tickets_away"));
    desk.approved(&["--budget", "1s"]);
    let life = Life::new(&desk.place.folder, "life");
    // As `timeout` does, and with it every `make` that is given a limit.
    let away = format!("timeout 1000 sh -c '{}'; true", life.script("exec sleep 1000"));
    let runner = desk.runner(&["--count", "1"], &away);
    life.begun().dead();
    assert_eq!(runner.ended(), Some(0));
    desk.is_tidy();
}

// covers: M-07
#[test]
fn a_runner_that_is_killed_while_it_checks_leaves_no_copy_behind() {
    let desk = Desk::of(Place::file("tickets_checking"));
    let life = Life::new(&desk.place.folder, "life");
    // The first who checks waits until he is killed.
    let mark = desk.place.folder.file("was_here");
    let gate = format!("cmd:test -e {mark} || {{ touch {mark}; {}; }}", life.script("exec sleep 1000"));
    let id = desk.approved(&["--gate", &gate]);
    let first = desk.runner(&["--lease", "2"], HELLO);
    let living = life.begun();
    assert_eq!(desk.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 3);
    first.signal(Signal::KILL);
    drop(first);
    living.dead();
    let second = desk.runner(&["--count", "1", "--lease", "2"], HELLO);
    assert_eq!(second.ended(), Some(0));
    assert_eq!(desk.json(&["item", "show", &id, "--wait", "60"])["state"], "DONE");
    desk.is_tidy();
}

// covers: M-01, M-08, M-10
#[test]
fn an_agent_and_what_tenure_started_ask_for_tickets_and_do_not_decide_on_them() {
    let place = Place::file("tickets_asker");
    let agents = [
        ("TENURE_AGENT", "ann"),
        ("TENURE_SESSION", "of a list"),
        ("TENURE_WORK_ORDER", "01M7GE4XB00006645Z0KC20ZT6"),
        ("TENURE_WORKER", "runner-1"),
        ("TENURE_COMMAND", "0123456789abcdef"),
    ];
    let as_person = |arguments: &[&str]| {
        agents.iter().fold(place.run(arguments), |run, (name, _)| run.without(name)).env("USER", "eva")
    };
    let create = ["ticket", "create", "Say hello", "--json"];
    let by = |agent: Option<(&str, &str)>| {
        let made = agent.into_iter().fold(as_person(&create), |run, (name, value)| run.env(name, value));
        made.code(0).objects().remove(0)["created_by"].clone()
    };
    assert_eq!((by(None), by(Some(agents[0]))), ("human:eva".into(), "api:ann".into()));
    let id = as_person(&create).code(0).objects().remove(0)["ticket_id"].as_str().expect("an id").to_string();
    let nobody_else = |words: &[&[&str]]| {
        for (name, value) in agents {
            for arguments in words {
                let said = as_person(arguments).env(name, value);
                // A session that the service does not know is refused as one.
                let refused = said.code(1).stderr;
                let codes = ["FORBIDDEN", "SESSION_REQUIRED"];
                assert!(codes.iter().any(|code| refused.contains(code)), "{name} {arguments:?}: {refused}");
            }
        }
    };
    let state = || as_person(&["ticket", "show", &id, "--json"]).code(0).objects().remove(0)["state"].clone();
    nobody_else(&[&["ticket", "approve", &id], &["inbox", "approve", &id], &["inbox", "reject", &id]]);
    assert_eq!(state(), "NEW");
    let approved = as_person(&["ticket", "approve", &id, "--json"]).code(0).objects().remove(0);
    assert_eq!(approved["approval"]["by"], "human:eva");
    nobody_else(&[&["ticket", "block", &id, "--reason", "mine"]]);
    as_person(&["ticket", "block", &id, "--reason", "not today"]).code(0);
    nobody_else(&[&["ticket", "resolve", &id], &["inbox", "approve", &id]]);
    assert_eq!(state(), "BLOCKED");
    as_person(&["ticket", "resolve", &id]).code(0);
    assert_eq!(state(), "TODO");
}

// covers: M-07
#[test]
fn the_workers_of_tickets_run_each_where_it_is_wanted() {
    let place = Place::postgres("tickets_parts");
    let all = ["readiness", "scheduler", "gate"];
    let only = |part: &str| {
        let others: Vec<&str> = all.into_iter().filter(|other| *other != part).collect();
        Server::start_with(&place.db, "127.0.0.1:0", &["--without", &others.join(",")])
    };
    let servers = all.map(only);
    let repository = place.folder.inner("repository");
    let [_, server, gate] = servers;
    let desk = Desk { place, server, repository };
    desk.begin();
    let id = desk.approved(&["--gate", "test:grep -q hello README.md"]);
    assert_eq!(desk.runner(&["--count", "1"], HELLO).ended(), Some(0));
    assert_eq!(desk.json(&["item", "show", &id, "--wait", "60"])["state"], "DONE");
    drop(gate);
    // With nobody to judge it, the next output waits.
    let id = desk.approved(&[]);
    assert_eq!(desk.runner(&["--count", "1"], HELLO).ended(), Some(0));
    assert_eq!(desk.json(&["ticket", "explain", &id])["runs"][0]["gate_state"], "OPEN");
}

#[test]
fn a_runner_without_a_repository_or_a_commit_says_so() {
    let place = Place::file("tickets_nowhere");
    let folder = place.folder.inner("empty");
    let run = |more: &[&str]| {
        let arguments = [&["runner", "--repository", &folder][..], more, &["--", "true"]].concat();
        // Wherever the tests run may be a repository itself.
        place.run(&arguments).env("GIT_CEILING_DIRECTORIES", place.folder.path()).code(64).stderr
    };
    let said = run(&[]);
    assert!(said.contains("is no git repository") && said.contains("--repository DIR"), "{said}");
    let made = Command::new("git").args(["init", "--quiet", &folder]).status().expect("git runs");
    assert!(made.success());
    let said = run(&["--base", "no-such"]);
    assert!(said.contains(r#""no-such" is no commit of"#) && said.contains("--base"), "{said}");
}
