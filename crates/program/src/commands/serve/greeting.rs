//! What a server says when it begins: where it listens, what it keeps where, who may come in, and what to try.

use std::net::SocketAddr;

use tenure_databases::durability::Durability;
use tenure_databases::url::Url;
use tenure_server::App;

use crate::cli::{SYSTEMS, Serve};
use crate::outcome::Error;
use crate::output::{Output, STRONG, styled};

pub struct Greeting<'a> {
    pub arguments: &'a Serve,
    pub place: &'a Url,
    pub files: String,
    pub address: SocketAddr,
}

impl Greeting<'_> {
    pub async fn say(&self, app: &App, output: &mut Output) -> Result<(), Error> {
        let Greeting { place, files, address, .. } = self;
        let is_closed = app.requires_token().await?;
        let door = match (is_closed, app.has_tokens().await?) {
            (true, true) => "a token is needed: Authorization: Bearer …",
            (true, false) => {
                "a token is needed, and all are revoked: `tenure token create NAME --role admin --without-server` makes one"
            }
            (false, _) => {
                "open to everybody on this machine, until `tenure token create` makes the first token"
            }
        };
        output.line(format_args!("{} {}", styled(STRONG, "tenure"), env!("CARGO_PKG_VERSION")))?;
        output.line(format_args!("  listening  http://{address}"))?;
        output
            .line(format_args!("  speaks     REST (/openapi.json), and RPC as Connect, gRPC and gRPC-Web"))?;
        output.line(format_args!("  database   {place}"))?;
        output.line(format_args!("  files      {files}"))?;
        output.line(format_args!("  durable    {}", self.durable(app.durability())))?;
        if let Some(behind) = app.clock_behind().await? {
            output.line(format_args!(
                "  clock      {} s behind the latest entry of the log: it is behind now, or was ahead when that was written",
                behind.as_secs()
            ))?;
        }
        output.line(format_args!("  inside     {}", self.inside()))?;
        output.line(format_args!("  access     {door}"))?;
        let (header, token) = match is_closed {
            true => {
                (" -H \"authorization: Bearer $TENURE_TOKEN\"", " (with TENURE_TOKEN in the environment)")
            }
            false => ("", ""),
        };
        output.line(format_args!("try{token}"))?;
        output.line(format_args!(
            "  curl -s http://{address}/v1/items{header} -H 'content-type: application/json' -d '{{\"kind\":\"job\",\"payload\":{{\"to\":\"Ada\"}}}}'"
        ))?;
        let db = self.db();
        output.line(format_args!("  tenure work job{db} -- cat"))?;
        output.line(format_args!("  tenure item list{db}"))
    }

    fn durable(&self, durability: Durability) -> &'static str {
        match self.place {
            Url::Memory => "nothing is kept: all of it is gone with this process",
            Url::Sqlite(_) if durability == Durability::Relaxed => {
                "an answer may come before the disk has it: a power cut may take the last ones back (durability=relaxed)"
            }
            Url::Sqlite(_) => "an answer is on the disk before it is given (WAL, synchronous = FULL)",
            Url::Postgres(_) if durability == Durability::Relaxed => {
                "the server answers before its disk has it (synchronous_commit or fsync is off): a crash of it may take the last answers back"
            }
            Url::Postgres(_) => {
                "an answer is committed before it is given; `tenure doctor` looks at the server's settings"
            }
        }
    }

    /// Whose workers run here.
    fn inside(&self) -> String {
        let (here, elsewhere): (Vec<&str>, Vec<&str>) =
            SYSTEMS.iter().partition(|system| self.arguments.runs(system));
        let here = if here.is_empty() {
            "no workers".to_string()
        } else {
            format!("workers of {}", here.join(", "))
        };
        match elsewhere.is_empty() {
            true => here,
            false => format!("{here}; not of {}", elsewhere.join(", ")),
        }
    }

    /// What commands on this machine say to come here. A password is not repeated; what is in memory is reached by its address alone.
    fn db(&self) -> String {
        match self.place {
            Url::Memory => format!(" --url http://{}", self.address),
            Url::Sqlite(_) => format!(" --db {}", self.arguments.db.url),
            Url::Postgres(_) => " --db …".to_string(),
        }
    }
}
