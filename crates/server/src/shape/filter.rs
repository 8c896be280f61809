//! Which items are meant: by kind, state, phase and key, in a URL or in a body.

use serde::Deserialize;
use tenure::core::lifecycle::Phase;
use tenure::databases::Query;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    pub kind: Option<String>,
    pub state: Option<String>,
    /// waiting, ready, active, succeeded, failed or stopped.
    pub phase: Option<String>,
    pub key: Option<String>,
}

impl Filter {
    /// The query, within the kinds that the caller has to do with.
    pub fn query(&self, caller: &Caller) -> Result<Query, Problem> {
        fn field<T: std::str::FromStr>(name: &str, text: Option<&String>) -> Result<Option<T>, Problem> {
            let bad = |text: &String| Problem::wrong(name, format!("there is no {text:?}"));
            text.map(|text| text.parse().map_err(|_| bad(text))).transpose()
        }
        Ok(Query {
            kind: caller.kind_of_list(field("kind", self.kind.as_ref())?)?,
            state: field("state", self.state.as_ref())?,
            phase: self.phase.as_deref().map(phase).transpose()?,
            key: field("key", self.key.as_ref())?,
            ..Query::default()
        })
    }
}

fn phase(text: &str) -> Result<Phase, Problem> {
    let found = Phase::ALL.into_iter().find(|phase| phase.as_str() == text);
    found.ok_or_else(|| Problem::wrong("phase", "waiting, ready, active, succeeded, failed or stopped"))
}
