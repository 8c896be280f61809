//! Sources in, `name: ids` lines out.

use super::{Found, in_rust, in_script};

fn shown(found: &Found) -> String {
    let tests = found.tests.iter().map(|test| {
        let ids: Vec<String> = test.covers.iter().map(ToString::to_string).collect();
        format!("{}: {}", test.name, ids.join(" "))
    });
    tests.chain(found.complaints.iter().cloned()).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(shown(&in_rust("lease.rs", "core::lease", source)), expected, "{source}");
}

#[test]
fn ids_stand_above_the_test() {
    check("// covers: K-12, J-06\n#[test]\nfn a() {}", "core::lease::a: K-12 J-06");
    check("/// covers: K-12\n#[test]\nfn a() {}", "core::lease::a: K-12");
}

#[test]
fn attributes_and_comments_may_stand_between() {
    check(
        "// covers: K-12\n/// Why.\n// And how.\n#[cfg(unix)]\n#[test]\n#[should_panic(expected = \"x\")]\nfn a() {}",
        "core::lease::a: K-12",
    );
    check("#[test]\n// covers: K-12\nfn a() {}", "core::lease::a: K-12");
}

#[test]
fn several_comments_add_up_and_a_comma_goes_on() {
    check("// covers: K-12\n// covers: K-13\n#[test]\nfn a() {}", "core::lease::a: K-12 K-13");
    check("// covers: K-12,\n//   K-13\n#[test]\nfn a() {}", "core::lease::a: K-12 K-13");
}

#[test]
fn ids_stand_first_inside_the_test() {
    check("#[test]\nfn a() {\n    // covers: K-10…K-12\n    b();\n}", "core::lease::a: K-10…K-12");
    check(
        "#[test]\nfn a() {\n    b();\n    // covers: K-10\n    c();\n}",
        "core::lease::a: \nlease.rs:4: this `covers:` stands above no test",
    );
}

#[test]
fn ids_stand_in_the_name() {
    check("#[test]\nfn k_12_a_fence_grows() {}", "core::lease::k_12_a_fence_grows: K-12");
}

#[test]
fn asynchronous_and_parametrized_tests_are_tests() {
    check("// covers: K-12\n#[tokio::test(start_paused = true)]\nasync fn a() {}", "core::lease::a: K-12");
    check("// covers: K-12\n#[rstest]\n#[case(1)]\nfn a(#[case] n: u8) {}", "core::lease::a: K-12");
}

#[test]
fn tests_in_macro_braces_are_tests() {
    check(
        "proptest! {\n  #![proptest_config(c())]\n  // covers: K-12\n  #[test]\n  fn a(n in 0..9u8) { b() }\n}",
        "core::lease::a: K-12",
    );
    check("macro_rules! each { ($n:ident) => { #[test] fn $n() {} } }", "");
}

#[test]
fn modules_are_part_of_the_name() {
    check(
        "mod tests {\n #[test]\n fn a() { if b {} }\n mod inner {\n  #[test]\n  fn c() {}\n }\n #[test]\n fn d() {}\n}\n\
         #[test]\nfn e() {}",
        "core::lease::tests::a: \ncore::lease::tests::inner::c: \ncore::lease::tests::d: \ncore::lease::e: ",
    );
}

#[test]
fn a_function_without_a_test_attribute_covers_nothing() {
    check("// covers: K-12\nfn a() {}", "lease.rs:1: this `covers:` stands above no test");
    check("fn k_12_named_like_one() {}", "");
    check("// covers: K-12\n#[cfg(test)]\nmod tests {}", "lease.rs:1: this `covers:` stands above no test");
}

#[test]
fn ids_of_one_test_do_not_reach_the_next() {
    check(
        "// covers: K-12\n#[test]\nfn a() {}\n#[test]\nfn b() {}",
        "core::lease::a: K-12\ncore::lease::b: ",
    );
}

#[test]
fn source_inside_a_string_is_no_test() {
    check("const A: &str = \"// covers: K-12\\n#[test] fn a() {}\";", "");
    check("const A: &str = r#\"\n// covers: K-12\n#[test]\nfn a() {}\n\"#;", "");
}

#[test]
fn what_is_not_an_id_is_complained_about_with_its_line() {
    check(
        "\n// covers: K12\n#[test]\nfn a() {}",
        "core::lease::a: \nlease.rs:2: `K12` is not a requirement id",
    );
    check("// covers:\n#[test]\nfn a() {}", "core::lease::a: \nlease.rs:1: `covers:` names nothing");
    check(
        "// covers: K\n#[test]\nfn a() {}",
        "core::lease::a: \nlease.rs:1: a test covers rules, not the whole group K",
    );
}

#[test]
fn a_script_covers_by_any_comment() {
    let script = "#!/bin/sh\n# covers: K-50\nkill -9 1\n\n  // covers: K-01, K-02\ntest() # covers: K-03\n# uncovers: K-04\n# covers: K4";
    assert_eq!(
        shown(&in_script("tests/kill.sh", script)),
        "tests/kill.sh:2: K-50\ntests/kill.sh:5: K-01 K-02\ntests/kill.sh:6: K-03\n\
         tests/kill.sh:8: `K4` is not a requirement id"
    );
}
