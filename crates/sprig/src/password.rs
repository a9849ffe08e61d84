//! `derivePassword`: the Master Password algorithm, which derives a site's password from a secret instead of storing
//! it.

use hmac::{Hmac, Mac as _};
use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Value};
use scrypt::Params;
use sha2::Sha256;

/// What every seed begins with.
const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The cost of a password in engine steps: scrypt is slow by design.
const STEPS: u64 = 4_000_000;

/// The templates of each password type: one letter per character class.
fn shapes(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

/// The characters of a class.
const fn class(letter: u8) -> &'static [u8] {
    match letter {
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// `derivePassword COUNTER TYPE PASSWORD USER SITE`. As in Helm, an unknown type is reported in the result.
pub(crate) fn derive_password(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let (kind, password, user, site) = (args.text(1), args.text(2), args.text(3), args.text(4));
    let Some(shapes) = shapes(kind) else {
        return Ok(Value::str([b"cannot find password template ", kind].concat()));
    };
    fuel.spend(STEPS)?;
    let salt = [SEED, &length(user), user].concat();
    let mut key = [0; 64];
    let failed = |_| CallError::new("failed to derive password: scrypt: parameters are too large");
    let parameters =
        // The parameters of Master Password version 3: N is 2^15, r is 8 and p is 2.
        Params::new(15, 8, 2, key.len()).map_err(|_| CallError::new("scrypt: bad parameters"))?;
    scrypt::scrypt(password, &salt, &parameters, &mut key).map_err(failed)?;

    // The counter is an uint32, so the cast keeps it whole.
    let counter = (args.int(0) as u32).to_be_bytes();
    let mut hash = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes keys of any length");
    for part in [SEED, &length(site), site, &counter] {
        hash.update(part);
    }
    let seed = hash.finalize().into_bytes();
    let (first, rest) = seed.split_first().expect("a digest is not empty");
    let shape = shapes[usize::from(*first) % shapes.len()];
    let character = |(letter, seed): (u8, &u8)| {
        let class = class(letter);
        class[usize::from(*seed) % class.len()]
    };
    Ok(Value::str(shape.bytes().zip(rest).map(character).collect::<Vec<u8>>()))
}

/// A length as four bytes.
fn length(text: &[u8]) -> [u8; 4] {
    (text.len() as u32).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::Limits;

    use super::*;

    #[test]
    fn a_known_password_is_derived() {
        let texts = ["long", "password", "user", "example.com"].map(Value::from);
        let args = [&[Value::int(1)], &texts[..]].concat();
        let password = derive_password(&mut Fuel::new(Limits::default()), Args(&args)).unwrap();
        assert_eq!(password.as_text().map(ToString::to_string).as_deref(), Some("ZedaFaxcZaso9*"));
    }
}
