//! Private keys and certificates that charts make for themselves.

mod der;
mod field;
mod generate;
mod key_reader;
mod keys;
mod montgomery;
mod pem;
pub(crate) mod placeholder;
mod prime;
mod rsa_signature;
pub(crate) mod server;
mod small_primes;
mod wide;
mod x509;

use std::any::Any;
use std::fmt;
use std::net::IpAddr;

use pintle_gotmpl::{Args, CallError, CallResult, Encoded, Fuel, Function, List, Object, Type, Value, print};
use pintle_time::{Duration, GoTime, Zone};
use pintle_tree::Str;
use rand::RngCore as _;
use rand::rngs::OsRng;

use crate::base::decode_64;
use keys::PrivateKey;
use x509::{Issuer, Request};

const CERTIFICATE: Type = Type::Object("sprig.certificate");

/// What making a key costs in steps of the engine, by the time it takes: 2048 bits of RSA.
const RSA_2048_STEPS: u64 = 1_000_000;

/// The same for RSA with 4096 bits.
const RSA_4096_STEPS: u64 = 6_000_000;

/// The same for DSA.
const DSA_STEPS: u64 = 8_000_000;

/// The same for a signature or a short key.
const SIGNATURE_STEPS: u64 = 50_000;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Int, List, Str};
    vec![
        Function::metered("genPrivateKey", &[Str], None, Str, private_key),
        Function::metered("genCA", &[Str, Int], None, CERTIFICATE, |fuel, args| authority(fuel, args, None)),
        Function::metered("genCAWithKey", &[Str, Int, Str], None, CERTIFICATE, |fuel, args| {
            authority(fuel, args, Some(2))
        }),
        Function::metered("genSelfSignedCert", &[Str, List, List, Int], None, CERTIFICATE, |fuel, args| {
            self_signed(fuel, args, None)
        }),
        Function::metered(
            "genSelfSignedCertWithKey",
            &[Str, List, List, Int, Str],
            None,
            CERTIFICATE,
            |fuel, args| self_signed(fuel, args, Some(4)),
        ),
        Function::metered(
            "genSignedCert",
            &[Str, List, List, Int, CERTIFICATE],
            None,
            CERTIFICATE,
            |fuel, args| signed(fuel, args, None),
        ),
        Function::metered(
            "genSignedCertWithKey",
            &[Str, List, List, Int, CERTIFICATE, Str],
            None,
            CERTIFICATE,
            |fuel, args| signed(fuel, args, Some(5)),
        ),
        Function::metered("buildCustomCert", &[Str, Str], None, CERTIFICATE, custom),
    ]
}

/// A certificate and its private key, both as PEM.
struct Certificate {
    cert: Str,
    key: Str,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is a secret.
        formatter.debug_struct("Certificate").field("cert", &self.cert).finish_non_exhaustive()
    }
}

impl Object for Certificate {
    fn type_name(&self) -> &'static str {
        CERTIFICATE.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Cert" => Some(Value::Str(self.cert.clone())),
            "Key" => Some(Value::Str(self.key.clone())),
            _ => None,
        }
    }

    fn print(&self) -> String {
        format!("{{{} {}}}", self.cert, self.key)
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(vec![("Cert", Value::Str(self.cert.clone())), ("Key", Value::Str(self.key.clone()))])
    }
}

/// A new private key. An unknown type is told in the result, as Helm does.
fn private_key(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    fuel.spend(match args.text(0) {
        b"" | b"rsa" => RSA_4096_STEPS,
        b"dsa" => DSA_STEPS,
        _ => SIGNATURE_STEPS,
    })?;
    let key = match args.text(0) {
        b"" | b"rsa" => generate::rsa_key::<32>(),
        b"dsa" => generate::dsa_key().map_err(|error| error.to_string()),
        b"ecdsa" => Ok(generate::elliptic_key()),
        b"ed25519" => Ok(generate::edwards_key()),
        other => return Ok(Value::str([b"Unknown type ", other].concat())),
    };
    Ok(Value::from(match key.and_then(|key| key.to_pem()) {
        Ok(text) => text,
        Err(error) => format!("failed to generate private key: {error}"),
    }))
}

fn authority(fuel: &mut Fuel, args: Args<'_>, key: Option<usize>) -> CallResult {
    let key = given_key(args, key)?;
    let mut request = request(args.text(0), None, None, args.int(1))?;
    request.is_authority = true;
    issue(fuel, &request, key, None)
}

fn self_signed(fuel: &mut Fuel, args: Args<'_>, key: Option<usize>) -> CallResult {
    let key = given_key(args, key)?;
    let request = request(args.text(0), args.list(1), args.list(2), args.int(3))?;
    issue(fuel, &request, key, None)
}

fn signed(fuel: &mut Fuel, args: Args<'_>, key: Option<usize>) -> CallResult {
    let key = given_key(args, key)?;
    let signer = args.any(4).downcast::<Certificate>().ok_or("unable to decode certificate")?;
    let block = pem::decode(signer.cert.as_bytes()).ok_or("unable to decode certificate")?;
    let issuer = x509::read(&block.bytes)
        .map_err(|error| format!("error parsing certificate: decodedSignerCert.Bytes: {error}"))?;
    let signer_key = key_reader::read(signer.key.as_bytes())
        .map_err(|error| format!("error parsing private key: {error}"))?;
    let request = request(args.text(0), args.list(1), args.list(2), args.int(3))?;
    issue(fuel, &request, key, Some((&issuer, &signer_key)))
}

/// Wraps a certificate and a key that the user has, after a look at both.
fn custom(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    fuel.spend(SIGNATURE_STEPS)?;
    let cert = decode_64(args.text(0)).map_err(|_| "unable to decode base64 certificate")?;
    let key = decode_64(args.text(1)).map_err(|_| "unable to decode base64 private key")?;
    let block = pem::decode(&cert).ok_or("unable to decode certificate")?;
    x509::read(&block.bytes)
        .map_err(|error| format!("error parsing certificate: decodedCert.Bytes: {error}"))?;
    key_reader::read(&key).map_err(|error| format!("error parsing private key: {error}"))?;
    Ok(Value::object(Certificate { cert: cert.into(), key: key.into() }))
}

/// The private key that the user gave as PEM in the argument `index`.
fn given_key(args: Args<'_>, index: Option<usize>) -> Result<Option<PrivateKey>, CallError> {
    let Some(index) = index else { return Ok(None) };
    let key = key_reader::read(args.text(index)).map_err(|error| format!("parsing private key: {error}"))?;
    Ok(Some(key))
}

fn request<'a>(
    common_name: &'a [u8],
    addresses: Option<&'a List>,
    names: Option<&'a List>,
    days: i64,
) -> Result<Request<'a>, CallError> {
    let addresses = addresses.map(List::items).unwrap_or_default();
    let addresses = addresses.iter().map(address).collect::<Result<_, _>>()?;
    let names = names.map(List::items).unwrap_or_default();
    let names = names.iter().map(name).collect::<Result<_, _>>()?;
    let serial = serial()?;
    let (not_before, not_after) = validity(days);
    Ok(Request { common_name, addresses, names, not_before, not_after, serial, is_authority: false })
}

/// A random serial number.
fn serial() -> Result<[u8; 16], String> {
    let mut serial = [0; 16];
    OsRng.try_fill_bytes(&mut serial).map_err(|error| error.to_string())?;
    Ok(serial)
}

/// From now on, for so many days: both times as certificates have them.
fn validity(days: i64) -> (Vec<u8>, Vec<u8>) {
    let now = GoTime::now(Zone::utc());
    // A span that is too long wraps around, as it does in Go.
    let span = Duration(days.wrapping_mul(24 * 3600 * 1_000_000_000));
    let time = |time: &GoTime| x509::time(&time.format("20060102150405Z"));
    (time(&now), time(&now.add(span)))
}

fn address(value: &Value) -> Result<IpAddr, CallError> {
    let Some(text) = value.as_text() else {
        return Err(format!("error parsing ip: {} is not a string", print::to_str(value)).into());
    };
    let address = text.as_str().and_then(|text| text.parse().ok());
    address.ok_or_else(|| format!("error parsing ip: {text}").into())
}

fn name(value: &Value) -> Result<&[u8], CallError> {
    match value.as_text() {
        Some(text) => Ok(text.as_bytes()),
        None => {
            let text = print::to_str(value);
            Err(format!("error processing alternate dns name: {text} is not a string").into())
        }
    }
}

/// Makes the certificate, and a key for it when none is given.
fn issue(
    fuel: &mut Fuel,
    request: &Request<'_>,
    key: Option<PrivateKey>,
    issuer: Option<(&Issuer, &PrivateKey)>,
) -> CallResult {
    fuel.spend(if key.is_some() { SIGNATURE_STEPS } else { RSA_2048_STEPS })?;
    let key = match key {
        Some(key) => key,
        None => generate::rsa_key::<16>().map_err(|error| format!("error generating rsa key: {error}"))?,
    };
    let certificate = x509::create(request, &key, issuer)
        .map_err(|error| format!("error creating certificate: {error}"))?;
    let key = key.to_pem().map_err(|error| format!("error pem-encoding key: {error}"))?;
    let cert = pem::encode("CERTIFICATE", &certificate);
    Ok(Value::object(Certificate { cert: cert.into(), key: key.into() }))
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::Limits;

    use super::*;

    fn fuel() -> Fuel {
        Fuel::new(Limits::default())
    }

    fn field(value: &Value, name: &str) -> Value {
        let Value::Object(object) = value else { panic!("no object") };
        object.field(name).expect("a field of a certificate")
    }

    fn key(kind: &str) -> Value {
        private_key(&mut fuel(), Args(&[Value::str(kind)])).unwrap()
    }

    #[test]
    fn an_authority_signs_with_every_kind_of_key() {
        for kind in ["ecdsa", "ed25519"] {
            let ca =
                authority(&mut fuel(), Args(&[Value::str("ca"), Value::int(1), key(kind)]), Some(2)).unwrap();
            let names = Value::list(vec![Value::str("a.example")]);
            let addresses = Value::list(vec![Value::str("10.0.0.1"), Value::str("::1")]);
            let args = [Value::str("leaf"), addresses, names, Value::int(1), ca, key("ecdsa")];
            let leaf = signed(&mut fuel(), Args(&args), Some(5)).unwrap();
            let encode = |name| Value::from(base64_of(&field(&leaf, name)));
            let wrapped = custom(&mut fuel(), Args(&[encode("Cert"), encode("Key")])).unwrap();
            assert_eq!(field(&wrapped, "Cert").as_text(), field(&leaf, "Cert").as_text());
        }
    }

    fn base64_of(value: &Value) -> String {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(value.as_text().expect("a string"))
    }

    #[test]
    fn what_cannot_sign_or_be_named_is_refused() {
        let message = |result: CallResult| result.unwrap_err().message;
        let args = [Value::str("x"), Value::int(1), key("dsa")];
        let text =
            "error creating certificate: x509: certificate private key does not implement crypto.Signer";
        assert_eq!(message(authority(&mut fuel(), Args(&args), Some(2))), text);
        let bad = Value::list(vec![Value::str("bad")]);
        let args = [Value::str("x"), bad, Value::Nil, Value::int(1)];
        assert_eq!(message(self_signed(&mut fuel(), Args(&args), None)), "error parsing ip: bad");
        let args = [Value::str("x"), Value::Nil, Value::list(vec![Value::int(5)]), Value::int(1)];
        let text = "error processing alternate dns name: 5 is not a string";
        assert_eq!(message(self_signed(&mut fuel(), Args(&args), None)), text);
        let args =
            [Value::str("x"), Value::Nil, Value::list(vec![Value::str("é")]), Value::int(1), key("ecdsa")];
        let text = "error creating certificate: x509: \"é\" cannot be encoded as an IA5String";
        assert_eq!(message(self_signed(&mut fuel(), Args(&args), Some(4))), text);
    }

    #[test]
    fn a_signer_whose_key_is_another_is_refused() {
        let authority = |name| {
            authority(&mut fuel(), Args(&[Value::str(name), Value::int(1), key("ecdsa")]), Some(2)).unwrap()
        };
        let text = |value: &Value, name| field(value, name).as_text().cloned().expect("a string");
        let (one, two) = (authority("one"), authority("two"));
        let mixed = Value::object(Certificate { cert: text(&one, "Cert"), key: text(&two, "Key") });
        let args = [Value::str("leaf"), Value::Nil, Value::Nil, Value::int(1), mixed, key("ecdsa")];
        let message = signed(&mut fuel(), Args(&args), Some(5)).unwrap_err().message;
        assert_eq!(
            message,
            "error creating certificate: x509: provided PrivateKey doesn't match parent's PublicKey"
        );
    }
}
