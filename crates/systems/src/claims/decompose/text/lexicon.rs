//! What a word can be: a verb, a preposition, a determiner. The lists stand in `words.txt`.

use std::sync::LazyLock;

use crate::text::lists::{List, section};
use crate::text::token::Tokens;

macro_rules! lists {
    ($($name:ident = $section:literal),* $(,)?) => {
        $(pub static $name: List = LazyLock::new(|| section(include_str!("words.txt"), $section));)*
    };
}

lists! {
    AUXILIARIES = "auxiliaries", PAST = "past", PARTICIPLES = "participles", PRESENT = "present", NOUNS_TOO = "nouns too", BASE = "base",
    REPORTING = "reporting", SUBORDINATORS = "subordinators", DETERMINERS = "determiners", PREPOSITIONS = "prepositions", ADVERBS = "adverbs",
    CONNECTIVES = "connectives", CONNECTIVE_PHRASES = "connective phrases", IMPERATIVES = "imperatives", OPENERS = "participle openers",
    LASTING = "lasting", COMPARATIVES = "comparatives", COMPARING = "comparing", SUPERLATIVES = "superlatives", COPULAS = "copulas",
    DIMENSIONS = "dimensions", PRONOUNS = "pronouns", PERSONS = "persons", POSSESSIVES = "possessives",
    REGULAR = "regular", ACTIVE = "active", EITHER_WAY = "either way", SAME_IN_ALL_TENSES = "same in all tenses",
    DENIALS = "denials", CONDITIONS = "conditions", DENYING_SUBJECTS = "denying subjects",
    CHANGES = "changes",
}

/// `ended`, but not `seed`, `bed`, `hundred`.
fn ends_in_ed(word: &str) -> bool {
    word.len() > 3
        && word.ends_with("ed")
        && !word.ends_with("eed")
        && !matches!(word, "hundred" | "kindred" | "sacred" | "united" | "indeed")
}

pub fn is_adverb(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.word(at);
    tokens.is_one_of(at, &ADVERBS) || (word.len() > 4 && word.ends_with("ly") && !tokens.is_capital(at))
}

/// Lower case, and a form that needs no other verb. What stands before it tells a past from an adjective: "the united states".
pub fn is_finite(tokens: &Tokens<'_>, at: usize) -> bool {
    if tokens.word(at).is_empty() || tokens.is_capital(at) {
        return false;
    }
    if tokens.is_one_of(at, &AUXILIARIES) {
        return true;
    }
    let Some(before) = at.checked_sub(1) else { return false };
    let relative = tokens.is_any(before, &["that", "which", "who"]);
    let tied = tokens.is_glued(at) && tokens.mark(before).is_some();
    if tied || (belongs_to_noun(tokens, before) && !relative) {
        return false;
    }
    let named = relative || tokens.is_capital(before) || tokens.is_one_of(before, &PRONOUNS);
    let plural = tokens.word(before).len() > 3 && tokens.word(before).ends_with('s');
    let counted = tokens.number(before).is_some();
    tokens.is_one_of(at, &PAST)
        || tokens.is_one_of(at, &PRESENT)
        || tokens.is_one_of(at, &REGULAR)
        || (tokens.is_one_of(at, &NOUNS_TOO) && (named || begins_amount(tokens, at + 1)))
        || (tokens.is_one_of(at, &BASE) && plural)
        || (ends_in_ed(tokens.word(at)) && !counted)
}

/// "costs $5", "covers 12 countries", "leads the league".
fn begins_amount(tokens: &Tokens<'_>, at: usize) -> bool {
    let currency = matches!(tokens.mark(at), Some('$' | '€' | '£' | '¥'));
    currency || tokens.number(at).is_some() || tokens.is_one_of(at, &DETERMINERS)
}

/// What stands behind "the", "of" or "Acme's" is no verb.
fn belongs_to_noun(tokens: &Tokens<'_>, before: usize) -> bool {
    let owner = tokens.word(before).ends_with("'s") || tokens.word(before).ends_with("’s");
    let determined = tokens.is_one_of(before, &DETERMINERS) || tokens.is_one_of(before, &PREPOSITIONS);
    owner || determined
}

/// A verb that begins what follows an "and": what stands behind it tells it from an adjective ("and related services").
pub fn begins_predicate(tokens: &Tokens<'_>, at: usize, end: usize) -> bool {
    let word = tokens.word(at);
    if tokens.is_capital(at) || word.is_empty() {
        return false;
    }
    let surely = [&AUXILIARIES, &PRESENT, &PAST, &REGULAR];
    if surely.iter().any(|list| tokens.is_one_of(at, list)) {
        return true;
    }
    // "and stores that sell cars": what is described is no verb, but "shows that …" is.
    if tokens.is_any(at + 1, &["that", "which", "who"]) && !tokens.is_one_of(at, &REPORTING) {
        return false;
    }
    let is_object = at + 1 >= end || begins_object(tokens, at + 1);
    let counts = tokens.number(at + 1).is_some() || tokens.is_one_of(at + 1, &DETERMINERS);
    let third_person = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    (is_object && (tokens.is_one_of(at, &NOUNS_TOO) || is_participle(tokens, at))) || (counts && third_person)
}

/// What can stand right behind a verb, and not behind an adjective.
pub fn begins_object(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.number(at).is_some()
        || tokens.is_capital(at)
        || tokens.mark(at).is_some()
        || tokens.is_one_of(at, &DETERMINERS)
        || tokens.is_one_of(at, &PREPOSITIONS)
        || is_adverb(tokens, at)
}

pub fn is_participle(tokens: &Tokens<'_>, at: usize) -> bool {
    ends_in_ed(tokens.word(at)) || tokens.is_one_of(at, &PARTICIPLES)
}

pub fn is_be(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is_any(at, &["are", "be", "been", "is", "was", "were"])
}

/// "not", "never", "won't".
pub fn is_denial(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is_one_of(at, &DENIALS) || is_shortened(tokens.word(at))
}

fn is_shortened(word: &str) -> bool {
    word.ends_with("n't") || word.ends_with("n’t")
}

/// "did", "don't", "won't": a base form follows, which is not carried over.
pub fn is_do(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.word(at);
    tokens.is_any(at, &["cannot", "did", "do", "does"])
        || (is_shortened(word)
            && !tokens.is_any(at, &["hasn't", "haven't", "isn't", "aren't", "wasn't", "weren't"]))
}

/// "if", "unless", "provided that".
pub fn begins_condition(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is_one_of(at, &CONDITIONS)
        || (tokens.is_any(at, &["provided", "providing"]) && tokens.is(at + 1, "that"))
        || (tokens.is(at, "long") && tokens.is(at + 1, "as"))
}

/// What follows stands in its base form.
pub fn is_modal(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.is_any(at, &["can", "could", "may", "might", "must", "shall", "should", "will", "would"])
}
