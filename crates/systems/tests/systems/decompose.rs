//! Taking texts apart without a network.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use proptest::prelude::*;
use tenure_systems::claims::decompose::text::{PARTS_MAX, TEXT_BYTES_MAX, TextDecomposer, parts};
use tenure_systems::claims::decompose::{Decomposer, Part, Statement};
use tenure_systems::text::{self, Tokens};

const CLAIMS: &str = include_str!("decompose/claims.txt");

/// The texts of the file: lines that begin with `>`.
fn claims() -> Vec<String> {
    let mut claims: Vec<String> = Vec::new();
    let mut inside = false;
    for line in CLAIMS.lines() {
        let Some(text) = line.strip_prefix('>') else {
            inside = false;
            continue;
        };
        let text = text.strip_prefix(' ').unwrap_or(text);
        match claims.last_mut().filter(|_| inside) {
            Some(claim) => *claim = format!("{claim}\n{text}"),
            None => claims.push(text.to_string()),
        }
        inside = true;
    }
    claims
}

fn shown(text: &str) -> String {
    let mut page = String::new();
    match parts(text) {
        Ok(parts) => {
            for Part { key, statement, expected_type } in parts {
                writeln!(page, "{key} | {expected_type} | {statement}").unwrap();
            }
        }
        Err(why) => writeln!(page, "not decomposed | {why}").unwrap(),
    }
    page
}

/// The file as it would be written now: what stands under a claim is replaced, all else stays.
fn written_anew() -> String {
    let mut page = String::new();
    let mut claims = claims().into_iter();
    let mut lines = CLAIMS.lines().peekable();
    while let Some(line) = lines.next() {
        let is_part = line.contains(" | ");
        if is_part {
            continue;
        }
        writeln!(page, "{line}").unwrap();
        if line.starts_with('>') && !lines.peek().is_some_and(|next| next.starts_with('>')) {
            page.push_str(&shown(&claims.next().unwrap()));
        }
    }
    page
}

// covers: C-08
#[test]
fn claims_of_many_domains_are_taken_into_the_parts_that_are_written_down() {
    assert!(claims().len() >= 60);
    let now = written_anew();
    if std::env::var_os("TENURE_UPDATE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/systems/decompose/claims.txt");
        std::fs::write(path, &now).unwrap();
        return;
    }
    for (kept, now) in CLAIMS.lines().zip(now.lines()) {
        assert_eq!(now, kept);
    }
    assert_eq!(CLAIMS.lines().count(), now.lines().count());
}

// covers: C-08
#[tokio::test]
async fn what_holds_no_statement_is_refused_with_words() {
    let decompose = async |text: &str| {
        let statement = Statement { domain: "any".to_string(), text: text.to_string() };
        TextDecomposer.decompose(&statement).await
    };
    for text in ["", " \n ", "Is it true?", "Please read this.", "...", "# Results"] {
        let refused = decompose(text).await.unwrap_err();
        assert!(refused.0.contains("no statement"), "{text:?}: {refused}");
    }
    let long = decompose(&"a".repeat(TEXT_BYTES_MAX + 1)).await.unwrap_err();
    assert!(long.0.contains(&TEXT_BYTES_MAX.to_string()), "{long}");
    let many = decompose(&"It rained. ".repeat(PARTS_MAX + 1)).await.unwrap_err();
    assert!(many.0.contains(&PARTS_MAX.to_string()), "{many}");
    assert_eq!(decompose(&"It rained. ".repeat(PARTS_MAX)).await.unwrap().len(), PARTS_MAX);
}

/// Words, numbers, marks and claims, thrown together: nearer to texts than any characters, and worse than any text.
fn texts() -> impl Strategy<Value = String> {
    let words = [
        "Acme",
        "Inc.",
        "It",
        "it",
        "its",
        "rose",
        "was founded",
        "and",
        "but",
        ",",
        ";",
        ".",
        "which",
        "who",
        "that",
        "5%",
        "to",
        "from",
        "$3.2",
        "million",
        "1.200,50 €",
        "in 2023",
        "March 3, 2024",
        "03/04/2024",
        "44 BC",
        "\"",
        "“",
        "”",
        "(",
        ")",
        "\n\n",
        "\n- ",
        "# ",
        "the",
        "largest",
        "than",
        "more",
        "by",
        "e\u{301}",
        "Ωß",
        "漢字。",
        "-",
        "–",
        "'s",
        "km",
        "a",
        "thousand",
        "\u{0}",
        "\u{202f}",
        "🎉",
        "Founded",
        "is",
        "5",
        "of",
        "Q2",
        "2023",
        "1990s",
        "?",
        "!",
        ":",
        "\u{301}",
    ];
    let word = prop_oneof![8 => proptest::sample::select(words.to_vec()).prop_map(str::to_string), 1 => ".{0,6}", 1 => proptest::sample::select(claims())];
    let glue = proptest::sample::select(vec![" ", " ", " ", ""]);
    proptest::collection::vec((word, glue), 0..40)
        .prop_map(|words| words.into_iter().map(|(word, glue)| word + glue).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    // covers: C-08
    #[test]
    fn any_text_is_taken_apart_the_same_way_every_time(text in texts()) {
        let first = parts(&text);
        prop_assert_eq!(&first, &parts(&text));
        for Part { key, statement, expected_type } in first.iter().flatten() {
            prop_assert!(!statement.trim().is_empty() && statement.trim() == statement);
            prop_assert!(text::nfc(statement) == statement.as_str());
            prop_assert!(!statement.chars().any(char::is_control));
            let kind = expected_type.split('/').next().unwrap();
            prop_assert!(key.starts_with(&format!("{kind}/")) && key.len() <= 255, "{}", key);
        }
        let keys: Vec<&String> = first.iter().flatten().map(|part| &part.key).collect();
        prop_assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }

    // covers: C-08
    #[test]
    fn more_text_at_the_end_changes_no_part_before_it(text in texts()) {
        // A last line without an end could become a heading.
        let text = format!("{text} It ended.");
        let longer = format!("{text}\n\nThe museum was opened in 1977.");
        let (before, after) = (parts(&text).unwrap_or_default(), parts(&longer).unwrap());
        prop_assert_eq!(&before[..], &after[..before.len()]);
    }

    #[test]
    fn what_is_found_stands_where_it_is_said_to(text in texts()) {
        for (sort, found) in ranges(&text) {
            prop_assert!(stands(&text, &found), "{sort}: {found:?}");
        }
    }
}

/// Where something of each sort was found.
fn ranges(text: &str) -> [(&'static str, Vec<Range<usize>>); 5] {
    [
        ("tokens", Tokens::of(text).all.into_iter().map(|it| it.range).collect()),
        ("sentences", text::sentences(text).into_iter().map(|it| it.range).collect()),
        ("dates", text::dates(text).into_iter().map(|it| it.range).collect()),
        ("quantities", text::quantities(text).into_iter().map(|it| it.range).collect()),
        ("names", text::names(text).into_iter().map(|it| it.range).collect()),
    ]
}

fn stands(text: &str, found: &[Range<usize>]) -> bool {
    let ordered = found.windows(2).all(|pair| pair[0].end <= pair[1].start);
    ordered && found.iter().all(|range| range.start < range.end && text.get(range.clone()).is_some())
}

/// The property above holds also where nothing is found.
#[test]
fn something_of_each_sort_is_found_and_stands_where_it_is_said_to() {
    let text = "On 3 March 2023 Harbour Bridge Ltd paid 12.50 EUR. Berlin got 40 kg of it.";
    for (sort, found) in ranges(text) {
        assert!(!found.is_empty() && stands(text, &found), "{sort}: {found:?}");
    }
}

#[test]
fn a_statement_is_composed_after_its_numbers_were_replaced() {
    let parts = parts("It cost 5 €\u{301} in all.").unwrap();
    assert_eq!(parts[0].statement, "It cost 5 EU\u{154} in all");
}

/// Texts made to be looked at over and over: nothing that is found or written may grow faster than they do.
#[test]
fn texts_made_to_be_slow_make_no_more_than_others() {
    let bytes = TEXT_BYTES_MAX / 4;
    let seeds = [
        "(",
        "\"",
        "and ",
        "a, ",
        "In 2023, ",
        "A. ",
        "x\n- ",
        "1,",
        "March 3, ",
        "which is, ",
        "A",
        "of ",
        "'",
        "5-",
        "the first half of ",
        "“”",
        "((a)",
        "was of 5 and a ",
    ];
    let mut texts: Vec<String> = seeds.iter().map(|seed| seed.repeat(bytes / seed.len())).collect();
    // A subject, a frame and a lead of many words, which every clause would carry over.
    texts.push(format!("{}rose{}.", "a ".repeat(bytes / 2), " and rose".repeat(400)));
    texts.push(format!("In {}, it rose{}.", "a ".repeat(bytes / 2), " and it rose".repeat(400)));
    texts.push(format!("{}:{}", "a ".repeat(bytes / 2), "\n- rose in it".repeat(400)));
    for text in texts {
        let written: usize = parts(&text).iter().flatten().map(|part| part.statement.len()).sum();
        assert!(written <= 20 * text.len(), "{written} bytes of {}: {:.60}", text.len(), text);
        let found = text::names(&text).len() + text::dates(&text).len() + text::quantities(&text).len();
        assert!(found + text::sentences(&text).len() <= text.len(), "{text:.60}");
    }
}
