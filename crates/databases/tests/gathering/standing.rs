//! Acquires that stand until a batch makes something for them.

use tenure_core::answer::{Answer, Granted};
use tenure_core::request::{Acquire, Command, Request, Terms};
use tenure_core::time::Time;
use tenure_databases::batch::Reply;
use tenure_databases::gather::{Gather, Standing};

use crate::faulty::{create, creates, request};
use crate::{BOTH, ask, id, on_a_runtime, start};

fn acquire(max: usize) -> Request {
    let (kinds, terms) = (vec!["job".parse().unwrap()], Terms { start: true, ..Terms::default() });
    request("worker:w", Command::Acquire(Acquire { kinds, max, terms }))
}

fn stand(gather: &Gather, max: usize) -> Standing {
    gather.stand(acquire(max)).expect("there is a writer")
}

async fn leased(standing: &mut Standing) -> Vec<Granted> {
    match standing.answered().await.0 {
        Ok(Reply { answer: Answer::Leased(leases), .. }) => leases,
        other => panic!("not leased: {other:?}"),
    }
}

// covers: K-02
#[test]
fn work_is_leased_by_the_commit_that_makes_it() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let mut standing = stand(&gather, 1);
            let created = gather.ask(create("a")).await;
            let leases = leased(&mut standing).await;
            assert_eq!(leases.len(), 1);
            assert_eq!(leases[0].item.id, id(&created));
            assert!(created.unwrap().leased_at_once, "nobody else needs to look");
            assert_eq!(database.commits(), 1, "{writers:?}");
            assert!(!standing.withdraw(), "it stands no more");
            gather.close().await;
        }
    });
}

#[test]
fn as_many_as_there_is_work_for_are_taken_in_and_those_who_waited_longest() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let mut first = stand(&gather, 2);
            let mut second = stand(&gather, 5);
            let third = stand(&gather, 5);
            let replies = gather.ask_all(creates(3)).await;
            assert_eq!((leased(&mut first).await.len(), leased(&mut second).await.len()), (2, 1));
            assert!(third.withdraw(), "nothing was left for it");
            assert!(replies.iter().all(|reply| reply.as_ref().unwrap().leased_at_once));
            assert_eq!(database.commits(), 1, "{writers:?}");
            gather.close().await;
        }
    });
}

#[test]
fn who_makes_more_than_is_taken_is_told_so() {
    on_a_runtime(async {
        for writers in BOTH {
            let (_, gather) = start(writers);
            let mut standing = stand(&gather, 2);
            let replies = gather.ask_all(creates(3)).await;
            assert_eq!(leased(&mut standing).await.len(), 2);
            assert!(replies.iter().all(|reply| !reply.as_ref().unwrap().leased_at_once), "one is left");
            gather.close().await;
        }
    });
}

#[test]
fn who_waits_for_something_else_goes_on_waiting() {
    on_a_runtime(async {
        for writers in BOTH {
            let (_, gather) = start(writers);
            let standing = stand(&gather, 1);
            let elsewhere = Request { store: "elsewhere".parse().unwrap(), ..create("a") };
            let mut later = create("b");
            let Command::Create(create) = &mut later.command else { panic!("it creates") };
            create.run_at = Some(Time::from_micros(253_000_000_000_000_000));
            for request in [elsewhere, later] {
                assert!(!gather.ask(request).await.unwrap().leased_at_once);
            }
            assert!(standing.withdraw());
            gather.close().await;
        }
    });
}

#[test]
fn who_has_withdrawn_or_gone_is_given_nothing() {
    on_a_runtime(async {
        for writers in BOTH {
            let (_, gather) = start(writers);
            let standing = stand(&gather, 1);
            assert!(standing.withdraw());
            assert!(!standing.withdraw());
            drop(stand(&gather, 1));
            assert!(!gather.ask(create("a")).await.unwrap().leased_at_once);
            let reply = gather.ask(acquire(2)).await.unwrap();
            assert!(matches!(reply.answer, Answer::Leased(leases) if leases.len() == 1));
            gather.close().await;
        }
    });
}

#[test]
fn who_was_taken_in_is_answered_although_it_would_go() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let mut standing = stand(&gather, 1);
            let mut hold = database.hold();
            let created = ask(&gather, create("a")).await;
            hold.reached().await;
            assert!(!standing.withdraw(), "it is in the batch");
            hold.release();
            assert_eq!(leased(&mut standing).await[0].item.id, id(&created.await));
            gather.close().await;
        }
    });
}

#[test]
fn who_stands_when_the_writers_end_hears_of_it() {
    on_a_runtime(async {
        for writers in BOTH {
            let (_, gather) = start(writers);
            let mut standing = stand(&gather, 1);
            gather.close().await;
            assert!(standing.answered().await.0.is_err());
        }
    });
}
