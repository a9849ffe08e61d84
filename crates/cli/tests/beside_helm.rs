//! Runs the same commands with the real Helm and with this program called `helm`, on the same registries, each in its
//! own home and directory; exit codes, output and resulting files are compared after each command.
//!
//! Commands are in `beside_helm/*.txt`, one per line. `{plain}` is an open registry, `{guarded}` one that requires
//! credentials (me, pw), `{closed}` a port that refuses connections. A line may end in `<<< text` for standard input. A
//! line that begins with `~` differs on purpose, as described in COMPATIBILITY.md; it is only checked that both
//! programs run.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

mod oci;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::registries::program::{Program, distribution};
use crate::support::{TestEnv, real_helm, words};

/// One of the two programs, with its home and its directory.
struct Side {
    program: PathBuf,
    root: TempDir,
}

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
    files: Vec<(String, String)>,
}

impl Outcome {
    /// The result for a comparison; of the files only those that the other side does not have.
    fn beside(&self, other: &Outcome) -> String {
        let files: Vec<_> = self.files.iter().filter(|file| !other.files.contains(file)).collect();
        format!("exit {}\n{}{}only here: {files:?}", self.code, self.stdout, self.stderr)
    }
}

impl Side {
    fn new(program: PathBuf) -> Side {
        let side = Side { program, root: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(side.home()).unwrap();
        std::fs::create_dir_all(side.work()).unwrap();
        side
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    fn run(&self, line: &str) -> Outcome {
        let (line, input) =
            line.split_once(" <<< ").map_or((line, None), |(line, input)| (line, Some(input)));
        let mut child = Command::new(&self.program)
            .args(words(line))
            .current_dir(self.work())
            .env_clear()
            .env("HOME", self.home())
            .env("TZ", "UTC")
            .env("PATH", "/usr/bin:/bin")
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
            // A program that fails early closes its input.
            let _ = pipe.write_all(format!("{input}\n").as_bytes());
        }
        let output = child.wait_with_output().unwrap();
        let root = self.root.path().to_string_lossy().into_owned();
        let clean = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&root, "{root}");
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: clean(&output.stdout),
            stderr: clean(&output.stderr),
            files: self.files(),
        }
    }

    /// All files with their content. Signatures are never equal, and archives depend on the compression library.
    fn files(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut open = vec![self.root.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.root.path()).unwrap().to_string_lossy().into_owned();
                // Caches of ours: what is pulled is kept too, with the manifests of tags, and indexes are indexed.
                if name.starts_with("home/.cache/helm/content") || name.ends_with("-index.pintle") {
                    continue;
                }
                let content = match path.extension().and_then(|extension| extension.to_str()) {
                    _ if name.contains("/pulled/") => {
                        pintle_provenance::sha256(&std::fs::read(&path).unwrap())
                    }
                    Some("prov") => "a signature".to_owned(),
                    Some("tgz") => "an archive".to_owned(),
                    _ => pintle_provenance::sha256(&std::fs::read(&path).unwrap()),
                };
                found.push((name, content));
            }
        }
        found.sort();
        found
    }
}

#[allow(clippy::print_stderr, reason = "a test that is skipped is to be seen")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Both programs, or `None` if the real one is not installed.
fn sides(place: &TestEnv) -> Option<[Side; 2]> {
    let Some(real) = real_helm("PINTLE_HELM", "4.2.4") else {
        skip("the real Helm 4.2.4 is missing");
        return None;
    };
    Some([Side::new(real), Side::new(place.linked("helm"))])
}

/// A chart as a directory and as archives, with equal bytes and times on both sides.
fn charts(side: &Side) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let write = |path: &str, text: &str| {
        let path = side.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    for (folder, version) in
        [("web", "1.0.0"), ("next", "1.1.0"), ("pre", "2.0.0-rc.1"), ("plus", "1.0.0+build.5")]
    {
        write(
            &format!("{folder}/Chart.yaml"),
            &format!(
                "apiVersion: v2\nname: web\nversion: {version}\nappVersion: \"1\"\ndescription: a <web> & more\n\
                 home: https://example.com\nsources: [https://s.example.com]\nkeywords: [a, b]\n\
                 maintainers:\n- {{name: Anne, email: anne@example.com}}\n- {{name: Bob, url: https://bob}}\n\
                 annotations: {{org.opencontainers.image.title: other, team: x}}\n"
            ),
        );
        write(&format!("{folder}/values.yaml"), "a: 1\n");
        write(&format!("{folder}/templates/a.yaml"), "a: {{ .Values.a }}\n");
    }
    write("old/Chart.yaml", "apiVersion: v1\nname: old\nversion: 0.1.0\n");
    write("old/requirements.yaml", "dependencies:\n- {name: sub, version: '>=0.1.0', repository: ''}\n");
    write("old/charts/sub/Chart.yaml", "apiVersion: v1\nname: sub\nversion: 0.1.0\n");
    write("text.tgz", "no archive\n");
    write("pass.txt", "secret\n");
    write("wrong.txt", "wrong\n");
    write("empty.txt", "");
    write("broken.json", "{");
}

/// Runs the lines of a table, and returns the differences.
fn compare(sides: &[Side; 2], archives: Archives, table: &str, replace: &[(&str, &str)]) {
    let mut differences = Vec::new();
    let mut count = 0;
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut line = line.to_owned();
        for (from, to) in replace {
            line = line.replace(from, to);
        }
        let (line, differs) =
            line.strip_prefix('~').map_or((line.as_str(), false), |line| (line.trim(), true));
        let run = |side: &Side| match archives {
            Archives::Shared | Archives::Pulled => side.run(line),
            Archives::Own => without_digests(side.run(line)),
        };
        let [theirs, ours] = sides.each_ref().map(run);
        count += 1;
        if theirs != ours && !differs {
            differences.push(format!(
                "$ helm {line}\nHelm: {}\nours: {}",
                theirs.beside(&ours),
                ours.beside(&theirs)
            ));
        }
        assert!(theirs != ours || !differs, "`{line}` no longer differs");
        if archives == Archives::Shared {
            share_archives(sides);
        }
    }
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n\n"));
    assert!(count > 0);
}

/// Gives both sides the archives of the real Helm with the same timestamp, which is part of the pushed manifest: the
/// digests must be equal.
fn share_archives(sides: &[Side; 2]) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let [helm, ours] = sides;
    for (name, content) in ours.files() {
        if content == "an archive" && helm.root.path().join(&name).is_file() {
            std::fs::copy(helm.root.path().join(&name), ours.root.path().join(&name)).unwrap();
        }
    }
    for side in sides {
        for (name, content) in side.files() {
            if content == "an archive" {
                let path = side.root.path().join(name);
                std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
            }
        }
    }
}

/// Digests of archives, which depend on the compression library.
fn without_digests(outcome: Outcome) -> Outcome {
    let clean = |text: &str| {
        let mut parts = text.split("sha256:");
        let mut clean = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            clean.push_str("sha256:…");
            clean.push_str(part.get(64..).unwrap_or(part));
        }
        clean
    };
    Outcome { stdout: clean(&outcome.stdout), stderr: clean(&outcome.stderr), ..outcome }
}

/// Whether both programs have the same archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Archives {
    Shared,
    Own,
    /// They come from one registry.
    Pulled,
}

/// A registry that requires credentials: me, pw.
fn guarded(folder: &Path) -> Option<Program> {
    let file = folder.join("htpasswd");
    std::fs::write(&file, HTPASSWD).unwrap();
    distribution(&format!("auth:\n  htpasswd: {{realm: test, path: {}}}\n", file.display()))
}

/// `me` with the password `pw`.
const HTPASSWD: &str = "me:$2a$10$59HOHojFhqgaT6W2MF3wXetn3XLgRwjEB7dsuXl3MvujW.ONfuDY2\n";

#[test]
fn registries_are_used_as_helm_uses_them() {
    let place = TestEnv::new();
    let Some(sides) = sides(&place) else { return };
    let (Some(plain), Some(locked)) = (distribution(""), guarded(place.path())) else { return };
    sides.iter().for_each(charts);
    let replace =
        [("{plain}", plain.host.as_str()), ("{guarded}", &locked.host), ("{closed}", "127.0.0.1:1")];
    compare(&sides, Archives::Shared, include_str!("beside_helm/registry.txt"), &replace);
}

/// GnuPG keys as files on both sides; `None` if it is not installed.
fn keys(place: &TestEnv, sides: &[Side; 2]) -> bool {
    if Command::new("gpg").arg("--version").output().is_err() {
        skip("gpg is not installed");
        return false;
    }
    let home = place.path().join("gnupg");
    std::fs::create_dir(&home).unwrap();
    std::fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let gpg = |arguments: &[&str]| {
        let output = Command::new("gpg")
            .env("GNUPGHOME", &home)
            .args(["--batch", "--yes", "--no-tty", "--pinentry-mode", "loopback"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for (user, passphrase) in [("Anne <anne@example.com>", ""), ("Bob <bob@example.org>", "secret")] {
        gpg(&["--passphrase", passphrase, "--quick-gen-key", user, "rsa2048", "sign,cert", "never"]);
    }
    let files = [
        ("public.gpg", gpg(&["--export"])),
        ("anne.gpg", gpg(&["--export", "anne@"])),
        ("bob.gpg", gpg(&["--export", "bob@"])),
        (
            "secret.gpg",
            [
                gpg(&["--export-secret-keys", "anne@"]),
                gpg(&["--passphrase", "secret", "--export-secret-keys", "bob@"]),
            ]
            .concat(),
        ),
    ];
    for side in sides {
        for (name, content) in &files {
            std::fs::write(side.work().join(name), content).unwrap();
        }
    }
    let _ = Command::new("gpgconf").env("GNUPGHOME", &home).args(["--kill", "all"]).output();
    true
}

#[test]
fn charts_are_signed_and_verified_as_helm_does_it() {
    let place = TestEnv::new();
    let Some(sides) = sides(&place) else { return };
    if !keys(&place, &sides) {
        return;
    }
    sides.iter().for_each(charts);
    compare(&sides, Archives::Own, include_str!("beside_helm/provenance.txt"), &[]);
    // Each verifies the signatures of the other.
    for side in &sides {
        std::fs::create_dir(side.work().join("from")).unwrap();
    }
    let [helm, ours] = &sides;
    for (from, to) in [(helm, ours), (ours, helm)] {
        for name in ["web-3.2.1.tgz", "web-3.2.1.tgz.prov"] {
            std::fs::copy(from.work().join(name), to.work().join(format!("from/{name}"))).unwrap();
        }
        let outcome = to.run("verify from/web-3.2.1.tgz --keyring public.gpg");
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stdout.starts_with("Signed by: "), "{outcome:?}");
    }
}

#[test]
fn helm_and_pintle_share_home_and_registry() {
    let place = TestEnv::new();
    let Some(sides) = sides(&place) else { return };
    let Some(locked) = guarded(place.path()) else { return };
    sides.iter().for_each(charts);
    let [helm, ours] = &sides;
    let host = &locked.host;
    for side in &sides {
        assert_eq!(side.run("package web next").code, 0);
    }
    let digest = |outcome: &Outcome| {
        outcome.stdout.lines().find_map(|line| line.strip_prefix("Digest: ").map(ToOwned::to_owned))
    };
    let config = ".config/helm/registry/config.json";
    for (first, second) in [(helm, ours), (ours, helm)] {
        // Each uses the credentials that the other stored.
        assert_eq!(
            first.run(&format!("registry login {host} -u me --password-stdin --plain-http <<< pw")).code,
            0
        );
        std::fs::create_dir_all(second.home().join(config).parent().unwrap()).unwrap();
        std::fs::copy(first.home().join(config), second.home().join(config)).unwrap();
        share_archives(&sides);
        let pushed = first.run(&format!("push web-1.0.0.tgz oci://{host}/turns --plain-http"));
        let again = second.run(&format!("push web-1.0.0.tgz oci://{host}/turns --plain-http"));
        assert_eq!((pushed.code, again.code), (0, 0), "{pushed:?} {again:?}");
        assert!(digest(&pushed).is_some());
        assert_eq!(digest(&pushed), digest(&again));
        // And removes them.
        assert_eq!(second.run(&format!("registry logout {host}")).code, 0);
        std::fs::copy(second.home().join(config), first.home().join(config)).unwrap();
        let refused = first.run(&format!("push web-1.1.0.tgz oci://{host}/turns --plain-http"));
        assert_eq!(refused.code, 1, "{refused:?}");
    }
}
