//! A range on the first line and versions on the others: parsing, checking and ordering.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_semver::{Constraint, MAX_VERSION_LENGTH, Version};

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let range = Constraint::parse(lines.next().unwrap_or_default());
    let versions: Vec<Version> = lines.take(3).filter_map(|line| Version::parse(line).ok()).collect();
    for version in &versions {
        let printed = version.to_string();
        // Printing fills in the parts that were left out, which can make a version longer than what is read.
        if printed.len() <= MAX_VERSION_LENGTH {
            let again = Version::parse_strict(&printed).expect("a printed version is a strict one");
            assert!(again.compare(version).is_eq(), "printing changed {printed}");
        }
        if let Ok(range) = &range {
            let reasons = range.validate(version);
            assert_eq!(
                range.check(version),
                reasons.is_empty(),
                "checking and validating disagree on {printed}"
            );
        }
    }
    if let [a, b, ..] = &versions[..] {
        assert_eq!(a.compare(b), b.compare(a).reverse(), "the order of {a} and {b} depends on who asks");
    }
    if let Ok(range) = range {
        let printed = range.to_string();
        assert!(!printed.is_empty());
    }
});
