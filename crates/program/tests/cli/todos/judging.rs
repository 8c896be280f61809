//! Nobody judges themselves: an agent answers no gate of its own, gives itself no easier plan, and is nobody but itself.

use super::repository::Repository;
use crate::serving::Server;

// covers: T-04, T-14
#[test]
fn an_agent_answers_no_gate_wherever_the_list_is() {
    let repository = Repository::branched("todos_own_gate");
    let db = format!("sqlite:{}", repository.path(".tenure/todo.db"));
    let id = repository.added(&["Write it", "--gate", "human:is it kind?"]);
    let agent = repository.session("ann");
    agent.run(&["todo", "claim", &id]).code(0);
    let refused = |place: [&str; 2]| {
        for word in [["inbox", "approve", &id], ["todo", "attest", &id]] {
            let all: Vec<&str> = word.into_iter().chain(place).chain(["--store", "repo"]).collect();
            let own = agent.run(&all).code(1);
            assert!(own.stderr.contains("FORBIDDEN") && own.stderr.contains("you are worker:ann"), "{own:?}");
        }
        assert_eq!(repository.shown(&id)["attestations"], serde_json::json!([]), "nothing was said");
    };
    refused(["--db", &db]);
    let server = Server::start(&db);
    let url = format!("http://{}", server.address);
    refused(["--url", &url]);
    repository.run(&["inbox", "approve", &id, "--url", &url, "--store", "repo"]).code(0);
    agent.run(&["todo", "done", &id]).code(0);
}

// covers: T-10
#[test]
fn a_session_of_the_list_says_nothing_to_a_ticket_of_the_folder() {
    let repository = Repository::branched("todos_own_ticket");
    repository.added(&["Something"]);
    let agent = repository.session("ann");
    let ticket = repository.run(&["ticket", "create", "Paint it", "--json"]).code(0).objects().remove(0);
    let id = ticket["id"].as_str().or(ticket["ticket_id"].as_str()).expect("an id");
    // It is an agent's, and of another store: it is no person's word in either.
    agent.run(&["inbox", "approve", id]).code(1);
    repository.run(&["inbox", "approve", id]).code(0);
}

// covers: T-11, T-16, K-06
#[test]
fn an_agent_gives_itself_no_other_plan_and_the_log_names_who_did() {
    let repository = Repository::branched("todos_own_plan");
    let id = repository.added(&["Prove it", "--gate", "cmd:false"]);
    let agent = repository.session("ann");
    agent.run(&["todo", "claim", &id]).code(0);
    let own = agent.run(&["todo", "plan", &id, "--gate", "cmd:true"]).code(1);
    let said = "error: FORBIDDEN: `plan` is for api or human or admin, and you are worker:ann\n";
    assert!(own.stderr.contains(said), "{own:?}");
    assert_eq!(repository.shown(&id)["gates"], serde_json::json!(["cmd:false"]));
    repository.run(&["todo", "plan", &id, "--gate", "cmd:true"]).env("USER", "eve").code(0);
    let log = repository.run(&["log", "--db", &format!("sqlite:{}", repository.path(".tenure/todo.db"))]);
    let log = log.code(0).stdout;
    let noted: Vec<&str> = log.lines().filter(|line| line.contains("note")).collect();
    assert!(noted.len() == 1 && noted[0].contains("human:eve"), "{log}");
    agent.run(&["todo", "done", &id]).code(0);
}

// covers: T-16, T-17
#[test]
fn what_is_given_up_gets_no_other_plan() {
    let repository = Repository::branched("todos_no_plan");
    let id = repository.added(&["Not any more"]);
    repository.run(&["todo", "abandon", &id, "--reason", "nobody needs it"]).code(0);
    let refused = repository.run(&["todo", "plan", &id, "--gate", "cmd:true"]).code(1);
    assert!(refused.stderr.starts_with("error: TRANSITION_REFUSED: "), "{refused:?}");
    assert_eq!(repository.shown(&id)["gates"], serde_json::json!([]));
}

// covers: T-10
#[test]
fn an_agent_is_never_given_the_session_of_another() {
    let repository = Repository::branched("todos_own_session");
    let id = repository.added(&["Mine"]);
    let ann = repository.session("ann");
    let refused = ann.run(&["session", "acquire", "--agent", "robo"]).code(1);
    assert!(refused.stderr.starts_with("error: SESSION_REQUIRED: the session is ann's"), "{refused:?}");
    let fix = r#"unset TENURE_SESSION; eval "$(tenure session acquire --agent robo)""#;
    assert!(refused.stderr.contains(fix), "{refused:?}");
    let refused = ann.run(&["todo", "claim", &id]).env("TENURE_AGENT", "robo").code(1);
    assert!(refused.stderr.contains(fix), "{refused:?}");
    assert_eq!(repository.shown(&id)["state"], "Draft", "nothing was claimed in its name");
    let same = ann.run(&["session", "acquire", "--agent", "ann", "--json"]).code(0).objects().remove(0);
    assert_eq!(same["session"], ann.token.as_str());
    let made =
        ann.run(&["session", "acquire", "--agent", "robo", "--json"]).without("TENURE_SESSION").code(0);
    assert_eq!(made.objects()[0]["agent_id"], "robo");
}
