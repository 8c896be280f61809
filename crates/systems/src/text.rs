//! What stands in a text: sentences, dates, quantities, names, each with the bytes where it was found.
//!
//! For English first; dates, amounts and sentences of some neighbours are known too. Everything is read in one pass over words and
//! numbers, so time grows with the text and not faster, and no text of any script makes it fail. What is
//! ambiguous is not guessed: `03/04/2024` is no date here.

pub mod date;
pub(crate) mod lists;
pub mod name;
pub mod quantity;
pub mod sentence;
pub mod token;

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub use date::Date;
pub use name::{Name, NameKind};
pub use quantity::{Quantity, Unit};
pub use sentence::{Sentence, SentenceKind};
pub use token::Tokens;

/// Something in a text, and the bytes where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found<T> {
    pub range: Range<usize>,
    pub value: T,
}

/// Composed as Unicode's NFC says. A text that is so already is not copied.
pub fn nfc(text: &str) -> Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

/// In the order of the text; none overlaps another.
pub fn sentences(text: &str) -> Vec<Sentence> {
    sentence::split(&Tokens::of(text))
}

/// In the order of the text; none overlaps another.
pub fn dates(text: &str) -> Vec<Found<Date>> {
    date::find(&Tokens::of(text))
}

/// Numbers with their units, without those of dates. In the order of the text; none overlaps another.
pub fn quantities(text: &str) -> Vec<Found<Quantity>> {
    let tokens = Tokens::of(text);
    quantity::find(&tokens, &date::find(&tokens))
}

/// In the order of the text; none overlaps another.
pub fn names(text: &str) -> Vec<Found<Name>> {
    let tokens = Tokens::of(text);
    name::find(&tokens, &sentence::split(&tokens))
}
