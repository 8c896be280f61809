//! A loader: creates jobs at a pace, each under its own key, and says what was answered.
//!
//! | line | what happened |
//! |---|---|
//! | `created KEY ITEM` | the answer: this key made this item |
//! | `unknown KEY` | whether it was made is not known; it is asked for again |
//! | `away KEY` | the database did not take it; it is asked for again |
//! | `refused KEY` | another request with the same key was refused, as it must be |
//! | `cancelled ITEM`, `late ITEM` | it is or will be called off; it had ended before |
//! | `wrong KEY …` | an answer that must not be |

use std::time::Duration;

use tenure::core::code::Code;
use tenure::core::id::ItemId;
use tenure::databases::Error as DatabaseError;
use tenure::{New, Tenure};
use tenure_core::draw::Draw;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Orders, Voice, open};
use crate::cli::PartLoader;
use crate::commands::chaos::task::{Act, Task};
use crate::outcome::Error;
use crate::time::pause;

/// Callers that wait for an answer at the same time, at most. With more the database is flooded when it comes back.
const IN_FLIGHT_MAX: usize = 32;
/// Before asking again.
const AGAIN: Duration = Duration::from_millis(100);

pub async fn run(arguments: &PartLoader, voice: Voice, mut orders: Orders) -> Result<(), Error> {
    let tenure = open(|| Tenure::builder(&arguments.db).without_loops().name("loader")).await?;
    voice.say("open");
    let (stop, stopped) = watch::channel(false);
    let mut callers = JoinSet::new();
    let mut pace = tokio::time::interval(Duration::from_secs(1) / arguments.rate.max(1));
    for number in 0.. {
        tokio::select! {
            _ = pace.tick() => {}
            told = orders.next() => match told {
                Some(_) => break,
                None => return Ok(()),
            }
        }
        while callers.len() >= IN_FLIGHT_MAX && callers.join_next().await.is_some() {}
        let caller = Caller {
            tenure: tenure.clone(),
            voice: voice.clone(),
            key: format!("{}-{number}", arguments.name),
            draw: Draw::new(arguments.seed ^ (number << 8)),
            stopped: stopped.clone(),
        };
        callers.spawn(caller.call(Task::draw(arguments.seed, number)));
        while callers.try_join_next().is_some() {}
    }
    let _ = stop.send(true);
    while callers.join_next().await.is_some() {}
    voice.say("end");
    Ok(())
}

struct Caller {
    tenure: Tenure,
    voice: Voice,
    key: String,
    draw: Draw,
    /// The load is over: what waits to be called off waits no longer.
    stopped: watch::Receiver<bool>,
}

impl Caller {
    async fn call(mut self, task: Task) {
        let Some(item) = self.create(&task).await else { return };
        self.voice.say(&format!("created {} {item}", self.key));
        match self.draw.number() % 20 {
            0 | 1 => self.repeat(&task, item).await,
            2 => self.contradict(&task).await,
            _ => {}
        }
        if task.act == Act::Hang {
            let wait = Duration::from_millis(200 + self.draw.number() % 1_500);
            let _ = tokio::time::timeout(wait, self.stopped.wait_for(|stopped| *stopped)).await;
            self.cancel(item).await;
        }
    }

    fn job(&self, task: &Task) -> New {
        New::job(task).idempotency_key(&self.key)
    }

    /// Asks until there is an answer.
    async fn create(&self, task: &Task) -> Option<ItemId> {
        loop {
            match self.tenure.create(self.job(task)).await {
                Ok(item) => return Some(item.id),
                Err(error) if error.is_retryable() => {
                    let unknown = matches!(error, tenure::Error::Database(DatabaseError::Unknown(_)));
                    self.voice.say(&format!("{} {}", if unknown { "unknown" } else { "away" }, self.key));
                    pause(AGAIN).await;
                }
                Err(error) => {
                    self.voice.say(&format!("wrong {} was not created: {error}", self.key));
                    return None;
                }
            }
        }
    }

    /// The same again is the same item.
    async fn repeat(&self, task: &Task, item: ItemId) {
        if let Some(again) = self.create(task).await
            && again != item
        {
            self.voice.say(&format!("wrong {} made {item} and then {again}", self.key));
        }
    }

    /// Something else under the same key is refused.
    async fn contradict(&self, task: &Task) {
        let other = Task { number: task.number + 1_000_000_000, ..task.clone() };
        loop {
            match self.tenure.create(self.job(&other)).await {
                Ok(item) => {
                    return self.voice.say(&format!("wrong {} also made {}", self.key, item.id));
                }
                Err(error) if error.code() == Some(Code::IdempotencyConflict) => {
                    return self.voice.say(&format!("refused {}", self.key));
                }
                Err(error) if error.is_retryable() => pause(AGAIN).await,
                Err(error) => return self.voice.say(&format!("wrong {} contradicted: {error}", self.key)),
            }
        }
    }

    async fn cancel(&self, item: ItemId) {
        loop {
            match self.tenure.cancel(item, "it hangs").await {
                Ok(_) => return self.voice.say(&format!("cancelled {item}")),
                Err(error) if error.is_retryable() => pause(AGAIN).await,
                // It had used up its attempts: those who held it were killed.
                Err(error) if error.code() == Some(Code::TransitionRefused) => {
                    return self.voice.say(&format!("late {item}"));
                }
                Err(error) => return self.voice.say(&format!("wrong {} not cancelled: {error}", self.key)),
            }
        }
    }
}
