//! Lists within a line: `1) … 2) …`, `(a) … (b) …`, `1. … 2. …`. A mark is one only in a sequence that begins at the beginning and
//! leaves nothing out; a number in brackets that stands alone is a number in brackets.

use std::ops::Range;

use super::{Enclosed, ends_sentence};
use crate::text::lists;
use crate::text::token::Tokens;

/// What introduces a list is said of every item. More than so many words are a sentence of their own, and no list is made of it.
pub const LEAD_TOKENS_MAX: usize = 24;

/// Before an item of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub tokens: Range<usize>,
    /// It begins a list.
    pub is_first: bool,
}

/// How marks are written. Those of a list are written alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// `(1)`
    Enclosed,
    /// `1)`
    Closed,
    /// `1.`
    Dotted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Count {
    Numbers,
    Letters,
    Capitals,
    Roman,
}

/// Nobody numbers more of them within a line like this.
const ROMAN: [&str; 10] = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"];

impl Count {
    fn begun_by(text: &str) -> Option<Count> {
        match text {
            "1" => Some(Count::Numbers),
            "a" => Some(Count::Letters),
            "A" => Some(Count::Capitals),
            "i" => Some(Count::Roman),
            _ => None,
        }
    }

    fn spells(self, place: usize, text: &str) -> bool {
        let letter = |first: u8| text.bytes().eq((first..=first + 25).nth(place));
        match self {
            Count::Numbers => text.len() <= 2 && text.parse() == Ok(place + 1),
            Count::Letters => letter(b'a'),
            Count::Capitals => letter(b'A'),
            Count::Roman => ROMAN.get(place) == Some(&text),
        }
    }
}

/// A list that may be one.
struct Sequence {
    form: Form,
    count: Count,
    marks: Vec<Range<usize>>,
}

/// The marks of all lists within a block, in its order.
pub(super) fn marks(tokens: &Tokens<'_>, enclosed: &Enclosed, block: Range<usize>) -> Vec<Mark> {
    let mut found = Vec::new();
    let mut open: Option<Sequence> = None;
    // Where the sentence begins that could introduce a list.
    let mut began = block.start;
    let mut at = block.start;
    while at < block.end {
        let Some((form, text, end)) = mark_at(tokens, enclosed, at, &block) else {
            began = if ends_sentence(tokens, at, block.end) { at + 1 } else { began };
            at += 1;
            continue;
        };
        let goes_on = open.as_ref().is_some_and(|list| {
            let last = list.marks.last().map_or(block.start, |mark| mark.end);
            list.form == form
                && list.count.spells(list.marks.len(), text)
                && is_said(tokens, last..at)
                && is_apart(tokens, form, at, end, block.end)
        });
        let count = Count::begun_by(text).filter(|_| may_begin(tokens, form, began..at, block.end));
        match (&mut open, count) {
            (Some(list), _) if goes_on => list.marks.push(at..end),
            (_, Some(count)) => {
                let first = at..end;
                keep(open.replace(Sequence { form, count, marks: vec![first] }), &mut found);
            }
            _ => {}
        }
        (began, at) = (end, end);
    }
    keep(open, &mut found);
    found
}

fn keep(list: Option<Sequence>, found: &mut Vec<Mark>) {
    let marks = list.map(|list| list.marks).filter(|marks| marks.len() > 1).unwrap_or_default();
    found.extend(marks.into_iter().enumerate().map(|(at, tokens)| Mark { tokens, is_first: at == 0 }));
}

/// What looks like a mark with something behind it: its form, what is in it, and where it ends.
fn mark_at<'a>(
    tokens: &Tokens<'a>,
    enclosed: &Enclosed,
    at: usize,
    block: &Range<usize>,
) -> Option<(Form, &'a str, usize)> {
    if at > block.start && tokens.is_glued(at) {
        return None;
    }
    let opened = usize::from(tokens.mark(at) == Some('('));
    let (inside, last) = (at + opened, at + opened + 1);
    let is_word = tokens.number(inside).is_some() || !tokens.word(inside).is_empty();
    let form = match (opened, tokens.mark(last)?) {
        (1, ')') if tokens.is_glued(inside) => Form::Enclosed,
        (0, ')') => Form::Closed,
        (0, '.') if tokens.number(inside).is_some() => Form::Dotted,
        _ => return None,
    };
    let end = last + 1;
    let is_free = end < block.end && !tokens.is_glued(end);
    // "3. März" is a date.
    let is_date = form == Form::Dotted && lists::month(tokens.word(end)).is_some();
    // Within brackets or quotation marks nothing is split; the brackets of the mark are its own.
    let is_inside = match form {
        Form::Enclosed => (at > block.start && enclosed.holds(at - 1)) || enclosed.holds(end),
        Form::Closed | Form::Dotted => enclosed.holds(inside),
    };
    let begins = !matches!(tokens.mark(end), Some(',' | '.' | ';' | ':' | ')' | '?' | '!'));
    let is_mark = is_word && tokens.is_glued(last) && is_free && begins && !is_date && !is_inside;
    is_mark.then(|| (form, tokens.str(inside), end))
}

/// Whether a list may begin behind these tokens of its sentence.
fn may_begin(tokens: &Tokens<'_>, form: Form, lead: Range<usize>, block_end: usize) -> bool {
    let Some(last) = lead.end.checked_sub(1) else { return true };
    let begins = lead.is_empty() || ends_sentence(tokens, last, block_end);
    match form {
        // "Acme is No. 1." ends a sentence.
        Form::Dotted => begins || tokens.mark(last) == Some(':'),
        Form::Enclosed | Form::Closed => {
            begins || lead.len() <= LEAD_TOKENS_MAX || tokens.mark(last) == Some(':')
        }
    }
}

/// Whether what stands before a mark ends there: "see item 2) above" goes on.
fn is_apart(tokens: &Tokens<'_>, form: Form, at: usize, end: usize, block_end: usize) -> bool {
    let before = at - 1;
    matches!(tokens.mark(before), Some(',' | ';'))
        || tokens.is_any(before, &["and", "or"])
        || ends_sentence(tokens, before, block_end)
        || (form != Form::Dotted && tokens.is_capital(end))
}

/// Whether there is anything between two marks: "(a) and (b)" refers to something else.
fn is_said(tokens: &Tokens<'_>, item: Range<usize>) -> bool {
    item.into_iter().any(|at| tokens.mark(at).is_none() && !tokens.is_any(at, &["and", "or"]))
}

/// Without the "and" before the next item.
pub(super) fn without_and(tokens: &Tokens<'_>, item: Range<usize>) -> usize {
    let joins = |at: usize| tokens.is_any(at, &["and", "or"]) || matches!(tokens.mark(at), Some(',' | ';'));
    let kept = item.clone().rev().take_while(|at| joins(*at)).count();
    item.end - kept
}
