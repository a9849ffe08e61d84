//! RSA signatures for the key size that Helm generates, in half the time of general arithmetic.

use rsa::traits::{PrivateKeyParts as _, PublicKeyParts as _};
use rsa::{BigUint, Pkcs1v15Sign, RsaPrivateKey};
use sha2::{Digest as _, Sha256};

use super::field::limbs;
use super::wide::Wide;

/// The `DigestInfo` prefix of a SHA-256 digest in a signature.
const SHA256_PREFIX: [u8; 19] =
    [0x30, 0x31, 0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20];

/// Signs a message by PKCS#1 1.5 with SHA-256.
pub(super) fn sign(key: &RsaPrivateKey, message: &[u8]) -> Result<Vec<u8>, String> {
    let bits = key.n().bits();
    // Go 1.24 and later refuse them in these words.
    if bits < 1024 {
        return Err(format!(
            "crypto/rsa: {bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
        ));
    }
    let digest = Sha256::digest(message);
    if let Some(signature) = quick_signature(key, &digest) {
        return Ok(signature);
    }
    let scheme = Pkcs1v15Sign { hash_len: Some(32), prefix: SHA256_PREFIX.into() };
    key.sign(scheme, &digest).map_err(|error| error.to_string())
}

/// The signature by a key of two primes of 1024 bits, by the Chinese remainder theorem.
fn quick_signature(key: &RsaPrivateKey, digest: &[u8]) -> Option<Vec<u8>> {
    let [p, q] = key.primes() else { return None };
    let (p_field, q_field) = (field(p)?, field(q)?);
    let message = padded(key.size(), digest);
    let power = |field: &Wide, exponent: &BigUint| {
        let power = field.raise(&field.enter(&message), &limbs(exponent));
        field.leave(&power)
    };
    let (by_p, by_q) = (power(&p_field, key.dp()?), power(&q_field, key.dq()?));
    let inverse = key.qinv()?.to_biguint()?;
    let difference = by_p + p - &by_q % p;
    let signature = by_q + difference * inverse % p * q;
    // A hardware fault here would reveal the primes to anyone who sees the signature, so it is verified.
    if signature.modpow(key.e(), key.n()) != message {
        return None;
    }
    let bytes = signature.to_bytes_be();
    let mut out = vec![0; key.size() - bytes.len()];
    out.extend(bytes);
    Some(out)
}

fn field(prime: &BigUint) -> Option<Wide> {
    if prime.bits() == 1024 { Wide::new(&limbs(prime)) } else { None }
}

/// The digest, its prefix and the padding before it that fills `size` bytes.
fn padded(size: usize, digest: &[u8]) -> BigUint {
    let filler = size.saturating_sub(SHA256_PREFIX.len() + digest.len() + 3);
    let bytes = [&[0, 1][..], &vec![0xff; filler], &[0], &SHA256_PREFIX, digest].concat();
    BigUint::from_bytes_be(&bytes)
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::super::keys::PrivateKey;
    use super::*;

    #[test]
    fn quick_signatures_are_those_of_the_general_way() {
        for _ in 0..3 {
            let Ok(PrivateKey::Rsa(key)) = generate::rsa_key::<16>() else { panic!("no RSA key") };
            let digest = Sha256::digest(b"message");
            let scheme = Pkcs1v15Sign { hash_len: Some(32), prefix: SHA256_PREFIX.into() };
            assert_eq!(quick_signature(&key, &digest), key.sign(scheme, &digest).ok());
        }
    }

    #[test]
    fn keys_of_other_sizes_are_signed_with_the_general_way() {
        let Ok(PrivateKey::Rsa(key)) = generate::rsa_key::<8>() else { panic!("no RSA key") };
        assert_eq!(quick_signature(&key, &[0; 32]), None);
        assert_eq!(sign(&key, b"message").map(|signature| signature.len()), Ok(128));
    }
}
