//! What judgements amount to, by a table of cases.

use serde_json::json;
use tenure::core::time::Time;
use tenure_systems::claims::policy::{
    Evidence, EvidenceType, Judgement, Outcome, Policy, Share, Status, Verdict, Weighed, weigh,
};

const CASES: &str = include_str!("policy/cases.md");

/// On this day every case is judged.
const TODAY: u64 = 400;

fn day(day: u64) -> Time {
    Time::from_micros(i64::try_from(day).unwrap() * 86_400_000_000)
}

/// The cells of every row below the head.
fn rows() -> Vec<Vec<&'static str>> {
    let rows = CASES.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn policy(differs: &str) -> Policy {
    let mut policy = Policy::default();
    let Some((what, number)) = differs.split_once(' ') else { return policy };
    let share = || Share::of(number.parse().unwrap()).unwrap();
    match what {
        "coverage" => policy.coverage_min = share(),
        "supported" => policy.supported_from = share(),
        "refuted" => policy.refuted_to = share(),
        "secondary" => policy.authority.secondary_artifact.weight = share(),
        "age" => policy.evidence_age_max_days = number.parse().unwrap(),
        other => panic!("no policy has {other}"),
    }
    policy
}

fn judgement(number: usize, word: &str) -> Judgement {
    let [truthbit, validator, outcome, confidence, evidence] = word.split(':').collect::<Vec<_>>()[..] else {
        panic!("{word} is no judgement")
    };
    let (kinds, days) = evidence.split_once('@').unwrap();
    let (captured, submitted) = days.split_once('/').unwrap_or((days, days));
    let captured_at = day(captured.parse().unwrap());
    let seen = |kind: char| {
        let kind = match kind {
            'p' => EvidenceType::PrimaryArtifact,
            's' => EvidenceType::SecondaryArtifact,
            'v' => EvidenceType::ValidatorCapture,
            _ => return None,
        };
        Some(Evidence { kind, captured_at })
    };
    Judgement {
        validation: format!("v{number:02}"),
        truthbit: truthbit.to_string(),
        validator: validator.to_string(),
        outcome: match outcome {
            "+" => Outcome::Supports,
            "-" => Outcome::Refutes,
            _ => Outcome::Inconclusive,
        },
        confidence: Share::of(confidence.parse().unwrap()).unwrap(),
        evidence: kinds.chars().filter_map(seen).collect(),
        submitted_at: day(submitted.parse().unwrap()),
    }
}

fn shown(verdict: &Verdict) -> String {
    format!("{} {}", verdict.status.name(), verdict.confidence)
}

/// The cells that the policy fills: TruthBits, claim, counted, look.
fn cells(weighed: &Weighed) -> [String; 4] {
    let truthbits: Vec<String> = weighed.truthbits.iter().map(|(_, verdict)| shown(verdict)).collect();
    let counted = weighed.claim.validation_ids.iter().map(|id| id.trim_start_matches(['v', '0']).to_string());
    let look = weighed.next_look.map_or("-".to_string(), |at| (at.micros() / 86_400_000_000).to_string());
    [truthbits.join(", "), shown(&weighed.claim), counted.collect::<Vec<_>>().join(" "), look]
}

// covers: C-10
#[test]
fn every_case_of_the_table_comes_out_as_it_says() {
    let rows = rows();
    assert!(rows.len() >= 30);
    for row in rows {
        let [case, judgements, differs, expected @ ..] = &row[..] else { panic!("{row:?}") };
        let judgements: Vec<Judgement> = judgements
            .split(' ')
            .filter(|word| !word.is_empty())
            .zip(1..)
            .map(|(word, at)| judgement(at, word))
            .collect();
        let count = expected[0].split(", ").count();
        let truthbits: Vec<String> = ["a", "b", "c"][..count].iter().map(ToString::to_string).collect();
        let policy = policy(differs);
        let weighed = weigh(&policy, &truthbits, &judgements, day(TODAY));
        assert_eq!(cells(&weighed).each_ref().map(String::as_str), expected[..], "{case}");
        // The order in which judgements are read changes nothing, nor do the words.
        let backwards: Vec<Judgement> = judgements.iter().rev().cloned().collect();
        assert_eq!(weigh(&policy, &truthbits, &backwards, day(TODAY)), weighed, "{case}");
        assert_eq!(weighed.claim.policy, "1");
        // Nothing changes by itself before the day on which to look again; on that day something is stale.
        if let Some(look) = weighed.next_look {
            let before = Time::from_micros(look.micros() - 1);
            assert_eq!(cells(&weigh(&policy, &truthbits, &judgements, before)), cells(&weighed), "{case}");
            let later = weigh(&policy, &truthbits, &judgements, look);
            let stale = |weighed: &Weighed| {
                weighed.truthbits.iter().filter(|(_, verdict)| verdict.status == Status::Stale).count()
            };
            assert!(stale(&later) > stale(&weighed), "{case}");
        }
    }
}

// covers: C-10
#[test]
fn a_verdict_says_in_words_what_counted_and_what_did_not() {
    let judgements = [
        judgement(1, "a:ann:+:0.9:p@390"),
        judgement(2, "a:bob:-:0.2:s@390"),
        judgement(3, "a:cem:?:0.5:v@390"),
        judgement(4, "a:dan:+:1:p@380"),
        judgement(5, "a:dan:+:0:0@390"),
        judgement(6, "b:ann:+:0.9:s@390"),
        judgement(7, "c:ann:-:0.9:p@10"),
    ];
    let truthbits = ["a", "b", "c", "d"].map(str::to_string);
    let weighed = weigh(&Policy::default(), &truthbits, &judgements, day(TODAY));
    let rationale = |at: usize| weighed.truthbits[at].1.rationale.as_str();
    assert_eq!(
        rationale(0),
        "Supported: 1 in favour, 1 against, score 0.818181, which is at least 0.67. \
         Supports: v01 by ann, confidence 0.9, on a primary artifact. \
         Refutes: v02 by bob, confidence 0.2, on a secondary artifact. \
         Did not count: v04 by dan, the same validator has judged again; v03 by cem, inconclusive; v05 by dan, it has no weight."
    );
    assert_eq!(
        rationale(1),
        "Contested: 1 in favour, 0 against, score 1 would be supported, but that side has secondary evidence or none, which does \
         not decide alone. Supports: v06 by ann, confidence 0.9, on a secondary artifact."
    );
    assert_eq!(
        rationale(2),
        "Refuted: 0 in favour, 1 against, score 0, which is at most 0.33. Stale since 1971-01-11T00:00:00.000000Z: its newest \
         evidence is older than 365 days; it was refuted. Refutes: v07 by ann, confidence 0.9, on a primary artifact."
    );
    assert_eq!(rationale(3), "Unverified: no judgement counts.");
    assert_eq!(
        weighed.claim.rationale,
        "Contested: 1 of 4 TruthBits contested, none refuted. In all: 1 supported, 1 contested, 1 stale, 1 unverified. Policy 1."
    );
    let many: Vec<Judgement> = (1..=50).map(|at| judgement(at, &format!("a:x{at}:+:0.5:p@390"))).collect();
    let weighed = weigh(&Policy::default(), &truthbits[..1], &many, day(TODAY));
    assert!(
        weighed.truthbits[0].1.rationale.ends_with("; and 30 more."),
        "{}",
        weighed.truthbits[0].1.rationale
    );
    assert_eq!(weighed.claim.validation_ids.len(), 50);
}

// covers: C-10
#[test]
fn a_policy_is_read_as_data_and_one_that_contradicts_itself_is_refused() {
    let read = |value| serde_json::from_value::<Policy>(value).map_err(|why| why.to_string());
    assert_eq!(read(json!({})).unwrap(), Policy::default());
    let strict = read(json!({
        "version": "strict-2", "supported_from": 0.9, "coverage_min": 1,
        "authority": { "secondary_artifact": { "weight": 0.5, "decides": false } },
    }))
    .unwrap();
    assert_eq!((strict.version.as_str(), strict.refuted_to), ("strict-2", Share::percent(33)));
    assert!(strict.authority.primary_artifact.decides);
    for (wrong, why) in [
        (json!({ "supported_from": 0.3 }), "must be below"),
        (json!({ "supported_from": 67 }), "no number from 0 to 1"),
        (json!({ "version": " " }), "needs a version"),
        (json!({ "evidence_age_max_days": 0 }), "at least 1"),
        (json!({ "supported_form": 0.9 }), "unknown field"),
        (json!({ "authority": { "hearsay": { "weight": 1, "decides": true } } }), "unknown field"),
    ] {
        let refused = read(wrong).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
