//! The arguments of `tenure claim`.

use clap::{Args, Subcommand};

use super::{At, Form, ItemOne, JobList};

#[derive(Subcommand, Debug)]
pub enum Claim {
    /// Create a claim: it is stored, and taken apart in the background
    Create(ClaimCreate),
    /// Show the whole story of a claim: where it stands, its TruthBits, what validators say, and the verdict
    Show(ItemOne),
    /// List claims, oldest first
    List(JobList),
    /// Enqueue a claim for decomposition, also one that failed
    Enqueue(ClaimEnqueue),
    /// List the TruthBits of a claim
    Truthbits(ItemOne),
    /// Say what you think of a TruthBit, and on which evidence
    Validate(ClaimValidate),
    /// Show the verdict on a claim, or ask for it to be computed anew
    Verdict(ClaimVerdict),
}

#[derive(Args, Debug)]
pub struct ClaimCreate {
    /// What is claimed; `-` reads it from standard input, `@FILE` from a file
    #[arg(value_name = "TEXT|-|@FILE")]
    pub text: String,
    /// Which decomposer takes it apart
    #[arg(long, default_value = "general")]
    pub domain: String,
    /// Whom it comes from
    #[arg(long, value_name = "WHO")]
    pub created_by: Option<String>,
    /// Repeated with the same key it is the same claim; left out it is a new one
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ClaimEnqueue {
    pub id: String,
    /// Why; it is kept in the history
    #[arg(long, value_name = "WORDS")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ClaimValidate {
    /// The id of the TruthBit
    pub truthbit: String,
    #[arg(value_parser = ["supports", "refutes", "inconclusive"])]
    pub outcome: String,
    /// How sure you are, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0)]
    pub confidence: f64,
    /// The id of evidence that is there already; several are named one by one
    #[arg(long, value_name = "ID")]
    pub evidence: Vec<String>,
    /// Where new evidence is: it is added
    #[arg(long, value_name = "URI")]
    pub uri: Option<String>,
    /// What sort of evidence is there
    #[arg(
        long = "type",
        value_name = "TYPE",
        requires = "uri",
        default_value = "primary_artifact",
        value_parser = ["primary_artifact", "secondary_artifact", "validator_capture"]
    )]
    pub kind: String,
    /// When it was so, as in 2026-11-15T20:25:00Z; left out it is now
    #[arg(long, value_name = "TIME", requires = "uri")]
    pub captured_at: Option<String>,
    /// For people
    #[arg(long, value_name = "WORDS")]
    pub notes: Option<String>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ClaimVerdict {
    pub id: String,
    /// With every verdict that there was, newest first
    #[arg(long)]
    pub history: bool,
    /// Ask for it to be computed anew; this does not wait for it
    #[arg(long, conflicts_with = "history")]
    pub compute: bool,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
