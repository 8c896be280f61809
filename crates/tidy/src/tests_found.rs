//! Finds the tests and the requirements each of them names.
//!
//! In Rust a test is a function under `#[test]`, `#[tokio::test]` or `#[rstest]`, wherever it stands: in a module, or in
//! the braces of a macro such as `proptest!`. Its ids stand
//!
//! ```text
//!     // covers: K-12, J-06           above it, attributes and doc comments between
//!     #[test]
//!     fn k_20_a_sentence() {          in its name
//!         // covers: K-21…K-23        or first thing inside
//! ```
//!
//! A list that ends with a comma goes on in the next comment. In other languages any comment `covers: …` counts, named
//! by its file and line. A `covers:` above something that is no test is a complaint: coverage is never lost in silence.

use crate::id::{self, Named};
use crate::source::{Located, Token, attribute, tokens};

/// A test and what it says it covers.
#[derive(Debug, PartialEq, Eq)]
pub struct Test {
    /// `tenure_core::lease::tests::an_expired_worker_cannot_commit`, or `dashboard/tests/list.ts:12`.
    pub name: String,
    pub covers: Vec<Named>,
}

/// Everything one file or the whole tree says.
#[derive(Debug, Default)]
pub struct Found {
    pub tests: Vec<Test>,
    /// Comments that can not be read, each with its place.
    pub complaints: Vec<String>,
}

impl Found {
    pub fn extend(&mut self, other: Found) {
        self.tests.extend(other.tests);
        self.complaints.extend(other.complaints);
    }
}

/// The tests of one Rust file; `module` is the path its names begin with.
pub fn in_rust(path: &str, module: &str, text: &str) -> Found {
    let tokens = tokens(text);
    let mut walk = Walk {
        path,
        tokens: &tokens,
        modules: vec![(module, 0)],
        depth: 0,
        above: Above::default(),
        found: Found::default(),
    };
    walk.run();
    walk.found
}

/// What stands above the item that comes next.
#[derive(Default)]
struct Above {
    is_test: bool,
    covers: Vec<Named>,
    /// Line of the first `covers:`, for the complaint when no test follows.
    line: Option<usize>,
}

struct Walk<'a> {
    path: &'a str,
    tokens: &'a [Located<'a>],
    /// The modules we are in, each with the brace depth at which it ends.
    modules: Vec<(&'a str, usize)>,
    depth: usize,
    above: Above,
    found: Found,
}

impl<'a> Walk<'a> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(located) = self.tokens.get(at) {
            at = match located.token {
                Token::Comment(_) => self.comment(at),
                Token::Mark('#') => self.attribute(at),
                Token::Word("async" | "unsafe" | "pub") => at + 1,
                Token::Word("fn") => self.function(at),
                Token::Word("mod") => self.module(at),
                Token::Word(_) | Token::Mark(_) | Token::Literal => self.other(at),
            };
        }
        self.no_test_follows();
    }

    fn attribute(&mut self, at: usize) -> usize {
        match attribute(self.tokens, at) {
            Some(attribute) => {
                self.above.is_test |= attribute.marks_a_test();
                attribute.end
            }
            None => self.other(at),
        }
    }

    fn comment(&mut self, at: usize) -> usize {
        let (list, next) = covers_comment(self.tokens, at);
        if let Some(list) = list {
            let line = self.tokens[at].line;
            self.above.line.get_or_insert(line);
            match read_list(&list) {
                Ok(named) => self.above.covers.extend(named),
                Err(complaint) => self.complain(line, &complaint),
            }
        }
        next
    }

    fn function(&mut self, at: usize) -> usize {
        let Some(&Token::Word(name)) = self.tokens.get(at + 1).map(|next| &next.token) else {
            return self.other(at);
        };
        if !self.above.is_test {
            return self.other(at);
        }
        let mut next = at + 2;
        while let Some(located) = self.tokens.get(next)
            && !matches!(located.token, Token::Mark('{'))
        {
            next += 1;
        }
        self.depth += 1;
        next += 1;
        while let Some(Token::Comment(_)) = self.tokens.get(next).map(|located| located.token) {
            next = self.comment(next);
        }
        let mut covers = std::mem::take(&mut self.above).covers;
        covers.extend(id::in_test_name(name).into_iter().map(Named::One));
        let modules = self.modules.iter().map(|(module, _)| *module).filter(|module| !module.is_empty());
        let name = modules.chain([name]).collect::<Vec<_>>().join("::");
        self.found.tests.push(Test { name, covers });
        next
    }

    fn module(&mut self, at: usize) -> usize {
        self.no_test_follows();
        let name = self.tokens.get(at + 1).map(|located| located.token);
        let open = self.tokens.get(at + 2).map(|located| located.token);
        if let (Some(Token::Word(name)), Some(Token::Mark('{'))) = (name, open) {
            self.modules.push((name, self.depth));
            self.depth += 1;
            return at + 3;
        }
        at + 1
    }

    fn other(&mut self, at: usize) -> usize {
        self.no_test_follows();
        match self.tokens[at].token {
            Token::Mark('{') => self.depth += 1,
            Token::Mark('}') => {
                self.depth = self.depth.saturating_sub(1);
                if self.modules.len() > 1 && self.modules.last().is_some_and(|(_, end)| *end == self.depth) {
                    self.modules.pop();
                }
            }
            Token::Word(_) | Token::Mark(_) | Token::Comment(_) | Token::Literal => {}
        }
        at + 1
    }

    fn no_test_follows(&mut self) {
        if let Some(line) = std::mem::take(&mut self.above).line {
            self.complain(line, "this `covers:` stands above no test");
        }
    }

    fn complain(&mut self, line: usize, complaint: &str) {
        self.found.complaints.push(format!("{}:{line}: {complaint}", self.path));
    }
}

/// The list of the `covers:` comment at `at`, if it is one, with the comments it goes on in; and the token after.
fn covers_comment(tokens: &[Located<'_>], at: usize) -> (Option<String>, usize) {
    let text = |index: usize| match tokens.get(index)?.token {
        Token::Comment(comment) => Some(comment.trim_start_matches(['/', '!']).trim()),
        Token::Word(_) | Token::Mark(_) | Token::Literal => None,
    };
    let Some(list) = text(at).and_then(|comment| comment.strip_prefix("covers:")) else {
        return (None, at + 1);
    };
    let mut list = list.to_string();
    let mut next = at + 1;
    while list.ends_with(',')
        && let Some(more) = text(next)
    {
        list.push_str(more);
        next += 1;
    }
    (Some(list), next)
}

/// A test names rules one by one: a whole group says nothing about what it checks.
fn read_list(list: &str) -> Result<Vec<Named>, String> {
    let named = id::parse_list(list)?;
    if named.is_empty() {
        return Err("`covers:` names nothing".to_string());
    }
    match named.iter().find(|named| matches!(named, Named::Group(_))) {
        Some(group) => Err(format!("a test covers rules, not the whole group {group}")),
        None => Ok(named),
    }
}

/// The `covers:` comments of a shell, Python, TypeScript or JavaScript test, each a test named `file:line`.
pub fn in_script(path: &str, text: &str) -> Found {
    let mut found = Found::default();
    for (line, content) in (1..).zip(text.lines()) {
        let Some(list) = ["# covers:", "// covers:"].iter().find_map(|mark| content.split_once(mark)) else {
            continue;
        };
        match read_list(list.1) {
            Ok(covers) => found.tests.push(Test { name: format!("{path}:{line}"), covers }),
            Err(complaint) => found.complaints.push(format!("{path}:{line}: {complaint}")),
        }
    }
    found
}

#[cfg(test)]
mod tests;
