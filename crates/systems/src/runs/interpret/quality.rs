//! Is there a text at all, and could somebody read it?

use std::collections::BTreeSet;

use serde::Serialize;

use crate::runs::extract::Extracted;

/// "Paid." is the shortest that says something of its own.
const LETTERS_MIN: usize = 4;
/// One in twenty characters that nobody can tell: names and numbers are not to be trusted any more.
const UNREADABLE_MAX: f64 = 0.05;
/// Fewer letters and digits than this among what is printed: rules, boxes, or a text that was decoded wrong.
const WORDS_MIN: f64 = 0.25;
/// If fewer of the pages have text, most of it is in pictures.
const COVERAGE_MIN: f64 = 0.5;

/// Shares are from 0 to 1, to the thousandth.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Quality {
    /// Without spaces.
    pub characters: usize,
    pub letters: usize,
    /// Characters that nobody can tell, of all.
    pub unreadable: f64,
    /// Letters and digits, of all.
    pub words: f64,
    /// Pages with text, of all; 1 where there are no pages.
    pub coverage: f64,
}

impl Quality {
    pub(super) fn of(extracted: &Extracted) -> Quality {
        let (mut characters, mut letters, mut unreadable) = (0, 0, 0);
        for letter in extracted.text.chars().filter(|letter| !letter.is_whitespace()) {
            characters += 1;
            letters += usize::from(letter.is_alphanumeric());
            unreadable += usize::from(is_unreadable(letter));
        }
        let written: BTreeSet<u32> = extracted.blocks.iter().filter_map(|block| block.page).collect();
        let coverage = extracted.pages.map_or(1.0, |pages| share(written.len(), pages as usize));
        Quality {
            characters,
            letters,
            unreadable: share(unreadable, characters),
            words: share(letters, characters),
            coverage,
        }
    }

    /// Why it is not good enough.
    pub(super) fn too_low(&self) -> Option<String> {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        let of = |found: f64, limit: f64| format!("{}, and {} is the limit", percent(found), percent(limit));
        if self.letters < LETTERS_MIN {
            return Some(format!(
                "it has {} letters and digits, and at least {LETTERS_MIN} are needed",
                self.letters
            ));
        }
        if self.unreadable > UNREADABLE_MAX {
            return Some(format!("characters that can not be told: {}", of(self.unreadable, UNREADABLE_MAX)));
        }
        if self.words < WORDS_MIN {
            return Some(format!("letters and digits among what is printed: {}", of(self.words, WORDS_MIN)));
        }
        (self.coverage < COVERAGE_MIN)
            .then(|| format!("pages that have text: {}", of(self.coverage, COVERAGE_MIN)))
    }
}

fn share(part: usize, of: usize) -> f64 {
    match of {
        0 => 0.0,
        _ => (part as f64 / of as f64 * 1000.0).round() / 1000.0,
    }
}

/// Where a decoder gave up, and what only the font of one document knows.
fn is_unreadable(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{fffd}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}
