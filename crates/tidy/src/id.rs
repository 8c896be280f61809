//! Requirement ids as they are written: `K-12`, the range `K-10…K-18` (or `K-10..K-18`), the group `K`.
//!
//! Only the spelling is judged here. Whether an id exists is the list's to say, see [`crate::requirements`].

use std::fmt;

/// The groups, by letter. A test name is searched for these letters only, so `a_1` or `x_64` never reads as an id.
pub const GROUPS: [char; 6] = ['K', 'C', 'J', 'R', 'T', 'M'];

/// One requirement: a group's letter and a number of two digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub group: char,
    pub number: u8,
}

impl Id {
    /// Reads `K-12`. Exactly two digits, so that `K-1` and `K-01` can not both be in use.
    pub fn parse(text: &str) -> Option<Id> {
        let (group, number) = text.split_once('-')?;
        Some(Id { group: parse_group(group)?, number: parse_number(number)? })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02}", self.group, self.number)
    }
}

/// What one word of a list names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    One(Id),
    /// Both ends included; the ids between them that the list does not have are not meant.
    Range(Id, Id),
    Group(char),
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::One(id) => write!(f, "{id}"),
            Named::Range(first, last) => write!(f, "{first}…{last}"),
            Named::Group(group) => write!(f, "{group}"),
        }
    }
}

/// Reads `K-12, J-06, K-20…K-23`; a word that is none of these comes back as the error, so that a slip of the pen in a
/// comment is reported and not taken for prose.
pub fn parse_list(text: &str) -> Result<Vec<Named>, String> {
    text.split([',', ' ', '\t']).filter(|word| !word.is_empty()).map(parse_named).collect()
}

fn parse_named(word: &str) -> Result<Named, String> {
    let not_an_id = || format!("`{word}` is not a requirement id");
    if let Some(id) = Id::parse(word) {
        return Ok(Named::One(id));
    }
    if let Some(group) = parse_group(word) {
        return Ok(Named::Group(group));
    }
    let (first, last) = word.split_once('…').or_else(|| word.split_once("..")).ok_or_else(not_an_id)?;
    let (first, last) = Id::parse(first).zip(Id::parse(last)).ok_or_else(not_an_id)?;
    if first.group != last.group || first >= last {
        return Err(format!("`{word}` is not a range: both ends in one group, the lower first"));
    }
    Ok(Named::Range(first, last))
}

/// The ids in a test's name: `k_12_j_06_an_expired_worker_cannot_commit` names K-12 and J-06.
pub fn in_test_name(name: &str) -> Vec<Id> {
    let words: Vec<&str> = name.split('_').collect();
    let pairs = words.windows(2).filter(|pair| pair[0].chars().all(|letter| letter.is_ascii_lowercase()));
    pairs
        .filter_map(|pair| {
            Some(Id { group: parse_group(&pair[0].to_ascii_uppercase())?, number: parse_number(pair[1])? })
        })
        .collect()
}

fn parse_group(text: &str) -> Option<char> {
    GROUPS.into_iter().find(|group| text.chars().eq([*group]))
}

fn parse_number(text: &str) -> Option<u8> {
    let two_digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if two_digits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match parse_list(text) {
            Ok(list) => list.iter().map(Named::to_string).collect::<Vec<_>>().join(" "),
            Err(complaint) => complaint,
        }
    }

    #[test]
    fn a_list_names_ids_ranges_and_groups() {
        for (text, expected) in [
            ("K-12", "K-12"),
            (" K-12, J-06 ", "K-12 J-06"),
            ("K-12,J-06 T-01", "K-12 J-06 T-01"),
            ("K-10…K-12, M-01", "K-10…K-12 M-01"),
            ("K-10..K-12", "K-10…K-12"),
            ("K, C", "K C"),
            ("", ""),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_word_that_is_no_id_is_named() {
        for (text, word) in [
            ("K-1", "K-1"),
            ("K-012", "K-012"),
            ("K12, J-06", "K12"),
            ("k-12", "k-12"),
            ("X-12", "X-12"),
            ("K-12 and more", "and"),
            ("K-10…", "K-10…"),
        ] {
            assert_eq!(read(text), format!("`{word}` is not a requirement id"), "{text:?}");
        }
    }

    #[test]
    fn a_range_goes_upward_within_one_group() {
        for text in ["K-12…K-10", "K-10…K-10", "K-10…C-12"] {
            assert!(read(text).contains("is not a range"), "{text:?}");
        }
    }

    #[test]
    fn a_test_name_holds_ids_as_letter_and_two_digits() {
        for (name, expected) in [
            ("k_12_the_fence_grows", vec!["K-12"]),
            ("k_12_j_06_an_expired_worker", vec!["K-12", "J-06"]),
            ("an_expired_worker_is_refused_k_12", vec!["K-12"]),
            ("a_batch_of_50_items", vec![]),
            ("x_64_is_no_group", vec![]),
            ("k_123_has_three_digits", vec![]),
            ("K_12_is_not_how_tests_are_spelt", vec![]),
            ("block_12_times", vec![]),
        ] {
            let found: Vec<String> = in_test_name(name).iter().map(Id::to_string).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
