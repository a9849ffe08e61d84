//! Signing and verifying with keys that are made here.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::LazyLock;

use pgp::composed::{ArmorOptions, KeyType, SecretKeyParamsBuilder, SignedSecretKey, SubkeyParamsBuilder};
use pgp::ser::Serialize as _;
use pgp::types::{KeyVersion, Timestamp};
use pintle_provenance::{Entity, Error, Keyring, message, sha256, sign, verify};

const CREATED: u64 = 1_700_000_000;
const NAME: &str = "web-1.0.0.tgz";
const METADATA: &[u8] = b"apiVersion: v2\nname: web\nversion: 1.0.0\n";

/// A little later than now: the keys are made while the test runs.
fn now() -> u64 {
    static NOW: LazyLock<u64> = LazyLock::new(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 3600
    });
    *NOW
}

fn key(user: &str, passphrase: Option<&str>, with_subkey: bool) -> SignedSecretKey {
    let created = Timestamp::from_secs(u32::try_from(CREATED).unwrap());
    let mut params = SecretKeyParamsBuilder::default();
    params
        .version(KeyVersion::V4)
        .key_type(KeyType::Ed25519Legacy)
        .can_certify(true)
        .can_sign(!with_subkey)
        .created_at(created)
        .primary_user_id(user.into())
        .passphrase(passphrase.map(Into::into));
    if with_subkey {
        let mut subkey = SubkeyParamsBuilder::default();
        subkey.version(KeyVersion::V4).key_type(KeyType::Ed25519Legacy).can_sign(true).created_at(created);
        params.subkey(subkey.build().unwrap());
    }
    params.build().unwrap().generate(rand::thread_rng()).unwrap()
}

fn secret(key: &SignedSecretKey) -> Vec<u8> {
    key.to_bytes().unwrap()
}

fn public(key: &SignedSecretKey) -> Vec<u8> {
    key.to_public_key().to_bytes().unwrap()
}

static ANNE: LazyLock<SignedSecretKey> = LazyLock::new(|| key("Anne <anne@example.com>", None, false));
static BOB: LazyLock<SignedSecretKey> = LazyLock::new(|| key("Bob <bob@example.com>", None, false));

fn first(ring: &Keyring) -> &Entity {
    &ring.entities()[0]
}

fn signed(key: &SignedSecretKey, passphrase: Option<&[u8]>, archive: &[u8]) -> Vec<u8> {
    let ring = Keyring::read(&secret(key)).unwrap();
    let text = message(METADATA, NAME, &sha256(archive)).unwrap();
    sign(first(&ring), passphrase, &text, now()).unwrap()
}

fn check(ring: &[u8], provenance: &[u8], archive: &[u8], now: u64) -> Result<(), Error> {
    verify(&Keyring::read(ring)?, provenance, NAME, &sha256(archive), now).map(|_| ())
}

#[test]
fn what_is_signed_is_verified_by_the_public_half_alone() {
    let provenance = signed(&ANNE, None, b"archive");
    let ring = Keyring::read(&public(&ANNE)).unwrap();
    let verified = verify(&ring, &provenance, NAME, &sha256(b"archive"), now()).unwrap();
    assert_eq!(verified.signed_by, ["Anne <anne@example.com>"]);
    assert_eq!(verified.fingerprint, first(&ring).fingerprint());
    assert_eq!(verified.file_hash, format!("sha256:{}", sha256(b"archive")));
    let text = String::from_utf8(provenance).unwrap();
    assert!(
        text.starts_with("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\napiVersion: v2\nname: web\n"),
        "{text}"
    );
    assert!(text.contains("\n\n...\nfiles:\n  web-1.0.0.tgz: sha256:"), "{text}");
}

#[test]
fn another_archive_another_name_and_another_text_are_refused() {
    let provenance = signed(&ANNE, None, b"archive");
    let ring = public(&ANNE);
    let (signed, found) = (format!("sha256:{}", sha256(b"archive")), format!("sha256:{}", sha256(b"other")));
    let error = check(&ring, &provenance, b"other", now()).unwrap_err();
    assert_eq!(error, Error::WrongSum { name: NAME.into(), signed: signed.clone(), found: found.clone() });
    assert_eq!(
        error.to_string(),
        format!("sha256 sum does not match for {NAME}: \"{signed}\" != \"{found}\"")
    );
    let keyring = Keyring::read(&ring).unwrap();
    let error = verify(&keyring, &provenance, "x.tgz", &sha256(b"archive"), now()).unwrap_err();
    assert_eq!(error.to_string(), "provenance does not contain a SHA for a file named \"x.tgz\"");
    let changed = String::from_utf8(provenance).unwrap().replace("name: web", "name: wed");
    let error = check(&ring, changed.as_bytes(), b"archive", now()).unwrap_err();
    assert_eq!(error.to_string(), "openpgp: invalid signature: hash tag doesn't match");
}

#[test]
fn keys_that_are_not_in_the_keyring_are_unknown() {
    let provenance = signed(&ANNE, None, b"archive");
    let error = check(&public(&BOB), &provenance, b"archive", now()).unwrap_err();
    assert_eq!(error.to_string(), "openpgp: signature made by unknown entity");
    assert_eq!(check(&[], &provenance, b"archive", now()).unwrap_err(), Error::UnknownEntity);
    let both = [public(&BOB), public(&ANNE)].concat();
    assert!(check(&both, &provenance, b"archive", now()).is_ok());
}

#[test]
fn signatures_and_keys_of_the_future_do_not_count() {
    let provenance = signed(&ANNE, None, b"archive");
    let ring = public(&ANNE);
    assert_eq!(check(&ring, &provenance, b"archive", CREATED - 1).unwrap_err(), Error::KeyExpired);
    assert_eq!(check(&ring, &provenance, b"archive", now() - 1).unwrap_err(), Error::SignatureExpired);
}

#[test]
fn passphrases_open_keys_and_wrong_ones_do_not() {
    let key = key("Locked <l@example.com>", Some("open sesame"), false);
    let provenance = signed(&key, Some(b"open sesame"), b"archive");
    assert!(check(&public(&key), &provenance, b"archive", now()).is_ok());
    let ring = Keyring::read(&secret(&key)).unwrap();
    assert!(first(&ring).needs_passphrase().unwrap());
    for wrong in [Some(&b"wrong"[..]), None] {
        let error = sign(first(&ring), wrong, b"text", now()).unwrap_err();
        assert_eq!(error.to_string(), "openpgp: invalid data: private key checksum failure");
    }
    let open = Keyring::read(&secret(&ANNE)).unwrap();
    assert!(!first(&open).needs_passphrase().unwrap());
}

#[test]
fn a_subkey_signs_where_the_key_itself_may_not() {
    let key = key("Sub <s@example.com>", None, true);
    let provenance = signed(&key, None, b"archive");
    assert!(check(&public(&key), &provenance, b"archive", now()).is_ok());
    // Without its binding signature, the subkey does not belong to the primary key.
    let mut stolen = key.to_public_key();
    stolen.public_subkeys[0].signatures.clear();
    assert!(check(&stolen.to_bytes().unwrap(), &provenance, b"archive", now()).is_err());
}

#[test]
fn keys_are_found_by_user_id_part_of_it_key_id_and_fingerprint() {
    let ring = Keyring::read(&[secret(&ANNE), public(&BOB)].concat()).unwrap();
    let (anne, bob) = (ring.entities()[0].fingerprint(), ring.entities()[1].fingerprint());
    let spaced: String = anne
        .chars()
        .enumerate()
        .map(|(at, letter)| if at % 4 == 0 { format!(" {letter}") } else { letter.to_string() })
        .collect();
    for id in [
        "Anne <anne@example.com>",
        "anne@",
        "Anne",
        &anne,
        &anne.to_ascii_lowercase(),
        &format!("0x{}", &anne[24..]),
        &anne[32..],
        &spaced,
    ] {
        assert_eq!(ring.find(id).unwrap().fingerprint(), anne, "{id}");
    }
    assert_eq!(ring.find("bob").unwrap().fingerprint(), bob);
    assert_eq!(ring.find("bob").unwrap().needs_passphrase().unwrap_err(), Error::NotPrivate);
    assert_eq!(
        ring.find("example.com").unwrap_err().to_string(),
        "more than one key contain the id \"example.com\""
    );
    assert_eq!(ring.find("nobody").unwrap_err().to_string(), "private key not found");
    assert_eq!(ring.find("deadbeef").unwrap_err(), Error::NoKey);
    // A key that is present as public and as secret key counts once, as the secret key.
    let ring = Keyring::read(&[public(&ANNE), secret(&ANNE)].concat()).unwrap();
    assert!(ring.find("anne").unwrap().is_secret());
}

#[test]
fn armoured_keyrings_are_read_block_by_block() {
    let armoured =
        |key: &SignedSecretKey| key.to_public_key().to_armored_string(ArmorOptions::default()).unwrap();
    let ring = Keyring::read(format!("{}\n{}", armoured(&ANNE), armoured(&BOB)).as_bytes()).unwrap();
    assert_eq!(ring.entities().len(), 2);
    let text = ANNE.to_armored_string(ArmorOptions::default()).unwrap();
    assert!(first(&Keyring::read(text.as_bytes()).unwrap()).is_secret());
}

#[test]
fn what_is_no_keyring_is_refused_in_words_that_are_known() {
    let error = |data: &[u8]| Keyring::read(data).unwrap_err().to_string();
    assert_eq!(error(b"not a keyring"), "openpgp: invalid data: tag byte does not have MSB set");
    assert_eq!(error(&public(&ANNE)[..40]), "unexpected EOF");
    assert!(
        error(b"-----BEGIN PGP MESSAGE-----\n\n-----END PGP MESSAGE-----")
            .ends_with("expected a public or private key block, got \"PGP MESSAGE\"")
    );
    assert!(Keyring::read(b"").unwrap().entities().is_empty());
}

#[test]
fn no_damage_to_a_signed_text_goes_unnoticed() {
    let provenance = signed(&ANNE, None, b"archive");
    let ring = Keyring::read(&public(&ANNE)).unwrap();
    let digest = sha256(b"archive");
    let text = String::from_utf8(provenance.clone()).unwrap();
    let start = text.find("apiVersion").unwrap();
    let end = text.find("\n-----BEGIN PGP SIGNATURE").unwrap();
    for at in start..end {
        let mut damaged = provenance.clone();
        damaged[at] ^= 1;
        assert!(verify(&ring, &damaged, NAME, &digest, now()).is_err(), "byte {at}");
    }
    // Damage elsewhere may be harmless, as in an armor line; it must not cause a panic.
    for at in (0..provenance.len()).filter(|at| !(start..end).contains(at)) {
        for flip in [1, 0x20, 0x80] {
            let mut damaged = provenance.clone();
            damaged[at] ^= flip;
            let _ = verify(&ring, &damaged, NAME, &digest, now());
        }
        let _ = verify(&ring, &provenance[..at], NAME, &digest, now());
    }
}

#[test]
fn damaged_keyrings_end_in_errors_or_unknown_keys_and_never_in_another_signer() {
    let provenance = signed(&ANNE, None, b"archive");
    let (good, digest) = (public(&ANNE), sha256(b"archive"));
    let fingerprint = first(&Keyring::read(&good).unwrap()).fingerprint();
    for at in 0..good.len() {
        for flip in [1, 0x80] {
            let mut damaged = good.clone();
            damaged[at] ^= flip;
            let Ok(ring) = Keyring::read(&damaged) else { continue };
            if let Ok(verified) = verify(&ring, &provenance, NAME, &digest, now()) {
                assert_eq!(verified.fingerprint, fingerprint);
                assert_eq!(verified.signed_by, ["Anne <anne@example.com>"]);
            }
        }
        let _ = Keyring::read(&good[..at]);
    }
}
