//! Dependencies from repositories and registries: what we do differently from Helm, and what needs no Helm beside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{good, set_up};
use crate::registries::program::distribution;
use crate::support::TestEnv;

fn app(env: &TestEnv, name: &str, dependencies: &[(&str, &str, &str)]) {
    let mut text = format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\ndependencies:\n");
    for (chart, version, repository) in dependencies {
        text.push_str(&format!("- {{name: {chart}, version: '{version}', repository: '{repository}'}}\n"));
    }
    env.write(&format!("{name}/Chart.yaml"), &text);
}

/// The names in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("it can be read").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn only_repositories_that_are_needed_are_asked_and_the_others_need_not_answer() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    good(env.pintle(&format!("repo add s {url}/json")));
    fs::remove_file(env.path().join(".cache/helm/repository/s-index.yaml")).expect("it is there");
    app(&env, "app", &[("web", "^1", "@r"), ("db", "*", "@r")]);
    server.asked();
    let printed = good(env.pintle("dependency update app"));
    assert!(printed.contains("from the \"r\" chart repository") && !printed.contains("\"s\""), "{printed}");
    let asked = server.asked();
    let count = |end: &str| asked.iter().filter(|asked| asked.path.ends_with(end)).count();
    assert_eq!((count("index.yaml"), count(".tgz"), asked.len()), (1, 2, 3), "{asked:?}");
    assert_eq!(names(&env.path().join("app/charts")), set(&["db-0.3.0.tgz", "web-1.1.0.tgz"]));
    // What was fetched is cached by its digest: the second time, only the index is asked for.
    good(env.pintle("dependency build app"));
    let asked = server.asked();
    assert!(asked.len() == 1 && asked[0].path.ends_with("index.yaml"), "{asked:?}");
    good(env.pintle("dependency build app --skip-refresh"));
    assert!(server.asked().is_empty());
}

#[test]
fn dependencies_of_one_name_come_each_from_its_own_repository() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    good(env.pintle(&format!("repo add s {url}/json")));
    env.write(
        "app/Chart.yaml",
        "apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies:\n- {name: web, version: '*', repository: '@r'}\n\
         - {name: web, alias: other, version: '*', repository: '@s'}\n",
    );
    good(env.helm("dependency update app"));
    let lock = fs::read_to_string(env.path().join("app/Chart.lock")).expect("it is there");
    assert!(
        lock.contains("/charts\n  version: 1.1.0\n") && lock.contains("/json\n  version: 1.0.0\n"),
        "{lock}"
    );
}

#[test]
fn a_failure_leaves_the_chart_as_it_was() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    app(&env, "app", &[("web", "1.0.0", "@r")]);
    good(env.pintle("dependency update app"));
    let before = fs::read(env.path().join("app/Chart.lock")).expect("it is there");
    app(&env, "app", &[("db", "*", "@r"), ("web", "1.0.0", &format!("{url}/lost"))]);
    let printed = env.pintle("dependency update app");
    let gone = format!("could not download {url}/lost/gone-1.0.0.tgz: failed to fetch");
    assert!(printed.starts_with("exit 1\n") && printed.contains(&gone), "{printed}");
    assert_eq!(names(&env.path().join("app")), set(&["Chart.lock", "Chart.yaml", "charts"]));
    assert_eq!(names(&env.path().join("app/charts")), set(&["web-1.0.0.tgz"]));
    assert_eq!(fs::read(env.path().join("app/Chart.lock")).expect("it is there"), before);
}

#[test]
fn archives_that_do_not_have_the_digest_of_the_index_do_not_get_into_charts() {
    let (env, server) = set_up();
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    let index = env.path().join(".cache/helm/repository/r-index.yaml");
    let text = fs::read_to_string(&index).expect("it is there");
    let digest = text.split("digest: ").nth(1).expect("a digest").split('\n').next().expect("a line");
    fs::write(&index, text.replace(digest, &"ab".repeat(32))).expect("it can be written");
    app(&env, "app", &[("db", "*", "@r")]);
    let printed = env.pintle("dependency update app --skip-refresh");
    assert!(printed.starts_with("exit 1\n") && printed.contains("does not match the digest"), "{printed}");
    assert!(names(&env.path().join("app/charts")).is_empty());
    assert!(!env.path().join("app/Chart.lock").exists());
}

/// The archives in the content cache.
fn cached_charts(env: &TestEnv) -> Vec<PathBuf> {
    let folders = fs::read_dir(env.path().join(".cache/helm/content")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "chart")).collect()
}

/// `BUILDS_AT_ONCE` says how many; the bench `repositories` has 250 of them with large indexes.
#[test]
fn many_processes_build_from_one_cache_at_once() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    good(env.pintle(&format!("repo add s {url}/json")));
    let count = std::env::var("BUILDS_AT_ONCE").ok().and_then(|text| text.parse().ok()).unwrap_or(50_usize);
    let wanted = [("web", "^1", "@r"), ("db", "0.3.0", "@r"), ("lib", "1.0.0", "@r")];
    app(&env, "app0", &wanted);
    good(env.pintle("dependency update app0"));
    let lock = fs::read_to_string(env.path().join("app0/Chart.lock")).expect("it is there");
    for number in 1..count {
        app(&env, &format!("app{number}"), &wanted);
        env.write(&format!("app{number}/Chart.lock"), &lock);
    }
    fs::remove_dir_all(env.path().join(".cache/helm/content")).expect("it is there");
    let program = env.linked("helm");
    let started: Vec<_> = (0..count)
        .map(|number| {
            Command::new(&program)
                .args(["dependency", "build", &format!("app{number}")])
                .current_dir(env.path())
                .env_clear()
                .env("HOME", env.path())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it can be run")
        })
        .collect();
    let archive = |name: &str| fs::read(env.path().join("archives").join(name)).expect("it is there");
    let archives = ["web-1.1.0.tgz", "db-0.3.0.tgz", "lib-1.0.0.tgz"];
    let whole = archives.map(archive);
    let index = env.path().join(".cache/helm/repository/r-index.yaml");
    let first_index = fs::read(&index).expect("it is there");
    // Some are killed, one after the other, to hit all stages. The others must not be affected, and files in the cache
    // must be complete at any time.
    let mut started: Vec<_> = started.into_iter().enumerate().collect();
    let mut victims = (9..count).step_by(10);
    loop {
        assert_eq!(fs::read(&index).expect("it is there"), first_index);
        for path in cached_charts(&env) {
            // What is replaced may be gone when it is opened.
            let Ok(bytes) = fs::read(&path) else { continue };
            assert!(whole.contains(&bytes), "{} has {} bytes", path.display(), bytes.len());
        }
        if let Some(number) = victims.next() {
            let _ = started[number].1.kill();
        }
        let mut states = started.iter_mut().map(|(_, child)| child.try_wait());
        if states.all(|state| !matches!(state, Ok(None))) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for (number, child) in started {
        let output = child.wait_with_output().expect("it ends");
        let folder = env.path().join(format!("app{number}"));
        if number % 10 == 9 {
            // A killed build leaves only complete archives in charts/.
            for name in fs::read_dir(folder.join("charts")).into_iter().flatten().flatten() {
                let name = name.file_name().to_string_lossy().into_owned();
                assert_eq!(fs::read(folder.join("charts").join(&name)).expect("it is there"), archive(&name));
            }
            continue;
        }
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{number}: {printed}");
        assert_eq!(names(&folder), set(&["Chart.lock", "Chart.yaml", "charts"]));
        assert_eq!(names(&folder.join("charts")), set(&archives));
        for name in archives {
            assert_eq!(fs::read(folder.join("charts").join(name)).expect("it is there"), archive(name));
        }
    }
    // The cached archives are complete, too: only indexes are requested.
    server.asked();
    good(env.helm("dependency build app0"));
    assert!(server.asked().iter().all(|asked| asked.path.ends_with("index.yaml")));
}

#[test]
fn dependencies_come_from_registries_by_version_and_by_range() {
    let (env, _server) = set_up();
    let Some(registry) = distribution("") else { return };
    let host = &registry.host;
    for archive in ["web-1.0.0", "web-1.1.0", "db-0.3.0"] {
        good(env.pintle(&format!("push archives/{archive}.tgz oci://{host}/charts")));
    }
    let repository = format!("oci://{host}/charts");
    app(&env, "app", &[("web", "^1.0.0", &repository), ("db", "0.3.0", &repository)]);
    let printed = good(env.helm("dependency update app --plain-http"));
    let web =
        format!("Downloading web from repo {repository}\nPulled: {host}/charts/web:1.1.0\nDigest: sha256:");
    assert!(printed.contains(&web), "{printed}");
    assert_eq!(names(&env.path().join("app/charts")), set(&["db-0.3.0.tgz", "web-1.1.0.tgz"]));
    for name in ["db-0.3.0.tgz", "web-1.1.0.tgz"] {
        let fetched = fs::read(env.path().join("app/charts").join(name)).expect("it is there");
        assert_eq!(fetched, fs::read(env.path().join("archives").join(name)).expect("it is there"));
    }
    // What was fetched is in the cache now, and is served from there.
    assert_eq!(cached_charts(&env).len(), 2);
    let again = good(env.helm("dependency build app --plain-http"));
    assert!(again.contains(&web), "{again}");
    app(&env, "app", &[("web", "^2.0.0", &repository)]);
    let printed = env.helm("dependency update app --plain-http");
    let none = "could not locate a version matching provided version string ^2.0.0";
    assert!(printed.starts_with("exit 1\n") && printed.contains(none), "{printed}");
}

#[test]
fn libraries_are_fetched_locked_and_built_again_beside_dependencies() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    let chart = |range: &str| {
        let text = format!(
            "apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies:\n- {{name: db, version: '*', repository: '@r'}}\n\
             libraries:\n- {{name: lib, version: '{range}', repository: '@r'}}\n"
        );
        env.write("app/Chart.yaml", &text);
    };
    chart("^1.0.0");
    let printed = good(env.pintle("dependency update app"));
    let libraries = "Saving 1 libraries\nDownloading lib from repo";
    assert!(printed.contains(libraries) && printed.matches("Hang tight").count() == 1, "{printed}");
    let folder = env.path().join("app");
    let built = || (names(&folder.join("charts")), names(&folder.join("library")));
    let whole = (set(&["db-0.3.0.tgz"]), set(&["lib-1.0.0.tgz"]));
    assert_eq!(built(), whole);
    let lock = fs::read_to_string(folder.join("library.lock")).expect("it is there");
    assert!(lock.contains("name: lib\n") && lock.contains("version: 1.0.0\n"), "{lock}");
    let lock = fs::read_to_string(folder.join("Chart.lock")).expect("it is there");
    assert!(!lock.contains("lib"), "{lock}");
    for name in ["charts", "library"] {
        fs::remove_dir_all(folder.join(name)).expect("it is there");
    }
    good(env.pintle("dependency build app"));
    assert_eq!(built(), whole);
    good(env.pintle("template x app"));
    chart("~1.0.0");
    let printed = env.pintle("dependency build app");
    assert!(
        printed.starts_with("exit 1\n") && printed.contains("(library.lock) is out of sync"),
        "{printed}"
    );
    chart("^2");
    let printed = env.pintle("dependency update app");
    assert!(
        printed.starts_with("exit 1\n") && printed.contains("no version of library lib satisfies all:"),
        "{printed}"
    );
    assert_eq!(built(), whole);
}
