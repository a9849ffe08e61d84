//! Charts from registries: what goes beyond Helm, and what needs no Helm beside it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::path::PathBuf;

use crate::registries::fake::{Behavior, Fake, Reply};
use crate::support::{TestEnv, chart};

/// A registry with a chart at `charts/web:0.1.0`.
fn set_up() -> (TestEnv, Fake, String) {
    let fake = Fake::honest();
    let env = TestEnv::new();
    chart::write(&env);
    let host = fake.host.clone();
    good(env.pintle("package web"));
    good(env.pintle(&format!("push web-0.1.0.tgz oci://{host}/charts")));
    std::fs::remove_dir_all(env.path().join("web")).unwrap();
    (env, fake, format!("oci://{host}/charts/web:0.1.0"))
}

fn good(printed: String) -> String {
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    printed
}

fn requests(fake: &Fake) -> Vec<String> {
    let asked = std::mem::take(&mut *fake.log.lock().unwrap());
    asked.iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect()
}

/// The files of the content cache with this suffix.
fn cached(env: &TestEnv, suffix: &str) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(env.path().join(".cache/helm/content")).unwrap().flatten();
    let files = folders.filter(|folder| folder.path().is_dir());
    let files = files.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    files.map(|file| file.path()).filter(|path| path.to_string_lossy().ends_with(suffix)).collect()
}

#[test]
fn a_tag_costs_one_question_when_the_chart_is_in_the_cache() {
    let (env, fake, web) = set_up();
    requests(&fake);
    let first = good(env.pintle(&format!("show values {web}")));
    let asked = requests(&fake);
    assert!(asked.iter().any(|line| line.starts_with("GET /v2/charts/web/blobs/")), "{asked:?}");
    for command in ["show values", "template", "pull"] {
        good(env.pintle(&format!("{command} {web}")));
        assert_eq!(requests(&fake), ["HEAD /v2/charts/web/manifests/0.1.0"], "{command}");
    }
    // What is damaged is fetched again, wherever the damage is.
    for suffix in [".chart", ".manifest"] {
        let files = cached(&env, suffix);
        assert_eq!(files.len(), 1, "{files:?}");
        let intact = std::fs::read(&files[0]).unwrap();
        std::fs::write(&files[0], "damaged").unwrap();
        assert_eq!(good(env.pintle(&format!("show values {web}"))), first);
        assert!(requests(&fake).len() > 1, "{suffix}");
        assert_eq!(std::fs::read(&files[0]).unwrap(), intact, "{suffix}");
    }
    let listed = good(env.pintle("cache list"));
    assert!(listed.contains("web-0.1.0") && listed.contains("manifest"), "{listed}");
}

#[test]
fn a_tag_that_moved_is_noticed() {
    let (env, fake, web) = set_up();
    assert!(good(env.pintle(&format!("show values {web}"))).contains("greeting: hello"));
    chart::write(&env);
    env.write("web/values.yaml", "greeting: other\n");
    good(env.pintle("package web"));
    good(env.pintle(&format!("push web-0.1.0.tgz oci://{}/charts", fake.host)));
    assert!(good(env.pintle(&format!("show values {web}"))).contains("greeting: other"));
}

#[test]
fn a_chart_that_cannot_be_fetched_is_reported_before_a_missing_folder() {
    let (env, fake, web) = set_up();
    let missing = format!("pull oci://{}/charts/none --version 1.0.0 -d nowhere", fake.host);
    let printed = env.pintle(&missing);
    assert!(printed.contains("none:1.0.0: not found") && !printed.contains("nowhere"), "{printed}");
    let printed = env.pintle(&format!("pull {web} -d nowhere"));
    assert!(printed.contains("open nowhere/web-0.1.0.tgz: no such file or directory"), "{printed}");
}

#[test]
fn notices_about_charts_of_registries_stay_out_of_what_pintle_prints() {
    let (env, fake, web) = set_up();
    let name = format!("Pulled: {}/charts/web:0.1.0\nDigest: sha256:", fake.host);
    let printed = good(env.pintle(&format!("show values {web}")));
    assert!(printed.starts_with("exit 0\n--- stdout\ngreeting: hello\n"), "{printed}");
    assert!(printed.contains(&format!("--- stderr\n{name}")), "{printed}");
    let printed = good(env.helm(&format!("show values {web} --plain-http")));
    assert!(printed.starts_with("exit 0\n--- stdout\ngreeting: hello\n"), "{printed}");
    assert!(printed.contains(&format!("--- stderr\n{name}")), "{printed}");
    let printed = good(env.helm(&format!("template x {web} --plain-http")));
    assert!(printed.contains(&format!("--- stderr\n{name}")), "{printed}");
    let printed = good(env.helm(&format!("pull {web} -d . --plain-http")));
    assert!(printed.starts_with(&format!("exit 0\n--- stdout\n{name}")), "{printed}");
    let printed = good(env.pintle(&format!("pull {web} -d .")));
    assert!(printed.starts_with(&format!("exit 0\n--- stdout\n{name}")), "{printed}");
}

#[test]
fn charts_of_registries_are_installed_upgraded_rehearsed_and_looked_into() {
    let (env, _fake, web) = set_up();
    let cluster = "--cluster embedded:state.db";
    let printed = good(env.pintle(&format!("install one {web} --skip-crds --no-hooks {cluster}")));
    assert!(printed.contains("NAME: one"), "{printed}");
    let printed = good(env.pintle(&format!("upgrade one {web} --skip-crds --no-hooks {cluster}")));
    assert!(printed.contains("REVISION: 2"), "{printed}");
    let printed = good(env.pintle(&format!("hooks list {web}")));
    assert!(printed.contains("pre-install"), "{printed}");
    for command in ["images list", "rehearse", "lint", "schema derive"] {
        let printed = env.pintle(&format!("{command} {web}"));
        assert!(printed.contains("Pulled: ") || command == "lint", "{command}: {printed}");
    }
}

#[test]
fn versions_of_a_chart_in_a_registry_are_listed() {
    use crate::registries::program::distribution;
    let Some(registry) = distribution("") else { return };
    let env = TestEnv::new();
    chart::write(&env);
    for version in ["0.1.0", "0.2.0", "0.2.0+a", "0.10.0", "1.0.0-rc.1"] {
        good(env.pintle(&format!("package web --version {version} --app-version v{version}")));
        good(env.pintle(&format!("push web-{version}.tgz oci://{}/charts", registry.host)));
    }
    let web = format!("oci://{}/charts/web", registry.host);
    let found = |flags: &str| {
        let printed = good(env.pintle(&format!("search repo {web} -o json {flags}")));
        let json = printed.trim_start_matches("exit 0\n--- stdout\n").to_owned();
        let mut versions = Vec::new();
        for part in json.split("\"version\":\"").skip(1) {
            versions.push(part.split('"').next().unwrap().to_owned());
        }
        assert!(json.contains("\"description\":\"d\"") || versions.is_empty(), "{json}");
        versions.join(" ")
    };
    assert_eq!(found(""), "0.10.0");
    assert_eq!(found("--devel"), "1.0.0-rc.1");
    assert!(
        ["0.10.0 0.2.0+a 0.2.0 0.1.0", "0.10.0 0.2.0 0.2.0+a 0.1.0"].contains(&found("--versions").as_str())
    );
    assert_eq!(found("--version ~0.1 --versions"), "0.1.0");
    assert_eq!(found("--version >5"), "");
    let printed = good(env.pintle(&format!("search repo {web}")));
    assert!(printed.contains("NAME") && printed.contains("v0.10.0"), "{printed}");
    let printed = env.pintle(&format!("search repo oci://{}/charts/none", registry.host));
    assert!(printed.starts_with("exit 1\n"), "{printed}");
    let printed = env.pintle(&format!("search repo {web} word"));
    assert!(printed.starts_with("exit 2\n"), "{printed}");
    // Helm treats it as a search keyword.
    assert!(env.helm(&format!("search repo {web}")).contains("no repositories configured"));
}

#[test]
fn images_of_a_chart_in_a_registry_are_copied() {
    let (env, _fake, web) = set_up();
    // Its pods have no images, so the message that there is nothing to copy shows that the chart was read.
    for to in ["oci:gap", "oci://hub.example.com/mirror"] {
        let printed = env.pintle(&format!("images copy {web} {to} --dry-run"));
        assert!(printed.contains("Pulled: ") && printed.contains("there are no images to copy"), "{printed}");
    }
}

#[test]
fn a_range_of_versions_may_lead_through_an_index_to_a_registry() {
    use crate::repositories::server::Server;
    let (env, fake, _) = set_up();
    index(&env, &fake, "");
    let text = std::fs::read(env.path().join(".cache/helm/repository/r-index.yaml")).unwrap();
    let server = Server::plain(&std::sync::Arc::new([("index.yaml".to_owned(), text)].into()));
    let printed = good(env.pintle(&format!("pull web --repo http://{} --version ^0", server.address)));
    assert_eq!(printed, "exit 0\n");
    assert!(env.path().join("web-0.1.0.tgz").is_file());
}

#[test]
fn a_digest_is_enough_and_is_not_asked_for_when_its_chart_is_cached() {
    let (env, fake, web) = set_up();
    let printed = good(env.pintle(&format!("show chart {web}")));
    let digest = printed.lines().find_map(|line| line.strip_prefix("Digest: ")).unwrap().to_owned();
    requests(&fake);
    let web = format!("oci://{}/charts/web@{digest}", fake.host);
    assert!(good(env.pintle(&format!("show chart {web}"))).contains("name: web"));
    assert_eq!(requests(&fake), [""; 0]);
    good(env.pintle(&format!("pull {web}")));
    let file = format!("web@{}.tgz", digest.replace(':', "-"));
    assert!(env.path().join(file).is_file());
}

/// A configured repository whose index leads to the registry.
fn index(env: &TestEnv, fake: &Fake, digest: &str) {
    let url = format!("oci://{}/charts/web:0.1.0", fake.host);
    env.write(
        ".config/helm/repositories.yaml",
        "repositories:\n- {name: r, url: 'http://127.0.0.1:1', username: me, password: secret}\n",
    );
    env.write(
        ".cache/helm/repository/r-index.yaml",
        &format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{apiVersion: v2, name: web, version: 0.1.0, \
             digest: \"{digest}\", urls: [\"{url}\"]}}\n"
        ),
    );
}

#[test]
fn an_index_may_lead_to_a_registry_and_its_digest_counts() {
    let (env, fake, _) = set_up();
    index(&env, &fake, "");
    assert!(good(env.pintle("show values r/web")).contains("greeting: hello"));
    let wrong = "0".repeat(64);
    index(&env, &fake, &wrong);
    for command in ["show values", "pull"] {
        let printed = env.pintle(&format!("{command} r/web"));
        assert!(
            printed.starts_with("exit 1\n") && printed.contains(&format!("expected sha256:{wrong}")),
            "{printed}"
        );
    }
    good(env.pintle("pull r/web --insecure-skip-digest"));
    let right = pintle_provenance::sha256(&std::fs::read(env.path().join("web-0.1.0.tgz")).unwrap());
    index(&env, &fake, &right);
    requests(&fake);
    good(env.pintle("show values r/web"));
    assert_eq!(requests(&fake), [""; 0], "the digest of the index says what it is");
}

#[test]
fn a_registry_that_an_index_names_does_not_get_the_credentials_of_the_repository() {
    let asks = |asked: &crate::registries::fake::RecordedRequest| match asked.header("authorization") {
        "" => Behavior::Instead(Reply::new(401).with("www-authenticate", "Basic realm=\"x\"")),
        _ => Behavior::Honest,
    };
    let fake = Fake::start(asks);
    let env = TestEnv::new();
    index(&env, &fake, "");
    for flags in ["", " --username you --password other"] {
        let printed = env.pintle(&format!("show values r/web{flags}"));
        assert!(printed.starts_with("exit 1\n"), "{printed}");
    }
    let asked = fake.asked();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|asked| asked.header("authorization").is_empty()), "{asked:?}");
    // Credentials apply to a registry that the user names directly.
    env.pintle(&format!("show values oci://{}/charts/web:0.1.0 --username you --password other", fake.host));
    assert!(fake.asked().iter().any(|asked| asked.header("authorization").starts_with("Basic ")));
}
