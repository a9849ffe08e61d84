//! Runs the same commands with the real Helm and with this program called `helm`, on the same servers and each in its own
//! home; exit codes, output and the files left behind are compared.
//!
//! `beside_helm/scenarios` has one file per family of commands:
//!
//! | line | meaning |
//! |---|---|
//! | `== words` | begins a scenario, with two empty homes |
//! | `$ [NAME=value …] command [<<< input]` | runs a command, and compares everything |
//! | `? command` | the same without standard error; the comment above gives the reason |
//! | `% command` | compares only the exit code |
//! | `~ command` | differs on purpose, as described in COMPATIBILITY.md; it is only checked that it does |
//! | `@write PATH TEXT`, `@copy FILE PATH`, `@mkdir PATH`, `@remove PATH`, `@chmod MODE PATH` | change both homes |
//! | `@charts`, `@packed`, `@keys`, `@certificates` | put charts, archives, keyrings or certificates into both homes |
//! | `@own-archives` | both programs make the archives of this scenario, so digests of archives differ |
//!
//! `{plain}`, `{other}` and `{tls}` are addresses of HTTP servers (see `repositories/server.rs`; `/signed` has the archives of
//! the registries), `{registry}`, `{guarded}`
//! (user `me`, password `pw`), `{tls-registry}` and `{mutual-registry}` hosts of registries, `{closed}` refuses
//! connections, `{home}` is the home, `{server}` the folder of the servers. `SCENARIO=words` runs only scenarios with these
//! words in their names; `SCENARIOS=FOLDER` reads the files from another folder, to try commands that are not here.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

pub(crate) mod fixtures;
mod scenario;
mod side;
mod turns;

use fixtures::World;
use pintle_testkit::{real_helm, skip};
use scenario::Family;

use crate::support::TestEnv;

/// The families of commands, with what their files are called.
const FAMILIES: [&str; 15] = [
    "argo_cd",
    "completion",
    "dependency",
    "functions",
    "index",
    "oci",
    "package",
    "provenance",
    "pull",
    "registry",
    "repo",
    "search",
    "settings",
    "show",
    "suites",
];

/// Runs the scenarios of a family with both programs.
fn compare(family: &str) {
    let Some(helm) = real_helm() else {
        skip("the real Helm 4.3.1 is missing");
        return;
    };
    let family = Family::read(family);
    let place = TestEnv::new();
    let Some(world) = World::start(&place, &helm, &family.text) else { return };
    let differences = family.run(&world);
    assert!(
        differences.is_empty(),
        "{} of {} commands differ:\n{}",
        differences.len(),
        family.commands(),
        differences.join("\n\n")
    );
}

#[test]
fn repositories_are_managed_as_by_helm() {
    compare("repo");
}

#[test]
fn indexes_are_read_and_written_as_by_helm() {
    compare("index");
}

#[test]
fn repositories_are_searched_as_by_helm() {
    compare("search");
}

#[test]
fn charts_are_found_and_pulled_as_by_helm() {
    compare("pull");
}

#[test]
fn dependencies_are_managed_as_by_helm() {
    compare("dependency");
}

#[test]
fn registries_are_used_as_by_helm() {
    compare("registry");
}

#[test]
fn charts_of_registries_are_used_as_by_helm() {
    compare("oci");
}

#[test]
fn charts_are_packaged_as_by_helm() {
    compare("package");
}

#[test]
fn charts_are_signed_and_verified_as_by_helm() {
    compare("provenance");
}

#[test]
fn values_are_converted_as_by_helm() {
    compare("functions");
}

#[test]
fn charts_are_shown_as_by_helm() {
    compare("show");
}

#[test]
fn settings_are_taken_as_by_helm() {
    compare("settings");
}

#[test]
fn the_suites_of_helm_and_chartmuseum_go_on_as_with_helm() {
    compare("suites");
}

#[test]
fn words_are_completed_as_by_helm() {
    compare("completion");
}

#[test]
fn argo_cd_gets_what_it_gets_from_helm() {
    compare("argo_cd");
}

/// What is promised of all scenarios together: 99 of 100 commands have equal exit codes and standard output, 97 of 100 equal
/// standard error.
#[test]
fn few_scenarios_are_exempt_from_the_comparison() {
    let families = FAMILIES.map(Family::read);
    let count = |marks: &[char]| families.iter().map(|family| family.marked(marks)).sum::<usize>();
    let all = count(&['$', '?', '%', '~']);
    assert!(all >= 300, "only {all} commands");
    assert!(count(&['%', '~']) * 100 <= all, "{} of {all} commands print something else", count(&['%', '~']));
    assert!(
        count(&['?', '%', '~']) * 100 <= all * 3,
        "{} of {all} say something else",
        count(&['?', '%', '~'])
    );
}
