//! What follows from knowing where charts come from: `dependency add` and `upgrade`, `--recursive`, `outdated`, and schemas
//! that charts refer to by URL.

use std::fs;

use super::good;
use super::server::Server;
use crate::support::TestEnv;

/// With the repository `r`.
fn set_up() -> (TestEnv, Server) {
    let (place, server) = super::set_up();
    good(place.pintle(&format!("repo add r http://{}/charts", server.address)));
    (place, server)
}

#[test]
fn dependencies_are_added_and_upgraded_in_chart_yaml() {
    let (place, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    place.write("app/Chart.yaml", "apiVersion: v2\nname: app # ours\nversion: 0.1.0\n");
    let told =
        good(place.pintle("dependency add r/web app --version 1.0.0 --alias front --condition front.on"));
    assert!(told.contains(&format!("Added web 1.0.0 from {url}\n")), "{told}");
    assert!(place.path().join("app/charts/web-1.0.0.tgz").is_file());
    // Without a version, the newest is looked up.
    good(place.pintle(&format!("dependency add db app --repo {url}")));
    let read = || fs::read_to_string(place.path().join("app/Chart.yaml")).expect("it is there");
    let text = read();
    assert!(text.starts_with("apiVersion: v2\nname: app # ours\n"), "{text}");
    assert!(text.contains("^0.3.0") && text.contains("condition: front.on"), "{text}");
    let told = place.pintle("dependency add r/db app");
    assert!(told.contains("the chart already depends on \"db\""), "{told}");
    let told = good(place.pintle("dependency upgrade front app"));
    assert!(told.contains("Upgraded web from 1.0.0 to 1.1.0\n"), "{told}");
    assert!(read().contains("1.1.0"));
    assert!(place.path().join("app/charts/web-1.1.0.tgz").is_file());
    assert!(!place.path().join("app/charts/web-1.0.0.tgz").exists());
    let told = good(place.pintle("dependency upgrade front app"));
    assert!(told.contains("allows 1.1.0, the newest version"), "{told}");
    let told = good(place.pintle("dependency upgrade front app --devel"));
    assert!(told.contains("to 2.0.0-rc.1\n"), "{told}");
    let told = place.pintle("dependency upgrade nothing app");
    assert!(told.contains("the chart does not depend on \"nothing\"") && told.contains("web, db"), "{told}");
    let told = place.pintle("dependency add web app");
    assert!(told.contains("does not say which repository"), "{told}");
    let told = good(place.pintle("dependency list app -o json"));
    assert!(told.contains(r#""name":"web","version":"2.0.0-rc.1""#), "{told}");
}

#[test]
fn charts_in_folders_are_built_first_with_recursive() {
    let (place, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    let near = |name: &str, below: &str| {
        place.write(
            &format!("{name}/Chart.yaml"),
            &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\ndependencies:\n- {below}\n"),
        );
    };
    near("app", "{name: middle, version: 0.1.0, repository: 'file://../middle'}");
    near("middle", &format!("{{name: web, version: ^1, repository: '{url}'}}"));
    let told = place.pintle("template x app");
    assert!(!told.starts_with("exit 0"), "{told}");
    let told = good(place.pintle("dependency update app --recursive"));
    assert!(told.find("==> middle").is_some() || told.contains("/middle"), "{told}");
    assert_eq!(told.matches("Hang tight").count(), 1, "{told}");
    let told = good(place.pintle("template x app"));
    assert!(told.contains("middle/charts/web/templates/config.yaml"), "{told}");
    good(place.pintle("dependency build app --recursive --skip-refresh"));
    near("middle", "{name: app, version: 0.1.0, repository: 'file://../app'}");
    let told = place.pintle("dependency build app --recursive");
    assert!(told.contains("charts depend on each other"), "{told}");
}

#[test]
fn releases_with_newer_charts_are_listed() {
    let (place, server) = set_up();
    let cluster = "--cluster embedded:cluster.db";
    good(place.pintle(&format!("install old r/web --version 1.0.0 {cluster}")));
    good(place.pintle(&format!(
        "install new r/web {cluster} --set greeting=x --namespace other --create-namespace"
    )));
    good(place.pintle(&format!(
        "install local archives/db-0.3.0.tgz {cluster} --namespace third --create-namespace"
    )));
    let told = good(place.pintle(&format!("outdated {cluster}")));
    assert!(told.contains("old") && told.contains("1.0.0") && told.contains("1.1.0"), "{told}");
    assert!(!told.contains("local"), "{told}");
    let told = good(place.pintle(&format!("outdated {cluster} -A --all -o json")));
    let source = format!("http://{}/charts", server.address);
    assert!(
        told.contains(&format!(
            r#""name":"old","namespace":"default","chart":"web","installed":"1.0.0","newest":"1.1.0","status":"outdated","source":"{source}""#
        )),
        "{told}"
    );
    assert!(told.contains(r#""name":"new""#) && told.contains(r#""status":"up to date""#), "{told}");
    // A chart without a source is looked for by its name.
    assert!(told.contains(r#""name":"local""#), "{told}");
    let told = place.pintle(&format!("outdated {cluster} --fail-on-outdated"));
    assert!(told.starts_with("exit 1\n") && told.contains("there are outdated releases"), "{told}");
    good(place.pintle(&format!("upgrade old r/web {cluster}")));
    let told = good(place.pintle(&format!("outdated {cluster}")));
    assert_eq!(told, "exit 0\n--- stdout\nNo outdated releases\n");
}

#[test]
fn the_source_of_a_chart_is_an_annotation_of_helms_secrets() {
    let (place, server) = set_up();
    let cluster = "--cluster embedded:cluster.db";
    let told = place.called("pintle", &format!("install x r/web {cluster}"), &[("HELM_DRIVER", "secret")]);
    good(told);
    let told = good(place.called(
        "pintle",
        &format!("outdated {cluster} --all -o json"),
        &[("HELM_DRIVER", "secret")],
    ));
    assert!(told.contains(&format!(r#""source":"http://{}/charts""#, server.address)), "{told}");
}

#[test]
fn schemas_are_fetched_by_their_url_and_kept() {
    let (place, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    place
        .write("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 0.1.0\n")
        .write("app/values.yaml", "greeting: 1\n")
        .write("app/values.schema.json", &format!(r#"{{"$ref":"{url}/schema.json"}}"#));
    let wrong = "at '/greeting': got number, want string";
    server.asked();
    for program in ["pintle", "helm"] {
        let told = place.called(program, "template x app", &[]);
        assert!(!told.starts_with("exit 0") && told.contains(wrong), "{told}");
        let told = place.called(program, "lint app", &[]);
        assert!(told.contains(wrong), "{told}");
    }
    // Called by its own name, the program asks once.
    assert_eq!(server.asked().len(), 3);
    good(place.pintle("template x app --set greeting=hello"));
    assert_eq!(server.asked().len(), 0);
    place.write("app/values.schema.json", &format!(r#"{{"$ref":"{url}/gone.json"}}"#));
    let told = place.helm("template x app");
    let gone = format!(
        "failing loading \"{url}/gone.json\": HTTP request to {url}/gone.json returned status 404 (Not Found)"
    );
    assert!(told.contains(&gone), "{told}");
    place.write("app/values.schema.json", r#"{"$ref":"http://127.0.0.1:1/x.json"}"#);
    let told = place.helm("template x app");
    let refused = "failing loading \"http://127.0.0.1:1/x.json\": HTTP request failed for http://127.0.0.1:1/x.json: \
                   Get \"http://127.0.0.1:1/x.json\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert!(told.contains(refused), "{told}");
}

#[test]
fn flags_of_helm_3_are_accepted_with_a_note() {
    let (place, _server) = set_up();
    let cluster = "--cluster embedded:cluster.db";
    good(place.helm(&format!("install x r/web {cluster}")));
    for (line, flag) in [
        ("list -a", "all"),
        ("list --all", "all"),
        ("version -c", "client"),
        ("version --client --short", "client"),
        ("status x --show-desc", "show-desc"),
        ("status x --show-resources", "show-resources"),
        ("repo update --fail-on-repo-update-fail", "fail-on-repo-update-fail"),
        ("upgrade x r/web --recreate-pods", "recreate-pods"),
        ("upgrade x r/web --atomic", "atomic"),
        ("upgrade x r/web --force --server-side=false", "force"),
        ("rollback x 1 --recreate-pods", "recreate-pods"),
        ("test x --hide-notes", "hide-notes"),
    ] {
        let told = place.helm(&format!("{line} {cluster}"));
        assert!(told.contains(&format!("Flag --{flag} has been deprecated, ")), "{line}: {told}");
        assert!(told.starts_with("exit 0\n"), "{line}: {told}");
    }
}
