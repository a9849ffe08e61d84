//! What users set in their editor: `initializationOptions`, or the section `pintle` of `workspace/didChangeConfiguration`.

use serde_json::Value;

use crate::scenario::Configured;

/// What users set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Values files of environments, by name; they are checked like those in `ci`.
    pub scenarios: Vec<Configured>,
    /// Whether documents are formatted.
    pub formatting: bool,
}

impl Settings {
    /// Reads settings. Unknown keys and wrong types are passed over: editors send what other servers know, too.
    pub fn read(value: &Value) -> Self {
        let own = value.get("pintle").unwrap_or(value);
        let formatting = &own["formatting"];
        Settings {
            scenarios: Configured::read_all(&own["scenarios"]),
            formatting: formatting.as_bool().or_else(|| formatting["enable"].as_bool()).unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_read_with_and_without_their_section_and_wrong_types_are_passed_over() {
        let settings = Settings::read(
            &json!({"pintle": {"formatting": true, "scenarios": {"prod": ["a.yaml", "b.yaml"], "dev": "c.yaml", "x": 1}}}),
        );
        assert!(settings.formatting);
        let named: Vec<_> =
            settings.scenarios.iter().map(|one| (one.name.as_str(), one.files.len())).collect();
        assert_eq!(named, [("dev", 1), ("prod", 2)]);
        assert!(Settings::read(&json!({"formatting": {"enable": true}})).formatting);
        assert_eq!(Settings::read(&json!([1])), Settings::default());
        assert_eq!(Settings::read(&Value::Null), Settings::default());
    }
}
