//! A recorded case: its input, the output of Helm, and the comparison.

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::report::first_difference;

/// One line of a `.jsonl` file.
pub(crate) struct Case {
    /// The stable name, used in `exceptions.tsv`.
    pub(crate) id: String,
    /// The input.
    pub(crate) input: Value,
    /// The recorded output of Helm.
    pub(crate) output: Value,
}

impl Case {
    /// Reads one line.
    pub(crate) fn parse(line: &str) -> Result<Case> {
        let mut whole: Value = serde_json::from_str(line).context("a case is not JSON")?;
        let id = whole["id"].as_str().context("a case has no id")?.to_owned();
        Ok(Case { id, input: whole["in"].take(), output: whole["out"].take() })
    }

    /// A string of the input; `<field>_b64` holds bytes that are not UTF-8.
    pub(crate) fn bytes(&self, field: &str) -> Option<Vec<u8>> {
        text_of(&self.input, field)
    }

    /// A string of the input; empty if missing.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.input[field].as_str().unwrap_or_default()
    }

    /// Whether a field of the input is true.
    pub(crate) fn flag(&self, field: &str) -> bool {
        self.input[field].as_bool().unwrap_or_default()
    }

    /// A map of strings in the input, sorted by key.
    pub(crate) fn files(&self, field: &str) -> Vec<(String, Vec<u8>)> {
        let entries = self.input[field].as_object().into_iter().flatten();
        entries
            .filter_map(|(name, _)| text_of(&self.input[field], name).map(|text| (name.clone(), text)))
            .collect()
    }

    /// Compares bytes with the recorded `field`, which may be a string or Base64.
    pub(crate) fn compare(&self, field: &str, got: &[u8]) -> Option<String> {
        compare_text(&self.output, field, got)
    }
}

fn text_of(object: &Value, field: &str) -> Option<Vec<u8>> {
    match object.get(field) {
        Some(Value::String(text)) => Some(text.clone().into_bytes()),
        _ => BASE64.decode(object.get(format!("{field}_b64"))?.as_str()?).ok(),
    }
}

/// Compares bytes with `field` of a recorded object.
pub(crate) fn compare_text(object: &Value, field: &str, got: &[u8]) -> Option<String> {
    if let Some(want) = text_of(object, field) {
        return (want != got).then(|| first_difference(&want, got));
    }
    if let Some(length) = object.get(format!("{field}_len")).and_then(Value::as_u64) {
        let digest: String = Sha256::digest(got).iter().map(|byte| format!("{byte:02x}")).collect();
        let same = length == got.len() as u64 && object[format!("{field}_sha256")] == digest.as_str();
        let head = object[format!("{field}_head")].as_str().unwrap_or_default().as_bytes();
        return (!same).then(|| {
            let got_head = &got[..got.len().min(head.len())];
            format!("{length} bytes wanted, {} got; {}", got.len(), first_difference(head, got_head))
        });
    }
    let shown: String = String::from_utf8_lossy(got).chars().take(300).collect();
    Some(format!("no {field} was recorded, got {shown:?} (recorded: {})", shorten(object)))
}

/// Truncates a JSON value for a message.
pub(crate) fn shorten(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}
