//! Lease tokens: they name the worker's incarnation and prove that this lease was given to it.
//!
//! `WORKER.MAC`, where the MAC is over the store, the execution, the owner and the worker, with the secret of the database. Every
//! server on the database can tell; nobody else can make one.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tenure::core::actor::Actor;
use tenure::core::id::ExecutionId;
use tenure::core::word::{Store, Who};

/// 128 bits of it are kept: more than can be guessed while a lease lasts.
const BYTES: usize = 16;

#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    pub fn new(secret: &str) -> Signer {
        Signer(Hmac::new_from_slice(secret.as_bytes()).expect("any key will do"))
    }

    /// The token of a lease that this actor holds.
    pub fn sign(&self, store: &Store, execution: ExecutionId, owner: &Actor) -> String {
        let worker = owner.incarnation.as_ref().map_or("", Who::as_str);
        let mut text = format!("{worker}.");
        for byte in &self.mac(store, execution, owner.id.as_str(), worker).finalize().into_bytes()[..BYTES] {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// The incarnation that the lease was given to. None: this is not its token.
    pub fn worker(&self, token: &str, store: &Store, execution: ExecutionId, caller: &Actor) -> Option<Who> {
        let (worker, mac) = token.rsplit_once('.')?;
        let mac = unhex(mac)?;
        let expected = self.mac(store, execution, caller.id.as_str(), worker);
        expected.verify_truncated_left(&mac).ok()?;
        worker.parse().ok()
    }

    fn mac(&self, store: &Store, execution: ExecutionId, owner: &str, worker: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        // A length before each part: no two lists of parts are the same bytes.
        for part in [store.as_str(), &execution.to_string(), owner, worker] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}

fn unhex(text: &str) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    if text.len() != 2 * BYTES || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use tenure::core::id::{Fence, ItemId};

    use super::*;

    #[test]
    fn a_lease_token_fits_one_lease_of_one_owner() {
        let signer = Signer::new("secret");
        let store: Store = "default".parse().unwrap();
        let execution = ExecutionId { item: ItemId(7), fence: Fence(2) };
        let owner: Actor = "worker:a/w.1".parse().unwrap();
        let token = signer.sign(&store, execution, &owner);
        let read = |signer: &Signer, token: &str, store: &str, fence: u64, caller: &str| {
            let execution = ExecutionId { fence: Fence(fence), ..execution };
            let (store, caller): (Store, Actor) = (store.parse().unwrap(), caller.parse().unwrap());
            signer.worker(token, &store, execution, &caller).map(|worker| worker.to_string())
        };
        assert_eq!(read(&signer, &token, "default", 2, "worker:a"), Some("w.1".to_string()));
        assert_eq!(read(&signer, &token, "other", 2, "worker:a"), None);
        assert_eq!(read(&signer, &token, "default", 3, "worker:a"), None);
        assert_eq!(read(&signer, &token, "default", 2, "worker:b"), None);
        assert_eq!(read(&Signer::new("other"), &token, "default", 2, "worker:a"), None);
        for bad in
            ["", ".", "w.1", &token[..token.len() - 1], &token.replace("w.1", "w.2"), &format!("{token}0")]
        {
            assert_eq!(read(&signer, bad, "default", 2, "worker:a"), None, "{bad}");
        }
    }
}
