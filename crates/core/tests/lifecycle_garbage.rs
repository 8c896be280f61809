//! No text makes the parser panic, and every fault it tells is on a line of the file.
//!
//! Texts are made from the shipped files by cutting, doubling, swapping and inserting what Markdown and the tables care
//! about, so that most of each is still meaningful and the deep rules are reached too.

use proptest::prelude::*;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped::SHIPPED;

#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, &'static str),
    Letter(usize, char),
    Cut(usize, usize),
    /// Writes a line again after another.
    Double(usize, usize),
    Swap(usize, usize),
}

const PIECES: [&str; 44] = [
    "|",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\\",
    "`",
    "```",
    "```json\n",
    "~~~",
    "# ",
    "\n# x\n",
    "\n## States\n",
    "\n## Settings\n",
    "##",
    "—",
    "-",
    "–",
    "*",
    "_",
    "<!--",
    "-->",
    "<b>",
    "[a](b)",
    "&amp;",
    "> ",
    "- ",
    "    ",
    "\t",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "ß",
    "🦀",
    "|---|---|",
    "! ",
    " as ",
    ", ",
    "\"",
    "payload /a = \"",
    "record any; ",
    "attempts left",
    "system",
    "99999999999999999999",
];

fn edit() -> impl Strategy<Value = Edit> {
    let at = || 0..100_000usize;
    prop_oneof![
        (at(), proptest::sample::select(&PIECES[..])).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (at(), any::<char>()).prop_map(|(at, letter)| Edit::Letter(at, letter)),
        (at(), 1..60usize).prop_map(|(at, length)| Edit::Cut(at, length)),
        (at(), at()).prop_map(|(line, after)| Edit::Double(line, after)),
        (at(), at()).prop_map(|(one, other)| Edit::Swap(one, other)),
    ]
}

fn apply(source: String, edit: &Edit) -> String {
    let letters: Vec<char> = source.chars().collect();
    let place = |at: usize| at % (letters.len() + 1);
    let text = |letters: &[char]| letters.iter().collect::<String>();
    let mut lines: Vec<&str> = source.split('\n').collect();
    let count = lines.len();
    match edit {
        Edit::Insert(at, piece) => {
            let (before, after) = letters.split_at(place(*at));
            format!("{}{piece}{}", text(before), text(after))
        }
        Edit::Letter(at, letter) => {
            let (before, after) = letters.split_at(place(*at));
            format!("{}{letter}{}", text(before), text(after.get(1..).unwrap_or(&[])))
        }
        Edit::Cut(at, length) => {
            let (before, after) = letters.split_at(place(*at));
            format!("{}{}", text(before), text(after.get(*length..).unwrap_or(&[])))
        }
        Edit::Double(line, after) => {
            lines.insert(after % count, lines[line % count]);
            lines.join("\n")
        }
        Edit::Swap(one, other) => {
            lines.swap(one % count, other % count);
            lines.join("\n")
        }
    }
}

/// Reads a text; whatever comes of it, the faults are in order and within the file.
fn check(source: &str) -> Result<(), TestCaseError> {
    let Err(faults) = parse(source) else { return Ok(()) };
    prop_assert!(!faults.is_empty(), "refused without a fault");
    prop_assert!(faults.is_sorted(), "{:?}", faults);
    let last = source.lines().count().max(1) as u32;
    for fault in &faults {
        prop_assert!((1..=last).contains(&fault.line), "{} of {} lines: {}", fault.line, last, fault.what);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_damaged_file_is_read_or_its_faults_are_told(
        shipped in proptest::sample::select(SHIPPED),
        edits in proptest::collection::vec(edit(), 1..12),
    ) {
        let source = edits.iter().fold(shipped.source.to_string(), apply);
        check(&source)?;
    }

    #[test]
    fn noise_is_refused_with_a_fault(letters in proptest::collection::vec(any::<char>(), 0..400)) {
        let source: String = letters.into_iter().collect();
        prop_assert!(parse(&source).is_err());
        check(&source)?;
    }
}

#[test]
fn an_empty_file_has_faults_on_its_first_line() {
    for source in ["", "\n", "\r\n", "\u{feff}"] {
        let faults = parse(source).unwrap_err();
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults.iter().all(|fault| fault.line == 1));
    }
}
