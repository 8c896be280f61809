//! One pass over a log, entry by entry: what came so far, and what does not fit it.
//!
//! An item whose entries stopped fitting is *loose* from there on: its entries are still held to their hashes, versions
//! and links, but no longer to the lifecycle, because nobody knows what the item was before them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::entry::{Facts, Sealed};
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::replay::replay;
use tenure_core::word::Kind;
use tenure_core::world::{Change, Lane, LaneKey, World};

use super::{At, FAULTS_MAX, Fault, Report};
use crate::Head;
use crate::export::line::{End, FORMAT, Lifecycle, Line, Placed, Unreadable};

#[derive(Debug)]
pub(crate) struct Pass {
    from: From,
    /// Items and records as the entries so far make them; of a database's log the lanes too, to be compared. No entries, executions or
    /// names: nothing that comes is judged by them.
    world: World,
    last: BTreeMap<ItemId, Last>,
    /// The line or the position that is looked at.
    place: u64,
    next: Next,
    entries: u64,
    chain: Option<Hash>,
    /// What was asked for: the chain after so many entries.
    marks: BTreeMap<u64, Option<Hash>>,
    head: Option<Hash>,
    head_at: Option<u64>,
    lifecycles: BTreeMap<Hash, u64>,
    /// In the order of the file.
    sources: Vec<String>,
    sources_chain: Option<Hash>,
    /// A lifecycle that must be followed by the first item under it.
    pending: Option<(u64, Hash)>,
    /// Told once each.
    unknown: BTreeSet<Hash>,
    /// What the last item of a kind was created under.
    current: BTreeMap<Kind, Hash>,
    end_at: Option<u64>,
    faults: Vec<Fault>,
    more: u64,
}

/// Positions that may come next: one, and after a fault those that would show what it was.
#[derive(Debug)]
struct Next {
    from: Vec<u64>,
    /// Lines since then that can not be read. Of each nobody knows whether it belongs there, and so takes a position, or was put in.
    unread: u64,
}

impl Next {
    fn after(position: u64) -> Next {
        Next { from: vec![position.saturating_add(1)], unread: 0 }
    }

    fn may_be(&self, position: u64) -> bool {
        self.from.iter().any(|from| (*from..=from.saturating_add(self.unread)).contains(&position))
    }

    /// The one that is told where none of them comes: every line that can not be read has one.
    fn expected(&self) -> u64 {
        self.from.first().map_or(0, |from| from.saturating_add(self.unread))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    File,
    Log,
}

/// An item's last entry.
#[derive(Debug)]
struct Last {
    place: u64,
    loose: Option<Box<Loose>>,
    /// It was removed by its last entry, which had this version and this hash. Nothing may follow.
    removed: Option<(u64, Hash)>,
}

#[derive(Clone, Debug)]
struct Loose {
    version: u64,
    /// What the next entry may follow: where content and hash disagree, either. Empty: anything.
    heads: Vec<Hash>,
}

impl Pass {
    pub fn of_file(head: Option<Hash>, marks: &[u64]) -> Pass {
        let mut pass = Pass::new(From::File, World::default(), head);
        pass.marks = marks.iter().map(|mark| (*mark, (*mark == 0).then_some(Hash::ZERO))).collect();
        pass
    }

    pub fn of_log(tables: Arc<Tables>, head: Option<Hash>) -> Pass {
        Pass::new(From::Log, World::new(tables), head)
    }

    fn new(from: From, world: World, head: Option<Hash>) -> Pass {
        Pass {
            from,
            world,
            last: BTreeMap::new(),
            place: 0,
            next: Next::after(0),
            entries: 0,
            chain: Some(Hash::ZERO),
            marks: BTreeMap::new(),
            head,
            head_at: (head == Some(Hash::ZERO)).then_some(0),
            lifecycles: BTreeMap::new(),
            sources: Vec::new(),
            sources_chain: Some(Hash::ZERO),
            pending: None,
            unknown: BTreeSet::new(),
            current: BTreeMap::new(),
            end_at: None,
            faults: Vec::new(),
            more: 0,
        }
    }

    pub fn place(&self) -> u64 {
        self.place
    }

    fn at(&self, place: u64) -> At {
        match self.from {
            From::File => At::Line(place),
            From::Log => At::Position(place),
        }
    }

    /// `line 12` or `entry 12`, in the middle of a sentence.
    fn named(&self, place: u64) -> String {
        match self.from {
            From::File => format!("line {place}"),
            From::Log => format!("entry {place}"),
        }
    }

    pub fn fault(&mut self, at: At, about: Option<(ItemId, Option<u64>)>, what: impl Into<String>) {
        if self.faults.len() == FAULTS_MAX {
            self.more += 1;
            return;
        }
        let (item, version) = (about.map(|(item, _)| item), about.and_then(|(_, version)| version));
        self.faults.push(Fault { at, item, version, what: what.into() });
    }

    fn here(&mut self, what: impl Into<String>) {
        self.fault(self.at(self.place), None, what);
    }

    /// A line of a file.
    pub fn line(&mut self, line: Line) {
        self.place += 1;
        if self.is_past_end() {
            return;
        }
        if self.place == 1 && !matches!(line, Line::Header(_)) {
            self.here(
                "the file does not begin as an export does: its first line is missing, or it is another file",
            );
        }
        self.follows_lifecycle(&line);
        match line {
            Line::Header(header) if header.format != FORMAT => self.here(format!(
                "the file is in format {}, and only {FORMAT} is known here: read it with a newer Tenure",
                header.format
            )),
            Line::Header(_) if self.place > 1 => self.here("is a beginning in the middle of the file"),
            Line::Header(_) => {}
            Line::Lifecycle(lifecycle) => self.lifecycle(lifecycle),
            Line::Entry(placed) => self.placed(&placed),
            Line::End(end) => self.end(&end),
        }
    }

    fn is_past_end(&mut self) -> bool {
        let Some(end) = self.end_at else { return false };
        self.here(format!("stands after the end, which is line {end}"));
        true
    }

    fn follows_lifecycle(&mut self, line: &Line) {
        let Some((at, hash)) = self.pending.take() else { return };
        let is_first = matches!(line, Line::Entry(placed)
            if matches!(&placed.entry.facts, Facts::Create(birth) if birth.lifecycle == hash));
        if !is_first {
            let what = "the lifecycle is not followed by the first item created under it: a line was moved, put in or taken out";
            self.fault(At::Line(at), None, what);
        }
    }

    /// A line that is none.
    pub fn unreadable(&mut self, line: Unreadable) {
        self.place += 1;
        if self.is_past_end() {
            return;
        }
        self.pending = None;
        let about = line.about.map(|(item, version)| (item, Some(version)));
        self.fault(self.at(self.place), about, line.what);
        if line.is_entry {
            self.entries += 1;
            self.next.unread = self.next.unread.saturating_add(1);
        }
        // Nobody knows what it was, so nothing is known of what the entries or the sources come to.
        self.chain = None;
        self.sources_chain = None;
        if let Some((item, version)) = line.about {
            self.loosen(item, version, Vec::new());
        }
    }

    /// The last line has no line feed.
    pub fn cut(&mut self) {
        self.here("has no line feed: the file was cut off here");
    }

    pub fn end_of_file(&mut self) {
        if self.place == 0 {
            self.fault(At::Line(1), None, "the file is empty; an export has at least two lines");
        } else if self.end_at.is_none() {
            self.fault(At::Line(self.place + 1), None, "the end is missing: the file was cut off here");
        }
    }

    fn lifecycle(&mut self, line: Lifecycle) {
        let sha256 = Hash::of(line.source.as_bytes());
        self.sources_chain = self.sources_chain.map(|chain| chain.link(&sha256));
        if let Some(before) = self.lifecycles.insert(line.hash, self.place) {
            self.here(format!("lifecycle {} came before, in line {before}", line.hash));
            return;
        }
        self.pending = Some((self.place, line.hash));
        if sha256 != line.sha256 {
            self.here(format!("the source's SHA-256 is {sha256}, but the line says {}", line.sha256));
        }
        match parse(&line.source) {
            Ok(table) if table.hash() != line.hash || table.kind != line.kind => {
                let (kind, hash) = (&table.kind, table.hash());
                self.here(format!(
                    "the source is {kind} {hash}, but the line says {} {}",
                    line.kind, line.hash
                ));
            }
            Ok(table) => {
                Arc::make_mut(&mut self.world.tables).add(table);
                self.sources.push(line.source);
            }
            Err(faults) => {
                let first = faults.first().map_or(String::new(), |fault| format!(", line {fault}"));
                self.here(format!("the source is no lifecycle{first}"));
            }
        }
    }

    fn placed(&mut self, placed: &Placed) {
        let Placed { position, stated, entry } = placed;
        let about = Some((entry.item, Some(entry.version)));
        let fault = if *stated == entry.hash() {
            self.judge(entry)
        } else {
            self.chain = None;
            self.entries += 1;
            self.loosen(entry.item, entry.version, vec![entry.hash(), *stated]);
            Some(format!(
                "was changed: it carries the hash {stated:?}…, but what it says has {:?}…",
                entry.hash()
            ))
        };
        let moved = self.position(*position);
        if let Some(what) = fault.or(moved) {
            self.fault(At::Line(self.place), about, what);
        }
    }

    /// Positions count up. After one that does not, the next may go on from it (entries are missing), from where it stands
    /// (it took another's place), or as if it were not there (it was put in).
    fn position(&mut self, position: u64) -> Option<String> {
        let (is_next, expected) = (self.next.may_be(position), self.next.expected());
        self.next = Next::after(position);
        if is_next {
            return None;
        }
        self.next.from.extend([expected.saturating_add(1), expected]);
        Some(format!(
            "is entry {position} of the log where entry {expected} belongs: one was moved, put in or taken out"
        ))
    }

    /// The tables of a database may grow while its log is read.
    pub fn tables(&mut self, tables: Arc<Tables>) {
        self.world.tables = tables;
    }

    /// The next entry of a database's log.
    pub fn entry(&mut self, position: u64, entry: &Sealed) {
        self.place = position;
        if let Facts::Create(birth) = &entry.facts {
            self.lifecycles.entry(birth.lifecycle).or_insert(self.place);
        }
        let fault = self.judge(entry);
        let moved = self.position(position);
        if let Some(what) = fault.or(moved) {
            self.fault(At::Position(self.place), Some((entry.item, Some(entry.version))), what);
        }
    }

    /// Takes an entry in, and says what is wrong with it.
    fn judge(&mut self, entry: &Sealed) -> Option<String> {
        self.entries += 1;
        self.chain = self.chain.map(|chain| chain.link(&entry.hash()));
        if self.chain == self.head && self.head.is_some() {
            self.head_at = Some(self.entries);
        }
        if let Some(mark) = self.marks.get_mut(&self.entries) {
            *mark = self.chain;
        }
        if let Facts::Create(birth) = &entry.facts {
            self.current.insert(birth.kind.clone(), birth.lifecycle);
        }
        let what = match self.logged(entry.item) {
            None if entry.version == 0 => Some("has version 0, and the first of an item has 1".to_string()),
            None if entry.version != 1 => Some(format!(
                "is the first of its item here: versions 1 to {} are missing",
                entry.version - 1
            )),
            None => None,
            Some((version, heads)) => {
                let before = self.named(self.last.get(&entry.item).map_or(0, |last| last.place));
                if entry.version <= version {
                    // What the item is stays as the entries before say.
                    return Some(format!(
                        "comes again or too late: the item is at version {version}, since {before}"
                    ));
                }
                if entry.version - version > 1 {
                    Some(format!("follows version {version} in {before}: what was between is missing"))
                } else if !heads.is_empty() && !entry.previous.is_some_and(|hash| heads.contains(&hash)) {
                    Some(format!(
                        "does not name the hash of {before}, which it follows: one of the two was changed"
                    ))
                } else {
                    None
                }
            }
        };
        let is_loose = self.last.get(&entry.item).is_some_and(|last| last.loose.is_some());
        if what.is_some() || is_loose {
            self.loosen(entry.item, entry.version, vec![entry.hash()]);
            return what;
        }
        match replay(&self.world, entry.clone()) {
            Ok(changes) => {
                self.keep(changes);
                let removed = (entry.action == Event::Prune).then(|| (entry.version, entry.hash()));
                self.last.insert(entry.item, Last { place: self.place, loose: None, removed });
                None
            }
            Err(broken) => {
                self.loosen(entry.item, entry.version, vec![entry.hash()]);
                let is_told = match &entry.facts {
                    Facts::Create(birth) if self.world.tables.version(&birth.lifecycle).is_none() => {
                        !self.unknown.insert(birth.lifecycle)
                    }
                    _ => false,
                };
                (!is_told).then_some(broken.why)
            }
        }
    }

    fn keep(&mut self, changes: Vec<Change>) {
        let is_kept = |change: &Change| match change {
            Change::Insert { .. } | Change::Update { .. } | Change::Record(_) => true,
            Change::Renew { .. } | Change::Execution(_) | Change::Name(..) => false,
            Change::Remove { .. } => true,
            Change::Lane(..) => self.from == From::Log,
            Change::Message(_) | Change::Erase(_) | Change::Entry(_) => false,
            Change::Control(..) | Change::Unname(_) | Change::Linked { .. } => false,
        };
        self.world.apply(changes.into_iter().filter(is_kept).collect());
    }

    pub fn lanes(&self) -> &BTreeMap<LaneKey, Lane> {
        &self.world.lanes
    }

    /// Goes on with an entry that was written meanwhile. It is not judged. Answers which lanes it changed.
    pub fn follow(&mut self, entry: &Sealed) -> Vec<LaneKey> {
        let Ok(changes) = replay(&self.world, entry.clone()) else { return Vec::new() };
        let lane = |change: &Change| match change {
            Change::Lane(key, _) => Some(key.clone()),
            _ => None,
        };
        let changed = changes.iter().filter_map(lane).collect();
        self.keep(changes);
        changed
    }

    fn loosen(&mut self, item: ItemId, version: u64, heads: Vec<Hash>) {
        let loose = Some(Box::new(Loose { version, heads }));
        self.last.insert(item, Last { place: self.place, loose, removed: None });
    }

    /// How far an item has come, and what its next entry must name.
    pub fn logged(&self, item: ItemId) -> Option<(u64, Vec<Hash>)> {
        let last = self.last.get(&item)?;
        match (&last.loose, last.removed) {
            (Some(loose), _) => Some((loose.version, loose.heads.clone())),
            (None, Some((version, head))) => Some((version, vec![head])),
            (None, None) => self.world.items.get(&item).map(|item| (item.version, vec![item.head])),
        }
    }

    /// Those that must be there: all but what was removed.
    pub fn items(&self) -> BTreeSet<ItemId> {
        self.last.iter().filter(|(_, last)| last.removed.is_none()).map(|(item, _)| *item).collect()
    }

    fn end(&mut self, end: &End) {
        self.end_at = Some(self.place);
        let is_sound_so_far = self.faults.is_empty();
        let sums = [
            (end.entries, self.entries, "entries"),
            (end.items, self.last.len() as u64, "items"),
            (end.lifecycles, self.lifecycles.len() as u64, "lifecycles"),
        ];
        let differing = sums.iter().filter(|(said, found, _)| said != found);
        let mut what: Vec<String> = differing
            .map(|(said, found, what)| format!("it counts {said} {what} instead of {found}"))
            .collect();
        // After a fault it goes without saying that the sums are others.
        if let Some(chain) =
            self.chain.filter(|chain| is_sound_so_far && what.is_empty() && *chain != end.chain)
        {
            what.push(format!(
                "its head is {}, but the entries come to {chain}: an entry was changed with its hash, or this line was",
                end.chain
            ));
        }
        let sources = self.sources_chain.filter(|chain| is_sound_so_far && *chain != end.sources);
        if let Some(chain) = sources.filter(|_| what.is_empty()) {
            what.push(format!(
                "its sources come to {}, but those here to {chain}: a lifecycle was changed",
                end.sources
            ));
        }
        if !what.is_empty() {
            self.here(format!("the end does not fit: {}", what.join("; ")));
        }
    }

    /// Compares with what a database says of its log.
    pub fn compare(&mut self, said: Head) {
        if self.entries != said.position {
            let what = format!("the log has {} entries, but its head counts {}", self.entries, said.position);
            self.fault(At::Log, None, what);
        } else if let Some(chain) = self.chain.filter(|chain| *chain != said.chain) {
            let what =
                format!("the entries come to {chain}, but the head is {}: one was changed", said.chain);
            self.fault(At::Log, None, what);
        }
    }

    pub fn finish(mut self, head: Option<Hash>) -> Report {
        if let (Some(head), None, Some(chain)) = (head, self.head_at, self.chain) {
            let what = format!(
                "the log never had the head {head} that was given; it ends with {chain}: it was written anew, or cut before it"
            );
            self.fault(At::Log, None, what);
        }
        self.faults.sort_by_key(|fault| fault.at);
        Report {
            entries: self.entries,
            items: self.last.len() as u64,
            lifecycles: self.lifecycles.len() as u64,
            chain: self.chain,
            head_at: self.head_at,
            faults: self.faults,
            more: self.more,
        }
    }

    /// The chain after so many entries, where it was asked for.
    pub fn chain_at(&self, entries: u64) -> Option<Hash> {
        self.marks.get(&entries).copied().flatten()
    }

    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// The report, and the lifecycles to be added before the entries can be: in the order of the file, and at the end once
    /// more those that the last items of their kinds were created under, since what is added last is in force.
    pub fn into_parts(mut self) -> (Vec<String>, Report) {
        let mut sources = std::mem::take(&mut self.sources);
        for (kind, hash) in &self.current {
            let in_force = self.world.tables.current(kind);
            if in_force.is_some_and(|table| table.hash() != *hash) {
                sources.extend(self.world.tables.version(hash).map(|table| table.source.to_string()));
            }
        }
        (sources, self.finish(None))
    }
}
