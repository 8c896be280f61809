//! Plain text: paragraphs between empty lines, items of lists, and what can only be a heading.

use super::form::Form;
use crate::runs::step::StepFailed;

/// A heading fits a line of a letter.
const HEADING_CHARS_MAX: usize = 80;

pub(super) fn read(text: &str, form: &mut Form) -> Result<(), StepFailed> {
    let mut group: Vec<&str> = Vec::new();
    for line in text.lines().flat_map(|line| line.split('\u{c}')).map(str::trim_end) {
        match line.trim().is_empty() {
            true => paragraph(&std::mem::take(&mut group), form)?,
            false => group.push(line),
        }
    }
    paragraph(&group, form)
}

/// The lines between two empty ones.
fn paragraph(lines: &[&str], form: &mut Form) -> Result<(), StepFailed> {
    let Some((first, rest)) = lines.split_first() else { return Ok(()) };
    if let Some((under, rest)) = rest.split_first()
        && let Some(level) = underline(under)
        && first.chars().count() <= HEADING_CHARS_MAX
    {
        form.heading(level, first)?;
        return paragraph_of(rest, form);
    }
    if rest.is_empty()
        && let Some(level) = heading(first.trim())
    {
        return form.heading(level, first);
    }
    paragraph_of(lines, form)
}

/// Items of a list, and lines that belong together.
fn paragraph_of(lines: &[&str], form: &mut Form) -> Result<(), StepFailed> {
    let mut at = 0;
    while at < lines.len() {
        let item = bullet(lines[at]);
        // Further lines of an item are indented; a paragraph ends where a list begins.
        let more = lines[at + 1..].iter().take_while(|line| match item {
            Some(_) => line.starts_with([' ', '\t']) && bullet(line).is_none(),
            None => bullet(line).is_none(),
        });
        let end = at + 1 + more.count();
        match item {
            Some((level, said)) => {
                let rest = lines[at + 1..end].iter().map(|line| line.trim());
                let whole: Vec<&str> = std::iter::once(said).chain(rest).collect();
                form.item(level, &whole.join(" "))?;
            }
            None => {
                let whole: Vec<&str> = lines[at..end].iter().map(|line| line.trim()).collect();
                form.paragraph(&whole.join("\n"))?;
            }
        }
        at = end;
    }
    Ok(())
}

/// `=====` or `-----` under a line.
fn underline(line: &str) -> Option<u8> {
    let of = |mark: char| line.len() >= 3 && line.chars().all(|letter| letter == mark);
    match (of('='), of('-')) {
        (true, _) => Some(1),
        (_, true) => Some(2),
        (false, false) => None,
    }
}

/// A line by itself that is all capitals, or numbered as chapters are, and ends as no sentence does.
fn heading(line: &str) -> Option<u8> {
    let length = line.chars().count();
    if !(3..=HEADING_CHARS_MAX).contains(&length) || line.ends_with(['.', ',', ';', ':', '!', '?']) {
        return None;
    }
    let (number, words) = line.split_once(' ').unwrap_or_default();
    let number = number.trim_end_matches('.');
    let numbered = !number.is_empty()
        && number
            .split('.')
            .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit()))
        && words.trim_start().starts_with(char::is_uppercase);
    let letters = line.chars().filter(|letter| letter.is_alphabetic()).count();
    let capitals = letters >= 3
        && letters * 2 > length
        && !line.chars().any(char::is_lowercase)
        && line.chars().any(char::is_uppercase);
    match numbered {
        true => Some(u8::try_from(number.split('.').count()).unwrap_or(u8::MAX)),
        false => capitals.then_some(1),
    }
}

/// How deep an item of a list is, and what it says.
pub(super) fn bullet(line: &str) -> Option<(u8, &str)> {
    let said = line.trim_start();
    let level = 1 + (line.len() - said.len()) / 2;
    let after = match said.strip_prefix(['-', '*', '•', '–', '◦', '▪', '‣', '·']) {
        Some(after) => after,
        None => {
            let digits = said.bytes().take_while(u8::is_ascii_digit).count();
            match (1..=3).contains(&digits) {
                true => said[digits..].strip_prefix(['.', ')'])?,
                false => return None,
            }
        }
    };
    let said = after.strip_prefix([' ', '\t'])?.trim();
    (!said.is_empty()).then_some((u8::try_from(level).unwrap_or(u8::MAX), said))
}
