//! Validation of release names.

use pintle_tree::{LogLevel, LogLine};

use crate::{Error, Reporter, Result};

/// Helm's limit. It leaves room for the suffixes that charts append within the 63 characters of a DNS label.
const MAX_NAME_LENGTH: usize = 53;

/// Returns whether a release may have this name.
pub(crate) fn is_valid(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_LENGTH && is_subdomain(name)
}

/// Fails for an invalid release name, with the error of an install.
pub(crate) fn check(name: &str, reporter: &mut dyn Reporter) -> Result<()> {
    if is_valid(name) {
        return Ok(());
    }
    let reason = if name.is_empty() {
        "no name provided".to_owned()
    } else {
        let pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
        format!("invalid release name, must match regex {pattern} and the length must not be longer than 53")
    };
    Err(check_failed(Error::BadReleaseName { name: name.to_owned(), reason }, reporter))
}

/// Logs a failed name check as Helm does, and returns it.
pub(crate) fn check_failed(error: Error, reporter: &mut dyn Reporter) -> Error {
    let text = error.to_string();
    let cause = text.trim_start_matches("release name check failed: ").to_owned();
    let attributes = vec![("error", cause)];
    reporter.log(LogLine { level: LogLevel::Error, message: "release name check failed".into(), attributes });
    error
}

fn is_subdomain(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.split('.').all(|label| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|&first| word(first))
            && bytes.last().is_some_and(|&last| word(last))
            && bytes.iter().all(|&byte| word(byte) || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn names_are_subdomains_of_at_most_53_characters() {
        for good in ["a", "web", "a.b-c", "0", &"a".repeat(53)] {
            assert!(is_valid(good), "{good}");
        }
        for bad in ["", "A", "-a", "a-", "a..b", "a_b", &"a".repeat(54)] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
