//! Weighing: which judgements count, for which side, and what follows.

use std::collections::BTreeMap;

use tenure::core::time::Time;

use super::share::{Share, WHOLE};
use super::{Authority, Judgement, Outcome, Policy, Status, Verdict, Weighed, words};

/// What the judgements amount to at this moment, for each TruthBit and for their claim. Judgements of other TruthBits are passed over.
pub fn weigh(policy: &Policy, truthbits: &[String], judgements: &[Judgement], now: Time) -> Weighed {
    let mut of_each: BTreeMap<&str, Vec<&Judgement>> = BTreeMap::new();
    for judgement in judgements {
        of_each.entry(&judgement.truthbit).or_default().push(judgement);
    }
    let verdict_of = |truthbit: &String| {
        let heard = of_each.get(truthbit.as_str()).map_or(&[][..], Vec::as_slice);
        (truthbit.clone(), truthbit_verdict(policy, heard, now))
    };
    let truthbits: Vec<(String, Verdict)> = truthbits.iter().map(verdict_of).collect();
    let claim = claim_verdict(policy, &truthbits);
    let next_look = truthbits.iter().filter_map(|(_, verdict)| verdict.stale_at).min();
    Weighed { claim, truthbits, next_look }
}

/// A judgement that counts on one of the two sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted<'a> {
    pub judgement: &'a Judgement,
    pub authority: Authority,
    pub weight: Share,
}

/// Why a judgement counts on neither side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unheard {
    /// The same validator has judged again.
    Older,
    Inconclusive,
    /// No confidence, or evidence that the policy gives no weight.
    Weightless,
}

/// The judgements of one TruthBit, sorted out.
#[derive(Default, Debug)]
pub(super) struct Heard<'a> {
    pub supporting: Vec<Counted<'a>>,
    pub refuting: Vec<Counted<'a>>,
    pub unheard: Vec<(&'a Judgement, Unheard)>,
}

/// What the sides come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    supporting: u64,
    counted: u64,
}

impl Sums {
    fn of(heard: &Heard<'_>) -> Sums {
        let supporting = weight_of(&heard.supporting);
        Sums { supporting, counted: supporting + weight_of(&heard.refuting) }
    }

    pub(super) fn score(self) -> Share {
        Share::ratio(self.supporting, self.counted)
    }

    /// Multiplied out instead of divided, so that a score of exactly a threshold meets it.
    fn at_least(self, threshold: Share) -> bool {
        self.scaled() >= u128::from(threshold.millionths()) * u128::from(self.counted)
    }

    fn at_most(self, threshold: Share) -> bool {
        self.scaled() <= u128::from(threshold.millionths()) * u128::from(self.counted)
    }

    fn scaled(self) -> u128 {
        u128::from(self.supporting) * u128::from(WHOLE)
    }
}

fn weight_of(side: &[Counted<'_>]) -> u64 {
    side.iter().map(|counted| counted.weight.millionths()).sum()
}

/// What decided a TruthBit's status, for the words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    NothingCounts,
    Score,
    /// The score would have been enough; the evidence is not.
    NothingDecides,
}

fn truthbit_verdict(policy: &Policy, judgements: &[&Judgement], now: Time) -> Verdict {
    let heard = sort_out(policy, judgements);
    let sums = Sums::of(&heard);
    let (status, reason) = judge(policy, &heard, sums);
    let stale_at = newest_evidence(&heard).map(|newest| newest.after(policy.age_max()));
    let is_stale = stale_at.is_some_and(|stale_at| now >= stale_at);
    let rationale = words::of_truthbit(policy, &heard, sums, (status, reason), stale_at.filter(|_| is_stale));
    let mut validation_ids: Vec<String> = counted(&heard).map(|it| it.judgement.validation.clone()).collect();
    validation_ids.sort();
    Verdict {
        status: if is_stale { Status::Stale } else { status },
        confidence: confidence(&heard, sums),
        validation_ids,
        rationale,
        stale_at: stale_at.filter(|_| !is_stale),
        policy: policy.version.clone(),
    }
}

pub(super) fn counted<'a, 'b>(heard: &'b Heard<'a>) -> impl Iterator<Item = &'b Counted<'a>> {
    heard.supporting.iter().chain(&heard.refuting)
}

/// A validator has one voice: the last, and of two at the same moment the one with the later id.
fn sort_out<'a>(policy: &Policy, judgements: &[&'a Judgement]) -> Heard<'a> {
    let mut sorted = judgements.to_vec();
    sorted.sort_by(|a, b| (a.submitted_at, &a.validation).cmp(&(b.submitted_at, &b.validation)));
    let last: BTreeMap<&str, &str> =
        sorted.iter().map(|it| (it.validator.as_str(), it.validation.as_str())).collect();
    let mut heard = Heard::default();
    for judgement in sorted {
        let authority = policy.authority.of(&judgement.evidence);
        let counted = Counted { judgement, authority, weight: judgement.confidence.times(authority.weight) };
        if last.get(judgement.validator.as_str()) != Some(&judgement.validation.as_str()) {
            heard.unheard.push((judgement, Unheard::Older));
        } else if judgement.outcome == Outcome::Inconclusive {
            heard.unheard.push((judgement, Unheard::Inconclusive));
        } else if counted.weight == Share::ZERO {
            heard.unheard.push((judgement, Unheard::Weightless));
        } else if judgement.outcome == Outcome::Supports {
            heard.supporting.push(counted);
        } else {
            heard.refuting.push(counted);
        }
    }
    heard
}

fn judge(policy: &Policy, heard: &Heard<'_>, sums: Sums) -> (Status, Reason) {
    if sums.counted == 0 {
        return (Status::Unverified, Reason::NothingCounts);
    }
    let (status, side) = if sums.at_least(policy.supported_from) {
        (Status::Supported, &heard.supporting)
    } else if sums.at_most(policy.refuted_to) {
        (Status::Refuted, &heard.refuting)
    } else {
        return (Status::Contested, Reason::Score);
    };
    match side.iter().any(|counted| counted.authority.decides) {
        true => (status, Reason::Score),
        false => (Status::Contested, Reason::NothingDecides),
    }
}

fn confidence(heard: &Heard<'_>, sums: Sums) -> Share {
    let score = sums.score();
    let (share, side) = match score >= score.rest() {
        true => (score, &heard.supporting),
        false => (score.rest(), &heard.refuting),
    };
    share.times(Share::ratio(weight_of(side), side.len() as u64 * WHOLE))
}

/// A judgement without evidence is as old as itself; evidence is never newer than the judgement that rests on it.
fn newest_evidence(heard: &Heard<'_>) -> Option<Time> {
    let newest_of = |counted: &Counted<'_>| {
        let judgement = counted.judgement;
        let seen = judgement.evidence.iter().map(|evidence| evidence.captured_at.min(judgement.submitted_at));
        seen.max().unwrap_or(judgement.submitted_at)
    };
    counted(heard).map(newest_of).max()
}

fn claim_verdict(policy: &Policy, truthbits: &[(String, Verdict)]) -> Verdict {
    let verdicts = || truthbits.iter().map(|(_, verdict)| verdict);
    let verified = verdicts().filter(|verdict| verdict.status != Status::Unverified).count();
    let coverage = Share::ratio(verified as u64, truthbits.len() as u64);
    let covered = verified > 0 && coverage >= policy.coverage_min;
    let status = verdicts()
        .map(|verdict| verdict.status)
        .filter(|status| !(covered && *status == Status::Unverified))
        .min()
        .unwrap_or(Status::Unverified);
    let deciding = verdicts().filter(|verdict| verdict.status == status).map(|verdict| verdict.confidence);
    let confidence = match status {
        Status::Refuted | Status::Contested => deciding.max(),
        Status::Supported | Status::Stale => deciding.min(),
        Status::Unverified => None,
    };
    let mut validation_ids: Vec<String> = verdicts().flat_map(|it| it.validation_ids.clone()).collect();
    validation_ids.sort();
    Verdict {
        status,
        confidence: confidence.unwrap_or(Share::ZERO),
        validation_ids,
        rationale: words::of_claim(policy, truthbits, status, coverage),
        stale_at: match status {
            Status::Stale => None,
            Status::Refuted | Status::Contested | Status::Unverified | Status::Supported => {
                verdicts().filter_map(|verdict| verdict.stale_at).min()
            }
        },
        policy: policy.version.clone(),
    }
}
