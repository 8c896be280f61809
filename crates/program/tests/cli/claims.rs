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
    let not_one = place.run(&["claim", "validate", id, "supports"]).code(1);
    assert!(not_one.stderr.contains(&format!("tenure claim truthbits {id}")), "{not_one:?}");
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

// covers: C-05
#[test]
fn a_server_without_decomposers_has_claims_ready_for_those_of_others() {
    let place = Place::file("claims_decomposers");
    let server = Server::start_with(&place.db, "127.0.0.1:0", &["--without", "decomposers"]);
    let created = place.json(&["claim", "create", "It rained in Paris on 2024-03-01.", "--json"]);
    let id = created["claim_id"].as_str().unwrap();
    // Leased by whoever asks, as the page on claims has it.
    let wanted = r#"{"kinds": ["claim"], "worker": "mine", "wait_ms": 30000}"#;
    let (_, leased) = server.ask("POST", "/v1/leases", wanted);
    let lease = &leased["leases"][0];
    assert_eq!(lease["item"], id, "{leased}");
    let held = format!(r#"{{"lease_token": {}, "attempt": 1}}"#, lease["lease_token"]);
    let (status, decomposed) = server.ask("POST", &format!("/v0.1/claims/{id}/decompose"), &held);
    assert_eq!((status, &decomposed["decomposition_status"]), (200, &"decomposed".into()), "{decomposed}");
    // The other parts go on.
    let bit = decomposed["truthbit_ids"][0].as_str().unwrap();
    place.run(&["claim", "validate", bit, "supports", "--confidence", "0.9", "--uri", "urn:archive"]).code(0);
    until(&place, &["claim", "verdict", id, "--json"], |found| found["verdict"]["status"] == "supported");
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_domain_whose_key_is_missing_is_told_as_what_is_configured() {
    let place = Place::file("claims_key");
    let domain = "[claims.domains.finance]\ndecomposer = \"llm\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nkey_env = \"NO_SUCH_KEY\"\n";
    place.folder.write("key.toml", domain);
    let config = place.folder.file("key.toml");
    let run = place.run(&["serve", "--listen", "127.0.0.1:0", "--config", &config]).code(64);
    assert!(run.stderr.contains("NO_SUCH_KEY") && run.stderr.contains("tenure.toml"), "{run:?}");
}

#[test]
fn a_claim_that_failed_says_how_it_is_tried_again() {
    let place = Place::file("claims_failed");
    let server = Server::start_with(&place.db, "127.0.0.1:0", &["--claim-retries", "0"]);
    let created = place.json(&["claim", "create", "What is this?", "--json"]);
    let id = created["claim_id"].as_str().unwrap();
    let failed = |story: &Value| story["claim"]["decomposition_status"] == "failed";
    until(&place, &["claim", "show", id, "--json"], failed);
    place.run(&["claim", "enqueue", id]).code(0);
    until(&place, &["explain", id, "--json"], |told| {
        told["failures"].as_array().is_some_and(|all| all.len() == 2)
    });
    let told = place.run(&["explain", id]).code(0).stdout;
    for said in [&format!("tenure claim enqueue {id}"), "2 attempts, 1 failed since it was made ready again"]
    {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert_eq!(server.stop().0, Some(0));
}
