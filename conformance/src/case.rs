//! One recorded case: its input, its output, and how texts are compared.

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::report::first_difference;

/// One line of a `.jsonl` file.
pub(crate) struct Case {
    /// Stable name.
    pub(crate) id: String,
    /// What was done.
    pub(crate) input: Value,
    /// What Helm answered.
    pub(crate) output: Value,
}

impl Case {
    /// Reads one line.
    pub(crate) fn parse(line: &str) -> Result<Case> {
        let mut whole: Value = serde_json::from_str(line).context("a case is not JSON")?;
        let id = whole["id"].as_str().context("a case has no id")?.to_owned();
        Ok(Case { id, input: whole["in"].take(), output: whole["out"].take() })
    }

    /// A text of the input, which may be given as bytes under `<field>_b64`.
    pub(crate) fn bytes(&self, field: &str) -> Option<Vec<u8>> {
        text_of(&self.input, field)
    }

    /// A text of the input, or empty.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.input[field].as_str().unwrap_or_default()
    }

    /// Whether a field of the input is true.
    pub(crate) fn flag(&self, field: &str) -> bool {
        self.input[field].as_bool().unwrap_or_default()
    }

    /// A map of texts in the input, in order of its keys.
    pub(crate) fn files(&self, field: &str) -> Vec<(String, Vec<u8>)> {
        let entries = self.input[field].as_object().into_iter().flatten();
        entries
            .filter_map(|(name, _)| text_of(&self.input[field], name).map(|text| (name.clone(), text)))
            .collect()
    }

    /// Compares a text with the recorded one under `field`, in whichever form that was recorded.
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

/// Compares a text with the one recorded under `field` of `object`.
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

/// The beginning of a JSON value.
pub(crate) fn shorten(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}
