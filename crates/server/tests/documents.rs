//! What is written about the service is what it does.

use std::collections::{BTreeMap, BTreeSet};

use tenure::core::code::Code;

// covers: K-55
#[test]
fn every_code_has_its_cause_and_its_remedy() {
    let text = include_str!("../../../docs/errors.md");
    let mut written: BTreeMap<String, u16> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [code, status, cause, remedy] = cells[..] else { panic!("four cells: {line}") };
        assert!(cause.len() > 10 && remedy.len() > 5, "{line}");
        // A code has one status; the one of what is wrong with a request comes with those that HTTP has for some mistakes.
        let (status, others) = status.split_once("; also ").unwrap_or((status, ""));
        assert_eq!(others, if code == "`INVALID_REQUEST`" { "405, 408, 415" } else { "" }, "{line}");
        let before = written.insert(code.trim_matches('`').to_string(), status.parse().expect("a status"));
        assert_eq!(before, None, "{code} stands there twice");
    }
    let mut known: BTreeMap<String, u16> =
        Code::KNOWN.iter().map(|code| (code.to_string(), code.status())).collect();
    for code in ["INTERNAL_ERROR", "CONTENT_MISSING", "CONTENT_DAMAGED", "CONTENT_UNREADABLE"] {
        known.insert(code.to_string(), 500);
    }
    assert_eq!(written, known);
}

#[test]
fn every_call_is_on_the_map() {
    let text = include_str!("../../../docs/http.md");
    let rows =
        text.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| line.split('`').next());
    let written: BTreeSet<String> = rows.map(str::to_string).collect();
    let document = serde_json::to_value(tenure_server::document()).expect("a document");
    let mut served = BTreeSet::new();
    for (path, calls) in document["paths"].as_object().expect("paths") {
        for method in calls
            .as_object()
            .expect("calls")
            .keys()
            .filter(|name| ["get", "post", "delete"].contains(&name.as_str()))
        {
            served.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    assert_eq!(written, served);
}
