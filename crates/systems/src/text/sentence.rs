//! Where sentences end. Abbreviations, initials, numbers, quotations and brackets do not end one; blank lines, headings and
//! the items of a list do, also of one within a line.

mod enclosed;
mod inline;

use std::ops::Range;

use super::lists;
use super::token::Tokens;

pub use enclosed::Enclosed;
pub use inline::LEAD_TOKENS_MAX;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// Bytes, without the mark of a list's item or of a heading.
    pub range: Range<usize>,
    pub tokens: Range<usize>,
    pub kind: SentenceKind,
    /// What introduces the list within a line that this is an item of.
    pub lead: Option<Range<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SentenceKind {
    Prose,
    Heading,
    ListItem,
    /// What introduces a list within a line, whether a colon ends it or not.
    Lead,
}

/// Longer lines without a full stop are prose that nobody ended.
const HEADING_TOKENS_MAX: usize = 10;

/// In the order of the text; none overlaps another.
pub fn split(tokens: &Tokens<'_>) -> Vec<Sentence> {
    let enclosed = Enclosed::of(tokens);
    let mut sentences = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (kind, start) = beginning(tokens, at);
        let end = block_end(tokens, kind, start);
        let kind = if kind == SentenceKind::Prose && is_title(tokens, at..end) {
            SentenceKind::Heading
        } else {
            kind
        };
        let marks = inline::marks(tokens, &enclosed, at..end);
        let first = marks.first().map_or(end, |mark| mark.tokens.start.max(start));
        sentences_of(tokens, &enclosed, start..first, kind, &mut sentences);
        let mut lead = None;
        for (number, mark) in marks.iter().enumerate() {
            if mark.is_first {
                lead = introduced_by(tokens, &mut sentences, mark.tokens.start);
            }
            let to = marks.get(number + 1);
            let whole = mark.tokens.end..to.map_or(end, |next| next.tokens.start);
            let item = match to {
                Some(next) if !next.is_first => whole.start..inline::without_and(tokens, whole),
                Some(_) | None => whole,
            };
            let begun = sentences.len();
            sentences_of(tokens, &enclosed, item, kind, &mut sentences);
            if let Some(item) = sentences.get_mut(begun) {
                (item.kind, item.lead) = (SentenceKind::ListItem, lead.clone());
            }
        }
        at = end.max(at + 1);
    }
    sentences
}

/// Of lines that belong together, without the marks of lists.
fn sentences_of(
    tokens: &Tokens<'_>,
    enclosed: &Enclosed,
    Range { start, end }: Range<usize>,
    kind: SentenceKind,
    sentences: &mut Vec<Sentence>,
) {
    let mut from = start;
    for to in start..end {
        let is_over =
            to + 1 == end || (ends_sentence(tokens, to, end) && is_outside(tokens, enclosed, to, end));
        if is_over && from <= to {
            let last = with_closing_marks(tokens, to, end);
            if last >= from {
                let (range, tokens) = (tokens.bytes(from..last + 1), from..last + 1);
                sentences.push(Sentence { range, tokens, kind, lead: None });
            }
            from = last + 1;
        }
    }
}

/// What stands right before the first mark of a list and is no sentence by itself: "The winners are", "Members:".
fn introduced_by(tokens: &Tokens<'_>, sentences: &mut [Sentence], mark: usize) -> Option<Range<usize>> {
    let before = sentences.last_mut().filter(|before| before.tokens.end == mark)?;
    let is_ended =
        before.tokens.clone().rev().take(3).any(|at| matches!(tokens.mark(at), Some('.' | '!' | '?' | '…')));
    if is_ended {
        return None;
    }
    before.kind = SentenceKind::Lead;
    Some(before.tokens.clone())
}

/// Not in quotation marks or brackets, unless they close with this sentence: `"It works." He left.`
fn is_outside(tokens: &Tokens<'_>, enclosed: &Enclosed, at: usize, block_end: usize) -> bool {
    let last = with_closing_marks(tokens, at, block_end);
    !enclosed.holds(at) || (last > at && !enclosed.holds(last + 1))
}

/// What a line is, and where its words begin.
fn beginning(tokens: &Tokens<'_>, at: usize) -> (SentenceKind, usize) {
    if let Some(after) = after_list_mark(tokens, at) {
        return (SentenceKind::ListItem, after);
    }
    let hashes = (at..tokens.len()).take_while(|it| tokens.mark(*it) == Some('#')).take(6).count();
    if hashes > 0 && !tokens.is_glued(at + hashes) && begins_line(tokens, at) {
        return (SentenceKind::Heading, at + hashes);
    }
    (SentenceKind::Prose, at)
}

fn begins_line(tokens: &Tokens<'_>, at: usize) -> bool {
    at == 0 || tokens.get(at).is_some_and(|token| token.breaks > 0)
}

fn after_list_mark(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    if !begins_line(tokens, at) {
        return None;
    }
    let free = |at: usize| tokens.get(at).is_some_and(|token| !token.glued && token.breaks == 0);
    let counted = tokens.number(at).is_some_and(|number| number.len() <= 2) || tokens.word(at).len() == 1;
    match tokens.mark(at) {
        Some('-' | '*' | '•' | '–' | '+' | '◦' | '▪') => free(at + 1).then_some(at + 1),
        None if counted && tokens.is_glued(at + 1) => match tokens.mark(at + 1) {
            Some(')') => free(at + 2).then_some(at + 2),
            // "I. Newton" and "3. März" begin no list.
            Some('.') if tokens.number(at).is_some() && lists::month(tokens.word(at + 2)).is_none() => {
                free(at + 2).then_some(at + 2)
            }
            _ => None,
        },
        _ => None,
    }
}

/// A block ends at a blank line, at the end of a heading, and before an item of a list.
fn block_end(tokens: &Tokens<'_>, kind: SentenceKind, start: usize) -> usize {
    let ends = |at: &usize| {
        let breaks = tokens.all[*at].breaks;
        let one_line = kind == SentenceKind::Heading;
        breaks >= 2 || (breaks == 1 && (one_line || beginning(tokens, *at).0 != SentenceKind::Prose))
    };
    (start + 1..tokens.len()).find(ends).unwrap_or(tokens.len())
}

/// A short line without an end, with something behind it.
fn is_title(tokens: &Tokens<'_>, block: Range<usize>) -> bool {
    let short = block.len() <= HEADING_TOKENS_MAX && block.end < tokens.len();
    let followed = tokens.get(block.end).is_some_and(|token| token.breaks >= 2);
    let ended = block.clone().any(|at| matches!(tokens.mark(at), Some('.' | '!' | '?' | ':' | ';' | '。')));
    let one_line = block.clone().skip(1).all(|at| tokens.all[at].breaks == 0);
    short && followed && !ended && one_line
}

fn with_closing_marks(tokens: &Tokens<'_>, end: usize, block_end: usize) -> usize {
    let closes = |at: &usize| {
        tokens.is_glued(*at)
            && matches!(tokens.mark(*at), Some('"' | '”' | '“' | '»' | ')' | ']' | '’' | '\''))
    };
    end + (end + 1..block_end).take_while(closes).take(3).count()
}

fn ends_sentence(tokens: &Tokens<'_>, at: usize, block_end: usize) -> bool {
    let Some(mark) = tokens.mark(at) else { return false };
    if matches!(mark, '。' | '！' | '？') {
        return true;
    }
    let next = with_closing_marks(tokens, at, block_end) + 1;
    if !matches!(mark, '.' | '!' | '?' | '…') || next >= block_end || tokens.is_glued(next) {
        return false;
    }
    let goes_on = tokens.word(next).starts_with(char::is_lowercase)
        || matches!(tokens.mark(next), Some(',' | ';' | '–' | '—' | '-'))
        || (mark == '.' && tokens.is_glued(at) && is_abbreviated(tokens, at, next));
    !goes_on
}

/// Whether the word before this full stop is short for something, and the sentence goes on.
fn is_abbreviated(tokens: &Tokens<'_>, stop: usize, next: usize) -> bool {
    let Some(before) = stop.checked_sub(1) else { return false };
    let (word, next_is_number) = (tokens.word(before), tokens.number(next).is_some());
    let begins_sentence = tokens.is_one_of(next, &lists::FUNCTION_WORDS);
    if tokens.number(before).is_some() {
        return lists::month(tokens.word(next)).is_some() && tokens.str(before).len() <= 2;
    }
    if word.chars().count() == 1 {
        let is_acronym = before > 0 && tokens.mark(before - 1) == Some('.') && tokens.is_glued(before);
        // "e.g." and "J." never end a sentence; "U.S." and "vitamin C." may.
        let never = is_acronym && word.starts_with(char::is_lowercase) && !matches!(word, "m");
        // "Roe v. Wade"
        let versus = word == "v" && tokens.is_capital(next) && before > 0 && tokens.is_capital(before - 1);
        return never
            || versus
            || (!begins_sentence
                && (tokens.is_capital(next) || next_is_number)
                && (is_acronym || tokens.is_capital(before)));
    }
    tokens.is_one_of(before, &lists::ABBREVIATIONS)
        || (tokens.is_one_of(before, &lists::LAST_ABBREVIATIONS) && !begins_sentence)
        || (tokens.is_one_of(before, &lists::BEFORE_NUMBERS) && next_is_number)
}

#[cfg(test)]
mod tests {
    use super::super::sentences;
    use super::SentenceKind::{Heading, ListItem, Prose};

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text).into_iter().map(|it| &text[it.range]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn full_stops_that_end_nothing() {
        for one in [
            "Dr. J. K. Rowling met Mr. Smith at St. Paul's in the U.S. Senate.",
            "Acme Inc. Europe sold approx. 3.5 million units, e.g. Phones and No. 5.",
            "Yahoo! was founded in 1994.",
            "Am 3. März 2024 kam er.",
            "He said \"It works. It is fast.\" and left.",
            "The plan (see Fig. 3. It is old.) failed.",
            "Wait... what happened then was bad.",
            "It rose 3.5 percent vs. France.",
            "It began at 9 a.m. Eastern time.",
            "Smith et al. Nature published it.",
            "In Roe v. Wade it was decided.",
        ] {
            check(one, &[one]);
        }
    }

    #[test]
    fn full_stops_that_end_a_sentence() {
        check("It is 5. Then 6.", &["It is 5.", "Then 6."]);
        check("Acme Inc. The company grew.", &["Acme Inc.", "The company grew."]);
        check("He lives in the U.S. He likes it.", &["He lives in the U.S.", "He likes it."]);
        check("Eat vitamin C. It helps!", &["Eat vitamin C.", "It helps!"]);
        check("Really? Yes. \"It works.\" He left.", &["Really?", "Yes.", "\"It works.\"", "He left."]);
        check("The answer is no. Five came.", &["The answer is no.", "Five came."]);
        check("これは本です。あれも本です。", &["これは本です。", "あれも本です。"]);
    }

    #[test]
    fn lines_paragraphs_headings_and_lists() {
        let text = "# Results\nRevenue rose\nby 5%. Profit fell.\n\nOutlook\n\nWe hope:\n- to grow\n- to earn. More.\n1. One\n2) Two\n";
        let found: Vec<(&str, _)> =
            sentences(text).into_iter().map(|it| (&text[it.range], it.kind)).collect();
        let expected = [
            ("Results", Heading),
            ("Revenue rose\nby 5%.", Prose),
            ("Profit fell.", Prose),
            ("Outlook", Heading),
            ("We hope:", Prose),
            ("to grow", ListItem),
            ("to earn.", ListItem),
            ("More.", ListItem),
            ("One", ListItem),
            ("Two", ListItem),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_no_sentence() {
        for text in ["", " \n\n\t", "-", "#", "- \n- "] {
            assert!(sentences(text).len() <= 2, "{text:?}");
        }
    }
}
