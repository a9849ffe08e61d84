//! The query string and the options in it.

use crate::status::{Status, StatusCause};

#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Query(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(a, b)| (percent_decode(a), percent_decode(b)))
                .collect(),
        )
    }

    /// The first value of `name`, or the empty string.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub(super) fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Whether `name` is a true boolean: everything but `0` and `false` is, even an empty value.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.has(name) && !matches!(self.get(name).to_ascii_lowercase().as_str(), "0" | "false")
    }

    /// The integer `name`, if present.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = |_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
        text.parse().map(Some).map_err(wrong)
    }
}

/// Decodes `%xx` and `+`. Invalid escapes are left as they are.
pub(super) fn percent_decode(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escape = after.get(..2).filter(|_| *first == b'%');
        let digits = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What happens to unknown and duplicate fields (`fieldValidation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// Dropped silently.
    Ignore,
    /// Dropped, with a warning.
    Warn,
    /// Rejected.
    Strict,
}

/// The options that all writes share.
#[derive(Clone, Debug)]
pub(super) struct WriteOptions {
    pub(super) dry_run: bool,
    pub(super) validation: FieldValidation,
    /// Empty if not set; the user agent is used then.
    pub(super) manager: String,
    pub(super) force: bool,
}

impl WriteOptions {
    /// Parses the options; `kind` is their name in errors, such as `CreateOptions`.
    pub(super) fn parse(query: &Query, kind: &str) -> Result<WriteOptions, Status> {
        let mut causes = Vec::new();
        let dry_run = dry_run(query.all("dryRun").collect::<Vec<_>>().as_slice(), &mut causes);
        let manager = query.get("fieldManager").to_owned();
        check_manager(&manager, &mut causes);
        let validation = match query.get("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                causes.push(StatusCause::not_supported(
                    "fieldValidation",
                    &other.into(),
                    &["", "Ignore", "Strict", "Warn"],
                ));
                FieldValidation::Ignore
            }
        };
        if causes.is_empty() {
            let force = query.is_set("force");
            return Ok(WriteOptions { dry_run, validation, manager, force });
        }
        Err(Status::invalid("meta.k8s.io", kind, "", causes))
    }
}

/// Whether `dryRun` is set. `All` is the only valid value.
pub(super) fn dry_run(values: &[&str], causes: &mut Vec<StatusCause>) -> bool {
    if values.iter().any(|value| *value != "All") {
        let shown: Vec<pintle_tree::Node> = values.iter().map(|value| (*value).into()).collect();
        causes.push(StatusCause::not_supported("dryRun", &shown.into(), &["All"]));
    }
    !values.is_empty()
}

fn check_manager(manager: &str, causes: &mut Vec<StatusCause>) {
    if manager.len() > 128 {
        let message = "Too long: may not be more than 128 bytes".to_owned();
        causes.push(StatusCause { reason: "FieldValueTooLong", message, field: "fieldManager".to_owned() });
    }
    for (position, letter) in manager.chars().enumerate().filter(|(_, letter)| letter.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(letter));
        let shown = pintle_tree::quote::quote(manager.as_bytes());
        let message = format!("Invalid value: {shown}: {detail}");
        causes.push(StatusCause { reason: "FieldValueInvalid", message, field: "fieldManager".to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_invalid_ones_are_kept() {
        assert_eq!(percent_decode("a%3Db+c%zz%4"), "a=b c%zz%4");
        assert_eq!(percent_decode("%c3%bc"), "ü");
        let query = Query::parse("watch=1&a&b=%26&b=2");
        assert!(query.is_set("watch") && query.is_set("a") && !query.is_set("c"));
        assert_eq!(query.all("b").collect::<Vec<_>>(), ["&", "2"]);
    }
}
