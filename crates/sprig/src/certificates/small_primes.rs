//! The small primes that candidates are sieved with, and remainders of long numbers by all of them at once.

use std::sync::OnceLock;

use super::field;

/// Where the table ends. Sieving further costs more than the tests it saves, by measurement with 1024 bits.
const END: usize = 1 << 18;

/// How many primes share one reduction. Their product has at most 54 bits, which [`Group::remainder`] builds on.
const SHARED: usize = 3;

/// Neighbouring odd primes. A long number is reduced by their product, and only the remainder by each of them: that
/// takes a third of the time, and no division.
pub(super) struct Group {
    pub(super) primes: [u32; SHARED],
    product: u64,
    /// `-1 / product` modulo 2^64.
    negative_inverse: u64,
    /// 2^64 modulo the product.
    radix: u64,
    /// 2^128 modulo the product.
    radix_squared: u64,
}

/// The odd primes in order. The table is made once: a chart that asks for a key often asks for more.
pub(super) fn groups() -> &'static [Group] {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let primes = odd_primes_below(END);
        // Primes that do not fill the last group are dropped; the sieve need not be complete.
        let (groups, _) = primes.as_chunks::<SHARED>();
        groups.iter().map(|primes| Group::new(*primes)).collect()
    })
}

impl Group {
    fn new(primes: [u32; SHARED]) -> Self {
        let product: u64 = primes.map(u64::from).iter().product();
        let radix = u128::from(u64::MAX % product + 1);
        let radix_squared = (radix * radix % u128::from(product)) as u64;
        Group {
            primes,
            product,
            negative_inverse: field::inverse(product).wrapping_neg(),
            radix: radix as u64,
            radix_squared,
        }
    }

    /// A number with the same remainders by the primes of the group, short enough for plain divisions. Limbs come
    /// least significant first.
    #[inline]
    pub(super) fn remainder(&self, limbs: &[u64]) -> u64 {
        // Montgomery's reduction divides by 2^64, which the factors make up for. The sum stays below 2^120.
        limbs.iter().rev().fold(0, |rest, limb| {
            let sum = u128::from(rest) * u128::from(self.radix_squared)
                + u128::from(*limb) * u128::from(self.radix);
            let factor = (sum as u64).wrapping_mul(self.negative_inverse);
            ((sum + u128::from(factor) * u128::from(self.product)) >> 64) as u64
        })
    }
}

/// The sieve of Eratosthenes over odd numbers.
fn odd_primes_below(end: usize) -> Vec<u32> {
    // The number 2 * index + 1 at each index.
    let mut composite = vec![false; end / 2];
    for factor in (3..).step_by(2).take_while(|factor| factor * factor < end) {
        if !composite[factor / 2] {
            composite.iter_mut().skip(factor * factor / 2).step_by(factor).for_each(|mark| *mark = true);
        }
    }
    let numbers = composite.iter().enumerate().skip(1);
    numbers.filter(|(_, composite)| !**composite).map(|(index, _)| 2 * index as u32 + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_the_odd_primes() {
        assert_eq!(odd_primes_below(30), [3, 5, 7, 11, 13, 17, 19, 23, 29]);
        assert_eq!(odd_primes_below(1000).len(), 167);
        assert_eq!(groups()[0].primes, [3, 5, 7]);
        assert_eq!(groups().last().map(|group| group.primes[2] < END as u32), Some(true));
    }

    #[test]
    fn remainders_are_those_of_long_division() {
        let limbs = [u64::MAX, 0x0123_4567_89ab_cdef, 0, u64::MAX - 12];
        for group in groups().iter().step_by(100).chain(groups().last()) {
            let rest = group.remainder(&limbs);
            for prime in group.primes.map(u64::from) {
                let step = |rest: u128, limb: &u64| (rest << 64 | u128::from(*limb)) % u128::from(prime);
                assert_eq!(u128::from(rest % prime), limbs.iter().rev().fold(0, step), "{prime}");
            }
        }
    }
}
