//! `deploy/install.sh`, against a release server on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::dist::archive::{self, Entry};
use crate::dist::sha256;
use crate::shell::root;

const NAME: &str = "pintle-v1.2.3-x86_64-unknown-linux-musl";

/// A server with one release, and a home to install into.
struct Release {
    files: BTreeMap<String, Vec<u8>>,
    home: TempDir,
}

impl Release {
    fn new() -> Release {
        let at = |path: &str| format!("{NAME}/{path}");
        let entries = [
            Entry::program(at("pintle"), "#!/bin/sh\necho \"pintle 1.2.3\"\n"),
            Entry::file(at("completions/pintle.bash"), "# bash"),
            Entry::file(at("completions/_pintle"), "# zsh"),
            Entry::file(at("completions/pintle.fish"), "# fish"),
            Entry::file(at("man/man1/pintle.1"), ".TH pintle"),
        ];
        let packed = archive::tar_gz(&entries, 0).expect("packed");
        let sums = format!("{}  {NAME}.tar.gz\n", sha256(&packed));
        let files = BTreeMap::from([
            ("/VERSION".to_owned(), b"v1.2.3\n".to_vec()),
            (format!("/v1.2.3/{NAME}.tar.gz"), packed),
            ("/v1.2.3/SHA256SUMS".to_owned(), sums.into_bytes()),
        ]);
        Release { files, home: TempDir::new().expect("a folder") }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// Runs the script while serving the files, one request at a time.
    fn install(&self, arguments: &[&str]) -> Output {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let files = self.files.clone();
        // Ends with the test's process; a test is a process of its own.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let mut line = String::new();
                let _ = reader.read_line(&mut line);
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {}
                let (status, body) = match files.get(&path) {
                    Some(body) => ("200 OK", body.as_slice()),
                    None => ("404 Not Found", &b"no such file"[..]),
                };
                let head = format!("HTTP/1.0 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(body));
            }
        });
        Command::new("sh")
            .arg(root().join("deploy/install.sh"))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("PINTLE_RELEASES", &address)
            .env("PINTLE_LATEST", format!("{address}/VERSION"))
            .output()
            .expect("there is a shell")
    }

    /// Everything below the home but folders.
    fn installed(&self) -> Vec<String> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => walk(&entry.path(), found),
                    false => found.push(entry.path()),
                }
            }
        }
        let mut found = Vec::new();
        walk(self.home.path(), &mut found);
        let relative =
            |path: &PathBuf| path.strip_prefix(self.home.path()).expect("below").display().to_string();
        let mut paths: Vec<String> = found.iter().map(relative).collect();
        paths.sort();
        paths
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The script chooses by processor; the release above has one target.
fn can_run() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

#[test]
fn the_newest_version_is_installed_for_one_user_and_removed_again() {
    if !can_run() {
        return;
    }
    let release = Release::new();
    let output = release.install(&["--as-helm"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("the digest is right"), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains(".local/bin is not on your PATH"), "{}", text(&output.stdout));
    assert_eq!(
        release.installed(),
        [
            ".local/bin/helm",
            ".local/bin/pintle",
            ".local/share/bash-completion/completions/pintle",
            ".local/share/fish/vendor_completions.d/pintle.fish",
            ".local/share/man/man1/pintle.1",
            ".local/share/pintle/installed",
            ".local/share/zsh/site-functions/_pintle",
        ]
    );
    let version = Command::new(release.path(".local/bin/helm")).output().expect("it runs");
    assert_eq!(text(&version.stdout), "pintle 1.2.3\n");
    let again = release.install(&["--version", "v1.2.3", "--as-helm"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    let removed = release.install(&["--uninstall"]);
    assert!(removed.status.success(), "{}", text(&removed.stderr));
    assert_eq!(release.installed(), Vec::<String>::new());
}

#[test]
fn an_archive_with_another_digest_is_not_installed() {
    if !can_run() {
        return;
    }
    let mut release = Release::new();
    let archive = release.files.get_mut(&format!("/v1.2.3/{NAME}.tar.gz")).expect("there");
    archive.push(0);
    let output = release.install(&["--version", "1.2.3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nothing was installed"), "{}", text(&output.stderr));
    assert_eq!(release.installed(), Vec::<String>::new());
}

#[test]
fn what_is_missing_is_named_and_nothing_is_installed() {
    if !can_run() {
        return;
    }
    let cases: [(&[&str], &str); 5] = [
        (&["--version", "9.9.9"], "cannot download pintle-v9.9.9-x86_64-unknown-linux-musl.tar.gz from "),
        (&["--version", "../../x"], "`../../x` is no version"),
        (&["--nonsense"], "unknown argument `--nonsense`"),
        (&["--to"], "--to needs a folder"),
        (&["--uninstall"], "nothing was installed by this script"),
    ];
    for (arguments, message) in cases {
        let release = Release::new();
        let output = release.install(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(release.installed(), Vec::<String>::new(), "{arguments:?}");
    }
}

#[test]
fn a_helm_that_is_there_is_never_replaced() {
    if !can_run() {
        return;
    }
    let release = Release::new();
    fs::create_dir_all(release.path(".local/bin")).expect("made");
    fs::write(release.path(".local/bin/helm"), "the real one").expect("written");
    let output = release.install(&["--as-helm"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("is not this program; nothing was installed"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(release.installed(), [".local/bin/helm"]);
}

#[test]
fn the_script_for_windows_verifies_before_it_installs() {
    let script = fs::read_to_string(root().join("deploy/install.ps1")).expect("there");
    let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("no `{text}`"));
    assert!(at("minisign -V") < at("Get-FileHash") && at("Get-FileHash") < at("Expand-Archive"));
    assert!(at("$wanted -cne $found") < at("Expand-Archive") && at("Expand-Archive") < at("Copy-Item"));
    assert!(script.contains("pintle-v$Version-x86_64-pc-windows-gnu"), "the name of the archive");
    assert_eq!(script.matches('{').count(), script.matches('}').count());
}
