//! Names: words with capitals, and what they seem to name. A guess by cues (a title, a form of company, "University", a short
//! list of places), and `Other` where there is none.

use super::sentence::Sentence;
use super::token::Tokens;
use super::{Found, lists};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    pub text: String,
    pub kind: NameKind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameKind {
    Person,
    Organisation,
    Place,
    Other,
}

/// Longer rows of capitals are headlines.
const WORDS_MAX: usize = 10;

/// In the order of the text; none overlaps another.
pub fn find(tokens: &Tokens<'_>, sentences: &[Sentence]) -> Vec<Found<Name>> {
    let mut found = Vec::new();
    for sentence in sentences {
        let mut at = sentence.tokens.start;
        while at < sentence.tokens.end {
            match name_at(tokens, at, sentence) {
                Some((value, end)) => {
                    found.push(Found { range: tokens.bytes(at..end), value });
                    at = end;
                }
                None => at += 1,
            }
        }
    }
    found
}

fn name_at(tokens: &Tokens<'_>, at: usize, sentence: &Sentence) -> Option<(Name, usize)> {
    if !begins_name(tokens, at) {
        return None;
    }
    let end = end_of(tokens, at, sentence.tokens.end);
    let kind = kind_of(tokens, at, end);
    let alone_at_start = at == sentence.tokens.start && end == at + 1;
    if alone_at_start && kind == NameKind::Other && !is_surely_a_name(tokens.word(at)) {
        return None;
    }
    let text = tokens.span(at..end).split_whitespace().collect::<Vec<_>>().join(" ");
    Some((Name { text, kind }, end))
}

/// A capital that is no function word, no month, and not just "I".
pub fn begins_name(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.word(at);
    tokens.is_capital(at)
        && word != "I"
        && !tokens.is_one_of(at, &lists::FUNCTION_WORDS)
        && (lists::month(word).is_none() || tokens.is_capital(at + 1))
}

/// Where the name that begins here ends.
pub fn end_of(tokens: &Tokens<'_>, at: usize, limit: usize) -> usize {
    let limit = limit.min(at + 2 * WORDS_MAX);
    let mut end = at + 1;
    while end < limit {
        let joined = tokens.mark(end).is_some_and(|mark| match mark {
            '-' | '–' | '/' => tokens.is_glued(end) && tokens.is_glued(end + 1),
            '&' => true,
            '.' => tokens.is_glued(end) && is_short(tokens, end - 1),
            _ => false,
        });
        let next = if joined { end + 1 } else { particles(tokens, end, limit) };
        let numbered = joined && tokens.number(next).is_some() && tokens.is_glued(next);
        if next < limit && (tokens.is_capital(next) && !is_new_sentence(tokens, end, next) || numbered) {
            end = next + 1;
            continue;
        }
        // "Acme Inc.", "Washington D.C.": its last full stop is part of it, if the sentence goes on.
        let last_stop = joined && tokens.mark(end) == Some('.') && end + 1 < limit;
        return end + usize::from(last_stop);
    }
    end
}

fn is_new_sentence(tokens: &Tokens<'_>, end: usize, next: usize) -> bool {
    tokens.mark(end) == Some('.') && tokens.is_one_of(next, &lists::FUNCTION_WORDS)
}

fn is_short(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.word(at);
    word.chars().count() == 1
        || tokens.is_one_of(at, &lists::ABBREVIATIONS)
        || tokens.is_one_of(at, &lists::LAST_ABBREVIATIONS)
}

/// "University of Oxford", "Ludwig van Beethoven", "Bank of the West": where the next capital may stand.
fn particles(tokens: &Tokens<'_>, at: usize, limit: usize) -> usize {
    let is_particle = |at: &usize| {
        let lower = !tokens.is_capital(*at);
        lower && tokens.is_one_of(*at, &lists::NAME_PARTICLES)
    };
    at + (at..limit).take_while(is_particle).take(2).count()
}

/// `NASA`, `iPhone`, `McDonald`: more than a first capital.
fn is_surely_a_name(word: &str) -> bool {
    word.chars().skip(1).any(char::is_uppercase)
}

/// The kind, where more speaks for it than one word that may be somebody's surname: "Henry Hill" and "Paris Hilton" are no places.
pub fn sure_kind(tokens: &Tokens<'_>, at: usize, end: usize) -> NameKind {
    match kind_of(tokens, at, end) {
        NameKind::Place => {
            let one_word = end - at == 1 && tokens.is_one_of(at, &lists::PLACES);
            let led = tokens.is_any(at, &["cape", "gulf", "island", "kingdom", "lake", "republic", "river"]);
            let named = tokens.is_one_of(end - 1, &lists::SURELY_PLACES);
            if one_word || (end - at > 1 && (led || named)) { NameKind::Place } else { NameKind::Other }
        }
        kind @ (NameKind::Person | NameKind::Organisation | NameKind::Other) => kind,
    }
}

pub fn kind_of(tokens: &Tokens<'_>, at: usize, end: usize) -> NameKind {
    let any = |list: &lists::Words| (at..end).any(|it| tokens.is_one_of(it, list));
    let title_before = at > 0 && tokens.is_one_of(at - 1, &lists::TITLES);
    let title_before = title_before
        || (at > 1 && tokens.mark(at - 1) == Some('.') && tokens.is_one_of(at - 2, &lists::TITLES));
    let last = end - 1 - usize::from(tokens.mark(end - 1) == Some('.') && end - at > 1);
    let initials =
        (at..end).any(|it| tokens.mark(it) == Some('.') && it + 1 < end && tokens.word(it - 1).len() == 1);
    let is_company = end - at > 1 && tokens.is_one_of(last, &lists::COMPANY_FORMS);
    if is_company || any(&lists::ORGANISATION_WORDS) {
        NameKind::Organisation
    } else if title_before || tokens.is_one_of(at, &lists::TITLES) && end - at > 1 {
        NameKind::Person
    } else if any(&lists::PLACE_WORDS) || tokens.is_one_of(at, &lists::PLACES) && end - at <= 2 {
        NameKind::Place
    } else if initials && end - at > 2 {
        NameKind::Person
    } else {
        NameKind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::NameKind::{self, Organisation, Other, Person, Place};
    use super::{Tokens, sure_kind};

    #[track_caller]
    fn check(text: &str, expected: &[(&str, NameKind)]) {
        let found = names(text);
        let found: Vec<(&str, NameKind)> =
            found.iter().map(|it| (it.value.text.as_str(), it.value.kind)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn names_are_told_apart_by_their_cues() {
        check(
            "The University of Oxford hired Dr. Jane Doe in Paris.",
            &[("University of Oxford", Organisation), ("Dr. Jane Doe", Person), ("Paris", Place)],
        );
        check(
            "In 2020 Acme Inc. bought Siemens AG and a John F. Kennedy letter.",
            &[("Acme Inc.", Organisation), ("Siemens AG", Organisation), ("John F. Kennedy", Person)],
        );
        check(
            "NASA flew over Lake Victoria with Ludwig van Beethoven.",
            &[("NASA", Other), ("Lake Victoria", Place), ("Ludwig van Beethoven", Other)],
        );
    }

    #[test]
    fn a_surname_makes_nobody_a_place() {
        for (text, kind) in [
            ("Paris", Place),
            ("Paris Hilton", Other),
            ("Henry Hill", Other),
            ("Forest Whitaker", Other),
            ("Lake Victoria", Place),
            ("Pacific Ocean", Place),
            ("Siemens AG", Organisation),
            ("Dr. Jane Doe", Person),
            ("Linus Torvalds", Other),
        ] {
            let tokens = Tokens::of(text);
            assert_eq!(sure_kind(&tokens, 0, tokens.len()), kind, "{text}");
        }
    }

    #[test]
    fn first_words_and_months_are_no_names() {
        check("Sales rose in March. However, I know. The end came.", &[]);
        check("Coca-Cola is sweet, and so is COVID-19.", &[("Coca-Cola", Other), ("COVID-19", Other)]);
    }
}
