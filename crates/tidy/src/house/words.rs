//! Words that do not stay in the code: unfinished places, skipped tests, tests that wait by sleeping.
//!
//! Text in strings and comments may say them. A test moves a clock or waits on a signal; sleeping makes it slow on a
//! fast machine and wrong on a slow one.

use crate::source::{Located, Token, attribute, tokens};

const UNFINISHED: [&str; 3] = ["dbg", "todo", "unimplemented"];

pub fn in_file(path: &str, text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let whole_file_is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    let mut test_until = if whole_file_is_test { tokens.len() } else { 0 };
    let mut failures = Vec::new();
    let mut fail = |at: usize, what: &str| failures.push(format!("{path}:{}: {what}", tokens[at].line));
    for at in 0..tokens.len() {
        if let Some(attribute) = attribute(&tokens, at) {
            let ignores = attribute.path == ["ignore"]
                || (attribute.path == ["cfg_attr"] && attribute.arguments.contains(&"ignore"));
            if ignores {
                fail(at, "a test is never skipped: delete it or make it pass");
            }
            if attribute.limits_to_tests() {
                test_until = test_until.max(item_end(&tokens, attribute.end));
            }
        }
        if let (Token::Word(word), Some(Token::Mark('!'))) = (tokens[at].token, token(&tokens, at + 1))
            && UNFINISHED.contains(&word)
        {
            fail(at, &format!("`{word}!` does not stay in the code"));
        }
        if at < test_until && is_sleep(&tokens, at) {
            fail(at, "a test does not sleep: move a clock or wait on a signal");
        }
    }
    failures
}

fn token<'a>(tokens: &[Located<'a>], at: usize) -> Option<Token<'a>> {
    tokens.get(at).map(|located| located.token)
}

/// `thread::sleep` or `time::sleep`, called or imported.
fn is_sleep(tokens: &[Located<'_>], at: usize) -> bool {
    matches!(token(tokens, at), Some(Token::Word("thread" | "time")))
        && token(tokens, at + 1) == Some(Token::Mark(':'))
        && token(tokens, at + 2) == Some(Token::Mark(':'))
        && matches!(token(tokens, at + 3), Some(Token::Word("sleep" | "sleep_until" | "sleep_ms")))
}

/// Where the item that starts at `at` ends: at its closing brace, or at a semicolon before any brace.
fn item_end(tokens: &[Located<'_>], at: usize) -> usize {
    let mut depth = 0;
    for (index, located) in tokens.iter().enumerate().skip(at) {
        match located.token {
            Token::Mark('{') => depth += 1,
            Token::Mark('}') if depth <= 1 => return index + 1,
            Token::Mark('}') => depth -= 1,
            Token::Mark(';') if depth == 0 => return index + 1,
            Token::Mark(_) | Token::Word(_) | Token::Comment(_) | Token::Literal => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, lines: &[usize]) {
        let found: Vec<String> =
            in_file(path, text).iter().filter_map(|it| it.split(':').nth(1).map(str::to_string)).collect();
        let expected: Vec<String> = lines.iter().map(usize::to_string).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn unfinished_places_are_found_in_code_only() {
        check("src/a.rs", "fn a() {\n    dbg!(1);\n    todo!();\n    unimplemented!(\"x\")\n}", &[2, 3, 4]);
        check("src/a.rs", "// todo!()\nconst A: &str = \"dbg!(1)\";\nfn todo() {}", &[]);
    }

    #[test]
    fn skipped_tests_are_found() {
        check("src/a.rs", "#[test]\n#[ignore]\nfn a() {}", &[2]);
        check("src/a.rs", "#[ignore = \"slow\"]\nfn a() {}", &[1]);
        check("src/a.rs", "#[cfg_attr(windows, ignore)]\nfn a() {}", &[1]);
        check("src/a.rs", "#[allow(clippy::ignore)]\nfn ignore() {}", &[]);
    }

    #[test]
    fn tests_that_sleep_are_found() {
        let sleeps = "fn a() {\n    std::thread::sleep(SECOND);\n    tokio::time::sleep(SECOND);\n}";
        check("crates/a/tests/b.rs", sleeps, &[2, 3]);
        check("crates/a/src/b/tests.rs", sleeps, &[2, 3]);
        check("crates/a/src/b.rs", &format!("#[cfg(test)]\nmod tests {{\n{sleeps}\n}}"), &[4, 5]);
    }

    #[test]
    fn sleeping_outside_tests_is_not_judged_here() {
        let sleeps = "fn a() { std::thread::sleep(SECOND); }";
        check("crates/a/src/b.rs", sleeps, &[]);
        check("crates/a/src/b.rs", &format!("#[cfg(test)]\nmod tests {{ fn b() {{}} }}\n{sleeps}"), &[]);
        check("crates/a/src/b.rs", &format!("#[cfg(test)]\nmod tests;\n{sleeps}"), &[]);
    }
}
