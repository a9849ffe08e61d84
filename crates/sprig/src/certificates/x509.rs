//! Writes certificates as Go's `crypto/x509` does for Helm, and parses the signer's certificate.

use std::net::IpAddr;

use pintle_tree::quote::quote;
use sha2::{Digest as _, Sha256};

use super::der::{self, Reader, bit_string, element, object_identifier, sequence, unsigned};
use super::keys::{PrivateKey, PublicKey};

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const SERVER_AUTHENTICATION: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTHENTICATION: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

/// The last arc of the identifiers of extensions, which all begin with 2.5.29.
mod extension_id {
    pub(super) const SUBJECT_KEY: u8 = 14;
    pub(super) const KEY_USAGE: u8 = 15;
    pub(super) const ALTERNATIVE_NAMES: u8 = 17;
    pub(super) const BASIC_CONSTRAINTS: u8 = 19;
    pub(super) const AUTHORITY_KEY: u8 = 35;
    pub(super) const EXTENDED_KEY_USAGE: u8 = 37;
}

/// The content of a new certificate.
pub(super) struct Request<'a> {
    pub(super) common_name: &'a [u8],
    pub(super) addresses: Vec<IpAddr>,
    pub(super) names: Vec<&'a [u8]>,
    /// Encoded times.
    pub(super) not_before: Vec<u8>,
    pub(super) not_after: Vec<u8>,
    pub(super) serial: [u8; 16],
    pub(super) is_authority: bool,
}

/// The signer: facts from its certificate.
pub(super) struct Issuer {
    /// The encoded subject.
    subject: Vec<u8>,
    /// The subject key identifier; empty when there is none.
    key_identifier: Vec<u8>,
    /// The content of the bit string of the public key.
    public_key: Vec<u8>,
}

/// Creates a certificate for `key`, signed by `issuer` with its key, or self-signed without one.
pub(super) fn create(
    request: &Request<'_>,
    key: &PrivateKey,
    issuer: Option<(&Issuer, &PrivateKey)>,
) -> Result<Vec<u8>, String> {
    let signer = issuer.map_or(key, |(_, signer)| signer);
    let algorithm = signer.signature_algorithm()?;
    let public = key.public()?;
    let subject = common_name(request.common_name)?;
    let issuer_subject = issuer.map_or(&subject, |(issuer, _)| &issuer.subject);
    let authority_key = match issuer {
        // A certificate with the subject of its issuer counts as self-signed, and Go then writes no authority
        // key identifier.
        Some((issuer, _)) if issuer.subject != subject => issuer.key_identifier.as_slice(),
        _ => &[],
    };
    if let Some((issuer, signer)) = issuer
        && signer.public()?.bits != issuer.public_key
    {
        return Err("x509: provided PrivateKey doesn't match parent's PublicKey".to_owned());
    }
    let extensions = extensions(request, &public, authority_key)?;
    let body = sequence(&[
        &element(der::context(0), &[&unsigned(&[2])]),
        &unsigned(&request.serial),
        &algorithm,
        issuer_subject,
        &sequence(&[&request.not_before, &request.not_after]),
        &subject,
        &sequence(&[&public.algorithm, &bit_string(&public.bits)]),
        &element(der::context(3), &[&extensions]),
    ]);
    let signature = signer.sign(&body)?;
    Ok(sequence(&[&body, &algorithm, &bit_string(&signature)]))
}

/// Encodes a time from its 14 digits and `Z`: with a two-digit year where that is unambiguous (UTCTime).
pub(super) fn time(text: &str) -> Vec<u8> {
    let short = text.get(..4).is_some_and(|year| ("1950".."2050").contains(&year));
    if short {
        element(der::UTC_TIME, &[&text.as_bytes()[2..]])
    } else {
        element(der::GENERALIZED_TIME, &[text.as_bytes()])
    }
}

fn common_name(name: &[u8]) -> Result<Vec<u8>, String> {
    if name.is_empty() {
        return Ok(sequence(&[]));
    }
    let printable = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(byte);
    let tag = if name.iter().all(printable) {
        der::PRINTABLE_STRING
    } else if std::str::from_utf8(name).is_ok() {
        der::UTF8_STRING
    } else {
        return Err("asn1: string not valid UTF-8".to_owned());
    };
    let attribute = sequence(&[&object_identifier(COMMON_NAME), &element(tag, &[name])]);
    Ok(sequence(&[&element(der::SET, &[&attribute])]))
}

/// The extensions in the order in which Go writes them.
fn extensions(request: &Request<'_>, public: &PublicKey, authority_key: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    // Digital signature, key encipherment and, for an authority, certificate signing; trailing zero bits are counted.
    let usage: &[u8] = if request.is_authority { &[2, 0xa4] } else { &[5, 0xa0] };
    out.push(extension(extension_id::KEY_USAGE, true, &element(der::BIT_STRING, &[usage])));
    let purposes = [SERVER_AUTHENTICATION, CLIENT_AUTHENTICATION].map(object_identifier);
    let purposes = sequence(&[&purposes[0], &purposes[1]]);
    out.push(extension(extension_id::EXTENDED_KEY_USAGE, false, &purposes));
    let authority: &[u8] = if request.is_authority { &[der::BOOLEAN, 1, 0xff] } else { &[] };
    out.push(extension(extension_id::BASIC_CONSTRAINTS, true, &sequence(&[authority])));
    if request.is_authority {
        let digest = Sha256::digest(&public.bits);
        let identifier = element(der::OCTET_STRING, &[&digest[..20]]);
        out.push(extension(extension_id::SUBJECT_KEY, false, &identifier));
    }
    if !authority_key.is_empty() {
        let identifier = sequence(&[&element(der::implicit(0), &[authority_key])]);
        out.push(extension(extension_id::AUTHORITY_KEY, false, &identifier));
    }
    if !request.names.is_empty() || !request.addresses.is_empty() {
        // RFC 5280: without a subject, the alternative names are the identity.
        let critical = request.common_name.is_empty();
        out.push(extension(extension_id::ALTERNATIVE_NAMES, critical, &alternative_names(request)?));
    }
    let parts: Vec<&[u8]> = out.iter().map(Vec::as_slice).collect();
    Ok(sequence(&parts))
}

fn extension(id: u8, critical: bool, value: &[u8]) -> Vec<u8> {
    let flag: &[u8] = if critical { &[der::BOOLEAN, 1, 0xff] } else { &[] };
    sequence(&[&object_identifier(&[0x55, 0x1d, id]), flag, &element(der::OCTET_STRING, &[value])])
}

fn alternative_names(request: &Request<'_>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    for name in &request.names {
        if !name.is_ascii() {
            return Err(format!("x509: {} cannot be encoded as an IA5String", quote(name)));
        }
        out.extend(element(der::implicit(2), &[name]));
    }
    for address in &request.addresses {
        // Go shortens an IPv4 address that is mapped to IPv6 (`ip.To4()`).
        out.extend(match address.to_canonical() {
            IpAddr::V4(address) => element(der::implicit(7), &[&address.octets()]),
            IpAddr::V6(address) => element(der::implicit(7), &[&address.octets()]),
        });
    }
    Ok(sequence(&[&out]))
}

/// Reads a certificate.
pub(super) fn read(bytes: &[u8]) -> Result<Issuer, &'static str> {
    let mut whole = Reader::new(bytes);
    let mut certificate = whole.sequence().ok_or("x509: malformed certificate")?;
    if !whole.is_empty() {
        return Err("x509: trailing data");
    }
    let mut body = certificate.sequence().ok_or("x509: malformed tbs certificate")?;
    let version = read_version(&mut body)?;
    let serial = body.integer().ok_or("x509: malformed serial number")?;
    if serial[0] & 0x80 != 0 {
        return Err("x509: negative serial number");
    }
    let inner = body.take(der::SEQUENCE).ok_or("x509: malformed signature algorithm identifier")?;
    let outer = certificate.take(der::SEQUENCE).ok_or("x509: malformed algorithm identifier")?;
    if inner.content != outer.content {
        return Err("x509: inner and outer signature algorithm identifiers don't match");
    }
    Reader::new(inner.content).take(der::OBJECT_IDENTIFIER).ok_or("x509: malformed OID")?;
    body.take(der::SEQUENCE).ok_or("x509: malformed issuer")?;
    body.take(der::SEQUENCE).ok_or("x509: malformed validity")?;
    let subject = body.take(der::SEQUENCE).ok_or("x509: malformed issuer")?;
    let mut key = body.sequence().ok_or("x509: malformed spki")?;
    key.sequence().ok_or("x509: malformed public key algorithm identifier")?;
    let public_key = key.bit_string().ok_or("x509: malformed subjectPublicKey")?;
    let key_identifier = if version == 3 { read_key_identifier(&mut body)? } else { Vec::new() };
    certificate.bit_string().ok_or("x509: malformed signature")?;
    Ok(Issuer { subject: subject.whole.to_vec(), key_identifier, public_key: public_key.to_vec() })
}

fn read_version(body: &mut Reader<'_>) -> Result<u8, &'static str> {
    let malformed = "x509: malformed version";
    let Some(element) = body.optional(der::context(0)).ok_or(malformed)? else {
        return Ok(1);
    };
    match Reader::new(element.content).integer().ok_or(malformed)? {
        [version @ 0..=2] => Ok(version + 1),
        [first, ..] if first & 0x80 != 0 => Err(malformed),
        _ => Err("x509: invalid version"),
    }
}

/// Finds the subject key identifier among the extensions.
fn read_key_identifier(body: &mut Reader<'_>) -> Result<Vec<u8>, &'static str> {
    body.optional(der::implicit(1)).ok_or("x509: malformed issuerUniqueID")?;
    body.optional(der::implicit(2)).ok_or("x509: malformed subjectUniqueID")?;
    let malformed = "x509: malformed extensions";
    let Some(extensions) = body.optional(der::context(3)).ok_or(malformed)? else {
        return Ok(Vec::new());
    };
    let mut extensions = Reader::new(extensions.content).sequence().ok_or(malformed)?;
    let mut identifier = Vec::new();
    while !extensions.is_empty() {
        let mut extension = extensions.sequence().ok_or("x509: malformed extension")?;
        let id = extension.take(der::OBJECT_IDENTIFIER).ok_or("x509: malformed extension OID field")?;
        extension.optional(der::BOOLEAN).ok_or("x509: malformed extension critical field")?;
        let value = extension.take(der::OCTET_STRING).ok_or("x509: malformed extension value field")?;
        if id.content == [0x55, 0x1d, extension_id::SUBJECT_KEY] {
            let value = Reader::new(value.content).take(der::OCTET_STRING);
            identifier = value.ok_or("x509: invalid subject key identifier")?.content.to_vec();
        }
    }
    Ok(identifier)
}
