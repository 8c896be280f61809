//! The processes of a run: who is there, who was struck and when.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::time::Time;
use tenure_databases::outside::now;
use tenure_databases::url::SecretUrl;
use tokio::task::JoinSet;

use super::heard::Ears;
use super::plan::{Plan, Step, Who};
use crate::child::{Child, Said};
use crate::outcome::Error;

/// How many processes make load.
pub const LOADERS: usize = 3;
/// Jobs a second of each.
const RATE: u32 = 12;
/// A process that has been told to end has this long.
const END_MAX: Duration = Duration::from_secs(20);

/// A process that was killed or stopped, by name, and when by this machine's clock.
#[derive(Clone, Debug)]
pub struct Struck {
    pub name: String,
    pub at: Time,
}

/// Faults by sort.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub kills_of_workers: usize,
    pub kills_of_nodes: usize,
    pub pauses_of_workers: usize,
    pub pauses_of_nodes: usize,
    pub cut_connections: usize,
}

impl Faults {
    pub fn all(&self) -> usize {
        let Faults { kills_of_workers, kills_of_nodes, .. } = self;
        kills_of_workers
            + kills_of_nodes
            + self.pauses_of_workers
            + self.pauses_of_nodes
            + self.cut_connections
    }
}

pub struct Cast {
    url: SecretUrl,
    seed: u64,
    leases: Vec<Duration>,
    there: BTreeMap<Who, (String, Child)>,
    loaders: Vec<Child>,
    /// How many processes each place has had.
    incarnations: BTreeMap<Who, usize>,
    pub ears: Ears,
    listeners: JoinSet<()>,
    pub struck: Vec<Struck>,
    pub faults: Faults,
}

/// The name of a worker: its place and its number there. `place_of` reads it back.
fn name_of(who: Who, incarnation: usize) -> String {
    match who {
        Who::Node(place) => format!("n{place}-{incarnation}"),
        Who::Worker(place) => format!("w{place}-{incarnation}"),
    }
}

pub fn place_of(worker: &str) -> Option<usize> {
    worker.strip_prefix('w')?.split_once('-')?.0.parse().ok()
}

impl Cast {
    pub fn new(url: &SecretUrl, seed: u64, plan: &Plan) -> Cast {
        Cast {
            url: url.clone(),
            seed,
            leases: plan.leases.clone(),
            there: BTreeMap::new(),
            loaders: Vec::new(),
            incarnations: BTreeMap::new(),
            ears: Ears::default(),
            listeners: JoinSet::new(),
            struck: Vec::new(),
            faults: Faults::default(),
        }
    }

    pub fn enter(&mut self, who: Who) -> Result<(), Error> {
        let incarnation = self.incarnations.entry(who).or_default();
        *incarnation += 1;
        let name = name_of(who, *incarnation);
        let (child, said) = match who {
            Who::Node(_) => Child::start("node", &self.url, &[])?,
            Who::Worker(place) => {
                let lease = ("lease-ms", self.leases[place].as_millis().to_string());
                Child::start("worker", &self.url, &[("name", name.clone()), lease])?
            }
        };
        self.listen(name.clone(), said);
        self.there.insert(who, (name, child));
        Ok(())
    }

    pub fn enter_loaders(&mut self) -> Result<(), Error> {
        for loader in 0..LOADERS {
            let (name, seed) = (format!("l{loader}"), self.seed.wrapping_add(loader as u64 + 1));
            let arguments = [("name", name.clone()), ("seed", seed.to_string()), ("rate", RATE.to_string())];
            let (child, said) = Child::start("loader", &self.url, &arguments)?;
            self.listen(name, said);
            self.loaders.push(child);
        }
        Ok(())
    }

    fn listen(&mut self, name: String, mut said: Said) {
        let ears = self.ears.clone();
        self.listeners.spawn(async move {
            while let Ok(Some(line)) = said.next_line().await {
                ears.look().hear(&name, &line);
            }
        });
    }

    /// Does what the plan says; a cut is the server's.
    pub async fn play(&mut self, step: Step) -> Result<(), Error> {
        match step {
            Step::Kill(who) => {
                if let Some((name, child)) = self.there.remove(&who) {
                    self.struck.push(Struck { name, at: now() });
                    child.kill().await;
                    match who {
                        Who::Node(_) => self.faults.kills_of_nodes += 1,
                        Who::Worker(_) => self.faults.kills_of_workers += 1,
                    }
                }
            }
            Step::Start(who) => self.enter(who)?,
            Step::Stop(who) => {
                if let Some((name, child)) = self.there.get(&who) {
                    self.struck.push(Struck { name: name.clone(), at: now() });
                    child.stop();
                    match who {
                        Who::Node(_) => self.faults.pauses_of_nodes += 1,
                        Who::Worker(_) => self.faults.pauses_of_workers += 1,
                    }
                }
            }
            Step::GoOn(who) => {
                if let Some((_, child)) = self.there.get(&who) {
                    child.go_on();
                }
            }
            Step::Cut(_) => {}
        }
        Ok(())
    }

    /// The load is over. Loaders end when all they asked for is answered.
    pub async fn stop_loaders(&mut self) {
        for loader in &mut self.loaders {
            loader.tell("stop").await;
        }
    }

    /// Everyone goes home, and is heard to the end.
    pub async fn leave(mut self) -> (Ears, Vec<Struck>, Faults) {
        let mut ending = JoinSet::new();
        for (_, (name, mut child)) in std::mem::take(&mut self.there) {
            ending.spawn(async move {
                child.tell("end").await;
                (name, tokio::time::timeout(END_MAX, child.end()).await.unwrap_or(false))
            });
        }
        for child in self.loaders.drain(..) {
            ending.spawn(async move {
                ("a loader".to_string(), tokio::time::timeout(END_MAX, child.end()).await.unwrap_or(false))
            });
        }
        while let Some(ended) = ending.join_next().await {
            if let Ok((name, false)) = ended {
                self.ears.look().wrong.push(format!("{name} did not end well"));
            }
        }
        while self.listeners.join_next().await.is_some() {}
        (self.ears, self.struck, self.faults)
    }
}
