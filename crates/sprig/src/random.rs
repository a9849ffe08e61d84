//! Random functions. All use a generator seeded by the operating system, so their results may be used as secrets.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_gotmpl::{Args, CallResult, Function, Type, Value};
use rand::seq::SliceRandom as _;
use rand::{Rng as _, RngCore as _};

use crate::text::check_size;

pub(crate) const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(crate) const LETTERS_AND_DIGITS: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(crate) const DIGITS: &[u8] = b"0123456789";

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::pure("randAlpha", &[Type::Int], None, Type::Str, |args| {
            from_set("randAlpha", LETTERS, args)
        }),
        Function::pure("randAlphaNum", &[Type::Int], None, Type::Str, |args| {
            from_set("randAlphaNum", LETTERS_AND_DIGITS, args)
        }),
        Function::pure("randNumeric", &[Type::Int], None, Type::Str, |args| {
            from_set("randNumeric", DIGITS, args)
        }),
        Function::pure("randAscii", &[Type::Int], None, Type::Str, ascii),
        Function::pure("randBytes", &[Type::Int], None, Type::Str, bytes),
        Function::pure("randInt", &[Type::Int, Type::Int], None, Type::Int, int),
        Function::pure("uuidv4", &[], None, Type::Str, uuid),
        Function::metered("shuffle", &[Type::Str], None, Type::Str, |fuel, args| {
            // Every character takes a random number.
            fuel.spend(args.text(0).len() as u64 / 2)?;
            shuffle(args)
        }),
    ]
}

/// A text of as many characters of a set as the argument says; none for a negative number.
fn from_set(function: &str, set: &[u8], args: Args<'_>) -> CallResult {
    let count = usize::try_from(args.int(0)).unwrap_or(0);
    check_size(function, count)?;
    let mut random = rand::thread_rng();
    let text: Vec<u8> = (0..count).map(|_| set[random.gen_range(0..set.len())]).collect();
    Ok(Value::str(text))
}

fn ascii(args: Args<'_>) -> CallResult {
    let count = usize::try_from(args.int(0)).unwrap_or(0);
    check_size("randAscii", count)?;
    let mut random = rand::thread_rng();
    let text: Vec<u8> = (0..count).map(|_| random.gen_range(b' '..=b'~')).collect();
    Ok(Value::str(text))
}

fn bytes(args: Args<'_>) -> CallResult {
    let count = usize::try_from(args.int(0)).map_err(|_| "runtime error: makeslice: len out of range")?;
    check_size("randBytes", count)?;
    let mut bytes = vec![0; count];
    rand::thread_rng().fill_bytes(&mut bytes);
    Ok(Value::str(STANDARD.encode(bytes)))
}

/// A number from the first argument on and below the second.
fn int(args: Args<'_>) -> CallResult {
    let (low, high) = (args.int(0), args.int(1));
    // Go computes the range with wrapping.
    let width = high.wrapping_sub(low);
    if width <= 0 {
        return Err("invalid argument to Intn".into());
    }
    Ok(Value::int(rand::thread_rng().gen_range(0..width).wrapping_add(low)))
}

fn uuid(_: Args<'_>) -> CallResult {
    let mut bytes = [0; 16];
    rand::thread_rng().fill_bytes(&mut bytes);
    // The version and variant bits are fixed.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
    }
    Ok(Value::from(text))
}

/// The characters of a text in another order.
fn shuffle(args: Args<'_>) -> CallResult {
    let text = args.str(0);
    let mut characters: Vec<char> = text.to_str_lossy().chars().collect();
    characters.shuffle(&mut rand::thread_rng());
    Ok(Value::from(characters.into_iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_empty_ranges_are_refused() {
        for _ in 0..100 {
            let Ok(Value::Int(_, number)) = int(Args(&[Value::int(-2), Value::int(1)])) else {
                panic!("no number");
            };
            assert!((-2..1).contains(&number));
        }
        let error = int(Args(&[Value::int(5), Value::int(5)])).unwrap_err();
        assert_eq!(error.message, "invalid argument to Intn");
    }

    #[test]
    fn texts_have_the_requested_length_and_differ() {
        let make = || from_set("randAlphaNum", LETTERS_AND_DIGITS, Args(&[Value::int(40)])).unwrap();
        let (first, second) = (make(), make());
        assert_eq!(first.as_text().map(|text| text.len()), Some(40));
        assert_ne!(first.as_text(), second.as_text());
        assert!(from_set("randAlpha", LETTERS, Args(&[Value::int(i64::MAX)])).is_err());
    }

    #[test]
    fn a_uuid_is_of_version_four() {
        let value = uuid(Args(&[])).unwrap();
        let text = value.as_text().unwrap().to_string();
        assert_eq!((text.len(), &text[14..15]), (36, "4"));
        assert!("89ab".contains(&text[19..20]));
    }
}
