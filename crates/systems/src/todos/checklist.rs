//! A Markdown checklist as tasks: every open box is one, what is nested under it are its children.

use tenure::core::hash::Hash;

/// One open box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub title: String,
    /// The place of its parent in the list.
    pub parent: Option<usize>,
    /// The same for the same box of the same document, wherever in it the box has moved to.
    pub external_reference: String,
}

/// The open boxes of a document, parents before their children. A box that is ticked is done already and is left out; so is
/// what is nested under it. `document` names it: the same box in two documents is two tasks.
pub fn read(text: &str, document: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    // The boxes that the next line may be nested in: how far in they stand, and their place if they are open.
    let mut around: Vec<(usize, Option<usize>)> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let inner = line.trim_start();
        if inner.starts_with("```") || inner.starts_with("~~~") {
            fenced = !fenced;
        }
        let Some((ticked, title)) = boxed(inner).filter(|_| !fenced) else { continue };
        let indent = line.chars().take_while(|letter| letter.is_whitespace()).map(width).sum();
        while around.last().is_some_and(|(outer, _)| *outer >= indent) {
            around.pop();
        }
        let under = around.last().map(|(_, place)| *place);
        if ticked || under == Some(None) {
            around.push((indent, None));
            continue;
        }
        let parent = under.flatten();
        around.push((indent, Some(entries.len())));
        let external_reference = reference(document, parent.map(|parent| &entries[parent]), title, &entries);
        entries.push(Entry { title: title.to_string(), parent, external_reference });
    }
    entries
}

fn width(letter: char) -> usize {
    if letter == '\t' { 4 } else { 1 }
}

/// `- [ ] title`, `* [x] title`, `1. [ ] title`.
fn boxed(line: &str) -> Option<(bool, &str)> {
    let digits = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = match digits.len() < line.len() {
        true => digits.strip_prefix(['.', ')'])?,
        false => line.strip_prefix(['-', '*', '+'])?,
    };
    let rest = rest.trim_start();
    let (ticked, title) = if let Some(title) = rest.strip_prefix("[ ]") {
        (false, title)
    } else {
        (true, rest.strip_prefix("[x]").or_else(|| rest.strip_prefix("[X]"))?)
    };
    let title = title.strip_prefix([' ', '\t'])?.trim();
    (!title.is_empty()).then_some((ticked, title))
}

/// Equal titles under one parent are told apart by their order.
fn reference(document: &str, parent: Option<&Entry>, title: &str, before: &[Entry]) -> String {
    let above = parent.map_or("", |parent| parent.external_reference.as_str());
    (0_usize..)
        .map(|twin| {
            let parts: [&[u8]; 4] =
                [document.as_bytes(), above.as_bytes(), title.as_bytes(), &twin.to_be_bytes()];
            let hash = Hash::of_parts(&parts).to_string();
            format!("checklist:{}", &hash[..24])
        })
        .find(|reference| before.iter().all(|entry| entry.external_reference != *reference))
        .expect("there are more numbers than boxes")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Release
Some words - [ ] that are no box.

- [ ] Write the notes
  - [ ] in German
  - [x] in English
    - [ ] under a ticked one
- [x] Tag it
* [ ] Tell people
\t1. [ ] by letter
- [ ] Write the notes
- [] no box
```
- [ ] an example
```
";

    #[test]
    fn open_boxes_are_tasks_and_nested_ones_are_children() {
        let entries = read(TEXT, "a.md");
        let told: Vec<(&str, Option<usize>)> =
            entries.iter().map(|entry| (entry.title.as_str(), entry.parent)).collect();
        assert_eq!(
            told,
            [
                ("Write the notes", None),
                ("in German", Some(0)),
                ("Tell people", None),
                ("by letter", Some(2)),
                ("Write the notes", None),
            ]
        );
        let again = read(&format!("- [ ] A new first one\n{TEXT}"), "a.md");
        assert_eq!(again[1].external_reference, entries[0].external_reference, "a box keeps its reference");
        assert_eq!(again[2].external_reference, entries[1].external_reference);
        assert_ne!(entries[0].external_reference, entries[4].external_reference, "twins are two");
        assert_ne!(entries[0].external_reference, read(TEXT, "b.md")[0].external_reference);
    }
}
