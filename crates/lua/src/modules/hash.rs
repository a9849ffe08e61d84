//! `base64` and `hash`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::call::{Answer, Body, Call};

/// The functions of `base64`.
pub(super) const BASE64: &[(&str, Body)] = &[("encode", encode), ("decode", decode)];

/// The functions of `hash`.
pub(super) const HASH: &[(&str, Body)] =
    &[("sha1", digest::<Sha1>), ("sha256", digest::<Sha256>), ("sha512", digest::<Sha512>)];

fn encode(call: &Call<'_>) -> Answer {
    call.return_text(STANDARD.encode(call.bytes(0)?))
}

fn decode(call: &Call<'_>) -> Answer {
    let text = call.bytes(0)?;
    let bytes = STANDARD.decode(text).or_else(|error| call.fail(error))?;
    call.return_text(bytes)
}

fn digest<D: Digest>(call: &Call<'_>) -> Answer {
    let digest = D::digest(call.bytes(0)?);
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    call.return_text(text)
}
