//! Where a clause ends because another one begins behind an "and", and what that one takes over: a subject, an auxiliary, a frame.

mod group;

use std::ops::Range;

use super::super::lexicon::{self, begins_object, begins_predicate, is_adverb, is_participle};
use super::{Piece, SENTENCE_TOKENS_MAX, SUBJECT_TOKENS_MAX, Splitter};
use crate::text::name;
use group::{Group, Over};

/// What must stand before a clause that begins behind an "and", and its verb. One with its own subject needs nothing, and its
/// verb is still to be found.
type Before = (Vec<Piece>, Option<usize>);

impl Splitter<'_> {
    /// "and", "but", a comma between predicates: a clause ends here if another one begins.
    pub(super) fn coordinated(&mut self, at: usize) -> Option<usize> {
        let tokens = self.tokens;
        let verb = self.current.verb?;
        let is_comma = tokens.mark(at) == Some(',');
        let after_comma = is_comma && tokens.is_any(at + 1, &["and", "but", "whereas", "while"]);
        if self.depends
            || after_comma
            || !(is_comma || tokens.is_any(at, &["and", "but", "whereas", "while"]))
        {
            return None;
        }
        let mut next = at + 1;
        while next < self.end && is_adverb(tokens, next) && !is_comma {
            next += 1;
        }
        if next >= self.end || self.holds_under_a_condition(at) {
            return None;
        }
        let (before, verb) = match is_comma {
            true => self.listed_predicate(next, verb).or_else(|| self.listed_clause(next)),
            false => self.next_clause(at + 1, next, verb),
        }?;
        let subject = self.current.subject.clone().filter(|_| verb.is_some());
        self.close(at);
        let mut pieces = self.frame_for(at + 1);
        pieces.extend(before);
        self.reopen(at + 1, pieces);
        (self.current.subject, self.current.verb) = (subject, verb);
        Some(if verb == Some(next) { next + 1 } else { next })
    }

    /// "… and cut 500 jobs unless it gets aid": both halves depend on what follows.
    fn holds_under_a_condition(&self, at: usize) -> bool {
        let mut rest = (at..self.near(at)).take_while(|at| self.tokens.mark(*at) != Some(';'));
        rest.any(|at| lexicon::begins_condition(self.tokens, at) && !self.reading.enclosed.holds(at))
    }

    /// `, hired 200 people`: in a list of predicates. `, based in Paris` is none.
    fn listed_predicate(&self, next: usize, verb: usize) -> Option<Before> {
        let tokens = self.tokens;
        let bound = tokens.is_one_of(next + 1, &lexicon::PREPOSITIONS) || tokens.mark(next + 1).is_some();
        let more = (next..self.near(next)).any(|at| tokens.is(at, "and"));
        let good = !bound && more && begins_predicate(tokens, next, self.end);
        good.then(|| self.carried(next - 1, next, verb)).flatten()
    }

    /// `, Berlin is the capital of Germany, and Rome …`: in a list of sentences, of which the last has an "and" before it.
    fn listed_clause(&self, next: usize) -> Option<Before> {
        let tokens = self.tokens;
        let begins = name::begins_name(tokens, next) || tokens.is_one_of(next, &lexicon::DETERMINERS);
        let has_own = |at: usize| self.verb_after(at).filter(|verb| *verb > at);
        let verb = has_own(next).filter(|_| begins)?;
        let mut rest = (verb..self.near(verb)).take_while(|at| tokens.mark(*at) != Some(';'));
        rest.any(|at| tokens.is(at, "and") && has_own(at + 1).is_some()).then(|| (Vec::new(), None))
    }

    /// None if there is no next clause.
    fn next_clause(&self, start: usize, next: usize, verb: usize) -> Option<Before> {
        let tokens = self.tokens;
        let modal = lexicon::is_modal(tokens, verb);
        let base = tokens.is_one_of(next, &lexicon::BASE);
        let listed =
            (modal || tokens.is_one_of(verb, &lexicon::BASE)) && base && begins_object(tokens, next + 1);
        if listed || begins_predicate(tokens, next, self.end) {
            return self.carried(start - 1, next, verb);
        }
        if let Some(of_its_own) = self.verb_after(start).filter(|verb| *verb > next) {
            let counted = self.reading.quantity_at(start).is_some();
            let indefinite =
                tokens.is_any(start, &["a", "an"]) && is_participle(tokens, of_its_own) && !counted;
            return (!indefinite).then(|| (Vec::new(), None));
        }
        self.another_amount(start, verb)
    }

    /// The subject, and the auxiliary if what follows needs it: "was founded in 1998 and sold in 2005". None where it can not be told.
    fn carried(&self, joint: usize, next: usize, verb: usize) -> Option<Before> {
        let tokens = self.tokens;
        // A predicate that began without a subject, as items of a list do, hands none on.
        let subject = self.current.subject.clone();
        let long = subject.as_ref().is_some_and(|subject| subject.len() > 2 * SUBJECT_TOKENS_MAX);
        let denies = |subject: &Range<usize>| tokens.is_one_of(subject.start, &lexicon::DENYING_SUBJECTS);
        if long || subject.as_ref().is_some_and(denies) || (subject.is_none() && verb != self.begin) {
            return None;
        }
        // "must file, pay and leave": the third shares what the second has taken over.
        let shares = |piece: &Piece| match piece {
            Piece::Tokens(range) if tokens.is_one_of(range.start, &lexicon::AUXILIARIES) => Some(range.start),
            Piece::Tokens(_) | Piece::Lowered(_) | Piece::Owned(_) | Piece::Literal(_) => None,
        };
        let group = Group::of(self, self.current.pieces.last().and_then(shares).unwrap_or(verb), joint);
        let shared = match group.over(self, next) {
            Over::Nothing => None,
            Over::Shared(shared) => Some(shared),
            Over::Unclear => return None,
        };
        // "will not cut jobs and close plants": the denial is of both. A "but" ends it.
        let contrasts = tokens.is(joint, "but");
        if !contrasts && (group.never || (group.is_denied && shared.is_some())) {
            return None;
        }
        // "not only … but also …"
        let near = self.begin.max(joint.saturating_sub(SENTENCE_TOKENS_MAX))..joint;
        if contrasts && near.into_iter().any(|at| tokens.is(at, "not") && tokens.is(at + 1, "only")) {
            return None;
        }
        let pieces = subject.into_iter().chain(shared).map(Piece::Tokens).collect();
        Some((pieces, Some(next)))
    }

    /// "reported revenue of $5 million and profit of $1 million": the same verb, another amount.
    fn another_amount(&self, start: usize, verb: usize) -> Option<Before> {
        let tokens = self.tokens;
        let noun =
            |at: &usize| !tokens.word(*at).is_empty() && !tokens.is_one_of(*at, &lexicon::PREPOSITIONS);
        let words = (start..self.end.min(start + 5)).take_while(noun).count();
        let preposition = start + words;
        let has_amount =
            |at: usize| tokens.is_any(at, &["at", "of"]) && self.reading.quantity_at(at + 1).is_some();
        let before = (start.saturating_sub(SENTENCE_TOKENS_MAX).max(verb + 1)..start).any(has_amount);
        let subject = self.current.subject.clone()?;
        // "is 5 km long and 3 km wide"
        let measured = |at: usize| self.reading.quantity_at(at).is_some();
        let dimension = lexicon::is_be(tokens, verb) && measured(verb + 1) && measured(start);
        let short = verb - subject.start <= 2 * SUBJECT_TOKENS_MAX;
        let group = Group::of(self, verb, start - 1);
        let denied = group.never || group.is_denied;
        let clear = !denied && !tokens.is_one_of(subject.start, &lexicon::DENYING_SUBJECTS);
        let said = vec![Piece::Tokens(subject.clone()), Piece::Tokens(verb..group.end)];
        let more = dimension || words > 0 && before && has_amount(preposition);
        (short && clear && more).then_some((said, Some(verb)))
    }

    /// The frame, for a clause that has no date of its own.
    fn frame_for(&self, from: usize) -> Vec<Piece> {
        let until =
            (from..self.near(from)).find(|at| self.tokens.mark(*at) == Some(';')).unwrap_or(self.near(from));
        match &self.frame {
            Some(frame)
                if !(self.reading.holds_date(frame.clone()) && self.reading.holds_date(from..until)) =>
            {
                let comma = self.tokens.mark(frame.end) == Some(',');
                let literal = comma.then_some(Piece::Literal(","));
                std::iter::once(Piece::Tokens(frame.clone())).chain(literal).collect()
            }
            _ => Vec::new(),
        }
    }
}
