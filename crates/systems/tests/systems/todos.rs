//! Tasks on every database: whose they are, when they are done, and what is kept of it.

mod again;
mod circles;
mod unsound;

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::Tenure;
use tenure::core::actor::{Actor, Role};
use tenure::core::code::Code;
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Command, Take, Terms};
use tenure_systems::gate::Gate;
use tenure_systems::todos::list::Wanted;
use tenure_systems::todos::receipt::{Artifact, GateResult, Proof, Run, VALIDATE};
use tenure_systems::todos::validate::{LIMIT, Scope};
use tenure_systems::todos::workspace::Facts;
use tenure_systems::todos::{Changed, Error, New, Proved, Session, Settings, Task, Todos, session};
use tokio::task::JoinSet;

use crate::kit::{PATIENCE, on_each};

pub fn actor(role: Role, name: &str) -> Actor {
    Actor::new(role, name.parse().unwrap())
}

pub fn branch() -> Facts {
    let some = |text: &str| Some(text.to_string());
    Facts { branch: some("todo/1"), commit: some("c0ffee"), path: None, tree: some("7ree") }
}

/// Somebody at work.
pub struct Agent {
    pub todos: Todos,
    pub session: Session,
}

pub async fn agent(tenure: &Tenure, name: &str) -> Agent {
    let agent = actor(Role::Worker, name);
    let session = session::acquire(tenure, &agent, Some("/w".into()), None).await.unwrap();
    let todos = Todos::new(tenure, agent, Some(session.clone()), Settings::default());
    Agent { todos, session }
}

pub fn person(tenure: &Tenure, role: Role) -> Todos {
    Todos::new(tenure, actor(role, "pat"), None, Settings::default())
}

pub async fn added(todos: &Todos, new: New) -> ItemId {
    todos.add(&new, None).await.unwrap().task.id()
}

pub fn titled(title: &str, gates: &[&str]) -> New {
    New { gates: gates.iter().map(|gate| gate.parse::<Gate>().unwrap()).collect(), ..New::titled(title) }
}

/// What running the plan would bring, with these gates failing.
pub fn proof(task: &Task, failing: &[&str], tree: &str) -> Proved {
    let gates = task.plan.iter().flat_map(|plan| &plan.gates);
    let mut artifacts = Vec::new();
    let mut results =
        vec![GateResult { gate: VALIDATE.into(), exit: None, output_sha256: Hash::of(b""), passed: true }];
    for gate in gates {
        let text = gate.to_string();
        let passed = !failing.contains(&text.as_str()) && (!gate.is_human() || task.is_attested(gate));
        let exit = gate.command().map(|_| i32::from(!passed));
        if let Some(path) = gate.path().filter(|_| passed) {
            artifacts.push(Artifact { path: path.into(), sha256: Hash::of(b"x") });
        }
        results.push(GateResult { gate: text, exit, output_sha256: Hash::of(b"ok\n"), passed });
    }
    Proved { proof: Proof::new(Some("c0ffee".into()), tree.into(), results, artifacts), run: Run::default() }
}

pub async fn prove(agent: &Agent, id: ItemId) -> Result<Changed, Error> {
    let task = agent.todos.task(id).await.unwrap();
    agent.todos.done(id, Some(&proof(&task, &[], "7ree")), Some(&branch())).await
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, Error>, code: Code) -> String {
    let error = result.expect_err("it is refused");
    assert_eq!(error.code(), Some(code), "{error}");
    error.to_string()
}

// covers: T-01, T-02, T-16
#[test]
fn a_task_goes_from_draft_to_verified_and_every_step_has_its_receipt() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (ann, bob) = (agent(&tenure, "ann").await, agent(&tenure, "bob").await);
        let made = ann.todos.add(&titled("Paint it", &["cmd:make"]), None).await.unwrap();
        let id = made.task.id();
        assert!(made.task.state() == "Draft" && made.task.item.lease.is_none(), "in Draft it is nobody's");
        refused(ann.todos.release(id, None, Some(&branch())).await, Code::TransitionRefused);
        refused(prove(&ann, id).await, Code::TransitionRefused);
        let claimed = ann.todos.claim(id, Some(&branch())).await.unwrap();
        assert_eq!(claimed.task.item.lease.as_ref().unwrap().owner.id.as_str(), "ann");
        let again = ann.todos.claim(id, Some(&branch())).await.unwrap();
        assert!(!again.fresh && again.receipt == claimed.receipt, "claiming one's own is a no-op");
        let said = refused(bob.todos.claim(id, Some(&branch())).await, Code::ClaimConflict);
        let until = again.task.item.lease.as_ref().unwrap().expires.to_string();
        assert!(said.contains("ann") && said.contains(&until), "{said}");
        refused(bob.todos.release(id, None, Some(&branch())).await, Code::ClaimConflict);
        refused(bob.todos.abandon(id, "mine".into(), Some(&branch())).await, Code::ClaimConflict);
        let released = ann.todos.release(id, None, Some(&branch())).await.unwrap();
        assert!(released.task.state() == "Draft" && released.task.item.lease.is_none());
        bob.todos.claim(id, Some(&branch())).await.unwrap();
        let done = prove(&bob, id).await.unwrap();
        assert_eq!(done.task.state(), "Verified");
        let history = tenure.history(id).await.unwrap();
        let hashes: Vec<Hash> = history.iter().map(|entry| entry.hash()).collect();
        for receipt in [made.receipt, claimed.receipt, released.receipt, done.receipt] {
            assert!(hashes.contains(&receipt), "{receipt}");
        }
        assert_eq!(done.receipt, *hashes.last().unwrap());
        refused(ann.todos.abandon(id, "late".into(), Some(&branch())).await, Code::TransitionRefused);
    });
}

// covers: T-16
#[test]
fn whatever_changes_a_task_is_answered_with_the_hash_of_its_entry() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (ann, pat) = (agent(&tenure, "ann").await, person(&tenure, Role::Human));
        let id = added(&ann.todos, titled("x", &["human:reads well"])).await;
        let on = added(&ann.todos, New::titled("on")).await;
        let changes = [
            pat.depend(id, &[on], &[], Some(&branch())).await,
            pat.depend(id, &[], &[on], Some(&branch())).await,
            pat.attest(id, "reads well", None).await,
            pat.replan(id, Vec::new()).await,
            ann.todos.claim(id, Some(&branch())).await,
            ann.todos.abandon(id, "no use".into(), Some(&branch())).await,
        ];
        let history = tenure.history(id).await.unwrap();
        for changed in changes {
            let changed = changed.unwrap();
            let entry = history.iter().find(|entry| entry.version == changed.task.item.version).unwrap();
            assert_eq!((changed.fresh, changed.receipt), (true, entry.hash()), "{}", entry.action);
        }
    });
}

// covers: T-02, T-10
#[test]
fn ones_own_claim_moves_to_the_newer_session_and_lapses_with_it() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (old, new) = (agent(&tenure, "ann").await, agent(&tenure, "ann").await);
        let id = added(&old.todos, New::titled("x")).await;
        old.todos.claim(id, Some(&branch())).await.unwrap();
        let moved = new.todos.claim(id, Some(&branch())).await.unwrap();
        assert_eq!(moved.task.item.lease.as_ref().unwrap().session, Some(new.session.id));
        // Whatever the newer session does with it moves it there first.
        for (number, by) in ["done", "release"].into_iter().enumerate() {
            let id = added(&old.todos, New::titled(format!("y{number}"))).await;
            old.todos.claim(id, Some(&branch())).await.unwrap();
            let state = match by {
                "done" => prove(&new, id).await,
                _ => new.todos.release(id, None, Some(&branch())).await,
            };
            let expected = if by == "done" { "Verified" } else { "Draft" };
            assert_eq!(state.unwrap().task.state(), expected, "{by}");
        }
        session::release(&tenure, &old.session).await.unwrap();
        assert_eq!(
            new.todos.task(id).await.unwrap().state(),
            "Claimed",
            "it is not the old session's any more"
        );
        refused(session::live(&tenure, old.session.id).await, Code::SessionRequired);
        refused(session::attend(&tenure, old.session.id).await, Code::SessionRequired);
        refused(old.todos.claim(id, Some(&branch())).await, Code::SessionRequired);
        session::release(&tenure, &new.session).await.unwrap();
        let lapsed = old.todos.task(id).await.unwrap();
        assert!(lapsed.state() == "Draft" && lapsed.item.lease.is_none(), "{}", lapsed.state());
    });
}

// covers: T-10, T-03
#[test]
fn a_session_answers_the_same_envelope_and_every_use_renews_it_and_its_claims() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let agent_id = actor(Role::Worker, "ann");
        let first = session::acquire(&tenure, &agent_id, Some("/w".into()), Some("once")).await.unwrap();
        let again = session::acquire(&tenure, &agent_id, Some("/w".into()), Some("once")).await.unwrap();
        assert_eq!(first, again, "the same request is the same session");
        assert_eq!(first.expires_at.since(first.issued_at), Duration::from_secs(3_600));
        let todos = Todos::new(&tenure, agent_id, Some(first.clone()), Settings::default());
        let id = added(&todos, New::titled("x")).await;
        let claimed = todos.claim(id, Some(&branch())).await.unwrap();
        let lease = claimed.task.item.lease.as_ref().unwrap();
        assert_eq!(lease.expires.since(lease.since), Duration::from_secs(3_600));
        let renewed = session::attend(&tenure, first.id).await.unwrap();
        assert!(renewed.expires_at > first.expires_at);
        assert_eq!((renewed.id, renewed.issued_at), (first.id, first.issued_at));
        let until = |task: &Task| task.item.lease.as_ref().unwrap().expires;
        assert!(until(&todos.task(id).await.unwrap()) > until(&claimed.task));
    });
}

// covers: T-03
#[test]
fn a_dead_agents_task_is_on_the_list_again() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let id = added(&ann.todos, New::titled("x")).await;
        // As `claim` does, for the shortest time that there is.
        let terms = Terms {
            lease: Some(Duration::from_secs(1)),
            start: true,
            session: Some(ann.session.id),
            attests: vec![Guard::Workspace],
            ..Terms::default()
        };
        let own = tenure.acting(tenure.store().clone(), ann.session.actor.clone());
        assert!(own.ask(Command::Take(Take { item: id, terms })).await.unwrap().answer.is_yes());
        let lapsed = async {
            let mut after = 0;
            while ann.todos.task(id).await.unwrap().state() != "Draft" {
                let page = tenure.log_or_wait(after, 100, PATIENCE).await.unwrap();
                after = page.last().map_or(after, |(position, _)| *position);
            }
        };
        tokio::time::timeout(PATIENCE, lapsed).await.expect("it lapses");
        assert!(ann.todos.task(id).await.unwrap().item.lease.is_none());
        let bob = agent(&tenure, "bob").await;
        bob.todos.claim(id, Some(&branch())).await.unwrap();
    });
}

// covers: T-04, T-06, T-11
#[test]
fn done_needs_every_blocking_gate_and_the_tree_it_was_run_on() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let same = format!("file_hash:b={}", Hash::of(b"x"));
        let gates = ["cmd:make", "advisory test:lint", "file_exists:a", "human:reads well", &same];
        let id = added(&ann.todos, titled("x", &gates)).await;
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        let task = ann.todos.task(id).await.unwrap();
        let try_with = async |proved: Proved| ann.todos.done(id, Some(&proved), Some(&branch())).await;
        let said = refused(ann.todos.done(id, None, Some(&branch())).await, Code::VerificationRequired);
        assert!(said.contains("validate") && said.contains("cmd:make") && !said.contains("lint"), "{said}");
        let said = refused(try_with(proof(&task, &["cmd:make"], "7ree")).await, Code::VerificationRequired);
        assert!(said.contains("cmd:make (exit code 1)"), "{said}");
        let said = refused(try_with(proof(&task, &[], "7ree")).await, Code::VerificationRequired);
        assert!(said.contains("human:reads well"), "{said}");
        // Nobody but a person attests, and no result says that they did.
        refused(ann.todos.attest(id, "human:reads well", None).await, Code::Forbidden);
        let mut lie = proof(&task, &[], "7ree");
        lie.proof.results[4].passed = true;
        let said = refused(try_with(lie).await, Code::VerificationRequired);
        assert!(said.contains("waits for a person"), "{said}");
        let pat = person(&tenure, Role::Human);
        refused(pat.attest(id, "human:another", None).await, Code::InvalidRequest);
        let yes = pat.attest(id, "reads well", Some("it does".into())).await.unwrap();
        assert!(!pat.attest(id, "reads well", None).await.unwrap().fresh, "once is enough");
        let task = yes.task;
        let mut lie = proof(&task, &[], "7ree");
        lie.proof.results[1].exit = Some(1);
        refused(try_with(lie).await, Code::VerificationRequired);
        // What is advisory is recorded all the same, and nothing is there twice.
        let mut short = proof(&task, &[], "7ree");
        short.proof.results.remove(2);
        let mut twice = proof(&task, &[], "7ree");
        twice.proof.results.push(twice.proof.results[1].clone());
        for other in [short, twice] {
            let said = refused(try_with(other).await, Code::VerificationRequired);
            assert!(said.contains("not those of the plan in force"), "{said}");
        }
        // A file that passes was seen, with its hash.
        for (path, gate) in [("a", "file_exists:a"), ("b", same.as_str())] {
            let mut lie = proof(&task, &[], "7ree");
            lie.proof.artifacts.retain(|artifact| artifact.path != path);
            let said = refused(try_with(lie).await, Code::VerificationRequired);
            assert!(said.contains(&format!("{gate} (its result contradicts itself)")), "{said}");
        }
        let mut lie = proof(&task, &[], "7ree");
        lie.proof.artifacts[1].sha256 = Hash::of(b"another");
        let said = refused(try_with(lie).await, Code::VerificationRequired);
        assert!(said.contains(&format!("{same} (its result contradicts itself)")), "{said}");
        let said = refused(try_with(proof(&task, &[], "other")).await, Code::VerificationRequired);
        assert!(said.contains("the tree has changed"), "{said}");
        let good = proof(&task, &["advisory test:lint"], "7ree");
        let done = try_with(good.clone()).await.unwrap();
        assert_eq!((done.task.state(), done.fresh), ("Verified", true), "what is advisory holds nothing up");
        let again = try_with(good).await.unwrap();
        assert_eq!(
            (again.fresh, again.receipt, again.task.item.version),
            (false, done.receipt, done.task.item.version)
        );
        refused(try_with(proof(&task, &["cmd:make"], "7ree")).await, Code::VerificationRequired);
    });
}

// covers: T-05, T-16, T-17
#[test]
fn a_newer_proof_is_kept_beside_the_first_and_a_changed_plan_is_a_new_version() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let id = added(&ann.todos, titled("x", &["cmd:make"])).await;
        refused(ann.todos.replan(id, Vec::new()).await, Code::Forbidden);
        let pat = person(&tenure, Role::Human);
        let gates: Vec<Gate> = vec!["cmd:make all".parse().unwrap()];
        let planned = pat.replan(id, gates.clone()).await.unwrap();
        assert_eq!(
            planned.task.plan.as_ref().map(|plan| (plan.version, plan.gates.clone())),
            Some((2, gates.clone()))
        );
        assert!(!pat.replan(id, gates).await.unwrap().fresh);
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        let mut old = planned.task.clone();
        old.plan = Some(tenure_systems::todos::plan::Plan::first(vec!["cmd:make".parse().unwrap()]));
        let of_old = proof(&old, &[], "7ree");
        refused(ann.todos.done(id, Some(&of_old), Some(&branch())).await, Code::VerificationRequired);
        let first = prove(&ann, id).await.unwrap();
        let newer = Facts { tree: Some("newer".into()), ..branch() };
        let proved = proof(&first.task, &[], "newer");
        let second = ann.todos.done(id, Some(&proved), Some(&newer)).await.unwrap();
        assert!(second.fresh && second.task.state() == "Verified");
        let kept: Vec<Hash> = second.task.receipts.iter().map(|kept| kept.sha256).collect();
        assert_eq!((kept.len(), kept[1]), (2, proved.proof.hash()));
        let receipt = ann.todos.receipt(id).await.unwrap().unwrap();
        assert_eq!((receipt.sha256, receipt.entry_sha256), (proved.proof.hash(), Some(second.receipt)));
        assert_eq!(receipt.faults(), Vec::<String>::new());
        refused(ann.todos.claim(id, Some(&branch())).await, Code::TransitionRefused);
    });
}

// covers: T-07
#[test]
fn nothing_but_adding_is_done_from_a_protected_branch() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let main = Facts { branch: Some("main".into()), ..branch() };
        let made = ann.todos.add(&New::titled("x"), Some(&main)).await.unwrap();
        let (id, other) = (made.task.id(), added(&ann.todos, New::titled("y")).await);
        for place in [Some(&main), None] {
            refused(ann.todos.claim(id, place).await, Code::WorkspaceRequired);
            refused(ann.todos.next(place).await, Code::WorkspaceRequired);
            refused(ann.todos.depend(id, &[other], &[], place).await, Code::WorkspaceRequired);
            refused(
                person(&tenure, Role::Human).abandon(id, "r".into(), place).await,
                Code::WorkspaceRequired,
            );
        }
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        refused(ann.todos.release(id, None, Some(&main)).await, Code::WorkspaceRequired);
        refused(ann.todos.done(id, None, Some(&main)).await, Code::WorkspaceRequired);
        let guarded = Settings { add_anywhere: false, ..Settings::default() };
        let guarded = Todos::new(&tenure, actor(Role::Worker, "ann"), None, guarded);
        refused(guarded.add(&New::titled("z"), Some(&main)).await, Code::WorkspaceRequired);
        guarded.add(&New::titled("z"), Some(&branch())).await.unwrap();
        let boss = person(&tenure, Role::Admin);
        assert_eq!(boss.abandon(other, "not needed".into(), None).await.unwrap().task.state(), "Abandoned");
    });
}

// covers: T-13, T-17, T-01
#[test]
fn what_a_task_depends_on_is_verified_first_and_never_itself() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let at = branch();
        let first = added(&ann.todos, New::titled("first")).await;
        let second = added(&ann.todos, New { depends: vec![first], ..New::titled("second") }).await;
        let third = added(&ann.todos, New::titled("third")).await;
        ann.todos.depend(third, &[second], &[], Some(&at)).await.unwrap();
        let said = refused(ann.todos.depend(first, &[third], &[], Some(&at)).await, Code::TransitionRefused);
        assert!([first, second, third].iter().all(|id| said.contains(&id.to_string())), "{said}");
        refused(ann.todos.depend(first, &[first], &[], Some(&at)).await, Code::TransitionRefused);
        let said = refused(ann.todos.claim(second, Some(&at)).await, Code::TransitionRefused);
        assert!(said.contains(&first.to_string()) && said.contains("first"), "{said}");
        ann.todos.claim(first, Some(&at)).await.unwrap();
        prove(&ann, first).await.unwrap();
        ann.todos.claim(second, Some(&at)).await.unwrap();
        ann.todos.abandon(second, "no use".into(), Some(&at)).await.unwrap();
        let said = refused(ann.todos.claim(third, Some(&at)).await, Code::TransitionRefused);
        assert!(said.contains("Abandoned"), "{said}");
        ann.todos.depend(third, &[], &[second], Some(&at)).await.unwrap();
        ann.todos.claim(third, Some(&at)).await.unwrap();
        refused(
            person(&tenure, Role::Human).abandon(third, "  ".into(), Some(&at)).await,
            Code::ClaimConflict,
        );
        refused(ann.todos.abandon(third, "  ".into(), Some(&at)).await, Code::InvalidRequest);
    });
}

// covers: T-13
#[test]
fn a_task_keeps_what_it_was_added_with_and_its_reference_is_unique() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let todos = person(&tenure, Role::Human);
        let parent = added(&todos, New::titled("whole")).await;
        let new = New {
            description: Some("more".into()),
            priority: Some(3),
            tags: vec!["a".into(), "b".into()],
            parent: Some(parent),
            external_reference: Some("issue/7".into()),
            ..New::titled("part")
        };
        let task = todos.add(&new, None).await.unwrap().task;
        assert_eq!(
            (task.title.as_str(), task.description.as_deref(), task.item.priority),
            ("part", Some("more"), 3)
        );
        assert_eq!(
            (task.tags.len(), task.parent, task.external_reference.as_deref()),
            (2, Some(parent), Some("issue/7"))
        );
        let again = todos.add(&new, None).await.unwrap();
        assert!(!again.fresh && again.task.id() == task.id(), "the same reference is the same task");
        let other = New { title: "another".into(), ..new };
        refused(todos.add(&other, None).await, Code::IdempotencyConflict);
        for wrong in
            [New::titled(" "), New::titled("a\nb"), New { tags: vec![String::new()], ..New::titled("x") }]
        {
            refused(todos.add(&wrong, None).await, Code::InvalidRequest);
        }
        let children = tenure.linked(parent, None, 10).await.unwrap();
        assert_eq!(children.iter().map(|item| item.id).collect::<Vec<_>>(), [task.id()]);
        assert_eq!(todos.list(&Wanted { limit: 10, ..Wanted::default() }).await.unwrap().tasks.len(), 2);
    });
}

// covers: T-08
#[test]
fn nothing_crosses_stores() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let elsewhere = tenure.acting("user".parse().unwrap(), actor(Role::Worker, "ann"));
        let (ann, far) = (agent(&tenure, "ann").await, agent(&elsewhere, "ann").await);
        let (here, there) =
            (added(&ann.todos, New::titled("x")).await, added(&far.todos, New::titled("x")).await);
        refused(ann.todos.claim(there, Some(&branch())).await, Code::NotFound);
        refused(ann.todos.depend(here, &[there], &[], Some(&branch())).await, Code::StoreBoundaryViolation);
        let new = New { parent: Some(there), ..New::titled("y") };
        refused(ann.todos.add(&new, None).await, Code::StoreBoundaryViolation);
        // A session of one store claims nothing in another, whoever hands it in.
        let mixed = Todos::new(
            &elsewhere,
            actor(Role::Worker, "ann"),
            Some(ann.session.clone()),
            Settings::default(),
        );
        refused(mixed.claim(there, Some(&branch())).await, Code::SessionRequired);
        refused(session::live(&elsewhere, ann.session.id).await, Code::SessionRequired);
    });
}

// covers: T-15, T-11, T-09
#[test]
fn validate_looks_at_everything_but_the_task_that_is_decided() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let id = added(&ann.todos, New::titled("x")).await;
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        prove(&ann, id).await.unwrap();
        added(&ann.todos, New { depends: vec![id], ..New::titled("y") }).await;
        let look = async |scope, except, place: Option<Facts>| {
            ann.todos.validate(scope, except, place.as_ref(), LIMIT).await.unwrap()
        };
        let all = look(Scope::All, None, Some(branch())).await;
        assert_eq!((all.is_sound(), all.looked_at), (true, 2), "{all:?}");
        assert_eq!(look(Scope::All, Some(id), Some(branch())).await.looked_at, 1);
        assert_eq!(look(Scope::Since, None, Some(branch())).await.looked_at, 2);
        assert_eq!(look(Scope::Since, None, Some(branch())).await.looked_at, 0, "nothing has happened since");
        added(&ann.todos, New::titled("z")).await;
        assert_eq!(look(Scope::Since, None, Some(branch())).await.looked_at, 1);
        let main = Facts { branch: Some("main".into()), ..branch() };
        let found = look(Scope::All, None, Some(main)).await;
        assert_eq!(found.faults.iter().map(|fault| fault.check).collect::<Vec<_>>(), ["workspace"]);
        let late = ann.todos.validate(Scope::All, None, Some(&branch()), Duration::ZERO).await;
        refused(late, Code::ValidateTimeoutOrLock);
    });
}

// covers: T-02
#[test]
fn the_next_task_is_the_best_one_and_everybodys_own() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let pat = person(&tenure, Role::Human);
        let low = added(&pat, New::titled("low")).await;
        let blocked =
            added(&pat, New { depends: vec![low], priority: Some(100), ..New::titled("blocked") }).await;
        let high = added(&pat, New { priority: Some(9), ..New::titled("high") }).await;
        let ann = agent(&tenure, "ann").await;
        let next =
            async |agent: &Agent| agent.todos.next(Some(&branch())).await.unwrap().map(|next| next.task.id());
        assert_eq!(next(&ann).await, Some(high), "what waits for another is not next, however urgent");
        assert_eq!(next(&ann).await, Some(high), "who has one is told of it");
        let bob = agent(&tenure, "bob").await;
        assert_eq!(next(&bob).await, Some(low));
        assert_eq!(next(&agent(&tenure, "cid").await).await, None);
        prove(&bob, low).await.unwrap();
        assert_eq!(next(&bob).await, Some(blocked));
        for number in 0..20 {
            added(&pat, New::titled(format!("t{number}"))).await;
        }
        let mut agents = JoinSet::new();
        for number in 0..10 {
            let tenure = tenure.clone();
            agents.spawn(async move {
                let agent = agent(&tenure, &format!("a{number}")).await;
                let mut mine = Vec::new();
                while let Some(next) = agent.todos.next(Some(&branch())).await.unwrap() {
                    prove(&agent, next.task.id()).await.unwrap();
                    mine.push(next.task.id());
                }
                mine
            });
        }
        let done: Vec<ItemId> = agents.join_all().await.into_iter().flatten().collect();
        assert_eq!(done.len(), done.iter().collect::<BTreeSet<_>>().len(), "nobody has another's");
        assert_eq!(done.len(), 20);
    });
}
