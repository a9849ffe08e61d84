//! Reads private keys from PEM in the forms that Helm accepts, with its errors.

use rsa::{BigUint, RsaPrivateKey};

use super::der::{self, Reader};
use super::keys::{DsaKey, PrivateKey, identifier};
use super::pem;

/// The maximum RSA modulus in bits; signing takes cubic time.
const MAX_RSA_BITS: usize = 16_384;

/// The usual maximum difference in length between the primes of an RSA key, in bits.
const MAX_PRIME_DISTANCE: usize = 8;

/// The maximum number of additional primes of an RSA key. Each makes validation slower.
const MAX_ADDITIONAL_PRIMES: usize = 3;

/// The error for an invalid encoding.
const MALFORMED: &str = "asn1: structure error: malformed private key";

// Go tries the other formats only to improve its message, and so does this reader.
const USE_EC: &str = "x509: failed to parse private key (use ParseECPrivateKey instead for this key format)";
const USE_PKCS1: &str =
    "x509: failed to parse private key (use ParsePKCS1PrivateKey instead for this key format)";
const USE_PKCS8: &str =
    "x509: failed to parse private key (use ParsePKCS8PrivateKey instead for this key format)";

/// Reads the first PEM block of a text as a private key.
pub(super) fn read(text: &[u8]) -> Result<PrivateKey, String> {
    let block = pem::decode(text).ok_or("no PEM data in input")?;
    let label = String::from_utf8_lossy(&block.label);
    if label == "PRIVATE KEY" {
        return pkcs8(&block.bytes).map_err(|error| format!("decoding PEM as PKCS#8: {error}"));
    }
    let Some(kind) = label.strip_suffix(" PRIVATE KEY") else {
        return Err(format!("no private key data in PEM block of type {label}"));
    };
    match kind {
        "RSA" => pkcs1(&block.bytes).map_err(|error| format!("parsing RSA private key from PEM: {error}")),
        "EC" => sec1(None, &block.bytes).map_err(|error| format!("parsing EC private key from PEM: {error}")),
        "DSA" => {
            let key = dsa(&block.bytes).ok_or(MALFORMED);
            key.map_err(|error| format!("parsing DSA private key from PEM: {error}"))
        }
        _ => Err(format!("invalid private key type {label}")),
    }
}

fn pkcs8(bytes: &[u8]) -> Result<PrivateKey, String> {
    let Some((algorithm, parameters, secret)) = pkcs8_parts(bytes) else {
        return Err(if sec1_parts(bytes).is_some() {
            USE_EC.to_owned()
        } else if pkcs1_numbers(bytes).is_some() {
            USE_PKCS1.to_owned()
        } else {
            MALFORMED.to_owned()
        });
    };
    match algorithm {
        identifier::RSA => pkcs1(secret)
            .map_err(|error| format!("x509: failed to parse RSA private key embedded in PKCS#8: {error}")),
        identifier::EC => {
            let curve = Reader::new(parameters).take(der::OBJECT_IDENTIFIER).map(|element| element.content);
            sec1(curve, secret)
                .map_err(|error| format!("x509: failed to parse EC private key embedded in PKCS#8: {error}"))
        }
        identifier::ED25519 => edwards(parameters, secret),
        _ => Err(format!(
            "x509: PKCS#8 wrapping contained private key with unknown algorithm: {}",
            dotted(algorithm)
        )),
    }
}

/// The algorithm, its parameters and the wrapped key.
fn pkcs8_parts(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut outer = Reader::new(bytes).sequence()?;
    outer.integer()?;
    let mut algorithm = outer.sequence()?;
    let name = algorithm.take(der::OBJECT_IDENTIFIER)?.content;
    let parameters = if algorithm.is_empty() { &[] } else { algorithm.any()?.whole };
    Some((name, parameters, outer.take(der::OCTET_STRING)?.content))
}

fn edwards(parameters: &[u8], secret: &[u8]) -> Result<PrivateKey, String> {
    if !parameters.is_empty() {
        return Err("x509: invalid Ed25519 private key parameters".to_owned());
    }
    let seed = Reader::new(secret).take(der::OCTET_STRING);
    let seed = seed.ok_or_else(|| format!("x509: invalid Ed25519 private key: {MALFORMED}"))?.content;
    let seed =
        seed.try_into().map_err(|_| format!("x509: invalid Ed25519 private key length: {}", seed.len()))?;
    Ok(PrivateKey::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(seed))))
}

/// The numbers of an RSA key as they were read.
struct RsaNumbers<'a> {
    version: &'a [u8],
    /// The numbers n, e, d, p and q.
    numbers: [&'a [u8]; 5],
    additional_primes: Vec<BigUint>,
}

fn pkcs1(bytes: &[u8]) -> Result<PrivateKey, String> {
    let Some(RsaNumbers { version, numbers, additional_primes }) = pkcs1_numbers(bytes) else {
        return Err(if sec1_parts(bytes).is_some() {
            USE_EC.to_owned()
        } else if pkcs8_parts(bytes).is_some() {
            USE_PKCS8.to_owned()
        } else {
            MALFORMED.to_owned()
        });
    };
    if !matches!(version, [0 | 1]) {
        return Err("x509: unsupported private key version".to_owned());
    }
    if numbers.iter().any(|number| number[0] & 0x80 != 0 || *number == [0]) {
        return Err("x509: private key contains zero or negative value".to_owned());
    }
    let [modulus, exponent, secret, p, q] = numbers.map(BigUint::from_bytes_be);
    if modulus.bits() > MAX_RSA_BITS {
        return Err(format!("crypto/rsa: keys of more than {MAX_RSA_BITS} bits are not supported"));
    }
    let distance = p.bits().abs_diff(q.bits());
    let primes: Vec<BigUint> = [p, q].into_iter().chain(additional_primes).collect();
    if primes.iter().product::<BigUint>() != modulus {
        return Err("crypto/rsa: p * q != n".to_owned());
    }
    // A larger secret exponent would only make signing slower.
    let invalid = "crypto/rsa: invalid private key";
    if secret >= modulus {
        return Err(invalid.to_owned());
    }
    let key = RsaPrivateKey::from_components(modulus, exponent, secret, primes);
    let mut key = key.map_err(|_| invalid.to_owned())?;
    if distance > MAX_PRIME_DISTANCE {
        // The CRT method takes time exponential in this difference; the plain one does not.
        key.clear_precomputed();
    }
    Ok(PrivateKey::Rsa(Box::new(key)))
}

fn pkcs1_numbers(bytes: &[u8]) -> Option<RsaNumbers<'_>> {
    let mut outer = Reader::new(bytes).sequence()?;
    let version = outer.integer()?;
    let mut numbers = [&[][..]; 5];
    for number in &mut numbers {
        *number = outer.integer()?;
    }
    // The CRT parameters follow; they are recomputed.
    for _ in 0..3 {
        outer.optional(der::INTEGER)?;
    }
    let mut additional_primes = Vec::new();
    if let Some(mut primes) = outer.sequence() {
        while !primes.is_empty() {
            additional_primes.push(BigUint::from_bytes_be(primes.sequence()?.integer()?));
            if additional_primes.len() > MAX_ADDITIONAL_PRIMES {
                return None;
            }
        }
    }
    Some(RsaNumbers { version, numbers, additional_primes })
}

fn sec1(curve: Option<&[u8]>, bytes: &[u8]) -> Result<PrivateKey, String> {
    let Some((version, secret, own_curve)) = sec1_parts(bytes) else {
        return Err(if pkcs8_parts(bytes).is_some() {
            USE_PKCS8.to_owned()
        } else if pkcs1_numbers(bytes).is_some() {
            USE_PKCS1.to_owned()
        } else {
            format!("x509: failed to parse EC private key: {MALFORMED}")
        });
    };
    if version != [1] {
        let version = version.iter().fold(0i64, |value, byte| value << 8 | i64::from(*byte));
        return Err(format!("x509: unknown EC private key version {version}"));
    }
    let invalid = |_| "x509: invalid private key".to_owned();
    match curve.or(own_curve) {
        Some(identifier::P256) => {
            let secret = padded::<32>(secret)?;
            let key = p256::ecdsa::SigningKey::from_slice(&secret).map_err(invalid)?;
            Ok(PrivateKey::P256(Box::new(key)))
        }
        Some(identifier::P384) => {
            let secret = padded::<48>(secret)?;
            let key = p384::ecdsa::SigningKey::from_slice(&secret).map_err(invalid)?;
            Ok(PrivateKey::P384(Box::new(key)))
        }
        Some(identifier::P521) => {
            let secret = padded::<66>(secret)?;
            let key = p521::ecdsa::SigningKey::from_slice(&secret).map_err(invalid)?;
            Ok(PrivateKey::P521(Box::new(key)))
        }
        _ => Err("x509: unknown elliptic curve".to_owned()),
    }
}

/// The version, the secret and the curve.
#[allow(clippy::type_complexity)]
fn sec1_parts(bytes: &[u8]) -> Option<(&[u8], &[u8], Option<&[u8]>)> {
    let mut outer = Reader::new(bytes).sequence()?;
    let version = outer.integer()?;
    let secret = outer.take(der::OCTET_STRING)?.content;
    let curve = match outer.optional(der::context(0))? {
        Some(element) => Some(Reader::new(element.content).take(der::OBJECT_IDENTIFIER)?.content),
        None => None,
    };
    Some((version, secret, curve))
}

/// Normalises the length of a secret; some programs add or drop leading zeros.
fn padded<const N: usize>(secret: &[u8]) -> Result<[u8; N], String> {
    let excess = secret.len().saturating_sub(N);
    let (zeros, secret) = secret.split_at(excess);
    if zeros.iter().any(|byte| *byte != 0) {
        return Err("x509: invalid private key length".to_owned());
    }
    let mut padded = [0; N];
    padded[N - secret.len()..].copy_from_slice(secret);
    Ok(padded)
}

fn dsa(bytes: &[u8]) -> Option<PrivateKey> {
    let mut outer = Reader::new(bytes).sequence()?;
    outer.integer()?;
    let mut next = || outer.integer().map(BigUint::from_bytes_be);
    let (p, q, g, y, x) = (next()?, next()?, next()?, next()?, next()?);
    Some(PrivateKey::Dsa(Box::new(DsaKey { p, q, g, y, x })))
}

/// Writes an object identifier with dots.
fn dotted(content: &[u8]) -> String {
    let mut arcs = Vec::new();
    let mut arc = 0u64;
    for byte in content {
        arc = arc.wrapping_shl(7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if arcs.is_empty() {
                let first = (arc / 40).min(2);
                arcs.push(first.to_string());
                arc -= first * 40;
            }
            arcs.push(arc.to_string());
            arc = 0;
        }
    }
    arcs.join(".")
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::*;

    fn error(text: &str) -> String {
        read(text.as_bytes()).err().expect("no key")
    }

    #[test]
    fn every_kind_of_key_can_be_read_back() {
        let keys = [
            generate::rsa_key::<8>().unwrap(),
            generate::elliptic_key(),
            generate::edwards_key(),
            generate::dsa_key().unwrap(),
        ];
        for key in keys {
            let text = key.to_pem().unwrap();
            assert_eq!(read(text.as_bytes()).unwrap().to_pem().unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_key_is_refused_with_the_texts_of_helm() {
        assert_eq!(error("x"), "no PEM data in input");
        assert_eq!(error(&pem::encode("THING", &[1])), "no private key data in PEM block of type THING");
        assert_eq!(error(&pem::encode("BAD PRIVATE KEY", &[1])), "invalid private key type BAD PRIVATE KEY");
        let elliptic = generate::elliptic_key().to_pem().unwrap().replace("EC PRIVATE", "RSA PRIVATE");
        assert_eq!(error(&elliptic), format!("parsing RSA private key from PEM: {USE_EC}"));
    }

    #[test]
    fn a_key_with_a_tiny_prime_does_not_sign_forever() {
        // 65521 and a prime of 1024 bits, so that there is a modulus to sign with.
        let Ok(PrivateKey::Rsa(other)) = generate::rsa_key::<16>() else { panic!("no RSA key") };
        let (p, q) = (BigUint::from(65_521u32), rsa::traits::PrivateKeyParts::primes(&*other)[0].clone());
        let key = RsaPrivateKey::from_p_q(p, q, BigUint::from(65_537u32)).expect("exponent and primes fit");
        let text = PrivateKey::Rsa(Box::new(key)).to_pem().unwrap();
        assert!(read(text.as_bytes()).unwrap().sign(b"message").is_ok());
    }

    #[test]
    fn object_identifiers_print_with_dots() {
        assert_eq!(dotted(identifier::RSA), "1.2.840.113549.1.1.1");
        assert_eq!(dotted(&[0x2b, 0x65, 0x6e]), "1.3.101.110");
    }
}
