//! Servers, registries, charts and keys that scenarios use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::side::{Outcome, Side};
use super::skip;
use crate::registries::program::{Program, distribution};
use crate::repositories::server::{self, Server};
use crate::support::TestEnv;

/// The archives that registries have besides `web-1.0.0` and a signed one.
const PACKED: [&str; 6] =
    ["web-1.1.0", "web-2.0.0-rc.1", "web-1.0.0+build.5", "old-0.1.0", "plus-1.0.0+b.1", "db-0.3.0"];

/// `me` with the password `pw`.
const HTPASSWD: &str = "me:$2a$10$59HOHojFhqgaT6W2MF3wXetn3XLgRwjEB7dsuXl3MvujW.ONfuDY2\n";

/// Everything that both programs find in the same state.
pub(super) struct World<'a> {
    pub(super) place: &'a TestEnv,
    pub(super) helm: PathBuf,
    pub(super) ours: PathBuf,
    /// The folder of all homes.
    pub(super) homes: PathBuf,
    names: BTreeMap<&'static str, String>,
    _running: (Vec<Server>, Vec<Program>),
}

impl<'a> World<'a> {
    /// Starts what a text mentions; `None` if a program for it is missing.
    pub(super) fn start(place: &'a TestEnv, helm: &Path, text: &str) -> Option<World<'a>> {
        let mut files = (*server::files(place)).clone();
        crate::images_copy::certificates(place);
        let packager = Side::new(helm, place.path(), "packager");
        charts(&packager.home);
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["@keys", "-registry}", "{registry}"]) && !keys(place) {
            return None;
        }
        let mut world = World {
            place,
            helm: helm.to_owned(),
            ours: place.linked("helm"),
            homes: place.path().join("homes"),
            names: BTreeMap::new(),
            _running: (Vec::new(), Vec::new()),
        };
        if has(&["@packed", "registry}", "{guarded}", "/signed"]) {
            world.package(&packager);
            world.list_signed(&packager, &mut files);
        }
        let mut names = world.serve(files);
        for (name, more, flags) in registries(place) {
            if text.contains(name) {
                let registry = distribution(&more)?;
                world.fill(&packager, &registry.host, flags, &mut names);
                names.insert(name, registry.host.clone());
                world._running.1.push(registry);
            }
        }
        world.names = names;
        Some(world)
    }

    /// Starts the HTTP servers, and gives their names.
    fn serve(&mut self, mut files: BTreeMap<String, Vec<u8>>) -> BTreeMap<&'static str, String> {
        let other = Server::plain(&Arc::new(files.clone()));
        // An index whose chart URL leads to another server, which requires credentials.
        let index = format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{name: web, version: 1.0.0, urls: ['http://{}/auth/web-1.0.0.tgz']}}\n",
            other.address
        );
        files.insert("cross/index.yaml".to_owned(), index.into_bytes());
        let files = Arc::new(files);
        let servers = vec![Server::plain(&files), other, Server::tls(&files, self.place)];
        let (_, port) = servers[1].address.rsplit_once(':').unwrap();
        let names = BTreeMap::from([
            ("{plain}", format!("http://{}", servers[0].address)),
            ("{other}", format!("http://{}", servers[1].address)),
            ("{other-port}", port.to_owned()),
            ("{tls}", format!("https://{}", servers[2].address)),
            ("{closed}", "127.0.0.1:1".to_owned()),
            ("{zeros}", "0".repeat(64)),
            ("{server}", self.place.path().to_string_lossy().into_owned()),
        ]);
        self._running.0 = servers;
        names
    }

    /// The archives of the registries as a repository, below `/signed`, with the provenance file of one.
    fn list_signed(&self, packager: &Side, files: &mut BTreeMap<String, Vec<u8>>) {
        let folder = self.place.path().join("packed");
        good(packager, &format!("repo index {}", folder.display()));
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(format!("signed/{name}"), fs::read(entry.path()).unwrap());
        }
        fs::remove_file(folder.join("index.yaml")).unwrap();
    }

    /// The line with addresses in place of their names.
    pub(super) fn filled_in(&self, line: &str) -> String {
        self.names.iter().fold(line.to_owned(), |line, (name, value)| line.replace(name, value))
    }

    /// Packages charts with the real Helm, one of them signed, at a fixed time: it is part of what is pushed.
    fn package(&self, packager: &Side) {
        good(packager, "package web next pre plus old plus-name -d packed");
        if self.place.path().join("rings").is_dir() {
            self.put("@keys", &packager.home);
            good(packager, "package signed -d packed --sign --key Anne --keyring secret.gpg");
        }
        fs::copy(self.place.path().join("archives/db-0.3.0.tgz"), packager.home.join("packed/db-0.3.0.tgz"))
            .unwrap();
        for entry in fs::read_dir(packager.home.join("packed")).unwrap().flatten() {
            set_time(&entry.path());
        }
        fs::rename(packager.home.join("packed"), self.place.path().join("packed")).unwrap();
    }

    /// Pushes charts with the real Helm, and notes the digests of two of them.
    fn fill(&self, packager: &Side, host: &str, flags: &str, names: &mut BTreeMap<&'static str, String>) {
        self.put("@certificates", &packager.home);
        let push = |archive: &str| {
            let folder = self.place.path().join("packed");
            let archive = folder.join(format!("{archive}.tgz"));
            let pushed = good(packager, &format!("push {} oci://{host}/charts {flags}", archive.display()));
            pushed
                .stdout
                .lines()
                .find_map(|line| line.strip_prefix("Digest: "))
                .unwrap_or_default()
                .to_owned()
        };
        for archive in PACKED {
            push(archive);
        }
        names.insert("{digest}", push("web-1.0.0"));
        if self.place.path().join("packed/signed-1.0.0.tgz").is_file() {
            names.insert("{signed}", push("signed-1.0.0"));
        }
    }

    /// Puts something into a home.
    pub(super) fn put(&self, what: &str, home: &Path) {
        let place = self.place.path();
        let copy_all = |from: &str| {
            for entry in fs::read_dir(place.join(from)).unwrap().flatten() {
                let to = home.join(entry.file_name());
                fs::copy(entry.path(), &to).unwrap();
                set_time(&to);
            }
        };
        match what {
            "@charts" => charts(home),
            "@packed" => copy_all("packed"),
            "@keys" => copy_all("rings"),
            "@certificates" => {
                for file in ["ca.pem", "server.pem", "server.key"] {
                    fs::copy(place.join(file), home.join(file)).unwrap();
                }
            }
            _ => panic!("unknown directive {what}"),
        }
    }
}

/// Registries by their names, with their settings and the flags to push to them.
fn registries(place: &TestEnv) -> [(&'static str, String, &'static str); 4] {
    place.write("htpasswd", HTPASSWD);
    let here = place.path().display();
    let guarded = format!("auth:\n  htpasswd: {{realm: test, path: {here}/htpasswd}}\n");
    let tls = format!("  tls:\n    certificate: {here}/server.pem\n    key: {here}/server.key\n");
    let mutual = format!("{tls}    clientcas: [{here}/ca.pem]\n");
    [
        ("{registry}", String::new(), "--plain-http"),
        ("{guarded}", guarded, "--plain-http --username me --password pw"),
        ("{tls-registry}", tls, "--ca-file ca.pem"),
        ("{mutual-registry}", mutual, "--ca-file ca.pem --cert-file server.pem --key-file server.key"),
    ]
}

fn good(side: &Side, line: &str) -> Outcome {
    let outcome = side.run(line);
    assert_eq!(outcome.exit, Some(0), "{line}: {outcome:?}");
    outcome
}

/// Gives a file the same time on both sides.
pub(super) fn set_time(path: &Path) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Charts as folders, and files that are none, with equal bytes and times on both sides.
pub(super) fn charts(home: &Path) {
    let write = |path: &str, text: &str| {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        set_time(&path);
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
    write("plus-name/Chart.yaml", "apiVersion: v2\nname: plus\nversion: 1.0.0+b.1\n");
    write("signed/Chart.yaml", "apiVersion: v2\nname: signed\nversion: 1.0.0\n");
    write("old/Chart.yaml", "apiVersion: v1\nname: old\nversion: 0.1.0\n");
    write("old/requirements.yaml", "dependencies:\n- {name: sub, version: '>=0.1.0', repository: ''}\n");
    write("old/charts/sub/Chart.yaml", "apiVersion: v1\nname: sub\nversion: 0.1.0\n");
    write("text.tgz", "no archive\n");
    write("pass.txt", "secret\n");
    write("wrong.txt", "wrong\n");
    write("empty.txt", "");
    write("broken.json", "{");
}

/// Makes keyrings with GnuPG, below `rings`; false if it is not installed.
pub(crate) fn keys(place: &TestEnv) -> bool {
    if Command::new("gpg").arg("--version").output().is_err() {
        skip("gpg is not installed");
        return false;
    }
    let home = place.path().join("gnupg");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let gpg = |arguments: &[&str]| {
        let mut command = Command::new("gpg");
        command.env("GNUPGHOME", &home).args(["--batch", "--yes", "--no-tty", "--pinentry-mode", "loopback"]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for (user, passphrase) in [("Anne <anne@example.com>", ""), ("Bob <bob@example.org>", "secret")] {
        gpg(&["--passphrase", passphrase, "--quick-gen-key", user, "rsa2048", "sign,cert", "never"]);
    }
    let secret = [
        gpg(&["--export-secret-keys", "anne@"]),
        gpg(&["--passphrase", "secret", "--export-secret-keys", "bob@"]),
    ];
    fs::create_dir(place.path().join("rings")).unwrap();
    for (name, content) in [
        ("public.gpg", gpg(&["--export"])),
        ("anne.gpg", gpg(&["--export", "anne@"])),
        ("bob.gpg", gpg(&["--export", "bob@"])),
        ("secret.gpg", secret.concat()),
    ] {
        fs::write(place.path().join("rings").join(name), content).unwrap();
    }
    let _ = Command::new("gpgconf").env("GNUPGHOME", &home).args(["--kill", "all"]).output();
    true
}
