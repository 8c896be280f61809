//! The output of a gate, freed of what differs from run to run and from machine to machine: colours, spans of time, the
//! place of the workspace, line ends. What is left is hashed into the proof.

/// What stands where the path of the workspace stood.
const PLACE: &str = "<workspace>";
/// What stands where a span of time stood.
const SPAN: &str = "<time>";

/// Units of time, as tools write them behind a number.
const UNITS: [&str; 17] = [
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "seconds",
    "minutes",
    "second",
    "minute",
    "secs",
    "mins",
    "sec",
    "min",
    "ms",
    "µs",
    "us",
    "ns",
    "s",
    "m",
];

/// Equal for equal results, wherever and however fast they came about.
pub fn normal(output: &[u8], workspace: &str) -> String {
    let text = String::from_utf8_lossy(output);
    let text = plain(&text);
    let text = match workspace.trim_end_matches('/') {
        "" => text,
        place => text.replace(place, PLACE),
    };
    let mut lines: Vec<String> = text.split('\n').map(|line| timeless(line.trim_end())).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Without escape sequences, and with one sort of line end. A lone carriage return begins a line, as a terminal would show it.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => skip_escape(&mut letters),
            '\r' => {
                letters.next_if_eq(&'\n');
                plain.push('\n');
            }
            '\n' | '\t' => plain.push(letter),
            control if control.is_control() => {}
            letter => plain.push(letter),
        }
    }
    plain
}

fn skip_escape(letters: &mut std::iter::Peekable<std::str::Chars>) {
    match letters.next() {
        // ESC [ … letter
        Some('[') => {
            letters.find(|letter| ('\u{40}'..='\u{7e}').contains(letter));
        }
        // ESC ] … BEL, or ESC \
        Some(']') => {
            let mut before = ' ';
            for letter in letters.by_ref() {
                if letter == '\u{7}' || (before == '\u{1b}' && letter == '\\') {
                    break;
                }
                before = letter;
            }
        }
        Some(_) | None => {}
    }
}

/// A line in which every number with a unit of time behind it is the same.
fn timeless(line: &str) -> String {
    let mut told = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit()
            && !is_word(before)
            && before != '.'
            && let Some(after) = span(rest)
        {
            told.push_str(SPAN);
            rest = &rest[after..];
            before = ' ';
            continue;
        }
        told.push(first);
        before = first;
        rest = &rest[first.len_utf8()..];
    }
    told
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// How long the span is that this text begins with: `1.25s`, `250 ms`, `1m 03s`.
fn span(text: &str) -> Option<usize> {
    let digits =
        text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.').len();
    let behind = &text[digits..];
    let gap = usize::from(behind.starts_with(' '));
    let unit = UNITS.iter().find(|unit| {
        let rest = behind[gap..].strip_prefix(**unit);
        // `5 m` may be metres and `3 s` anything: a letter alone stands right behind its number.
        let close = gap == 0 || unit.len() > 1;
        close && rest.is_some_and(|rest| !rest.starts_with(is_unit_end))
    })?;
    let end = digits + gap + unit.len();
    // The parts of one span are one.
    let more = &text[end..];
    let gap = usize::from(more.starts_with(' '));
    match more[gap..].starts_with(|letter: char| letter.is_ascii_digit()) {
        true => Some(span(&more[gap..]).map_or(end, |more| end + gap + more)),
        false => Some(end),
    }
}

/// What would make the unit the beginning of another word. A digit may follow: `1m03s`.
fn is_unit_end(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_' || letter == '/'
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: T-05
    #[test]
    fn what_differs_from_run_to_run_is_taken_out() {
        let cases = [
            ("\u{1b}[32mok\u{1b}[0m\r\n", "ok\n"),
            ("test a ... ok (0.03s)\n\n", "test a ... ok (<time>)\n"),
            ("finished in 1m 03s\nfinished in 250 ms", "finished in <time>\nfinished in <time>\n"),
            ("finished in 1m03s", "finished in <time>\n"),
            ("took 12 seconds, 3 tests", "took <time>, 3 tests\n"),
            ("at /home/a/work/src/x.rs:3:5", "at <workspace>/src/x.rs:3:5\n"),
            ("10%\r20%\rdone", "10%\n20%\ndone\n"),
            ("\u{1b}]0;title\u{7}x  \n", "x\n"),
            ("v1.2.3s3 s3 5 s x5s 7 m 12 minions", "v1.2.3s3 s3 5 s x5s 7 m 12 minions\n"),
            ("", ""),
        ];
        for (output, expected) in cases {
            assert_eq!(normal(output.as_bytes(), "/home/a/work/"), expected, "{output:?}");
        }
    }

    #[test]
    fn two_machines_have_one_output() {
        let here = normal(b"\x1b[1m/home/a/w/x: ok in 3ms\x1b[0m\r\n", "/home/a/w");
        let there = normal(b"/build/7/x: ok in 1.2 sec\n\n", "/build/7");
        assert_eq!(here, there);
        assert_ne!(here, normal(b"/build/7/x: no in 1.2 sec\n", "/build/7"), "what is said counts");
    }
}
