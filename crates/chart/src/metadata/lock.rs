//! Decodes Chart.lock and requirements.lock.

use super::{Lock, Timestamp, draft};
use crate::decode::{Decoder, read_tree};
use crate::error::{Error, Result};

const LOCK: [&str; 3] = ["generated", "digest", "dependencies"];

impl Lock {
    /// Decodes the lock `file` (`Chart.lock` or `requirements.lock`). An empty file is no lock.
    ///
    /// # Errors
    /// When the text is not valid YAML, a field has the wrong type, or the time is invalid.
    pub fn read(text: &[u8], file: &'static str) -> Result<Option<Lock>> {
        let tree = read_tree(text, file, false)?;
        if tree.is_nil() {
            return Ok(None);
        }
        let mut lock = Lock::default();
        let mut dependencies = Vec::new();
        let mut decoder = Decoder::new(false);
        decoder.document(&tree, "v2.Lock", &LOCK, |decoder, name, value| match name {
            "digest" => decoder.string(value, &mut lock.digest),
            "dependencies" => {
                decoder.structs(value, "v2.Dependency", &mut dependencies, draft::dependency);
            }
            _ => decoder
                .time(value, &mut lock.generated, |text| Timestamp::parse(text).map(|_| text.to_owned())),
        });
        decoder.finish(&tree).map_err(|reason| Error::File { file, reason, line: None })?;
        lock.dependencies = dependencies.into_iter().flatten().collect();
        Ok(Some(lock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_lock_is_no_lock() {
        assert_eq!(Lock::read(b"", "Chart.lock").expect("is fine"), None);
    }

    #[test]
    fn a_lock_is_read_and_written() {
        let text = "dependencies:\n- name: a\n  repository: file://../a\n  version: 1.0.0\ndigest: sha256:00\n\
                    generated: \"2020-01-02T03:04:05.12+01:00\"\n";
        let lock = Lock::read(text.as_bytes(), "Chart.lock").expect("is fine").expect("is a lock");
        assert_eq!(lock.dependencies[0].name, "a");
        assert_eq!(String::from_utf8(lock.to_yaml().expect("can be written")).expect("is text"), text);
    }

    #[test]
    fn times_are_checked() {
        let start = "cannot load requirements.lock: error unmarshaling JSON: while decoding JSON: ";
        for (text, reason) in [
            (
                "generated: 5\n",
                "json: cannot unmarshal number into Go struct field .generated of type time.Time",
            ),
            (
                "digest: [1]\ngenerated: x\n",
                "json: cannot unmarshal array into Go struct field .digest of type string",
            ),
            (
                "generated: x\n",
                "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
            ),
        ] {
            let error = Lock::read(text.as_bytes(), "requirements.lock").expect_err("no time");
            assert_eq!(error.to_string(), format!("{start}{reason}"));
        }
    }
}
