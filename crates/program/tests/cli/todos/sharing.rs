//! Sessions under one name.

use super::repository::Repository;
use crate::run::Run;

// fault: X13
// covers: T-02, T-10
#[test]
fn a_session_is_told_of_others_of_its_name_and_of_a_name_that_is_free() {
    let repository = Repository::branched("todos_namesakes");
    let acquire = |agent: &str| repository.run(&["session", "acquire", "--agent", agent]).code(0);
    let alone = acquire("robo");
    assert_eq!(alone.stderr, "", "the name is free");
    acquire("robo-2");
    let other =
        repository.run(&["session", "acquire", "--agent", "robo", "--json"]).code(0).objects().remove(0);
    assert_eq!(other["free_agent_id"], "robo-3", "{other}");
    let shared = other["shared_with"].as_array().expect("a list");
    let first = alone.stdout.split("session ").nth(1).expect("an id").split(' ').next();
    assert_eq!(shared.len(), 1, "{other}");
    assert_eq!(shared[0]["session_id"].as_str(), first);
    assert_eq!(shared[0]["workspace"].as_str(), Some(repository.path("").trim_end_matches('/')));
    let third = acquire("robo");
    assert!(third.stderr.contains("another session of robo is live"), "{third:?}");
    assert!(third.stderr.contains("and 1 more") && third.stderr.contains("--agent robo-3"), "{third:?}");
    assert!(third.stdout.starts_with("export TENURE_SESSION="), "what a shell evaluates is as it was");
    // The agent owns: what one session claims the other may finish.
    let id = repository.added(&["x"]);
    repository.run(&["todo", "claim", &id]).env("TENURE_SESSION", &token(&alone)).code(0);
    repository.run(&["todo", "done", &id]).env("TENURE_SESSION", &token(&third)).code(0);
    for run in [&alone, &third] {
        repository.run(&["session", "release"]).env("TENURE_SESSION", &token(run)).code(0);
    }
    let ended =
        repository.run(&["session", "release"]).env("TENURE_SESSION", other["session"].as_str().unwrap());
    ended.code(0);
    assert_eq!(acquire("robo").stderr, "", "a session that has ended shares nothing");
}

fn token(run: &Run) -> String {
    let line = run.stdout.lines().next().expect("a line");
    line.strip_prefix("export TENURE_SESSION=").expect("a token").to_string()
}
