//! Transfers that fail or are interrupted: no partial files remain, and the cache stays valid.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::{self, Server};
use super::{good, set_up};
use crate::support::TestEnv;
use crate::support::archive::{gzip, tar};

/// The names in the working directory and in the caches.
fn left(env: &TestEnv) -> Vec<String> {
    let mut found = Vec::new();
    for folder in [".", ".cache/helm/repository", ".cache/helm/content"] {
        let names = fs::read_dir(env.path().join(folder)).into_iter().flatten().flatten();
        found.extend(names.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())));
    }
    found.sort();
    found
}

#[test]
fn a_download_that_is_interrupted_leaves_nothing() {
    let (env, server) = set_up();
    let url = format!("http://{}/drip", server.address);
    good(env.pintle(&format!("repo add r http://{}/charts", server.address)));
    let before = left(&env);
    for line in [format!("pull {url}/web-1.0.0.tgz"), format!("repo add other {url}")] {
        server.asked();
        let mut child = Command::new(env.linked("pintle"))
            .args(line.split(' '))
            .current_dir(env.path())
            .env_clear()
            .env("HOME", env.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it can be run");
        let limit = Instant::now() + Duration::from_secs(120);
        while server.asked().is_empty() {
            assert!(Instant::now() < limit, "nothing is asked for");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        assert!(!child.wait().expect("it ends").success(), "{line}");
        let is_new = |name: &String| !before.contains(name) && !name.ends_with("repositories.lock");
        // A killed process may leave a temporary file, but only under a hidden name that no program reads.
        let found: Vec<_> =
            left(&env).into_iter().filter(is_new).filter(|name| !name.contains("/.")).collect();
        assert!(found.is_empty(), "{line}: {found:?}");
    }
    assert!(!good(env.pintle("repo list")).contains("other"));
    good(env.pintle("search repo"));
}

/// An index with many charts, of at least so many bytes.
fn large_index(size: usize) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("apiVersion: v1\nentries:\n");
    for chart in 0.. {
        if text.len() >= size {
            break;
        }
        writeln!(text, "  chart-{chart}:").expect("a String takes everything");
        for version in (0..40).rev() {
            writeln!(
                text,
                "  - apiVersion: v2\n    name: chart-{chart}\n    version: 1.{version}.0\n    annotations:\n      \
                 images: |\n        - image: docker.io/example/app:{version}.{chart}.0\n    description: Server {chart} \
                 does what servers do,\n      in a sentence of two lines.\n    keywords: [server, http]\n    digest: {}\n    \
                 urls: [https://example.com/chart-{chart}-1.{version}.0.tgz]",
                "0".repeat(64)
            )
            .expect("a String takes everything");
        }
    }
    text
}

/// Eight megabytes stand for two hundred, which take the same code path. A tree of the whole document would take more than
/// ten times its size; the limit here allows for the text, the part of it that is kept, and the program itself.
#[test]
fn a_large_index_costs_a_few_times_its_size_once_and_little_afterwards() {
    let env = TestEnv::new();
    let files = BTreeMap::from([("big/index.yaml".to_owned(), large_index(8 << 20).into_bytes())]);
    let server = Server::plain(&Arc::new(files));
    let limited = |kilobytes: usize, line: &str| {
        let program = env.linked("pintle");
        let script = format!("ulimit -d {kilobytes} && exec {} {line}", program.display());
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(env.path())
            .env_clear()
            .env("HOME", env.path())
            .output()
            .expect("it can be run");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    limited(64 << 10, &format!("repo add big http://{}/big", server.address));
    let found = limited(24 << 10, "search repo chart-7 --versions");
    assert!(found.contains("big/chart-7 ") && found.lines().count() > 40, "{found}");
}

/// A file size limit stands for a disk that is full.
#[test]
fn a_full_disk_leaves_the_index_and_the_archive_that_were_there() {
    let (env, server) = set_up();
    let url = format!("http://{}", server.address);
    good(env.pintle(&format!("repo add r {url}/charts")));
    good(env.pintle("search repo"));
    let files = [".cache/helm/repository/r-index.yaml", ".config/helm/repositories.yaml"];
    let read = || files.map(|name| fs::read(env.path().join(name)).expect("it is there"));
    let (before, names) = (read(), left(&env));
    for line in
        [format!("repo add r {url}/chartmuseum --force-update"), format!("pull {url}/charts/large-1.0.0.tgz")]
    {
        let script = "ulimit -f 1; trap '' XFSZ; exec \"$0\" \"$@\"";
        let ran = Command::new("sh")
            .args(["-c", script])
            .arg(env.linked("helm"))
            .args(line.split(' '))
            .current_dir(env.path())
            .env_clear()
            .env("HOME", env.path())
            .output()
            .expect("a shell can be run");
        assert_eq!(ran.status.code(), Some(1), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(read(), before, "{line}");
        assert_eq!(left(&env), names, "{line}");
    }
    good(env.pintle("search repo db"));
}

#[test]
fn an_archive_that_unpacks_to_too_much_leaves_nothing() {
    let env = TestEnv::new();
    let zeros = vec![0; 5 << 20];
    let names: Vec<String> = (0..21).map(|number| format!("web/files/{number}")).collect();
    let mut entries = vec![("web/Chart.yaml", b'0', &b"apiVersion: v2\nname: web\nversion: 1.0.0\n"[..])];
    entries.extend(names.iter().map(|name| (name.as_str(), b'0', zeros.as_slice())));
    let bomb = gzip(&tar(&entries));
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    let server = Server::plain(&Arc::new(BTreeMap::from([("bomb.tgz".to_owned(), bomb)])));
    let url = format!("http://{}/x/bomb.tgz", server.address);
    let before = left(&env);
    for line in ["pull --untar", "show chart", "template x", "install x --cluster embedded"] {
        let printed = env.pintle(&format!("{line} {url}"));
        assert!(printed.starts_with("exit 3\n"), "{line}: {printed}");
        let reason = "decompressed chart is larger than the maximum size 104857600\n";
        assert!(printed.contains(reason), "{line}: {printed}");
    }
    let is_new = |name: &String| !before.contains(name) && !name.contains("/.");
    let found: Vec<_> = left(&env).into_iter().filter(is_new).collect();
    assert!(found.iter().all(|name| name.starts_with("./.cache") || name.contains("content")), "{found:?}");
}

/// Everything below a folder, with whether it is a link.
fn below(folder: &std::path::Path) -> BTreeMap<std::path::PathBuf, bool> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().expect("it is there");
        found.insert(entry.path(), kind.is_symlink());
        if kind.is_dir() {
            found.extend(below(&entry.path()));
        }
    }
    found
}

#[test]
fn archives_with_links_and_paths_out_of_their_folder_write_nothing_outside() {
    let (env, server) = set_up();
    // The archives name these files.
    let outside = || ["/etc/x", "/x"].map(|path| std::path::Path::new(path).exists());
    let outside_before = outside();
    let before = below(env.path());
    for name in
        ["parent", "parent-only", "absolute", "backslash", "drive", "soft-link", "hard-link", "device"]
    {
        let target = format!("out/{name}");
        let url = format!("http://{}/bad/{name}-1.0.0.tgz", server.address);
        let printed = env.pintle(&format!("pull {url} --untar --untardir {target}"));
        let inside = env.path().join(&target);
        let found = below(env.path());
        let mut new = found.iter().filter(|(path, _)| !before.contains_key(*path));
        let allowed = |path: &std::path::Path| {
            path.starts_with(&inside)
                || inside.starts_with(path)
                || path.starts_with(env.path().join(".cache"))
        };
        assert!(new.all(|(path, is_link)| allowed(path) && !is_link), "{name}: {printed}\n{found:?}");
        assert_eq!(outside(), outside_before, "{name}");
        assert!(name != "parent" || !printed.starts_with("exit 0"), "{name}: {printed}");
        let _ = fs::remove_dir_all(env.path().join("out"));
    }
}

#[test]
fn an_upgrade_takes_its_chart_from_the_repository_of_the_flag() {
    let (env, server) = set_up();
    let repo = format!("--repo http://{}/charts --cluster embedded:cluster.db", server.address);
    good(env.pintle(&format!("install x web --version 1.0.0 {repo}")));
    good(env.pintle(&format!("upgrade x web {repo}")));
    good(env.pintle(&format!("upgrade x web --install --version 1.0.0 {repo}")));
    let printed = good(env.pintle("history x --cluster embedded:cluster.db"));
    assert!(printed.contains("web-1.1.0"), "{printed}");
}

#[test]
fn servers_that_want_a_certificate_get_it_with_downloads_and_uploads() {
    let env = TestEnv::new();
    let files = server::files(&env);
    crate::images_copy::certificates(&env);
    let server = Server::mutual(&files, &env);
    let url = format!("https://{}", server.address);
    let flags = "--ca-file ca.pem --cert-file server.pem --key-file server.key";
    let refused = env.pintle(&format!("repo add r {url}/charts --ca-file ca.pem"));
    assert!(refused.starts_with("exit 1\n") && refused.contains("certificate required"), "{refused}");
    good(env.pintle(&format!("repo add r {url}/charts {flags}")));
    good(env.pintle("pull r/web"));
    let saved = "status/201_Created";
    let push = format!("push web-1.1.0.tgz {url}/{saved} --context-path /{saved}");
    assert!(env.pintle(&format!("{push} --ca-file ca.pem")).starts_with("exit 1\n"));
    good(env.pintle(&format!("{push} {flags}")));
}

/// The race between request and alert is made deterministic: the server loses the alert of every other connection.
#[test]
fn a_server_that_wants_a_certificate_says_so_even_if_its_alert_is_lost() {
    let env = TestEnv::new();
    server::files(&env);
    crate::images_copy::certificates(&env);
    env.write("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n");
    good(env.pintle("package app"));
    let server = Server::losing_alerts(&env);
    let host = &server.address;
    for line in
        [format!("push app-1.0.0.tgz oci://{host}/charts"), format!("repo add r https://{host}/charts")]
    {
        let refused = env.helm(&format!("{line} --ca-file ca.pem"));
        assert!(refused.starts_with("exit 1\n"), "{line}: {refused}");
        assert!(refused.contains("remote error: tls: certificate required"), "{line}: {refused}");
    }
}
