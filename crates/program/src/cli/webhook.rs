//! The arguments of `tenure webhook`.

use clap::{Args, Subcommand};

use super::{At, Form};

#[derive(Subcommand, Debug)]
pub enum Webhook {
    /// Create a webhook: messages are posted there from now on, signed
    Create(WebhookCreate),
    /// List webhooks, without their secrets
    List(WebhookList),
    /// Hold deliveries to a webhook back
    Pause(WebhookOne),
    /// Deliver again, and what was held back first
    Resume(WebhookOne),
    /// Remove a webhook; what was not delivered yet fails
    Remove(WebhookOne),
}

#[derive(Args, Debug)]
pub struct WebhookCreate {
    /// The same under the same name again is the same webhook
    pub name: String,
    /// Where to, as in https://example.org/hook
    pub to: String,
    /// Where the server finds the secret to sign with: env:NAME or file:PATH. Repeated, deliveries are signed with both
    #[arg(long = "secret", value_name = "WHERE", required = true)]
    pub secrets: Vec<String>,
    /// Only messages of this name; may be repeated. Left out: all
    #[arg(long = "label", value_name = "NAME")]
    pub labels: Vec<String>,
    /// It may be at an address that only the server's machine or network can reach
    #[arg(long)]
    pub allow_private: bool,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct WebhookList {
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct WebhookOne {
    pub name: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
