//! Claims, in the demonstration: a worker is killed while it takes one apart, and the verdict comes all the same.

use tenure::Tenure;
use tenure::core::actor::{Actor, Role};
use tenure::core::id::ItemId;
use tenure_databases::outside;
use tenure_systems::claims::policy::{EvidenceType, Outcome, Share, Status};
use tenure_systems::claims::{
    Claims, Judged, NewClaim, NewEvidence, NewValidation, Settings, Verdict, start,
};

use super::{FOR_EVER, PATIENCE, clerk, failed, heard, told};
use crate::outcome::Error;
use crate::output::{FAINT, GOOD, Output, STRONG, seconds, styled};
use crate::time::{Stopwatch, pause};
use tenure_databases::url::SecretUrl;

const TEXT: &str = "The Harbour Bridge was opened on 19 March 1932 and it is 1,149 m long.";

pub async fn show(tenure: &Tenure, url: &SecretUrl, output: &mut Output) -> Result<(), Error> {
    let watch = Stopwatch::start();
    output.line(styled(STRONG, "Claims: a statement, taken apart, validated and judged"))?;
    output.line(format_args!("  {}", styled(FAINT, TEXT)))?;
    let acting = |role: Role, id: &str| -> Result<Claims, Error> {
        let actor = Actor::new(role, id.parse().map_err(failed)?);
        Ok(Claims::of(&tenure.acting(tenure.store().clone(), actor)))
    };
    let api = acting(Role::Api, "office")?;
    let new = NewClaim {
        idempotency_key: "demo".to_string(),
        domain: "history".to_string(),
        text: TEXT.to_string(),
        created_by: None,
        trace: None,
    };
    let claim = api.create(new).await.map_err(failed)?.0.claim_id;
    acting(Role::Orchestrator, "demo")?.enqueue(claim, Some("initial".to_string())).await.map_err(failed)?;
    let (eve, mut says) = clerk(url, "eve", "claim", FOR_EVER)?;
    heard(&mut says, "began").await?;
    told(output, watch, "eve, a worker, is taking it apart … and is killed with kill -9")?;
    eve.kill().await;
    let running = start(tenure, Settings::shipped()).map_err(failed)?;
    tenure.wait(claim, PATIENCE).await.map_err(failed)?;
    let truthbits = api.truthbits(claim).await.map_err(failed)?;
    told(
        output,
        watch,
        "her lease has ended, and another has taken it apart: every TruthBit is there, once",
    )?;
    for truthbit in &truthbits {
        output.line(format_args!("          {} {}", styled(FAINT, &truthbit.key), truthbit.statement))?;
    }
    let found = NewEvidence {
        idempotency_key: None,
        kind: EvidenceType::PrimaryArtifact,
        uri: "https://example.org/archive/bridge".to_string(),
        captured_at: outside::now(),
        metadata: None,
    };
    let evidence = api.add_evidence(found).await.map_err(failed)?.0.id;
    let human = acting(Role::Human, "ann")?;
    for truthbit in &truthbits {
        let judged = Judged {
            evidence_ids: vec![evidence],
            outcome: Some(Outcome::Supports),
            confidence: Some(Share::percent(90)),
            ..Judged::default()
        };
        let new = NewValidation { idempotency_key: None, truthbit_id: truthbit.id, claim_id: None, judged };
        human.create_validation(new).await.map_err(failed)?;
    }
    told(output, watch, "ann has looked into an archive, and supports each of them")?;
    let verdict = verdict(&api, claim).await?;
    let words =
        format!("the verdict: {} ({})", styled(GOOD, verdict.body.status.name()), verdict.body.confidence);
    told(output, watch, &words)?;
    running.drain().await;
    output.line("")
}

/// Waits for the verdict that all of them count in.
async fn verdict(api: &Claims, claim: ItemId) -> Result<Verdict, Error> {
    let watch = Stopwatch::start();
    while watch.elapsed() < PATIENCE {
        let found = api.verdict(claim).await.map_err(failed)?.claim;
        if let Some(verdict) = found.filter(|verdict| verdict.body.status == Status::Supported) {
            return Ok(verdict);
        }
        pause(std::time::Duration::from_millis(20)).await;
    }
    Err(Error::Part(format!("there was no verdict in {}", seconds(PATIENCE))))
}
