//! What a text is about, of every document there is.

use serde_json::{Value, json};
use tenure_systems::runs::interpret::{Interpreted, interpret};
use tenure_systems::runs::step::{Document, StepFailed};
use tokio::sync::watch;

use crate::documents::{DOCUMENTS, document, expect, extracted, made};

fn interpreted(document: &Document) -> Result<Interpreted, StepFailed> {
    interpret(&extracted(document)?, watch::channel(false).1)
}

/// A line for whatever has no parts, so that a page can be read.
fn page(value: &Value, indent: usize, page: &mut String) {
    let small = |value: &Value| match value {
        Value::Array(values) => values.iter().all(|value| !value.is_object() && !value.is_array()),
        Value::Object(fields) => fields.values().all(|value| !value.is_object() && !value.is_array()),
        _ => true,
    };
    let fields: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (format!("{name}:"), value)).collect(),
        Value::Array(values) => values.iter().map(|value| ("-".to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in fields {
        let space = " ".repeat(indent);
        match small(value) {
            true => page.push_str(&format!("{space}{name} {value}\n")),
            false => {
                page.push_str(&format!("{space}{name}\n"));
                self::page(value, indent + 2, page);
            }
        }
    }
}

//
#[test]
fn what_every_document_is_about_is_as_expected() {
    for name in DOCUMENTS {
        let mut text = String::new();
        page(&serde_json::to_value(interpreted(&document(name)).unwrap()).unwrap(), 0, &mut text);
        expect(name, "interpret.txt", &text);
    }
}

#[test]
fn what_was_found_stands_where_it_is_said_to_stand() {
    let lists = ["dates", "amounts", "percentages", "measures", "names", "pairs"];
    let mut counts = [0; 6];
    for name in DOCUMENTS {
        let extracted = extracted(&document(name)).unwrap();
        let found = serde_json::to_value(interpreted(&document(name)).unwrap()).unwrap();
        for (list, count) in lists.into_iter().zip(&mut counts) {
            *count += found[list].as_array().unwrap().len();
            for item in found[list].as_array().unwrap() {
                let number = |field: &str| item[field].as_u64().unwrap() as usize;
                let there = &extracted.blocks[number("block")].text[number("start")..number("end")];
                let said = if item["text"].is_null() { &item["value"] } else { &item["text"] };
                assert_eq!(*said, json!(there), "{name} {list}");
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 0), "each list has something: {lists:?} {counts:?}");
}

//
#[test]
fn a_value_of_several_lines_in_a_table_is_whole_and_stands_where_it_is_said_to_stand() {
    let text = "\"Field\",\"Value\"\n\"Name\",\"Ann\"\n\"Address\",\"1 Main St\nSpringfield\"\n\"Home\nphone\",\"555 0199\"\n";
    let extracted = extracted(&made("a.csv", text)).unwrap();
    let pairs = interpret(&extracted, watch::channel(false).1).unwrap().pairs;
    let said: Vec<(&str, &str)> = pairs.iter().map(|pair| (&pair.key[..], &pair.value[..])).collect();
    assert_eq!(said, [("Name", "Ann"), ("Address", "1 Main St\nSpringfield"), ("Home phone", "555 0199")]);
    for pair in &pairs {
        assert_eq!(&extracted.blocks[pair.at.block].text[pair.at.start..pair.at.end], pair.value);
    }
}

fn low(document: &Document) -> String {
    let why = interpreted(document).unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("LOW_QUALITY", true));
    why.details
}

#[test]
fn a_text_that_nobody_could_read_is_not_interpreted_and_says_why() {
    assert!(low(&made("a.txt", "- -")).contains("letters and digits"));
    assert!(
        low(&made("a.txt", "abcd ".to_string() + &"=-=-".repeat(20))).contains("among what is printed: 4")
    );
    let unreadable = "some words that are good \u{fffd}\u{fffd}\u{e001}\u{e002}";
    assert!(low(&made("a.txt", unreadable)).contains("can not be told"));
    let mut pages = extracted(&document("letter.pdf")).unwrap();
    pages.pages = Some(5);
    let why = interpret(&pages, watch::channel(false).1).unwrap_err();
    assert_eq!(
        (&why.code[..], &why.details[..]),
        ("LOW_QUALITY", "pages that have text: 40.0%, and 50.0% is the limit")
    );
    pages.pages = Some(4);
    assert!(interpret(&pages, watch::channel(false).1).is_ok());
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let text = "Paid 5% on 2024-01-01.\n".repeat(5_001);
    let found = interpreted(&made("a.txt", text)).unwrap().found;
    assert_eq!((found.dates.len(), found.percentages.len()), (5_000, 5_000));
    assert_eq!(found.cut, ["dates", "percentages"]);
}

#[test]
fn the_language_is_told_by_the_text() {
    for (code, text) in [
        ("en", "The council met on Tuesday and agreed to repair the bridge before the winter."),
        ("de", "Der Rat hat am Dienstag beschlossen, die Brücke noch vor dem Winter zu reparieren."),
        ("fr", "Le conseil a décidé mardi de réparer le pont avant l'hiver, malgré le prix."),
        ("es", "El consejo decidió el martes reparar el puente antes del invierno."),
        ("it", "Il consiglio ha deciso martedì di riparare il ponte prima dell'inverno."),
        ("pl", "Rada zdecydowała we wtorek o naprawie mostu jeszcze przed zimą."),
        ("ru", "Совет решил во вторник отремонтировать мост до наступления зимы."),
        ("el", "Το συμβούλιο αποφάσισε την Τρίτη να επισκευάσει τη γέφυρα."),
        ("ja", "市議会は火曜日に橋を冬の前に修理することを決めました。"),
        ("zh", "市议会星期二决定在冬天之前修理这座桥梁。"),
        ("ko", "시의회는 화요일에 겨울이 오기 전에 다리를 수리하기로 결정했다."),
        ("ar", "قرر المجلس يوم الثلاثاء إصلاح الجسر قبل حلول فصل الشتاء."),
    ] {
        let language = interpreted(&made("a.txt", text)).unwrap().language;
        assert_eq!(language.map(|language| language.code), Some(code));
    }
    assert_eq!(interpreted(&made("a.txt", "Total 12")).unwrap().language, None);
}
