//! Generates private keys from the operating system's randomness.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use rand::rngs::OsRng;
use rsa::{BigUint, RsaPrivateKey};

use super::field::{limbs, number};
use super::keys::{DsaKey, PrivateKey};
use super::prime::{Stop, random_limbs, random_prime, remainder, search};

/// The public exponent of every RSA key.
const EXPONENT: u32 = 65_537;

/// Makes an RSA key of `128 * N` bits from two primes of `64 * N` bits.
pub(super) fn rsa_key<const N: usize>() -> Result<PrivateKey, String> {
    loop {
        let (p, q) = rsa_primes::<N>().map_err(|error| error.to_string())?;
        // Primes that agree in their first 128 bits would make the product easy to factor.
        if p[N - 2..] == q[N - 2..] {
            continue;
        }
        let key = RsaPrivateKey::from_p_q(number(&p), number(&q), BigUint::from(EXPONENT));
        return key.map(|key| PrivateKey::Rsa(Box::new(key))).map_err(|error| error.to_string());
    }
}

/// Two primes of an RSA key. Two threads search until they have two primes together: the faster one continues rather
/// than waiting for the other, which saves a third of the time.
fn rsa_primes<const N: usize>() -> Result<([u64; N], [u64; N]), rand::Error> {
    let stop = Stop::new(false);
    let found = Mutex::new(Vec::with_capacity(2));
    let search = || -> Result<(), rand::Error> {
        while let Some(prime) = rsa_prime::<N>(&stop)? {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push(prime);
            if found.len() >= 2 {
                stop.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        // Without a second thread, or if it fails, this search finds both.
        let other = std::thread::Builder::new().spawn_scoped(scope, search);
        let result = search();
        // A failure here must stop the other search.
        stop.store(true, Ordering::Relaxed);
        drop(other);
        result
    })?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((found[0], found[1]))
}

/// A prime whose two top bits are set, so that a product of two has full length, and that is compatible with the
/// exponent.
fn rsa_prime<const N: usize>(stop: &Stop) -> Result<Option<[u64; N]>, rand::Error> {
    random_prime(3 << 62, stop, |prime| remainder(prime, u64::from(EXPONENT)) != 1)
}

/// Makes a key for ECDSA on the curve P-256.
pub(super) fn elliptic_key() -> PrivateKey {
    PrivateKey::P256(Box::new(p256::ecdsa::SigningKey::random(&mut OsRng)))
}

/// Makes a key for Ed25519.
pub(super) fn edwards_key() -> PrivateKey {
    PrivateKey::Ed25519(Box::new(ed25519_dalek::SigningKey::generate(&mut OsRng)))
}

/// Makes a DSA key with a modulus of 2048 bits and a group of 256 bits.
pub(super) fn dsa_key() -> Result<PrivateKey, rand::Error> {
    let one = BigUint::from(1u32);
    let q_limbs = random_prime::<4>(1 << 63, &Stop::new(false), |_| true)?
        .expect("a search that nobody stops ends with a prime");
    let q = number(&q_limbs);
    let p = dsa_modulus(&q)?;
    let cofactor = (&p - &one) / &q;
    // Nearly every base generates the group of order q.
    let g = (2u32..)
        .map(|base| BigUint::from(base).modpow(&cofactor, &p))
        .find(|power| *power != one)
        .expect("a field of 2048 bits has an element of order q");
    let x = loop {
        let x = number(&random_limbs::<4>()?);
        if x != BigUint::from(0u32) && x < q {
            break x;
        }
    };
    let y = g.modpow(&x, &p);
    Ok(PrivateKey::Dsa(Box::new(DsaKey { p, q, g, y, x })))
}

/// A prime of 2048 bits that is one more than a multiple of `q`.
fn dsa_modulus(q: &BigUint) -> Result<BigUint, rand::Error> {
    let step = q * 2u32;
    loop {
        let mut start = random_limbs::<32>()?;
        start[31] |= 1 << 63;
        let start = number(&start);
        let aligned = &start - &start % &step + 1u32;
        if aligned.bits() < 2048 {
            continue;
        }
        if let Some(prime) = search::<32>(limbs(&aligned), &limbs(&step), &Stop::new(false), |_| true)? {
            return Ok(number(&prime));
        }
    }
}

#[cfg(test)]
mod tests {
    use rsa::traits::PublicKeyParts as _;

    use super::*;

    #[test]
    fn an_rsa_key_has_full_length_and_is_consistent() {
        let Ok(PrivateKey::Rsa(key)) = rsa_key::<8>() else { panic!("no RSA key") };
        assert_eq!(key.n().bits(), 1024);
        key.validate().unwrap();
    }

    #[test]
    fn a_dsa_key_lives_in_the_group_of_order_q() {
        let Ok(PrivateKey::Dsa(key)) = dsa_key() else { panic!("no DSA key") };
        assert_eq!((key.p.bits(), key.q.bits()), (2048, 256));
        let one = BigUint::from(1u32);
        assert_eq!((&key.p - &one) % &key.q, BigUint::from(0u32));
        assert_eq!(key.g.modpow(&key.q, &key.p), one);
        assert_eq!(key.y, key.g.modpow(&key.x, &key.p));
    }
}
