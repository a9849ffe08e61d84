//! Deterministic versions of random and clock functions, for comparing renders: the results depend on the arguments
//! only.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_gotmpl::{Args, CallResult, Function, Type, Value};
use sha2::{Digest as _, Sha256};

use crate::random::{DIGITS, LETTERS, LETTERS_AND_DIGITS};
use crate::text::check_size;
use crate::{certificates, crypto, dates};

/// The functions to add over those of [`crate::functions`].
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Int, Str};
    let mut functions = vec![
        Function::pure("randAlpha", &[Int], None, Str, |args| from_set("randAlpha", LETTERS, args)),
        Function::pure("randAlphaNum", &[Int], None, Str, |args| {
            from_set("randAlphaNum", LETTERS_AND_DIGITS, args)
        }),
        Function::pure("randNumeric", &[Int], None, Str, |args| from_set("randNumeric", DIGITS, args)),
        Function::pure("randAscii", &[Int], None, Str, |args| from_set("randAscii", LETTERS, args)),
        Function::pure("randBytes", &[Int], None, Str, bytes),
        Function::pure("randInt", &[Int, Int], None, Int, int),
        // Any fixed one; nothing in it has a meaning.
        Function::pure("uuidv4", &[], None, Str, |_| Ok(Value::from("8d3fbf39-2f6c-4a0e-9d3c-5f0d6a6b7c81"))),
        Function::pure("shuffle", &[Str], None, Str, |args| Ok(Value::Str(args.str(0)))),
    ];
    functions.extend(certificates::placeholder::functions());
    functions.extend(crypto::repeatable());
    functions.extend(dates::repeatable());
    functions
}

/// The requested number of bytes, the same for the same seed.
pub(crate) fn stream(seed: &[u8], count: usize) -> Vec<u8> {
    let blocks = (0_u64..).map(|index| {
        let digest = Sha256::new_with_prefix(seed).chain_update(index.to_be_bytes());
        <[u8; 32]>::from(digest.finalize())
    });
    blocks.flatten().take(count).collect()
}

fn from_set(function: &str, set: &[u8], args: Args<'_>) -> CallResult {
    let count = usize::try_from(args.int(0)).unwrap_or(0);
    check_size(function, count)?;
    let bytes = stream(function.as_bytes(), count);
    // Slightly biased, which does not matter: these are placeholders and never secrets.
    Ok(Value::str(bytes.into_iter().map(|byte| set[usize::from(byte) % set.len()]).collect::<Vec<u8>>()))
}

fn bytes(args: Args<'_>) -> CallResult {
    let count = usize::try_from(args.int(0)).map_err(|_| "runtime error: makeslice: len out of range")?;
    check_size("randBytes", count)?;
    Ok(Value::str(STANDARD.encode(stream(b"randBytes", count))))
}

fn int(args: Args<'_>) -> CallResult {
    let (low, high) = (args.int(0), args.int(1));
    if high.wrapping_sub(low) <= 0 {
        return Err("invalid argument to Intn".into());
    }
    Ok(Value::int(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repeatable_function_has_the_signature_of_its_original_and_repeats_itself() {
        let known: Vec<Function> = crate::functions().into_iter().collect();
        for function in functions() {
            let original = known.iter().find(|known| known.name == function.name).expect(function.name);
            assert_eq!(
                (original.params, original.variadic, original.result),
                (function.params, function.variadic, function.result),
                "{}",
                function.name
            );
        }
        let alpha = || from_set("randAlphaNum", LETTERS_AND_DIGITS, Args(&[Value::int(40)])).unwrap();
        assert_eq!(alpha().as_text(), alpha().as_text());
        assert_eq!(alpha().as_text().map(|text| text.len()), Some(40));
    }
}
