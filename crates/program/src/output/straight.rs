//! Styles in a table. Whoever lays it out counts what stands in a cell, so that there a style is one letter without a width, and becomes
//! the escapes again when all columns stand under each other.

/// The first of 240 letters without a width, which nobody writes by themselves: variation selectors for rare glyphs.
const FIRST: u32 = 0xE0100;
const LETTERS: usize = 240;
const ESCAPE: char = '\x1b';

/// The styles that were met, by the letters that stand for them.
#[derive(Debug, Default)]
pub struct Styles(Vec<String>);

impl Styles {
    /// The cell with letters for its escapes. A style ends with each word and begins again with the next: where a cell wraps, it
    /// colours nothing beside it.
    pub fn hide(&mut self, cell: &str) -> String {
        let (mut hidden, mut open, mut rest) = (String::with_capacity(cell.len()), None, cell);
        while let Some(letter) = rest.chars().next() {
            if let Some(style) = style(rest) {
                let of = self.letter(style);
                open = (!is_reset(style)).then_some(of).flatten();
                hidden.extend(of);
                rest = &rest[style.len()..];
                continue;
            }
            match (letter, open) {
                (' ', Some(_)) => {
                    hidden.extend(self.letter("\x1b[0m"));
                    hidden.push(' ');
                    hidden.extend(open);
                }
                _ => hidden.push(letter),
            }
            rest = &rest[letter.len_utf8()..];
        }
        hidden
    }

    pub fn show(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for letter in text.chars() {
            match number(letter).and_then(|number| self.0.get(number)) {
                Some(style) => shown.push_str(style),
                None => shown.push(letter),
            }
        }
        shown
    }

    /// None: more styles than anybody can tell apart. The cell goes without.
    fn letter(&mut self, style: &str) -> Option<char> {
        let at = self.0.iter().position(|known| known == style).unwrap_or_else(|| {
            self.0.push(style.to_string());
            self.0.len() - 1
        });
        (at < LETTERS).then(|| char::from_u32(FIRST + at as u32)).flatten()
    }
}

/// How many columns a hidden cell takes, as far as letters have one each.
pub fn width(hidden: &str) -> usize {
    hidden.chars().filter(|letter| number(*letter).is_none()).count()
}

/// A hidden cell with a dot for what is too much. Styles take no room and stay, so that none is left open.
pub fn cut(hidden: &str, width: usize) -> String {
    let mut left = width;
    let kept = hidden.chars().filter_map(|letter| match (number(letter), left) {
        (Some(_), _) => Some(letter),
        (None, 0) => None,
        (None, _) => {
            left -= 1;
            Some(if left == 0 { '…' } else { letter })
        }
    });
    kept.collect()
}

fn number(letter: char) -> Option<usize> {
    let number = (letter as u32).checked_sub(FIRST)? as usize;
    (number < LETTERS).then_some(number)
}

/// The style that a text begins with: one escape or several, each `ESC [ … m`.
fn style(text: &str) -> Option<&str> {
    let mut end = 0;
    while let Some(escape) = escape(&text[end..]) {
        end += escape.len();
    }
    (end > 0).then(|| &text[..end])
}

fn escape(text: &str) -> Option<&str> {
    let inner = text.strip_prefix(ESCAPE)?.strip_prefix('[')?;
    let end = inner.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    inner[end..].starts_with('m').then(|| &text[..end + 3])
}

fn is_reset(style: &str) -> bool {
    style.ends_with("\x1b[0m") || style.ends_with("\x1b[m")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{GOOD, NOTE, styled};

    #[test]
    fn a_style_takes_no_room_and_comes_back_as_it_was() {
        let mut styles = Styles::default();
        let cell = styled(GOOD, "Verified");
        let hidden = styles.hide(&cell);
        assert_eq!((width(&hidden), hidden.contains(ESCAPE)), (8, false));
        assert_eq!(styles.show(&hidden), cell);
        assert_eq!(styles.hide("plain text"), "plain text");
    }

    #[test]
    fn what_is_cut_keeps_its_style_and_ends_it() {
        let mut styles = Styles::default();
        let hidden = styles.hide(&styled(GOOD, "Verified"));
        assert_eq!(styles.show(&cut(&hidden, 5)), styled(GOOD, "Veri…"));
    }

    #[test]
    fn a_style_ends_with_each_word() {
        let mut styles = Styles::default();
        let shown = styles.hide(&styled(NOTE, "Verified, stale"));
        assert_eq!(styles.show(&shown), format!("{} {}", styled(NOTE, "Verified,"), styled(NOTE, "stale")));
        assert_eq!(width(&shown), 15);
    }
}
