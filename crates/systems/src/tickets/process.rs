//! What the workers of tickets start: git, the commands of gates, and executors.

use std::io;
use std::path::Path;

use tokio::process::Command;

use crate::process::{self, DATABASE, Keep, Ran, start};

/// Of standard output so much is kept: as much as a body can have.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Of standard error the end is kept: it says what went wrong.
const SAID_BYTES_MAX: usize = 16 << 10;
/// Whose repository git would take for its own.
const GIT: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// Runs a command to its end.
pub(super) async fn run(mut command: Command, folder: Option<&Path>, input: &[u8]) -> io::Result<Ran> {
    prepare(&mut command, folder);
    process::run(command, input, Keep::First(OUTPUT_BYTES_MAX), Keep::Last(SAID_BYTES_MAX)).await
}

/// The same, and whatever it leaves running ends with it, also who has left its group: what a gate started is over when the next begins.
pub(super) async fn run_whole(mut command: Command, folder: &Path) -> io::Result<Ran> {
    prepare(&mut command, Some(folder));
    let (group, running) = start(command)?;
    let ran = running.end(&group, b"", Keep::First(OUTPUT_BYTES_MAX), Keep::Last(SAID_BYTES_MAX)).await;
    group.kill();
    ran
}

/// A ticket says what runs, so the place of the database is not for it.
fn prepare(command: &mut Command, folder: Option<&Path>) {
    command.env_remove(DATABASE);
    for name in GIT {
        command.env_remove(name);
    }
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
}
