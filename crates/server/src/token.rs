//! Tokens: who somebody is, what they may be, and where.
//!
//! A token is an item of the kind `token` in a store of its own, so it is made once, revoked for good, and all of that is in the
//! log. What is kept is the hash of its secret half; the whole text is shown once, when it is made: `tnr_ITEM_SECRET`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tenure::core::actor::{Actor, Role};
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::Phase;
use tenure::core::time::Time;
use tenure::core::word::{Kind, Store, Who};
use tenure::databases::{Query, outside};
use tenure::{Error, Tenure};

use crate::limits::{SCOPE_MAX, TOKEN_MEMORY, TOKENS_MAX};
use crate::problem::Problem;

/// Where tokens are kept. Nobody else's items are.
pub const STORE: &str = "tenure";
pub const KIND: &str = "token";
const PREFIX: &str = "tnr";

/// What a token says, as its item's payload has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    pub name: String,
    pub role: String,
    /// Empty: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<Store>,
    /// Empty: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// SHA-256 of the secret half.
    pub secret_sha256: String,
}

impl Grant {
    fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= outside::now())
    }

    /// Whether it says the same, whatever its secret is.
    pub fn is_for_the_same(&self, other: &Grant) -> bool {
        *self == Grant { secret_sha256: self.secret_sha256.clone(), ..other.clone() }
    }

    pub fn check(&self) -> Result<Role, Problem> {
        if self.name.is_empty() || self.name.len() > 100 {
            return Err(Problem::wrong("name", "1 to 100 bytes say what the token is for"));
        }
        for (field, count) in [("stores", self.stores.len()), ("kinds", self.kinds.len())] {
            if count > SCOPE_MAX {
                return Err(Problem::wrong(field, format!("at most {SCOPE_MAX}")));
            }
        }
        match self.role.parse() {
            Ok(Role::System) | Err(_) => {
                Err(Problem::wrong("role", "one of api, orchestrator, worker, human, admin"))
            }
            Ok(role) => Ok(role),
        }
    }
}

/// Somebody who has shown a good token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bearer {
    pub actor: Actor,
    /// None: they came through an open door.
    pub token: Option<ItemId>,
    pub stores: Vec<Store>,
    pub kinds: Vec<Kind>,
    /// None: the token has no end.
    pub expires_at: Option<Time>,
}

/// A token that was read a moment ago.
#[derive(Clone, Debug)]
struct Known {
    grant: Option<Grant>,
    read: Instant,
}

pub struct Tokens {
    tenure: Tenure,
    known: Mutex<HashMap<ItemId, Known>>,
    /// Whether there ever was a token, and when that was read.
    required: Mutex<Option<(bool, Instant)>>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

/// A fresh secret half, 256 bits.
pub fn secret() -> Result<String, Problem> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|why| Problem::unavailable(format!("no randomness: {why}")))?;
    Ok(hex(&bytes))
}

/// The whole text of a token.
pub fn text(id: ItemId, secret: &str) -> String {
    format!("{PREFIX}_{id}_{secret}")
}

pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn store() -> Store {
    STORE.parse().expect("a valid store")
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long ago a token was read is a matter of this process alone"
)]
fn now() -> Instant {
    Instant::now()
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

impl Tokens {
    pub fn new(tenure: &Tenure) -> Tokens {
        let reader = Actor::new(Role::Admin, "server".parse::<Who>().expect("a valid name"));
        Tokens { tenure: tenure.acting(store(), reader), known: Mutex::default(), required: Mutex::default() }
    }

    /// Forgets what was read: a token was made or revoked here.
    pub fn forget(&self) {
        held(&self.known).clear();
        *held(&self.required) = None;
    }

    /// Whether requests need a token: from the first one on, also after it was revoked. Tokens are never removed, so a revoked one
    /// shows that there was one.
    pub async fn required(&self) -> Result<bool, Error> {
        if let Some((required, read)) = *held(&self.required)
            && (required || now().duration_since(read) < TOKEN_MEMORY)
        {
            return Ok(required);
        }
        let read = now();
        let required = self.any(None).await?;
        *held(&self.required) = Some((required, read));
        Ok(required)
    }

    /// Whether there is a token that was not revoked.
    pub async fn any_live(&self) -> Result<bool, Error> {
        self.any(Some(Phase::Waiting)).await
    }

    async fn any(&self, phase: Option<Phase>) -> Result<bool, Error> {
        let query = Query { kind: Some(KIND.parse()?), phase, limit: 1, ..Query::default() };
        Ok(!self.tenure.list(query).await?.is_empty())
    }

    /// Who shows this text.
    pub async fn bearer(&self, text: &str) -> Result<Bearer, Problem> {
        let no = || {
            Problem::unauthenticated(
                "this token is not, or no longer, good; ask an administrator for another",
            )
        };
        let (id, secret) = parts(text).ok_or_else(no)?;
        let grant = self.grant(id).await?.ok_or_else(no)?;
        // Of hashes it does not matter how far a comparison came.
        if grant.secret_sha256 != hash(secret) || grant.is_over() {
            return Err(no());
        }
        let role = grant.check()?;
        let actor = Actor::new(role, id.to_string().parse::<Who>()?);
        let Grant { stores, kinds, expires_at, .. } = grant;
        Ok(Bearer { actor, token: Some(id), stores, kinds, expires_at })
    }

    /// Whether a token that was shown before would still be taken.
    pub async fn is_good(&self, id: ItemId) -> Result<bool, Problem> {
        Ok(self.grant(id).await?.is_some_and(|grant| !grant.is_over()))
    }

    async fn grant(&self, id: ItemId) -> Result<Option<Grant>, Problem> {
        if let Some(known) = held(&self.known).get(&id)
            && now().duration_since(known.read) < TOKEN_MEMORY
        {
            return Ok(known.grant.clone());
        }
        let read = now();
        let grant = match self.tenure.whole(id).await {
            Ok(whole) if is_live(&whole.item) => {
                whole.payload.and_then(|payload| serde_json::from_slice(payload.bytes()).ok())
            }
            Ok(_) | Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let mut known = held(&self.known);
        if known.len() >= TOKENS_MAX {
            known.clear();
        }
        known.insert(id, Known { grant: grant.clone(), read });
        Ok(grant)
    }
}

pub fn is_live(item: &Item) -> bool {
    item.table.kind.as_str() == KIND && item.phase() == Phase::Waiting
}

/// `tnr_ITEM_SECRET`.
fn parts(text: &str) -> Option<(ItemId, &str)> {
    let (id, secret) = text.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
    Some((id.parse().ok()?, secret))
}
