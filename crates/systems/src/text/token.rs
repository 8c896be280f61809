//! A text as words, numbers and marks, each with the bytes where it stands. Everything else here reads these and never the
//! characters, looks a bounded number of them ahead, and so takes time in proportion to the text.

use std::ops::Range;

use super::lists::Words;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub range: Range<usize>,
    pub kind: Kind,
    /// No space before it.
    pub glued: bool,
    /// Line breaks before it.
    pub breaks: usize,
    /// Of its letters in lower case: words are looked up in many lists, and hashed once.
    hash: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Letters, then letters, digits and apostrophes: `Q2`, `don't`.
    Word,
    /// Digits, with separators that have a digit on both sides: `1,200.50`, `04.03.2024`.
    Number,
    Mark(char),
}

/// Spaces that stand between the digits of one number.
const DIGIT_SPACES: [char; 3] = ['\u{a0}', '\u{2009}', '\u{202f}'];

/// A text and its tokens.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    pub text: &'a str,
    pub all: Vec<Token>,
}

impl<'a> Tokens<'a> {
    pub fn of(text: &'a str) -> Tokens<'a> {
        // A word and its space are six letters in most languages.
        let mut all = Vec::with_capacity(text.len() / 5 + 2);
        let mut characters = text.char_indices().peekable();
        let (mut glued, mut breaks) = (false, 0);
        while let Some(&(at, first)) = characters.peek() {
            if first.is_whitespace() {
                (glued, breaks) = (false, breaks + usize::from(first == '\n'));
                characters.next();
                continue;
            }
            let rest = &text[at..];
            let (kind, length) = if first.is_ascii_digit() {
                (Kind::Number, number_length(rest))
            } else if first.is_alphabetic() {
                (Kind::Word, word_length(rest))
            } else {
                (Kind::Mark(first), first.len_utf8())
            };
            let hash = if kind == Kind::Word { hash(&rest[..length]) } else { 0 };
            all.push(Token { range: at..at + length, kind, glued, breaks, hash });
            while characters.next_if(|(next, _)| *next < at + length).is_some() {}
            (glued, breaks) = (true, 0);
        }
        Tokens { text, all }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, at: usize) -> Option<&Token> {
        self.all.get(at)
    }

    /// What stands there; nothing beyond the end.
    pub fn str(&self, at: usize) -> &'a str {
        self.all.get(at).map_or("", |token| &self.text[token.range.clone()])
    }

    /// The word that stands there; nothing if it is none.
    pub fn word(&self, at: usize) -> &'a str {
        match self.all.get(at) {
            Some(Token { kind: Kind::Word, .. }) => self.str(at),
            _ => "",
        }
    }

    pub fn number(&self, at: usize) -> Option<&'a str> {
        matches!(self.all.get(at), Some(Token { kind: Kind::Number, .. })).then(|| self.str(at))
    }

    pub fn mark(&self, at: usize) -> Option<char> {
        match self.all.get(at)?.kind {
            Kind::Mark(mark) => Some(mark),
            Kind::Word | Kind::Number => None,
        }
    }

    pub fn is_glued(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|token| token.glued)
    }

    /// The bytes from one token to another, without the last.
    pub fn bytes(&self, tokens: Range<usize>) -> Range<usize> {
        match (self.all.get(tokens.start), tokens.end.checked_sub(1).and_then(|last| self.all.get(last))) {
            (Some(first), Some(last)) if tokens.start < tokens.end => first.range.start..last.range.end,
            _ => 0..0,
        }
    }

    pub fn span(&self, tokens: Range<usize>) -> &'a str {
        &self.text[self.bytes(tokens)]
    }

    /// The first token at or after this byte.
    pub fn at_byte(&self, byte: usize) -> usize {
        self.all.partition_point(|token| token.range.start < byte)
    }

    pub fn is_capital(&self, at: usize) -> bool {
        self.word(at).starts_with(char::is_uppercase)
    }

    /// Whether a list has the word that stands there, in whatever case it is written.
    pub fn is_one_of(&self, at: usize, list: &Words) -> bool {
        match self.all.get(at) {
            Some(Token { kind: Kind::Word, hash, .. }) => list.holds(self.str(at), *hash),
            _ => false,
        }
    }

    /// The same for a few words.
    pub fn is_any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    pub fn is(&self, at: usize, word: &str) -> bool {
        self.word(at).eq_ignore_ascii_case(word)
    }
}

fn word_length(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let mut next_is_letter = || characters.peek().is_some_and(|(_, next)| next.is_alphabetic());
        let goes_on = character.is_alphanumeric()
            || is_combining(character)
            || (matches!(character, '\'' | '’') && next_is_letter());
        if !goes_on {
            return at;
        }
    }
    text.len()
}

/// Accents that stand after their letter, in texts that nobody composed.
fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}')
}

fn number_length(text: &str) -> usize {
    for (at, character) in text.char_indices() {
        let after = |count: usize| text[at + character.len_utf8()..].bytes().take(count);
        let joins = match character {
            '0'..='9' => true,
            '.' | ',' | '\'' | '’' => after(1).any(|next| next.is_ascii_digit()),
            _ if DIGIT_SPACES.contains(&character) => {
                after(3).filter(u8::is_ascii_digit).count() == 3
                    && !after(4).nth(3).is_some_and(|next| next.is_ascii_digit())
            }
            _ => false,
        };
        if !joins {
            return at;
        }
    }
    text.len()
}

/// FNV-1a of a word in lower case.
pub(super) fn hash(word: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let start = 0x811c_9dc5;
    match word.is_ascii() {
        true => word.bytes().map(|byte| byte.to_ascii_lowercase()).fold(start, step),
        false => word.to_lowercase().bytes().fold(start, step),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let tokens = Tokens::of(text);
        let found: Vec<&str> = (0..tokens.len()).map(|at| tokens.str(at)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn numbers_keep_their_separators_and_nothing_behind_them() {
        check("It cost $1,200.50, then 3.", &["It", "cost", "$", "1,200.50", ",", "then", "3", "."]);
        check("am 04.03.2024.", &["am", "04.03.2024", "."]);
        check("1\u{202f}200\u{a0}000 km", &["1\u{202f}200\u{a0}000", "km"]);
        check("12\u{a0}5000", &["12", "5000"]);
        check("5km Q2 COVID-19", &["5", "km", "Q2", "COVID", "-", "19"]);
    }

    #[test]
    fn words_keep_their_apostrophes() {
        check("don't O’Neill's dogs' 'x'", &["don't", "O’Neill's", "dogs", "'", "'", "x", "'"]);
        check("e\u{301}te\u{301} Ωmega", &["e\u{301}te\u{301}", "Ωmega"]);
    }
}
