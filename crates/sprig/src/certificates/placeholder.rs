//! Placeholder keys and certificates, for renders that must be reproducible.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_gotmpl::{Args, CallResult, Function, Type, Value, print};
use sha2::{Digest as _, Sha256};

use super::{CERTIFICATE, Certificate};
use crate::base::decode_64;

/// The functions that generate keys and certificates, without randomness and without the work: the results look like
/// PEM and depend on the arguments only.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Int, List, Str};
    const SELF_SIGNED: &[Type] = &[Str, List, List, Int];
    const SIGNED: &[Type] = &[Str, List, List, Int, CERTIFICATE];
    vec![
        Function::pure("genPrivateKey", &[Str], None, Str, |args| Ok(pem("PRIVATE KEY", "key", args))),
        Function::pure("genCA", &[Str, Int], None, CERTIFICATE, certificate),
        Function::pure("genCAWithKey", &[Str, Int, Str], None, CERTIFICATE, certificate),
        Function::pure("genSelfSignedCert", SELF_SIGNED, None, CERTIFICATE, certificate),
        Function::pure(
            "genSelfSignedCertWithKey",
            &[Str, List, List, Int, Str],
            None,
            CERTIFICATE,
            certificate,
        ),
        Function::pure("genSignedCert", SIGNED, None, CERTIFICATE, certificate),
        Function::pure(
            "genSignedCertWithKey",
            &[Str, List, List, Int, CERTIFICATE, Str],
            None,
            CERTIFICATE,
            certificate,
        ),
        Function::pure("buildCustomCert", &[Str, Str], None, CERTIFICATE, custom),
    ]
}

fn certificate(args: Args<'_>) -> CallResult {
    let text = |kind, salt| pem(kind, salt, args).as_text().cloned().unwrap_or_default();
    let (cert, key) = (text("CERTIFICATE", "certificate"), text("RSA PRIVATE KEY", "key"));
    Ok(Value::object(Certificate { cert, key }))
}

/// What the user gave, or a placeholder: neither is parsed.
fn custom(args: Args<'_>) -> CallResult {
    let cert = decode_64(args.text(0)).map_err(|_| "unable to decode base64 certificate")?;
    let key = decode_64(args.text(1)).map_err(|_| "unable to decode base64 private key")?;
    Ok(Value::object(Certificate { cert: cert.into(), key: key.into() }))
}

fn pem(kind: &str, salt: &str, args: Args<'_>) -> Value {
    let mut digest = Sha256::new_with_prefix(salt);
    for argument in args.0 {
        digest.update(print::to_str(argument).as_bytes());
        // So that ("ab", "c") and ("a", "bc") give different results.
        digest.update([0]);
    }
    let body = STANDARD.encode(digest.finalize());
    Value::from(format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"))
}
