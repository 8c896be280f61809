//! How a child process and its test talk: lines out, one piece each, and lines in, each a permission to go on.
//!
//! The end of the input ends the child: it never outlives the test that started it.

use std::io::{BufRead, Write};
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Stands before every line that is meant: a test harness has things to say of its own.
pub const MARK: &str = "+ ";

#[derive(Debug)]
pub struct Voice {
    allowed: Arc<Semaphore>,
}

impl Voice {
    pub fn new() -> Voice {
        let allowed = Arc::new(Semaphore::new(0));
        let given = allowed.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends with the process, and ends it")]
        std::thread::spawn(move || {
            for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
                given.add_permits(1);
            }
            std::process::exit(0);
        });
        let _ = std::io::stdout().write_all(b"\n");
        Voice { allowed }
    }

    /// Says it at once and in one piece.
    pub fn say(&self, line: &str) {
        let line = line.replace('\n', " / ");
        let mut out = std::io::stdout().lock();
        let said = out.write_all(format!("{MARK}{line}\n").as_bytes()).and_then(|()| out.flush());
        if said.is_err() {
            std::process::exit(0);
        }
    }

    /// Waits for a line of input.
    pub async fn go_on(&self) {
        self.allowed.acquire().await.expect("nobody closes it").forget();
    }
}
