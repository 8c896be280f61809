//! What sort of statement a clause is, and what it is called. The sort says which value a validator looks for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::clause::{Clause, Piece, Reading, within};
use super::lexicon;
use crate::text::token::Tokens;
use crate::text::{Found, NameKind, Quantity, Unit, lists, name};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Comparison,
    Percentage,
    Amount,
    Count,
    Date,
    Name,
    Statement,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Comparison => "comparison",
            Kind::Percentage => "percentage",
            Kind::Amount => "amount",
            Kind::Count => "count",
            Kind::Date => "date",
            Kind::Name => "name",
            Kind::Statement => "statement",
        }
    }
}

/// What a value is expected to be. Of a name, where it is sure, also whose: `name/person`.
pub fn expected(kind: Kind, named: NameKind) -> &'static str {
    match (kind, named) {
        (Kind::Name, NameKind::Person) => "name/person",
        (Kind::Name, NameKind::Organisation) => "name/organisation",
        (Kind::Name, NameKind::Place) => "name/place",
        (
            Kind::Name
            | Kind::Comparison
            | Kind::Percentage
            | Kind::Amount
            | Kind::Count
            | Kind::Date
            | Kind::Statement,
            _,
        ) => kind.name(),
    }
}

/// The kind, what the statement is about where its key can say it, and of a name whose it is.
pub fn of(reading: &Reading<'_>, clause: &Clause) -> (Kind, Option<String>, NameKind) {
    let (kind, topic, name) = sorted(reading, clause);
    let whose = name.map_or(NameKind::Other, |name| name::sure_kind(reading.tokens, name.start, name.end));
    (kind, topic, whose)
}

fn sorted(reading: &Reading<'_>, clause: &Clause) -> (Kind, Option<String>, Option<Range<usize>>) {
    let ranges: Vec<Range<usize>> = clause.pieces.iter().filter_map(tokens_of).collect();
    let bytes = || ranges.iter().map(|range| reading.tokens.bytes(range.clone()));
    let quantities: Vec<&Found<Quantity>> =
        bytes().flat_map(|bytes| within(reading.quantities, bytes)).collect();
    let has = |wanted: fn(Unit) -> bool| quantities.iter().find(|found| wanted(found.value.unit));
    if is_comparison(reading, clause, &ranges) {
        return (Kind::Comparison, None, None);
    }
    if has(|unit| matches!(unit, Unit::Percent | Unit::Word("basis point" | "percentage point"))).is_some() {
        return (Kind::Percentage, None, None);
    }
    // The first is what the statement is about: "treated 120 patients with 50 mg".
    if let Some(first) = quantities.first() {
        return match first.value.unit {
            Unit::None => (Kind::Count, None, None),
            Unit::Percent => (Kind::Percentage, None, None),
            Unit::Currency(_) | Unit::Measure(_) | Unit::Word(_) => {
                (Kind::Amount, topic(reading.tokens, clause, first), None)
            }
        };
    }
    let has_date = bytes().any(|bytes| within(reading.dates, bytes).next().is_some());
    if has_date || ranges.iter().flat_map(Clone::clone).any(|at| is_other_date(reading.tokens, at)) {
        return (Kind::Date, None, None);
    }
    match named(reading.tokens, clause, &ranges) {
        Some(name) => (Kind::Name, slug(reading.tokens.span(name.clone())), Some(name)),
        None => (Kind::Statement, None, None),
    }
}

fn tokens_of(piece: &Piece) -> Option<Range<usize>> {
    match piece {
        Piece::Tokens(range) | Piece::Lowered(range) | Piece::Owned(range) => Some(range.clone()),
        Piece::Literal(_) => None,
    }
}

/// A day without its year, or before our era: a date for people.
fn is_other_date(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_number = |at: usize| tokens.number(at).is_some();
    let month = tokens.is_capital(at) && at > 0 && lists::month(tokens.word(at)).is_some();
    (month && (is_number(at - 1) || is_number(at + 1)))
        || (is_number(at) && tokens.is_any(at + 1, &["bc", "bce"]))
}

/// Behind the verb: "the largest bank employs 5 people" is about the people. "More than 500" is a count.
fn is_comparison(reading: &Reading<'_>, clause: &Clause, ranges: &[Range<usize>]) -> bool {
    let tokens = reading.tokens;
    let from = clause.verb.unwrap_or(0);
    let counts = |at: usize| reading.quantity_at(at).is_some();
    let mut words = ranges.iter().flat_map(Clone::clone).filter(|at| *at >= from);
    words.any(|at| {
        let compares = tokens.is(at, "than")
            && !counts(at + 1)
            && (at.saturating_sub(8)..at).any(|before| tokens.is_one_of(before, &lexicon::COMPARATIVES));
        let as_much = tokens.is_any(at, &["times", "twice"]) && tokens.is_any(at + 1, &["as", "more", "the"]);
        let best = tokens.is_one_of(at, &lexicon::SUPERLATIVES) && is_singled_out(tokens, at);
        compares || as_much || best || (tokens.is_one_of(at, &lexicon::COMPARING) && !counts(at + 1))
    })
}

/// "the largest", "its largest", "the world's second largest"; "at most" is no superlative.
fn is_singled_out(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    let owner = tokens.word(before).ends_with("'s") || tokens.word(before).ends_with("’s");
    let ordinal = lists::ordinal(tokens.word(before)).is_some() || tokens.mark(before) == Some('-');
    owner || ordinal || tokens.is_any(before, &["her", "his", "its", "our", "the", "their"])
}

/// "5 m long" is about how long, "revenue of $5 million" about revenue, "revenue rose to $5 million" too; "Acme raised $5 million" about what was raised.
fn topic(tokens: &Tokens<'_>, clause: &Clause, amount: &Found<Quantity>) -> Option<String> {
    let at = tokens.at_byte(amount.range.start);
    if at >= 2 && tokens.is_any(at - 1, &["at", "of"]) && is_noun(tokens, at - 2) {
        return slug(tokens.word(at - 2));
    }
    let behind = tokens.at_byte(amount.range.end);
    if tokens.is_one_of(behind, &lexicon::DIMENSIONS) {
        return slug(tokens.word(behind));
    }
    let measured = clause.verb.is_some_and(|verb| tokens.is_one_of(verb, &lexicon::CHANGES));
    let subject = clause.subject.clone().filter(|_| measured);
    if let Some(head) = subject.and_then(|subject| head(tokens, subject)) {
        return slug(tokens.word(head));
    }
    let verb = clause.verb.filter(|verb| !tokens.is_one_of(*verb, &lexicon::AUXILIARIES))?;
    slug(tokens.word(verb))
}

fn is_noun(tokens: &Tokens<'_>, at: usize) -> bool {
    let lower = !tokens.word(at).is_empty() && !tokens.is_capital(at);
    lower && !tokens.is_one_of(at, &lists::FUNCTION_WORDS) && !tokens.is_one_of(at, &lexicon::PREPOSITIONS)
}

/// The last word of the subject before what belongs to it, if the subject is no name.
fn head(tokens: &Tokens<'_>, subject: Range<usize>) -> Option<usize> {
    let end = subject
        .clone()
        .find(|at| tokens.is_one_of(*at, &lexicon::PREPOSITIONS) || tokens.mark(*at).is_some());
    let last = end.unwrap_or(subject.end).checked_sub(1).filter(|last| *last >= subject.start)?;
    let known = last == subject.start && is_common(tokens.word(last));
    (known || is_noun(tokens, last)).then_some(last)
}

/// Words that begin a sentence about money, which a capital makes look like a name.
fn is_common(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let known = [
        "assets",
        "costs",
        "debt",
        "dividends",
        "earnings",
        "expenses",
        "exports",
        "imports",
        "income",
        "inflation",
        "losses",
        "margins",
        "prices",
        "profit",
        "profits",
        "production",
        "revenue",
        "revenues",
        "sales",
        "spending",
        "turnover",
        "unemployment",
        "wages",
    ];
    known.contains(&word.as_str())
}

/// The name that a statement is about: of "X is the capital of Y" the X, of "the capital of Y is X" too, of "written by X" the X.
fn named(tokens: &Tokens<'_>, clause: &Clause, ranges: &[Range<usize>]) -> Option<Range<usize>> {
    let verb = clause.verb?;
    let last = ranges.last()?.clone();
    if let Some(by) =
        last.clone().find(|at| tokens.is(*at, "by") && *at > verb && name::begins_name(tokens, at + 1))
    {
        return Some(by + 1..name::end_of(tokens, by + 1, last.end));
    }
    if !tokens.is_one_of(verb, &lexicon::COPULAS) {
        return None;
    }
    let subject = clause.subject.clone()?;
    let is_name =
        |at: usize, end: usize| name::begins_name(tokens, at) && name::end_of(tokens, at, end) == end;
    let says_what = tokens.is_one_of(verb + 1, &lexicon::DETERMINERS) || name::begins_name(tokens, verb + 1);
    if says_what && is_name(subject.start, subject.end) {
        return Some(subject);
    }
    let behind = verb + 1;
    let ends = last.end - usize::from(tokens.mark(last.end - 1).is_some());
    (behind < ends && is_name(behind, ends) && tokens.is_one_of(subject.start, &lexicon::DETERMINERS))
        .then_some(behind..ends)
}

/// No key is longer: it stands in paths and in people's terminals.
const SLUG_CHARACTERS_MAX: usize = 40;

fn slug(text: &str) -> Option<String> {
    let mut slug = String::new();
    for character in text.chars().take(SLUG_CHARACTERS_MAX).flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    (!slug.is_empty()).then(|| slug.to_string())
}

/// Gives every statement a key of its own. A key depends on what stands before it and on nothing behind it, so more text at the
/// end changes none.
#[derive(Debug, Default)]
pub struct Keys {
    given: BTreeSet<String>,
    counts: BTreeMap<(Kind, Option<String>), usize>,
}

impl Keys {
    pub fn next(&mut self, kind: Kind, topic: Option<String>) -> String {
        loop {
            let count = self.counts.entry((kind, topic.clone())).or_default();
            *count += 1;
            let key = match (&topic, *count) {
                (None, count) => format!("{}/{count}", kind.name()),
                (Some(topic), 1) => format!("{}/{topic}", kind.name()),
                (Some(topic), count) => format!("{}/{topic}-{count}", kind.name()),
            };
            // A topic may look like another with its number.
            if self.given.insert(key.clone()) {
                return key;
            }
        }
    }
}
