//! Names for the parts of a split hook: unique, stable, and short enough for a label.

use sha2::{Digest, Sha256};

/// The longest name. A Job's name becomes a label value, which has this limit.
const MAX_NAME_LENGTH: usize = 63;
/// How many digits of the hash a name contains.
const HASH_DIGITS: usize = 8;
/// The length of the suffix that the API server appends to `generateName`.
const GENERATE_NAME_SUFFIX_LENGTH: usize = 5;

/// The name of the part of `base` that runs at `event`, joined with a dash. If that is too long, the base is
/// truncated and a hash of the whole keeps names unique.
pub fn split_name(base: &str, event: &str) -> String {
    limited(MAX_NAME_LENGTH, base, event)
}

/// The `generateName` of the part of `base` that runs at `event`.
pub(crate) fn split_generate_name(base: &str, event: &str) -> String {
    // Without the dash at the end of the base, which the event's dash replaces.
    limited(MAX_NAME_LENGTH - GENERATE_NAME_SUFFIX_LENGTH - 1, base.trim_end_matches('-'), event) + "-"
}

fn limited(longest: usize, base: &str, event: &str) -> String {
    let whole = format!("{base}-{event}");
    if whole.len() <= longest {
        return whole;
    }
    // Of the whole name, so that bases with a common prefix get different hashes.
    let hash = hash(&whole);
    let event = cut(event, longest - HASH_DIGITS - 2);
    let room = longest - HASH_DIGITS - 2 - event.len();
    // A dot or dash before a dash would make the name invalid.
    match cut(base, room).trim_end_matches(['-', '.']) {
        "" => format!("{event}-{hash}"),
        base => format!("{base}-{event}-{hash}"),
    }
}

/// Truncates at a character boundary.
fn cut(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

/// The first digits of the text's SHA-256.
fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn short_names_are_joined_and_long_ones_hashed() {
        assert_eq!(split_name("migrate", "pre-install"), "migrate-pre-install");
        let long = "orders-service-schema-migration-runner-with-long-release-name-01";
        assert_eq!(
            split_name(long, "pre-install"),
            "orders-service-schema-migration-runner-wit-pre-install-edb1fe15"
        );
        assert_eq!(
            split_name(long, "post-rollback"),
            "orders-service-schema-migration-runner-w-post-rollback-4c79bbb1"
        );
    }

    #[test]
    fn names_are_unique_and_fit_a_label() {
        let mut seen = BTreeSet::new();
        for length in 1..200 {
            for letter in ["a", "b", "a-", "a.b", "ä"] {
                for event in ["pre-install", "post-rollback", "test", "test-success"] {
                    let base: String = letter.chars().cycle().take(length).collect();
                    let name = split_name(base.trim_end_matches(['-', '.']), event);
                    assert!(name.len() <= MAX_NAME_LENGTH, "{name}");
                    assert!(!name.contains(".-") && !name.starts_with('-'), "{name}");
                    seen.insert((base.trim_end_matches(['-', '.']).to_owned(), event, name));
                }
            }
        }
        let names: BTreeSet<&String> = seen.iter().map(|(_, _, name)| name).collect();
        assert_eq!(names.len(), seen.len());
    }

    #[test]
    fn sixty_three_letters_need_no_hash() {
        let base = "a".repeat(MAX_NAME_LENGTH - "-test".len());
        assert_eq!(split_name(&base, "test"), format!("{base}-test"));
        assert_eq!(split_name(&format!("{base}a"), "test").len(), MAX_NAME_LENGTH);
    }

    #[test]
    fn bases_without_letters_leave_the_event_and_the_hash() {
        assert!(split_name(&"-".repeat(80), "test").starts_with("test-"));
    }
}
