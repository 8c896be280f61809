//! Tokens: made by administrators, shown once, revoked for good.

use std::str::FromStr;

use axum::Json as Shown;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tenure::Tenure;
use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::request::{Command, Create, Move};
use tenure::core::time::Time;
use tenure::core::word::NotAWord;
use tenure::databases::{Query, Whole};
use utoipa::{IntoParams, ToSchema};

use crate::caller::{Admin, AdminWith, Caller};
use crate::extract::{Id, Json};
use crate::once;
use crate::page::{Page, after, limit};
use crate::problem::{Problem, internal};
use crate::shape::create::{key, time};
use crate::token::{self, Grant};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// What it is for, in words.
    name: String,
    /// api, orchestrator, worker, human or admin.
    role: String,
    /// None: all of them.
    #[serde(default)]
    stores: Vec<String>,
    /// None: all of them.
    #[serde(default)]
    kinds: Vec<String>,
    expires_at: Option<String>,
    /// Repeated with the same key, it is the same token. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TokenView {
    pub id: String,
    /// The token itself. It is shown once: to a repeat it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    pub name: String,
    pub role: String,
    pub stores: Vec<String>,
    pub kinds: Vec<String>,
    pub expires_at: Option<String>,
    pub created_at: String,
    pub created_by: String,
    pub revoked: bool,
}

impl TokenView {
    fn of(item: &Item, grant: &Grant, token: Option<String>) -> TokenView {
        TokenView {
            id: item.id.to_string(),
            token,
            name: grant.name.clone(),
            role: grant.role.clone(),
            stores: grant.stores.iter().map(ToString::to_string).collect(),
            kinds: grant.kinds.iter().map(ToString::to_string).collect(),
            expires_at: grant.expires_at.map(|at| at.to_string()),
            created_at: item.created.to_string(),
            created_by: item.created_by.to_string(),
            revoked: !token::is_live(item),
        }
    }
}

/// The tokens' own store, as the administrator who asks. One who is limited could make themselves a token that is not.
fn store_of_tokens(caller: &Caller) -> Result<Tenure, Problem> {
    caller.everywhere()?;
    Ok(caller.app.tenure.acting(token::store(), caller.actor().clone()))
}

/// Make a token
///
/// It is shown once; only its hash is kept. So a repeat is answered with the record and without the token: whoever did not get the
/// first answer revokes it by its id and makes another.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", request_body = TokenBody, extensions(("x-access" = json!("admin"))),
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = TokenView), (status = 200, description = "repeated: the record, without the token", body = TokenView),
        (status = 403), (status = 409)))]
pub async fn create(
    Admin(caller): Admin,
    headers: HeaderMap,
    Json(body): Json<TokenBody>,
) -> Result<(StatusCode, Shown<TokenView>), Problem> {
    let name = key("idempotency_key", once::key(body.idempotency_key, &headers)?.as_deref())?;
    let secret = token::secret()?;
    let expires_at: Option<Time> =
        body.expires_at.as_deref().map(|text| time("expires_at", text)).transpose()?;
    let grant = Grant {
        name: body.name,
        role: body.role,
        stores: words("stores", &body.stores)?,
        kinds: words("kinds", &body.kinds)?,
        expires_at,
        secret_sha256: token::hash(&secret),
    };
    grant.check()?;
    let payload = serde_json::to_vec(&grant).map_err(|why| internal(why.to_string()))?;
    let create = Create { name, ..Create::new(token::KIND.parse()?, Body::json(payload)?) };
    let tokens = store_of_tokens(&caller)?;
    let answer = tokens.ask(Command::Create(create)).await?.answer;
    caller.app.tokens.forget();
    match answer {
        // Of two with the same key no two secrets are the same: what is compared is all the rest.
        Answer::Conflict { name, item } => {
            let first = tokens.whole(item).await?;
            match granted(&first) {
                Some(before) if before.is_for_the_same(&grant) => {
                    Ok((StatusCode::OK, Shown(TokenView::of(&first.item, &before, None))))
                }
                _ => Err(Answer::Conflict { name, item }.into()),
            }
        }
        Answer::Created(item) => {
            let text = token::text(item.id, &secret);
            Ok((StatusCode::CREATED, Shown(TokenView::of(&item, &grant, Some(text)))))
        }
        no => Err(no.into()),
    }
}

fn words<T: FromStr<Err = NotAWord>>(field: &str, texts: &[String]) -> Result<Vec<T>, Problem> {
    texts.iter().map(|text| text.parse().map_err(|not| Problem::wrong(field, not))).collect()
}

fn granted(token: &Whole) -> Option<Grant> {
    serde_json::from_slice(token.payload.as_ref()?.bytes()).ok()
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TokenParams {
    limit: Option<usize>,
    cursor: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// List tokens, without their secrets
///
/// Oldest first, also those that were revoked.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", params(TokenParams), extensions(("x-access" = json!("admin"))),
    responses((status = 200, body = Page<TokenView>), (status = 403)))]
pub async fn list(
    AdminWith(caller, params): AdminWith<TokenParams>,
) -> Result<Shown<Page<TokenView>>, Problem> {
    let tenure = store_of_tokens(&caller)?;
    let (limit, after) = (limit(params.limit)?, after(params.cursor.as_deref())?);
    let query = Query { kind: Some(token::KIND.parse()?), limit, after, ..Query::default() };
    let ids: Vec<ItemId> = tenure.list(query).await?.iter().map(|item| item.id).collect();
    let next_cursor = ids.last().filter(|_| ids.len() == limit).map(ToString::to_string);
    let tokens = tenure.wholes(ids).await?;
    let shown = tokens.iter().filter_map(|whole| Some(TokenView::of(&whole.item, &granted(whole)?, None)));
    Ok(Shown(Page { items: shown.collect(), next_cursor }))
}

/// Revoke a token, for good
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "tokens", params(("id" = String, Path)), extensions(("x-access" = json!("admin"))),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn revoke(Admin(caller): Admin, Id(id): Id) -> Result<StatusCode, Problem> {
    let answer = store_of_tokens(&caller)?.ask(Command::Move(Move::new(id, "revoke".parse()?))).await?.answer;
    caller.app.tokens.forget();
    match answer {
        Answer::Done(_) | Answer::Same(_) => Ok(StatusCode::NO_CONTENT),
        no => Err(no.into()),
    }
}
