//! What we do differently from Helm, and what needs no Helm beside it.

use std::fs;

use super::server::{self, LOGIN, Server};
use super::{good, set_up};
use crate::support::TestEnv;

#[test]
fn an_index_that_is_still_the_same_is_not_sent_again() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/etag")));
    server.asked();
    good(env.pintle("repo update"));
    let asked = server.asked();
    assert_eq!(asked[0].headers.get("if-none-match").map(String::as_str), Some("\"one\""));
    // The stored ETag does not apply to an index that another program has written.
    let index = env.path().join(".cache/helm/repository/r-index.yaml");
    let text = fs::read_to_string(&index).expect("it is there");
    fs::write(&index, text.replace("A Web server", "A changed one")).expect("it can be written");
    good(env.pintle("repo update"));
    assert_eq!(server.asked()[0].headers.get("if-none-match"), None);
    assert_eq!(fs::read_to_string(&index).expect("it is there"), text);
}

#[test]
fn an_index_that_comes_again_with_the_same_bytes_is_not_replaced() {
    use std::os::unix::fs::MetadataExt as _;
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    let index = env.path().join(".cache/helm/repository/r-index.yaml");
    let inode = || fs::metadata(&index).expect("it is there").ino();
    let text = || fs::read_to_string(&index).expect("it is there");
    good(env.pintle(&format!("repo add r {url}/charts")));
    let (first, before) = (inode(), text());
    good(env.pintle("repo update"));
    assert_eq!(inode(), first);
    // The same index with a line appended, and then without it.
    good(env.pintle(&format!("repo add r {url}/chartmuseum --force-update")));
    assert_eq!(text(), format!("{before}serverInfo: {{contextPath: /x}}\n"));
    good(env.pintle(&format!("repo add r {url}/charts --force-update")));
    assert_eq!(text(), before);
    // The same index from another URL: its ETag is stored.
    good(env.pintle(&format!("repo add r {url}/etag --force-update")));
    server.asked();
    good(env.pintle("repo update"));
    assert_eq!(server.asked()[0].headers.get("if-none-match").map(String::as_str), Some("\"one\""));
    assert!(good(env.pintle("search repo database")).contains("r/db"));
}

#[test]
fn an_index_may_be_compressed_on_its_way() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    // The flag is one of Helm 3.
    let printed = good(env.pintle(&format!("repo add r {url}/gzip --no-update")));
    assert!(printed.contains("--no-update is deprecated"), "{printed}");
    let printed = good(env.pintle("search repo database"));
    assert!(printed.contains("r/db"), "{printed}");
}

#[test]
fn bytes_that_do_not_have_the_digest_of_the_index_are_refused_and_not_kept() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    let index = env.path().join(".cache/helm/repository/r-index.yaml");
    let text = fs::read_to_string(&index).expect("it is there");
    let digest = text.split("digest: ").nth(1).expect("a digest").split('\n').next().expect("a line");
    fs::write(&index, text.replace(digest, &"ab".repeat(32))).expect("it can be written");
    for command in ["pull r/db", "show chart r/db", "template x r/db"] {
        let printed = env.pintle(command);
        assert!(printed.starts_with("exit 1\n"), "{command}: {printed}");
        assert!(
            printed.contains(&format!("expected sha256:{}, found sha256:{digest}", "ab".repeat(32))),
            "{printed}"
        );
    }
    assert!(!env.path().join("db-0.3.0.tgz").exists());
    assert!(!env.path().join(format!(".cache/helm/content/ab/{}.chart", "ab".repeat(32))).exists());
    good(env.pintle("show chart r/db --insecure-skip-digest"));
}

/// Changes the cached index of a repository.
fn change_index(env: &TestEnv, change: impl Fn(&str) -> String) {
    let index = env.path().join(".cache/helm/repository/r-index.yaml");
    let text = fs::read_to_string(&index).expect("it is there");
    fs::write(&index, change(&text)).expect("it can be written");
}

#[test]
fn a_stale_digest_is_a_warning_that_names_the_flag_when_called_helm() {
    let (env, server) = set_up();
    good(env.helm(&format!("repo add r http://{}/charts", server.address)));
    let line =
        |text: &str| text.split("digest: ").nth(1).and_then(|rest| rest.lines().next()).map(str::to_owned);
    change_index(&env, |text| text.replace(&line(text).expect("a digest"), &"ab".repeat(32)));
    for command in ["pull r/db", "show chart r/db", "template x r/db"] {
        let printed = good(env.helm(command));
        assert!(
            printed.contains("level=WARN") && printed.contains("--insecure-skip-digest"),
            "{command}: {printed}"
        );
        assert!(env.pintle(command).starts_with("exit 1"), "{command}");
    }
    assert!(!good(env.helm("show chart r/db --insecure-skip-digest")).contains("level=WARN"));
}

#[test]
fn an_index_names_no_urls_of_other_schemes() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    env.write("private/web/Chart.yaml", "apiVersion: v2\nname: db\nversion: 0.3.0\n");
    let private = format!("git+file://{}/private@web/db-0.3.0.tgz", env.path().display());
    change_index(&env, |text| text.replace("db-0.3.0.tgz", &private));
    env.write(
        "app/Chart.yaml",
        "apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies:\n- {name: db, version: 0.3.0, repository: '@r'}\n",
    );
    for command in ["pull r/db", "show chart r/db", "template x r/db", "dependency update app --skip-refresh"]
    {
        for printed in [env.pintle(command), env.helm(command)] {
            assert!(!printed.starts_with("exit 0"), "{command}: {printed}");
            assert!(
                printed.contains("an index may name URLs with http, https and oci"),
                "{command}: {printed}"
            );
        }
    }
}

#[test]
fn an_index_does_not_choose_the_name_of_a_file() {
    let (env, server) = set_up();
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    good(env.pintle("pull r/db"));
    let archive = fs::read(env.path().join("db-0.3.0.tgz")).expect("it was pulled");
    let files = [".bashrc", "Makefile"].map(|name| (name.to_owned(), archive.clone()));
    let other = Server::plain(&std::sync::Arc::new(files.into_iter().collect()));
    for name in [".bashrc", "Makefile"] {
        let url = format!("http://{}/{name}", other.address);
        change_index(&env, |_| {
            format!(
                "apiVersion: v1\nentries:\n  db:\n  - {{apiVersion: v2, name: db, version: 0.3.0, urls: ['{url}']}}\n"
            )
        });
        let out = env.path().join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).expect("made");
        good(env.pintle("pull r/db -d out"));
        let names: Vec<_> =
            fs::read_dir(&out).expect("there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["db-0.3.0.tgz"], "{name}");
    }
}

/// A getter that packs its chart anew at each call, as helm-git does, and whose index has a digest of yet another archive.
#[test]
fn what_a_getter_delivers_is_not_held_to_the_digest_of_its_own_index() {
    let (env, server) = set_up();
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    good(env.pintle("pull r/db"));
    let get = "#!/bin/sh\ncase $4 in\n*index.yaml) cat $HELM_PLUGIN_DIR/index.yaml;;\n*) cat $HELM_PLUGIN_DIR/db.tgz;;\nesac\n";
    let plugin = env.path().join(".local/share/helm/plugins/anew");
    let digest = "ab".repeat(32);
    env.write(
        ".local/share/helm/plugins/anew/plugin.yaml",
        "name: anew\nversion: 0.1.0\ndownloaders:\n- {command: get.sh, protocols: [anew]}\n",
    )
    .write(".local/share/helm/plugins/anew/get.sh", get)
    .write(
        ".local/share/helm/plugins/anew/index.yaml",
        &format!("apiVersion: v1\nentries:\n  db:\n  - {{apiVersion: v2, name: db, version: 0.3.0, digest: {digest}, urls: ['anew://h/db-0.3.0.tgz']}}\n"),
    );
    fs::copy(env.path().join("db-0.3.0.tgz"), plugin.join("db.tgz")).expect("copied");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(plugin.join("get.sh"), mode).expect("changed");
    let path = [("PATH", "/usr/bin:/bin")];
    env.write(
        "app/Chart.yaml",
        "apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies:\n- {name: db, version: 0.3.0, repository: 'anew://h'}\n",
    );
    for name in ["helm", "pintle"] {
        good(env.called(name, "repo add a anew://h --force-update", &path));
        for command in [
            "pull a/db",
            "show chart a/db",
            "template x a/db",
            "template x db --repo anew://h",
            "dependency update app",
            "dependency build app",
        ] {
            let printed = good(env.called(name, command, &path));
            assert!(!printed.contains("level=WARN"), "{name} {command}: {printed}");
        }
    }
}

#[test]
fn a_digest_that_cannot_be_compared_is_told_and_ignored() {
    let (env, server) = set_up();
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    let index = env.path().join(".cache/helm/repository/r-index.yaml");
    let text = fs::read_to_string(&index).expect("it is there");
    let digest =
        text.split("digest: ").nth(1).expect("a digest").split('\n').next().expect("a line").to_owned();
    for odd in ["md5:00", "abc"] {
        fs::write(&index, text.replace(&digest, odd)).expect("it can be written");
        let printed = good(env.pintle("show chart r/db"));
        assert!(printed.contains("the digest in the index cannot be checked and is ignored"), "{printed}");
    }
}

#[test]
fn a_cached_chart_that_was_changed_is_fetched_again() {
    let (env, server) = set_up();
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    let want = good(env.pintle("show chart r/db"));
    let content = env.path().join(".cache/helm/content");
    let folder = fs::read_dir(content).expect("it is there").flatten().next().expect("a chart").path();
    let chart = fs::read_dir(folder).expect("it is there").flatten().next().expect("a chart").path();
    let bytes = fs::read(&chart).expect("it can be read");
    fs::write(&chart, &bytes[..bytes.len() / 2]).expect("it can be written");
    assert_eq!(good(env.pintle("show chart r/db")), want);
    assert_eq!(fs::read(&chart).expect("it can be read"), bytes);
}

#[test]
fn pulling_fills_the_cache_and_uses_it() {
    let (env, server) = set_up();
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    good(env.pintle("pull r/db"));
    server.asked();
    fs::create_dir(env.path().join("again")).expect("it can be made");
    good(env.pintle("pull r/db -d again"));
    good(env.pintle("show chart r/db"));
    assert!(server.asked().is_empty(), "it is all there");
    let both =
        ["db-0.3.0.tgz", "again/db-0.3.0.tgz"].map(|name| fs::read(env.path().join(name)).expect("there"));
    assert_eq!(both[0], both[1]);
}

#[test]
fn credentials_do_not_follow_a_redirect_to_another_server() {
    let (env, server) = set_up();
    let other = Server::plain(&server::files(&env));
    let port = other.address.rsplit_once(':').expect("a port").1;
    let line = format!("repo add r http://{}/away/{port} --username me --password secret", server.address);
    let printed = env.pintle(&line);
    assert!(printed.starts_with("exit 1\n") && printed.contains("401 Unauthorized"), "{printed}");
    assert_eq!(server.asked()[0].headers.get("authorization").map(String::as_str), Some(LOGIN));
    assert_eq!(other.asked()[0].headers.get("authorization"), None);
}

#[test]
fn one_broken_cache_does_not_stop_charts_that_have_a_url() {
    let (env, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    good(env.pintle(&format!("repo add r {url}")));
    fs::remove_file(env.path().join(".cache/helm/repository/r-index.yaml")).expect("it is there");
    let printed = good(env.pintle(&format!("show chart {url}/web-1.0.0.tgz")));
    assert!(printed.contains("repo is corrupt or missing"), "{printed}");
}

#[test]
fn unpacking_makes_no_folder_but_that_of_the_chart() {
    let (env, server) = set_up();
    fs::create_dir(env.path().join("here")).expect("it can be made");
    let url = format!("http://{}/charts/web-1.0.0.tgz", server.address);
    good(env.pintle(&format!("pull {url} --untar -d here")));
    let names: Vec<_> = fs::read_dir(env.path().join("here")).expect("there").flatten().collect();
    assert_eq!(names.len(), 1);
    assert!(env.path().join("here/web/Chart.yaml").exists());
    let printed = env.pintle(&format!("pull {url} --untar -d here"));
    assert!(
        printed.contains("failed to untar: a file or directory with the name here/web already exists"),
        "{printed}"
    );
}

#[test]
fn repositories_are_kept_for_their_owner_only_and_no_command_loses_another_ones_change() {
    use std::os::unix::fs::PermissionsExt as _;
    let (env, server) = set_up();
    let program = env.linked("pintle");
    let children: Vec<_> = (0..8)
        .map(|number| {
            std::process::Command::new(&program)
                .args(["repo", "add", &format!("r{number}"), &format!("http://{}/charts", server.address)])
                .env_clear()
                .env("HOME", env.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("it can be run")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let printed = good(env.pintle("repo list --no-headers"));
    assert_eq!(printed.lines().filter(|line| line.contains("http://")).count(), 8, "{printed}");
    let file = env.path().join(".config/helm/repositories.yaml");
    assert_eq!(fs::metadata(file).expect("there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn values_come_from_servers_too() {
    let (env, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    let printed = good(env.pintle(&format!("template x {url}/web-1.0.0.tgz -f {url}/values.yaml")));
    assert!(printed.contains("from afar"), "{printed}");
}

#[test]
fn a_repository_whose_certificate_need_not_be_checked_gives_its_charts_too() {
    let env = TestEnv::new();
    let files = server::files(&env);
    crate::images_copy::certificates(&env);
    let server = Server::tls(&files, &env);
    good(env.pintle(&format!("repo add r https://{}/charts --insecure-skip-tls-verify", server.address)));
    good(env.pintle("show chart r/web"));
    good(env.pintle("pull r/db"));
}

#[test]
fn charts_of_repositories_are_taken_wherever_a_chart_is_meant() {
    let (env, server) = set_up();
    let url = format!("http://{}/charts", server.address);
    good(env.pintle(&format!("repo add r {url}")));
    for command in [
        "rehearse r/web",
        "rehearse r/web --version 1.1.0 --from 1.0.0",
        "rehearse r/web --version 1.1.0 --from r/db",
        "images list r/web --version ^1.0.0",
        &format!("images inspect web --repo {url}"),
        "hooks list r/web",
        "schema derive r/web",
        "lua check r/web",
        "install x r/web --cluster embedded",
        &format!("install x web --repo {url} --cluster embedded"),
        "upgrade x r/web --install --cluster embedded",
    ] {
        good(env.pintle(command));
    }
}

#[test]
fn an_answer_that_does_not_end_is_cut_off_and_leaves_nothing() {
    let (env, server) = set_up();
    let url = format!("http://{}/cut", server.address);
    let before = files_below(env.path());
    let printed = env.pintle(&format!("pull {url}/web-1.0.0.tgz"));
    assert!(printed.starts_with("exit 1\n") && printed.contains("unexpected EOF"), "{printed}");
    assert_eq!(files_below(env.path()), before);
}

/// All files below a folder, without folders: an empty cache may be there.
fn files_below(folder: &std::path::Path) -> std::collections::BTreeSet<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.into_iter().chain(folders.iter().flat_map(|folder| files_below(folder))).collect()
}

#[test]
fn cached_charts_are_listed_and_removed() {
    let (env, server) = set_up();
    assert!(good(env.pintle("cache list")).contains("Nothing is cached."));
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    good(env.pintle("show chart r/db"));
    good(env.pintle("pull r/web"));
    let printed = good(env.pintle("cache list"));
    assert!(printed.contains("db-0.3.0") && printed.contains("web-1.1.0"), "{printed}");
    assert!(good(env.pintle("cache list -o json")).contains("\"kind\":\"chart\""));
    assert!(good(env.pintle("cache prune --older-than 1h")).contains("0 files removed"));
    assert!(good(env.pintle("cache prune --all --dry-run")).contains("2 files would be removed"));
    assert!(good(env.pintle("cache prune --all")).contains("2 files removed"));
    assert!(good(env.pintle("cache list")).contains("Nothing is cached."));
}

#[test]
fn library_charts_are_marked() {
    let env = TestEnv::new();
    env.write(
        "tools/Chart.yaml",
        "apiVersion: v2\nname: tools\nversion: 1.0.0\ntype: library\ndescription: lends\n",
    )
    .write("charts/README", "")
    .write("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\ndescription: runs\n");
    for chart in ["tools", "app"] {
        good(env.pintle(&format!("package {chart} -d charts")));
    }
    good(env.pintle("repo index charts"));
    let folder = env.path().join(".cache/helm/repository");
    fs::create_dir_all(&folder).expect("it can be made");
    fs::copy(env.path().join("charts/index.yaml"), folder.join("r-index.yaml")).expect("it can be copied");
    env.write(
        ".config/helm/repositories.yaml",
        "apiVersion: ''\ngenerated: '0001-01-01T00:00:00Z'\nrepositories:\n- {name: r, url: 'http://127.0.0.1:1'}\n",
    );
    let rows = |printed: String| -> Vec<String> {
        let lines = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.filter(|line| line.contains("VERSION") || line.starts_with("r/")).collect()
    };
    let marked = [
        "NAME CHART VERSION APP VERSION TYPE DESCRIPTION",
        "r/app 1.0.0 application runs",
        "r/tools 1.0.0 library lends",
    ];
    // The second time from the index cache.
    assert_eq!(rows(good(env.pintle("search repo"))), marked);
    assert_eq!(rows(good(env.pintle("search repo"))), marked);
    assert_eq!(rows(good(env.pintle("search repo app")))[0], "NAME CHART VERSION APP VERSION DESCRIPTION");
    let data = good(env.pintle("search repo -o json"));
    assert!(data.contains(r#""type":"library""#) && data.contains(r#""type":"application""#), "{data}");
    assert_eq!(rows(good(env.helm("search repo")))[0], "NAME CHART VERSION APP VERSION DESCRIPTION");
    assert!(!good(env.helm("search repo -o json")).contains("library"));
    let shown = good(env.pintle("show chart tools"));
    assert!(shown.contains("type: library") && shown.contains("note: this is a library chart"), "{shown}");
    assert!(!good(env.helm("show chart tools")).contains("note:"));
}
