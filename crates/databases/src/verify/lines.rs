//! A file by lines, whatever it holds: a line that is too long is passed over without being kept.

use std::io::{self, BufRead};

use crate::export::line::LINE_BYTES_MAX;

/// How a line was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    Whole,
    /// The file ends within it: there is no line feed.
    Cut,
    /// Longer than any line is; its bytes are not kept.
    TooLong,
}

#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    pub number: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R) -> Lines<R> {
        Lines { reader, line: Vec::new(), number: 0 }
    }

    /// The next line without its line feed. None at the end of the file.
    pub fn next(&mut self) -> io::Result<Option<(&[u8], Found)>> {
        self.line.clear();
        let mut found = Found::Whole;
        let mut is_empty = true;
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() && is_empty {
                return Ok(None);
            }
            is_empty = false;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            if self.line.len() + part.len() > LINE_BYTES_MAX {
                found = Found::TooLong;
                self.line.clear();
            } else if found == Found::Whole {
                self.line.extend_from_slice(part);
            }
            let is_over = buffer.is_empty();
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() || is_over {
                if is_over && found == Found::Whole {
                    found = Found::Cut;
                }
                self.number += 1;
                return Ok(Some((&self.line, found)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Cursor, Read};

    fn read(bytes: impl Read) -> Vec<(usize, Found)> {
        let mut lines = Lines::new(BufReader::with_capacity(7, bytes));
        let mut all = Vec::new();
        while let Some((line, found)) = lines.next().unwrap() {
            all.push((line.len(), found));
        }
        assert_eq!(lines.number, all.len() as u64);
        all
    }

    #[test]
    fn lines_end_with_a_line_feed_and_the_last_one_may_be_cut() {
        assert_eq!(read(Cursor::new("")), []);
        assert_eq!(read(Cursor::new("\n")), [(0, Found::Whole)]);
        assert_eq!(read(Cursor::new("a\n\nbc\n")), [(1, Found::Whole), (0, Found::Whole), (2, Found::Whole)]);
        assert_eq!(read(Cursor::new("abcdefghij\nx")), [(10, Found::Whole), (1, Found::Cut)]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let long = io::repeat(b'x').take(100 << 20).chain(Cursor::new("\nnext\n"));
        let mut lines = Lines::new(BufReader::with_capacity(1 << 16, long));
        assert_eq!(lines.next().unwrap(), Some((&b""[..], Found::TooLong)));
        assert!(lines.line.capacity() <= 2 * LINE_BYTES_MAX, "it was not kept");
        assert_eq!(lines.next().unwrap(), Some((&b"next"[..], Found::Whole)));
        assert_eq!(lines.next().unwrap(), None);
        let longest = io::repeat(b'x').take(LINE_BYTES_MAX as u64).chain(Cursor::new("\n"));
        let mut lines = Lines::new(BufReader::with_capacity(1 << 16, longest));
        assert!(matches!(lines.next().unwrap(), Some((_, Found::Whole))));
    }
}
