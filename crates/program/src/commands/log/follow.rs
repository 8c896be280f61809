//! The log as it grows: until its reader has gone, so many were shown, or it is interrupted. A server that goes away is waited for: it is
//! asked for what came after the last entry that was shown. Only one that was never there is an error.

use std::time::Duration;

use super::shown::{Kinds, Shown};
use super::{head, last};
use crate::cli::Log;
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::time::pause;

/// How soon a server that is away is asked again.
const AGAIN: Duration = Duration::from_secs(1);

pub fn run(arguments: &Log, output: &mut Output) -> Result<Outcome, Error> {
    let left = arguments.limit.unwrap_or(usize::MAX);
    let mut follower = Follower { after: None, left, kinds: Kinds::default() };
    block_on(async {
        loop {
            match follower.listen(arguments, output).await {
                Ok(()) if output.is_closed() || follower.left == 0 => return Ok(Outcome::Done),
                Ok(()) => {}
                Err(error) if follower.after.is_some() && error.may_pass() => {
                    output.remark(format_args!("{error}; asking again"));
                }
                Err(error) => return Err(error),
            }
            pause(AGAIN).await;
        }
    })
}

struct Follower {
    /// The last position that is behind us. None: nobody has answered yet.
    after: Option<u64>,
    /// How many are shown before it ends.
    left: usize,
    kinds: Kinds,
}

impl Follower {
    /// Until the stream is cut. The place is looked at anew each time: a server may come back elsewhere, or not at all.
    async fn listen(&mut self, arguments: &Log, output: &mut Output) -> Result<(), Error> {
        let client = Client::at(&arguments.at, Access::Existing).await?;
        let from = match self.after {
            Some(after) => after,
            None => self.begin(&client, arguments, output).await?,
        };
        self.after = Some(from);
        if self.left == 0 {
            return Ok(());
        }
        let mut events = client.stream(Target::new(["v1", "log", "stream"]), from).await?;
        while let Some(event) = events.next().await {
            self.after = Some(event.position);
            let Some(entry) = event.data else { continue };
            self.show(&client, &entry, arguments, output).await?;
            if output.is_closed() || self.left == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Where it begins. What was asked for of the past is shown on the way.
    async fn begin(&mut self, client: &Client, arguments: &Log, output: &mut Output) -> Result<u64, Error> {
        let most = match (arguments.after, arguments.all, arguments.last) {
            (Some(position), _, _) => return Ok(position),
            (None, true, _) => return Ok(0),
            (None, false, None) => return head(client).await,
            (None, false, Some(most)) => most,
        };
        let mut behind = head(client).await?;
        for entry in last(client, most).await? {
            #[derive(serde::Deserialize)]
            struct Placed {
                position: u64,
            }
            let placed: Result<Placed, _> = serde_json::from_str(entry.get());
            behind = behind.max(placed.map_or(0, |placed| placed.position));
            self.show(client, entry.get(), arguments, output).await?;
        }
        Ok(behind)
    }

    async fn show(
        &mut self,
        client: &Client,
        entry: &str,
        arguments: &Log,
        output: &mut Output,
    ) -> Result<(), Error> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        if arguments.form.json {
            return output.line(entry);
        }
        let entry = [Shown::read(entry)?];
        self.kinds.learn(client, &entry).await?;
        let [entry] = entry;
        output.line(entry.row(&self.kinds).join("  "))
    }
}
