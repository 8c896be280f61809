//! The decomposer that needs nobody: it reads the text itself, and the same text always gives the same parts.
//!
//! ```text
//! text ─▶ sentences ─▶ clauses (clause) ─▶ pronouns named ─▶ sort and key (kind) ─▶ statement
//! ```
//!
//! Questions and requests claim nothing and are passed over, so are headings.

mod clause;
mod inline;
mod kind;
mod lexicon;
mod pronoun;
mod statement;

use std::ops::Range;

use clause::{Clause, Piece, Reading};
use kind::Keys;
use pronoun::Subject;

use super::{Decomposer, Decomposing, NotDecomposed, Part, Statement};
use crate::text::sentence::{self, Enclosed, LEAD_TOKENS_MAX, Sentence, SentenceKind};
use crate::text::{Tokens, Unit, date, nfc, quantity};

/// Longer texts are documents: there are runs for them.
pub const TEXT_BYTES_MAX: usize = 64 << 10;

/// Nobody validates more, and a commit writes at most a thousand records.
pub const PARTS_MAX: usize = 500;

/// Takes a text apart without a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextDecomposer;

/// A page or two of text: some hundred microseconds.
const QUICK_BYTES_MAX: usize = 4 << 10;

impl Decomposer for TextDecomposer {
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a> {
        Box::pin(std::future::ready(parts(&statement.text)))
    }

    fn is_quick(&self, text_bytes: usize) -> bool {
        text_bytes <= QUICK_BYTES_MAX
    }
}

/// All statements of a text, in its order.
pub fn parts(text: &str) -> Result<Vec<Part>, NotDecomposed> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(NotDecomposed(format!("the text has {} bytes, more than {TEXT_BYTES_MAX}", text.len())));
    }
    let text = nfc(text);
    let tokens = Tokens::of(&text);
    let dates = date::find(&tokens);
    let quantities = quantity::find(&tokens, &dates);
    let enclosed = Enclosed::of(&tokens);
    let reading = Reading { tokens: &tokens, enclosed: &enclosed, dates: &dates, quantities: &quantities };
    let mut writer = Writer { reading, keys: Keys::default(), subject: None, lead: None, parts: Vec::new() };
    for sentence in sentence::split(&tokens) {
        writer.sentence(&sentence);
        if writer.parts.len() > PARTS_MAX {
            return Err(NotDecomposed(format!("the text has more than {PARTS_MAX} statements")));
        }
    }
    match writer.parts.is_empty() {
        true => Err(NotDecomposed("nothing in the text can be checked: it has no statement".to_string())),
        false => Ok(writer.parts),
    }
}

struct Writer<'a> {
    reading: Reading<'a>,
    keys: Keys,
    /// Whom a pronoun means.
    subject: Option<Subject>,
    /// What introduced a list: "In 2023 Acme:".
    lead: Option<Range<usize>>,
    parts: Vec<Part>,
}

impl Writer<'_> {
    fn sentence(&mut self, sentence: &Sentence) {
        let range = self.without_connective(self.trimmed(sentence.tokens.clone()));
        if sentence.kind == SentenceKind::Lead {
            return self.inline_lead(sentence, range);
        }
        if let Some(lead) = &sentence.lead {
            return self.inline_item(sentence, range, lead.clone());
        }
        let last = self.reading.tokens.mark(sentence.tokens.end - 1);
        if sentence.kind == SentenceKind::Prose && last == Some(':') {
            self.subject = Some(Subject::introduced(&self.reading, range.clone()));
            self.lead = Some(range).filter(|lead| lead.len() <= LEAD_TOKENS_MAX);
            return;
        }
        let lead = self.lead.clone().filter(|_| sentence.kind == SentenceKind::ListItem);
        if lead.is_none() {
            self.lead = None;
        }
        if self.claims_nothing(sentence, range.clone()) {
            return;
        }
        for mut clause in clause::split(&self.reading, range) {
            self.complete(&mut clause, lead.clone());
            self.written(clause);
        }
    }

    fn written(&mut self, mut clause: Clause) {
        self.name_subject(&mut clause);
        for clause in self.apart(clause) {
            self.write(&clause);
        }
    }

    /// Without the marks at its end.
    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let loose =
            |at: &usize| matches!(self.reading.tokens.mark(*at), Some('.' | '!' | '…' | ':' | ';' | ','));
        let mut end = range.end;
        while end > range.start && loose(&(end - 1)) && !self.ends_short(end - 1) {
            end -= 1;
        }
        range.start..end
    }

    /// The full stop of "Inc." and "U.S." belongs to them.
    fn ends_short(&self, at: usize) -> bool {
        let tokens = self.reading.tokens;
        let Some(before) = at.checked_sub(1) else { return false };
        let acronym =
            tokens.word(before).chars().count() == 1 && before > 0 && tokens.mark(before - 1) == Some('.');
        tokens.mark(at) == Some('.')
            && (acronym || tokens.is_any(before, &["co", "corp", "inc", "jr", "ltd", "sr"]))
    }

    /// "However, …", "In addition, …", "But …", "Note that …".
    fn without_connective(&self, range: Range<usize>) -> Range<usize> {
        let (tokens, start) = (self.reading.tokens, range.start);
        let comma = |at: usize| tokens.mark(at) == Some(',');
        let skip = if tokens.is_one_of(start, &lexicon::CONNECTIVES) && comma(start + 1) {
            2
        } else if tokens.is_any(start, &["and", "but", "so", "yet"]) && tokens.is_capital(start) {
            1
        } else if tokens.is(start, "note") && tokens.is(start + 1, "that") {
            2
        } else {
            let phrase = (start + 1..start + 4).find(|at| comma(at + 1));
            let known = phrase.filter(|at| tokens.is_one_of(*at, &lexicon::CONNECTIVE_PHRASES));
            let leads = tokens.is_one_of(start, &lexicon::PREPOSITIONS);
            known.filter(|_| leads).map_or(0, |at| at + 2 - start)
        };
        (start + skip).min(range.end)..range.end
    }

    fn claims_nothing(&self, sentence: &Sentence, range: Range<usize>) -> bool {
        let tokens = self.reading.tokens;
        let words = range.clone().filter(|at| !tokens.word(*at).is_empty()).count();
        let has_verb = range.clone().any(|at| lexicon::is_finite(tokens, at));
        let bytes = tokens.bytes(range.clone());
        let has_value = clause::within(self.reading.quantities, bytes.clone()).next().is_some()
            || clause::within(self.reading.dates, bytes).next().is_some();
        let asks = self.asks(sentence);
        let is_heading = sentence.kind == SentenceKind::Heading
            && !(has_verb && has_value)
            && (self.is_marked(sentence) || !self.states(range.clone()));
        let is_fragment = words < 2 && !has_value;
        range.is_empty() || words == 0 || asks || is_heading || is_fragment || self.requests(range, has_verb)
    }

    /// `# Results`
    fn is_marked(&self, sentence: &Sentence) -> bool {
        sentence.tokens.start.checked_sub(1).and_then(|before| self.reading.tokens.mark(before)) == Some('#')
    }

    /// "The Earth is flat", on a line of its own: not "Drugs approved by the FDA", nor "How prices rose".
    fn states(&self, range: Range<usize>) -> bool {
        let tokens = self.reading.tokens;
        let asks = ["how", "what", "when", "where", "which", "who", "why"];
        let done = |at: usize| lexicon::is_participle(tokens, at) && tokens.is(at + 1, "by");
        let mut verbs = range.clone().filter(|at| lexicon::is_finite(tokens, *at));
        !tokens.is_any(range.start, &asks) && verbs.any(|at| !done(at))
    }

    fn asks(&self, sentence: &Sentence) -> bool {
        let mut last = sentence.tokens.clone().rev().take(4);
        last.any(|at| matches!(self.reading.tokens.mark(at), Some('?' | '？')))
    }

    /// "Click here": a verb in its base form begins the sentence, and what follows is no verb of its own.
    fn requests(&self, range: Range<usize>, has_verb: bool) -> bool {
        let (tokens, start) = (self.reading.tokens, range.start);
        let next = start + 1;
        let object = tokens.is_one_of(next, &lexicon::DETERMINERS)
            || tokens.is_any(
                next,
                &[
                    "at", "for", "here", "if", "in", "me", "not", "on", "sure", "that", "to", "up", "us",
                    "your",
                ],
            )
            || tokens.number(next).is_some();
        let always = tokens.is_any(start, &["don't", "let's", "please"]);
        always || (tokens.is_one_of(start, &lexicon::IMPERATIVES) && (object || !has_verb))
    }

    /// An item of a list without a subject is said of what introduced the list.
    fn complete(&self, clause: &mut Clause, lead: Option<Range<usize>>) {
        let Some(lead) = lead else { return };
        let first = clause.pieces.iter().find_map(|piece| match piece {
            Piece::Tokens(range) => Some(range.start),
            Piece::Lowered(_) | Piece::Owned(_) | Piece::Literal(_) => None,
        });
        let tokens = self.reading.tokens;
        let begins_lower = first.is_some_and(|at| tokens.word(at).starts_with(char::is_lowercase));
        if clause.subject.is_none() && begins_lower {
            clause.pieces.insert(0, Piece::Tokens(lead));
        }
    }

    /// "rose 5% to $3.2 million" says two things.
    fn apart(&self, clause: Clause) -> Vec<Clause> {
        let reading = &self.reading;
        let Some(Piece::Tokens(last)) = clause.pieces.last().cloned() else { return vec![clause] };
        let bytes = reading.tokens.bytes(last.clone());
        let mut quantities = clause::within(reading.quantities, bytes);
        let (Some(change), Some(result)) = (quantities.next(), quantities.next()) else {
            return vec![clause];
        };
        let (from, to) =
            (reading.tokens.at_byte(change.range.start), reading.tokens.at_byte(change.range.end));
        let target = reading.tokens.at_byte(result.range.start);
        let changes =
            matches!(change.value.unit, Unit::Percent | Unit::Word("basis point" | "percentage point"));
        let from_to = from > 0 && reading.tokens.is(from - 1, "from");
        let is_change = changes && !from_to && reading.tokens.is(to, "to") && target == to + 1;
        if !is_change || clause.verb.is_none_or(|verb| verb >= from) {
            return vec![clause];
        }
        let by = usize::from(from > last.start && reading.tokens.is(from - 1, "by"));
        let end = reading.tokens.at_byte(result.range.end);
        let (mut changed, mut reached) = (clause.clone(), clause);
        changed.pieces.pop();
        reached.pieces.pop();
        let since = reading.tokens.is(end, "from") && reading.quantity_at(end + 1).is_some();
        changed.pieces.push(Piece::Tokens(last.start..to));
        if end < last.end && !since {
            changed.pieces.push(Piece::Tokens(end..last.end));
        }
        reached.pieces.extend([Piece::Tokens(last.start..from - by), Piece::Tokens(to..last.end)]);
        vec![changed, reached]
    }

    fn write(&mut self, clause: &Clause) {
        let statement = statement::write(&self.reading, clause);
        if statement.is_empty() {
            return;
        }
        let (kind, topic, named) = kind::of(&self.reading, clause);
        let key = self.keys.next(kind, topic);
        self.parts.push(Part { key, statement, expected_type: kind::expected(kind, named).to_string() });
    }
}
