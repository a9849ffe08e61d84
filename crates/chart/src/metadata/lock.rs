//! Decodes Chart.lock and requirements.lock.

use pintle_tree::Node;

use super::{Lock, Timestamp, draft};
use crate::decode::{Decoder, FieldPath, read_tree};
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
        let mut bad_time = None;
        let mut decoder = Decoder::new(false);
        decoder.document(&tree, "v2.Lock", &LOCK, |decoder, name, value| {
            let field = FieldPath { structure: "Lock", path: name };
            match name {
                "digest" => decoder.string(value, field, &mut lock.digest),
                "dependencies" => {
                    decoder.structs(value, field, "v2.Dependency", &mut dependencies, draft::dependency);
                }
                _ => match time(value) {
                    Ok(text) => lock.generated = text,
                    // An invalid time aborts Go's decoding at once, and replaces an earlier type error.
                    Err(reason) => {
                        bad_time.get_or_insert(reason);
                    }
                },
            }
        });
        let result = match bad_time {
            Some(reason) => Err(format!("error unmarshaling JSON: while decoding JSON: {reason}")),
            None => decoder.finish(),
        };
        result.map_err(|reason| Error::File { file, reason, line: None })?;
        lock.dependencies = dependencies.into_iter().flatten().collect();
        Ok(Some(lock))
    }
}

fn time(value: &Node) -> std::result::Result<String, String> {
    match value {
        Node::Nil => Ok(String::new()),
        Node::Str(text) => {
            let text = text.to_str_lossy();
            Timestamp::parse(&text).map(|_| text.into_owned())
        }
        _ => Err("Time.UnmarshalJSON: input is not a JSON string".to_owned()),
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
        let error = Lock::read(b"generated: 5\n", "requirements.lock").expect_err("no time");
        assert_eq!(
            error.to_string(),
            "cannot load requirements.lock: error unmarshaling JSON: while decoding JSON: Time.UnmarshalJSON: \
             input is not a JSON string"
        );
    }
}
