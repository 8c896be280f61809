//! A proof and its receipt: what was checked on which tree, and what came of it.
//!
//! The receipt's hash is over the *proof* alone: gates, results, artifacts, commit and tree, as JSON with sorted keys. Equal
//! inputs give the equal hash on any machine. Times, durations, the host and the place of the workspace are beside it, in the
//! [`Run`], and prove nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::core::hash::Hash;
use tenure::core::time::Time;

use super::plan::Plan;
use crate::gate::Gate;

/// The proof's form; another form has another name.
pub const FORMAT: &str = "tenure-proof/1";
/// A proof that is older than this says little about the world it was made in.
pub const AGE_MAX: Duration = Duration::from_secs(90 * 24 * 3_600);
/// The result that stands for `validate`, before those of the gates.
pub const VALIDATE: &str = "validate";
/// Of a gate's output so much is kept for people to read; the hash is over all of it.
pub const OUTPUT_BYTES_MAX: usize = 8 << 10;

/// What is hashed. The fields stand in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub artifacts: Vec<Artifact>,
    /// None in a repository without a commit.
    pub commit: Option<String>,
    pub format: String,
    /// The paths that the gates declare, as the tree has them. Empty: the proof depends on the whole tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<DeclaredPath>,
    pub results: Vec<GateResult>,
    /// Of the working copy with all that is not committed in it.
    pub tree: String,
}

/// A file or a folder that a gate declares.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredPath {
    /// Its entry in the tree, as `git ls-tree` prints it: mode, type and object.
    pub entry: String,
    /// From the root of the tree.
    pub path: String,
}

/// The entries of a tree, by path. None: the path is not in the tree.
pub type Entries = BTreeMap<String, Option<String>>;

/// The part of a working copy that a proof depends on.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    pub tree: &'a str,
    /// Empty: the whole tree.
    pub paths: &'a [DeclaredPath],
}

impl Basis<'_> {
    /// How the working copy differs from it. A tree or a path that is not known counts as unchanged.
    pub fn drift(&self, tree: Option<&str>, entries: &Entries) -> Vec<Drift> {
        if self.paths.is_empty() {
            let other = tree.filter(|tree| *tree != self.tree);
            let drift = other.map(|is| Drift::Tree { was: self.tree.to_string(), is: is.to_string() });
            return drift.into_iter().collect();
        }
        let changed = self.paths.iter().filter_map(|declared| {
            let found = entries.get(&declared.path)?;
            let is_same = found.as_ref() == Some(&declared.entry);
            (!is_same).then(|| Drift::Path { path: declared.path.clone(), gone: found.is_none() })
        });
        changed.collect()
    }
}

/// A file that a gate looked at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// From the root of the tree.
    pub path: String,
    pub sha256: Hash,
}

/// What came of one gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateResult {
    /// As the plan has it, or `validate`.
    pub gate: String,
    /// None where no command ran.
    pub exit: Option<i32>,
    /// Of the normalized output.
    pub output_sha256: Hash,
    pub passed: bool,
}

impl Proof {
    pub fn new(
        commit: Option<String>,
        tree: String,
        results: Vec<GateResult>,
        artifacts: Vec<Artifact>,
    ) -> Proof {
        let mut artifacts = artifacts;
        artifacts.sort();
        artifacts.dedup();
        Proof { artifacts, commit, format: FORMAT.to_string(), paths: Vec::new(), results, tree }
    }

    /// The same proof, which depends on these paths alone.
    pub fn on(self, paths: Vec<DeclaredPath>) -> Proof {
        let mut paths = paths;
        paths.sort_by(|one, other| one.path.cmp(&other.path));
        Proof { paths, ..self }
    }

    pub fn basis(&self) -> Basis<'_> {
        Basis { tree: &self.tree, paths: &self.paths }
    }

    /// Sorted keys, no white space, no numbers but small integers: the form of RFC 8785.
    pub fn canonical(&self) -> Vec<u8> {
        let value = serde_json::to_value(self).expect("a proof is plain data");
        serde_json::to_vec(&value).expect("a value is JSON")
    }

    pub fn hash(&self) -> Hash {
        Hash::of(&self.canonical())
    }

    fn result_of(&self, gate: &str) -> Option<&GateResult> {
        self.results.iter().find(|result| result.gate == gate)
    }

    /// The blocking gates of the plan that this proof does not show as passed, each with why. None is left: it passes.
    pub fn failing(&self, plan: &Plan) -> Vec<String> {
        let passed = |gate: &str| match self.result_of(gate) {
            Some(result) if result.passed => None,
            Some(GateResult { exit: Some(code), .. }) => Some(format!("{gate} (exit code {code})")),
            Some(_) => Some(format!("{gate} (did not pass)")),
            None => Some(format!("{gate} (has no result)")),
        };
        let gates = plan.gates.iter().filter(|gate| gate.is_blocking());
        passed(VALIDATE).into_iter().chain(gates.filter_map(|gate| passed(&gate.to_string()))).collect()
    }

    /// Whether the results are those of exactly this plan, each once and in order. A proof of another plan proves nothing.
    pub fn is_of(&self, plan: &Plan) -> bool {
        let wanted = std::iter::once(VALIDATE.to_string()).chain(plan.gates.iter().map(Gate::to_string));
        self.results.iter().map(|result| result.gate.clone()).eq(wanted)
    }

    /// What has changed since the proof was made. Nothing: it is current.
    pub fn drift(&self, proved_at: Time, now: &Now) -> Vec<Drift> {
        let mut drift = self.basis().drift(now.tree, now.entries);
        for artifact in &self.artifacts {
            if let Some(found) =
                now.artifacts.get(&artifact.path).filter(|found| **found != Some(artifact.sha256))
            {
                let changed = Drift::Path { path: artifact.path.clone(), gone: found.is_none() };
                // A gate may declare the path that another looks at.
                if !drift.contains(&changed) {
                    drift.push(changed);
                }
            }
        }
        if now.plan.is_some_and(|plan| !self.is_of(plan)) {
            drift.push(Drift::Plan);
        }
        let age = now.at.since(proved_at);
        if age > AGE_MAX {
            drift.push(Drift::Age { days: age.as_secs() / 86_400 });
        }
        drift
    }
}

/// What a proof is held against. What nobody knows counts as unchanged.
#[derive(Clone, Debug)]
pub struct Now<'a> {
    pub at: Time,
    pub tree: Option<&'a str>,
    /// The tree at the paths that gates declare.
    pub entries: &'a Entries,
    /// The files as they are; None: it is gone.
    pub artifacts: &'a BTreeMap<String, Option<Hash>>,
    pub plan: Option<&'a Plan>,
}

/// One way in which a proof is not current any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Drift {
    Tree { was: String, is: String },
    Path { path: String, gone: bool },
    Plan,
    Age { days: u64 },
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |hash: &str| hash.chars().take(10).collect::<String>();
        match self {
            Drift::Tree { was, is } => write!(f, "the tree is {}, not {} as proved", short(is), short(was)),
            Drift::Path { path, gone: true } => write!(f, "{path} is gone"),
            Drift::Path { path, gone: false } => write!(f, "{path} was changed"),
            Drift::Plan => f.write_str("the plan was changed"),
            Drift::Age { days } => write!(f, "the proof is {days} days old"),
        }
    }
}

/// How a proof came about. Beside the hash: it differs from run to run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    pub duration_ms: u64,
    pub gates: Vec<GateRun>,
    pub host: String,
    /// Where the workspace was.
    pub path: String,
    pub started_at: Option<Time>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateRun {
    pub duration_ms: u64,
    pub gate: String,
    /// The end of its output.
    pub output: String,
}

/// A receipt as a file: what is proved, under which hash, and beside it who and when.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    pub agent: String,
    pub proof: Proof,
    pub proved_at: Time,
    /// Of the log entry that says when it was last proved.
    pub entry_sha256: Option<Hash>,
    pub run: Option<Run>,
    pub sha256: Hash,
    pub store: String,
    pub task_id: String,
    pub title: String,
}

impl Receipt {
    /// What is wrong with it, by itself: nothing is asked, nothing is looked up.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.proof.format != FORMAT {
            faults.push(format!("the proof has the form {}, and {FORMAT} is known", self.proof.format));
        }
        let found = self.proof.hash();
        if found != self.sha256 {
            faults.push(format!("the proof hashes to {found}, and the receipt says {}", self.sha256));
        }
        let of_plan = |result: &&GateResult| {
            let gate = result.gate.parse::<Gate>();
            !result.passed && gate.is_ok_and(|gate| gate.is_blocking())
        };
        let validated = |result: &&GateResult| !result.passed && result.gate == VALIDATE;
        let failing = self.proof.results.iter().filter(|result| of_plan(result) || validated(result));
        faults.extend(failing.map(|result| format!("{} did not pass", result.gate)));
        if self.proof.result_of(VALIDATE).is_none() {
            faults.push("it was not validated".to_string());
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(gate: &str, passed: bool) -> GateResult {
        let exit = Some(i32::from(!passed));
        GateResult { gate: gate.to_string(), exit, output_sha256: Hash::of(b"ok\n"), passed }
    }

    fn plan() -> Plan {
        Plan::first(vec!["cmd:make".parse().unwrap(), "advisory cmd:lint".parse().unwrap()])
    }

    fn proof() -> Proof {
        let results =
            vec![result(VALIDATE, true), result("cmd:make", true), result("advisory cmd:lint", false)];
        let artifact = |path: &str| Artifact { path: path.to_string(), sha256: Hash::of(path.as_bytes()) };
        let artifacts = vec![artifact("b"), artifact("a"), artifact("b")];
        Proof::new(Some("c0ffee".into()), "7ree".into(), results, artifacts)
    }

    /// The text is a promise: whoever has a receipt must be able to check it for as long as they keep it.
    // covers: T-05
    #[test]
    fn a_proof_has_one_text_and_one_hash() {
        let hash = Hash::of(b"ok\n");
        let (a, b) = (Hash::of(b"a"), Hash::of(b"b"));
        let expected = format!(
            r#"{{"artifacts":[{{"path":"a","sha256":"{a}"}},{{"path":"b","sha256":"{b}"}}],"commit":"c0ffee","format":"tenure-proof/1","results":[{{"exit":0,"gate":"validate","output_sha256":"{hash}","passed":true}},{{"exit":0,"gate":"cmd:make","output_sha256":"{hash}","passed":true}},{{"exit":1,"gate":"advisory cmd:lint","output_sha256":"{hash}","passed":false}}],"tree":"7ree"}}"#
        );
        assert_eq!(String::from_utf8(proof().canonical()).unwrap(), expected);
        assert_eq!(
            proof().hash().to_string(),
            "f4b8ea275d9a08c591d1e8a8e3d2e6128ee651b14236c3cc86df7fc54956c617"
        );
    }

    // covers: T-04, T-06
    #[test]
    fn every_blocking_gate_must_have_passed() {
        assert_eq!(proof().failing(&plan()), Vec::<String>::new(), "an advisory gate holds nothing up");
        let mut failed = proof();
        failed.results[1].passed = false;
        failed.results[1].exit = Some(2);
        assert_eq!(failed.failing(&plan()), ["cmd:make (exit code 2)"]);
        failed.results.remove(0);
        assert_eq!(failed.failing(&plan()), ["validate (has no result)", "cmd:make (exit code 2)"]);
        assert!(proof().is_of(&plan()) && !failed.is_of(&plan()));
    }

    // covers: T-05
    #[test]
    fn a_proof_says_what_drifted() {
        let at = Time::from_micros(0);
        let mut artifacts: BTreeMap<String, Option<Hash>> = BTreeMap::new();
        let plan = plan();
        let none = Entries::new();
        let now = |at, tree, artifacts| Now { at, tree, entries: &none, artifacts, plan: Some(&plan) };
        assert_eq!(proof().drift(at, &now(at.after(AGE_MAX), Some("7ree"), &artifacts)), []);
        artifacts.insert("a".into(), None);
        artifacts.insert("b".into(), Some(Hash::of(b"b")));
        let other = Plan::first(Vec::new());
        let late = at.after(AGE_MAX + Duration::from_secs(86_400));
        let now =
            Now { at: late, tree: Some("other"), entries: &none, artifacts: &artifacts, plan: Some(&other) };
        let told: Vec<String> = proof().drift(at, &now).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "the tree is other, not 7ree as proved",
                "a is gone",
                "the plan was changed",
                "the proof is 91 days old"
            ]
        );
    }

    // covers: T-05
    #[test]
    fn a_proof_with_declared_paths_drifts_with_these_alone() {
        let declared = |path: &str| DeclaredPath { entry: "100644 blob 1".into(), path: path.into() };
        let proof = proof().on(vec![declared("b"), declared("a")]);
        assert!(String::from_utf8(proof.canonical()).unwrap().contains(
            r#""paths":[{"entry":"100644 blob 1","path":"a"},{"entry":"100644 blob 1","path":"b"}],"results""#
        ));
        let told = |entries: &[(&str, Option<&str>)]| {
            let entry = |(path, entry): &(&str, Option<&str>)| (path.to_string(), entry.map(str::to_string));
            let entries: Entries = entries.iter().map(entry).collect();
            let drift = proof.basis().drift(Some("other"), &entries);
            drift.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let same = ("a", Some("100644 blob 1"));
        assert_eq!(told(&[same, ("b", Some("100644 blob 1"))]), Vec::<String>::new());
        assert_eq!(told(&[]), Vec::<String>::new(), "what is not known is no drift");
        assert_eq!(told(&[same, ("b", Some("100755 blob 1"))]), ["b was changed"]);
        assert_eq!(told(&[same, ("b", None)]), ["b is gone"]);
    }

    #[test]
    fn a_receipt_is_checked_by_itself() {
        let good = Receipt {
            agent: "worker:a".into(),
            sha256: proof().hash(),
            proof: proof(),
            proved_at: Time::from_micros(0),
            entry_sha256: None,
            run: None,
            store: "repo".into(),
            task_id: "x".into(),
            title: "x".into(),
        };
        assert_eq!(good.faults(), Vec::<String>::new());
        let mut forged = good.clone();
        forged.proof.tree = "another".into();
        assert!(forged.faults()[0].contains("hashes to"), "{:?}", forged.faults());
        let mut failed = good.clone();
        failed.proof.results[1].passed = false;
        failed.sha256 = failed.proof.hash();
        assert_eq!(failed.faults(), ["cmd:make did not pass"]);
    }
}
