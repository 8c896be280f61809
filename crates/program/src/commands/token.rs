//! `tenure token`: who may ask a server for what.

use serde::Deserialize;
use serde_json::json;
use tenure_databases::outside;
use tenure_server::PAGE_MAX;

use super::item::list::Page;
use crate::cli::{Token, TokenCreate, TokenList, TokenRevoke};
use crate::client::{Client, Loops, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, STRONG, styled};

/// As the service shows it.
#[derive(Debug, Deserialize)]
struct Shown {
    id: String,
    token: Option<String>,
    name: String,
    role: String,
    stores: Vec<String>,
    kinds: Vec<String>,
    expires_at: Option<String>,
    revoked: bool,
}

pub fn run(command: Token, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Token::Create(arguments) => create(&arguments, output),
        Token::List(arguments) => list(&arguments, output),
        Token::Revoke(arguments) => revoke(&arguments, output),
    }
}

/// Who may make tokens.
const ADMIN: &str = "admin";

fn tokens() -> Target {
    Target::new(["v1", "tokens"])
}

fn create(arguments: &TokenCreate, output: &mut Output) -> Result<Outcome, Error> {
    let TokenCreate { name, role, stores, kinds, expires, without_server, reach, form } = arguments;
    let expires_at = expires.map(|span| outside::now().after(span).to_string());
    let body =
        json!({ "name": name, "role": role, "stores": stores, "kinds": kinds, "expires_at": expires_at });
    let (reply, is_shut) = block_on(async {
        let client = match without_server {
            true => Client::beside(reach, Access::Existing).await?,
            false => Client::open(reach, None, Access::MayCreate, Loops::LeftToOthers).await?,
        };
        let before: Vec<Shown> = all(&client).await?.read()?;
        let is_shut = role != ADMIN && !before.iter().any(|token| token.role == ADMIN && !token.revoked);
        Ok((client.post(tokens(), &body).await?, is_shut))
    })?;
    if is_shut {
        output.remark(
            "no token is an admin's: from now on a server makes, lists and revokes none; `tenure token create NAME --role admin --without-server` makes one",
        );
    }
    if form.json {
        output.line(reply.text)?;
        return Ok(Outcome::Done);
    }
    let made: Shown = reply.read()?;
    let token = made.token.ok_or_else(|| Error::Strange("the answer has no token".to_string()))?;
    output.line(styled(STRONG, &token))?;
    output.line(format!("\nThis is its only showing. To use it: export TENURE_TOKEN={token}"))?;
    output.line(format!("To end it: tenure token revoke {}", made.id))?;
    Ok(Outcome::Done)
}

/// Every token there is, page after page.
async fn all(client: &Client) -> Result<Page, Error> {
    let mut found = Page::default();
    loop {
        let asked = tokens().with("limit", Some(PAGE_MAX)).with("cursor", found.next_cursor.take());
        found.add(client.get(asked).await?.read()?);
        if found.next_cursor.is_none() {
            return Ok(found);
        }
    }
}

fn list(arguments: &TokenList, output: &mut Output) -> Result<Outcome, Error> {
    let page = block_on(async {
        let client = Client::open(&arguments.reach, None, Access::Existing, Loops::LeftToOthers).await?;
        all(&client).await
    })?;
    if arguments.form.json {
        output.json(&page)?;
        return Ok(Outcome::Done);
    }
    let tokens: Vec<Shown> = page.read()?;
    match tokens.is_empty() {
        true => output
            .line("none; a server on this machine alone is open to everybody here until there is one")?,
        false => {
            output
                .table(["id", "name", "role", "stores", "kinds", "expires"], tokens.into_iter().map(row))?;
        }
    }
    Ok(Outcome::Done)
}

fn row(token: Shown) -> [String; 6] {
    let all = |words: Vec<String>| if words.is_empty() { "all".to_string() } else { words.join(", ") };
    let until = match token.revoked {
        true => "revoked".to_string(),
        false => token.expires_at.unwrap_or_else(|| "never".to_string()),
    };
    [token.id, token.name, token.role, all(token.stores), all(token.kinds), until]
}

fn revoke(arguments: &TokenRevoke, output: &mut Output) -> Result<Outcome, Error> {
    let TokenRevoke { id, reach, form } = arguments;
    let revoked = block_on(async {
        let client = Client::open(reach, None, Access::Existing, Loops::LeftToOthers).await?;
        client.delete(Target::new(["v1", "tokens", id]), &json!({})).await
    });
    revoked.map_err(|error| match error {
        // A token is an item, which is nothing that its owner has to know.
        Error::Refused(mut refused) if refused.code == "NOT_FOUND" => {
            refused.detail = format!("there is no token {id}");
            refused.fix = Some("`tenure token list` to see which there are".to_string());
            Error::Refused(refused)
        }
        other => other,
    })?;
    match form.json {
        true => output.json(&json!({ "id": id, "revoked": true }))?,
        false => output.line(format!("{id} is revoked"))?,
    }
    Ok(Outcome::Done)
}
