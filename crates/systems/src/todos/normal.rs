//! The output of a gate, freed of what differs from run to run and from machine to machine: colours, times, the place of the workspace,
//! of its owner's home and of temporary files, the host, line ends. What is left is hashed into the proof.

mod place;
mod time;

pub use place::Place;

/// Equal for equal results, wherever and whenever and however fast they came about.
pub fn normal(output: &[u8], place: &Place) -> String {
    let text = plain(&String::from_utf8_lossy(output));
    let text = place.taken_out(&text);
    let mut lines: Vec<String> = text.split('\n').map(|line| time::timeless(line.trim_end())).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(workspace: &str) -> Place {
        Place { workspace: workspace.into(), ..Place::default() }
    }

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
            assert_eq!(normal(output.as_bytes(), &at("/home/a/work/")), expected, "{output:?}");
        }
    }

    #[test]
    fn two_machines_have_one_output() {
        let here = normal(b"\x1b[1m/home/a/w/x: ok in 3ms\x1b[0m\r\n", &at("/home/a/w"));
        let there = normal(b"/build/7/x: ok in 1.2 sec\n\n", &at("/build/7"));
        assert_eq!(here, there);
        assert_ne!(here, normal(b"/build/7/x: no in 1.2 sec\n", &at("/build/7")), "what is said counts");
    }
}
