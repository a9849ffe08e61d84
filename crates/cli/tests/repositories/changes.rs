//! What follows from knowing where charts come from: `dependency add` and `upgrade`, `--recursive`, `outdated`, and schemas
//! that charts refer to by URL.

use std::fs;

use super::good;
use super::server::Server;
use crate::support::TestEnv;

/// With the repository `r`.
fn set_up() -> (TestEnv, Server) {
    let (env, server) = super::set_up();
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    (env, server)
}

#[test]
fn dependencies_are_added_and_upgraded_in_chart_yaml() {
    let (env, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    env.write("app/Chart.yaml", "apiVersion: v2\nname: app # ours\nversion: 0.1.0\n");
    let output =
        good(env.pintle("dependency add r/web app --version 1.0.0 --alias front --condition front.on"));
    assert!(output.contains(&format!("Added web 1.0.0 from {url}\n")), "{output}");
    assert!(env.path().join("app/charts/web-1.0.0.tgz").is_file());
    // Without a version, the newest is looked up.
    good(env.pintle(&format!("dependency add db app --repo {url}")));
    let read = || fs::read_to_string(env.path().join("app/Chart.yaml")).expect("it is there");
    let text = read();
    assert!(text.starts_with("apiVersion: v2\nname: app # ours\n"), "{text}");
    assert!(text.contains("^0.3.0") && text.contains("condition: front.on"), "{text}");
    let output = env.pintle("dependency add r/db app");
    assert!(output.contains("the chart already depends on \"db\""), "{output}");
    let output = good(env.pintle("dependency upgrade front app"));
    assert!(output.contains("Upgraded web from 1.0.0 to 1.1.0\n"), "{output}");
    assert!(read().contains("1.1.0"));
    assert!(env.path().join("app/charts/web-1.1.0.tgz").is_file());
    assert!(!env.path().join("app/charts/web-1.0.0.tgz").exists());
    let output = good(env.pintle("dependency upgrade front app"));
    assert!(output.contains("allows 1.1.0, the newest version"), "{output}");
    let output = good(env.pintle("dependency upgrade front app --devel"));
    assert!(output.contains("to 2.0.0-rc.1\n"), "{output}");
    let output = env.pintle("dependency upgrade nothing app");
    assert!(
        output.contains("the chart does not depend on \"nothing\"") && output.contains("web, db"),
        "{output}"
    );
    let output = env.pintle("dependency add web app");
    assert!(output.contains("does not say which repository"), "{output}");
    let output = good(env.pintle("dependency list app -o json"));
    assert!(output.contains(r#""name":"web","version":"2.0.0-rc.1""#), "{output}");
}

#[test]
fn charts_in_folders_are_built_first_with_recursive() {
    let (env, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    let near = |name: &str, below: &str| {
        env.write(
            &format!("{name}/Chart.yaml"),
            &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\ndependencies:\n- {below}\n"),
        );
    };
    near("app", "{name: middle, version: 0.1.0, repository: 'file://../middle'}");
    near("middle", &format!("{{name: web, version: ^1, repository: '{url}'}}"));
    let output = env.pintle("template x app");
    assert!(!output.starts_with("exit 0"), "{output}");
    let output = good(env.pintle("dependency update app --recursive"));
    assert!(output.find("==> middle").is_some() || output.contains("/middle"), "{output}");
    assert_eq!(output.matches("Hang tight").count(), 1, "{output}");
    let output = good(env.pintle("template x app"));
    assert!(output.contains("middle/charts/web/templates/config.yaml"), "{output}");
    good(env.pintle("dependency build app --recursive --skip-refresh"));
    near("middle", "{name: app, version: 0.1.0, repository: 'file://../app'}");
    let output = env.pintle("dependency build app --recursive");
    assert!(output.contains("charts depend on each other"), "{output}");
}

#[test]
fn releases_with_newer_charts_are_listed() {
    let (env, server) = set_up();
    let cluster = "--cluster embedded:cluster.db";
    good(env.pintle(&format!("install old r/web --version 1.0.0 {cluster}")));
    good(env.pintle(&format!(
        "install new r/web {cluster} --set greeting=x --namespace other --create-namespace"
    )));
    good(env.pintle(&format!(
        "install local archives/db-0.3.0.tgz {cluster} --namespace third --create-namespace"
    )));
    let output = good(env.pintle(&format!("outdated {cluster}")));
    assert!(output.contains("old") && output.contains("1.0.0") && output.contains("1.1.0"), "{output}");
    assert!(!output.contains("local"), "{output}");
    let output = good(env.pintle(&format!("outdated {cluster} -A --all -o json")));
    let source = format!("http://{}/charts", server.address);
    assert!(
        output.contains(&format!(
            r#""name":"old","namespace":"default","chart":"web","installed":"1.0.0","newest":"1.1.0","status":"outdated","source":"{source}""#
        )),
        "{output}"
    );
    assert!(output.contains(r#""name":"new""#) && output.contains(r#""status":"up to date""#), "{output}");
    // A chart without a source is looked for by its name.
    assert!(output.contains(r#""name":"local""#), "{output}");
    let output = good(env.pintle(&format!("outdated {cluster} --check")));
    assert!(output.contains("CHECK"), "{output}");
    let output = good(env.pintle(&format!("outdated {cluster} --check -o json")));
    assert!(output.contains(r#""check":{"done":true,"errors":"#), "{output}");
    let output = env.pintle(&format!("plan upgrade old r/web {cluster}"));
    assert!(
        output.contains("info: the chart goes from 1.0.0 to 1.1.0; `pintle upgrade-check old r/web`"),
        "{output}"
    );
    let output = env.pintle(&format!("outdated {cluster} --fail-on-outdated"));
    assert!(output.starts_with("exit 1\n") && output.contains("there are outdated releases"), "{output}");
    good(env.pintle(&format!("upgrade old r/web {cluster}")));
    let output = good(env.pintle(&format!("outdated {cluster}")));
    assert_eq!(output, "exit 0\n--- stdout\nNo outdated releases\n");
    // What was not compared is not called up to date.
    good(env.pintle("repo remove r"));
    let output = good(env.pintle(&format!("outdated {cluster} --namespace third")));
    assert!(output.contains("No release could be compared, of 1"), "{output}");
    assert!(!output.contains("No outdated releases"), "{output}");
}

#[test]
fn the_source_of_a_chart_is_an_annotation_of_helms_secrets() {
    let (env, server) = set_up();
    let cluster = "--cluster embedded:cluster.db";
    let output = env.called("pintle", &format!("install x r/web {cluster}"), &[("HELM_DRIVER", "secret")]);
    good(output);
    let output = good(env.called(
        "pintle",
        &format!("outdated {cluster} --all -o json"),
        &[("HELM_DRIVER", "secret")],
    ));
    assert!(output.contains(&format!(r#""source":"http://{}/charts""#, server.address)), "{output}");
}

#[test]
fn schemas_are_fetched_by_their_url_and_kept() {
    let (env, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    env.write("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 0.1.0\n")
        .write("app/values.yaml", "greeting: 1\n")
        .write("app/values.schema.json", &format!(r#"{{"$ref":"{url}/schema.json"}}"#));
    let wrong = "at '/greeting': got number, want string";
    server.asked();
    for (program, words) in [("pintle", "`greeting`: got number, want string"), ("helm", wrong)] {
        let output = env.called(program, "template x app", &[]);
        assert!(!output.starts_with("exit 0") && output.contains(words), "{output}");
        let output = env.called(program, "lint app", &[]);
        assert!(output.contains(wrong), "{output}");
    }
    // As `pintle`, the program fetches the schema only once.
    assert_eq!(server.asked().len(), 3);
    good(env.pintle("template x app --set greeting=hello"));
    assert_eq!(server.asked().len(), 0);
    env.write("app/values.schema.json", &format!(r#"{{"$ref":"{url}/gone.json"}}"#));
    let output = env.helm("template x app");
    let gone = format!(
        "failing loading \"{url}/gone.json\": HTTP request to {url}/gone.json returned status 404 (Not Found)"
    );
    assert!(output.contains(&gone), "{output}");
    env.write("app/values.schema.json", r#"{"$ref":"http://127.0.0.1:1/x.json"}"#);
    let output = env.helm("template x app");
    let refused = "failing loading \"http://127.0.0.1:1/x.json\": HTTP request failed for http://127.0.0.1:1/x.json: \
                   Get \"http://127.0.0.1:1/x.json\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert!(output.contains(refused), "{output}");
}

#[test]
fn flags_of_helm_3_are_accepted_with_a_note() {
    let (env, _server) = set_up();
    let cluster = "--cluster embedded:cluster.db";
    good(env.helm(&format!("install x r/web {cluster}")));
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
        let output = env.helm(&format!("{line} {cluster}"));
        assert!(output.contains(&format!("Flag --{flag} has been deprecated, ")), "{line}: {output}");
        assert!(output.starts_with("exit 0\n"), "{line}: {output}");
    }
}
