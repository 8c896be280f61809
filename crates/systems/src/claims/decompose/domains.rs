//! Which decomposer a domain uses.
//!
//! ```toml
//! [claims.domains.finance]
//! decomposer = "llm"
//! base_url = "https://api.openai.com/v1"
//! model = "gpt-4.1-mini"
//! key_env = "OPENAI_API_KEY"
//!
//! [claims.domains."*"]           # every other one; the text decomposer if there is no such section
//! decomposer = "text"
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use super::Decomposer;
use super::llm::{LlmDecomposer, LlmSettings};
use super::text::TextDecomposer;

/// The name that stands for every domain that has no section.
pub const EVERY_OTHER: &str = "*";

/// The sections of a settings file, by domain.
pub type DomainSettings = BTreeMap<String, DecomposerSettings>;

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "decomposer", rename_all = "snake_case", deny_unknown_fields)]
pub enum DecomposerSettings {
    Text {},
    Llm(LlmSettings),
}

/// The decomposers of all domains.
#[derive(Clone)]
pub struct Decomposers {
    by_domain: BTreeMap<String, Arc<dyn Decomposer>>,
    every_other: Arc<dyn Decomposer>,
}

impl Decomposers {
    /// `variable` reads the environment: a key stands there and nowhere else.
    pub fn new(
        settings: &DomainSettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Decomposers, String> {
        let mut decomposers = Decomposers::default();
        for (domain, settings) in settings {
            let made: Arc<dyn Decomposer> = match settings {
                DecomposerSettings::Text {} => Arc::new(TextDecomposer),
                DecomposerSettings::Llm(settings) => {
                    let why = |why: String| format!("claims.domains.{domain}: {why}");
                    let key = match &settings.key_env {
                        Some(name) => Some(variable(name).ok_or_else(|| why(format!("{name} is not set")))?),
                        None => None,
                    };
                    Arc::new(LlmDecomposer::new(settings.clone(), key.as_deref()).map_err(why)?)
                }
            };
            decomposers = decomposers.with(domain, made);
        }
        Ok(decomposers)
    }

    pub fn from_environment(settings: &DomainSettings) -> Result<Decomposers, String> {
        Decomposers::new(settings, |name| std::env::var(name).ok())
    }

    /// One of somebody's own for a domain.
    #[must_use]
    pub fn with(mut self, domain: &str, decomposer: Arc<dyn Decomposer>) -> Decomposers {
        if domain == EVERY_OTHER {
            self.every_other = decomposer;
        } else {
            self.by_domain.insert(domain.to_string(), decomposer);
        }
        self
    }

    pub fn for_domain(&self, domain: &str) -> Arc<dyn Decomposer> {
        self.by_domain.get(domain).unwrap_or(&self.every_other).clone()
    }
}

/// The text decomposer for every domain.
impl Default for Decomposers {
    fn default() -> Decomposers {
        Decomposers { by_domain: BTreeMap::new(), every_other: Arc::new(TextDecomposer) }
    }
}

impl fmt::Debug for Decomposers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decomposers").field("domains", &self.by_domain.keys()).finish_non_exhaustive()
    }
}
