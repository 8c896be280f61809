//! Why a verdict is what it is, in sentences for whoever reads it later.

use tenure::core::time::Time;

use super::weigh::{Counted, Heard, Reason, Sums, Unheard};
use super::{EvidenceType, Judgement, Policy, Share, Status, Verdict};

/// Nobody reads a longer list; the verdict names every validation anyway.
const NAMED_MAX: usize = 20;

pub(super) fn of_truthbit(
    policy: &Policy,
    heard: &Heard<'_>,
    sums: Sums,
    (status, reason): (Status, Reason),
    stale_at: Option<Time>,
) -> String {
    let mut sentences = vec![conclusion(policy, heard, sums, status, reason)];
    if let Some(stale_at) = stale_at {
        let days = policy.evidence_age_max_days;
        let name = status.name();
        sentences.push(format!(
            "Stale since {stale_at}: its newest evidence is older than {days} days; it was {name}."
        ));
    }
    sentences.extend(list("Supports", &heard.supporting, counts));
    sentences.extend(list("Refutes", &heard.refuting, counts));
    sentences.extend(list("Did not count", &heard.unheard, |(judgement, why)| not_heard(judgement, *why)));
    sentences.join(" ")
}

fn conclusion(policy: &Policy, heard: &Heard<'_>, sums: Sums, status: Status, reason: Reason) -> String {
    let (score, above, below) = (sums.score(), policy.supported_from, policy.refuted_to);
    let (supporting, refuting) = (heard.supporting.len(), heard.refuting.len());
    let stands = format!("{supporting} in favour, {refuting} against, score {score}");
    match (reason, status) {
        (Reason::NothingCounts, _) => "Unverified: no judgement counts.".to_string(),
        (Reason::NothingDecides, _) => {
            let side = if supporting > 0 && score >= above { "supported" } else { "refuted" };
            format!(
                "Contested: {stands} would be {side}, but that side has secondary evidence or none, which does not decide alone."
            )
        }
        (Reason::Score, Status::Supported) => {
            format!("Supported: {stands}, which is at least {above}.")
        }
        (Reason::Score, Status::Refuted) => format!("Refuted: {stands}, which is at most {below}."),
        (Reason::Score, Status::Contested | Status::Stale | Status::Unverified) => {
            format!("Contested: {stands}, which is between {below} and {above}.")
        }
    }
}

fn list<T>(what: &str, of: &[T], each: impl Fn(&T) -> String) -> Option<String> {
    if of.is_empty() {
        return None;
    }
    let mut named: Vec<String> = of.iter().take(NAMED_MAX).map(each).collect();
    if of.len() > NAMED_MAX {
        named.push(format!("and {} more", of.len() - NAMED_MAX));
    }
    Some(format!("{what}: {}.", named.join("; ")))
}

fn counts(counted: &Counted<'_>) -> String {
    let Counted { judgement, authority, weight } = counted;
    let Judgement { validation, validator, confidence, .. } = judgement;
    let weighed = match authority.weight == Share::ONE {
        true => String::new(),
        false => format!(", weighs {weight}"),
    };
    format!("{validation} by {validator}, confidence {confidence}{weighed}, {}", rests_on(judgement))
}

fn rests_on(judgement: &Judgement) -> String {
    let mut kinds: Vec<EvidenceType> = judgement.evidence.iter().map(|evidence| evidence.kind).collect();
    kinds.sort();
    kinds.dedup();
    let name = |kind: &EvidenceType| match kind {
        EvidenceType::PrimaryArtifact => "a primary artifact",
        EvidenceType::SecondaryArtifact => "a secondary artifact",
        EvidenceType::ValidatorCapture => "the validator's own capture",
    };
    match kinds.is_empty() {
        true => "without evidence".to_string(),
        false => format!("on {}", kinds.iter().map(name).collect::<Vec<_>>().join(" and ")),
    }
}

fn not_heard(judgement: &Judgement, why: Unheard) -> String {
    let Judgement { validation, validator, .. } = judgement;
    let why = match why {
        Unheard::Older => "the same validator has judged again",
        Unheard::Inconclusive => "inconclusive",
        Unheard::Weightless => "it has no weight",
    };
    format!("{validation} by {validator}, {why}")
}

pub(super) fn of_claim(
    policy: &Policy,
    truthbits: &[(String, Verdict)],
    status: Status,
    coverage: Share,
) -> String {
    let count = |of: Status| truthbits.iter().filter(|(_, verdict)| verdict.status == of).count();
    let all = truthbits.len();
    let such = count(status);
    let conclusion = match status {
        Status::Refuted => format!("Refuted: {such} of {all} TruthBits refuted; one is enough."),
        Status::Contested => format!("Contested: {such} of {all} TruthBits contested, none refuted."),
        Status::Stale => format!("Stale: the evidence of {such} of {all} TruthBits is too old."),
        Status::Unverified => {
            format!("Unverified: {such} of {all} TruthBits have no judgement that counts.")
        }
        Status::Supported if such == all => format!("Supported: all {all} TruthBits are."),
        Status::Supported => format!(
            "Supported: {such} of {all} TruthBits are, a coverage of {coverage}; {} is asked for.",
            policy.coverage_min
        ),
    };
    let order = [Status::Supported, Status::Refuted, Status::Contested, Status::Stale, Status::Unverified];
    let counts = order.into_iter().filter(|status| count(*status) > 0);
    let counts: Vec<String> = counts.map(|status| format!("{} {}", count(status), status.name())).collect();
    match counts.is_empty() {
        true => "Unverified: there are no TruthBits.".to_string(),
        false => format!("{conclusion} In all: {}. Policy {}.", counts.join(", "), policy.version),
    }
}
