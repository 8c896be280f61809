//! What a command says: text with colours or JSON on standard output, complaints on standard error.
//!
//! Colours appear on a terminal only, and never with NO_COLOR. A reader that goes away (`| head -1`) is no error: the
//! rest stays unsaid, and the exit code is the same as if it had been read.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::outcome::Error;

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

    /// Columns under their headings. When a terminal is too narrow those with sentences in them wrap, and no others: an id is there to be
    /// copied. Where that is not enough, the terminal breaks the lines.
    pub fn table<const N: usize>(
        &mut self,
        headings: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Result<(), Error> {
        let rows: Vec<[String; N]> = rows.into_iter().collect();
        let mut table = Table::new();
        if let Some((columns, prose)) =
            self.columns.and_then(|columns| Some((columns, wraps(&rows, columns)?)))
        {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
            table.load_style(presets::NOTHING).set_header(headings).add_rows(rows);
            for (column, prose) in table.column_iter_mut().zip(prose) {
                if !prose {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
        } else {
            table.load_style(presets::NOTHING).set_header(headings).add_rows(rows);
        }
        if let Some(first) = table.column_mut(0) {
            first.set_padding((0, 1));
        }
        self.line(table.trim_fmt())
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

    /// Tells an error and what to do about it, on standard error.
    pub fn complain(&mut self, error: &Error) {
        let mut err = AutoStream::auto(io::stderr().lock());
        // Nobody is left to tell when this can not be written.
        let _ = writeln!(err, "{} {error}\n  {}", styled(BAD, "error:"), error.what_to_do());
    }
}

/// A sentence in fewer columns is a tower of words.
const PROSE_MIN: usize = 16;
/// Between two columns.
const GAP: usize = 2;

/// Which columns have sentences in them, if wrapping these makes the table fit.
fn wraps<const N: usize>(rows: &[[String; N]], columns: u16) -> Option<[bool; N]> {
    let prose = std::array::from_fn(|at| rows.iter().any(|row| row[at].contains(' ')));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let needed = |at: usize| if prose[at] { width(at).min(PROSE_MIN) } else { width(at) };
    let least: usize = (0..N).map(|at| needed(at) + GAP).sum();
    (least <= usize::from(columns)).then_some(prose)
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
    fn only_sentences_wrap_and_only_where_that_helps() {
        let row = |reason: &str| ["01M7J61YR10001MATZTPCVPVPW", "PENDING", reason].map(str::to_string);
        let long = "exit code 3: the bank does not answer, and did not yesterday";
        assert_eq!(wraps(&[row(""), row(long)], 60), Some([false, false, true]));
        assert_eq!(wraps(&[row(long)], 40), None, "the id alone is too wide for it");
        assert_eq!(wraps(&[row("short")], 60), Some([false; 3]));
    }

    #[test]
    fn short_spans_are_told_in_milliseconds() {
        for (milliseconds, text) in [(0, "0 ms"), (99, "99 ms"), (100, "0.1 s"), (2_340, "2.3 s")] {
            assert_eq!(seconds(Duration::from_millis(milliseconds)), text);
        }
    }
}
