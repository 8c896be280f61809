//! The steps that every run takes, in their order.

use std::sync::Arc;

use tenure::core::word::Label;

use super::step::Step;

/// Each step is at least four writes; whoever needs more steps than this joins some.
pub const STEPS_MAX: usize = 16;

/// Steps with names that can be told apart. Shared by all runs.
#[derive(Clone)]
pub struct Pipeline(Arc<[(Label, Arc<dyn Step>)]>);

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAPipeline {
    #[error("a pipeline has 1 to {STEPS_MAX} steps, and this one has {0}")]
    Length(usize),
    #[error("{0:?} is no name for a step: a letter, then up to 62 of a-z, A-Z, 0-9, _ and -")]
    Name(String),
    #[error("two steps have the name {0}")]
    Twice(Label),
}

impl Pipeline {
    pub fn new(steps: impl IntoIterator<Item = Arc<dyn Step>>) -> Result<Pipeline, NotAPipeline> {
        let mut named: Vec<(Label, Arc<dyn Step>)> = Vec::new();
        for step in steps {
            let name: Label = step.name().parse().map_err(|_| NotAPipeline::Name(step.name().to_string()))?;
            if named.iter().any(|(other, _)| *other == name) {
                return Err(NotAPipeline::Twice(name));
            }
            named.push((name, step));
        }
        match named.len() {
            1..=STEPS_MAX => Ok(Pipeline(named.into())),
            count => Err(NotAPipeline::Length(count)),
        }
    }

    pub fn steps(&self) -> impl Iterator<Item = &(Label, Arc<dyn Step>)> {
        self.0.iter()
    }
}
