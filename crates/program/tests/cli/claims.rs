//! `tenure claim`, on a server that does what claims need by itself.

use serde_json::Value;

use crate::kit::Place;
use crate::serving::Server;

/// Asks again until it is so. Each look is a process of its own, and takes its time.
#[track_caller]
fn until(place: &Place, arguments: &[&str], is_so: impl Fn(&Value) -> bool) -> Value {
    let looks = (0..2_000).map(|_| place.json(arguments));
    looks.into_iter().find(is_so).unwrap_or_else(|| panic!("{arguments:?} does not become so"))
}

// covers: C-01, C-04, C-10, C-11, C-12
#[test]
fn a_claim_is_told_from_its_text_to_its_verdict() {
    let place = Place::served("claims");
    let text = "The bridge was opened on 19 March 1932 and it is 1,149 m long.";
    let created =
        place.json(&["claim", "create", text, "--domain", "history", "--idempotency-key", "b", "--json"]);
    let again =
        place.json(&["claim", "create", text, "--domain", "history", "--idempotency-key", "b", "--json"]);
    assert_eq!(created, again);
    let id = created["claim_id"].as_str().unwrap();
    let decomposed = |story: &Value| story["claim"]["decomposition_status"] == "decomposed";
    let story = until(&place, &["claim", "show", id, "--json"], decomposed);
    let bits = story["truthbits"].as_array().unwrap();
    assert!(!bits.is_empty(), "{story}");
    let listed = place.run(&["claim", "truthbits", id]).code(0).stdout;
    for bit in bits {
        let bit = bit["id"].as_str().unwrap();
        assert!(listed.contains(bit), "{listed}");
        let said =
            place.run(&["claim", "validate", bit, "supports", "--confidence", "0.9", "--uri", "urn:archive"]);
        assert!(said.code(0).stdout.contains("validation submitted"));
    }
    until(&place, &["claim", "verdict", id, "--json"], |found| found["verdict"]["status"] == "supported");
    let told = place.run(&["claim", "show", id]).code(0).stdout;
    for said in [
        "claim decomposed",
        text,
        "TruthBits",
        "supports it (0.9) on 1 piece of evidence",
        "verdict supported",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    let bit = bits[0]["id"].as_str().unwrap();
    place.run(&["claim", "validate", bit, "refutes"]).code(0);
    place.run(&["claim", "verdict", id, "--compute"]).code(0);
    until(&place, &["claim", "verdict", id, "--json"], |found| found["verdict"]["status"] != "supported");
    assert!(place.run(&["claim", "verdict", id, "--history"]).code(0).stdout.contains("before: supported"));
    let late = place.run(&["claim", "enqueue", id]).code(1);
    assert!(late.stderr.contains("ALREADY_DECOMPOSED"), "{late:?}");
    assert!(place.run(&["claim", "list", "--state", "decomposed"]).code(0).stdout.contains(id));
}

// covers: C-04
#[test]
fn a_server_without_claims_leaves_them_to_others() {
    let place = Place::file("claims_without");
    let server = Server::start_with(&place.db, "127.0.0.1:0", &["--without", "claims"]);
    let id = place.json(&["claim", "create", "It rained in Paris.", "--json"])["claim_id"]
        .as_str()
        .unwrap()
        .to_string();
    assert!(place.run(&["claim", "truthbits", &id]).code(0).stdout.contains("not decomposed"));
    assert!(place.run(&["claim", "enqueue", &id, "--reason", "by hand"]).code(0).stdout.contains("queued"));
    assert_eq!(server.stop().0, Some(0));
    // The next one finds it.
    let server = Server::start(&place.db);
    until(&place, &["claim", "show", &id, "--json"], |story| {
        story["claim"]["decomposition_status"] == "decomposed"
    });
    assert_eq!(server.stop().0, Some(0));
}
