//! An explanation as a page shows it: ids are numbered as they come, times are seconds from the beginning.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tenure::core::time::Time;
use tenure::{Because, Explanation, Move, Next};

/// Compares with the page that is kept. Rewrite it with `UPDATE_GOLDEN=1`.
pub fn compare(file: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, page).expect("the page can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    for (number, (kept, told)) in (1..).zip(kept.lines().zip(page.lines())) {
        assert_eq!(told, kept, "line {number} of {file}");
    }
    assert_eq!(page.lines().count(), kept.lines().count(), "{file} has other lines");
}

/// All of it that a reader sees.
pub fn tell(title: &str, told: &Explanation, start: Time) -> String {
    let mut page = format!("## {title}\n\n{}\n", told.summary);
    for because in &told.because {
        page.push_str(&reason(because));
    }
    if let Some(Next { event, text, .. }) = &told.next {
        let _ = writeln!(page, "  next {event}: {text}");
    }
    for one in &told.moves {
        page.push_str(&by(one));
    }
    if let Some(tries) = told.attempts.as_ref().filter(|tries| tries.made > 0) {
        let _ = writeln!(
            page,
            "  attempts: {} made, {} failed, {} given back, left {:?}",
            tries.made, tries.failed, tries.given_back, tries.left
        );
    }
    for failed in &told.failures {
        let reason = failed.reason.as_deref().unwrap_or("no reason");
        let _ =
            writeln!(page, "  attempt {} of {}: {} ({reason})", failed.attempt, failed.owner, failed.event);
    }
    for (name, item) in
        [("retry of", told.retry_of), ("retried as", told.retried_as), ("made by", told.made_by)]
    {
        if let Some(item) = item {
            let _ = writeln!(page, "  {name} {item}");
        }
    }
    for link in &told.links {
        let label = link.label.as_deref().unwrap_or_default();
        let state = link.state.as_deref().unwrap_or("missing");
        let _ = writeln!(page, "  {label} → {} {state}", link.id);
    }
    if let Some(refused) = &told.refused_writes {
        let _ = writeln!(page, "  writes: {refused}");
    }
    page.push('\n');
    mask(&page, start)
}

fn reason(because: &Because) -> String {
    let word = serde_json::to_value(because.reason).unwrap();
    let items: Vec<String> = because.items.iter().map(|item| item.id.to_string()).collect();
    let items = if items.is_empty() { String::new() } else { format!(" [{}]", items.join(", ")) };
    let until = because.until.map_or(String::new(), |until| format!(" (until {until})"));
    let who = because.who.as_ref().map_or(String::new(), |who| format!(" <{who}>"));
    format!("  {}: {}{until}{who}{items}\n", word.as_str().unwrap(), because.text)
}

fn by(one: &Move) -> String {
    let mut text = format!("  can {} ({})", one.event, one.roles.join("/"));
    if !one.needs.is_empty() {
        let _ = write!(text, " with {}", one.needs.join(", "));
    }
    if let Some(barred) = &one.barred {
        let _ = write!(text, " but {barred}");
    }
    if let Some(command) = &one.command {
        let _ = write!(text, " $ {command}");
    }
    text + "\n"
}

/// Ids and times differ from run to run; which is which, and how far apart, does not.
fn mask(page: &str, start: Time) -> String {
    let mut ids: Vec<String> = Vec::new();
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, ':' | '.' | '-');
    let mut masked = String::new();
    for piece in page.split_inclusive(|byte: char| !is_part(byte)) {
        let word = piece.trim_end_matches(|byte: char| !is_part(byte));
        let rest = &piece[word.len()..];
        let bare = word.trim_end_matches([':', '.']);
        masked.push_str(&name(bare, start, &mut ids));
        masked.push_str(&word[bare.len()..]);
        masked.push_str(rest);
    }
    masked
}

fn name(word: &str, start: Time, ids: &mut Vec<String>) -> String {
    if let Ok(time) = word.parse::<Time>() {
        let seconds = (time.micros() - start.micros()).div_euclid(1_000_000);
        return format!("T{seconds:+}s");
    }
    if word.len() == 26 && word.chars().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
        let known = ids.iter().position(|id| id == word).unwrap_or_else(|| {
            ids.push(word.to_string());
            ids.len() - 1
        });
        return format!("#{}", known + 1);
    }
    word.to_string()
}
