//! The language of a text, by the letters that follow each other in it.

use serde::Serialize;
use whatlang::{Detector, Lang};

use crate::runs::extract::{Extracted, Kind};

/// A language shows in a page; more of it makes no difference.
const LOOKED_AT_BYTES: usize = 16 << 10;
/// In a word or two it does not show.
const LETTERS_MIN: usize = 24;

/// With the tag of BCP 47. The others that there are would be found in short texts where they are not.
const LANGUAGES: [(Lang, &str); 27] = [
    (Lang::Eng, "en"),
    (Lang::Deu, "de"),
    (Lang::Fra, "fr"),
    (Lang::Spa, "es"),
    (Lang::Por, "pt"),
    (Lang::Ita, "it"),
    (Lang::Nld, "nl"),
    (Lang::Pol, "pl"),
    (Lang::Ces, "cs"),
    (Lang::Swe, "sv"),
    (Lang::Dan, "da"),
    (Lang::Nob, "nb"),
    (Lang::Fin, "fi"),
    (Lang::Hun, "hu"),
    (Lang::Ron, "ro"),
    (Lang::Tur, "tr"),
    (Lang::Rus, "ru"),
    (Lang::Ukr, "uk"),
    (Lang::Ell, "el"),
    (Lang::Heb, "he"),
    (Lang::Ara, "ar"),
    (Lang::Hin, "hi"),
    (Lang::Tha, "th"),
    (Lang::Vie, "vi"),
    (Lang::Cmn, "zh"),
    (Lang::Jpn, "ja"),
    (Lang::Kor, "ko"),
];

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Language {
    /// `de`.
    pub code: &'static str,
    /// From 0 to 1, to the hundredth.
    pub confidence: f64,
}

/// Nothing where the text is too short, or is a table of names and numbers.
pub(super) fn of(extracted: &Extracted) -> Option<Language> {
    let mut text = String::new();
    for block in &extracted.blocks {
        match block.kind {
            Kind::Heading | Kind::Paragraph | Kind::ListItem | Kind::Quote
                if text.len() < LOOKED_AT_BYTES =>
            {
                let fits = (0..=LOOKED_AT_BYTES.min(block.text.len()))
                    .rev()
                    .find(|end| block.text.is_char_boundary(*end));
                text.push_str(&block.text[..fits.unwrap_or(0)]);
                text.push('\n');
            }
            Kind::Heading | Kind::Paragraph | Kind::ListItem | Kind::Quote | Kind::Table | Kind::Code => {}
        }
    }
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).map(char::len_utf8).sum::<usize>();
    if letters < LETTERS_MIN {
        return None;
    }
    let allowed = LANGUAGES.iter().map(|(language, _)| *language).collect();
    let info = Detector::with_allowlist(allowed).detect(&text)?;
    let (_, code) = LANGUAGES.iter().find(|(language, _)| *language == info.lang())?;
    Some(Language { code, confidence: (info.confidence() * 100.0).round() / 100.0 })
}
