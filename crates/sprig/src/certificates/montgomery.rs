//! Montgomery arithmetic modulo an odd number of fixed size, for primality tests.

use super::field::{self, Field};

/// An odd modulus of `64 * N` bits. Numbers are limbs, least significant first; results are in Montgomery form, which
/// means multiplied by `2^(64 * N)`.
pub(super) struct Montgomery<const N: usize> {
    modulus: [u64; N],
    /// `-1 / modulus` modulo 2^64.
    negative_inverse: u64,
    /// One in Montgomery form.
    one: [u64; N],
}

impl<const N: usize> Montgomery<N> {
    /// Prepares for an odd modulus.
    pub(super) fn new(modulus: &[u64; N]) -> Self {
        let negative_inverse = field::inverse(modulus[0]).wrapping_neg();
        let mut field = Montgomery { modulus: *modulus, negative_inverse, one: [0; N] };
        field.one = field.radix();
        field
    }

    /// `2^(64 * N)` reduced, by doubling the largest power of two below the modulus.
    fn radix(&self) -> [u64; N] {
        let mut highest = N - 1;
        while self.modulus[highest] == 0 {
            highest -= 1;
        }
        let bit = 63 - self.modulus[highest].leading_zeros();
        let mut power = [0; N];
        power[highest] = 1 << bit;
        for _ in 64 * highest as u32 + bit..64 * N as u32 {
            power = self.double(&power);
        }
        power
    }

    /// Reduces any number modulo the modulus.
    fn reduce(&self, number: &[u64; N]) -> [u64; N] {
        // One in Montgomery form cancels the division by the radix.
        self.multiply(number, &self.one)
    }

    fn double(&self, number: &[u64; N]) -> [u64; N] {
        let mut result = [0; N];
        let mut carry = 0;
        for (limb, number) in result.iter_mut().zip(number) {
            *limb = number << 1 | carry;
            carry = number >> 63;
        }
        self.finish(&mut result, carry != 0);
        result
    }

    /// Subtracts the modulus once if the number, with its carry, is not below it.
    #[inline]
    fn finish(&self, number: &mut [u64; N], carry: bool) {
        if carry || !is_less(number, &self.modulus) {
            subtract(number, &self.modulus);
        }
    }

    /// The product of two numbers.
    #[inline]
    fn multiply(&self, left: &[u64; N], right: &[u64; N]) -> [u64; N] {
        let mut sum = [0; N];
        let mut top = 0;
        for &limb in left {
            let mut carry = 0;
            for (sum, right) in sum.iter_mut().zip(right) {
                (*sum, carry) = multiply_add(limb, *right, *sum, carry);
            }
            let (high, first_overflow) = u64::overflowing_add(top, carry);
            // The multiple of the modulus that clears the lowest limb, which is then dropped.
            let factor = sum[0].wrapping_mul(self.negative_inverse);
            (_, carry) = multiply_add(factor, self.modulus[0], sum[0], 0);
            for index in 1..N {
                (sum[index - 1], carry) = multiply_add(factor, self.modulus[index], sum[index], carry);
            }
            let (high, second_overflow) = high.overflowing_add(carry);
            sum[N - 1] = high;
            top = u64::from(first_overflow) + u64::from(second_overflow);
        }
        self.finish(&mut sum, top != 0);
        sum
    }
}

impl<const N: usize> Field<N> for Montgomery<N> {
    type Number = [u64; N];

    #[inline]
    fn square(&self, number: &[u64; N]) -> [u64; N] {
        self.multiply(number, number)
    }

    fn power_of_two(&self, exponent: &[u64; N]) -> [u64; N] {
        let mut power = self.one;
        let mut started = false;
        for bit in (0..64 * N).rev() {
            if started {
                power = self.square(&power);
            }
            if exponent[bit / 64] >> (bit % 64) & 1 == 1 {
                power = self.double(&power);
                started = true;
            }
        }
        power
    }

    /// Processes four bits of the exponent at a time.
    fn power(&self, base: &[u64; N], exponent: &[u64; N]) -> [u64; N] {
        let base = self.reduce(base);
        let mut table = [self.one; 16];
        for index in 1..16 {
            table[index] = self.multiply(&table[index - 1], &base);
        }
        let mut power = self.one;
        for nibble in (0..16 * N).rev() {
            for _ in 0..4 {
                power = self.square(&power);
            }
            let digit = exponent[nibble / 16] >> (nibble % 16 * 4) & 15;
            if digit != 0 {
                power = self.multiply(&power, &table[digit as usize]);
            }
        }
        power
    }

    fn is_zero(&self, base: &[u64; N]) -> bool {
        self.reduce(base) == [0; N]
    }

    fn is_one(&self, number: &[u64; N]) -> bool {
        *number == self.one
    }

    fn is_minus_one(&self, number: &[u64; N]) -> bool {
        let mut minus_one = self.modulus;
        subtract(&mut minus_one, &self.one);
        *number == minus_one
    }
}

/// `left * right + sum + carry` as its low and its high limb.
#[inline]
fn multiply_add(left: u64, right: u64, sum: u64, carry: u64) -> (u64, u64) {
    let result = u128::from(left) * u128::from(right) + u128::from(sum) + u128::from(carry);
    (result as u64, (result >> 64) as u64)
}

#[inline]
fn is_less<const N: usize>(left: &[u64; N], right: &[u64; N]) -> bool {
    left.iter().rev().cmp(right.iter().rev()).is_lt()
}

#[inline]
fn subtract<const N: usize>(number: &mut [u64; N], other: &[u64; N]) {
    let mut borrow = false;
    for (limb, other) in number.iter_mut().zip(other) {
        let (difference, first) = limb.overflowing_sub(*other);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        *limb = difference;
        borrow = first || second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fermats_theorem_holds_for_a_prime() {
        // 2^127 - 1 is prime, so every base to the power of p - 1 is one.
        let prime = [u64::MAX, u64::MAX >> 1];
        let field = Montgomery::new(&prime);
        let exponent = [u64::MAX - 1, u64::MAX >> 1];
        assert!(field.is_one(&field.power_of_two(&exponent)));
        assert!(field.is_one(&field.power(&[12345, 678], &exponent)));
        assert!(!field.is_minus_one(&field.one));
        assert!(field.is_zero(&prime));
    }

    #[test]
    fn both_ways_to_raise_two_agree() {
        let field = Montgomery::new(&[0x1234_5678_9abc_def1, 0xfedc_ba98_7654_3211]);
        let two = field.double(&field.one);
        let exponent = [0x0f0f_1234, 77];
        assert_eq!(field.power(&two, &exponent), field.power_of_two(&exponent));
    }
}
