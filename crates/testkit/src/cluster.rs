//! Tests that need a cluster and do not run for want of one, or of a part of it.

use std::fs::File;
use std::io::Write as _;

/// Ends a test on our own API that needs a real Kubernetes, and says why. First thing in a test:
///
/// ```no_run
/// # fn a_test() {
/// pintle_testkit::needs_real!("asks a server that knows who may do what");
/// # }
/// ```
#[macro_export]
macro_rules! needs_real {
    ($why:literal) => {
        // Its path tells the name of the test.
        fn here() {}
        if $crate::is_embedded(std::any::type_name_of_val(&here), $why) {
            return;
        }
    };
}

/// Returns whether the tests run on our own API, and if so, that one is skipped for that reason. `place` is a path that
/// ends below the test.
pub fn is_embedded(place: &str, why: &str) -> bool {
    let embedded = std::env::var("PINTLE_E2E_LEVEL").is_ok_and(|level| level == "embedded");
    if embedded {
        skip(&format!("{} needs a real Kubernetes: it {why}", test_at(place)));
    }
    embedded
}

/// The name of the test in a path such as `hooks::a_test::{{closure}}::here`.
fn test_at(place: &str) -> &str {
    place.rsplit("::").skip(1).find(|part| !part.starts_with('{')).unwrap_or(place)
}

/// Says that a test did not run. Not with `println`: of tests that pass, the test program shows nothing that goes there.
///
/// # Panics
/// When the list of skipped tests cannot be written.
pub fn skip(why: &str) {
    // One write, so that lines of tests side by side stay whole.
    let line = format!("skipped: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    // Whoever runs many tests lists all of them at the end.
    if let Some(path) = std::env::var_os("PINTLE_E2E_SKIPPED") {
        let list = File::options().create(true).append(true).open(path);
        list.and_then(|mut list| list.write_all(line.as_bytes()))
            .expect("the list of skipped tests can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_known_by_the_place_of_something_in_it() {
        assert_eq!(test_at("hooks::a_hook_runs::here"), "a_hook_runs");
        assert_eq!(test_at("live::a_hook_runs::{{closure}}::{{closure}}::here"), "a_hook_runs");
    }
}
