//! Webhooks: who outside is told of messages.

use axum::Json as Shown;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tenure::core::id::ItemId;
use tenure::{Hooked, Tenure, Webhook};
use utoipa::ToSchema;

use super::schedules::looked_after;
use crate::caller::{Admin, Caller};
use crate::extract::{Json, Name};
use crate::once;
use crate::page::Page;
use crate::problem::Problem;

const KIND: &str = "webhook";

/// A token that is for other kinds has nothing to do with webhooks.
fn may_use(caller: &Caller) -> Result<(), Problem> {
    caller.may_use(&KIND.parse()?)
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    name: String,
    url: String,
    /// Messages of these labels are sent; without any, all are.
    #[serde(default)]
    labels: Vec<String>,
    /// Where the secret is found that deliveries are signed with: `env:NAME` or `file:PATH` on the server. Never the secret itself.
    secrets: Vec<String>,
    /// It may be at an address that only the server's own machine or network can reach.
    #[serde(default)]
    allow_private: bool,
}

impl WebhookBody {
    fn webhook(self) -> Webhook {
        let mut webhook = Webhook::new(self.name, self.url);
        webhook = self.labels.into_iter().fold(webhook, Webhook::label);
        webhook = self.secrets.into_iter().fold(webhook, Webhook::secret);
        if self.allow_private { webhook.allow_private() } else { webhook }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookView {
    pub id: String,
    pub name: String,
    /// ACTIVE or PAUSED.
    pub state: String,
    pub url: String,
    pub labels: Vec<String>,
}

impl From<&Hooked> for WebhookView {
    fn from(hooked: &Hooked) -> WebhookView {
        WebhookView {
            id: hooked.id.to_string(),
            name: hooked.name.to_string(),
            state: hooked.state.to_string(),
            url: hooked.url.clone(),
            labels: hooked.labels.iter().map(ToString::to_string).collect(),
        }
    }
}

async fn view(tenure: &Tenure, id: ItemId) -> Result<WebhookView, Problem> {
    let all = tenure.webhooks().await?;
    let one = all.iter().find(|hooked| hooked.id == id);
    one.map(WebhookView::from).ok_or_else(|| Problem::not_found(format!("the webhook {id} was removed")))
}

/// Send messages somewhere
///
/// From now on. The same under the same name again is the same webhook; another under that name is refused until that one is
/// removed.
#[utoipa::path(post, path = "/v1/webhooks", tag = "webhooks", request_body = WebhookBody, extensions(("x-access" = json!("admin"))),
    responses((status = 201, body = WebhookView), (status = 200, description = "it stands already", body = WebhookView), (status = 403)))]
pub async fn create(
    Admin(caller): Admin,
    Json(body): Json<WebhookBody>,
) -> Result<(StatusCode, Shown<WebhookView>), Problem> {
    looked_after(&caller, KIND)?;
    let before = caller.tenure.webhooks().await?;
    let item = caller.tenure.webhook(body.webhook()).await?;
    let stood = before.iter().any(|hooked| hooked.id == item.id);
    Ok((once::status(!stood), Shown(view(&caller.tenure, item.id).await?)))
}

/// List the webhooks, without their secrets
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks", extensions(("x-access" = json!("admin"))),
    responses((status = 200, body = Page<WebhookView>), (status = 403)))]
pub async fn list(Admin(caller): Admin) -> Result<Shown<Page<WebhookView>>, Problem> {
    may_use(&caller)?;
    let all = caller.tenure.webhooks().await?;
    Ok(Shown(Page { items: all.iter().map(WebhookView::from).collect(), next_cursor: None }))
}

/// Send nothing more there
///
/// What was not delivered yet fails; the name is free again.
#[utoipa::path(delete, path = "/v1/webhooks/{name}", tag = "webhooks", params(("name" = String, Path)),
    extensions(("x-access" = json!("admin"))), responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(Admin(caller): Admin, Name(name): Name) -> Result<StatusCode, Problem> {
    may_use(&caller)?;
    caller.tenure.remove_webhook(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Hold deliveries back
#[utoipa::path(post, path = "/v1/webhooks/{name}/pause", tag = "webhooks", params(("name" = String, Path)),
    extensions(("x-access" = json!("admin"))), responses((status = 200, body = WebhookView), (status = 403), (status = 404)))]
pub async fn pause(Admin(caller): Admin, Name(name): Name) -> Result<Shown<WebhookView>, Problem> {
    may_use(&caller)?;
    let item = caller.tenure.pause_webhook(&name).await?;
    view(&caller.tenure, item.id).await.map(Shown)
}

/// Deliver again; what was held back follows within minutes
#[utoipa::path(post, path = "/v1/webhooks/{name}/resume", tag = "webhooks", params(("name" = String, Path)),
    extensions(("x-access" = json!("admin"))), responses((status = 200, body = WebhookView), (status = 403), (status = 404)))]
pub async fn resume(Admin(caller): Admin, Name(name): Name) -> Result<Shown<WebhookView>, Problem> {
    may_use(&caller)?;
    let item = caller.tenure.resume_webhook(&name).await?;
    view(&caller.tenure, item.id).await.map(Shown)
}
