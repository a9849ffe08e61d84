//! Making provenance files.

use pgp::composed::SignedSecretKey;
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{PacketTrait as _, Signature, SignatureConfig, SignatureType, Subpacket, SubpacketData};
use pgp::types::{KeyVersion, Password, SecretParams, SigningKey, Timestamp};

use crate::clearsign;
use crate::entity::Entity;
use crate::error::{Error, Result};

impl Entity {
    /// Whether a passphrase is needed before this key can sign.
    ///
    /// # Errors
    ///
    /// When the secret key is missing, or is only a stub.
    pub fn needs_passphrase(&self) -> Result<bool> {
        let key = SigningHalf::of(self)?;
        Ok(key.params().is_encrypted())
    }
}

/// The part of a key that signs.
enum SigningHalf<'e> {
    Primary(&'e pgp::packet::SecretKey),
    Subkey(&'e pgp::packet::SecretSubkey),
}

impl<'e> SigningHalf<'e> {
    /// The primary key, as in Helm, unless it may not sign or is a stub, and a subkey can sign.
    fn of(entity: &'e Entity) -> Result<SigningHalf<'e>> {
        let secret: &SignedSecretKey = entity.secret.as_ref().ok_or(Error::NotPrivate)?;
        let halves = entity.candidates().filter(|candidate| candidate.signing_binding().is_some());
        let mut usable = halves.filter_map(|candidate| {
            let half = match candidate.subkey {
                None => SigningHalf::Primary(&secret.primary_key),
                Some(index) => SigningHalf::Subkey(&secret.secret_subkeys.get(index)?.key),
            };
            Some(half).filter(|half| !half.is_stub())
        });
        match usable.next() {
            Some(half) => Ok(half),
            None if is_stub(secret.primary_key.secret_params()) => Err(Error::Stub),
            None => Ok(SigningHalf::Primary(&secret.primary_key)),
        }
    }

    fn params(&self) -> &SecretParams {
        match self {
            SigningHalf::Primary(key) => key.secret_params(),
            SigningHalf::Subkey(key) => key.secret_params(),
        }
    }

    fn is_stub(&self) -> bool {
        is_stub(self.params())
    }

    fn unlocks(&self, password: &Password) -> bool {
        match self {
            SigningHalf::Primary(key) => key.unlock(password, |_, _| Ok(())).is_ok(),
            SigningHalf::Subkey(key) => key.unlock(password, |_, _| Ok(())).is_ok(),
        }
    }
}

/// Whether the secret key is kept elsewhere, as on a smartcard: GnuPG marks that with an S2K type of its own.
fn is_stub(params: &SecretParams) -> bool {
    const GNU: u8 = 101;
    match params {
        SecretParams::Plain(_) => false,
        SecretParams::Encrypted(encrypted) => match encrypted.string_to_key_params() {
            pgp::types::S2kParams::Cfb { s2k, .. } => s2k.id() == GNU,
            pgp::types::S2kParams::MalleableCfb { s2k, .. } => s2k.id() == GNU,
            _ => false,
        },
    }
}

/// Signs `text` (see [`message`](crate::message())) and gives the provenance file. `now` is in seconds since 1970.
///
/// # Errors
///
/// When the key cannot sign, or when the passphrase does not open it.
pub fn sign(entity: &Entity, passphrase: Option<&[u8]>, text: &[u8], now: u64) -> Result<Vec<u8>> {
    let half = SigningHalf::of(entity)?;
    let password = passphrase.map_or_else(Password::empty, Password::from);
    if !half.unlocks(&password) {
        return Err(Error::Passphrase);
    }
    let canonical = clearsign::canonical(text);
    let signature = match &half {
        SigningHalf::Primary(key) => signature(*key, &password, &canonical, now),
        SigningHalf::Subkey(key) => signature(*key, &password, &canonical, now),
    };
    let signature = signature.map_err(|error| Error::CannotSign { reason: error.to_string() })?;
    let mut packets = Vec::new();
    signature
        .to_writer_with_header(&mut packets)
        .map_err(|error| Error::CannotSign { reason: error.to_string() })?;
    Ok(clearsign::encode(text, "SHA512", &packets))
}

fn signature(
    key: &impl SigningKey,
    password: &Password,
    canonical: &[u8],
    now: u64,
) -> pgp::errors::Result<Signature> {
    let mut config = match key.version() {
        KeyVersion::V6 => SignatureConfig::v6(
            rand::rngs::OsRng,
            SignatureType::Text,
            key.algorithm(),
            HashAlgorithm::Sha512,
        )?,
        _ => SignatureConfig::v4(SignatureType::Text, key.algorithm(), HashAlgorithm::Sha512),
    };
    let time = Timestamp::from_secs(u32::try_from(now).unwrap_or(u32::MAX));
    config.hashed_subpackets = vec![
        Subpacket::critical(SubpacketData::SignatureCreationTime(time))?,
        Subpacket::regular(SubpacketData::IssuerFingerprint(key.fingerprint()))?,
    ];
    if key.version() != KeyVersion::V6 {
        // Helm looks the key up by its key id, not by the fingerprint.
        config.hashed_subpackets.push(Subpacket::regular(SubpacketData::IssuerKeyId(key.legacy_key_id()))?);
    }
    config.sign(key, password, canonical)
}
