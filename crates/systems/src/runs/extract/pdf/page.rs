//! What the operators of a page show, piece by piece, and the lines that the pieces make.
//!
//! Pieces are taken in the order in which they are drawn. That is the order of reading for nearly every writer, also in columns, and
//! sorting by place would mix columns up.

use std::collections::BTreeMap;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId};

use super::failed;
use super::font::{Dictionaries, Font, number};
use crate::runs::builtin::never;
use crate::runs::extract::form::{Form, bounded};
use crate::runs::extract::{BROKEN, TOO_LARGE};
use crate::runs::step::StepFailed;

/// Of one document, unpacked: a page of text has some ten KiB, the drawing of a map some MiB.
const CONTENT_BYTES_MAX: usize = 32 << 20;
/// A full page of text has a few thousand.
const OPERATIONS_MAX: usize = 10_000_000;
/// What a font counts as, which is read anew for every page and form that names it.
const FONT_OPERATIONS: usize = 100;
/// Operations: seldom enough to cost nothing.
const STOP_HEARD_EVERY: usize = 1024;
/// A form in a form in a form; one that contains itself ends here.
const FORMS_DEPTH_MAX: u32 = 8;
/// Of the operator that saves them.
const SAVED_MAX: usize = 256;
/// Every cell of a row is held against those of the next.
const COLUMNS_MAX: usize = 64;
/// As a share of the size: the smallest gap that is a space, and the smallest that is no space any more but a column.
const SPACE: f32 = 0.15;
const COLUMN: f32 = 0.85;
/// As a share of the size: what is lower or higher than this is another line. An index or a power is not.
const SAME_LINE: f32 = 0.45;

/// What a document may still use.
pub(super) struct Budget {
    content_bytes: usize,
    operations: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { content_bytes: CONTENT_BYTES_MAX, operations: OPERATIONS_MAX }
    }
}

/// What stands on one line, left to right, and in how many columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub cells: Vec<Cell>,
    pub size: f32,
    pub bold: bool,
    /// Upwards on the page, along the line's own direction.
    pub y: f32,
    direction: (f32, f32),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub start: f32,
    pub end: f32,
    pub text: String,
}

impl Line {
    pub fn text(&self) -> String {
        let cells: Vec<&str> = self.cells.iter().map(|cell| cell.text.trim()).collect();
        cells.join(" ").trim().to_string()
    }

    pub fn end(&self) -> f32 {
        self.cells.last().map_or(0.0, |cell| cell.end)
    }
}

pub(super) fn read(
    document: &Document,
    page: ObjectId,
    budget: &mut Budget,
    form: &Form,
) -> Result<Vec<Line>, StepFailed> {
    let content =
        document.get_page_content_with_limit(page, budget.content_bytes).map_err(|why| match why {
            lopdf::Error::Decompress(_) => {
                never(TOO_LARGE, format!("its pages have more than {CONTENT_BYTES_MAX} bytes when unpacked"))
            }
            other => failed(&other),
        })?;
    budget.content_bytes -= content.len().min(budget.content_bytes);
    let fonts = document.get_page_fonts(page).map_err(|why| failed(&why))?;
    let (own, inherited) = document.get_page_resources(page).map_err(|why| failed(&why))?;
    let inherited = inherited.iter().filter_map(|id| document.get_dictionary(*id).ok());
    let resources: Vec<&Dictionary> = own.into_iter().chain(inherited).collect();
    let mut drawing = Drawing { document, budget, form, lines: Vec::new(), depth: 0 };
    drawing.draw(&content, Dictionaries::of(fonts), &resources, Matrix::ONE)?;
    let mut lines = drawing.lines;
    lines.retain(|line| line.cells.iter().any(|cell| !cell.text.trim().is_empty()));
    Ok(lines)
}

/// `[a b c d e f]` as the format has it.
#[derive(Clone, Copy)]
struct Matrix([f32; 6]);

impl Matrix {
    const ONE: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    fn of(operands: &[Object], document: &Document) -> Matrix {
        let mut matrix = Matrix::ONE;
        for (entry, operand) in matrix.0.iter_mut().zip(operands) {
            *entry = number(operand, document);
        }
        matrix
    }

    fn moved(x: f32, y: f32) -> Matrix {
        Matrix([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// This one first, then the other.
    fn then(self, other: Matrix) -> Matrix {
        let ([a, b, c, d, e, f], [ka, kb, kc, kd, ke, kf]) = (self.0, other.0);
        Matrix([
            a * ka + b * kc,
            a * kb + b * kd,
            c * ka + d * kc,
            c * kb + d * kd,
            e * ka + f * kc + ke,
            e * kb + f * kd + kf,
        ])
    }
}

/// What the operators of text change.
#[derive(Clone)]
struct State {
    placed: Matrix,
    font: Vec<u8>,
    size: f32,
    leading: f32,
    character_space: f32,
    word_space: f32,
    scale: f32,
    rise: f32,
}

struct Drawing<'a, 'b> {
    document: &'a Document,
    budget: &'b mut Budget,
    form: &'b Form,
    lines: Vec<Line>,
    depth: u32,
}

impl Drawing<'_, '_> {
    fn draw(
        &mut self,
        content: &[u8],
        dictionaries: Dictionaries,
        resources: &[&Dictionary],
        placed: Matrix,
    ) -> Result<(), StepFailed> {
        let document = self.document;
        self.spend(FONT_OPERATIONS * dictionaries.len())?;
        let fonts = dictionaries.fonts(document)?;
        let mut state = State {
            placed,
            font: Vec::new(),
            size: 0.0,
            leading: 0.0,
            character_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            rise: 0.0,
        };
        let (mut saved, mut text, mut line) = (Vec::new(), Matrix::ONE, Matrix::ONE);
        for operation in Content::<Vec<Operation>>::decode_iter(content) {
            // What can not be read ends the page; what stood before it is kept, as readers do.
            let Ok(Operation { operator, operands }) = operation else { break };
            self.spend(1)?;
            let one = |at: usize| operands.get(at).map_or(0.0, |operand| number(operand, document));
            match operator.as_str() {
                "q" if saved.len() < SAVED_MAX => saved.push(state.clone()),
                "Q" => state = saved.pop().unwrap_or(state),
                "cm" => state.placed = Matrix::of(&operands, document).then(state.placed),
                "BT" => (text, line) = (Matrix::ONE, Matrix::ONE),
                "Tf" => {
                    state.font =
                        operands.first().and_then(|name| name.as_name().ok()).unwrap_or_default().to_vec();
                    state.size = one(1);
                }
                "TL" => state.leading = one(0),
                "Tc" => state.character_space = one(0),
                "Tw" => state.word_space = one(0),
                "Tz" => state.scale = one(0) / 100.0,
                "Ts" => state.rise = one(0),
                "Td" | "TD" => {
                    if operator == "TD" {
                        state.leading = -one(1);
                    }
                    line = Matrix::moved(one(0), one(1)).then(line);
                    text = line;
                }
                "Tm" => {
                    line = Matrix::of(&operands, document);
                    text = line;
                }
                "T*" | "'" | "\"" => {
                    if operator == "\"" {
                        (state.word_space, state.character_space) = (one(0), one(1));
                    }
                    line = Matrix::moved(0.0, -state.leading).then(line);
                    text = line;
                    if let Some(shown) = operands.last() {
                        text = self.show(shown, &state, &fonts, text);
                    }
                }
                "Tj" => text = operands.first().map_or(text, |shown| self.show(shown, &state, &fonts, text)),
                "TJ" => {
                    for part in operands.first().and_then(|parts| parts.as_array().ok()).into_iter().flatten()
                    {
                        self.spend(1)?;
                        text = match part {
                            Object::String(..) => self.show(part, &state, &fonts, text),
                            back => Matrix::moved(
                                -number(back, document) / 1000.0 * state.size * state.scale,
                                0.0,
                            )
                            .then(text),
                        };
                    }
                }
                "Do" => self.form(&operands, resources, state.placed)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn spend(&mut self, operations: usize) -> Result<(), StepFailed> {
        let before = self.budget.operations;
        self.budget.operations = before.saturating_sub(operations);
        match self.budget.operations {
            0 => Err(never(TOO_LARGE, format!("more than {OPERATIONS_MAX} operations draw its pages"))),
            left if left / STOP_HEARD_EVERY != before / STOP_HEARD_EVERY => self.form.go_on(),
            _ => Ok(()),
        }
    }

    /// A drawing that is used by name.
    fn form(
        &mut self,
        operands: &[Object],
        resources: &[&Dictionary],
        placed: Matrix,
    ) -> Result<(), StepFailed> {
        let document = self.document;
        let Some(name) = operands.first().and_then(|name| name.as_name().ok()) else { return Ok(()) };
        let mut named = resources.iter().filter_map(|resources| {
            let named = document.get_dict_in_dict(resources, b"XObject").ok()?;
            named.get_deref(name, document).ok()?.as_stream().ok()
        });
        let Some(stream) = named.next() else { return Ok(()) };
        let is_form = stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Form");
        if !is_form || self.depth == FORMS_DEPTH_MAX {
            return Ok(());
        }
        let content = stream.decompressed_content_with_limit(self.budget.content_bytes);
        let content = match content {
            Ok(content) => content,
            Err(lopdf::Error::Decompress(_)) => stream.content.clone(),
            Err(why) => return Err(never(BROKEN, why.to_string())),
        };
        bounded("bytes when its pages are unpacked", content.len(), self.budget.content_bytes)?;
        self.budget.content_bytes -= content.len();
        let own = document.get_dict_in_dict(&stream.dict, b"Resources").ok();
        let matrix = stream.dict.get_deref(b"Matrix", document).and_then(Object::as_array);
        let placed = matrix.map_or(placed, |matrix| Matrix::of(matrix, document).then(placed));
        let resources: Vec<&Dictionary> = own.into_iter().chain(resources.iter().copied()).collect();
        let mut fonts = BTreeMap::new();
        for resources in &resources {
            for (name, font) in document.get_dict_in_dict(resources, b"Font").into_iter().flatten() {
                if let Ok((_, Object::Dictionary(font))) = document.dereference(font) {
                    fonts.entry(name.clone()).or_insert(font);
                }
            }
        }
        self.depth += 1;
        self.draw(&content, Dictionaries::of(fonts), &resources, placed)?;
        self.depth -= 1;
        Ok(())
    }

    /// Adds a piece and answers where the next begins.
    fn show(
        &mut self,
        shown: &Object,
        state: &State,
        fonts: &BTreeMap<&[u8], Font<'_>>,
        text: Matrix,
    ) -> Matrix {
        let (Ok(bytes), Some(font)) = (shown.as_str(), fonts.get(&state.font[..])) else { return text };
        let (said, shown) = font.show(bytes);
        let width = shown.width * state.size
            + state.character_space * shown.characters as f32
            + state.word_space * shown.spaces as f32;
        let after = Matrix::moved(width * state.scale, 0.0).then(text);
        let begins = Matrix::moved(0.0, state.rise).then(text).then(state.placed).0;
        let ends = after.then(state.placed).0;
        let size = state.size.abs() * begins[2].hypot(begins[3]);
        let long = begins[0].hypot(begins[1]);
        if size > 0.0 && long > 0.0 && begins.iter().chain(&ends).all(|number| number.is_finite()) {
            let direction = (begins[0] / long, begins[1] / long);
            // As seen along the line.
            let seen =
                |x: f32, y: f32| (x * direction.0 + y * direction.1, y * direction.0 - x * direction.1);
            let ((start, y), (end, _)) = (seen(begins[4], begins[5]), seen(ends[4], ends[5]));
            self.add(
                Cell { start, end, text: said },
                Line { cells: Vec::new(), size, bold: font.bold, y, direction },
            );
        }
        after
    }

    fn add(&mut self, piece: Cell, mut at: Line) {
        let last = self.lines.last_mut().filter(|line| {
            let turned =
                (line.direction.0 - at.direction.0).abs() + (line.direction.1 - at.direction.1).abs();
            turned < 0.01 && (line.y - at.y).abs() <= SAME_LINE * line.size.max(at.size)
        });
        let Some(line) = last else {
            at.cells.push(piece);
            return self.lines.push(at);
        };
        // A line is as large as the largest on it, and bold if all of it is.
        line.size = line.size.max(at.size);
        line.bold &= at.bold || piece.text.trim().is_empty();
        let gap = piece.start - line.end();
        match gap {
            _ if gap.abs() > COLUMN * at.size && line.cells.len() < COLUMNS_MAX => line.cells.push(piece),
            _ => {
                let before = line.cells.last_mut().expect("a line begins with one");
                let apart =
                    gap > SPACE * at.size && !before.text.ends_with(' ') && !piece.text.starts_with(' ');
                before.text.push_str(if apart { " " } else { "" });
                before.text.push_str(&piece.text);
                before.end = piece.end;
            }
        }
    }
}
