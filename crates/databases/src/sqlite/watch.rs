//! Noticing that others have written to the file: another process, or another handle of this one. What this handle writes itself its
//! owner knows.
//!
//! SQLite counts for each connection what all others have committed, and the one that matters is the connection that writes. It looks
//! whenever a transaction begins; in between, while it is free, it is asked here.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Mutex;

use super::tx::Writer;
use super::{Shared, Sqlite};
use crate::Error;

pub struct Watch {
    shared: Arc<Shared>,
    writer: Arc<Mutex<Writer>>,
    seen: u64,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Sqlite {
    pub fn watch(&self) -> Result<Watch, Error> {
        let mut watch = Watch { shared: self.shared.clone(), writer: self.writer.clone(), seen: 0 };
        watch.has_changed()?;
        Ok(watch)
    }
}

impl Watch {
    /// Whether others have written anything since it was last asked.
    pub fn has_changed(&mut self) -> Result<bool, Error> {
        // While it is not free it is within a transaction, and has looked as that began.
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.look_for_others()?;
        }
        let count = self.shared.foreign.load(Ordering::Relaxed);
        Ok(std::mem::replace(&mut self.seen, count) != count)
    }
}
