//! Checking provenance files.

use pgp::packet::{Packet, PacketParser, Signature, SignatureType};

use crate::clearsign;
use crate::entity::{Candidate, is_acceptable};
use crate::error::{Error, Result};
use crate::keyring::Keyring;
use crate::message::{digests, signed_digest};
use crate::packets::{SIGNATURE, frames};
use crate::{Entity, PROVENANCE_LIMIT};

/// How many signatures of one text are looked at.
const SIGNATURES: usize = 64;

/// A chart that was signed by a key of the keyring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The user ids of the key.
    pub signed_by: Vec<String>,
    /// The fingerprint of the key, in upper case.
    pub fingerprint: String,
    /// The digest of the archive, as `sha256:…`.
    pub file_hash: String,
}

/// Checks that `provenance` was signed by a key of the keyring, and that it is about the archive called `name` with the
/// SHA-256 `digest` (hexadecimal). `now` is in seconds since 1970.
///
/// # Errors
///
/// When the signature is invalid, the key is unknown, revoked or expired, or the digest differs.
pub fn verify(keyring: &Keyring, provenance: &[u8], name: &str, digest: &str, now: u64) -> Result<Verified> {
    if provenance.len() > PROVENANCE_LIMIT {
        return Err(Error::TooLarge { what: "the provenance file", limit: PROVENANCE_LIMIT });
    }
    let block = clearsign::decode(provenance).ok_or(Error::NoSignature)?;
    let entity = signer(keyring, &block, now)?;
    let found = format!("sha256:{digest}");
    let signed = signed_digest(&block.text, name)?;
    if signed != found {
        return Err(Error::WrongSum { name: name.to_owned(), signed, found });
    }
    Ok(Verified { signed_by: entity.user_ids(), fingerprint: entity.fingerprint(), file_hash: found })
}

/// The files that a provenance file names, with their digests; the signature is not verified. `None` if it is not a
/// signed text.
pub fn signed_digests(provenance: &[u8]) -> Option<Vec<(String, String)>> {
    clearsign::decode(provenance).map(|block| digests(&block.text))
}

/// The key that signed a text. The first signature by a key of the keyring decides.
fn signer<'k>(keyring: &'k Keyring, block: &clearsign::Block, now: u64) -> Result<&'k Entity> {
    for signature in signatures(&block.signature)? {
        let known: Vec<Candidate<'_>> = keyring
            .entities()
            .iter()
            .flat_map(Entity::candidates)
            .filter(|candidate| candidate.is_issuer_of(&signature) && candidate.signing_binding().is_some())
            .collect();
        let mut failure = None;
        for candidate in known {
            match candidate.check(&signature, &block.signed) {
                Ok(()) => {
                    candidate.is_current(&signature, now)?;
                    return Ok(candidate.entity);
                }
                Err(error) => failure = Some(error),
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
    }
    Err(Error::UnknownEntity)
}

/// The signatures of a supported kind; others are skipped.
fn signatures(packets: &[u8]) -> Result<Vec<Signature>> {
    let mut found = Vec::new();
    for frame in frames(packets)?.into_iter().take(SIGNATURES) {
        if frame.tag != SIGNATURE {
            return Err(Error::data("non signature packet found"));
        }
        if let Some(Ok(Packet::Signature(signature))) = PacketParser::new(frame.bytes).next()
            && is_acceptable(signature.hash_alg())
            && matches!(signature.typ(), Some(SignatureType::Text | SignatureType::Binary))
        {
            found.push(signature);
        }
    }
    Ok(found)
}
