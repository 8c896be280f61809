//! What binds a login to the channel it comes through: the hash of the server's certificate (RFC 5929, `tls-server-end-point`).
//!
//! Whoever stands in between has another certificate, and a password that is proved to it is of no use with the server.

use rustls::pki_types::alg_id;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// By the hash that the certificate's own signature is made with. None for a signature without one of its own, for which the
/// standard knows no binding.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_algorithm(certificate)?;
    let is = |known: &[&[u8]]| known.contains(&algorithm);
    if is(&[&alg_id::RSA_PKCS1_SHA256, &alg_id::RSA_PSS_SHA256, &alg_id::ECDSA_SHA256]) {
        Some(Sha256::digest(certificate).to_vec())
    } else if is(&[&alg_id::RSA_PKCS1_SHA384, &alg_id::RSA_PSS_SHA384, &alg_id::ECDSA_SHA384]) {
        Some(Sha384::digest(certificate).to_vec())
    } else if is(&[&alg_id::RSA_PKCS1_SHA512, &alg_id::RSA_PSS_SHA512, &alg_id::ECDSA_SHA512]) {
        Some(Sha512::digest(certificate).to_vec())
    } else {
        None
    }
}

/// A certificate is a sequence: what is signed, then how.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (parts, _) = element(certificate)?;
    let (_signed, rest) = element(parts)?;
    Some(element(rest)?.0)
}

/// The content of the first element of some DER, and what comes after it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    // A length below 128 stands for itself; otherwise so many bytes of it follow.
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[0x30, 0x82], &length[..], content].concat()
    }

    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        wrapped(&[wrapped(&[7; 300]), wrapped(algorithm), vec![3, 1, 0]].concat())
    }

    #[test]
    fn the_hash_is_the_one_of_the_certificates_signature() {
        for (algorithm, bytes) in [
            (alg_id::RSA_PKCS1_SHA256, Some(32)),
            (alg_id::ECDSA_SHA384, Some(48)),
            (alg_id::RSA_PSS_SHA512, Some(64)),
            (alg_id::ED25519, None),
        ] {
            let found = end_point(&certificate(&algorithm)).map(|hash| hash.len());
            assert_eq!(found, bytes, "{algorithm:?}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_hash() {
        let whole = certificate(&alg_id::ECDSA_SHA256);
        for length in 0..whole.len() - 3 {
            assert_eq!(end_point(&whole[..length]), None);
        }
    }
}
