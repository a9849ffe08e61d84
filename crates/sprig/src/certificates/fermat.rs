//! Fermat's test with base two for numbers of 1024 bits: the inner loop of making an RSA key, where nearly all of the
//! time goes.

/// The size of the numbers that are tested, in limbs of 64 bits.
const LIMBS: usize = 16;

/// How many bits a digit has. Products of digits have 122 bits, so that the 34 of a column add up in 128 bits without
/// a look at carries; with full limbs every product would need one.
const BITS: usize = 61;

/// How many digits hold 1024 bits, with 13 to spare.
const DIGITS: usize = 17;

const MASK: u64 = (1 << BITS) - 1;

/// How many bits of the exponent are taken at a time. Two to the power of their largest value is what numbers grow by
/// between squarings, and must stay within half of the spare bits.
const WINDOW: usize = 2;

/// A number in digits of 61 bits, least significant first. In Montgomery form it is multiplied by `2^(61 * 17)`, the
/// radix.
type Digits = [u64; DIGITS];

/// Whether two to the power of `number - 1` is one modulo the number, as it is for all odd primes and hardly any other
/// number. Its highest and its lowest bit must be set.
pub(super) fn passes(number: &[u64; LIMBS]) -> bool {
    let modulus = Modulus::new(number);
    // Less than the radix by 13 doublings: 2^1024 modulo a number whose highest bit is set.
    let mut power = number.map(|limb| !limb);
    power[0] += 1;
    (0..DIGITS * BITS - LIMBS * 64).for_each(|_| double(&mut power, number));
    let one = digits(&power);
    // Doubling is also the quick way to raise two to the first digit of the exponent.
    let first = number[LIMBS - 1] >> (64 - WINDOW);
    (0..first).for_each(|_| double(&mut power, number));
    let mut power = digits(&power);
    for position in (0..64 * LIMBS / WINDOW - 1).rev() {
        for _ in 0..WINDOW {
            power = modulus.square(&power);
        }
        let bit = position * WINDOW;
        let digit = number[bit / 64] >> (bit % 64) & ((1 << WINDOW) - 1);
        // The exponent is one less than the number, which is odd.
        shift_left(&mut power, if position == 0 { digit - 1 } else { digit });
    }
    modulus.reduce(&mut power);
    power == one
}

struct Modulus {
    digits: Digits,
    /// `-1 / modulus` modulo 2^61.
    negative_inverse: u64,
}

/// Repeats a block with a constant for the column, so that the loops inside have constant bounds and are unrolled.
/// That is worth a third of the time.
macro_rules! each_column {
    ($column:ident in $($value:literal)* => $body:block) => {
        $({
            const $column: usize = $value;
            $body
        })*
    };
}

impl Modulus {
    fn new(number: &[u64; LIMBS]) -> Self {
        // Newton's iteration doubles the number of correct low bits, from three to 96.
        let mut inverse = number[0];
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(number[0].wrapping_mul(inverse)));
        }
        Modulus { digits: digits(number), negative_inverse: inverse.wrapping_neg() & MASK }
    }

    /// The square, divided by the radix, of a number up to 2^6 times the modulus. The result is less than twice the
    /// modulus: the spare bits save the comparison with it.
    fn square(&self, number: &Digits) -> Digits {
        let modulus = &self.digits;
        let doubled = number.map(|digit| digit << 1);
        // The multiples of the modulus that clear the lower half of the square, digit by digit.
        let mut factors = [0; DIGITS];
        let mut result = [0; DIGITS];
        let mut sum = 0;
        each_column!(COLUMN in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 => {
            for index in 0..COLUMN.div_ceil(2) {
                sum += product(doubled[index], number[COLUMN - index]);
            }
            if COLUMN.is_multiple_of(2) {
                sum += product(number[COLUMN / 2], number[COLUMN / 2]);
            }
            for (index, factor) in factors[..COLUMN].iter().enumerate() {
                sum += product(*factor, modulus[COLUMN - index]);
            }
            factors[COLUMN] = (sum as u64).wrapping_mul(self.negative_inverse) & MASK;
            sum += product(factors[COLUMN], modulus[0]);
            sum >>= BITS;
        });
        each_column!(COLUMN in 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 => {
            for index in COLUMN - 16..COLUMN.div_ceil(2) {
                sum += product(doubled[index], number[COLUMN - index]);
            }
            if COLUMN.is_multiple_of(2) {
                sum += product(number[COLUMN / 2], number[COLUMN / 2]);
            }
            for index in COLUMN - 16..DIGITS {
                sum += product(factors[index], modulus[COLUMN - index]);
            }
            result[COLUMN - DIGITS] = sum as u64 & MASK;
            sum >>= BITS;
        });
        result[DIGITS - 1] = sum as u64;
        result
    }

    /// Brings a number that is a small multiple of the modulus below it.
    fn reduce(&self, number: &mut Digits) {
        while number.iter().rev().cmp(self.digits.iter().rev()).is_ge() {
            let mut borrow = 0;
            for (digit, other) in number.iter_mut().zip(&self.digits) {
                let difference = digit.wrapping_sub(other + borrow);
                *digit = difference & MASK;
                borrow = difference >> 63;
            }
        }
    }
}

#[inline(always)]
fn product(left: u64, right: u64) -> u128 {
    u128::from(left) * u128::from(right)
}

/// Multiplies by two to the power of at most three, which digits have room for.
fn shift_left(number: &mut Digits, bits: u64) {
    let mut carry = 0;
    for digit in number {
        let shifted = *digit << bits | carry;
        *digit = shifted & MASK;
        carry = shifted >> BITS;
    }
}

/// Doubles a number below the modulus, whose highest bit is set.
fn double(number: &mut [u64; LIMBS], modulus: &[u64; LIMBS]) {
    let mut high = 0;
    for limb in number.iter_mut() {
        (*limb, high) = (*limb << 1 | high, *limb >> 63);
    }
    if high == 1 || number.iter().rev().cmp(modulus.iter().rev()).is_ge() {
        let mut borrow = false;
        for (limb, other) in number.iter_mut().zip(modulus) {
            (*limb, borrow) = limb.borrowing_sub(*other, borrow);
        }
    }
}

/// Cuts a number into digits.
fn digits(number: &[u64; LIMBS]) -> Digits {
    std::array::from_fn(|index| {
        let (limb, bit) = (index * BITS / 64, index * BITS % 64);
        let next = number.get(limb + 1).copied().unwrap_or(0);
        let pair = u128::from(next) << 64 | u128::from(number[limb]);
        (pair >> bit) as u64 & MASK
    })
}

#[cfg(test)]
mod tests {
    use rsa::BigUint;

    use super::*;

    fn limbs(number: &BigUint) -> [u64; LIMBS] {
        let mut bytes = number.to_bytes_le();
        bytes.resize(8 * LIMBS, 0);
        std::array::from_fn(|index| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().unwrap()))
    }

    fn power_of_two(exponent: usize) -> BigUint {
        BigUint::from(1u32) << exponent
    }

    #[test]
    fn the_largest_prime_of_1024_bits_passes_and_its_neighbours_do_not() {
        let prime = power_of_two(1024) - 105u32;
        assert!(passes(&limbs(&prime)));
        for distance in [1u32, 3, 101, 103, 107, 109] {
            assert!(!passes(&limbs(&(power_of_two(1024) - distance))), "{distance}");
        }
    }

    #[test]
    fn the_smallest_prime_of_1024_bits_passes() {
        assert!(passes(&limbs(&(power_of_two(1023) + 1155u32))));
        assert!(!passes(&limbs(&(power_of_two(1023) + 1153u32))));
    }

    #[test]
    fn a_carmichael_number_passes_as_it_does_on_paper() {
        // The product of 6k + 1, 12k + 1 and 18k + 1 when all three are prime.
        let k = (BigUint::from(0x35_c1b2_9979_u64) << 300) + 72_953u32;
        let number: BigUint = [6u32, 12, 18].iter().map(|factor| &k * *factor + 1u32).product();
        assert_eq!(number.bits(), 1024);
        assert!(passes(&limbs(&number)));
        assert!(!super::super::prime::is_probably_prime(&limbs(&number)).unwrap());
    }

    #[test]
    fn a_square_is_that_of_general_arithmetic() {
        let number = power_of_two(1024) - power_of_two(700) - 12_345u32;
        let modulus = Modulus::new(&limbs(&number));
        let value = power_of_two(1023) + power_of_two(511) + 77u32;
        let square = modulus.square(&digits(&limbs(&value)));
        let square = square.iter().rev().fold(BigUint::default(), |sum, digit| (sum << BITS) + *digit);
        assert_eq!((square << (BITS * DIGITS)) % &number, &value * &value % &number);
    }
}
