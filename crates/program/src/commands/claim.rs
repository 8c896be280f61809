//! `tenure claim`: statements that are taken apart, validated and judged; one call of the service each, `show` some more.

mod shown;

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_databases::outside;

use super::item::list::fetch;
use crate::cli::{Claim, ClaimCreate, ClaimEnqueue, ClaimValidate, ClaimVerdict, ItemOne, JobList};
use crate::client::{Client, Reply, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome, Refused};
use crate::output::Output;
use crate::source::Source;
use shown::{ClaimShown, Story, TruthBits, Validated, Verdicts};

pub fn run(command: Claim, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Claim::Create(arguments) => create(&arguments, output),
        Claim::Show(arguments) => show(&arguments, output),
        Claim::List(arguments) => list(&arguments, output),
        Claim::Enqueue(arguments) => enqueue(&arguments, output),
        Claim::Truthbits(arguments) => truthbits(&arguments, output),
        Claim::Validate(arguments) => validate(&arguments, output),
        Claim::Verdict(arguments) => verdict(&arguments, output),
    }
}

fn all() -> Target {
    Target::new(["v0.1", "claims"])
}

/// Something of a claim, or that is done to it.
fn of(id: &str, what: &str) -> Target {
    Target::new(["v0.1", "claims", id, what])
}

/// What came back: as it is, or in words.
fn told(
    reply: &Reply,
    json: bool,
    output: &mut Output,
    words: impl FnOnce(&Reply, &mut Output) -> Result<(), Error>,
) -> Result<Outcome, Error> {
    match json {
        true => output.line(&reply.text)?,
        false => words(reply, output)?,
    }
    Ok(Outcome::Done)
}

fn create(arguments: &ClaimCreate, output: &mut Output) -> Result<Outcome, Error> {
    let ClaimCreate { text, domain, created_by, idempotency_key, at, form } = arguments;
    let text = text_of(text)?;
    // A claim needs one. Two of these are never the same.
    let drawn = || format!("tenure-{:016x}{:016x}", outside::chance(), outside::chance());
    let key = idempotency_key.clone().unwrap_or_else(drawn);
    let body =
        json!({ "idempotency_key": key, "domain": domain, "text": text.trim(), "created_by": created_by });
    let reply = block_on(async { Client::at(at, Access::MayCreate).await?.post(all(), &body).await })?;
    told(&reply, form.json, output, |reply, output| {
        #[derive(Deserialize)]
        struct Created {
            claim_id: String,
        }
        let Created { claim_id } = reply.read()?;
        output.line(format_args!("{claim_id} claim; `tenure claim show {claim_id}` tells how it goes on"))
    })
}

fn text_of(given: &str) -> Result<String, Error> {
    match given.strip_prefix('@') {
        Some(file) => Ok(Source::read(file)?.text),
        None if given == crate::source::STDIN => Ok(Source::read(given)?.text),
        None => Ok(given.to_string()),
    }
}

fn show(arguments: &ItemOne, output: &mut Output) -> Result<Outcome, Error> {
    let ItemOne { id, at, form } = arguments;
    let [claim, truthbits, validations, verdict] = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        Ok::<_, Error>([
            client.get(Target::new(["v0.1", "claims", id])).await?,
            client.get(of(id, "truthbits").with("limit", Some(1_000))).await?,
            client.get(of(id, "validations").with("limit", Some(1_000))).await?,
            client.get(of(id, "verdict")).await?,
        ])
    })?;
    if form.json {
        let value = |reply: &Reply| reply.read::<Value>();
        let story = json!({
            "claim": value(&claim)?,
            "truthbits": value(&truthbits)?["items"],
            "validations": value(&validations)?["items"],
            "verdict": value(&verdict)?["verdict"],
            "truthbit_verdicts": value(&verdict)?["truthbits"],
        });
        output.json(&story)?;
        return Ok(Outcome::Done);
    }
    let story = Story {
        claim: claim.read()?,
        truthbits: truthbits.read()?,
        validations: validations.read()?,
        verdicts: verdict.read()?,
    };
    story.tell(output)?;
    Ok(Outcome::Done)
}

fn list(arguments: &JobList, output: &mut Output) -> Result<Outcome, Error> {
    let JobList { which, at, form } = arguments;
    let page = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        fetch(&client, &all(), which).await
    })?;
    if form.json {
        output.json(&page)?;
        return Ok(Outcome::Done);
    }
    let claims: Vec<ClaimShown> = page.read()?;
    shown::list(&claims, page.next_cursor.is_some(), output)?;
    Ok(Outcome::Done)
}

fn enqueue(arguments: &ClaimEnqueue, output: &mut Output) -> Result<Outcome, Error> {
    let ClaimEnqueue { id, reason, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.post(of(id, "enqueue-decomposition"), &json!({ "reason": reason })).await
    })?;
    told(&reply, form.json, output, |reply, output| {
        #[derive(Deserialize)]
        struct Enqueued {
            decomposition_status: String,
            enqueued_at: String,
        }
        let Enqueued { decomposition_status, enqueued_at } = reply.read()?;
        output.line(format_args!("{id} {decomposition_status}, enqueued at {enqueued_at}"))
    })
}

fn truthbits(arguments: &ItemOne, output: &mut Output) -> Result<Outcome, Error> {
    let ItemOne { id, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.get(of(id, "truthbits").with("limit", Some(1_000))).await
    })?;
    told(&reply, form.json, output, |reply, output| shown::truthbits(&reply.read::<TruthBits>()?, output))
}

fn validate(arguments: &ClaimValidate, output: &mut Output) -> Result<Outcome, Error> {
    let ClaimValidate { truthbit, outcome, confidence, evidence, uri, kind, captured_at, notes, at, form } =
        arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        let mut evidence = evidence.clone();
        if let Some(uri) = uri {
            let captured_at = captured_at.clone().unwrap_or_else(|| outside::now().to_string());
            let body = json!({ "type": kind, "uri": uri, "captured_at": captured_at });
            let added: Validated = client.post(Target::new(["v0.1", "evidence"]), &body).await?.read()?;
            evidence.push(added.id);
        }
        let body =
            json!({ "outcome": outcome, "confidence": confidence, "evidence_ids": evidence, "notes": notes });
        let said = client.post(Target::new(["v0.1", "truthbits", truthbit, "validations"]), &body).await;
        match said {
            Err(Error::Refused(no)) if no.code == "NOT_FOUND" => Err(of_a_claim(&client, truthbit, no).await),
            said => said,
        }
    })?;
    told(&reply, form.json, output, |reply, output| {
        let validation: Validated = reply.read()?;
        output.line(format_args!("{} validation {}", validation.id, validation.status.unwrap_or_default()))
    })
}

/// What is validated is one TruthBit. Whoever names the claim is told where its TruthBits are.
async fn of_a_claim(client: &Client, id: &str, mut no: Box<Refused>) -> Error {
    if client.get(Target::new(["v0.1", "claims", id])).await.is_ok() {
        no.detail = format!("{id} is a claim, and a validation is of one of its TruthBits");
        no.fix = Some(format!("`tenure claim truthbits {id}` and name one of them"));
    }
    Error::Refused(no)
}

fn verdict(arguments: &ClaimVerdict, output: &mut Output) -> Result<Outcome, Error> {
    let ClaimVerdict { id, history, compute, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        match compute {
            true => client.post(of(id, "compute-verdict"), &json!({})).await,
            false => client.get(of(id, "verdict").with("include_history", history.then_some(true))).await,
        }
    })?;
    told(&reply, form.json, output, |reply, output| match compute {
        true => output
            .line(format_args!("{id}: asked for; `tenure claim verdict {id}` shows it once it is there")),
        false => reply.read::<Verdicts>()?.tell(output),
    })
}
