//! What bytes are, whatever somebody says they are.

use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use tenure_systems::runs::sniff::{NAME_BYTES_MAX, SNIFF_BYTES, safe_name, sniff};

//
#[test]
fn bytes_say_what_they_are_and_a_name_only_which_sort_of_text() {
    for (bytes, name, is) in [
        (&b"%PDF-1.7\n1 0 obj"[..], "a.txt", "application/pdf"),
        (b"\n %PDF-1.4", "a", "application/pdf"),
        (b"<!DOCTYPE HTML><p>a", "a.md", "text/html"),
        (b"<?xml version='1.0'?>\n<!-- c --><html lang='en'>", "a.xml", "text/html"),
        (b"\xef\xbb\xbf<html>", "a", "text/html"),
        (b"\xff\xfe<\0h\0t\0m\0l\0>\0", "a", "text/html"),
        (b"<p align=center>Logo</p>", "README", "text/html"),
        (b"<p align=center>Logo</p>", "README.md", "text/markdown"),
        (b"<?xml version='1.0'?><rss>", "a.html", "text/plain"),
        (b" {\"a\": [1, 2]}", "a.txt", "application/json"),
        (b"\xfe\xff\x00[\x001\x00]", "a", "application/json"),
        (b"{\"a\": [1, 2", "a.json", "application/json"),
        (b"{\"a\": [1, 2", "a.txt", "text/plain"),
        (b"no value", "a.json", "text/plain"),
        (b"{\"a\": 1}\n{\"a\": 2}\n", "a", "application/json"),
        (b"[1] the first\n[2] the second\n", "a", "text/plain"),
        (b"[link](there) and more", "a", "text/plain"),
        (b"# Title\n\n- one\n- two", "a", "text/markdown"),
        (b"# Title\n\n- one\n- two", "a.txt", "text/plain"),
        (b"a,b,c\n1,2,3\n4,5,6\n", "a", "text/csv"),
        (b"a,b,c\n\"1,5\",2,3\n4,5,6\n", "a", "text/csv"),
        (b"Well, this is it,\nso, what,\nthen?", "a", "text/plain"),
        (b"a,b,c\n1,2,3\n4,5,6\n", "a.txt", "text/plain"),
        (b"one column", "A.CSV", "text/csv"),
        (b"plain words", "a.pdf", "text/plain"),
        (b"plain words", "a.html", "text/plain"),
        (b"Gr\xfc\xdfe aus K\xf6ln", "a", "text/plain"),
        (b"", "a", "text/plain"),
        (b"PK\x03\x04\x14\0\0\0", "a.docx", "application/octet-stream"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a.txt", "application/octet-stream"),
        (b"\xff\xd8\xff\xe0JFIF", "a.md", "application/octet-stream"),
        (b"text with a\0", "a.txt", "application/octet-stream"),
    ] {
        assert_eq!(sniff(bytes, name), is, "{} as {name}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn the_beginning_of_a_file_is_enough() {
    let long = format!("[{}1]", "\"ä\", ".repeat(SNIFF_BYTES));
    for cut in 0..8 {
        assert_eq!(sniff(&long.as_bytes()[..SNIFF_BYTES + cut], "a"), "application/json");
    }
    let odd = format!("a{}", "ä".repeat(SNIFF_BYTES));
    assert_eq!(sniff(odd.as_bytes(), "a"), "text/plain");
}

#[test]
fn a_name_is_made_safe_to_show() {
    for (name, safe) in [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a b.txt", "a b.txt"),
        ("a\r\nSet-Cookie: x", "a Set-Cookie: x"),
        ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
        ("a\u{200b}b\u{feff}\u{7}.md", "ab.md"),
        ("  spaced   out  ", "spaced out"),
        ("..", "document"),
        ("", "document"),
        ("folder/", "document"),
        ("Übersicht – März.csv", "Übersicht – März.csv"),
    ] {
        assert_eq!(safe_name(name), safe, "{name:?}");
    }
    assert_eq!(safe_name(&"ä".repeat(1000)).len(), NAME_BYTES_MAX - 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_name_becomes_one_that_can_be_shown_and_stays_so(name in any::<String>()) {
        let safe = safe_name(&name);
        prop_assert!(!safe.is_empty() && safe.len() <= NAME_BYTES_MAX);
        prop_assert!(!safe.contains(['/', '\\']) && !safe.chars().any(char::is_control));
        prop_assert!(safe_name(&safe) == safe, "{safe:?}");
    }
}
