//! Whom a pronoun means: the subject of an earlier clause. Where it could mean somebody else, named since, the pronoun stays: a statement that
//! nobody can check is better than one about the wrong person.

use std::ops::Range;

use super::clause::{self, Clause, Piece, Reading};
use super::{Writer, lexicon};
use crate::text::name::{self, NameKind};
use crate::text::token::Tokens;

/// A longer subject is a description, and what a pronoun behind it means is anybody's guess.
const NAMED_TOKENS_MAX: usize = 8;

/// The subject of an earlier clause, and who else was named in it.
#[derive(Clone, Debug)]
pub struct Subject {
    range: Range<usize>,
    kind: Option<NameKind>,
    /// A name behind the verb that may be a person's: "Linux was written by Linus Torvalds".
    has_rival: bool,
    /// A name right behind the verb: "Linus Torvalds wrote Linux".
    has_object: bool,
}

/// What a pronoun can stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pronoun {
    /// "he", "she"
    Person,
    /// "it"
    Thing,
    /// "they"
    Several,
}

impl Pronoun {
    fn at(tokens: &Tokens<'_>, at: usize) -> Pronoun {
        match () {
            () if tokens.is_any(at, &["he", "her", "his", "she"]) => Pronoun::Person,
            () if tokens.is_any(at, &["it", "its"]) => Pronoun::Thing,
            () => Pronoun::Several,
        }
    }
}

impl Subject {
    fn of(reading: &Reading<'_>, clause: &Clause, range: Range<usize>) -> Subject {
        let mut subject = Subject::alone(reading, range);
        subject.look_for_others(reading, clause);
        subject
    }

    /// Of what introduces a list.
    pub fn introduced(reading: &Reading<'_>, lead: Range<usize>) -> Subject {
        Subject::alone(reading, clause::introduced(reading, lead))
    }

    fn alone(reading: &Reading<'_>, range: Range<usize>) -> Subject {
        Subject { kind: name_kind(reading.tokens, &range), range, has_rival: false, has_object: false }
    }

    fn look_for_others(&mut self, reading: &Reading<'_>, clause: &Clause) {
        let tokens = reading.tokens;
        let Some(verb) = clause.verb else { return };
        let is_described = tokens.is_one_of(verb, &lexicon::COPULAS);
        for piece in &clause.pieces {
            let Piece::Tokens(range) = piece else { continue };
            let mut at = range.start.max(verb + 1);
            while at < range.end {
                let enclosed = reading.enclosed.holds(at);
                // "met the ambassador" brings somebody in, "was an ambassador" does not.
                self.has_rival |= !is_described && !enclosed && tokens.is_one_of(at, &lexicon::PERSONS);
                if enclosed || !name::begins_name(tokens, at) {
                    at += 1;
                    continue;
                }
                let end = name::end_of(tokens, at, range.end);
                let determined = tokens.is_one_of(at - 1, &lexicon::DETERMINERS);
                let somewhere = tokens.is_any(at - 1, &["at", "in", "near"]);
                let kind = name::kind_of(tokens, at, end);
                let person = match kind {
                    NameKind::Person => true,
                    NameKind::Other => !determined && !somewhere,
                    NameKind::Organisation | NameKind::Place => false,
                };
                self.has_rival |= person;
                self.has_object |= at == verb + 1;
                at = end;
            }
        }
    }

    fn may_be(&self, pronoun: Pronoun) -> bool {
        match (pronoun, self.kind) {
            (Pronoun::Person, Some(NameKind::Person | NameKind::Other)) => !self.has_rival,
            (Pronoun::Person, Some(NameKind::Organisation | NameKind::Place) | None) => false,
            (Pronoun::Thing | Pronoun::Several, Some(NameKind::Person)) => false,
            (Pronoun::Thing, Some(NameKind::Other)) => !self.has_object,
            (Pronoun::Several, Some(NameKind::Other)) => !self.has_rival,
            (Pronoun::Thing | Pronoun::Several, Some(NameKind::Organisation | NameKind::Place) | None) => {
                true
            }
        }
    }
}

/// "The president", "its chief engineer": whom "he" and "she" can mean, and "it" can not.
fn is_somebody(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    let head = range
        .clone()
        .find(|at| tokens.is_one_of(*at, &lexicon::PREPOSITIONS) || tokens.mark(*at).is_some())
        .unwrap_or(range.end);
    head > range.start && tokens.is_one_of(head - 1, &lexicon::PERSONS)
}

/// The kind, if these words are one name and nothing else, or a person. `NASA` is nobody's.
fn name_kind(tokens: &Tokens<'_>, range: &Range<usize>) -> Option<NameKind> {
    let is_name =
        name::begins_name(tokens, range.start) && name::end_of(tokens, range.start, range.end) == range.end;
    let word = tokens.word(range.start);
    let is_acronym = range.len() == 1 && word.len() > 1 && word.chars().all(char::is_uppercase);
    match is_name {
        true if is_acronym => Some(NameKind::Organisation),
        true => Some(name::kind_of(tokens, range.start, range.end)),
        false => is_somebody(tokens, range).then_some(NameKind::Person),
    }
}

impl Writer<'_> {
    /// Puts the subject of an earlier clause where a pronoun stands for it.
    pub(super) fn name_subject(&mut self, clause: &mut Clause) {
        let tokens = self.reading.tokens;
        let Some(subject) = clause.subject.clone() else { return };
        let at = subject.start;
        let pronoun = subject.len() == 1 && tokens.is_one_of(at, &lexicon::PRONOUNS);
        let possessive = subject.len() > 1 && tokens.is_one_of(at, &lexicon::POSSESSIVES);
        if !(pronoun || possessive) {
            self.remember(clause, subject);
            return;
        }
        let Some(meant) = &mut self.subject else { return };
        let range = meant.range.clone();
        let is_meant = meant.may_be(Pronoun::at(tokens, at));
        meant.look_for_others(&self.reading, clause);
        if !is_meant || (pronoun && self.means_nothing(clause)) {
            return;
        }
        let named = if pronoun { Piece::Tokens(range.clone()) } else { Piece::Owned(range.clone()) };
        let pieces = std::mem::take(&mut clause.pieces);
        for piece in pieces {
            match piece {
                Piece::Tokens(range) if range.contains(&at) => {
                    let parts =
                        [Piece::Tokens(range.start..at), named.clone(), Piece::Tokens(at + 1..range.end)];
                    let filled = |piece: &Piece| !matches!(piece, Piece::Tokens(range) if range.is_empty());
                    clause.pieces.extend(parts.into_iter().filter(filled));
                }
                other => clause.pieces.push(other),
            }
        }
        if pronoun {
            clause.subject = Some(range);
        }
    }

    fn remember(&mut self, clause: &Clause, subject: Range<usize>) {
        // What the sentence is about is the subject of its main clause.
        if clause.is_aside {
            return;
        }
        let tokens = self.reading.tokens;
        let plain = !tokens
            .is_any(subject.start, &["i", "that", "there", "these", "this", "those", "we", "what", "you"]);
        let named =
            subject.len() <= NAMED_TOKENS_MAX && plain && !lexicon::is_participle(tokens, subject.start);
        self.subject = named.then(|| Subject::of(&self.reading, clause, subject));
    }

    /// "It is known that …", "It is hard to …", "It rained".
    fn means_nothing(&self, clause: &Clause) -> bool {
        let tokens = self.reading.tokens;
        let Some(verb) = clause.verb else { return true };
        let is_it = clause.subject.as_ref().is_some_and(|subject| tokens.is(subject.start, "it"));
        let that = (verb + 1..verb + 5).any(|at| tokens.is_any(at, &["that", "to", "whether"]));
        let weather = tokens.is_any(verb, &["rained", "snowed"]);
        is_it && (weather || (lexicon::is_be(tokens, verb) && that))
    }
}
