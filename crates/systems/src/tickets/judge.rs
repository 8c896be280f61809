//! The judgement on an output, as a pure function: what was made, what was checked, what a person said.

use super::kept::{Attestation, Bundle, Checked, Outcome, WORK_ORDERS_MAX, WorkOrder};
use crate::gate::Gate;

/// The gate of every patch: it can be applied to the commit that it names.
pub(super) const PATCH: &str = "patch";

/// What the gate worker has to go by.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub order: &'a WorkOrder,
    /// None: there is none that can be read.
    pub bundle: Option<&'a Bundle>,
    /// What the gate worker has checked itself. None: it has no repository, so what the runner found counts. With one, what the
    /// runner says is not looked at, whatever it made.
    pub checks: Option<&'a [Checked]>,
    pub attestation: Option<&'a Attestation>,
}

/// What becomes of the ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    Pass,
    Retry,
    Block,
}

impl Judged {
    /// The event of the ticket, and where it leads.
    pub(super) fn moves(self) -> (&'static str, &'static str) {
        match self {
            Judged::Pass => ("pass", "DONE"),
            Judged::Retry => ("retry", "TODO"),
            Judged::Block => ("block", "BLOCKED"),
        }
    }
}

/// Whether a person is asked before the gate judges: only where nothing else speaks against the output.
pub(super) fn awaits(order: &WorkOrder, bundle: &Bundle) -> bool {
    let named = order.gates.iter().any(Gate::is_human);
    named && bundle.outcome == Outcome::Completed && bundle.checks.iter().all(|check| check.passed)
}

/// Every gate with what was found. Never empty.
pub(super) fn gates(evidence: &Evidence) -> Vec<Checked> {
    let Some(bundle) = evidence.bundle else {
        return vec![Checked::new("bundle", false, "the work order has no output bundle that can be read")];
    };
    let mut found = vec![executed(bundle), within_budget(bundle), not_empty(bundle)];
    let checks = evidence.checks.unwrap_or(&bundle.checks);
    let checked = |gate: &str| checks.iter().find(|check| check.gate == gate).cloned();
    if bundle.patch.is_some() {
        found.push(checked(PATCH).unwrap_or_else(|| unchecked(PATCH, evidence)));
    }
    for gate in &evidence.order.gates {
        let text = gate.to_string();
        found.push(match gate.is_human() {
            true => attested(&text, evidence.attestation),
            false => checked(&text).unwrap_or_else(|| unchecked(&text, evidence)),
        });
    }
    found
}

pub(super) fn judged(gates: &[Checked], number: u32) -> Judged {
    match gates.iter().all(|gate| gate.passed) {
        true => Judged::Pass,
        false if number < WORK_ORDERS_MAX => Judged::Retry,
        false => Judged::Block,
    }
}

fn executed(bundle: &Bundle) -> Checked {
    let reason = bundle.reason.as_deref().unwrap_or("it says no more");
    match bundle.outcome {
        Outcome::Completed => Checked::new("executor", true, "it came to its end"),
        Outcome::Failed => Checked::new("executor", false, format!("it failed: {reason}")),
        Outcome::BudgetExhausted => Checked::new("executor", false, "it did not come to its end"),
    }
}

fn within_budget(bundle: &Bundle) -> Checked {
    let in_time = bundle.outcome != Outcome::BudgetExhausted && bundle.took_ms <= bundle.budget_ms;
    Checked::new("budget", in_time, format!("{} of {} ms", bundle.took_ms, bundle.budget_ms))
}

fn not_empty(bundle: &Bundle) -> Checked {
    match (&bundle.patch, &bundle.output) {
        (Some(patch), _) if patch.diff.trim().is_empty() => {
            Checked::new("result", false, "the patch changes nothing")
        }
        (Some(patch), _) => Checked::new("result", true, format!("a patch of {} bytes", patch.diff.len())),
        (None, Some(output)) if !output.is_null() => Checked::new("result", true, "an output"),
        (None, _) => Checked::new("result", false, "there is neither a patch nor an output"),
    }
}

fn attested(gate: &str, attestation: Option<&Attestation>) -> Checked {
    match attestation {
        Some(said) => {
            let note = said.note.as_deref().map_or(String::new(), |note| format!(": {note}"));
            let word = if said.approved { "approved" } else { "rejected" };
            Checked::new(gate, said.approved, format!("{word} by {}{note}", said.by))
        }
        None => Checked::new(gate, false, "nobody was asked, because of the others"),
    }
}

fn unchecked(gate: &str, evidence: &Evidence) -> Checked {
    let why = match evidence.checks {
        Some(_) => "it was not run: there was no copy of the repository with the patch in it",
        None => "nobody has checked it: its runner did not, and the gate worker has no repository",
    };
    Checked::new(gate, false, why)
}

#[cfg(test)]
mod tests {
    use tenure::core::id::{ItemId, RecordId};

    use super::super::kept::Patch;
    use super::*;

    fn order(gates: &[&str]) -> WorkOrder {
        WorkOrder {
            event_id: ItemId(1),
            ticket_id: ItemId(2),
            number: 1,
            budget_ms: 100,
            context_snapshot_id: RecordId(3),
            gates: gates.iter().map(|gate| gate.parse().unwrap()).collect(),
        }
    }

    fn bundle(outcome: Outcome) -> Bundle {
        Bundle {
            work_order_id: ItemId(4),
            ticket_id: ItemId(2),
            outcome,
            budget_ms: 100,
            took_ms: 10,
            exit_code: None,
            reason: None,
            output: Some(serde_json::json!({ "done": true })),
            patch: None,
            checks: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn failed(order: &WorkOrder, bundle: Option<&Bundle>, said: Option<&Attestation>) -> Vec<String> {
        let found = gates(&Evidence { order, bundle, checks: None, attestation: said });
        found.into_iter().filter(|gate| !gate.passed).map(|gate| gate.gate).collect()
    }

    // covers: M-04
    #[test]
    fn every_gate_must_pass_and_none_passes_unseen() {
        let good = bundle(Outcome::Completed);
        assert_eq!(failed(&order(&[]), Some(&good), None), [""; 0]);
        assert_eq!(failed(&order(&[]), None, None), ["bundle"]);
        assert_eq!(failed(&order(&[]), Some(&bundle(Outcome::Failed)), None), ["executor"]);
        assert_eq!(
            failed(&order(&[]), Some(&bundle(Outcome::BudgetExhausted)), None),
            ["executor", "budget"]
        );
        assert_eq!(failed(&order(&[]), Some(&Bundle { output: None, ..good.clone() }), None), ["result"]);
        assert_eq!(
            failed(&order(&["cmd:true", "human:look"]), Some(&good), None),
            ["cmd:true", "human:look"]
        );
        let yes = Attestation { approved: true, by: "human:eva".into(), note: None };
        assert_eq!(failed(&order(&["human:look"]), Some(&good), Some(&yes)), [""; 0]);
        let no = Attestation { approved: false, ..yes };
        assert_eq!(failed(&order(&["human:look"]), Some(&good), Some(&no)), ["human:look"]);
    }

    #[test]
    fn a_patch_must_change_something_and_have_been_applied() {
        let patch = |diff: &str| Patch { base: "0".repeat(40), branch: "b".into(), diff: diff.into() };
        let with = |diff: &str, checks: Vec<Checked>| Bundle {
            patch: Some(patch(diff)),
            checks,
            ..bundle(Outcome::Completed)
        };
        assert_eq!(failed(&order(&[]), Some(&with("", vec![])), None), ["result", "patch"]);
        let applies = vec![Checked::new(PATCH, true, "")];
        assert_eq!(failed(&order(&[]), Some(&with("+a", applies.clone())), None), [""; 0]);
        // What the gate worker has seen itself counts more than what the runner says.
        let (order, bundle) = (order(&[]), with("+a", applies));
        let own = [Checked::new(PATCH, false, "it does not apply")];
        let evidence =
            Evidence { order: &order, bundle: Some(&bundle), checks: Some(&own), attestation: None };
        assert_eq!(judged(&gates(&evidence), 1), Judged::Retry);
    }

    // covers: M-04
    #[test]
    fn where_the_gate_worker_checks_itself_a_runners_word_counts_for_nothing() {
        let order = order(&["test:false"]);
        let claimed = vec![Checked::new("test:false", true, "trust me")];
        let bundle = Bundle { checks: claimed, ..bundle(Outcome::Completed) };
        let found =
            |checks| gates(&Evidence { order: &order, bundle: Some(&bundle), checks, attestation: None });
        assert_eq!(judged(&found(None), 1), Judged::Pass, "nobody else has looked");
        assert_eq!(judged(&found(Some(&[])), 1), Judged::Retry, "what was not checked has not passed");
        let own = [Checked::new("test:false", false, "exit code 1")];
        assert_eq!(judged(&found(Some(&own)), 1), Judged::Retry);
    }

    #[test]
    fn the_last_work_order_of_three_blocks() {
        let bad = [Checked::new("a", true, ""), Checked::new("b", false, "")];
        let became: Vec<Judged> = (1..=4).map(|number| judged(&bad, number)).collect();
        assert_eq!(became, [Judged::Retry, Judged::Retry, Judged::Block, Judged::Block]);
        assert_eq!(judged(&bad[..1], 3), Judged::Pass);
    }

    #[test]
    fn a_person_is_asked_only_about_what_nothing_else_speaks_against() {
        let good = bundle(Outcome::Completed);
        assert!(awaits(&order(&["human:look"]), &good));
        assert!(!awaits(&order(&["cmd:true"]), &good));
        assert!(!awaits(&order(&["human:look"]), &bundle(Outcome::Failed)));
        let checks = vec![Checked::new("cmd:x", false, "")];
        assert!(!awaits(&order(&["human:look"]), &Bundle { checks, ..good }));
    }
}
