//! Signing, as [Standard Webhooks](https://www.standardwebhooks.com) has it: HMAC-SHA-256 over id, time and body.
//!
//! A secret never leaves here: it is not shown, not kept in the database, and in no message of a failure. Only something in the
//! form of a secret is used as one, so that a webhook which names any other variable or file learns nothing about it.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tenure_databases::regular_file::{self, SECRET_BYTES_MAX};
use tokio::task::spawn_blocking;

const PREFIX: &str = "whsec_";
/// What the standard asks for: enough to be guessed by nobody, and not more than a block.
const BYTES_MIN: usize = 24;
const BYTES_MAX: usize = 64;

/// A secret to sign with: `whsec_` and 24 to 64 bytes as base64.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<[u8]>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The text is no secret. It says nothing about what the text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a secret reads `whsec_` and then 24 to 64 bytes as base64")]
pub struct NotASecret;

impl FromStr for Secret {
    type Err = NotASecret;

    fn from_str(text: &str) -> Result<Secret, NotASecret> {
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(NotASecret)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| NotASecret)?;
        if (BYTES_MIN..=BYTES_MAX).contains(&bytes.len()) {
            Ok(Secret(bytes.into()))
        } else {
            Err(NotASecret)
        }
    }
}

impl Secret {
    /// `v1,` and the signature.
    fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is one");
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Signatures for every secret, as the header has them.
pub(super) fn signatures(secrets: &[Secret], id: &str, seconds: i64, body: &[u8]) -> String {
    let signed: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect();
    signed.join(" ")
}

/// Where a secret is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Reference {
    Env(String),
    File(String),
    /// The program that opened the engine has it.
    Given(String),
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Reference, String> {
        // The text is not repeated: it may be a secret in the wrong place.
        let wrong = "a secret is named by `env:NAME`, `file:PATH` or `given:NAME`, and not written here";
        match text.split_once(':') {
            Some((_, "")) | None => Err(wrong.to_string()),
            Some(("env", name)) => Ok(Reference::Env(name.to_string())),
            Some(("file", path)) => Ok(Reference::File(path.to_string())),
            Some(("given", name)) => Ok(Reference::Given(name.to_string())),
            Some(_) => Err(wrong.to_string()),
        }
    }
}

/// The secrets that the engine was opened with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Arc<HashMap<String, Secret>>);

impl Secrets {
    pub fn add(&mut self, name: String, secret: Secret) {
        Arc::make_mut(&mut self.0).insert(name, secret);
    }

    /// Looked up for every delivery, so that one which was exchanged is used at once.
    pub(super) async fn find(&self, reference: &Reference) -> Result<Secret, String> {
        match reference {
            Reference::Given(name) => self
                .0
                .get(name)
                .cloned()
                .ok_or_else(|| format!("the engine was opened without a secret {name:?}")),
            Reference::Env(name) => {
                let value = std::env::var(name).map_err(|_| format!("the variable {name} is not set"))?;
                value.parse().map_err(|why| format!("the variable {name} is no secret: {why}"))
            }
            Reference::File(path) => {
                let named = path.clone();
                let read = move || regular_file::read_text(named.as_ref(), SECRET_BYTES_MAX);
                let text = spawn_blocking(read).await.map_err(|error| error.to_string())?;
                let text = text.map_err(|error| format!("the secret's file can not be read: {error}"))?;
                text.parse().map_err(|why| format!("the file {path} is no secret: {why}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    /// The example of the standard's own libraries.
    #[test]
    fn a_signature_is_the_one_that_the_standard_gives() {
        let secret: Secret = SECRET.parse().unwrap();
        let signed = signatures(
            std::slice::from_ref(&secret),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = signatures(&[secret.clone(), secret], "a", 1, b"{}");
        let [one, other] = both.split(' ').collect::<Vec<_>>()[..] else { panic!("{both}") };
        assert_eq!(one, other);
    }

    #[test]
    fn a_secret_is_never_shown() {
        let secret: Secret = SECRET.parse().unwrap();
        let mut secrets = Secrets::default();
        secrets.add("main".to_string(), secret.clone());
        let shown = format!("{secret:?} {secrets:?} {:?} {NotASecret}", SECRET.parse::<Reference>());
        assert!(!shown.contains("MfKQ9r8G"), "{shown}");
        for bad in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_????"] {
            assert_eq!(bad.parse::<Secret>(), Err(NotASecret), "{bad}");
        }
    }

    // fault: A17
    #[test]
    fn only_what_has_the_form_of_a_secret_is_used_as_one() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("secret");
            let secrets = Secrets::default();
            let reference: Reference = format!("file:{}", path.display()).parse().unwrap();
            assert!(secrets.find(&reference).await.unwrap_err().contains("can not be read"));
            let zero: Reference = "file:/dev/zero".parse().unwrap();
            assert!(secrets.find(&zero).await.unwrap_err().contains("no regular file"));
            std::fs::write(&path, "root:x:0:0").unwrap();
            let refused = secrets.find(&reference).await.unwrap_err();
            assert!(refused.contains("is no secret") && !refused.contains("root"), "{refused}");
            std::fs::write(&path, format!("{SECRET}\n")).unwrap();
            assert_eq!(secrets.find(&reference).await, Ok(SECRET.parse().unwrap()));
            let path: Reference = "env:PATH".parse().unwrap();
            assert!(secrets.find(&path).await.unwrap_err().contains("the variable PATH is no secret"));
        });
    }
}
