//! Programs that call Helm get the same from this program: see `README.md`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

mod scenario;
mod side;

use std::path::PathBuf;

use pintle_testkit::{real_helm, skip};

use self::scenario::Scenario;
use self::side::Side;
use crate::repositories::server::{self, Server};
use crate::support::TestEnv;

/// Runs a scenario with both programs, and compares. What it needs is in the folder that `$PINTLE_HELM_CLIENTS` names.
fn compare(name: &str, needed: &[&str]) {
    let Some(helm) = real_helm() else {
        return skip("the real Helm 4.3.1 is missing");
    };
    let Some(folder) = std::env::var_os("PINTLE_HELM_CLIENTS").map(PathBuf::from) else {
        return skip("`cargo xtask helm-clients` runs it");
    };
    let mut programs: Vec<(&str, PathBuf)> = needed.iter().map(|name| (*name, folder.join(name))).collect();
    let place = TestEnv::new();
    programs.push(("diff", diff(&place)));
    let server = Server::plain(&server::files(&place));
    let scenario = Scenario::read(name, &format!("http://{}/charts", server.address));
    let theirs = Side::new(&place, "a", &helm, &programs, &scenario);
    let ours = Side::new(&place, "b", env!("CARGO_BIN_EXE_pintle").as_ref(), &programs, &scenario);
    let problems: Vec<String> =
        scenario.steps.iter().filter_map(|step| step.compare(&theirs, &ours)).collect();
    assert!(
        problems.is_empty(),
        "{} of {} commands differ:\n{}",
        problems.len(),
        scenario.steps.len(),
        problems.join("\n\n")
    );
}

/// The program of the plugin helm-diff. It is in no published module: without `$PINTLE_HELM_DIFF` it is ours, which is compared
/// with it elsewhere.
fn diff(place: &TestEnv) -> PathBuf {
    if let Some(path) = std::env::var_os("PINTLE_HELM_DIFF") {
        return path.into();
    }
    // With plugins, this one would replace the built-in command and call itself.
    let script =
        format!("#!/bin/sh\nHELM_NO_PLUGINS=1 exec '{}' diff \"$@\"\n", place.linked("helm").display());
    place.write("diff.sh", &script);
    let path = place.path().join("diff.sh");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}

#[test]
fn helmfile_renders_lists_and_checks() {
    compare("helmfile_render", &["helmfile"]);
}

#[test]
fn helmfile_deploys_and_destroys() {
    compare("helmfile_deploy", &["helmfile"]);
}

#[test]
fn helmfile_uses_repositories_environments_and_remote_values() {
    compare("helmfile_remote", &["helmfile"]);
}

#[test]
fn kustomize_inflates_charts() {
    compare("kustomize", &["kustomize"]);
}

#[test]
fn unittest_runs_as_a_plugin() {
    compare("unittest", &["untt"]);
}

#[test]
fn diff_runs_as_a_plugin() {
    compare("diff", &[]);
}
