//! Logs as files, for the checks about them: random histories, their exports, and databases made from those.

use std::io::Cursor;
use std::time::Duration;

use tenure_core::draw::Draw;
use tenure_core::execution::Execution;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::world::Record;
use tenure_databases::export::{export, line};
use tenure_databases::replay::{Replayed, Stopped, replay};
use tenure_databases::verify::{self, Report};
use tenure_databases::{Database, Head};

use crate::harness::{Bench, Clock, Harness};
use crate::random::Scene;

/// Lets random requests happen.
pub async fn live<H: Harness>(bench: &Bench<H>, seed: u64, requests: usize) {
    bench.keep_a_minute().await;
    let mut draw = Draw::new(seed);
    for _ in 0..requests {
        let seconds = [1, 1, 5, 25, 61, 121].get(draw.number() as usize % 30).copied().unwrap_or(0);
        bench.wait(Duration::from_secs(seconds));
        let items = bench.items().await;
        let tables = bench.database().tables();
        let scene = Scene { tables: &tables, items: &items, now: bench.clock.now() };
        bench.reply(scene.request(draw.number())).await;
    }
}

pub async fn exported<H: Harness>(bench: &Bench<H>) -> Vec<u8> {
    let mut file = Vec::new();
    let end = export(bench.database(), &mut file, |_| {}).await.expect("it can be exported");
    let head = bench.database().head().await.unwrap();
    assert_eq!(Head { position: end.entries, chain: end.chain }, head);
    assert!(file.ends_with(&[&line::end(&end)[..], b"\n"].concat()));
    file
}

pub fn verified(file: &[u8]) -> Report {
    verify::file(file, None, |_| {}).expect("memory can be read")
}

#[track_caller]
pub fn is_sound(file: &[u8]) {
    let report = verified(file);
    assert!(report.is_sound(), "{report:#?}\n{}", String::from_utf8_lossy(file));
}

pub async fn replay_into<H: Harness>(bench: &Bench<H>, file: &[u8]) -> Result<Replayed, Stopped> {
    replay(Cursor::new(file), bench.database(), &mut bench.draw(), |_| {}).await
}

/// A fresh database with what the file says.
pub async fn replayed<H: Harness>(file: &[u8], clock: &Clock) -> Bench<H> {
    let bench = Bench::<H>::open(clock.clone()).await;
    replay_into(&bench, file).await.expect("the file is replayed");
    bench
}

pub async fn database_is_sound<H: Harness>(bench: &Bench<H>) {
    let report = verify::database(bench.database(), None, |_| {}).await.unwrap();
    assert!(report.is_sound(), "{report:#?}");
}

/// Everything that the log fixes of an item.
#[derive(PartialEq, Debug)]
pub struct Logged {
    item: Item,
    executions: Vec<Execution>,
    records: Vec<Record>,
}

pub async fn logged<H: Harness>(bench: &Bench<H>, item: &Item) -> Logged {
    let whole = bench.database().whole(&item.store, item.id).await.unwrap().expect("it is there");
    let execution = |it: &Execution| Execution { lease_expires_at: it.leased_at, ..it.clone() };
    let record = |it: &Record| Record { body: None, ..it.clone() };
    Logged {
        item: whole.item.as_logged(),
        executions: whole.executions.iter().map(execution).collect(),
        records: whole.records.iter().map(record).collect(),
    }
}

pub fn lines(file: &[u8]) -> Vec<Vec<u8>> {
    let text = file.strip_suffix(b"\n").expect("it ends with a line feed");
    text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

pub fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    let mut file = lines.join(&b'\n');
    file.push(b'\n');
    file
}

/// The lines that tell of an item.
pub fn lines_of(file: &[u8], item: ItemId) -> Vec<String> {
    let is_about = |line: &String| line.contains(&format!("\"item\":\"{item}\""));
    lines(file).into_iter().map(|line| String::from_utf8(line).unwrap()).filter(is_about).collect()
}
