//! The payload of the native store: the parts of a version that are large or secret and do not change after it is
//! written.
//!
//! Status, timestamps and hook runs are in the custom resource, so that the frequent small updates of an operation do
//! not rewrite megabytes.

use std::ops::Range;

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

    /// The chart and the rest, compressed apart: most of a payload is the chart, and many versions have the same.
    pub fn pack_parts(&self) -> Option<PackedParts> {
        let chart = value_of(&self.json, "chart")?;
        let mut rest = self.json[..chart.start].to_vec();
        rest.extend_from_slice(&self.json[chart.end..]);
        let json = &self.json[chart.clone()];
        Some(PackedParts {
            rest: helm::pack_bytes(&rest, Compression::default()),
            chart: helm::pack_bytes(json, Compression::default()),
            digest: digest(json),
            at: chart.start,
        })
    }

    /// As [`Payload::unpack`], for a payload whose chart is kept apart.
    ///
    /// # Errors
    /// Data that is not a payload, or has another digest.
    pub fn unpack_parts(
        rest: Vec<u8>,
        (chart, at): (Vec<u8>, usize),
        expected: &str,
    ) -> Result<ReleaseVersion, Error> {
        let mut json = helm::unpack_bytes(rest)?;
        let chart = helm::unpack_bytes(chart)?;
        if at > json.len() {
            return Err(Error::new("the payload is shorter than the place of the chart in it"));
        }
        json.splice(at..at, chart);
        Payload::read(&json, expected)
    }

    /// Whether this is a chart that [`Payload::pack_parts`] has packed, by its digest.
    pub fn is_chart(packed: Vec<u8>, expected: &str) -> bool {
        helm::unpack_bytes(packed).is_ok_and(|json| digest(&json) == expected)
    }

    /// Decompresses a payload to a version without status, timestamps and hook runs.
    ///
    /// # Errors
    /// Data that is not a payload, or has another digest.
    pub fn unpack(packed: Vec<u8>, expected: &str) -> Result<ReleaseVersion, Error> {
        Payload::read(&helm::unpack_bytes(packed)?, expected)
    }

    fn read(json: &[u8], expected: &str) -> Result<ReleaseVersion, Error> {
        if digest(json) != expected {
            return Err(Error::new("the payload is not the one that was written: its digest differs"));
        }
        let mut version = helm::decode(json)?;
        if let Some(preserved) = &mut version.preserved {
            preserved.status = None;
            if **preserved == PreservedFields::default() {
                version.preserved = None;
            }
        }
        Ok(version)
    }
}

/// A payload in two parts.
#[derive(Clone, Debug)]
pub struct PackedParts {
    /// Everything but the chart, compressed.
    pub rest: Vec<u8>,
    /// The chart, compressed.
    pub chart: Vec<u8>,
    /// The SHA-256 of the chart before compression.
    pub digest: String,
    /// Where the chart belongs into the rest.
    pub at: usize,
}

/// Where the value of a key of an object is, in JSON that [`helm::encode`] has written.
fn value_of(json: &[u8], key: &str) -> Option<Range<usize>> {
    let mut at = 1;
    while json.get(at) == Some(&b'"') {
        let name = skip_string(json, at)?;
        let is_wanted = json.get(at + 1..name - 1)? == key.as_bytes();
        let start = name + 1;
        let end = skip_value(json, start)?;
        if is_wanted {
            return Some(start..end);
        }
        at = end + 1;
    }
    None
}

/// The end of a string that begins at `at`.
fn skip_string(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += 1;
        match json.get(at)? {
            b'\\' => at += 1,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
}

/// The end of a value that begins at `at`.
fn skip_value(json: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match json.get(at)? {
            b'"' => {
                at = skip_string(json, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
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

    #[test]
    fn a_payload_in_parts_is_the_same_and_the_chart_depends_on_nothing_else() {
        let mut version = ReleaseVersion {
            name: "we\"b\\".into(),
            manifest: "kind: A\ntext: \"chart\":{\n".into(),
            ..ReleaseVersion::default()
        };
        version.chart.metadata.name = "app \"chart\":".into();
        let payload = Payload::from_version(&version).expect("can be written");
        let parts = payload.pack_parts().expect("it has a chart");
        assert!(Payload::is_chart(parts.chart.clone(), &parts.digest));
        assert!(!Payload::is_chart(parts.rest.clone(), &parts.digest));
        let joined = (parts.chart.clone(), parts.at);
        let read = Payload::unpack_parts(parts.rest.clone(), joined, payload.digest()).expect("good");
        assert_eq!((read.manifest, read.chart), (version.manifest.clone(), version.chart.clone()));
        for at in [0, parts.at + 1, usize::MAX] {
            let wrong =
                Payload::unpack_parts(parts.rest.clone(), (parts.chart.clone(), at), payload.digest());
            assert!(wrong.is_err(), "{at}");
        }
        version.manifest.push_str("other: 1\n");
        let other = Payload::from_version(&version).expect("can be written").pack_parts().expect("a chart");
        assert_eq!(other.digest, parts.digest);
        for text in ["", "{}", "{\"a\":1", "{\"a\\", "[1]", "{\"a\":{}}"] {
            assert_eq!(value_of(text.as_bytes(), "chart"), None, "{text}");
        }
        assert_eq!(value_of(br#"{"a":[1,{"chart":2}],"chart":3}"#, "chart"), Some(29..30));
    }
}
