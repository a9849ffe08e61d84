//! Provenance files of charts: `<archive>.prov`, an OpenPGP clear-signed text with Chart.yaml and the digest of the archive.
//!
//! Files are as Helm writes and reads them, and so are the texts of errors. This crate takes bytes and gives bytes: it
//! reads no file, no clock and no environment, and asks nobody for a passphrase. The OpenPGP packets themselves are the
//! business of the crate `pgp` ([decision 0020](../../../docs/decisions/0020-openpgp.md)); the frame around a signed text is
//! written here, because it must be what Go's library makes of it to the byte.
//!
//! Enter at [`Keyring::read`], then [`verify`] or [`sign`].

mod armor;
mod clearsign;
mod cosign;
mod cosign_sign;
mod entity;
mod error;
mod keybox;
mod keyless;
mod keyring;
mod message;
mod packets;
mod sign;
mod verify;

pub use cosign::{CosignSignature, PublicKey, verify_cosign};
pub use cosign_sign::{CosignKey, SignedPayload};
pub use entity::Entity;
pub use error::{Error, Result};
pub use keyless::{Signer, TrustedRoot, verify_keyless};
pub use keyring::Keyring;
pub use message::{message, sha256, sha256_of};
pub use sign::sign;
pub use verify::{Verified, signed_digests, verify};

/// The largest provenance file that is read: Chart.yaml and a few lines.
pub const PROVENANCE_LIMIT: usize = 8 << 20;

/// The largest file of trusted roots that is read.
pub const TRUSTED_ROOT_LIMIT: usize = 4 << 20;

/// The largest keyring that is read.
pub const KEYRING_LIMIT: usize = 64 << 20;
