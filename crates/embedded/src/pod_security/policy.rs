//! The policy of a namespace: the labels `pod-security.kubernetes.io/…`.

use std::fmt;

use pintle_tree::Node;

use crate::fields::at;
use crate::status::StatusCause;

/// The levels, in order of strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    fn read(word: &str) -> Option<Level> {
        Some(match word {
            "privileged" => Level::Privileged,
            "baseline" => Level::Baseline,
            "restricted" => Level::Restricted,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        }
    }
}

/// A level and its version; `None` is `latest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standard {
    pub(crate) level: Level,
    pub(crate) version: Option<u32>,
}

impl Standard {
    const NONE: Standard = Standard { level: Level::Privileged, version: None };
}

impl fmt::Display for Standard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(minor) => write!(formatter, "{}:v1.{minor}", self.level.as_str()),
            None => write!(formatter, "{}:latest", self.level.as_str()),
        }
    }
}

/// The policy of a namespace. The mode `audit` is validated only, as there is no audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Violating pods are rejected.
    pub(crate) enforce: Standard,
    /// Violating pods and workloads get a warning.
    pub(crate) warn: Standard,
}

const PREFIX: &str = "pod-security.kubernetes.io/";

impl Policy {
    /// Parses the labels of a namespace and returns their problems. As in the real plugin, an invalid `enforce` is
    /// treated as restricted, and an invalid `warn` as privileged.
    pub(crate) fn from_labels(namespace: &Node) -> (Policy, Vec<StatusCause>) {
        let mut labels = Labels { namespace, causes: Vec::new() };
        let (level, enforced_version) = labels.standard("enforce");
        let enforce = Standard {
            level: level.map_or(Level::Privileged, |level| level.unwrap_or(Level::Restricted)),
            version: enforced_version.flatten(),
        };
        // Only validated, as there is no audit log.
        labels.standard("audit");
        let (warned, version) = labels.standard("warn");
        let warn = match warned {
            Some(warned) => {
                Standard { level: warned.unwrap_or(Level::Privileged), version: version.flatten() }
            }
            // Without a `warn` label, the enforced standard is also warned of, so that workloads whose pods would be
            // rejected get a warning.
            None if matches!(level, Some(Some(_))) && enforce.level > Level::Privileged => {
                Standard { level: enforce.level, version: version.unwrap_or(enforce.version) }
            }
            None => Standard { version: version.flatten(), ..Standard::NONE },
        };
        (Policy { enforce, warn }, labels.causes)
    }
}

struct Labels<'n> {
    namespace: &'n Node,
    causes: Vec<StatusCause>,
}

impl Labels<'_> {
    /// Level and version of one mode: the outer `None` is an absent label, the inner one an invalid level or
    /// `latest`.
    fn standard(&mut self, use_of: &str) -> (Option<Option<Level>>, Option<Option<u32>>) {
        let level = self.label(use_of).map(|word| {
            let level = Level::read(&word);
            if level.is_none() {
                self.add_error(use_of, &word, "must be one of privileged, baseline, restricted");
            }
            level
        });
        let name = format!("{use_of}-version");
        let version = self.label(&name).map(|word| match read_version(&word) {
            Some(version) => version,
            None => {
                self.add_error(&name, &word, "must be \"latest\" or \"v1.x\"");
                None
            }
        });
        (level, version)
    }

    fn label(&self, name: &str) -> Option<String> {
        let key = format!("{PREFIX}{name}");
        Some(at(self.namespace, &["metadata", "labels", &key])?.as_str()?.to_owned())
    }

    fn add_error(&mut self, name: &str, word: &str, why: &str) {
        let field = format!("metadata.labels[{PREFIX}{name}]");
        self.causes.push(StatusCause::invalid(field, &word.into(), why));
    }
}

/// Parses `latest` (the inner `None`) or `v1.N` without leading zeros.
fn read_version(word: &str) -> Option<Option<u32>> {
    if word == "latest" {
        return Some(None);
    }
    let minor = word.strip_prefix("v1.")?;
    let is_number = minor.bytes().all(|it| it.is_ascii_digit()) && (minor == "0" || !minor.starts_with('0'));
    if is_number { minor.parse().ok().map(Some) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[(&str, &str)]) -> (String, String, usize) {
        let labels: Vec<String> =
            labels.iter().map(|(name, word)| format!("{PREFIX}{name}: {word}")).collect();
        let text = format!("metadata: {{labels: {{{}}}}}", labels.join(", "));
        let (policy, causes) = Policy::from_labels(&pintle_yaml::read(text.as_bytes()).unwrap());
        (policy.enforce.to_string(), policy.warn.to_string(), causes.len())
    }

    #[test]
    fn the_policy_is_parsed_from_namespace_labels() {
        let expected = |enforce: &str, warn: &str, causes| (enforce.to_owned(), warn.to_owned(), causes);
        assert_eq!(read(&[]), expected("privileged:latest", "privileged:latest", 0));
        assert_eq!(
            read(&[("enforce", "baseline"), ("enforce-version", "v1.30")]),
            expected("baseline:v1.30", "baseline:v1.30", 0),
            "what is enforced is warned of"
        );
        assert_eq!(
            read(&[("enforce", "restricted"), ("warn", "privileged"), ("warn-version", "v1.2")]),
            expected("restricted:latest", "privileged:v1.2", 0)
        );
        assert_eq!(
            read(&[("enforce", "none"), ("warn", "none"), ("audit", "none"), ("audit-version", "v1.01")]),
            expected("restricted:latest", "privileged:latest", 4),
            "what cannot be read is enforced, not warned of"
        );
    }
}
