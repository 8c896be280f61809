//! The transcripts under `transcripts/` are sessions with the real program: documents for people, tests for us.
//!
//! What differs from run to run (times), or with the checker's thoroughness (states explored), is written `[..]` there,
//! and lines that do not matter `...`.

#[test]
fn the_program_answers_as_the_transcripts_show() {
    trycmd::TestCases::new().case("tests/transcripts/*.md").env("NO_COLOR", "1");
}
