//! A verb and its auxiliaries ("was founded", "has been sold", "will not cut"), and which of them a verb behind an "and" shares. Where
//! a reader could take it either way nothing is shared and nothing is split.

use std::ops::Range;

use super::super::super::lexicon::{self, is_adverb, is_be, is_denial, is_modal, is_participle};
use super::{SENTENCE_TOKENS_MAX, Splitter};

/// An auxiliary and its main verb stand no further apart.
const TOKENS_MAX: usize = 6;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    verb: usize,
    /// The main verb, if what stands first is an auxiliary.
    main: Option<usize>,
    /// Behind the last of them.
    pub end: usize,
    /// A base form follows: "will", "did", "to".
    takes_base: bool,
    /// "will not cut"
    pub is_denied: bool,
    /// "never cut"
    pub never: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// "was founded", "has been founded", "must be stored".
    Passive,
    /// "has founded"
    Perfect,
    /// "will found"
    Modal,
    /// "would have founded"
    ModalPerfect,
    Other,
}

/// What of a group belongs to the next verb too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Over {
    Nothing,
    Shared(Range<usize>),
    Unclear,
}

impl Group {
    /// The verb group of a clause that ends before this joint.
    pub fn of(splitter: &Splitter<'_>, verb: usize, joint: usize) -> Group {
        let tokens = splitter.tokens;
        let limit = joint.min(verb + TOKENS_MAX).max(verb + 1);
        let passed = |at: &usize| is_adverb(tokens, *at) || is_be(tokens, *at) || is_denial(tokens, *at);
        let main = (verb + 1..limit).find(|at| !passed(at));
        let participle = main.is_some_and(|main| is_participle(tokens, main));
        let has_be = (verb..main.unwrap_or(limit)).any(|at| is_be(tokens, at));
        let has = tokens.is_any(verb, &["had", "has", "have"]);
        let modal = is_modal(tokens, verb);
        let kind = if participle && has_be {
            Kind::Passive
        } else if participle && has {
            Kind::Perfect
        } else if modal && main.is_some_and(|main| tokens.is(main, "have")) {
            Kind::ModalPerfect
        } else if modal {
            Kind::Modal
        } else {
            Kind::Other
        };
        let end = main.filter(|_| kind != Kind::Other).map_or(verb + 1, |main| main + 1);
        let near = end.max(joint.saturating_sub(SENTENCE_TOKENS_MAX))..joint;
        let infinitive = near.into_iter().any(|at| {
            let is_verb = tokens.word(at + 1).starts_with(char::is_lowercase)
                && !tokens.is_one_of(at + 1, &lexicon::DETERMINERS)
                && !tokens.is_one_of(at + 1, &lexicon::PREPOSITIONS);
            tokens.is(at, "to") && is_verb
        });
        let takes_base = modal || lexicon::is_do(tokens, verb) || infinitive;
        let mut before = verb;
        while before > splitter.begin && (is_adverb(tokens, before - 1) || is_denial(tokens, before - 1)) {
            before -= 1;
        }
        let is_denied = (verb..end.max(limit.min(verb + 3))).any(|at| is_denial(tokens, at));
        let never = (before..verb).any(|at| is_denial(tokens, at));
        Group { verb, main, end, takes_base, is_denied, never, kind }
    }

    pub fn over(&self, splitter: &Splitter<'_>, next: usize) -> Over {
        let tokens = splitter.tokens;
        let participle = is_participle(tokens, next) && !tokens.is_one_of(next, &lexicon::AUXILIARIES);
        let bare = next + 1 >= splitter.end || is_bare(splitter, next);
        let wants_base = is_modal(tokens, self.verb) && tokens.is_one_of(next, &lexicon::BASE);
        match self.kind {
            Kind::Passive if participle && (bare || !wants_base) => self.passive(splitter, next, bare),
            Kind::Passive | Kind::Modal if wants_base => Over::Shared(self.verb..self.verb + 1),
            Kind::Perfect if participle => Over::Shared(self.verb..self.main.unwrap_or(self.verb + 1)),
            Kind::ModalPerfect if participle || wants_base => Over::Unclear,
            // "wants to close plants and cut jobs": a past, or what it wants too?
            _ if self.takes_base && tokens.is_one_of(next, &lexicon::SAME_IN_ALL_TENSES) => Over::Unclear,
            Kind::Passive | Kind::Perfect | Kind::Modal | Kind::ModalPerfect | Kind::Other => Over::Nothing,
        }
    }

    /// "was born in Salzburg and died in Vienna": only one of the two was done to the subject.
    fn passive(&self, splitter: &Splitter<'_>, next: usize, bare: bool) -> Over {
        let tokens = splitter.tokens;
        let by_somebody = tokens.is(next + 1, "by");
        let perfect = tokens.is_any(self.verb, &["had", "has", "have"]);
        let active = tokens.is_one_of(next, &lexicon::ACTIVE);
        let unclear = tokens.is_one_of(next, &lexicon::EITHER_WAY) && !by_somebody;
        let wanted = self.takes_base && !lexicon::is_modal(tokens, self.verb);
        if !bare || active {
            // "has been nominated twice and won three": what it has, it has not been.
            return if perfect { Over::Shared(self.verb..self.verb + 1) } else { Over::Nothing };
        }
        if unclear || wanted {
            return Over::Unclear;
        }
        Over::Shared(self.verb..self.main.unwrap_or(self.verb + 1))
    }
}

/// Nothing that it could have done it to follows: "sold in 2005", but not "paid $5 million".
fn is_bare(splitter: &Splitter<'_>, next: usize) -> bool {
    let tokens = splitter.tokens;
    let objects = ['$', '€', '£', '¥', '"', '“', '„'];
    tokens.mark(next + 1).is_some_and(|mark| !objects.contains(&mark))
        || tokens.is_one_of(next + 1, &lexicon::PREPOSITIONS)
        || tokens.is(next + 1, "and")
        || is_adverb(tokens, next + 1)
}
