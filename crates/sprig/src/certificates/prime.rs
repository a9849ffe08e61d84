//! Fast random primes: RSA key generation is the slowest thing a chart can ask for, and general-purpose big number
//! code takes several times as long.

use std::sync::atomic::{AtomicBool, Ordering};

use rand::RngCore;
use rand::rngs::OsRng;

use super::field::Field;
use super::montgomery::Montgomery;
use super::small_primes;
use super::wide::{self, Wide};

/// How many candidates one sieve covers. Primes of 2048 bits are 1420 apart on average, and candidates step by two or
/// more, so a window without a prime is rare; the search then restarts.
const WINDOW: usize = 8192;

/// Miller-Rabin rounds with random bases after the round with base two. For random candidates of 1024 bits, four
/// rounds in all leave a chance of error below 2^-100, and fewer do for longer ones (FIPS 186-4, table C.2); short
/// primes (the `q` of DSA) are more likely to be pseudoprimes and get more.
const fn rounds(limbs: usize) -> usize {
    if limbs >= 16 { 3 } else { 32 }
}

/// How far sieving pays off: testing a candidate costs more than the square of its length.
const fn sieve_end(limbs: usize) -> u32 {
    64 * (limbs * limbs * limbs) as u32
}

/// Tells searches on other threads that their result is no longer needed.
pub(super) type Stop = AtomicBool;

/// Fills limbs, least significant first, from the operating system.
pub(super) fn random_limbs<const N: usize>() -> Result<[u64; N], rand::Error> {
    let mut limbs = [0; N];
    let mut bytes = [0; 8];
    for limb in &mut limbs {
        OsRng.try_fill_bytes(&mut bytes)?;
        *limb = u64::from_le_bytes(bytes);
    }
    Ok(limbs)
}

/// Returns a random prime of exactly `64 * N` bits with `top` set in its highest limb that `accept` accepts, or
/// `None` if it was stopped.
pub(super) fn random_prime<const N: usize>(
    top: u64,
    stop: &Stop,
    accept: impl Fn(&[u64; N]) -> bool,
) -> Result<Option<[u64; N]>, rand::Error> {
    let mut step = [0; N];
    step[0] = 2;
    while !stop.load(Ordering::Relaxed) {
        let mut start = random_limbs::<N>()?;
        start[0] |= 1;
        start[N - 1] |= top;
        let prime = search(start, &step, stop, &accept)?;
        if prime.is_some() {
            return Ok(prime);
        }
    }
    Ok(None)
}

/// Looks for a prime among `start`, `start + step`, `start + 2 * step` and so on. The start must be odd, the step even.
pub(super) fn search<const N: usize>(
    start: [u64; N],
    step: &[u64; N],
    stop: &Stop,
    accept: impl Fn(&[u64; N]) -> bool,
) -> Result<Option<[u64; N]>, rand::Error> {
    let composite = sieve(&start, step);
    let mut candidate = start;
    let mut pending = 0;
    for composite in composite {
        if !composite {
            if stop.load(Ordering::Relaxed) || add_multiple(&mut candidate, step, pending) {
                return Ok(None);
            }
            pending = 0;
            if accept(&candidate) && is_probably_prime(&candidate)? {
                return Ok(Some(candidate));
            }
        }
        pending += 1;
    }
    Ok(None)
}

/// Marks the multiples of small primes in the window.
fn sieve<const N: usize>(start: &[u64; N], step: &[u64; N]) -> Vec<bool> {
    let mut composite = vec![false; WINDOW];
    // The step of most searches is two.
    let length = N - step.iter().rev().take_while(|limb| **limb == 0).count();
    let step = &step[..length];
    for group in small_primes::groups().iter().take_while(|group| group.primes[0] < sieve_end(N)) {
        let start = group.remainder(start);
        let step = match step {
            [short] => *short,
            long => group.remainder(long),
        };
        for prime in group.primes.map(u64::from) {
            let stride = if step < prime { step } else { step % prime };
            if stride == 0 {
                continue;
            }
            // start + index * step is divisible when index = -start / step.
            let rest = start % prime;
            let distance = if rest == 0 { 0 } else { prime - rest };
            let mut index = divide(distance, stride, prime) as usize;
            while let Some(mark) = composite.get_mut(index) {
                *mark = true;
                index += prime as usize;
            }
        }
    }
    composite
}

/// The remainder of a division by a number below 2^32.
pub(super) fn remainder<const N: usize>(limbs: &[u64; N], divisor: u64) -> u64 {
    limbs.iter().rev().fold(0, |rest, limb| {
        let rest = (rest << 32 | limb >> 32) % divisor;
        (rest << 32 | limb & 0xffff_ffff) % divisor
    })
}

/// The quotient of two numbers modulo a small odd prime, which they are below.
fn divide(number: u64, divisor: u64, prime: u64) -> u64 {
    // The step of most searches is two, for which no division is needed.
    if divisor == 2 {
        return (number + prime * (number & 1)) / 2;
    }
    // The inverse is a power, by Fermat's theorem.
    let (mut result, mut square, mut exponent) = (number, divisor, prime - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % prime;
        }
        square = square * square % prime;
        exponent >>= 1;
    }
    result
}

/// Adds `step * times`. Returns whether the sum overflowed.
fn add_multiple<const N: usize>(number: &mut [u64; N], step: &[u64; N], times: u64) -> bool {
    let mut carry = 0;
    for (limb, step) in number.iter_mut().zip(step) {
        let sum = u128::from(*step) * u128::from(times) + u128::from(*limb) + u128::from(carry);
        *limb = sum as u64;
        carry = (sum >> 64) as u64;
    }
    carry != 0
}

/// Whether a number is prime, with negligible error probability. It must be odd and larger than 3.
pub(super) fn is_probably_prime<const N: usize>(number: &[u64; N]) -> Result<bool, rand::Error> {
    // The most important size has its own arithmetic.
    if let Ok(wide) = <&[u64; wide::LIMBS]>::try_from(number.as_slice())
        && let Some(field) = Wide::new(wide)
    {
        return miller_rabin(&field, wide);
    }
    miller_rabin(&Montgomery::new(number), number)
}

/// The Miller-Rabin test.
fn miller_rabin<const N: usize>(field: &impl Field<N>, number: &[u64; N]) -> Result<bool, rand::Error> {
    // Base two eliminates nearly all composites, with cheap doublings instead of multiplications.
    let mut odd = *number;
    odd[0] -= 1;
    let twos = trailing_zeros(&odd);
    shift_right(&mut odd, twos);
    if !passes(field, field.power_of_two(&odd), twos) {
        return Ok(false);
    }
    for _ in 0..rounds(N) {
        let base = random_limbs()?;
        // Zero proves nothing; it occurs only with tiny numbers.
        if !field.is_zero(&base) && !passes(field, field.power(&base, &odd), twos) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a base raised to the odd part of `number - 1` leads to one in the way it does for primes.
fn passes<const N: usize, F: Field<N>>(field: &F, mut power: F::Number, twos: u32) -> bool {
    if field.is_one(&power) || field.is_minus_one(&power) {
        return true;
    }
    for _ in 1..twos {
        power = field.square(&power);
        if field.is_minus_one(&power) {
            return true;
        }
        if field.is_one(&power) {
            return false;
        }
    }
    false
}

fn trailing_zeros<const N: usize>(number: &[u64; N]) -> u32 {
    let mut zeros = 0;
    for limb in number {
        zeros += limb.trailing_zeros();
        if *limb != 0 {
            break;
        }
    }
    zeros
}

fn shift_right<const N: usize>(number: &mut [u64; N], bits: u32) {
    let (limbs, bits) = ((bits / 64) as usize, bits % 64);
    let limb = |number: &[u64; N], index: usize| number.get(index).copied().unwrap_or(0);
    for index in 0..N {
        let low = limb(number, index + limbs) >> bits;
        let high = limb(number, index + limbs + 1);
        number[index] = if bits == 0 { low } else { low | high << (64 - bits) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(number: u64) -> [u64; 4] {
        [number, 0, 0, 0]
    }

    #[test]
    fn the_test_distinguishes_primes_from_strong_pseudoprimes() {
        for prime in [5, 65_537, 18_446_744_073_709_551_557] {
            assert!(is_probably_prime(&small(prime)).unwrap(), "{prime}");
        }
        // 2047 is a strong pseudoprime to base two; 3215031751 to bases 2, 3, 5 and 7.
        for composite in [9, 2047, 3_215_031_751, 18_446_744_073_709_551_615] {
            assert!(!is_probably_prime(&small(composite)).unwrap(), "{composite}");
        }
    }

    #[test]
    fn a_random_prime_has_its_top_bits_and_no_small_factor() {
        let prime = random_prime::<8>(3 << 62, &Stop::new(false), |_| true).unwrap().unwrap();
        assert_eq!(prime[7] >> 62, 3);
        assert!((3..5000).all(|small| remainder(&prime, small) != 0));
    }

    #[test]
    fn a_stopped_search_finds_nothing() {
        assert_eq!(random_prime::<16>(3 << 62, &Stop::new(true), |_| true).unwrap(), None);
    }

    #[test]
    fn division_undoes_multiplication() {
        for prime in [3, 5, 101, 65_537] {
            for divisor in [1, 2, prime - 1] {
                for number in [0, 1, 2, prime - 1] {
                    let quotient = divide(number, divisor, prime);
                    assert_eq!(quotient * divisor % prime, number, "{number} / {divisor} mod {prime}");
                }
            }
        }
    }

    #[test]
    fn a_search_keeps_to_its_progression() {
        // Of 7, 17, 27, 37 … only members of the progression may be found.
        let found = search(small(70_001), &small(10), &Stop::new(false), |_| true).unwrap().unwrap();
        assert_eq!(found[0] % 10, 1);
    }
}
