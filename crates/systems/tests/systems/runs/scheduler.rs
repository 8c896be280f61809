//! The scheduler where the database is locked by somebody else.

use std::sync::{Arc, Mutex};

use tenure_systems::runs::Settings;

use super::{Desk, reading};
use crate::kit::on_sqlite;

//
#[test]
fn a_locked_database_is_told_of_and_the_next_look_finds_the_run() {
    on_sqlite(async |url| {
        let desk = Desk::open(&url).await;
        let uploaded = desk.upload("a b").await;
        let file = url.strip_prefix("sqlite:").unwrap();
        let other = rusqlite::Connection::open(file).unwrap();
        other.execute_batch("begin immediate").unwrap();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let (told, heard) = tokio::sync::mpsc::unbounded_channel();
        let mut heard = heard;
        let said = lines.clone();
        let tell = Arc::new(move |line: &str| {
            said.lock().unwrap().push(line.to_string());
            let _ = told.send(());
        });
        let running = desk.start_with(reading(), Settings { tell, ..desk.settings.clone() }).await;
        // A request that only reads is answered meanwhile.
        assert_eq!(desk.documents.run(uploaded.run_id).await.unwrap().state, "QUEUED");
        heard.recv().await.unwrap();
        assert!(desk.library.scheduler_retried() > 0);
        assert!(lines.lock().unwrap()[0].starts_with("runs: SCHEDULER_RETRIED: "), "{lines:?}");
        other.execute_batch("rollback").unwrap();
        assert_eq!(desk.ended(uploaded.run_id).await.state, "COMPLETED");
        running.drain().await;
    });
}
