//! The arguments of `tenure token`.

use clap::{Args, Subcommand};

use super::{Form, Reach};

#[derive(Subcommand, Debug)]
pub enum Token {
    /// Make a token; it is shown once
    Create(TokenCreate),
    /// List the tokens, without their secrets
    List(TokenList),
    /// Revoke a token, for good
    Revoke(TokenRevoke),
}

#[derive(Args, Debug)]
pub struct TokenCreate {
    /// What it is for, in words
    pub name: String,
    /// What its bearer may do: the roles are those of the lifecycles' actor column
    #[arg(long, value_parser = ["api", "orchestrator", "worker", "human", "admin"])]
    pub role: String,
    /// Only in this store; may be repeated. Left out: in all
    #[arg(long = "store", value_name = "NAME")]
    pub stores: Vec<String>,
    /// Only for this kind; may be repeated. Left out: for all
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<String>,
    /// How long it is good for, as in 12h or 30d. Left out: until it is revoked
    #[arg(long, value_name = "SPAN", value_parser = super::span)]
    pub expires: Option<std::time::Duration>,
    /// Open the database itself, also while a server runs on it: for when no token is left to ask the server with
    #[arg(long)]
    pub without_server: bool,
    #[command(flatten)]
    pub reach: Reach,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TokenList {
    #[command(flatten)]
    pub reach: Reach,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TokenRevoke {
    pub id: String,
    #[command(flatten)]
    pub reach: Reach,
    #[command(flatten)]
    pub form: Form,
}
