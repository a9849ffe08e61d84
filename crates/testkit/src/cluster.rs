//! Skips tests that need a real cluster, or a feature that the embedded one lacks.

use std::fs::File;
use std::io::Write as _;

/// Skips a test that needs a real Kubernetes when running on the embedded cluster. Must be the first statement of a test:
///
/// ```no_run
/// # fn a_test() {
/// pintle_testkit::needs_real!("asks a server that knows who may do what");
/// # }
/// ```
#[macro_export]
macro_rules! needs_real {
    ($why:literal) => {
        // The type name contains the name of the test.
        fn here() {}
        if $crate::is_embedded(std::any::type_name_of_val(&here), $why) {
            return;
        }
    };
}

/// Returns whether the tests run on the embedded cluster, and if so, reports the skip. `path` is the type path of an
/// item inside the test.
pub fn is_embedded(path: &str, why: &str) -> bool {
    let embedded = std::env::var("PINTLE_E2E_LEVEL").is_ok_and(|level| level == "embedded");
    if embedded {
        skip(&format!("{} needs a real Kubernetes: it {why}", test_at(path)));
    }
    embedded
}

/// The name of the test in a path such as `hooks::a_test::{{closure}}::here`.
fn test_at(path: &str) -> &str {
    path.rsplit("::").skip(1).find(|part| !part.starts_with('{')).unwrap_or(path)
}

/// Reports that a test was skipped. Not with `println!`: the test harness captures that for passing tests.
///
/// # Panics
/// When the list of skipped tests cannot be written.
pub fn skip(why: &str) {
    // One write, so that lines of concurrent tests do not interleave.
    let line = format!("skipped: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    // The runner lists all skipped tests at the end.
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
