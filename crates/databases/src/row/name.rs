//! The row of a name: an idempotency key or the id of an acquire, and what it stands for.

use tenure_core::id::{ExecutionId, Fence};
use tenure_core::world::{NameKey, NameScope, Named};

use super::Damaged;
use super::bytes::{Reader, Writer};

/// The scope's column: where the name counts within its store.
pub fn scope(key: &NameKey) -> String {
    match &key.scope {
        NameScope::Create(kind) => format!("create {kind}"),
        NameScope::Acquire(owner) => format!("acquire {owner}"),
    }
}

const CREATED: u8 = 1;
const FOLDED: u8 = 2;
const LEASED: u8 = 3;

/// What the name stands for.
pub fn write(named: &Named) -> Vec<u8> {
    let mut out = Writer::with_capacity(81);
    match named {
        Named::Created { item, digest, head } => {
            out.byte(CREATED);
            out.id(*item);
            out.hash(digest);
            out.hash(head);
        }
        Named::Folded { item, digest } => {
            out.byte(FOLDED);
            out.id(*item);
            out.hash(digest);
        }
        Named::Leased(leases) => {
            out.byte(LEASED);
            out.number(leases.len() as u64);
            for lease in leases {
                out.id(lease.item);
                out.number(lease.fence.0);
            }
        }
    }
    out.into_bytes()
}

pub fn read(bytes: &[u8]) -> Result<Named, Damaged> {
    let mut reader = Reader::new(bytes);
    let named = match reader.byte()? {
        CREATED => Named::Created { item: reader.id()?, digest: reader.hash()?, head: reader.hash()? },
        FOLDED => Named::Folded { item: reader.id()?, digest: reader.hash()? },
        LEASED => {
            let mut leases = Vec::new();
            for _ in 0..reader.number()? {
                leases.push(ExecutionId { item: reader.id()?, fence: Fence(reader.number()?) });
            }
            Named::Leased(leases)
        }
        other => return Err(Damaged(format!("a name of sort {other} is not known"))),
    };
    reader.end()?;
    Ok(named)
}
