//! The list of requirements (`docs/requirements.md`) and the part of it that is finished (`docs/finished.txt`).
//!
//! The list is Markdown: `## K the kernel` opens a group and `- K-01 a few words` is a rule of it; anything else is
//! prose. The list is the authority on which ids exist. A specification kept beside the repository, where there is one,
//! must have the same ids; its sentences are not looked at.

use std::collections::BTreeSet;

use crate::id::{self, Id, Named};

/// The groups in the order of the file.
#[derive(Debug, Default)]
pub struct List {
    pub groups: Vec<Group>,
}

#[derive(Debug)]
pub struct Group {
    pub letter: char,
    pub title: String,
    pub rules: Vec<Rule>,
}

#[derive(Debug)]
pub struct Rule {
    pub id: Id,
    pub title: String,
}

impl List {
    /// Reads the list; the error names every line that is out of place.
    pub fn parse(text: &str) -> Result<List, Vec<String>> {
        let mut list = List::default();
        let mut complaints = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if let Err(complaint) = list.read_line(line) {
                complaints.push(format!("line {number}: {complaint}"));
            }
        }
        if complaints.is_empty() { Ok(list) } else { Err(complaints) }
    }

    fn read_line(&mut self, line: &str) -> Result<(), String> {
        if let Some(heading) = line.strip_prefix("## ") {
            let (letter, title) = heading.split_once(' ').unwrap_or((heading, ""));
            let letter = id::GROUPS.into_iter().find(|group| letter.chars().eq([*group]));
            let letter = letter.ok_or_else(|| format!("`{heading}` does not begin with a group's letter"))?;
            self.groups.push(Group { letter, title: title.to_string(), rules: Vec::new() });
            return Ok(());
        }
        let Some(entry) = line.strip_prefix("- ") else { return Ok(()) };
        let (id, title) = entry.split_once(' ').ok_or_else(|| format!("`{entry}` has no title"))?;
        let id = Id::parse(id).ok_or_else(|| format!("`{id}` is not a requirement id"))?;
        if self.contains(id) {
            return Err(format!("{id} is listed twice"));
        }
        match self.groups.last_mut() {
            Some(group) if group.letter == id.group => {
                group.rules.push(Rule { id, title: title.trim().to_string() });
                Ok(())
            }
            Some(_) | None => Err(format!("{id} is not under the heading of {}", id.group)),
        }
    }

    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.groups.iter().flat_map(|group| &group.rules)
    }

    pub fn ids(&self) -> BTreeSet<Id> {
        self.rules().map(|rule| rule.id).collect()
    }

    pub fn contains(&self, id: Id) -> bool {
        self.rules().any(|rule| rule.id == id)
    }

    /// The ids that `named` stands for. The ends of a range must exist; numbers that were never given out between them
    /// are passed over.
    pub fn resolve(&self, named: Named) -> Result<Vec<Id>, String> {
        let known = |id: Id| if self.contains(id) { Ok(id) } else { Err(format!("{id} is not in the list")) };
        match named {
            Named::One(id) => Ok(vec![known(id)?]),
            Named::Range(first, last) => {
                let (first, last) = (known(first)?, known(last)?);
                Ok(self.ids().range(first..=last).copied().collect())
            }
            Named::Group(letter) => {
                let group = self.groups.iter().find(|group| group.letter == letter);
                let group = group.ok_or_else(|| format!("group {letter} is not in the list"))?;
                Ok(group.rules.iter().map(|rule| rule.id).collect())
            }
        }
    }

    /// The ids that `finished.txt` promises; the error names every line that promises something unknown.
    pub fn finished(&self, text: &str) -> Result<BTreeSet<Id>, Vec<String>> {
        let mut finished = BTreeSet::new();
        let mut complaints = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let promise = line.split('#').next().unwrap_or_default();
            let ids = id::parse_list(promise).and_then(|list| {
                list.into_iter().map(|named| self.resolve(named)).collect::<Result<Vec<_>, _>>()
            });
            match ids {
                Ok(ids) => finished.extend(ids.into_iter().flatten()),
                Err(complaint) => complaints.push(format!("line {number}: {complaint}")),
            }
        }
        if complaints.is_empty() { Ok(finished) } else { Err(complaints) }
    }

    /// Where the list and a specification differ, id by id.
    pub fn compare(&self, specification: &str) -> Vec<String> {
        let ours = self.ids();
        let theirs = specification_ids(specification);
        let missing =
            theirs.difference(&ours).map(|id| format!("{id} is in the specification and not in the list"));
        let invented =
            ours.difference(&theirs).map(|id| format!("{id} is in the list and not in the specification"));
        missing.chain(invented).collect()
    }
}

fn specification_ids(text: &str) -> BTreeSet<Id> {
    let entries = text.lines().filter_map(|line| line.strip_prefix("- "));
    entries.filter_map(|entry| Id::parse(entry.split(' ').next()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "# Rules\nProse.\n## K the kernel\n\n- K-01 one\n- K-08 eight\n- K-10 ten\n## C claims\n- C-01 one\n";

    fn list() -> List {
        List::parse(LIST).expect("a good list")
    }

    fn shown<'a>(ids: impl IntoIterator<Item = &'a Id>) -> String {
        ids.into_iter().map(Id::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn groups_and_rules_are_read_in_order() {
        let list = list();
        let groups: Vec<_> =
            list.groups.iter().map(|group| (group.letter, group.title.as_str(), group.rules.len())).collect();
        assert_eq!(groups, [('K', "the kernel", 3), ('C', "claims", 1)]);
        assert_eq!(list.groups[0].rules[1].title, "eight");
    }

    #[test]
    fn a_line_out_of_place_is_named() {
        for (text, expected) in [
            ("## K\n- K-01 a\n- K-01 b", "line 3: K-01 is listed twice"),
            ("## K\n- C-01 a", "line 2: C-01 is not under the heading of C"),
            ("- K-01 a", "line 1: K-01 is not under the heading of K"),
            ("## K\n- K-1 a", "line 2: `K-1` is not a requirement id"),
            ("## K\n- K-01", "line 2: `K-01` has no title"),
            ("## The kernel", "line 1: `The kernel` does not begin with a group's letter"),
        ] {
            assert_eq!(List::parse(text).expect_err(text), [expected]);
        }
    }

    #[test]
    fn a_range_passes_over_numbers_never_given_out() {
        let named = id::parse_list("K-01…K-10").expect("a range");
        assert_eq!(shown(&list().resolve(named[0]).expect("known ends")), "K-01 K-08 K-10");
    }

    #[test]
    fn finished_lines_promise_groups_ids_and_ranges() {
        for (text, expected) in [
            ("# nothing yet\n", ""),
            ("K\n", "K-01 K-08 K-10"),
            ("K-01, C-01 # both\n", "C-01 K-01"),
            ("K-08…K-10\n\nC\n", "C-01 K-08 K-10"),
        ] {
            assert_eq!(shown(&list().finished(text).expect(text)), expected, "{text:?}");
        }
    }

    #[test]
    fn a_promise_of_something_unknown_is_named() {
        for (text, expected) in [
            ("K-01\nK-99", "line 2: K-99 is not in the list"),
            ("K-01…K-09", "line 1: K-09 is not in the list"),
            ("J", "line 1: group J is not in the list"),
            ("kernel", "line 1: `kernel` is not a requirement id"),
        ] {
            assert_eq!(list().finished(text).expect_err(text), [expected]);
        }
    }

    #[test]
    fn a_difference_to_the_specification_is_named_both_ways() {
        assert!(list().compare("- K-01 One.\n- K-08 Eight.\n- K-10 ⚖ Ten.\n- C-01 One.\n").is_empty());
        assert_eq!(
            list().compare("- K-01 One.\n- K-08 Eight.\n- K-10 Ten.\n- C-02 Two.\n- not an id\n"),
            [
                "C-02 is in the specification and not in the list",
                "C-01 is in the list and not in the specification"
            ]
        );
    }
}
