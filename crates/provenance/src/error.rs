//! What can go wrong with signatures, in Helm's words where Helm has some.

use pintle_tree::quote::quote;

/// The outcome of what this crate does.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The keyring has no key by that name.
    #[error("private key not found")]
    NoKey,
    /// The keyring has only the public key.
    #[error("provided key is not a private key. Try providing a keyring with secret keys")]
    NotPrivate,
    /// Several keys have the text in a user id.
    #[error("more than one key contain the id {}", quote(id.as_bytes()))]
    SeveralKeys {
        /// What was looked for.
        id: String,
    },
    /// The secret half of the key is a stub, because it is kept elsewhere.
    #[error("openpgp: s2k GNU dummy key: dummy key found")]
    Stub,
    /// The passphrase does not open the key.
    #[error("openpgp: invalid data: private key checksum failure")]
    Passphrase,
    /// The key cannot make signatures.
    #[error("failed to either sign or armor message block: {reason}")]
    CannotSign {
        /// Why not.
        reason: String,
    },
    /// There is no clear-signed text.
    #[error("signature block not found")]
    NoSignature,
    /// None of the signatures is by a key of the keyring that may sign.
    #[error("openpgp: signature made by unknown entity")]
    UnknownEntity,
    /// The key was revoked.
    #[error("openpgp: signature made by revoked key")]
    Revoked,
    /// The key has expired.
    #[error("openpgp: key expired")]
    KeyExpired,
    /// The signature has expired.
    #[error("openpgp: signature expired")]
    SignatureExpired,
    /// The signature is not for this text, or not by this key.
    #[error("openpgp: invalid signature: {reason}")]
    BadSignature {
        /// What does not fit.
        reason: String,
    },
    /// Bytes that are not OpenPGP data.
    #[error("openpgp: invalid data: {reason}")]
    BadData {
        /// What is wrong with them.
        reason: String,
    },
    /// A keyring in one of GnuPG's forms that cannot be read.
    #[error("reading {form} {path}: {reason}")]
    Keyring {
        /// `keybox` or `armored keyring`.
        form: &'static str,
        /// The file, as the caller named it.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Armour with a character that base64 does not have.
    #[error("illegal base64 data at input byte {at}")]
    Base64 {
        /// Which byte.
        at: usize,
    },
    /// Bytes that end in the middle of a packet.
    #[error("unexpected EOF")]
    Truncated,
    /// The signed text does not have the two parts of a provenance file.
    #[error("message block must have at least two parts")]
    OnePart,
    /// The part with digests cannot be read.
    #[error("{reason}")]
    BadSums {
        /// What is wrong with it.
        reason: String,
    },
    /// The signed text is about other files.
    #[error("provenance does not contain a SHA for a file named {}", quote(name.as_bytes()))]
    NoSum {
        /// The file that was to be verified.
        name: String,
    },
    /// The file is not the one that was signed.
    #[error("sha256 sum does not match for {name}: {} != {}", quote(signed.as_bytes()), quote(found.as_bytes()))]
    WrongSum {
        /// The file.
        name: String,
        /// The digest that was signed.
        signed: String,
        /// The digest of the file.
        found: String,
    },
    /// An invalid or unsupported public key for cosign signatures.
    #[error("this is no public key for signatures of cosign (PEM, ECDSA on P-256 or Ed25519)")]
    CosignKey,
    /// An invalid or unsupported private key for cosign signatures.
    #[error("this is no private key of cosign (PEM, ECDSA on P-256)")]
    CosignPrivateKey,
    /// The password does not open the key.
    #[error("the password does not open the private key of cosign")]
    CosignPassword,
    /// The manifest has no signature.
    #[error("no signatures found")]
    NoCosignSignature,
    /// The manifest has signatures, but none with this key and for this manifest.
    #[error("no matching signatures: {found} found, and none of them is by this key for this manifest")]
    OtherCosignSignature {
        /// How many there are.
        found: usize,
    },
    /// An invalid trusted root.
    #[error("this is no trusted root of sigstore: {reason}")]
    TrustedRoot {
        /// What is wrong with it.
        reason: String,
    },
    /// The manifest has signatures, but none that is valid and by an accepted signer.
    #[error("no matching signatures: {}", reasons.join("; "))]
    OtherSigner {
        /// What is wrong with each.
        reasons: Vec<String>,
    },
    /// More bytes than anything of this kind needs.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How much is taken.
        limit: usize,
    },
}

impl Error {
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::NoKey => {
                Some("name the key by a user id, its key id or its fingerprint; `gpg --list-keys` shows them")
            }
            Error::NotPrivate => Some("export it with `gpg --export-secret-keys > secret.gpg`"),
            Error::SeveralKeys { .. } => Some("name the key by its fingerprint"),
            Error::Stub => {
                Some("the secret key is kept elsewhere, as on a smartcard; sign with `gpg` through its agent")
            }
            Error::UnknownEntity => Some("add the signer's public key to the keyring, if you trust it"),
            Error::NoSum { .. } => {
                Some("the archive was renamed, or the provenance file belongs to another one")
            }
            Error::CosignPrivateKey => {
                Some("`cosign generate-key-pair` makes one; a key in PKCS #8 without a password will do")
            }
            Error::CosignPassword => Some("it is read from $COSIGN_PASSWORD, or asked for in a terminal"),
            _ => None,
        }
    }

    pub(crate) fn data(reason: impl Into<String>) -> Error {
        Error::BadData { reason: reason.into() }
    }
}
