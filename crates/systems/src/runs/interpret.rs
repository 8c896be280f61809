//! The step `interpret`: what a text is about, as far as its form tells: title, language, sections, tables, dates, amounts,
//! percentages, names, and what stands behind a colon. It reads what `extract` made and guesses nothing that is ambiguous.
//!
//! Before that it looks at the text itself. One that nobody could read fails with `LOW_QUALITY`, and says why, instead of going on
//! as if it had said something.

mod found;
mod language;
mod pairs;
mod quality;
mod sections;
mod tables;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::builtin::{never, over};
use super::extract::{Block, Extract, Extracted, Kind};
use super::sniff;
use super::step::{Input, Step, StepFailed, Stepping};
use crate::text::dates;
use found::Guessing;
pub use found::{Found, Item, Measured, Named};
pub use language::Language;
pub use pairs::Pair;
pub use quality::Quality;
pub use sections::Section;
pub use tables::{Column, Table, Type};

/// The text is not good enough to be interpreted.
pub const LOW_QUALITY: &str = "LOW_QUALITY";
/// The step before is missing from the pipeline.
pub const NOT_EXTRACTED: &str = "NOT_EXTRACTED";
/// A title fits two lines.
const TITLE_CHARS_MAX: usize = 160;
/// Titles stand at the beginning.
const TITLE_WITHIN_BLOCKS: usize = 20;

/// The step.
#[derive(Clone, Copy, Debug)]
pub struct Interpret;

impl Interpret {
    pub const NAME: &str = "interpret";
}

impl Step for Interpret {
    fn name(&self) -> &str {
        Interpret::NAME
    }

    fn run(&self, input: Input) -> Stepping {
        Box::pin(async move {
            let Some(extracted) = input.made.get(Extract::NAME) else {
                return Err(never(NOT_EXTRACTED, "the step extract has to come before this one"));
            };
            let extracted = Extracted::deserialize(extracted).map_err(|why| {
                never(NOT_EXTRACTED, format!("what the step extract made is not what it makes: {why}"))
            })?;
            // One pass over a bounded text, and `stop` is heard with every block: a thread of the runtime's is good enough.
            let stop = input.stop.clone();
            let interpreting = tokio::task::spawn_blocking(move || {
                let interpreted = interpret(&extracted, stop)?;
                Ok(serde_json::to_value(interpreted).expect("texts and numbers are JSON"))
            });
            interpreting.await.unwrap_or_else(|why| Err(never("FAILED", why.to_string())))
        })
    }
}

/// What a text is about.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Interpreted {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    pub sections: Vec<Section>,
    pub tables: Vec<Table>,
    pub pairs: Vec<Pair>,
    #[serde(flatten)]
    pub found: Found,
    pub quality: Quality,
}

/// Where something stands: bytes of a block's text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct At {
    pub block: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    pub start: usize,
    pub end: usize,
}

pub fn interpret(extracted: &Extracted, stop: watch::Receiver<bool>) -> Result<Interpreted, StepFailed> {
    let quality = Quality::of(extracted);
    if let Some(why) = quality.too_low() {
        return Err(never(LOW_QUALITY, why));
    }
    let mut interpreted = Interpreted {
        title: title(extracted),
        language: language::of(extracted),
        sections: sections::of(&extracted.blocks),
        tables: Vec::new(),
        pairs: Vec::new(),
        found: Found::default(),
        quality,
    };
    let english = interpreted.language.as_ref().is_none_or(|language| language.code == "en");
    let guessing = if english { Guessing::Capitals } else { Guessing::Cues };
    for (number, block) in extracted.blocks.iter().enumerate() {
        if *stop.borrow() {
            return Err(over());
        }
        let at = |range: std::ops::Range<usize>| At {
            block: number,
            page: block.page,
            start: range.start,
            end: range.end,
        };
        match block.kind {
            // It says something to a machine.
            Kind::Code => continue,
            Kind::Table => {
                let table = tables::read(number, block);
                pairs::of_table(&table, block, &at, &mut interpreted.pairs);
                interpreted.tables.push(table);
            }
            Kind::Paragraph | Kind::ListItem | Kind::Quote => {
                pairs::of_lines(block, &at, &mut interpreted.pairs)
            }
            Kind::Heading => {}
        }
        interpreted.found.look(block, guessing, &at);
    }
    Ok(interpreted)
}

/// The highest of the first headings, else what the file says of itself, else a first line that can be one.
fn title(extracted: &Extracted) -> Option<String> {
    let first = extracted.blocks.iter().take(TITLE_WITHIN_BLOCKS);
    let data = [sniff::JSON, sniff::CSV].contains(&&extracted.media_type[..]);
    let heading = first.filter(|block| block.kind == Kind::Heading && !data).min_by_key(|block| block.level);
    let said = extracted.metadata.get("title").cloned();
    let line = || {
        let opening = extracted.blocks.first().filter(|block| block.kind == Kind::Paragraph && !data)?;
        let line = &opening.text;
        let sentence = line.ends_with([',', ';', ':', '.', '!', '?']) || line.contains(['\n', ':']);
        // "Munich, 14 February 2024" opens a letter.
        (!sentence && dates(line).is_empty()).then(|| line.clone())
    };
    let title = heading.map(|block: &Block| block.text.clone()).or(said).or_else(line)?;
    (title.chars().count() <= TITLE_CHARS_MAX).then_some(title)
}
