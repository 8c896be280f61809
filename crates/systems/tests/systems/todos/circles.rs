//! Tasks that wait for each other, however that came about.

use tenure::Tenure;
use tenure::core::actor::Role;
use tenure::core::id::ItemId;
use tenure::core::item::Link;
use tenure::core::request::{Command, Relink};
use tenure_systems::todos::New;
use tenure_systems::todos::validate::{LIMIT, Report, Scope};

use super::{added, agent, branch, person, prove};
use crate::kit::on_each;

/// As a log has it that came from elsewhere: nobody looked for a circle.
async fn link(tenure: &Tenure, item: ItemId, to: ItemId) {
    let add = vec![Link { label: "depends".parse().unwrap(), to }];
    tenure.ask(Command::Link(Relink { item, add, remove: Vec::new() })).await.unwrap();
}

fn told(report: &Report) -> Vec<(Option<ItemId>, &str)> {
    let of = report.faults.iter().filter(|fault| fault.check == "dependencies");
    of.map(|fault| (fault.task, fault.what.as_str())).collect()
}

// covers: T-17, T-15
#[test]
fn a_circle_that_came_from_elsewhere_is_found_with_all_that_are_in_it() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (pat, ann) = (person(&tenure, Role::Human), agent(&tenure, "ann").await);
        let mut ids = Vec::new();
        for title in ["walls", "roof", "paint", "cellar", "alone"] {
            ids.push(added(&pat, New::titled(title)).await);
        }
        let [walls, roof, paint, cellar, alone] = ids[..] else { panic!("five") };
        link(&tenure, walls, cellar).await;
        link(&tenure, walls, roof).await;
        link(&tenure, roof, paint).await;
        link(&tenure, paint, cellar).await;
        let look = async |scope, except| pat.validate(scope, except, Some(&branch()), LIMIT).await.unwrap();
        assert!(look(Scope::All, None).await.is_sound(), "many ways to one task are no circle");
        link(&tenure, paint, walls).await;
        let found = look(Scope::All, None).await;
        let [(Some(first), what)] = told(&found)[..] else { panic!("{found:?}") };
        // It begins with the lowest id, which is the oldest unless they were added within a millisecond.
        let mut circle = [(walls, "walls"), (roof, "roof"), (paint, "paint")];
        let begin = (0..3).min_by_key(|index| circle[*index].0).unwrap();
        circle.rotate_left(begin);
        let [(one, a), (two, b), (three, c)] = circle;
        assert_eq!(first, one);
        let way = format!("{one} ({a}) waits for {two} ({b}) waits for {three} ({c}) waits for {one}");
        assert!(what.contains(&way), "{what}");
        assert!(what.contains(&format!("tenure todo depend {one} --remove {two}")), "{what}");
        // It is the task that is being decided that is left out, and whoever proves another one is not held up.
        assert!(look(Scope::All, Some(roof)).await.is_sound());
        assert!(look(Scope::Since, None).await.is_sound());
        ann.todos.claim(alone, Some(&branch())).await.unwrap();
        prove(&ann, alone).await.unwrap();
        pat.depend(walls, &[], &[roof], Some(&branch())).await.unwrap();
        assert!(look(Scope::All, None).await.is_sound());
        // One that has ended waits for nothing any more.
        link(&tenure, walls, roof).await;
        pat.abandon(paint, "never".into(), Some(&branch())).await.unwrap();
        assert!(look(Scope::All, None).await.is_sound());
    });
}

// covers: T-17, T-13
#[test]
fn two_who_close_a_circle_at_the_same_time_leave_what_was_there_before() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let pat = person(&tenure, Role::Human);
        let cellar = added(&pat, New::titled("cellar")).await;
        for round in 0..6 {
            let walls = added(&pat, New { depends: vec![cellar], ..New::titled(format!("walls {round}")) });
            let roof = added(&pat, New { depends: vec![cellar], ..New::titled(format!("roof {round}")) });
            let (walls, roof) = (walls.await, roof.await);
            let at = branch();
            let closes = async |id, on| pat.depend(id, &[cellar, on], &[], Some(&at)).await;
            let (one, other) = tokio::join!(closes(walls, roof), closes(roof, walls));
            assert!(one.is_err() || other.is_err(), "{round}: nobody waits for themselves");
            for id in [walls, roof] {
                let depends = pat.task(id).await.unwrap().depends();
                assert!(depends.contains(&cellar), "{round}: {depends:?}");
            }
        }
    });
}
