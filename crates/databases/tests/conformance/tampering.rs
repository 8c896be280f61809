//! A thousand ways to tamper with an exported log. Each is found, and named by its line wherever that can be known.
//!
//! The rule for the line: the first one that is not as it was written. A lifecycle line is the exception: it is only right
//! if the line after it is, and it can not be told from a right one that should stand elsewhere before an entry follows.

use tenure_core::draw::Draw;
use tenure_core::entry::{Entry, Facts, Sealed};
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_databases::export::line::{self, End, Line, Placed};
use tenure_databases::verify::{self, At, FAULTS_MAX};

use crate::files::{exported, is_sound, joined, lines, live, verified};
use crate::harness::{Bench, Clock, Memory};
use crate::requests::actor;

/// Logs of some dozen entries.
fn files() -> Vec<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let file = |seed| {
        runtime.block_on(async {
            let bench = Bench::<Memory>::open(Clock::new()).await;
            live(&bench, seed, 90).await;
            exported(&bench).await
        })
    };
    (100..106).map(file).collect()
}

struct Dice(Draw);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.number() % bound as u64) as usize
    }
}

fn is_lifecycle(line: &[u8]) -> bool {
    line.starts_with(br#"{"lifecycle":"#)
}

fn placed(line: &[u8]) -> Option<Placed> {
    match line::read(line) {
        Ok(Line::Entry(placed)) => Some(*placed),
        _ => None,
    }
}

fn entries(lines: &[Vec<u8>]) -> Vec<usize> {
    (0..lines.len()).filter(|at| lines[*at].starts_with(br#"{"action":"#)).collect()
}

/// The file is found out, and the first fault is at one of these lines (from 0).
#[track_caller]
fn is_found(file: &[u8], allowed: &[usize], how: &str) {
    let report = verified(file);
    let Some(first) = report.faults.first() else { panic!("not found: {how}") };
    let At::Line(number) = first.at else { panic!("{how}: no line: {first}") };
    let allowed: Vec<u64> = allowed.iter().map(|at| *at as u64 + 1).collect();
    assert!(allowed.contains(&number), "{how}: allowed {allowed:?}, found {:#?}", report.faults);
}

/// Where two files part, with what the rule for lifecycle lines adds.
fn parting(before: &[Vec<u8>], after: &[Vec<u8>]) -> Vec<usize> {
    let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let mut allowed = vec![same];
    if same > 0 && is_lifecycle(&after[same - 1]) {
        allowed.push(same - 1);
    }
    // A lifecycle that is here too early is told by what follows it, and so is what is missing before it.
    if after.get(same).is_some_and(|line| is_lifecycle(line)) {
        allowed.push(same + 1);
    }
    allowed
}

fn check(before: &[Vec<u8>], after: &[Vec<u8>], how: &str) {
    is_found(&joined(after), &parting(before, after), how);
}

// covers: K-43, K-46
#[test]
fn every_line_that_was_tampered_with_is_found() {
    let files = files();
    files.iter().for_each(|file| is_sound(file));
    for seed in 0..1_000 {
        let mut dice = Dice(Draw::new(seed));
        let file = &files[dice.below(files.len())];
        tamper(&mut dice, file, seed);
    }
}

fn tamper(dice: &mut Dice, file: &[u8], seed: u64) {
    let before = lines(file);
    let mut after = before.clone();
    let (one, other) = (dice.below(before.len()), dice.below(before.len()));
    let how = |what: &str| format!("{what} (seed {seed}, lines {one} and {other})");
    match dice.below(9) {
        0 | 1 => changed_byte(dice, file, &how("a changed byte")),
        2 => {
            after.remove(one);
            check(&before, &after, &how("a removed line"));
        }
        3 => {
            after.insert(other, before[one].clone());
            check(&before, &after, &how("a doubled line"));
        }
        4 if one != other => {
            after.swap(one, other);
            check(&before, &after, &how("swapped lines"));
        }
        4 => {}
        5 => {
            let cut = &file[..dice.below(file.len())];
            let whole = cut.iter().filter(|byte| **byte == b'\n').count();
            let mut allowed = vec![whole];
            if whole > 0 && is_lifecycle(&before[whole - 1]) {
                allowed.push(whole - 1);
            }
            is_found(cut, &allowed, &how("a cut tail"));
        }
        6 => {
            let all = entries(&before);
            let item = placed(&before[all[one % all.len()]]).unwrap().entry.item;
            after.retain(|line| placed(line).is_none_or(|placed| placed.entry.item != item));
            check(&before, &after, &how("a removed item"));
        }
        7 => changed_value(dice, &before, &how("a changed value with its hash")),
        _ => forged_line(dice, &before, &how("a forged line")),
    }
}

fn changed_byte(dice: &mut Dice, file: &[u8], how: &str) {
    let mut after = file.to_vec();
    let at = dice.below(after.len());
    let byte = dice.below(256) as u8;
    if after[at] == byte {
        return;
    }
    let line = after[..at].iter().filter(|byte| **byte == b'\n').count();
    let mut allowed = vec![line];
    // What follows a lifecycle was its first item, and is not any more.
    if line > 0 && is_lifecycle(&lines(file)[line - 1]) {
        allowed.push(line - 1);
    }
    let was = std::mem::replace(&mut after[at], byte);
    is_found(&after, &allowed, &format!("{how}: {was} became {byte} at {at}"));
}

/// An entry says something else, and its hash is right for that.
fn changed_value(dice: &mut Dice, before: &[Vec<u8>], how: &str) {
    let all = entries(before);
    let at = all[dice.below(all.len())];
    let found = placed(&before[at]).unwrap();
    let mut entry: Entry = (*found.entry).clone();
    match (dice.below(3), &mut entry.facts) {
        (0, _) => entry.actor = actor(&format!("{}:somebody-else", entry.actor.role.as_str())),
        (1, Facts::Create(birth)) => birth.payload = Hash::of(b"another"),
        _ => entry.at = tenure_core::time::Time::from_micros(entry.at.micros() + 1),
    }
    let mut after = before.to_vec();
    after[at] = line::entry(found.position, &Sealed::new(entry));
    // It is found where it breaks a rule, by the item's next entry, which names another hash, or by the end.
    let mut allowed = vec![at, before.len() - 1];
    let next = |at: &&usize| placed(&before[**at]).is_some_and(|next| next.entry.item == found.entry.item);
    allowed.extend(all.iter().filter(|next| **next > at).find(next));
    is_found(&joined(&after), &allowed, how);
}

/// A note that fits its item's chain is put in after the item's last entry.
fn forged_line(dice: &mut Dice, before: &[Vec<u8>], how: &str) {
    let all = entries(before);
    let at = all[dice.below(all.len())];
    let found = placed(&before[at]).unwrap();
    let forged = Entry {
        action: tenure_core::lifecycle::event::Event::Note,
        facts: Facts::Note(tenure_core::entry::Noted::default()),
        shown: None,
        cause: None,
        previous: Some(found.entry.hash()),
        version: found.entry.version + 1,
        ..(*found.entry).clone()
    };
    let mut after = before.to_vec();
    after.insert(at + 1, line::entry(found.position + 1, &Sealed::new(forged)));
    // It may be sound in itself. What comes after it is not: the next entry, or the next but one after a lifecycle.
    let allowed = [at + 1, at + 2, at + 3];
    is_found(&joined(&after), &allowed, how);
}

/// Writes a log anew from one changed entry on: every hash, every link and the end are right.
fn written_anew(before: &[Vec<u8>], changed: usize) -> Vec<Vec<u8>> {
    let mut heads: std::collections::BTreeMap<ItemId, Hash> = Default::default();
    let mut chain = Hash::ZERO;
    let mut after = before.to_vec();
    for (at, text) in before.iter().enumerate() {
        match line::read(text).unwrap() {
            Line::Entry(placed) => {
                let mut entry: Entry = (*placed.entry).clone();
                if at == changed {
                    entry.actor = actor(&format!("{}:somebody-else", entry.actor.role.as_str()));
                }
                entry.previous = heads.get(&entry.item).copied();
                let sealed = Sealed::new(entry);
                heads.insert(sealed.item, sealed.hash());
                chain = chain.link(&sealed.hash());
                after[at] = line::entry(placed.position, &sealed);
            }
            Line::End(end) => after[at] = line::end(&End { chain, ..end }),
            Line::Header(_) | Line::Lifecycle(_) => {}
        }
    }
    after
}

// covers: K-46
#[test]
fn a_log_that_was_written_anew_is_found_by_a_head_that_was_kept() {
    for file in files() {
        let before = lines(&file);
        let Ok(Line::End(end)) = line::read(before.last().unwrap()) else { panic!("the end") };
        let creates = entries(&before)
            .into_iter()
            .filter(|at| placed(&before[*at]).is_some_and(|placed| placed.entry.version == 1));
        for at in creates.step_by(4) {
            let forged = joined(&written_anew(&before, at));
            assert_ne!(forged, file);
            is_sound(&forged);
            let report = verify::file(&forged[..], Some(end.chain), |_| {}).unwrap();
            assert_eq!(report.faults.len(), 1, "{report:?}");
            assert_eq!((report.faults[0].at, report.head_at), (At::Log, None));
        }
        assert!(verify::file(&file[..], Some(end.chain), |_| {}).unwrap().is_sound());
    }
}

// covers: K-43
#[test]
fn one_change_is_told_in_few_words() {
    let file = &files()[0];
    let before = lines(file);
    for at in entries(&before) {
        let mut after = before.clone();
        after.remove(at);
        let report = verified(&joined(&after));
        assert!(report.faults.len() <= 4, "line {at}: {:#?}", report.faults);
        after = before.clone();
        let place = after[at].windows(9).position(|window| window == br#","item":""#).unwrap() - 5;
        after[at][place] = if after[at][place] == b'0' { b'1' } else { b'0' };
        let report = verified(&joined(&after));
        assert!(report.faults.len() <= 2, "line {at}: {:#?}", report.faults);
    }
}

/// Whatever bytes there are, there is an answer.
#[test]
fn no_bytes_make_it_panic() {
    let file = &files()[1];
    for garbage in
        [&b""[..], b"\n", b"\xff\xfe\n", b"{}", b"[[[[\n", b"{\"action\":\n{\"end\":{}}\n", b"null\n"]
    {
        assert!(!verified(garbage).is_sound(), "{garbage:?}");
    }
    let deep = [b"{\"action\":".to_vec(), vec![b'['; 1 << 20]].concat();
    assert!(!verified(&deep).is_sound());
    for seed in 0..300 {
        let mut dice = Dice(Draw::new(seed));
        let mut bytes = file.clone();
        for _ in 0..=dice.below(200) {
            let (from, to, at) = (dice.below(bytes.len()), dice.below(bytes.len()), dice.below(bytes.len()));
            let piece = bytes[from.min(to)..from.max(to).min(from.min(to) + 300)].to_vec();
            let end = (at + piece.len()).min(bytes.len());
            bytes.splice(at..end, piece.into_iter().rev());
        }
        let report = verified(&bytes);
        assert!(!report.is_sound() || bytes == *file);
        assert!(report.faults.len() <= FAULTS_MAX && (report.more == 0 || report.faults.len() == FAULTS_MAX));
    }
}

// covers: K-43
#[test]
fn every_fault_is_told_in_words() {
    let file = &files()[0];
    let before = lines(file);
    let all = entries(&before);
    let told = |after: &[Vec<u8>]| verified(&joined(after)).faults[0].what.clone();
    let with = |at: usize, line: &[u8]| {
        let mut after = before.clone();
        after[at] = line.to_vec();
        told(&after)
    };
    let without = |at: usize| {
        let mut after = before.clone();
        after.remove(at);
        told(&after)
    };
    assert!(with(0, b"hello").starts_with("is not JSON"));
    assert!(with(0, br#"{"tenure":{"format":2}}"#).contains("read it with a newer Tenure"));
    assert!(with(0, br#"{"tenure":{"format": 1}}"#).contains("canonical"));
    assert!(without(0).contains("does not begin as an export does"));
    assert!(without(before.len() - 1).contains("the end is missing"));
    assert!(without(1).contains("its lifecycle is not known here"));
    // One that nothing hangs on: the last of its item, and not its first.
    let text = |at: usize| String::from_utf8(before[all[at]].clone()).unwrap();
    let item = |at: usize| text(at).split(r#"","item":""#).nth(1).unwrap()[..26].to_string();
    let is_loose = |at: &usize| {
        (at + 1..all.len()).all(|next| item(next) != item(*at)) && !text(*at).contains(r#""version":1}"#)
    };
    let loose = (5..all.len()).find(is_loose).unwrap();
    assert!(without(all[loose]).contains(&format!("where entry {} belongs", loose + 1)));
    let spaced = String::from_utf8(before[all[3]].clone()).unwrap().replacen(':', ": ", 1);
    assert!(with(all[3], spaced.as_bytes()).contains("canonical"));
    let end = before.last().unwrap();
    let other = String::from_utf8(end.clone()).unwrap().replacen("\"items\":", "\"items\":9", 1);
    assert!(with(before.len() - 1, other.as_bytes()).contains("the end does not fit: it counts 9"));
    let mut after = before.clone();
    after.push(end.clone());
    assert!(told(&after).contains("stands after the end"));
    let prose = String::from_utf8(before[1].clone()).unwrap().replacen("\\n\\n", "\\n\\nMore.\\n\\n", 1);
    assert!(with(1, prose.as_bytes()).contains("the source's SHA-256 is"));
    let file = &file[..file.len() - 1];
    assert!(verified(file).faults[0].what.contains("has no line feed"));
}

/// A file that went through a program which ends lines otherwise, or of which a block was lost: it is told and not pondered over.
// covers: K-43
#[test]
fn any_number_of_lines_that_can_not_be_read_are_told() {
    let long = {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let bench = Bench::<Memory>::open(Clock::new()).await;
            live(&bench, 7, 1_500).await;
            exported(&bench).await
        })
    };
    let before = lines(&long);
    let all = entries(&before);
    assert!(all.len() > 250, "{} entries", all.len());
    let ended_otherwise: Vec<Vec<u8>> = before.iter().map(|line| [line, &b"\r"[..]].concat()).collect();
    let report = verified(&joined(&ended_otherwise));
    let faults: Vec<At> = report.faults.iter().map(|fault| fault.at).collect();
    assert_eq!(faults, (1..).take(FAULTS_MAX).map(At::Line).collect::<Vec<_>>());
    assert_eq!(report.more as usize + FAULTS_MAX, before.len() + 1, "each of them, and that there is no end");
    let mut broken = before.clone();
    let block = all[20]..all[20] + 200;
    for line in &mut broken[block.clone()] {
        line.truncate(line.len() - 1);
    }
    is_found(&joined(&broken), &[block.start], "a block of broken lines");
    let report = verified(&joined(&broken));
    let told =
        report.faults.iter().all(|fault| matches!(fault.at, At::Line(at) if at as usize > block.start));
    assert!(told && report.entries as usize == all.len(), "{report:#?}");
}

/// Numbers at the end of what a number can be, with hashes that are right.
// covers: K-43
#[test]
fn a_number_that_nobody_counted_to_is_a_fault_and_no_panic() {
    let before = lines(&files()[2]);
    let all = entries(&before);
    for at in [all[0], all[all.len() / 2]] {
        let found = placed(&before[at]).unwrap();
        for position in [0, u64::MAX - 1, u64::MAX] {
            let mut after = before.clone();
            after[at] = line::entry(position, &found.entry);
            is_found(&joined(&after), &[at], &format!("position {position}"));
            // One that can not be read comes after it.
            after[at + 1].truncate(30);
            is_found(&joined(&after), &[at], &format!("position {position}, and a broken line"));
        }
        for version in [0, u64::MAX - 1, u64::MAX] {
            let mut after = before.clone();
            let forged = Entry { version, ..(*found.entry).clone() };
            after[at] = line::entry(found.position, &Sealed::new(forged));
            is_found(&joined(&after), &[at], &format!("version {version}"));
        }
    }
}
