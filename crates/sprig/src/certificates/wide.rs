//! Arithmetic modulo odd numbers of exactly 1024 bits: the inner loop of RSA keys of 2048 bits, where nearly all of
//! the time goes. It does what [`super::montgomery`] does for any size, in two thirds of the time.

use rsa::BigUint;

use super::field::{self, Field};

/// The size of the modulus, in limbs of 64 bits.
pub(super) const LIMBS: usize = 16;

/// How many bits a digit has. Products of digits have 122 bits, so that the 34 of a column add up in 128 bits without
/// carry handling; with full limbs every product would need it.
const BITS: usize = 61;

/// How many digits hold 1024 bits, with 13 to spare.
const DIGITS: usize = 17;

/// How many columns a product has.
const COLUMNS: usize = 2 * DIGITS - 1;

const MASK: u64 = (1 << BITS) - 1;

/// How many bits of the exponent are taken at a time when two is raised. Two to the power of their largest value is
/// what numbers grow by between squarings, and must stay within half of the spare bits.
const WINDOW: usize = 2;

/// A number in digits of 61 bits, least significant first. In Montgomery form it is multiplied by `2^(61 * 17)`, the
/// radix.
///
/// It may be more than the modulus: products of numbers up to eight times as large are less than twice the modulus,
/// because of the spare bits, which saves all comparisons on the way.
pub(super) type Digits = [u64; DIGITS];

/// A modulus of 1024 bits.
pub(super) struct Wide {
    limbs: [u64; LIMBS],
    modulus: Digits,
    /// `-1 / modulus` modulo 2^61.
    negative_inverse: u64,
    /// One in Montgomery form.
    one: Digits,
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

impl Wide {
    /// Prepares for a modulus; `None` unless its lowest and highest bits are set.
    pub(super) fn new(limbs: &[u64; LIMBS]) -> Option<Self> {
        if limbs[0] & 1 == 0 || limbs[LIMBS - 1] >> 63 == 0 {
            return None;
        }
        let negative_inverse = field::inverse(limbs[0]).wrapping_neg() & MASK;
        // The radix is 2^1024, which is the modulus and its complement, doubled 13 times.
        let mut one = limbs.map(|limb| !limb);
        one[0] += 1;
        (0..DIGITS * BITS - LIMBS * 64).for_each(|_| double(&mut one, limbs));
        Some(Wide { limbs: *limbs, modulus: digits(limbs), negative_inverse, one: digits(&one) })
    }

    /// Converts a big number to Montgomery form.
    pub(super) fn enter(&self, number: &BigUint) -> Digits {
        let modulus = big(&self.modulus);
        let number = (number << (BITS * DIGITS)) % modulus;
        digits(&field::limbs(&number))
    }

    /// Converts a number in Montgomery form to a big number.
    pub(super) fn leave(&self, number: &Digits) -> BigUint {
        let mut columns = [0; COLUMNS];
        for (column, digit) in columns.iter_mut().zip(number) {
            *column = u128::from(*digit);
        }
        let mut number = self.divide(&columns);
        self.reduce(&mut number);
        big(&number)
    }

    fn multiply(&self, left: &Digits, right: &Digits) -> Digits {
        self.divide(&products(left, right))
    }

    /// Divides the columns of a product by the radix, modulo the modulus.
    fn divide(&self, columns: &[u128; COLUMNS]) -> Digits {
        let modulus = &self.modulus;
        // The multiples of the modulus that clear the lower half, digit by digit.
        let mut factors = [0; DIGITS];
        let mut result = [0; DIGITS];
        let mut sum = 0;
        each_column!(COLUMN in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 => {
            sum += columns[COLUMN];
            for (index, factor) in factors[..COLUMN].iter().enumerate() {
                sum += product(*factor, modulus[COLUMN - index]);
            }
            factors[COLUMN] = (sum as u64).wrapping_mul(self.negative_inverse) & MASK;
            sum += product(factors[COLUMN], modulus[0]);
            sum >>= BITS;
        });
        each_column!(COLUMN in 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 => {
            sum += columns[COLUMN];
            for index in COLUMN - 16..DIGITS {
                sum += product(factors[index], modulus[COLUMN - index]);
            }
            result[COLUMN - DIGITS] = sum as u64 & MASK;
            sum >>= BITS;
        });
        result[DIGITS - 1] = sum as u64;
        result
    }

    /// Brings a number below the modulus, of which it is a small multiple.
    fn reduce(&self, number: &mut Digits) {
        while number.iter().rev().cmp(self.modulus.iter().rev()).is_ge() {
            subtract(number, &self.modulus);
        }
    }

    fn is(&self, number: &Digits, other: &Digits) -> bool {
        // Numbers may stay above the modulus between steps, so one value has several forms.
        let mut number = *number;
        self.reduce(&mut number);
        number == *other
    }

    /// A number in Montgomery form to the power of `exponent`, four bits at a time.
    pub(super) fn raise(&self, base: &Digits, exponent: &[u64; LIMBS]) -> Digits {
        let mut table = [self.one; 16];
        for index in 1..16 {
            table[index] = self.multiply(&table[index - 1], base);
        }
        let mut power = self.one;
        for nibble in (0..16 * LIMBS).rev() {
            for _ in 0..4 {
                power = self.square(&power);
            }
            let digit = exponent[nibble / 16] >> (nibble % 16 * 4) & 15;
            // The time depends on the secret exponent; decision record 0018 says why that is acceptable here.
            if digit != 0 {
                power = self.multiply(&power, &table[digit as usize]);
            }
        }
        power
    }
}

impl Field<LIMBS> for Wide {
    type Number = Digits;

    fn square(&self, number: &Digits) -> Digits {
        self.divide(&squares(number))
    }

    fn power_of_two(&self, exponent: &[u64; LIMBS]) -> Digits {
        let mut power = self.one;
        for position in (0..64 * LIMBS / WINDOW).rev() {
            for _ in 0..WINDOW {
                power = self.square(&power);
            }
            let bit = position * WINDOW;
            shift_left(&mut power, exponent[bit / 64] >> (bit % 64) & ((1 << WINDOW) - 1));
        }
        power
    }

    fn power(&self, base: &[u64; LIMBS], exponent: &[u64; LIMBS]) -> Digits {
        self.raise(&digits(base), exponent)
    }

    fn is_zero(&self, base: &[u64; LIMBS]) -> bool {
        *base == [0; LIMBS] || *base == self.limbs
    }

    fn is_one(&self, number: &Digits) -> bool {
        self.is(number, &self.one)
    }

    fn is_minus_one(&self, number: &Digits) -> bool {
        let mut minus_one = self.modulus;
        subtract(&mut minus_one, &self.one);
        self.is(number, &minus_one)
    }
}

/// The columns of the square of a number.
fn squares(number: &Digits) -> [u128; COLUMNS] {
    let doubled = number.map(|digit| digit << 1);
    let mut columns = [0; COLUMNS];
    each_column!(COLUMN in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 => {
        if COLUMN.is_multiple_of(2) {
            columns[COLUMN] = product(number[COLUMN / 2], number[COLUMN / 2]);
        }
        for index in COLUMN.saturating_sub(16)..COLUMN.div_ceil(2) {
            columns[COLUMN] += product(doubled[index], number[COLUMN - index]);
        }
    });
    columns
}

/// The columns of the product of two numbers.
fn products(left: &Digits, right: &Digits) -> [u128; COLUMNS] {
    let mut columns = [0; COLUMNS];
    for (index, digit) in left.iter().enumerate() {
        for (column, other) in columns[index..].iter_mut().zip(right) {
            *column += product(*digit, *other);
        }
    }
    columns
}

#[inline(always)]
fn product(left: u64, right: u64) -> u128 {
    u128::from(left) * u128::from(right)
}

fn subtract(number: &mut Digits, other: &Digits) {
    let mut borrow = 0;
    for (digit, other) in number.iter_mut().zip(other) {
        let difference = digit.wrapping_sub(other + borrow);
        *digit = difference & MASK;
        borrow = difference >> 63;
    }
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

/// Converts digits to a big number.
fn big(number: &Digits) -> BigUint {
    number.iter().rev().fold(BigUint::default(), |sum, digit| (sum << BITS) + *digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power_of_two(exponent: usize) -> BigUint {
        BigUint::from(1u32) << exponent
    }

    fn wide(modulus: &BigUint) -> Wide {
        Wide::new(&field::limbs(modulus)).expect("an odd number of 1024 bits")
    }

    /// Fermat's theorem with base two.
    fn holds_for(number: &BigUint) -> bool {
        let field = wide(number);
        field.is_one(&field.power_of_two(&field::limbs(&(number - 1u32))))
    }

    #[test]
    fn fermats_theorem_holds_for_the_largest_and_the_smallest_prime() {
        let largest = power_of_two(1024) - 105u32;
        assert!(holds_for(&largest));
        assert!(holds_for(&(power_of_two(1023) + 1155u32)));
        for distance in [1u32, 3, 101, 103, 107, 109] {
            assert!(!holds_for(&(power_of_two(1024) - distance)), "{distance}");
        }
        let field = wide(&largest);
        let half = field::limbs(&((&largest - 1u32) >> 1));
        // 2^1024 - 105 is 7 modulo 8, so that two is a square; minus one is none then.
        assert!(field.is_one(&field.power_of_two(&half)));
        let minus_two = field.enter(&(&largest - 2u32));
        assert!(field.is_minus_one(&field.raise(&minus_two, &half)));
    }

    #[test]
    fn fermats_theorem_holds_for_a_carmichael_number() {
        // The product of 6k + 1, 12k + 1 and 18k + 1 when all three are prime.
        let k = (BigUint::from(0x35_c1b2_9979_u64) << 300) + 72_953u32;
        let number: BigUint = [6u32, 12, 18].iter().map(|factor| &k * *factor + 1u32).product();
        assert_eq!(number.bits(), 1024);
        assert!(holds_for(&number));
        assert!(!super::super::prime::is_probably_prime::<LIMBS>(&field::limbs(&number)).unwrap());
    }

    #[test]
    fn powers_are_those_of_general_arithmetic() {
        let modulus = power_of_two(1024) - power_of_two(700) - 12_345u32;
        let field = wide(&modulus);
        for base in [power_of_two(1023) + 77u32, &modulus - 1u32, BigUint::from(3u32)] {
            let exponent = power_of_two(1024) - power_of_two(333) - 1u32;
            let power = field.raise(&field.enter(&base), &field::limbs(&exponent));
            assert_eq!(field.leave(&power), base.modpow(&exponent, &modulus));
        }
    }

    #[test]
    fn other_moduli_are_refused() {
        assert!(Wide::new(&field::limbs(&power_of_two(1023))).is_none());
        assert!(Wide::new(&field::limbs(&(power_of_two(1023) - 1u32))).is_none());
    }
}
