//! The payload of the native store: the parts of a version that are large or secret and do not change after it is
//! written.
//!
//! Status, timestamps and hook runs are in the custom resource, so that the frequent small updates of an operation do
//! not rewrite megabytes.

use flate2::Compression;
use sha2::{Digest as _, Sha256};

use crate::helm::{self, Error};
use crate::{HookRun, Info, PreservedFields, ReleaseVersion};

/// The payload of a version, before compression.
#[derive(Clone, Debug)]
pub struct Payload {
    json: Vec<u8>,
    digest: String,
}

impl Payload {
    /// Takes the immutable part of a version.
    ///
    /// # Errors
    /// Values that JSON cannot represent.
    pub fn from_version(version: &ReleaseVersion) -> Result<Self, Error> {
        let mut kept = version.clone();
        kept.info = Info { notes: std::mem::take(&mut kept.info.notes), ..Info::default() };
        let preserved = kept.preserved.get_or_insert_default();
        // An empty status is not written, so that the digest does not depend on the status.
        **preserved = PreservedFields { status: Some(String::new()), ..std::mem::take(&mut **preserved) };
        for hook in &mut kept.hooks {
            hook.last_run = HookRun::default();
        }
        let json = helm::encode(&kept)?;
        let digest = digest(&json);
        Ok(Payload { json, digest })
    }

    /// The SHA-256 of the uncompressed payload.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The payload, compressed.
    pub fn pack(&self) -> Vec<u8> {
        helm::pack_bytes(&self.json, Compression::default())
    }

    /// Decompresses a payload to a version without status, timestamps and hook runs.
    ///
    /// # Errors
    /// Data that is not a payload, or has another digest.
    pub fn unpack(packed: Vec<u8>, expected: &str) -> Result<ReleaseVersion, Error> {
        let json = helm::unpack_bytes(packed)?;
        if digest(&json) != expected {
            return Err(Error::new("the payload is not the one that was written: its digest differs"));
        }
        let mut version = helm::decode(&json)?;
        if let Some(preserved) = &mut version.preserved {
            preserved.status = None;
            if **preserved == PreservedFields::default() {
                version.preserved = None;
            }
        }
        Ok(version)
    }
}

fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let mut text = String::with_capacity(7 + 64);
    text.push_str("sha256:");
    for byte in hash {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HookPhase, Status, StoredHook, Timestamp};

    #[test]
    fn states_and_runs_do_not_change_the_payload() {
        let mut version = ReleaseVersion {
            name: "web".into(),
            manifest: "kind: A\n".into(),
            hooks: vec![StoredHook { name: "h".into(), ..StoredHook::default() }],
            ..ReleaseVersion::default()
        };
        version.info.notes = "hello".into();
        let before = Payload::from_version(&version).expect("can be written");
        version.info.status = Status::Deployed;
        version.info.last_deployed = Some(Timestamp::from_unix(5, 0));
        version.hooks[0].last_run.phase = HookPhase::Succeeded;
        let after = Payload::from_version(&version).expect("can be written");
        assert_eq!(before.digest(), after.digest());

        let read = Payload::unpack(after.pack(), after.digest()).expect("good");
        assert_eq!((read.manifest, read.info.notes), (version.manifest, version.info.notes));
        assert_eq!(read.preserved, None);
        assert!(Payload::unpack(after.pack(), "sha256:0").is_err());
    }
}
