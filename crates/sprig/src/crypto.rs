//! Checksums, password hashes and AES.

use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockDecryptMut as _, BlockEncryptMut as _, KeyIvInit as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, Type, Value};
use rand::RngCore as _;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::base::decode_64;
use crate::password::derive_password;
use crate::repeatable::stream;

/// The block size of AES, and of the random IV of every message.
const BLOCK: usize = 16;

/// The cost of bcrypt that Helm uses: 2^10 rounds.
const BCRYPT_COST: u32 = 10;

/// The cost of a hash in engine steps.
const BCRYPT_STEPS: u64 = 1_000_000;

/// The longest password that bcrypt takes into account.
const BCRYPT_LIMIT: usize = 72;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    const ONE: &[Type] = &[Type::Str];
    const TWO: &[Type] = &[Type::Str, Type::Str];
    vec![
        Function::pure("sha1sum", ONE, None, Type::Str, digest::<Sha1>),
        Function::pure("sha256sum", ONE, None, Type::Str, digest::<Sha256>),
        Function::pure("sha512sum", ONE, None, Type::Str, digest::<Sha512>),
        Function::pure("adler32sum", ONE, None, Type::Str, |args| {
            Ok(Value::from(adler2::adler32_slice(args.text(0)).to_string()))
        }),
        Function::metered("bcrypt", ONE, None, Type::Str, |fuel, args| {
            Ok(Value::from(bcrypt_text(fuel, args.text(0))?))
        }),
        Function::metered("htpasswd", TWO, None, Type::Str, |fuel, args| {
            htpasswd(args, |password| bcrypt_text(fuel, password))
        }),
        Function::metered(
            "derivePassword",
            &[Type::Uint32, Type::Str, Type::Str, Type::Str, Type::Str],
            None,
            Type::Str,
            derive_password,
        ),
        Function::pure("encryptAES", TWO, None, Type::Str, |args| {
            encrypt(args, |start| rand::thread_rng().fill_bytes(start))
        }),
        Function::pure("decryptAES", TWO, None, Type::Str, decrypt),
    ]
}

/// The random functions of this family, made deterministic.
pub(crate) fn repeatable() -> Vec<Function> {
    const TWO: &[Type] = &[Type::Str, Type::Str];
    vec![
        Function::pure("bcrypt", &[Type::Str], None, Type::Str, |args| {
            Ok(Value::from(bcrypt_stand_in(args.text(0))))
        }),
        Function::pure("htpasswd", TWO, None, Type::Str, |args| {
            htpasswd(args, |password| Ok(bcrypt_stand_in(password)))
        }),
        Function::pure("encryptAES", TWO, None, Type::Str, |args| {
            encrypt(args, |start| start.copy_from_slice(&stream(args.text(1), BLOCK)))
        }),
    ]
}

/// A string that looks like a bcrypt hash, the same for the same password.
fn bcrypt_stand_in(password: &[u8]) -> String {
    let hash: String = stream(password, 27).iter().take(27).map(|byte| format!("{byte:02x}")).collect();
    format!("$2a$10${}", &hash[..53])
}

fn digest<D: Digest>(args: Args<'_>) -> CallResult {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = D::digest(args.text(0));
    let digit = |nibble: u8| DIGITS[usize::from(nibble)];
    let text: Vec<u8> = digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    Ok(Value::str(text))
}

/// The bcrypt hash of a password with a random salt. A password that is too long gives the error text.
fn bcrypt_text(fuel: &mut Fuel, password: &[u8]) -> Result<String, CallError> {
    if password.len() > BCRYPT_LIMIT {
        let text = "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes";
        return Ok(text.to_owned());
    }
    fuel.spend(BCRYPT_STEPS)?;
    let mut salt = [0; 16];
    rand::thread_rng().fill_bytes(&mut salt);
    let hash = bcrypt::hash_with_salt(password, BCRYPT_COST, salt);
    let hash = hash.map_err(|error| CallError::new(error.to_string()))?;
    Ok(hash.format_for_version(bcrypt::Version::TwoA))
}

/// A line of Apache's password file.
fn htpasswd(args: Args<'_>, hash: impl FnOnce(&[u8]) -> Result<String, CallError>) -> CallResult {
    let user = args.text(0);
    if user.contains(&b':') {
        return Ok(Value::str([b"invalid username: ", user].concat()));
    }
    let hash = hash(args.text(1))?;
    Ok(Value::str([user, b":", hash.as_bytes()].concat()))
}

/// The password truncated or zero-padded to the length of an AES-256 key.
fn aes_key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    let length = password.len().min(32);
    // sprig has no key derivation; a short password is padded with zeros, and what exceeds 32 bytes does not
    // count.
    key[..length].copy_from_slice(&password[..length]);
    key
}

/// Encrypts with AES-256-CBC; the result is the IV and the blocks in base64.
fn encrypt(args: Args<'_>, fill: impl FnOnce(&mut [u8])) -> CallResult {
    let plain = args.text(1);
    if plain.is_empty() {
        return Ok(Value::str(""));
    }
    let padding = BLOCK - plain.len() % BLOCK;
    let mut message = vec![0; BLOCK + plain.len() + padding];
    let (start, body) = message.split_at_mut(BLOCK);
    fill(start);
    body[..plain.len()].copy_from_slice(plain);
    // At most 16, so it fits a byte.
    body[plain.len()..].fill(padding as u8);
    let length = body.len();
    let cipher = cbc::Encryptor::<aes::Aes256>::new(&aes_key(args.text(0)).into(), (&*start).into());
    cipher
        .encrypt_padded_mut::<NoPadding>(body, length)
        .map_err(|_| CallError::new("crypto/cipher: input not full blocks"))?;
    Ok(Value::from(STANDARD.encode(message)))
}

/// Reverses [`encrypt`]. Go does not check what it decrypts, so garbage ends in the texts of its panics.
fn decrypt(args: Args<'_>) -> CallResult {
    let text = args.text(1);
    if text.is_empty() {
        return Ok(Value::str(""));
    }
    let mut message = decode_64(text)
        .map_err(|offset| CallError::new(format!("illegal base64 data at input byte {offset}")))?;
    if message.len() < BLOCK {
        // The text of Go's slicing error depends on the capacity that its decoder allocates.
        let capacity = text.len() / 4 * 3;
        return Err(CallError::new(if capacity < BLOCK {
            format!("runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}")
        } else {
            format!("runtime error: slice bounds out of range [{BLOCK}:{}]", message.len())
        }));
    }
    let (start, body) = message.split_at_mut(BLOCK);
    let cipher = cbc::Decryptor::<aes::Aes256>::new(&aes_key(args.text(0)).into(), (&*start).into());
    let plain = cipher
        .decrypt_padded_mut::<NoPadding>(body)
        .map_err(|_| CallError::new("crypto/cipher: input not full blocks"))?;
    let padding = usize::from(*plain.last().ok_or("runtime error: index out of range [-1]")?);
    match plain.len().checked_sub(padding) {
        Some(length) => Ok(Value::str(&plain[..length])),
        None => {
            let missing = padding - plain.len();
            Err(CallError::new(format!("runtime error: slice bounds out of range [:-{missing}]")))
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::Limits;

    use super::*;

    fn text(result: CallResult) -> String {
        result.unwrap().as_text().map(ToString::to_string).expect("a string")
    }

    #[test]
    fn checksums_are_the_known_ones() {
        let args = &[Value::str("abc")];
        assert_eq!(text(digest::<Sha1>(Args(args))), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert!(text(digest::<Sha256>(Args(args))).starts_with("ba7816bf8f01cfea414140de5dae2223"));
    }

    #[test]
    fn what_was_encrypted_can_be_decrypted() {
        for plain in ["x", "exactly sixteen!", "a longer text that takes several blocks"] {
            let password = Value::str("secret");
            let encrypted =
                encrypt(Args(&[password.clone(), Value::str(plain)]), |start| start.fill(7)).unwrap();
            assert_eq!(text(decrypt(Args(&[password, encrypted]))), plain);
        }
    }

    #[test]
    fn garbage_ends_in_the_texts_of_go() {
        let error = |text: &str| decrypt(Args(&[Value::str("k"), Value::str(text)])).unwrap_err().message;
        assert_eq!(error("abc"), "illegal base64 data at input byte 0");
        assert_eq!(error("AAAA"), "runtime error: slice bounds out of range [:16] with capacity 3");
        assert_eq!(error("AAAAAAAAAAAAAAAAAAAAAA=="), "runtime error: index out of range [-1]");
        assert_eq!(error("AAAAAAAAAAAAAAAAAAAAAAAA"), "crypto/cipher: input not full blocks");
    }

    #[test]
    fn long_passwords_and_bad_users_are_reported_in_the_result() {
        let args = [Value::str("a:b"), Value::str("x")];
        let mut fuel = Fuel::new(Limits { steps: 1, ..Limits::default() });
        assert_eq!(text(htpasswd(Args(&args), |_| unreachable!())), "invalid username: a:b");
        assert!(bcrypt_text(&mut fuel, &[b'x'; 73]).unwrap().ends_with("password length exceeds 72 bytes"));
        assert!(bcrypt_text(&mut fuel, b"x").is_err(), "a hash costs more than a step");
    }
}
