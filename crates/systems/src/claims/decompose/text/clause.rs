//! A sentence as clauses that can each be checked by themselves. Where it is not safe to split, a sentence stays whole: a long
//! statement is better than a wrong one.
//!
//! ```text
//! In 2023 Acme, which makes rockets, hired 200 people and was sold.
//! └frame┘ └──┘ ▲ relative clause   ▲                  ▲ predicate without a subject
//!        subject                   verb
//! ```

mod coordinated;

use std::ops::Range;

use super::lexicon::{self, begins_predicate, is_adverb, is_finite, is_participle};
use crate::text::sentence::Enclosed;
use crate::text::token::Tokens;
use crate::text::{Date, Found, Quantity, name};

/// A part of a statement: words of the text, or what makes a sentence of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    Tokens(Range<usize>),
    /// Without the capital that began a sentence.
    Lowered(Range<usize>),
    /// With `'s`.
    Owned(Range<usize>),
    Literal(&'static str),
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clause {
    pub pieces: Vec<Piece>,
    pub subject: Option<Range<usize>>,
    pub verb: Option<usize>,
    /// A relative clause about something that the clause before it ends with.
    pub is_aside: bool,
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    pub tokens: &'a Tokens<'a>,
    pub enclosed: &'a Enclosed,
    pub dates: &'a [Found<Date>],
    pub quantities: &'a [Found<Quantity>],
}

/// A noun phrase before its verb is not longer; what is longer is something else.
const SUBJECT_TOKENS_MAX: usize = 12;

/// Nobody reads a longer sentence: no further ahead is looked in one, so that time grows with the text and not faster.
const SENTENCE_TOKENS_MAX: usize = 100;

impl<'a> Reading<'a> {
    pub fn holds_date(&self, tokens: Range<usize>) -> bool {
        within(self.dates, self.tokens.bytes(tokens)).next().is_some()
    }

    pub fn quantity_at(&self, at: usize) -> Option<&'a Found<Quantity>> {
        let start = self.tokens.get(at)?.range.start;
        within(self.quantities, start..usize::MAX).next().filter(|found| found.range.start == start)
    }
}

/// What was found in these bytes.
pub fn within<T>(found: &[Found<T>], bytes: Range<usize>) -> impl Iterator<Item = &Found<T>> {
    let first = found.partition_point(|it| it.range.start < bytes.start);
    found[first..].iter().take_while(move |it| it.range.end <= bytes.end)
}

/// The clauses of a sentence, in the order of the text. The subject is the one of the sentence before, for a pronoun.
pub fn split(reading: &Reading<'_>, sentence: Range<usize>) -> Vec<Clause> {
    let mut splitter = Splitter::begin(reading, sentence.clone());
    let mut at = splitter.open;
    while at < sentence.end {
        at = splitter.step(at);
    }
    splitter.close(sentence.end);
    splitter.clauses
}

/// Who is meant by a text that introduces a list: "In 2023 Acme:".
pub fn introduced(reading: &Reading<'_>, lead: Range<usize>) -> Range<usize> {
    Splitter::begin(reading, lead.clone()).begin..lead.end
}

struct Splitter<'a> {
    reading: &'a Reading<'a>,
    tokens: &'a Tokens<'a>,
    end: usize,
    clauses: Vec<Clause>,
    /// "In 2023": it holds for all clauses of the sentence.
    frame: Option<Range<usize>>,
    /// Relative clauses about what the current clause ends with: they follow it.
    aside: Vec<Clause>,
    current: Clause,
    /// From where words of the current clause are still to be taken.
    open: usize,
    /// Where the current clause begins, for its subject.
    begin: usize,
    /// The next verb belongs to a relative clause: "companies that sell cars".
    in_relative: bool,
    /// What follows depends on something: it is not split any more.
    depends: bool,
}

impl<'a> Splitter<'a> {
    fn begin(reading: &'a Reading<'a>, sentence: Range<usize>) -> Splitter<'a> {
        let (tokens, start, end) = (reading.tokens, sentence.start, sentence.end);
        let mut splitter = Splitter {
            reading,
            tokens,
            end,
            clauses: Vec::new(),
            frame: None,
            aside: Vec::new(),
            current: Clause::default(),
            open: start,
            begin: start,
            in_relative: false,
            depends: tokens.is_one_of(start, &lexicon::SUBORDINATORS),
        };
        splitter.take_opener();
        splitter.take_frame();
        splitter
    }

    /// "Founded in 1998, Acme employs 500 people": the first is said of the subject of the second.
    fn take_opener(&mut self) {
        let (tokens, start) = (self.tokens, self.open);
        if !tokens.is_one_of(start, &lexicon::OPENERS) {
            return;
        }
        let Some(comma) = self.comma_after(start) else { return };
        let Some(verb) = self.verb_after(comma + 1) else { return };
        let subject = comma + 1..verb;
        if subject.is_empty() || (start..comma).any(|at| is_finite(tokens, at)) {
            return;
        }
        let be = if tokens.is_one_of(start, &lexicon::LASTING) { "is" } else { "was" };
        self.clauses.push(Clause {
            pieces: vec![Piece::Tokens(subject.clone()), Piece::Literal(be), Piece::Lowered(start..comma)],
            subject: Some(subject),
            verb: Some(start),
            is_aside: false,
        });
        (self.open, self.begin) = (comma + 1, comma + 1);
    }

    fn take_frame(&mut self) {
        let (tokens, start) = (self.tokens, self.open);
        let is_preposition = tokens.is_capital(start) && tokens.is_one_of(start, &lexicon::PREPOSITIONS);
        if !is_preposition {
            return;
        }
        let comma = self.comma_after(start).filter(|comma| !(start..*comma).any(|at| is_finite(tokens, at)));
        let frame_end = match comma {
            Some(comma) if comma - start <= SUBJECT_TOKENS_MAX => comma,
            _ => {
                let behind = tokens.bytes(start + 1..self.end);
                let date = within(self.reading.dates, behind.clone()).next();
                let Some(date) = date.filter(|date| date.range.start == behind.start) else { return };
                tokens.at_byte(date.range.end)
            }
        };
        self.frame = Some(start..frame_end);
        self.begin = frame_end + usize::from(tokens.mark(frame_end) == Some(','));
    }

    /// How far ahead is looked from here.
    fn near(&self, from: usize) -> usize {
        self.end.min(from + SENTENCE_TOKENS_MAX)
    }

    fn comma_after(&self, start: usize) -> Option<usize> {
        let inside_date = |at: &usize| {
            let byte = self.tokens.all[*at].range.start;
            let date = self.reading.dates.partition_point(|date| date.range.end <= byte);
            self.reading.dates.get(date).is_some_and(|date| date.range.start <= byte)
        };
        let near = start..self.end.min(start + 2 * SUBJECT_TOKENS_MAX);
        let comma = |at: &usize| self.tokens.mark(*at) == Some(',') && !self.reading.enclosed.holds(*at);
        near.into_iter().find(|at| comma(at) && !inside_date(at))
    }

    /// The verb of a noun phrase that begins here and is not interrupted.
    fn verb_after(&self, start: usize) -> Option<usize> {
        let tokens = self.tokens;
        for at in start..self.end.min(start + SUBJECT_TOKENS_MAX) {
            if is_finite(tokens, at) {
                return Some(at);
            }
            let stops = matches!(tokens.mark(at), Some(',' | ';' | ':' | '–' | '—'))
                || tokens.is_any(at, &["and", "but", "or", "that", "which", "who"])
                || self.reading.enclosed.holds(at);
            if stops {
                return None;
            }
        }
        None
    }

    /// Looks at one token; says which is next.
    fn step(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        if self.reading.enclosed.holds(at) || self.in_found(at) {
            return at + 1;
        }
        if self.current.verb.is_none() && at >= self.begin && self.note_verb(at) {
            return at + 1;
        }
        if tokens.mark(at) == Some(';') {
            self.close(at);
            self.reopen(at + 1, Vec::new());
            return at + 1;
        }
        if tokens.mark(at) == Some(',')
            && let Some(next) = self.relative(at)
        {
            return next;
        }
        if tokens.is_any(at, &["which", "who", "whom", "whose"])
            || (tokens.is(at, "that") && self.current.verb.is_none())
        {
            self.in_relative = self.current.verb.is_none();
            self.depends |= self.current.verb.is_some();
        } else if self.current.verb.is_some() && tokens.is_one_of(at, &lexicon::SUBORDINATORS) {
            self.depends = true;
        }
        self.coordinated(at).unwrap_or(at + 1)
    }

    /// Between a number and its unit, or inside of a date, nothing is split.
    fn in_found(&self, at: usize) -> bool {
        let start = self.tokens.all[at].range.start;
        let found = self.reading.quantities.partition_point(|it| it.range.end <= start);
        self.reading.quantities.get(found).is_some_and(|it| it.range.start < start)
    }

    fn note_verb(&mut self, at: usize) -> bool {
        let modifies =
            at > self.begin && self.tokens.mark(at - 1) == Some(',') && is_participle(self.tokens, at);
        if !is_finite(self.tokens, at) || modifies {
            return false;
        }
        if self.in_relative {
            self.in_relative = false;
            return true;
        }
        self.depends |= self.tokens.is_one_of(at, &lexicon::REPORTING);
        self.current.verb = Some(at);
        let mut end = at;
        while end > self.begin && is_adverb(self.tokens, end - 1) {
            end -= 1;
        }
        if end > self.begin && self.current.subject.is_none() {
            self.current.subject = Some(self.begin..end);
        }
        true
    }

    /// Ends the current clause before this token.
    fn close(&mut self, at: usize) {
        let mut clause = std::mem::take(&mut self.current);
        let last = at - usize::from(at > self.open && self.tokens.mark(at - 1) == Some(','));
        if self.open < last {
            clause.pieces.push(Piece::Tokens(self.open..last));
        }
        if !clause.pieces.is_empty() {
            self.clauses.push(clause);
        }
        self.clauses.append(&mut self.aside);
    }

    fn reopen(&mut self, at: usize, before: Vec<Piece>) {
        self.current = Clause { pieces: before, ..Clause::default() };
        (self.open, self.begin, self.in_relative, self.depends) = (at, at, false, false);
    }

    /// `, which makes rockets,`: a sentence of its own about what stands before it.
    fn relative(&mut self, comma: usize) -> Option<usize> {
        let tokens = self.tokens;
        let pronoun = tokens.is_any(comma + 1, &["which", "who"]);
        let body = comma + 1 + usize::from(pronoun);
        let verb = body + usize::from(is_adverb(tokens, body));
        let reduced = !pronoun
            && is_participle(tokens, verb)
            && tokens.is_one_of(verb + 1, &lexicon::PREPOSITIONS)
            && !tokens.is_one_of(verb, &lexicon::ACTIVE);
        let whole = pronoun && (is_finite(tokens, verb) || begins_predicate(tokens, verb, self.end));
        if !(whole || (reduced && self.current.verb.is_none())) {
            return None;
        }
        let behind_subject = self.current.verb.is_none();
        let end = match self.comma_after(body) {
            Some(next) => next,
            None if behind_subject => return None,
            None => self.end,
        };
        let antecedent = match behind_subject {
            true => self.begin..comma,
            false => self.name_before(comma)?,
        };
        let resumes =
            !behind_subject || begins_predicate(tokens, end + 1, self.end) || is_adverb(tokens, end + 1);
        if antecedent.is_empty() || antecedent.len() > SUBJECT_TOKENS_MAX || !resumes {
            return None;
        }
        let be = if tokens.is_one_of(verb, &lexicon::LASTING) { "is" } else { "was" };
        let be = reduced.then_some(Piece::Literal(be));
        let pieces = [Some(Piece::Tokens(antecedent.clone())), be, Some(Piece::Tokens(body..end))];
        let relative = Clause {
            pieces: pieces.into_iter().flatten().collect(),
            subject: Some(antecedent.clone()),
            verb: Some(verb),
            is_aside: !behind_subject,
        };
        if behind_subject {
            self.current.pieces.push(Piece::Tokens(self.open..comma));
            self.current.subject = Some(antecedent);
            self.clauses.push(relative);
            (self.open, self.begin) = (end + 1, end + 1);
        } else {
            self.current.pieces.push(Piece::Tokens(self.open..comma));
            self.aside.push(relative);
            self.open = end + usize::from(end < self.end);
        }
        Some(end.max(comma + 1))
    }

    /// The name that ends right before this token.
    fn name_before(&self, end: usize) -> Option<Range<usize>> {
        let from = (self.current.verb? + 1).max(end.saturating_sub(SUBJECT_TOKENS_MAX));
        let start = (from..end)
            .find(|at| name::begins_name(self.tokens, *at) && name::end_of(self.tokens, *at, end) == end)?;
        Some(start..end)
    }
}
