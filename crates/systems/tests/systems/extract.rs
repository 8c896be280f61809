//! Documents of every type, and what is taken from them.

use std::fmt::Write;
use std::sync::Arc;

use lopdf::{Dictionary, Object, Stream, dictionary};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;
use serde_json::Value;
use tenure_systems::runs::extract::{Extract, Extracted, extract};
use tenure_systems::runs::interpret::interpret;
use tenure_systems::runs::step::{Document, Input, Step, StepFailed};
use tokio::sync::watch;

use crate::documents::{DOCUMENTS, document, expect, extracted, made};

/// A line a block.
fn page(extracted: &Extracted) -> String {
    let mut page = format!("{}\n", extracted.media_type);
    extracted.pages.iter().for_each(|pages| writeln!(page, "pages: {pages}").unwrap());
    extracted.metadata.iter().for_each(|(name, value)| writeln!(page, "{name}: {value}").unwrap());
    for block in &extracted.blocks {
        let kind = serde_json::to_value(block.kind).unwrap();
        write!(page, "\n{}", kind.as_str().unwrap()).unwrap();
        block.level.iter().for_each(|level| write!(page, " {level}").unwrap());
        block.page.iter().for_each(|number| write!(page, " (page {number})").unwrap());
        let rows = block.rows.iter().flatten().map(|row| row.join(" | "));
        match block.rows {
            Some(_) => rows.for_each(|row| write!(page, "\n  | {row}").unwrap()),
            None => block.text.lines().for_each(|line| write!(page, "\n  {line}").unwrap()),
        }
    }
    page.push('\n');
    page
}

//
#[test]
fn the_text_of_every_document_and_its_structure_are_as_expected() {
    for name in DOCUMENTS {
        expect(name, "extract.txt", &page(&extracted(&document(name)).unwrap()));
    }
}

fn code(document: &Document) -> String {
    extracted(document).map_or_else(|why| why.code, |_| "text".to_string())
}

//
#[test]
fn what_has_no_text_fails_with_a_code_that_says_why() {
    let whole = document("invoice.pdf").bytes;
    assert_eq!(code(&document("encrypted.pdf")), "ENCRYPTED");
    assert_eq!(code(&document("scanned.pdf")), "NOT_TEXT");
    assert_eq!(code(&made("half.pdf", &whole[..whole.len() / 2])), "BROKEN");
    assert_eq!(code(&made("head.pdf", &whole[..10])), "BROKEN");
    assert_eq!(code(&made("a.bin", [0x89, b'P', b'N', b'G', 0, 1, 2])), "NOT_TEXT");
    assert_eq!(code(&made("a.txt", "one\0two")), "NOT_TEXT");
    assert_eq!(code(&made("a.txt", " \n\t ")), "EMPTY");
    assert_eq!(code(&made("a.html", "<html><script>only()</script>")), "EMPTY");
    for words in [3, 20_000] {
        let cut = format!("[{}", "\"word\", ".repeat(words));
        assert_eq!(code(&made("a.json", cut)), "BROKEN", "a list of {words} that was cut off");
    }
    let wrong = extracted(&made("a.json", "{\n  \"a\": 1,\n  b\n}")).unwrap_err();
    assert!(wrong.details.contains("line 3"), "{wrong}");
}

/// A word a block, with its kind, its level and its text.
fn blocks(document: &Document) -> Vec<String> {
    let extracted = extracted(document).unwrap();
    let shown = extracted.blocks.iter().map(|block| {
        let kind = serde_json::to_value(block.kind).unwrap();
        let level = block.level.map(|level| format!(" {level}")).unwrap_or_default();
        format!("{}{level}: {}", kind.as_str().unwrap(), block.text)
    });
    shown.collect()
}

//
#[test]
fn words_that_a_page_sets_apart_stay_apart_in_markdown() {
    let table = "| What | How much |\n|---|---|\n| apples | 5 kg<br>10 kg |\n| pears | <ul><li>red</li><li>green</li></ul> |\n";
    assert_eq!(blocks(&made("a.md", table)), ["table: What\tHow much\napples\t5 kg 10 kg\npears\tred green"]);
    let text = "One street<br/>Two town, and <b>bo</b>ld is one word.";
    assert_eq!(blocks(&made("a.md", text)), ["paragraph: One street\nTwo town, and bold is one word."]);
}

//
#[test]
fn a_heading_is_one_also_where_its_words_are_in_a_block_of_their_own() {
    let page =
        "<html><h1><div>Title</div></h1><p>Words.</p><h2>\n<p>Part</p></h2>More.<h3></h3><p>Plain.</p>";
    let read = blocks(&made("a.html", page));
    assert_eq!(
        read,
        ["heading 1: Title", "paragraph: Words.", "heading 2: Part", "paragraph: More.", "paragraph: Plain."]
    );
    // One that is never closed is no heading of all that follows.
    let read = blocks(&made("a.html", "<html><h1><div>Title</div><p>One.</p><p>Two.</p>"));
    assert_eq!(read, ["heading 1: Title", "paragraph: One.", "paragraph: Two."]);
}

//
#[test]
fn a_page_that_is_laid_out_by_tables_is_read_as_a_page_and_a_table_as_a_table() {
    let page = "<html><table><tr><td><img src=logo><a href=/>Home</a></td><td>\
        <table><tr><td><h1>Harbour News</h1><p>First.</p><ul><li>one</li><li>two</li></ul>\
        <table><tr><th>Ship</th><th>Day</th></tr><tr><td>Ada</td><td>Monday</td></tr></table>\
        <pre>a\n  b</pre></td></tr></table></td></tr></table><p>Last.";
    assert_eq!(
        blocks(&made("a.html", page)),
        [
            "paragraph: Home",
            "heading 1: Harbour News",
            "paragraph: First.",
            "list_item 1: one",
            "list_item 1: two",
            "table: Ship\tDay\nAda\tMonday",
            "code: a\n  b",
            "paragraph: Last."
        ]
    );
    // Names of columns may be set as headings, and a cell may hold a line of smaller ones.
    let table = "<html><table><tr><th><h3>Plan</h3></th><th><h3>Basic</h3><p>or so</p></th></tr>\
        <tr><td>Price</td><td><table><tr><td>5</td><td>EUR</td></tr></table></td></tr></table>";
    assert_eq!(blocks(&made("a.html", table)), ["table: Plan\tBasic or so\nPrice\t5 EUR"]);
}

//
#[test]
fn a_value_a_line_is_a_list() {
    let read =
        blocks(&made("a.jsonl", "{\"name\": \"Ann\", \"age\": 7}\n\n{\"name\": \"Bob\", \"age\": 9}\n"));
    assert_eq!(read, ["table: age\tname\n7\tAnn\n9\tBob"]);
}

#[test]
fn what_is_too_much_fails_and_is_not_cut() {
    let line = "word ".repeat(200_000);
    assert_eq!(extracted(&made("a.txt", &line[..])).unwrap().blocks.len(), 1);
    assert_eq!(code(&made("a.txt", line.repeat(5))), "TOO_LARGE");
    assert_eq!(code(&made("a.csv", "1,2,3,4,5,6,7,8,9,0\n".repeat(50_001))), "TOO_LARGE");
    assert_eq!(code(&made("a.md", "a\n\n".repeat(100_001))), "TOO_LARGE");
    let why = extracted(&made("a.md", vec![b'a'; (16 << 20) + 1])).unwrap_err();
    assert_eq!(why.to_string(), "TOO_LARGE: more than 16777216 bytes of text/markdown");
}

#[test]
fn nesting_without_end_is_read_or_refused() {
    let deep = 20_000;
    for (name, text) in [
        ("a.json", "[".repeat(deep)),
        ("a.json", "[".repeat(deep) + &"]".repeat(deep)),
        ("a.json", "{\"a\":".repeat(deep) + "1" + &"}".repeat(deep)),
        ("a.html", "<div>".repeat(deep) + "text"),
        ("a.html", "<table><tr><td>".repeat(deep) + "text"),
        ("a.html", "<ul><li>".repeat(deep) + "text"),
        ("a.html", "<html><svg>".to_string() + &"<svg>".repeat(deep) + "text"),
        ("a.html", "<a ".to_string() + &"b=c ".repeat(deep) + ">text"),
        ("a.md", "> ".repeat(deep) + "text"),
        ("a.md", "- ".repeat(deep) + "text"),
        ("a.md", "[".repeat(deep) + "text"),
        ("a.md", "*a _b ".repeat(deep)),
        ("a.txt", "\n- ".repeat(deep) + "text"),
        ("a.csv", "\"".repeat(deep + 1)),
    ] {
        let code = code(&made(name, text.clone()));
        assert!(["text", "EMPTY", "TOO_LARGE"].contains(&&code[..]), "{name} {}: {code}", &text[..20]);
    }
    let deepest = "[".repeat(127) + "7" + &"]".repeat(127);
    assert_eq!(extracted(&made("a.json", deepest)).unwrap().text.lines().last(), Some("7"));
}

/// A document whose pages all show this, and whose forms are called as they are here.
fn drawn(content: &[u8], forms: &[(&str, &str)], pages: usize) -> Vec<u8> {
    let mut document = lopdf::Document::with_version("1.5");
    let tree = document.new_object_id();
    let font = dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica" };
    let font = document.add_object(font);
    let resources = document.new_object_id();
    let mut named = Dictionary::new();
    for (name, content) in forms {
        let form = dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => resources };
        named.set(*name, document.add_object(Stream::new(form, content.as_bytes().to_vec())));
    }
    let fonts = dictionary! { "F1" => font };
    document.objects.insert(resources, dictionary! { "Font" => fonts, "XObject" => named }.into());
    let mut stream = Stream::new(Dictionary::new(), content.to_vec());
    stream.compress().unwrap();
    let content = document.add_object(stream);
    let page =
        dictionary! { "Type" => "Page", "Parent" => tree, "Resources" => resources, "Contents" => content };
    let kids: Vec<Object> = (0..pages).map(|_| document.add_object(page.clone()).into()).collect();
    let count = kids.len() as i64;
    document.objects.insert(tree, dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count }.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_drawing_in_a_page_is_read_also_if_it_contains_itself() {
    let once = drawn(b"/A Do", &[("A", "BT /F1 12 Tf 50 700 Td (in a form) Tj ET")], 1);
    assert_eq!(extracted(&made("a.pdf", once)).unwrap().text, "in a form");
    let endless = drawn(b"/A Do", &[("A", "BT /F1 12 Tf 50 700 Td (again ) Tj ET /A Do")], 1);
    assert_eq!(extracted(&made("a.pdf", endless)).unwrap().text.matches("again").count(), 8);
}

#[test]
fn a_file_that_unpacks_to_far_more_than_it_has_is_refused() {
    let bomb = drawn(&vec![b')'; 1 << 20], &[], 33);
    assert!(bomb.len() < 64 << 10);
    let why = extracted(&made("a.pdf", bomb)).unwrap_err();
    assert_eq!(why.code, "TOO_LARGE");
    assert!(why.details.contains("unpacked"), "{}", why.details);
    assert_eq!(code(&made("a.pdf", drawn(b"", &[], 2_001))), "TOO_LARGE");
}

#[test]
fn a_file_with_nesting_without_end_is_read_or_refused() {
    let deep = 20_000;
    for content in [
        "[".repeat(deep),
        "(".repeat(deep),
        "<<".repeat(deep),
        "<</a ".repeat(deep),
        "q ".repeat(deep) + "BT /F1 12 Tf (text) Tj ET",
        "[".repeat(deep) + &"]".repeat(deep) + " TJ",
    ] {
        let drawn = drawn(content.as_bytes(), &[], 1);
        assert!(["text", "NOT_TEXT"].contains(&&code(&made("a.pdf", drawn))[..]), "{}", &content[..20]);
    }
    let plain = document("invoice.pdf").bytes;
    for object in ["[".repeat(deep), "<</a ".repeat(deep), "(".repeat(deep), "1 0 obj ".repeat(deep)] {
        let before = [b"%PDF-1.4\n1 0 obj\n", object.as_bytes(), b"\nendobj\n", &plain[..]].concat();
        let after = [&plain[..], object.as_bytes()].concat();
        for bytes in [before, after] {
            assert!(["text", "BROKEN"].contains(&&code(&made("a.pdf", bytes))[..]));
        }
    }
}

#[test]
fn a_parser_hears_that_the_run_is_over() {
    for name in DOCUMENTS {
        assert_eq!(extract(&document(name), watch::channel(true).1).unwrap_err().code, "STOPPED", "{name}");
    }
}

/// As a pipeline runs it: what panics is a failure, too.
fn stepped(document: Document) -> Result<Value, StepFailed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_keep, stop) = watch::channel(false);
    let input = Input { document: Arc::new(document), made: Arc::default(), stop };
    runtime.block_on(Extract::default().run(input))
}

const CODES: [&str; 5] = ["NOT_TEXT", "ENCRYPTED", "BROKEN", "TOO_LARGE", "EMPTY"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_text_or_a_failure_with_a_code(
        bytes in vec(any::<u8>(), 0..2000),
        name in prop_oneof![Just("a"), Just("a.md"), Just("a.csv"), Just("a.txt")],
        start in prop_oneof![Just(""), Just("%PDF-1.4\n"), Just("<html>"), Just("{\"a\": "), Just("\u{feff}")],
    ) {
        let document = made(name, [start.as_bytes(), &bytes].concat());
        if let Err(why) = stepped(document) {
            prop_assert!(CODES.contains(&&why.code[..]), "{why}");
        }
    }

    #[test]
    fn any_text_of_marks_is_read(text in "[<>/a\\[\\](){}|#*`>:;,\"' \n\t&=-]{0,400}", name in prop_oneof![Just("a.md"), Just("a.html"), Just("a.csv"), Just("a.txt")]) {
        let start = if name == "a.html" { "<html>" } else { "" };
        match extracted(&made(name, format!("{start}{text}"))) {
            Err(why) => prop_assert_eq!(&why.code, "EMPTY"),
            Ok(extracted) => {
                let whole: String = extracted.text.split_whitespace().collect();
                let blocks: String = extracted.blocks.iter().flat_map(|block| block.text.split_whitespace()).collect();
                prop_assert_eq!(whole, blocks);
                if let Err(why) = interpret(&extracted, watch::channel(false).1) {
                    prop_assert_eq!(why.code, "LOW_QUALITY");
                }
            }
        }
    }

    #[test]
    fn a_damaged_file_is_a_text_or_a_failure_with_a_code(
        name in prop_oneof![Just("invoice.pdf"), Just("report.pdf"), Just("page.html"), Just("order.json")],
        changes in vec((any::<Index>(), any::<u8>()), 1..20),
        cut in proptest::option::of(any::<Index>()),
    ) {
        let mut bytes = document(name).bytes;
        changes.iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = *byte);
        cut.iter().for_each(|cut| bytes.truncate(cut.index(bytes.len())));
        if let Err(why) = stepped(made(name, bytes)) {
            prop_assert!(CODES.contains(&&why.code[..]), "{why}");
        }
    }
}
