//! Charts from registries, beside Helm.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::path::PathBuf;

use super::{Archives, Side, charts, compare, guarded, keys, sides};
use crate::registries::program::{Program, distribution};
use crate::support::TestEnv;

/// Charts in a registry, pushed by the real Helm; gives the digests of `web:1.0.0` and `signed`.
fn push_charts(helm: &Side, host: &str, flags: &str) -> (String, String) {
    let run = |line: &str| {
        let outcome = helm.run(line);
        assert_eq!(outcome.code, 0, "{line}: {outcome:?}");
        let digest = outcome.stdout.lines().find_map(|line| line.strip_prefix("Digest: "));
        digest.unwrap_or_default().to_owned()
    };
    run("package web next pre plus old -d packed");
    run("package signed -d packed --sign --key Anne --keyring secret.gpg");
    let push = |archive: &str| run(&format!("push packed/{archive}.tgz oci://{host}/charts {flags}"));
    for archive in ["web-1.1.0", "web-2.0.0-rc.1", "web-1.0.0+build.5", "old-0.1.0"] {
        push(archive);
    }
    let digests = (push("web-1.0.0"), push("signed-1.0.0"));
    std::fs::remove_dir_all(helm.work().join("packed")).unwrap();
    digests
}

/// What both sides find: charts, folders to pull into, a repository whose index leads to `host`.
fn prepare(side: &Side, place: &TestEnv, host: &str) {
    charts(side);
    let write = |path: PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(side.work().join("signed/Chart.yaml"), "apiVersion: v2\nname: signed\nversion: 1.0.0\n");
    for folder in ["two", "a", "c", "d", "mixed", "login", "signed", "unsigned", "verified", "tls"] {
        std::fs::create_dir_all(side.work().join("pulled").join(folder)).unwrap();
    }
    for file in ["ca.pem", "server.pem", "server.key"] {
        std::fs::copy(place.path().join(file), side.work().join(file)).unwrap();
    }
    write(
        side.home().join(".config/helm/repositories.yaml"),
        "apiVersion: \"\"\ngenerated: \"0001-01-01T00:00:00Z\"\nrepositories:\n\
         - {name: mixed, url: \"http://127.0.0.1:1\"}\n",
    );
    let entry = |name: &str, version: &str| {
        let url = format!("oci://{host}/charts/{name}:{version}");
        format!("  - {{apiVersion: v2, name: {name}, version: {version}, urls: [\"{url}\"]}}\n")
    };
    let index = format!(
        "apiVersion: v1\nentries:\n  web:\n{}{}  gone:\n{}",
        entry("web", "1.1.0"),
        entry("web", "1.0.0"),
        entry("gone", "1.0.0")
    );
    write(side.home().join(".cache/helm/repository/mixed-index.yaml"), &index);
}

/// A registry with a certificate of its own authority, and one that wants such a certificate of its clients.
fn with_certificates(place: &TestEnv) -> Option<[Program; 2]> {
    crate::images_copy::certificates(place);
    let here = place.path().display();
    let tls = format!("  tls:\n    certificate: {here}/server.pem\n    key: {here}/server.key\n");
    Some([distribution(&tls)?, distribution(&format!("{tls}    clientcas: [{here}/ca.pem]\n"))?])
}

#[test]
fn charts_of_registries_are_used_as_helm_uses_them() {
    let place = TestEnv::new();
    let Some(sides) = sides(&place) else { return };
    let (Some(plain), Some(locked)) = (distribution(""), guarded(place.path())) else { return };
    let Some([tls, mutual]) = with_certificates(&place) else { return };
    if !keys(&place, &sides) {
        return;
    }
    for side in &sides {
        prepare(side, &place, &plain.host);
    }
    let helm = &sides[0];
    let (digest, signed) = push_charts(helm, &plain.host, "--plain-http");
    push_charts(helm, &locked.host, "--plain-http --username me --password pw");
    push_charts(helm, &tls.host, "--ca-file ca.pem");
    push_charts(helm, &mutual.host, "--ca-file ca.pem --cert-file server.pem --key-file server.key");
    let zeros = "0".repeat(64);
    let replace = [
        ("{plain}", plain.host.as_str()),
        ("{guarded}", &locked.host),
        ("{tls}", &tls.host),
        ("{mutual}", &mutual.host),
        ("{closed}", "127.0.0.1:1"),
        ("{digest}", &digest),
        ("{signed}", &signed),
        ("{zeros}", &zeros),
    ];
    compare(&sides, Archives::Pulled, include_str!("oci.txt"), &replace);
}
