//! A claim for people: where it stands, what it was taken apart into, who says what of it, and what that amounts to.

use serde::Deserialize;

use crate::commands::item::shown::to_the_second;
use crate::outcome::Error;
use crate::output::{BAD, FAINT, GOOD, Output, STRONG, styled};

/// The fields of the service's answers that are shown.
#[derive(Debug, Deserialize)]
pub struct ClaimShown {
    claim_id: String,
    decomposition_status: String,
    failed_reason: Option<String>,
    attempt: u64,
    domain: Option<String>,
    text: Option<String>,
    created_by: Option<String>,
    created_at: String,
    updated_at: String,
}

#[derive(Debug, Deserialize)]
pub struct TruthBits {
    items: Vec<TruthBit>,
}

#[derive(Debug, Deserialize)]
struct TruthBit {
    id: String,
    key: String,
    statement: String,
    expected_type: String,
}

#[derive(Debug, Deserialize)]
pub struct Validations {
    items: Vec<Validated>,
}

/// A validation, or a piece of evidence, of which the id is all that is needed.
#[derive(Debug, Deserialize)]
pub struct Validated {
    pub id: String,
    pub status: Option<String>,
    truthbit_id: Option<String>,
    outcome: Option<String>,
    confidence: Option<f64>,
    #[serde(default)]
    evidence_ids: Vec<String>,
    notes: Option<String>,
    created_by: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Verdicts {
    verdict: Option<Verdict>,
    truthbits: Vec<Verdict>,
    history: Option<Vec<Verdict>>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    subject_id: String,
    status: String,
    confidence: f64,
    rationale: String,
    policy: String,
    computed_at: String,
}

/// All of it.
#[derive(Debug)]
pub struct Story {
    pub claim: ClaimShown,
    pub truthbits: TruthBits,
    pub validations: Validations,
    pub verdicts: Verdicts,
}

fn styled_status(status: &str) -> String {
    let style = match status {
        "decomposed" | "supported" | "submitted" => GOOD,
        "failed" | "refuted" => BAD,
        "superseded" | "invalidated" | "unverified" => FAINT,
        _ => STRONG,
    };
    styled(style, status)
}

impl Story {
    pub fn tell(&self, output: &mut Output) -> Result<(), Error> {
        self.claim.tell(output)?;
        if !self.truthbits.items.is_empty() {
            output.line("")?;
            output.line(styled(STRONG, "TruthBits"))?;
        }
        for truthbit in &self.truthbits.items {
            let verdict = self.verdicts.truthbits.iter().find(|verdict| verdict.subject_id == truthbit.id);
            let status = verdict.map_or("unverified", |verdict| verdict.status.as_str());
            output.line(format_args!("  {} {}", styled_status(status), truthbit.statement))?;
            output.line(format_args!(
                "    {}",
                styled(FAINT, format!("{} {} ({})", truthbit.id, truthbit.key, truthbit.expected_type))
            ))?;
            for said in self.validations.items.iter().filter(|said| said.is_of(&truthbit.id)) {
                output.line(format_args!("    {}", said.line()))?;
            }
        }
        output.line("")?;
        self.verdicts.tell(output)
    }
}

impl ClaimShown {
    fn tell(&self, output: &mut Output) -> Result<(), Error> {
        output.line(format_args!("{} claim {}", self.claim_id, styled_status(&self.decomposition_status)))?;
        let mut say = |name: &str, value: Option<&str>| match value {
            Some(value) => output.line(format!("  {}{value}", styled(FAINT, format!("{name:<12}")))),
            None => Ok(()),
        };
        say("text", self.text.as_deref())?;
        say("domain", self.domain.as_deref())?;
        say("from", self.created_by.as_deref())?;
        say("created", Some(&self.created_at))?;
        say("updated", Some(&self.updated_at))?;
        say("attempts", Some(&self.attempt.to_string()))?;
        say("failure", self.failed_reason.as_deref())
    }
}

impl Validated {
    fn is_of(&self, truthbit: &str) -> bool {
        self.truthbit_id.as_deref() == Some(truthbit)
    }

    /// `submitted: human:ann supports it (0.9) on 1 piece of evidence`.
    fn line(&self) -> String {
        let who = self.created_by.as_deref().unwrap_or("somebody");
        let status = styled_status(self.status.as_deref().unwrap_or_default());
        let says = match (self.outcome.as_deref(), self.confidence) {
            (Some("supports"), Some(sure)) => format!("{who} supports it ({sure})"),
            (Some("refutes"), Some(sure)) => format!("{who} refutes it ({sure})"),
            (Some(_), Some(sure)) => format!("{who} leaves it open ({sure})"),
            _ => format!("{who} has not judged it yet"),
        };
        let on = match self.evidence_ids.len() {
            0 => "without evidence".to_string(),
            1 => "on 1 piece of evidence".to_string(),
            more => format!("on {more} pieces of evidence"),
        };
        let notes = self.notes.as_deref().map(|notes| format!(": {notes}")).unwrap_or_default();
        let reason = self.reason.as_deref().map(|reason| format!("; {reason}")).unwrap_or_default();
        format!("{status}: {says} {on}{notes}{reason}")
    }
}

impl Verdicts {
    pub fn tell(&self, output: &mut Output) -> Result<(), Error> {
        match &self.verdict {
            None => output.line("no verdict yet: one is computed when a validation was submitted")?,
            Some(verdict) => {
                let status = styled_status(&verdict.status);
                output.line(format_args!(
                    "{} {status} ({})",
                    styled(STRONG, "verdict"),
                    verdict.confidence
                ))?;
                output.line(format_args!("  {}", verdict.rationale))?;
                let when = format!("computed at {} by policy {}", verdict.computed_at, verdict.policy);
                output.line(format_args!("  {}", styled(FAINT, when)))?;
            }
        }
        for older in self.history.iter().flatten().skip(1) {
            output.line(format_args!(
                "  before: {} ({}), {}",
                styled_status(&older.status),
                older.confidence,
                older.computed_at
            ))?;
        }
        Ok(())
    }
}

pub fn truthbits(found: &TruthBits, output: &mut Output) -> Result<(), Error> {
    if found.items.is_empty() {
        return output.line("none: the claim is not decomposed");
    }
    let row =
        |bit: &TruthBit| [bit.id.clone(), bit.key.clone(), bit.expected_type.clone(), bit.statement.clone()];
    output.table(["id", "key", "type", "statement"], found.items.iter().map(row).collect::<Vec<_>>())
}

pub fn list(claims: &[ClaimShown], more: bool, output: &mut Output) -> Result<(), Error> {
    if claims.is_empty() {
        return output.line("none");
    }
    let row = |claim: &ClaimShown| {
        [
            claim.claim_id.clone(),
            claim.decomposition_status.clone(),
            claim.attempt.to_string(),
            to_the_second(&claim.updated_at),
            claim.failed_reason.clone().unwrap_or_default(),
        ]
    };
    output.table(
        ["id", "status", "attempt", "updated", "reason"],
        claims.iter().map(row).collect::<Vec<_>>(),
    )?;
    if more {
        output.line("there are more; --limit NUMBER or --all shows them")?;
    }
    Ok(())
}
