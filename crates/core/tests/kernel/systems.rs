//! What the shipped lifecycles fix by themselves: claims, runs and todos, driven through the kernel.

use tenure_core::answer::Answer;
use tenure_core::id::{ItemId, RecordId};
use tenure_core::lifecycle::guard::Guard;
use tenure_core::request::*;

use crate::kit::*;

const CLAIM: &str = r#"{"domain":"d","text":"t"}"#;

fn queued_claim(bench: &mut Bench) -> ItemId {
    let claim = bench.create("api:t", "claim", CLAIM);
    bench.ask("orchestrator:o", step(claim, "enqueue"));
    claim
}

fn todo(bench: &mut Bench) -> ItemId {
    bench.create("human:eva", "todo", r#"{"title":"t"}"#)
}

// covers: C-02, K-01
#[test]
fn a_claim_goes_its_way_under_the_names_of_its_domain() {
    let mut bench = Bench::new();
    let claim = queued_claim(&mut bench);
    let execution = bench.run("worker:a/1", claim);
    bench.ask("worker:a/1", fail(execution));
    bench.ask("orchestrator:o", step_for(claim, "enqueue", "retry"));
    bench.run("worker:a/1", claim);
    bench.expire(claim);
    let execution = bench.run("worker:a/1", claim);
    bench.ask("worker:a/1", commit_with(execution, recording(record("truthbit", "1", "{}"))));
    let shown: Vec<String> = bench.history(claim).iter().map(|entry| entry.shown().to_string()).collect();
    let expected = [
        "CreateClaim",
        "EnqueueDecomposition",
        "WorkerLeaseAcquired",
        "start",
        "DecompositionFailed",
        "RetryEnqueue",
        "WorkerLeaseAcquired",
        "start",
        "LeaseTimeout",
        "WorkerLeaseAcquired",
        "start",
        "DecompositionSucceeded",
    ];
    assert_eq!(shown, expected);
    assert_eq!(bench.state(claim), "decomposed");
}

// covers: C-05, C-06
#[test]
fn a_commit_that_no_decomposer_stands_behind_leaves_a_claim_as_it_was() {
    let mut bench = Bench::new();
    let claim = queued_claim(&mut bench);
    let execution = bench.run("worker:a/1", claim);
    for effects in [Effects::default(), recording(record("truthbit", "1", "{}"))] {
        for attests in [vec![], vec![Guard::Workspace, Guard::GatesPass]] {
            let own = Commit {
                execution,
                output: None,
                effects: effects.clone(),
                finish: true,
                session: None,
                attests,
            };
            for who in ["worker:a/1", "admin:root"] {
                let code = bench.refusal(who, Command::Commit(own.clone()));
                assert!(["NOT_DECOMPOSED", "LEASE_LOST"].contains(&&*code), "{who}: {code}");
            }
        }
    }
    assert_eq!(bench.state(claim), "in_progress");
    assert!(bench.ask("worker:a/1", commit(execution)).is_yes(), "its lease is as good as before");
}

// covers: C-02, C-03
#[test]
fn nobody_but_the_orchestrator_queues_a_claim_and_nobody_but_a_worker_takes_it() {
    let mut bench = Bench::new();
    let claim = bench.create("api:t", "claim", CLAIM);
    for role in ["api", "worker", "human", "system"] {
        assert_eq!(bench.refusal(&format!("{role}:x"), step(claim, "enqueue")), "FORBIDDEN", "{role}");
    }
    assert_eq!(bench.refusal("worker:a/1", take(claim)), "TRANSITION_REFUSED", "pending is not queued");
    bench.ask("orchestrator:o", step(claim, "enqueue"));
    for role in ["api", "orchestrator", "human", "system"] {
        assert_eq!(bench.refusal(&format!("{role}:x"), take(claim)), "FORBIDDEN", "{role}");
    }
}

// covers: C-03, C-04, K-05
#[test]
fn a_decomposed_claim_is_final_and_says_so() {
    let mut bench = Bench::new();
    let claim = queued_claim(&mut bench);
    let execution = bench.run("worker:a/1", claim);
    bench.ask("worker:a/1", commit(execution));
    assert_eq!(bench.refusal("orchestrator:o", step(claim, "enqueue")), "ALREADY_DECOMPOSED");
    assert_eq!(bench.refusal("worker:a/1", take(claim)), "ALREADY_COMMITTED");
    assert_eq!(bench.refusal("orchestrator:o", step(ItemId(1), "enqueue")), "NOT_FOUND");
}

// covers: C-05, C-06, K-22
#[test]
fn truthbits_come_with_the_commit_once_under_ids_that_follow_from_claim_and_key() {
    let mut bench = Bench::new();
    let claim = queued_claim(&mut bench);
    let execution = bench.run("worker:a/1", claim);
    let bits = |keys: &[&str]| Effects {
        records: keys.iter().map(|key| record("truthbit", key, &format!("\"{key}\""))).collect(),
        ..Effects::default()
    };
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, bits(&["a", "a"]))), "INVALID_REQUEST");
    assert_eq!(bench.refusal("worker:b/1", commit_with(execution, bits(&["a"]))), "LEASE_LOST");
    assert!(bench.world.records.is_empty());
    let first = bench.ask("worker:a/1", commit_with(execution, bits(&["a", "b"])));
    let ids: Vec<RecordId> = bench.world.records.keys().copied().collect();
    let mut expected =
        ["a", "b"].map(|key| RecordId::of(claim, &"truthbit".parse().unwrap(), &key.parse().unwrap()));
    expected.sort();
    assert_eq!(ids, expected);
    // Repeated after success, also with another set: the same answer, and no TruthBit is changed.
    let before = bench.everything();
    assert_eq!(bench.ask("worker:a/1", commit_with(execution, bits(&["a", "c"]))), first);
    assert_eq!(bench.everything(), before);
}

// covers: R-01, R-03
#[test]
fn a_run_ends_once_and_for_good() {
    for (ending, state) in [("commit", "COMPLETED"), ("fail", "FAILED"), ("time-out", "TIMED_OUT")] {
        let mut bench = Bench::new();
        let run = bench.create("api:t", "run", r#"{"document_id":"d"}"#);
        let execution = bench.run("worker:a/1", run);
        match ending {
            "commit" => bench.ask("worker:a/1", commit(execution)),
            "fail" => bench.ask("worker:a/1", fail(execution)),
            _ => {
                bench.wait(seconds(120));
                bench.sweep(run)
            }
        };
        assert_eq!(bench.state(run), state);
        let table = bench.item(run).table.clone();
        assert!(table.is_final(bench.item(run).state), "{state}");
        assert!(!bench.decide("worker:b/1", take(run)).answer.is_yes(), "{state}");
        let next = bench.create("api:t", "run", r#"{"document_id":"d"}"#);
        bench.take("worker:b/1", next);
    }
}

// covers: R-05
#[test]
fn a_run_is_not_given_back() {
    let mut bench = Bench::new();
    let run = bench.create("api:t", "run", r#"{"document_id":"d"}"#);
    let execution = bench.run("worker:a/1", run);
    assert_eq!(bench.refusal("worker:a/1", release(execution)), "TRANSITION_REFUSED");
}

// covers: T-01
#[test]
fn claiming_a_todo_needs_a_live_session_of_ones_own_and_a_workspace() {
    let mut bench = Bench::new();
    let todo = todo(&mut bench);
    let (mine, other) = (bench.session("worker:a/1"), bench.session("worker:b/1"));
    let job = bench.job();
    bench.take("worker:a/1", job);
    bench.store = "elsewhere";
    let there = bench.session("worker:a/1");
    bench.store = "default";
    let claim = |terms: Terms| Command::Take(Take { item: todo, terms });
    let without = |session| Terms { session, ..in_session(mine) };
    for (session, what) in [
        (None, "none"),
        (Some(other), "another's"),
        (Some(there), "of another store"),
        (Some(job), "no session"),
        (Some(ItemId(1)), "not there"),
    ] {
        assert_eq!(bench.refusal("worker:a/1", claim(without(session))), "SESSION_REQUIRED", "{what}");
    }
    let no_workspace = Terms { attests: vec![], ..in_session(mine) };
    assert_eq!(bench.refusal("worker:a/1", claim(no_workspace)), "WORKSPACE_REQUIRED");
    assert_eq!(bench.refusal("worker:a/1", claim(in_session(mine))), "yes");
    bench.wait(seconds(3600));
    assert_eq!(bench.refusal("worker:a/1", claim(in_session(mine))), "SESSION_REQUIRED", "it has lapsed");
}

// covers: T-02
#[test]
fn a_claimed_todo_has_one_owner_and_a_draft_none() {
    let mut bench = Bench::new();
    let todo = todo(&mut bench);
    let (first, other) = (bench.session("worker:a/s1"), bench.session("worker:b/s1"));
    assert!(bench.item(todo).lease.is_none());
    bench.claim("worker:a/s1", todo, first);
    // Claiming again changes nothing.
    let before = bench.everything();
    bench.claim("worker:a/s1", todo, first);
    assert_eq!(bench.everything(), before);
    // Another's is refused, with who and until when.
    let until = START.after(seconds(3600));
    let theirs = bench.ask("worker:b/s1", Command::Take(Take { item: todo, terms: in_session(other) }));
    assert_eq!(theirs, Answer::Held { item: todo, owner: "a/s1".parse().unwrap(), until });
    // The same agent in a newer session moves the claim there, and the older one has lost it.
    let old = bench.item(todo).execution_id();
    let newer = bench.session("worker:a/s2");
    let execution = bench.claim("worker:a/s2", todo, newer);
    assert_eq!(execution.fence, old.fence.next());
    let lease = bench.item(todo).lease.clone().unwrap();
    assert_eq!((lease.owner.to_string().as_str(), lease.session), ("a/s2", Some(newer)));
    assert_eq!(bench.refusal("worker:a/s1", done(old, first, "r")), "LEASE_LOST");
    assert_eq!(bench.item(todo).failures, 0, "nothing failed");
}

// covers: T-01, T-02
#[test]
fn only_its_present_owner_gives_a_todo_back() {
    let mut bench = Bench::new();
    let todo = todo(&mut bench);
    let session = bench.session("worker:a/1");
    let execution = bench.claim("worker:a/1", todo, session);
    let give_back = || {
        Command::Release(Release { execution, reason: None, delay: None, attests: vec![Guard::Workspace] })
    };
    assert_eq!(bench.refusal("worker:b/1", give_back()), "LEASE_LOST");
    assert_eq!(bench.refusal("worker:a/1", release(execution)), "WORKSPACE_REQUIRED");
    assert!(bench.ask("worker:a/1", give_back()).is_yes());
    assert_eq!((bench.state(todo), bench.item(todo).lease.is_none()), ("Draft", true));
}

// covers: T-03, T-10
#[test]
fn a_todo_is_given_back_when_its_session_ends() {
    for ending in ["release", "expire"] {
        let mut bench = Bench::new();
        let todo = todo(&mut bench);
        let session = bench.session("worker:a/1");
        bench.claim("worker:a/1", todo, session);
        let lapsed = Due::Lapsed { session };
        assert!(
            matches!(bench.sweep_with(todo, lapsed.clone(), Effects::default()), Answer::Same(_)),
            "it lives"
        );
        match ending {
            "release" => bench.ask("worker:a/1", release(bench.item(session).execution_id())),
            _ => bench.expire(session),
        };
        let other = Due::Lapsed { session: ItemId(9) };
        assert!(
            matches!(bench.sweep_with(todo, other, Effects::default()), Answer::Same(_)),
            "not that session"
        );
        bench.sweep_with(todo, lapsed, Effects::default());
        assert_eq!(
            (bench.state(todo), bench.item(todo).reason.as_deref()),
            ("Draft", Some("its session ended"))
        );
        assert_eq!(bench.item(todo).slot(bench.world.now), tenure_core::item::Slot::Ready, "at once");
    }
}

// covers: T-03
#[test]
fn a_dead_agents_todo_is_a_draft_again_however_often_that_happens() {
    let mut bench = Bench::new();
    let todo = todo(&mut bench);
    for round in 0..20 {
        let agent = format!("worker:a/{round}");
        let session = bench.session(&agent);
        bench.claim(&agent, todo, session);
        bench.expire(todo);
        assert_eq!(bench.state(todo), "Draft", "round {round}");
    }
}

// covers: T-01, T-06
#[test]
fn done_needs_passing_gates_and_stores_its_receipt() {
    let mut bench = Bench::new();
    let todo = todo(&mut bench);
    let session = bench.session("worker:a/1");
    let execution = bench.claim("worker:a/1", todo, session);
    let Command::Commit(full) = done(execution, session, "proof") else { panic!() };
    let without = |index: usize| {
        let mut attests = full.attests.clone();
        attests.remove(index);
        Command::Commit(Commit { attests, ..full.clone() })
    };
    assert_eq!(bench.refusal("worker:a/1", without(0)), "WORKSPACE_REQUIRED");
    assert_eq!(bench.refusal("worker:a/1", without(1)), "VERIFICATION_REQUIRED");
    let sessionless = Command::Commit(Commit { session: None, ..full.clone() });
    assert_eq!(bench.refusal("worker:a/1", sessionless), "SESSION_REQUIRED");
    assert!(bench.ask("worker:a/1", Command::Commit(full)).is_yes());
    assert_eq!((bench.state(todo), bench.world.records.len()), ("Verified", 1));
}

// covers: T-06, T-17, K-05
#[test]
fn a_verified_todo_answers_the_same_proof_and_refuses_any_other() {
    let mut bench = Bench::new();
    let todo = todo(&mut bench);
    let session = bench.session("worker:a/1");
    let execution = bench.claim("worker:a/1", todo, session);
    bench.ask("worker:a/1", done(execution, session, "proof"));
    let before = bench.everything();
    for (actor, proof, expected) in [
        ("worker:a/1", "proof", "yes"),
        ("worker:a/1", "another", "yes"), // Its own commit again is answered as it was.
        ("worker:b/1", "proof", "yes"),
        ("worker:b/1", "another", "VERIFICATION_REQUIRED"),
        ("human:eva", "another", "VERIFICATION_REQUIRED"),
    ] {
        assert_eq!(code(&bench.ask(actor, done(execution, session, proof))), expected, "{actor} {proof}");
        assert_eq!(bench.everything(), before, "{actor} {proof}");
    }
    assert_eq!(
        bench.refusal("worker:b/1", Command::Take(Take { item: todo, terms: in_session(session) })),
        "ALREADY_COMMITTED"
    );
}

// covers: T-01
#[test]
fn abandoning_needs_a_reason_and_is_final() {
    let mut bench = Bench::new();
    let (draft, claimed) = (todo(&mut bench), todo(&mut bench));
    let session = bench.session("worker:a/1");
    bench.claim("worker:a/1", claimed, session);
    let abandon = |item, reason: Option<&str>| {
        let (reason, attests) = (reason.map(str::to_string), vec![Guard::Workspace]);
        Command::Move(Move { reason, attests, ..Move::new(item, "abandon".parse().unwrap()) })
    };
    assert_eq!(bench.refusal("human:eva", abandon(draft, None)), "INVALID_REQUEST");
    assert_eq!(
        bench.refusal("worker:a/1", abandon(draft, Some("r"))),
        "FORBIDDEN",
        "a draft is a person's to abandon"
    );
    assert_eq!(bench.refusal("worker:b/1", abandon(claimed, Some("r"))), "CLAIM_CONFLICT", "not its owner");
    bench.ask("human:eva", abandon(draft, Some("r")));
    bench.ask("worker:a/1", abandon(claimed, Some("r")));
    for item in [draft, claimed] {
        assert_eq!((bench.state(item), bench.item(item).lease.is_none()), ("Abandoned", true));
        assert!(bench.item(item).table.is_final(bench.item(item).state));
    }
}

// covers: T-01, T-02, K-12
#[test]
fn whose_claim_has_run_out_owns_the_task_no_more() {
    let mut bench = Bench::new();
    let (session, todo) = (bench.session("worker:a/1"), todo(&mut bench));
    bench.claim("worker:a/1", todo, session);
    bench.wait(std::time::Duration::from_secs(3600));
    let reason = Some("no time".to_string());
    let abandon =
        Move { reason, attests: vec![Guard::Workspace], ..Move::new(todo, "abandon".parse().unwrap()) };
    assert_eq!(bench.refusal("worker:a/1", Command::Move(abandon)), "CLAIM_CONFLICT");
    assert_eq!(bench.state(todo), "Claimed", "until it is swept");
}
