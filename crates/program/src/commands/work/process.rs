//! A command for an item: what it gets, and what is heard of it while it runs.
//!
//! The command and all that it started dies with this process, however that ends: a keeper is told of it (`keeper`).

use std::io;
use std::path::Path;
use std::sync::Arc;

use tenure::Lines;
use tenure_core::body::BODY_BYTES_MAX;
use tenure_systems::process::{self, Keep, Running};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::keeper::{Keeper, KeptGroup, MARK};
use super::told::Ended;

/// A line that has no end is cut here.
const LINE_BYTES_MAX: usize = 4 << 10;

#[derive(Debug)]
pub struct Process {
    running: Running,
    payload: Vec<u8>,
    /// Before every line of standard error that is passed on.
    name: String,
}

impl Process {
    pub fn start(
        command: &[String],
        variables: &[(&str, &str)],
        payload: Vec<u8>,
        name: &str,
        keeper: &Arc<Keeper>,
        folder: Option<&Path>,
    ) -> io::Result<(KeptGroup, Process)> {
        let (program, rest) = command.split_first().expect("the command line demands one");
        let mut start = process::command(program);
        start.args(rest).envs(variables.iter().copied()).env(MARK, &keeper.worker);
        if let Some(folder) = folder {
            start.current_dir(folder);
        }
        let (group, running) = process::start(start)?;
        Ok((keeper.keeps(group), Process { running, payload, name: name.to_string() }))
    }

    /// Waits for its end. Whatever it leaves running is ended, too.
    pub async fn end(self, kept: &KeptGroup) -> io::Result<Ended> {
        let Process { running, payload, name } = self;
        let mut lines = Lines::default();
        let hear = async |stderr| listen(stderr, &mut lines, &name).await;
        let (status, output) =
            running.end_heard(&kept.group, &payload, Keep::All(BODY_BYTES_MAX), hear).await?;
        let output = (!output.is_cut).then_some(output.bytes);
        Ok(Ended { status, output, lines })
    }
}

/// Keeps the last lines, and passes all of them on.
async fn listen(mut stderr: impl AsyncRead + Unpin, lines: &mut Lines, name: &str) {
    let mut say = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        eprintln!("{name}: {line}");
        lines.push(&line);
    };
    let (mut chunk, mut line) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        for byte in &chunk[..count] {
            match byte {
                b'\n' => say(&std::mem::take(&mut line)),
                _ => line.push(*byte),
            }
            if line.len() == LINE_BYTES_MAX {
                say(&std::mem::take(&mut line));
            }
        }
    }
    if !line.is_empty() {
        say(&line);
    }
}
