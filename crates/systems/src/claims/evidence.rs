//! Evidence: a reference to something that speaks for or against a statement, as somebody found it. Nobody here reads the source.

use serde_json::Value;
use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::request::{Command, Create};
use tenure::core::time::Time;

use super::claim::named;
use super::kept::{self, EVIDENCE, Evidence, EvidencePayload};
use super::policy::EvidenceType;
use super::{Claims, Error};

/// Longer than any address that a browser takes.
const URI_BYTES_MAX: usize = 8 << 10;

#[derive(Clone, Debug)]
pub struct NewEvidence {
    pub idempotency_key: Option<String>,
    pub kind: EvidenceType,
    pub uri: String,
    pub captured_at: Time,
    /// Whatever is known of its origin: an object.
    pub metadata: Option<Value>,
}

impl Claims {
    /// Records a piece of evidence. True: it is new.
    pub async fn add_evidence(&self, new: NewEvidence) -> Result<(Evidence, bool), Error> {
        let NewEvidence { idempotency_key, kind, uri, captured_at, metadata } = new;
        if !names_a_source(&uri) {
            let detail =
                format!("uri: say where the source is, as SCHEME:…, in at most {URI_BYTES_MAX} bytes");
            return Err(Error::invalid(detail));
        }
        if metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
            return Err(Error::invalid("metadata: an object"));
        }
        let payload = EvidencePayload { kind, uri, captured_at, metadata };
        let mut create = Create::new(EVIDENCE.parse()?, kept::body(&payload)?);
        let name = idempotency_key.map(|key| key.parse().map_err(|not| named("idempotency_key", &not)));
        create.name = name.transpose()?;
        let reply = self.tenure.ask(Command::Create(create)).await?;
        match reply.answer {
            Answer::Created(item) => Ok((Evidence { id: item.id, payload }, reply.fresh)),
            no => Err(Error::refused(no)),
        }
    }

    /// None: there is none of this id, or its reference was erased.
    pub(super) async fn evidence(&self, id: ItemId) -> Result<Option<EvidencePayload>, Error> {
        match self.tenure.whole(id).await {
            Ok(whole) if whole.item.table.kind.as_str() == EVIDENCE => Ok(kept::read(whole.payload.as_ref())),
            Ok(_) | Err(tenure::Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// `https://…`, `urn:…`, `file:…`: a scheme as RFC 3986 has it, and something behind it.
fn names_a_source(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return false };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(fits);
    let is_clean = !uri.chars().any(|c| c.is_control() || c.is_whitespace());
    is_scheme && !rest.is_empty() && is_clean && uri.len() <= URI_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: C-16
    #[test]
    fn evidence_names_its_source() {
        for good in ["https://example.org/a?b#c", "urn:isbn:0451450523", "file:/etc/hosts", "doi:10.1000/182"]
        {
            assert!(names_a_source(good), "{good}");
        }
        for bad in ["", "page 3", "example.org", ":", "https:", "1a:b", "a b:c", "x:\n", "x:a b"] {
            assert!(!names_a_source(bad), "{bad:?}");
        }
    }
}
