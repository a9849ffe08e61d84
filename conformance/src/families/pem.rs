//! Compares generated keys and certificates by their properties, since the bytes are random.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer as _, X509Extension};
use x509_parser::public_key::PublicKey;

/// Compares the PEM blocks of `text` with the recorded properties.
pub(super) fn check(wanted: &Value, text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let blocks = blocks(&text);
    let mut got = Vec::new();
    let mut certificates = Vec::new();
    for (label, der) in &blocks {
        let facts = match label.as_str() {
            "CERTIFICATE" => match X509Certificate::from_der(der) {
                Ok((_, certificate)) => {
                    let facts = certificate_facts(&certificate);
                    certificates.push(certificate);
                    facts
                }
                Err(error) => return Some(format!("no certificate: {error}")),
            },
            _ => key_facts(label, der),
        };
        got.push(facts);
    }
    if let Some(difference) = compare_blocks(&wanted["blocks"], &got) {
        return Some(difference);
    }
    let signed = wanted.get("second_signed_by_first").and_then(Value::as_bool)?;
    let [first, second, ..] = &certificates[..] else { return Some("two certificates wanted".to_owned()) };
    let got = second.verify_signature(Some(first.public_key())).is_ok();
    (signed != got).then(|| format!("second_signed_by_first: want {signed} got {got}"))
}

fn compare_blocks(wanted: &Value, got: &[Value]) -> Option<String> {
    let wanted = wanted.as_array()?;
    if wanted.len() != got.len() {
        return Some(format!("{} PEM blocks wanted, {} got", wanted.len(), got.len()));
    }
    wanted.iter().zip(got).find_map(|(want, got)| {
        let mut want = want.clone();
        // The size of a subgroup is recorded as an upper bound; `key_facts` gives exactly the bound or less.
        let bound = want["key"]["q_bits_at_most"].as_u64();
        if let (Some(bound), Some(bits)) = (bound, got["key"]["q_bits_at_most"].as_u64())
            && bits <= bound
        {
            want["key"]["q_bits_at_most"] = bits.into();
        }
        (want != *got).then(|| format!("want {want} got {got}"))
    })
}

/// The label and content of each PEM block.
fn blocks(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for part in text.split("-----BEGIN ").skip(1) {
        let Some((label, rest)) = part.split_once("-----") else { continue };
        let body: String = rest.split("-----END").next().unwrap_or_default().split_whitespace().collect();
        found.push((label.to_owned(), BASE64.decode(body).unwrap_or_default()));
    }
    found
}

fn key_facts(label: &str, der: &[u8]) -> Value {
    use rsa::pkcs1::DecodeRsaPrivateKey as _;
    use rsa::traits::PublicKeyParts as _;
    match label {
        "RSA PRIVATE KEY" => match rsa::RsaPrivateKey::from_pkcs1_der(der) {
            Ok(key) => {
                let exponent: u64 = key.e().to_string().parse().unwrap_or_default();
                json!({"pem": label, "key": {"alg": "RSA", "bits": key.size() * 8}, "exponent": exponent})
            }
            Err(error) => json!({"pem": label, "error": error.to_string()}),
        },
        "EC PRIVATE KEY" => match p256::SecretKey::from_sec1_der(der) {
            Ok(_) => json!({"pem": label, "key": {"alg": "ECDSA", "curve": "P-256"}}),
            Err(error) => json!({"pem": label, "error": error.to_string()}),
        },
        // PKCS#8 with the object identifier of Ed25519.
        "PRIVATE KEY" if der.windows(5).any(|window| window == [0x06, 0x03, 0x2b, 0x65, 0x70]) => {
            json!({"pem": label, "key": {"alg": "Ed25519"}})
        }
        "DSA PRIVATE KEY" => {
            let numbers = integer_bits(der);
            json!({"pem": label, "key": {"alg": "DSA", "p_bits": numbers.get(1), "q_bits_at_most": numbers.get(2)}})
        }
        _ => json!({"pem": label}),
    }
}

/// The sizes in bits of the integers of a DER sequence.
fn integer_bits(der: &[u8]) -> Vec<usize> {
    let Some((_, mut rest)) = element(der).map(|(content, _)| ((), content)) else { return Vec::new() };
    let mut bits = Vec::new();
    while let Some((content, after)) = element(rest) {
        let digits = &content[content.iter().take_while(|&&byte| byte == 0).count()..];
        bits.push(digits.len() * 8 - digits.first().map_or(0, |byte| byte.leading_zeros() as usize));
        rest = after;
    }
    bits
}

/// The content of the first DER element, and what follows it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = *der.get(1)?;
    let (length, header) = if first < 0x80 {
        (usize::from(first), 2)
    } else {
        let count = usize::from(first & 0x7f);
        let digits = der.get(2..2 + count)?;
        (digits.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)), 2 + count)
    };
    Some((der.get(header..header + length)?, &der[header + length..]))
}

fn certificate_facts(certificate: &X509Certificate<'_>) -> Value {
    let validity = certificate.validity();
    let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
    let (algorithm, bits) = match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => ("RSA", key.key_size()),
        _ => ("other", 0),
    };
    let mut facts = json!({
        "pem": "CERTIFICATE",
        "version": certificate.version().0 + 1,
        "subject": distinguished_name(certificate.subject()),
        "issuer": distinguished_name(certificate.issuer()),
        "serial_at_most_128_bits": certificate.serial.bits() <= 128,
        "sig_alg": signature_algorithm(certificate),
        "public_key": {"alg": algorithm, "bits": bits},
        "valid_days": seconds / 86_400,
        "is_ca": certificate.is_ca(),
        // Go checks a parent's signature only where the parent may sign.
        "self_signature_ok": certificate.is_ca() && certificate.verify_signature(None).is_ok(),
        "extensions": certificate.extensions().iter().map(|extension| format!("{} critical={}", extension.oid, extension.critical)).collect::<Vec<_>>(),
        "basic_constraints": false, "max_path_len": 0, "subject_key_id": 0, "authority_key_id": 0,
        "key_usage": null, "ext_key_usage": null, "dns": null, "ips": [],
    });
    for extension in certificate.extensions() {
        add_extension(&mut facts, extension);
    }
    facts
}

fn signature_algorithm(certificate: &X509Certificate<'_>) -> &'static str {
    match certificate.signature_algorithm.algorithm.to_id_string().as_str() {
        "1.2.840.113549.1.1.11" => "SHA256-RSA",
        _ => "other",
    }
}

/// The common name with RFC 4514's escapes, as Go prints a name.
fn distinguished_name(name: &x509_parser::x509::X509Name<'_>) -> String {
    let common = name.iter_common_name().next().and_then(|name| name.as_str().ok()).unwrap_or_default();
    let escaped: String =
        common.chars().flat_map(|c| if ",+\"\\<>;".contains(c) { vec!['\\', c] } else { vec![c] }).collect();
    format!("CN={escaped}")
}

fn add_extension(facts: &mut Value, extension: &X509Extension<'_>) {
    match extension.parsed_extension() {
        ParsedExtension::BasicConstraints(constraints) => {
            facts["basic_constraints"] = true.into();
            facts["max_path_len"] = constraints.path_len_constraint.map_or(-1, i64::from).into();
        }
        ParsedExtension::SubjectKeyIdentifier(id) => facts["subject_key_id"] = id.0.len().into(),
        ParsedExtension::AuthorityKeyIdentifier(id) => {
            facts["authority_key_id"] = id.key_identifier.as_ref().map_or(0, |id| id.0.len()).into();
        }
        ParsedExtension::KeyUsage(usage) => {
            let all = [
                ("digitalSignature", usage.digital_signature()),
                ("keyEncipherment", usage.key_encipherment()),
                ("keyCertSign", usage.key_cert_sign()),
            ];
            facts["key_usage"] =
                all.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect::<Vec<_>>().into();
        }
        ParsedExtension::ExtendedKeyUsage(usage) => {
            let all = [("serverAuth", usage.server_auth), ("clientAuth", usage.client_auth)];
            facts["ext_key_usage"] =
                all.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect::<Vec<_>>().into();
        }
        ParsedExtension::SubjectAlternativeName(names) => add_names(facts, &names.general_names),
        _ => {}
    }
}

fn add_names(facts: &mut Value, names: &[GeneralName<'_>]) {
    let mut dns = Vec::new();
    let mut addresses = Vec::new();
    for name in names {
        match name {
            GeneralName::DNSName(name) => dns.push((*name).to_owned()),
            GeneralName::IPAddress([a, b, c, d]) => {
                addresses.push(std::net::Ipv4Addr::new(*a, *b, *c, *d).to_string())
            }
            GeneralName::IPAddress(bytes) => {
                if let Ok(bytes) = <[u8; 16]>::try_from(*bytes) {
                    addresses.push(std::net::Ipv6Addr::from(bytes).to_string());
                }
            }
            _ => {}
        }
    }
    if !dns.is_empty() {
        facts["dns"] = dns.into();
    }
    facts["ips"] = addresses.into();
}
