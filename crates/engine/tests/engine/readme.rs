//! The program in the README, as it is printed. A doc test of the library compiles it; this test compares it with the lines that it needs in
//! `Cargo.toml`.

const README: &str = include_str!("../../../../README.md");

/// The first block of the README in this language.
fn block(language: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("```{language}\n")).expect("the README has such a block");
    rest.split_once("\n```").expect("the block ends").0
}

#[test]
fn the_readme_names_the_dependencies_of_its_program() {
    let (dependencies, program) = (block("toml"), block("rust,no_run"));
    let line = |name: &str| {
        let found = dependencies.lines().find(|line| line.starts_with(&format!("{name} = ")));
        found.unwrap_or_else(|| panic!("no dependency on {name}: {dependencies}"))
    };
    let used = program.lines().filter_map(|line| line.strip_prefix("use ")?.split("::").next());
    let used: Vec<&str> = used.filter(|name| *name != "std").collect();
    assert_eq!(used, ["tenure"]);
    let folder = line("tenure").split('"').nth(1).expect("a path");
    let end = folder.rsplit('/').take(2).collect::<Vec<_>>();
    assert_eq!(end, ["engine", "crates"], "{folder} is the folder of this library");
    assert!(env!("CARGO_MANIFEST_DIR").ends_with("crates/engine") && env!("CARGO_PKG_NAME") == "tenure");
    assert!(program.contains("#[tokio::main]\nasync fn main()"), "{program}");
    for feature in ["\"macros\"", "\"rt-multi-thread\""] {
        assert!(line("tokio").contains(feature), "`#[tokio::main]` needs {feature}");
    }
}
