//! What a command says: text with colours or JSON on standard output, complaints on standard error.
//!
//! Colours appear on a terminal only, and never with NO_COLOR. A reader that goes away (`| head -1`) is no error: the
//! rest stays unsaid, and the exit code is the same as if it had been read.

mod straight;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use comfy_table::{Table, presets};
use serde::Serialize;

use crate::outcome::Error;
use straight::Styles;

pub const GOOD: Style = AnsiColor::Green.on_default().bold();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const NOTE: Style = AnsiColor::Yellow.on_default().bold();
pub const STRONG: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();

/// Where commands write.
pub struct Output {
    out: AutoStream<io::StdoutLock<'static>>,
    /// The reader has gone away.
    is_closed: bool,
    /// How wide lines may be. None: nobody looks at a terminal.
    columns: Option<u16>,
}

impl Output {
    pub fn standard() -> Output {
        let columns = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
        Output { out: AutoStream::auto(io::stdout().lock()), is_closed: false, columns }
    }

    /// Whether the reader has gone away, as far as was noticed.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Writes text as it is.
    pub fn text(&mut self, text: &str) -> Result<(), Error> {
        if self.is_closed {
            return Ok(());
        }
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_closed = true,
            written => written?,
        }
        Ok(())
    }

    pub fn line(&mut self, line: impl Display) -> Result<(), Error> {
        self.text(&format!("{line}\n"))
    }

    /// One object on one line.
    pub fn json(&mut self, object: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_string(object).map_err(io::Error::from)?;
        self.line(text)
    }

    /// Columns under their headings. When a terminal is too narrow the widest with sentences in them are cut, and no others: an id is there
    /// to be copied, and who wants all of a text asks for the one item, or for JSON. Where that is not enough, the terminal breaks the lines.
    pub fn table<const N: usize>(
        &mut self,
        headings: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Result<(), Error> {
        let mut styles = Styles::default();
        let mut rows: Vec<[String; N]> =
            rows.into_iter().map(|row| row.map(|cell| styles.hide(&cell))).collect();
        if let Some(columns) = self.columns {
            fit(headings, &mut rows, usize::from(columns));
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(headings).add_rows(rows);
        if let Some(first) = table.column_mut(0) {
            first.set_padding((0, 1));
        }
        self.line(styles.show(&table.trim_fmt()))
    }

    /// Runs something that may take long. On a terminal a line says so meanwhile, and is gone afterwards.
    pub fn meanwhile<T>(&mut self, line: &str, work: impl FnOnce() -> T) -> T {
        let Some((width, _)) = terminal_size::terminal_size_of(io::stderr()) else { return work() };
        // A line that wraps could not be taken back.
        let line: String = line.chars().take(usize::from(width.0.saturating_sub(1))).collect();
        let blank = " ".repeat(line.chars().count());
        let mut err = io::stderr().lock();
        // A line that can not be shown is missed by nobody.
        let _ = write!(err, "{line}").and_then(|()| err.flush());
        let done = work();
        let _ = write!(err, "\r{blank}\r").and_then(|()| err.flush());
        done
    }

    /// Tells something that is neither output nor the end, on standard error.
    pub fn remark(&mut self, text: impl Display) {
        // Nobody is left to tell when this can not be written.
        let _ = writeln!(AutoStream::auto(io::stderr().lock()), "{}", styled(FAINT, text));
    }

    /// The same for programs: one object, as the service tells it.
    pub fn complain_json(&mut self, error: &Error) {
        // Nobody is left to tell when this can not be written.
        let _ = writeln!(io::stderr().lock(), "{}", error.document());
    }

    /// Tells an error and what to do about it, on standard error.
    pub fn complain(&mut self, error: &Error) {
        let mut err = AutoStream::auto(io::stderr().lock());
        // Nobody is left to tell when this can not be written.
        let _ = writeln!(err, "{} {error}\n  {}", styled(BAD, "error:"), error.what_to_do());
    }
}

/// Of a text less than this says nothing.
const TEXT_MIN: usize = 12;
/// Between two columns.
const GAP: usize = 2;

/// Cuts texts until the rows fit, the widest column first.
fn fit<const N: usize>(headings: [&str; N], rows: &mut [[String; N]], columns: usize) {
    let length = straight::width;
    let is_text: [bool; N] = std::array::from_fn(|at| rows.iter().any(|row| row[at].contains(' ')));
    let mut widths: [usize; N] = std::array::from_fn(|at| {
        rows.iter().map(|row| length(&row[at])).max().unwrap_or(0).max(length(headings[at]))
    });
    loop {
        let total = widths.iter().sum::<usize>() + GAP * N.saturating_sub(1);
        let least = |at: usize| length(headings[at]).max(TEXT_MIN);
        let widest =
            (0..N).filter(|at| is_text[*at] && widths[*at] > least(*at)).max_by_key(|at| widths[*at]);
        match widest {
            Some(at) if total > columns => {
                widths[at] = widths[at].saturating_sub(total - columns).max(least(at));
            }
            Some(_) | None => break,
        }
    }
    for cell in rows.iter_mut().flat_map(|row| row.iter_mut().enumerate()) {
        let (at, text) = cell;
        if length(text) > widths[at] {
            *text = straight::cut(text, widths[at]);
        }
    }
}

/// For what is written in one go and not for people: an export.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_closed {
            match self.out.write_all(bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_closed = true,
                written => written?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.out.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_closed = true,
            flushed => flushed?,
        }
        Ok(())
    }
}

/// In a file of messages a line now and then is enough.
const PLAIN_STEP: u64 = 100_000;

/// How far long work has come, on standard error: one line that changes on a terminal, a plain line now and then elsewhere.
pub struct Progress {
    what: &'static str,
    is_terminal: bool,
    told: u64,
}

impl Progress {
    pub fn new(what: &'static str) -> Progress {
        Progress { what, is_terminal: io::stderr().is_terminal(), told: 0 }
    }

    pub fn tell(&mut self, number: u64) {
        let text = format!("{} {}", grouped(number), self.what);
        // What can not be shown is missed by nobody.
        let _ = match self.is_terminal {
            true => write!(io::stderr(), "\r\x1b[2K{text}"),
            false if number / PLAIN_STEP > self.told / PLAIN_STEP => writeln!(io::stderr(), "{text}"),
            false => Ok(()),
        };
        self.told = number;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal && self.told > 0 {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

/// The text in a style, for a stream that takes the style away again where nobody sees it.
pub fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A text of several lines in one, for where there is room for one.
pub fn joined(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" / ")
}

/// A text of several lines whose later ones begin where its first does.
pub fn under(text: &str, indent: usize) -> String {
    text.lines().collect::<Vec<_>>().join(&format!("\n{}", " ".repeat(indent)))
}

/// `1 state`, `20,117 steps`.
pub fn count(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(number as u64))
}

/// `20,117`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `0.3 s`, and milliseconds where that would say nothing.
pub fn seconds(span: Duration) -> String {
    match span.as_millis() {
        milliseconds @ 0..100 => format!("{milliseconds} ms"),
        _ => format!("{:.1} s", span.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_words_agree() {
        for (number, text) in [
            (0, "0 steps"),
            (1, "1 step"),
            (999, "999 steps"),
            (1_000, "1,000 steps"),
            (1_234_567, "1,234,567 steps"),
        ] {
            assert_eq!(count(number, "step"), text);
        }
    }

    #[test]
    fn only_texts_are_cut_the_widest_first_and_only_as_far_as_is_needed() {
        let id = "01M7J61YR10001MATZTPCVPVPW";
        let long = "exit code 3: the bank does not answer, and did not yesterday";
        let cut = |title: &str, reason: &str, columns: usize| {
            let mut rows = [[id, "PENDING", title, reason].map(str::to_string)];
            fit(["id", "state", "title", "reason"], &mut rows, columns);
            let [[kept, state, title, reason]] = rows;
            assert_eq!((kept.as_str(), state.as_str()), (id, "PENDING"), "what has no spaces is left alone");
            (title, reason)
        };
        let text = |title: &str, reason: &str| (title.to_string(), reason.to_string());
        assert_eq!(cut("two words", long, 200), text("two words", long));
        let (title, reason) = cut("two words", long, 80);
        assert_eq!((title.as_str(), reason.as_str()), ("two words", "exit code 3: the bank does not …"));
        assert_eq!(26 + 7 + 9 + reason.chars().count() + 3 * GAP, 80);
        assert_eq!(
            cut("two words", long, 10),
            text("two words", "exit code 3…"),
            "no less than says something"
        );
    }

    #[test]
    fn texts_of_several_lines_are_joined_or_stand_under_each_other() {
        assert_eq!(joined("one\ntwo\n"), "one / two");
        assert_eq!(under("one\ntwo", 4), "one\n    two");
    }

    #[test]
    fn short_spans_are_told_in_milliseconds() {
        for (milliseconds, text) in [(0, "0 ms"), (99, "99 ms"), (100, "0.1 s"), (2_340, "2.3 s")] {
            assert_eq!(seconds(Duration::from_millis(milliseconds)), text);
        }
    }
}
