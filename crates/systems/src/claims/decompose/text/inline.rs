//! A list within a sentence: each item is said of what introduces the list.
//!
//! | the lead | an item | becomes |
//! |---|---|---|
//! | `The winners are` | `Anna` | The winners are Anna |
//! | `Members:` | `Anna` | Members: Anna |
//! | `In 2023 Acme:` | `hired 20 people` | In 2023 Acme hired 20 people |
//! | `The firm grew:` | `sales rose` | The firm grew, and: Sales rose |

use std::ops::Range;

use super::{Piece, Subject, Writer, clause, lexicon};
use crate::text::sentence::{LEAD_TOKENS_MAX, Sentence};

impl Writer<'_> {
    /// With a colon it may be a statement of its own; without one it is nothing but the beginning of every item.
    pub(super) fn inline_lead(&mut self, sentence: &Sentence, range: Range<usize>) {
        self.lead = None;
        // "The winners were:" says nothing yet.
        let before_last = range.start..range.end.saturating_sub(1);
        let has_verb = before_last.into_iter().any(|at| lexicon::is_finite(self.reading.tokens, at));
        let clauses = clause::split(&self.reading, range.clone());
        match self.ends_in_colon(&sentence.tokens) {
            true if has_verb && !self.claims_nothing(sentence, range.clone()) => {
                clauses.into_iter().for_each(|clause| self.written(clause));
            }
            true => self.subject = Some(Subject::introduced(&self.reading, range)),
            false => {
                let before = clauses.len().saturating_sub(1);
                clauses.into_iter().take(before).for_each(|clause| self.written(clause));
            }
        }
    }

    pub(super) fn inline_item(&mut self, sentence: &Sentence, range: Range<usize>, lead: Range<usize>) {
        let tokens = self.reading.tokens;
        if range.clone().all(|at| tokens.mark(at).is_some()) || self.asks(sentence) {
            return;
        }
        let spoken = self.without_connective(self.trimmed(lead.clone()));
        if !self.ends_in_colon(&lead) {
            // What is reported, or holds under a condition, is said of the whole item.
            let mut clause = clause::split(&self.reading, spoken).pop().unwrap_or_default();
            clause.pieces.push(Piece::Tokens(range));
            return self.written(clause);
        }
        let short = lead.len() <= LEAD_TOKENS_MAX;
        for (number, mut clause) in clause::split(&self.reading, range).into_iter().enumerate() {
            let stands_alone = clause.verb.is_some() && clause.subject.is_some();
            if number == 0 && short && !stands_alone {
                let goes_on =
                    clause.verb.is_some() && !spoken.clone().any(|at| lexicon::is_finite(tokens, at));
                let said = if goes_on { spoken.clone() } else { spoken.start..lead.end };
                clause.pieces.insert(0, Piece::Tokens(said));
            }
            self.written(clause);
        }
    }

    fn ends_in_colon(&self, range: &Range<usize>) -> bool {
        self.reading.tokens.mark(range.end - 1) == Some(':')
    }
}
