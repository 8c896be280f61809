//! The words that readers of texts go by. They stand in `words.txt`, in lower case, a section a list.

use std::sync::LazyLock;

use super::token::hash;

pub type List = LazyLock<Words>;

/// A set of words in lower case, found by their hash. Half of its slots are empty, so that few are looked at.
#[derive(Debug)]
pub struct Words {
    slots: Vec<&'static str>,
}

impl Words {
    fn of(words: impl Iterator<Item = &'static str>) -> Words {
        let words: Vec<&str> = words.collect();
        let mut slots = vec![""; (2 * words.len()).next_power_of_two()];
        let mask = slots.len() - 1;
        for word in words {
            let mut at = hash(word) as usize & mask;
            while !slots[at].is_empty() {
                at = (at + 1) & mask;
            }
            slots[at] = word;
        }
        Words { slots }
    }

    /// `hash` is the word's own.
    pub fn holds(&self, word: &str, hash: u32) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while !self.slots[at].is_empty() {
            let same = match word.is_ascii() {
                true => self.slots[at].eq_ignore_ascii_case(word),
                false => self.slots[at] == word.to_lowercase(),
            };
            if same {
                return true;
            }
            at = (at + 1) & mask;
        }
        false
    }
}

pub static BEFORE_A_YEAR: List = LazyLock::new(|| section(WORDS, "before a year"));
pub static BEFORE_A_COUNT: List = LazyLock::new(|| section(WORDS, "before a count"));
pub static OF_A_YEAR: List = LazyLock::new(|| section(WORDS, "of a year"));
pub static PEOPLE: List = LazyLock::new(|| section(WORDS, "people"));
pub static ABBREVIATIONS: List = LazyLock::new(|| section(WORDS, "abbreviations"));
pub static LAST_ABBREVIATIONS: List = LazyLock::new(|| section(WORDS, "last abbreviations"));
pub static BEFORE_NUMBERS: List = LazyLock::new(|| section(WORDS, "before numbers"));
pub static COMPANY_FORMS: List = LazyLock::new(|| section(WORDS, "company forms"));
pub static TITLES: List = LazyLock::new(|| section(WORDS, "titles"));
pub static FUNCTION_WORDS: List = LazyLock::new(|| section(WORDS, "function words"));
pub static NUMBERED: List = LazyLock::new(|| section(WORDS, "numbered"));
pub static ORGANISATION_WORDS: List = LazyLock::new(|| section(WORDS, "organisation words"));
pub static PLACE_WORDS: List = LazyLock::new(|| section(WORDS, "place words"));
pub static SURELY_PLACES: List = LazyLock::new(|| section(WORDS, "surely places"));
pub static PLACES: List = LazyLock::new(|| section(WORDS, "places"));
pub static NAME_PARTICLES: List = LazyLock::new(|| section(WORDS, "name particles"));

const WORDS: &str = include_str!("words.txt");

/// The words of one section, which begins with `# its name:`.
pub fn section(source: &'static str, name: &str) -> Words {
    let headed = |line: &&str| {
        line.strip_prefix("# ").and_then(|line| line.split(':').next()).is_some_and(|it| it == name)
    };
    let mut lines = source.lines().skip_while(|line| !headed(line));
    assert!(lines.next().is_some(), "the list of words has no section {name:?}");
    Words::of(lines.take_while(|line| !line.starts_with('#')).flat_map(str::split_whitespace))
}

/// English, German, French, Spanish; whole and short.
pub fn month(word: &str) -> Option<u8> {
    Some(match word.to_lowercase().as_str() {
        "january" | "jan" | "januar" | "janvier" | "enero" => 1,
        "february" | "feb" | "februar" | "février" | "febrero" => 2,
        "march" | "mar" | "märz" | "mars" | "marzo" => 3,
        "april" | "apr" | "avril" | "abril" => 4,
        "may" | "mai" | "mayo" => 5,
        "june" | "jun" | "juni" | "juin" | "junio" => 6,
        "july" | "jul" | "juli" | "juillet" | "julio" => 7,
        "august" | "aug" | "août" | "agosto" => 8,
        "september" | "sep" | "sept" | "septembre" | "septiembre" => 9,
        "october" | "oct" | "oktober" | "okt" | "octobre" | "octubre" => 10,
        "november" | "nov" | "novembre" | "noviembre" => 11,
        "december" | "dec" | "dezember" | "dez" | "décembre" | "diciembre" => 12,
        _ => return None,
    })
}

/// The first is 0.
pub fn ordinal(word: &str) -> Option<u8> {
    let words = ["first", "second", "third", "fourth"];
    words.iter().zip(0..).find(|(it, _)| it.eq_ignore_ascii_case(word)).map(|(_, which)| which)
}

#[cfg(test)]
mod tests {
    use super::super::token::Tokens;
    use super::*;

    #[test]
    fn a_word_is_found_in_whatever_case_it_is_written() {
        let words = section("# a: Some.\none übung\n\n# b: Others.\ntwo\n", "a");
        for (text, found) in
            [("One", true), ("ONE", true), ("Übung", true), ("two", false), ("on", false), ("1", false)]
        {
            assert_eq!(Tokens::of(text).is_one_of(0, &words), found, "{text}");
        }
    }
}
