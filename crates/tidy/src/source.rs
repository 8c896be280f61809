//! Rust source as a row of tokens: enough to tell code from text, not a parser.
//!
//! Strings become [`Token::Literal`], so a test that holds source in a string is not mistaken for that source. Line
//! comments are kept, because `covers:` lives there; block comments are dropped. What the compiler would refuse is read
//! somehow and without a panic: the compiler runs first.

/// One token and the line it starts on, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located<'a> {
    pub line: usize,
    pub token: Token<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// A name or keyword; `r#fn` reads as `fn`.
    Word(&'a str),
    /// One character of punctuation, so `::` is two marks.
    Mark(char),
    /// A line comment with its slashes.
    Comment(&'a str),
    /// A string, character or number, whatever is in it.
    Literal,
}

/// An attribute such as `#[tokio::test(flavor = "…")]` or `#![no_std]`.
#[derive(Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// `["tokio", "test"]`
    pub path: Vec<&'a str>,
    /// Every word after the path: `["flavor"]`.
    pub arguments: Vec<&'a str>,
    /// Index of the first token after it.
    pub end: usize,
}

impl Attribute<'_> {
    /// Whether the item under it is a test: `#[test]`, `#[tokio::test]`, `#[rstest]`.
    pub fn marks_a_test(&self) -> bool {
        matches!(self.path.last(), Some(&("test" | "rstest")))
    }

    /// Whether the item under it exists in test builds only: `#[cfg(test)]`, `#[cfg(all(test, unix))]`.
    pub fn limits_to_tests(&self) -> bool {
        self.path == ["cfg"] && self.arguments.contains(&"test") && !self.arguments.contains(&"not")
    }
}

/// The attribute whose `#` stands at `at`, if one does.
pub fn attribute<'a>(tokens: &[Located<'a>], at: usize) -> Option<Attribute<'a>> {
    let mark = |index: usize| match tokens.get(index)?.token {
        Token::Mark(mark) => Some(mark),
        Token::Word(_) | Token::Comment(_) | Token::Literal => None,
    };
    if mark(at)? != '#' {
        return None;
    }
    let open = if mark(at + 1)? == '!' { at + 2 } else { at + 1 };
    if mark(open)? != '[' {
        return None;
    }
    let mut found = Attribute { path: Vec::new(), arguments: Vec::new(), end: tokens.len() };
    let mut in_path = true;
    let mut depth = 0;
    for (index, located) in tokens.iter().enumerate().skip(open) {
        match located.token {
            Token::Mark('[') => depth += 1,
            Token::Mark(']') => depth -= 1,
            Token::Mark('(' | '=') => in_path = false,
            Token::Word(word) if in_path => found.path.push(word),
            Token::Word(word) => found.arguments.push(word),
            Token::Mark(_) | Token::Comment(_) | Token::Literal => {}
        }
        if depth == 0 {
            found.end = index + 1;
            break;
        }
    }
    Some(found)
}

pub fn tokens(text: &str) -> Vec<Located<'_>> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut found = Vec::new();
    while let Some(first) = lexer.rest.chars().next() {
        let line = lexer.line;
        if let Some(token) = lexer.token(first) {
            found.push(Located { line, token });
        }
    }
    found
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    /// Takes at least one character; space and block comments take theirs and give no token.
    fn token(&mut self, first: char) -> Option<Token<'a>> {
        if first.is_whitespace() {
            self.take(first.len_utf8());
            return None;
        }
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            return Some(Token::Comment(self.take(end)));
        }
        if self.rest.starts_with("/*") {
            let end = block_comment_end(self.rest);
            self.take(end);
            return None;
        }
        if let Some(end) = literal_end(self.rest) {
            self.take(end);
            return Some(Token::Literal);
        }
        if first.is_alphabetic() || first == '_' {
            if self.rest.starts_with("r#") {
                self.take(2);
            }
            let end = word_end(self.rest);
            return Some(Token::Word(self.take(end)));
        }
        self.take(first.len_utf8());
        Some(Token::Mark(first))
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

fn word_end(text: &str) -> usize {
    text.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(text.len())
}

/// Block comments nest in Rust.
fn block_comment_end(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let here = &text[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Where the string, character, lifetime or number at the start of `text` ends; none if something else stands there.
fn literal_end(text: &str) -> Option<usize> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return Some(word_end(text));
    }
    let prefix = usize::from(text.starts_with(['b', 'c']));
    let body = &text[prefix..];
    if let Some(after_r) = body.strip_prefix('r') {
        let hashes = after_r.len() - after_r.trim_start_matches('#').len();
        if after_r[hashes..].starts_with('"') {
            let open = prefix + 1 + hashes + 1;
            let close = format!("\"{}", "#".repeat(hashes));
            return Some(text[open..].find(&close).map_or(text.len(), |at| open + at + close.len()));
        }
    }
    if body.starts_with('"') {
        return Some(prefix + quoted_end(body, '"'));
    }
    let after_quote = body.strip_prefix('\'')?;
    let mut after = after_quote.chars();
    let is_character = after.next() == Some('\\') || after.next() == Some('\'');
    Some(prefix + if is_character { quoted_end(body, '\'') } else { 1 + word_end(after_quote) })
}

fn quoted_end(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, next) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if next == '\\' {
            escaped = true;
        } else if next == quote {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let show = |located: &Located| match located.token {
            Token::Word(word) => word.to_string(),
            Token::Mark(mark) => mark.to_string(),
            Token::Comment(comment) => format!("<{comment}>"),
            Token::Literal => "_".to_string(),
        };
        tokens(text).iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn text_is_never_taken_for_code() {
        for (text, expected) in [
            (r#"let a = "dbg!(1)";"#, "let a = _ ;"),
            (r#"("a\"// b", 'c', '"', '\'', b'"')"#, "( _ , _ , _ , _ , _ )"),
            ("r#\"a \" // b\"# c", "_ c"),
            ("br\"a\" c\"b\" r\"\\\" d", "_ _ _ d"),
            ("fn a<'long>(b: &'long str) {}", "fn a < _ > ( b : & _ str ) { }"),
            ("a /* b /* c */ d */ e", "a e"),
            ("0..10 1_000u64 0xff", "_ . . _ _ _"),
            ("r#fn crate", "fn crate"),
            ("a // b \"c\n\"d // e\" f", "a <// b \"c> _ f"),
            ("'é' 'a 'b'", "_ _ _"),
            ("\"never closed", "_"),
            ("/* never closed", ""),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let lines: Vec<usize> =
            tokens("a\n\"b\nc\" d\n/* e\n */ f // g\nh").iter().map(|it| it.line).collect();
        assert_eq!(lines, [1, 2, 3, 5, 5, 6]);
    }

    #[test]
    fn an_attribute_is_a_path_and_its_words() {
        let tokens = tokens("#[tokio::test(flavor = \"multi\", worker_threads = 2)] async fn a() {}");
        let found = attribute(&tokens, 0).expect("an attribute");
        assert_eq!(
            (found.path.as_slice(), found.arguments.as_slice()),
            (&["tokio", "test"][..], &["flavor", "worker_threads"][..])
        );
        assert_eq!(tokens[found.end].token, Token::Word("async"));
    }

    #[test]
    fn attributes_of_tests_are_told_from_others() {
        for (text, marks, limits) in [
            ("#[test]", true, false),
            ("#[tokio::test]", true, false),
            ("#[rstest]", true, false),
            ("#[cfg(test)]", false, true),
            ("#[cfg(all(test, unix))]", false, true),
            ("#[cfg(not(test))]", false, false),
            ("#[allow(dead_code)]", false, false),
            ("#![no_std]", false, false),
        ] {
            let tokens = tokens(text);
            let found = attribute(&tokens, 0).expect("an attribute");
            assert_eq!((found.marks_a_test(), found.limits_to_tests()), (marks, limits), "{text}");
        }
    }
}
