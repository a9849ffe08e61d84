//! A key with its subkeys, and their self-signatures.

use pgp::composed::{PublicOrSecret, SignedPublicKey, SignedSecretKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType, SubpacketData};
use pgp::types::{KeyDetails, Tag, Timestamp};

use crate::error::{Error, Result};
use crate::message::hex;

/// A key of a keyring.
#[derive(Clone, Debug)]
pub struct Entity {
    pub(crate) public: SignedPublicKey,
    pub(crate) secret: Option<SignedSecretKey>,
}

/// A primary key or subkey that may have made a signature.
pub(crate) struct Candidate<'e> {
    pub(crate) entity: &'e Entity,
    /// The index of the subkey; `None` for the primary key.
    pub(crate) subkey: Option<usize>,
}

/// The newest self-signature of a key (certification or subkey binding), and whether it was revoked.
#[derive(Clone, Copy)]
pub(crate) struct Binding<'e> {
    pub(crate) signature: &'e Signature,
    revoked: bool,
}

impl Entity {
    pub(crate) fn new(key: PublicOrSecret) -> Entity {
        match key {
            PublicOrSecret::Public(public) => Entity { public, secret: None },
            PublicOrSecret::Secret(secret) => Entity { public: secret.to_public_key(), secret: Some(secret) },
        }
    }

    /// The user ids that the owner of the key has signed.
    pub fn user_ids(&self) -> Vec<String> {
        let users = self.public.details.users.iter().filter(|user| self.binding_of(user).is_some());
        users.map(|user| String::from_utf8_lossy(user.id.id()).into_owned()).collect()
    }

    /// The fingerprint, in upper case.
    pub fn fingerprint(&self) -> String {
        hex(self.public.primary_key.fingerprint().as_bytes()).to_ascii_uppercase()
    }

    /// Whether the secret key is available.
    pub fn is_secret(&self) -> bool {
        self.secret.is_some()
    }

    /// Whether the key, or one of its subkeys, has this fingerprint or ends in this id (hexadecimal, upper case).
    pub(crate) fn answers_to(&self, id: &str) -> bool {
        let matches = |key: &dyn KeyDetails| {
            hex(key.fingerprint().as_bytes()).to_ascii_uppercase() == id
                || hex(key.legacy_key_id().as_ref()).to_ascii_uppercase().ends_with(id)
        };
        matches(&self.public.primary_key)
            || self.public.public_subkeys.iter().any(|subkey| matches(&subkey.key))
    }

    /// The newest self-signature of a user id.
    fn binding_of(&self, user: &pgp::types::SignedUser) -> Option<Binding<'_>> {
        let key = &self.public.primary_key;
        // The user is looked up again to get references with the lifetime of the entity.
        let user = self.public.details.users.iter().find(|known| std::ptr::eq(*known, user))?;
        let own = user.signatures.iter().filter(|signature| {
            is_by(signature, key) && signature.verify_certification(key, Tag::UserId, &user.id).is_ok()
        });
        newest(own, SignatureType::CertRevocation)
    }

    /// The self-signature of the primary key: that of its primary user id, or else the newest; revoked ones last.
    fn own_binding(&self) -> Option<Binding<'_>> {
        let mut best: Option<Binding<'_>> = None;
        for user in &self.public.details.users {
            let Some(binding) = self.binding_of(user) else { continue };
            let rank = |binding: &Binding<'_>| {
                (!binding.revoked, binding.signature.is_primary(), binding.signature.created())
            };
            if best.as_ref().is_none_or(|best| rank(&binding) > rank(best)) {
                best = Some(binding);
            }
        }
        best
    }

    /// The newest valid binding signature of a subkey.
    fn subkey_binding(&self, index: usize) -> Option<Binding<'_>> {
        let (key, subkey) = (&self.public.primary_key, self.public.public_subkeys.get(index)?);
        let bound = subkey.signatures.iter().filter(|signature| {
            if signature.verify_subkey_binding(key, &subkey.key).is_err() {
                return false;
            }
            // A signing subkey must be cross-certified, or anyone could bind it to their own primary key.
            let needs_consent =
                signature.typ() == Some(SignatureType::SubkeyBinding) && signature.key_flags().sign();
            !needs_consent
                || signature
                    .embedded_signature()
                    .is_some_and(|back| back.verify_primary_key_binding(&subkey.key, key).is_ok())
        });
        newest(bound, SignatureType::SubkeyRevocation)
    }

    fn is_revoked(&self) -> bool {
        let key = &self.public.primary_key;
        self.public.details.revocation_signatures.iter().any(|signature| signature.verify_key(key).is_ok())
    }

    /// The keys that may sign, the key itself first.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        let subkeys = (0..self.public.public_subkeys.len()).map(Some);
        std::iter::once(None).chain(subkeys).map(|subkey| Candidate { entity: self, subkey })
    }
}

impl Candidate<'_> {
    fn details(&self) -> &dyn KeyDetails {
        match self.subkey {
            None => &self.entity.public.primary_key,
            Some(index) => &self.entity.public.public_subkeys[index].key,
        }
    }

    /// Whether the signature names this key as its issuer.
    pub(crate) fn is_issuer_of(&self, signature: &Signature) -> bool {
        is_by(signature, self.details())
    }

    /// The binding of the key, if its key flags allow signing.
    pub(crate) fn signing_binding(&self) -> Option<Binding<'_>> {
        let binding = match self.subkey {
            None => self.entity.own_binding(),
            Some(index) => self.entity.subkey_binding(index),
        };
        binding.filter(|binding| binding.signature.key_flags().sign())
    }

    /// Whether the key has made the signature over `data`.
    pub(crate) fn check(&self, signature: &Signature, data: &[u8]) -> Result<()> {
        let outcome = match self.subkey {
            None => signature.verify(&self.entity.public.primary_key, data),
            Some(index) => signature.verify(&self.entity.public.public_subkeys[index].key, data),
        };
        outcome.map_err(|error| Error::BadSignature { reason: complaint(&error, self.details()) })
    }

    /// Checks that, at this time, nothing is revoked, expired or from the future.
    pub(crate) fn is_current(&self, signature: &Signature, now: u64) -> Result<()> {
        let own = self.entity.own_binding().ok_or(Error::UnknownEntity)?;
        let subkey = match self.subkey {
            None => None,
            Some(index) => Some(self.entity.subkey_binding(index).ok_or(Error::UnknownEntity)?),
        };
        let bindings: Vec<Binding<'_>> = [Some(own), subkey].into_iter().flatten().collect();
        let back = subkey.and_then(|binding| binding.signature.embedded_signature());
        let all =
            || std::iter::once(signature).chain(bindings.iter().map(|binding| binding.signature)).chain(back);
        if let Some(name) = all().find_map(critical_notation) {
            return Err(Error::BadSignature { reason: format!("unknown critical notation: {name}") });
        }
        if self.entity.is_revoked() || bindings.iter().any(|binding| binding.revoked) {
            return Err(Error::Revoked);
        }
        let ends = |from: Option<Timestamp>, after: Option<u32>| match (from, after) {
            (Some(from), Some(after)) if after > 0 => {
                now < u64::from(from.as_secs()) || now > u64::from(from.as_secs()) + u64::from(after)
            }
            (from, _) => from.is_some_and(|from| now < u64::from(from.as_secs())),
        };
        let life = |signature: &Signature| signature.key_expiration_time().map(|life| life.as_secs());
        let primary = &self.entity.public.primary_key;
        if ends(Some(primary.created_at()), life(own.signature))
            || subkey.is_some_and(|binding| ends(Some(self.details().created_at()), life(binding.signature)))
        {
            return Err(Error::KeyExpired);
        }
        if all().any(|one| ends(one.created(), one.signature_expiration_time().map(|life| life.as_secs()))) {
            return Err(Error::SignatureExpired);
        }
        Ok(())
    }
}

/// The newest of these signatures, and whether one of them is a revocation.
fn newest<'e>(
    signatures: impl Iterator<Item = &'e Signature>,
    revocation: SignatureType,
) -> Option<Binding<'e>> {
    let mut best: Option<&Signature> = None;
    let mut revoked = false;
    for signature in signatures {
        if signature.typ() == Some(revocation) {
            revoked = true;
        } else if best.is_none_or(|best| signature.created() > best.created()) {
            best = Some(signature);
        }
    }
    Some(Binding { signature: best?, revoked })
}

fn is_by(signature: &Signature, key: &(impl KeyDetails + ?Sized)) -> bool {
    let (id, fingerprint) = (key.legacy_key_id(), key.fingerprint());
    signature.issuer_key_id().into_iter().any(|issuer| *issuer == id)
        || signature.issuer_fingerprint().into_iter().any(|issuer| *issuer == fingerprint)
}

fn critical_notation(signature: &Signature) -> Option<String> {
    let mut hashed = signature.config()?.hashed_subpackets();
    hashed.find_map(|subpacket| match &subpacket.data {
        SubpacketData::Notation(notation) if subpacket.is_critical => {
            Some(String::from_utf8_lossy(&notation.name).into_owned())
        }
        _ => None,
    })
}

/// Why a signature is invalid, with the error text of Go's library.
fn complaint(error: &pgp::errors::Error, key: &dyn KeyDetails) -> String {
    use pgp::crypto::public_key::PublicKeyAlgorithm as Algorithm;
    if error.to_string().contains("invalid signed hash value") {
        return "hash tag doesn't match".to_owned();
    }
    let algorithm = match key.algorithm() {
        Algorithm::RSA | Algorithm::RSASign | Algorithm::RSAEncrypt => "RSA",
        Algorithm::DSA => "DSA",
        Algorithm::ECDSA => "ECDSA",
        Algorithm::EdDSALegacy => "EdDSA",
        Algorithm::Ed25519 => "Ed25519",
        Algorithm::Ed448 => "Ed448",
        _ => "signature",
    };
    format!("{algorithm} verification failure")
}

/// Whether signatures may use this hash algorithm, by the rule of Go's library. SHA-1 is accepted: `pgp` computes it with
/// collision detection.
pub(crate) fn is_acceptable(hash: Option<HashAlgorithm>) -> bool {
    use HashAlgorithm::{Sha1, Sha3_256, Sha3_512, Sha224, Sha256, Sha384, Sha512};
    matches!(hash, Some(Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sha3_256 | Sha3_512))
}
