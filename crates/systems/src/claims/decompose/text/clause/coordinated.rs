//! Where a clause ends because another one begins behind an "and", and what that one takes over: a subject, an auxiliary, a frame.

use super::super::lexicon::{
    self, begins_object, begins_predicate, is_adverb, is_be, is_modal, is_participle,
};
use super::{Piece, SENTENCE_TOKENS_MAX, SUBJECT_TOKENS_MAX, Splitter};
use crate::text::name;

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
        if next >= self.end {
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

    /// `, hired 200 people`: in a list of predicates. `, based in Paris` is none.
    fn listed_predicate(&self, next: usize, verb: usize) -> Option<Before> {
        let tokens = self.tokens;
        let bound = tokens.is_one_of(next + 1, &lexicon::PREPOSITIONS) || tokens.mark(next + 1).is_some();
        let more = (next..self.near(next)).any(|at| tokens.is(at, "and"));
        let good = !bound && more && begins_predicate(tokens, next, self.end);
        good.then(|| self.carried(next, verb)).flatten()
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
        let modal = is_modal(tokens, verb);
        let base = tokens.is_one_of(next, &lexicon::BASE);
        if (modal || tokens.is_one_of(verb, &lexicon::BASE)) && base && begins_object(tokens, next + 1) {
            return self.carried(next, verb);
        }
        if begins_predicate(tokens, next, self.end) {
            return self.carried(next, verb);
        }
        if let Some(of_its_own) = self.verb_after(start).filter(|verb| *verb > next) {
            let counted = self.reading.quantity_at(start).is_some();
            let indefinite =
                tokens.is_any(start, &["a", "an"]) && is_participle(tokens, of_its_own) && !counted;
            return (!indefinite).then(|| (Vec::new(), None));
        }
        self.another_amount(start, verb)
    }

    /// The subject, and the auxiliary if what follows needs it: "was founded in 1998 and sold in 2005".
    fn carried(&self, next: usize, verb: usize) -> Option<Before> {
        let tokens = self.tokens;
        // A predicate that began without a subject, as items of a list do, hands none on.
        let subject = self.current.subject.clone();
        let long = subject.as_ref().is_some_and(|subject| subject.len() > 2 * SUBJECT_TOKENS_MAX);
        if long || (subject.is_none() && verb != self.begin) {
            return None;
        }
        let mut pieces: Vec<Piece> = subject.map(Piece::Tokens).into_iter().collect();
        let main =
            (verb + 1..self.end.min(verb + 5)).find(|at| !is_adverb(tokens, *at) && !is_be(tokens, *at));
        let passive = is_be(tokens, verb) && main.is_some_and(|main| is_participle(tokens, main));
        let without_object = next + 1 >= self.end
            || tokens.mark(next + 1).is_some()
            || tokens.is_one_of(next + 1, &lexicon::PREPOSITIONS)
            || tokens.is(next + 1, "and")
            || is_adverb(tokens, next + 1);
        let perfect = tokens.is_any(verb, &["had", "has", "have"])
            && main.is_some_and(|main| is_participle(tokens, main));
        let modal = is_modal(tokens, verb);
        let needs = (passive && is_participle(tokens, next) && without_object)
            || (perfect && is_participle(tokens, next) && !tokens.is_one_of(next, &lexicon::AUXILIARIES))
            || (modal && tokens.is_one_of(next, &lexicon::BASE));
        if needs {
            let end = main.filter(|_| passive || perfect).unwrap_or(verb + 1);
            pieces.push(Piece::Tokens(verb..end));
        }
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
        let dimension = is_be(tokens, verb) && measured(verb + 1) && measured(start);
        let short = verb - subject.start <= 2 * SUBJECT_TOKENS_MAX;
        (short && (dimension || words > 0 && before && has_amount(preposition)))
            .then(|| (vec![Piece::Tokens(subject.start..verb + 1)], Some(verb)))
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
