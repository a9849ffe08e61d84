//! The arithmetic of primality tests, common to both implementations.

use rsa::BigUint;

/// Arithmetic modulo an odd number of at most `64 * N` bits, in Montgomery form.
pub(super) trait Field<const N: usize> {
    /// A number in Montgomery form.
    type Number;

    /// The square of a number.
    fn square(&self, number: &Self::Number) -> Self::Number;

    /// Two to the power of `exponent`.
    fn power_of_two(&self, exponent: &[u64; N]) -> Self::Number;

    /// A number to the power of `exponent`. The base is interpreted as a Montgomery form, which makes it another number; a
    /// random one stays random.
    fn power(&self, base: &[u64; N], exponent: &[u64; N]) -> Self::Number;

    /// Whether a base is zero, whose powers prove nothing.
    fn is_zero(&self, base: &[u64; N]) -> bool;

    /// Whether a number is one.
    fn is_one(&self, number: &Self::Number) -> bool;

    /// Whether a number is minus one.
    fn is_minus_one(&self, number: &Self::Number) -> bool;
}

/// The inverse of an odd number modulo 2^64.
pub(super) fn inverse(number: u64) -> u64 {
    // Newton's iteration doubles the number of correct low bits, from three to 96.
    (0..5).fold(number, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(number.wrapping_mul(inverse))))
}

/// Converts limbs, least significant first, to a big number.
pub(super) fn number<const N: usize>(limbs: &[u64; N]) -> BigUint {
    let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    BigUint::from_bytes_le(&bytes)
}

/// The limbs of a number that has at most `64 * N` bits.
pub(super) fn limbs<const N: usize>(number: &BigUint) -> [u64; N] {
    let mut limbs = [0; N];
    for (limb, bytes) in limbs.iter_mut().zip(number.to_bytes_le().chunks(8)) {
        let mut full = [0; 8];
        full[..bytes.len()].copy_from_slice(bytes);
        *limb = u64::from_le_bytes(full);
    }
    limbs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_makes_one() {
        for odd in [1, 3, 0x1234_5678_9abc_def1, u64::MAX] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1);
        }
    }

    #[test]
    fn limbs_and_numbers_go_both_ways() {
        let limbs_of = [7, 0, u64::MAX, 0];
        assert_eq!(limbs(&number(&limbs_of)), limbs_of);
    }
}
