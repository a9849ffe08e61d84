//! GnuPG's keys and signatures with ours, and ours with GnuPG and the real Helm.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use pintle_provenance::{Error, Keyring, message, sha256, sign, verify};
use tempfile::TempDir;

const NAME: &str = "web-1.0.0.tgz";
const METADATA: &[u8] =
    b"apiVersion: v2\ndescription: |-\n  - dashes -\n  and blanks\nname: web\nversion: 1.0.0\n";

/// A GnuPG home directory with keys of several kinds.
struct Gnupg {
    home: TempDir,
}

impl Gnupg {
    /// The keys are generated once for all tests; `None` if GnuPG is not installed.
    fn new() -> Option<&'static Gnupg> {
        static SHARED: OnceLock<Option<Gnupg>> = OnceLock::new();
        SHARED.get_or_init(Gnupg::make).as_ref()
    }

    fn make() -> Option<Gnupg> {
        if Command::new("gpg").arg("--version").output().is_err() {
            skip("gpg is not installed");
            return None;
        }
        let gnupg = Gnupg { home: tempfile::tempdir().unwrap() };
        std::fs::set_permissions(gnupg.home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
        for (user, kind, passphrase) in [
            ("Rsa <rsa@example.com>", "rsa2048", ""),
            ("Ed <edwards@example.com>", "ed25519", ""),
            ("Nist <nist@example.com>", "nistp256", ""),
            ("Locked <locked@example.com>", "ed25519", "secret"),
            ("Gone <gone@example.com>", "ed25519", ""),
        ] {
            gnupg
                .run(&["--passphrase", passphrase, "--quick-gen-key", user, kind, "sign,cert", "never"], b"");
        }
        // A key that expired long ago.
        gnupg.run(
            &[
                "--faked-system-time",
                "20200101T000000",
                "--passphrase",
                "",
                "--quick-gen-key",
                "Old <old@example.com>",
                "ed25519",
                "sign,cert",
                "1d",
            ],
            b"",
        );
        Some(gnupg)
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let output = self.try_run(arguments, input);
        assert!(output.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn try_run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new("gpg")
            .env("GNUPGHOME", self.home.path())
            .args(["--batch", "--yes", "--no-tty", "--pinentry-mode", "loopback", "--trust-model", "always"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
        child.wait_with_output().unwrap()
    }

    fn public(&self, user: &str) -> Vec<u8> {
        self.run(&["--export", user], b"").stdout
    }

    fn secret(&self, user: &str, passphrase: &str) -> Vec<u8> {
        self.run(&["--passphrase", passphrase, "--export-secret-keys", user], b"").stdout
    }

    fn clearsign(&self, user: &str, passphrase: &str, more: &[&str], text: &[u8]) -> Vec<u8> {
        let arguments = ["--passphrase", passphrase, "--local-user", user, "--clearsign", "--output", "-"];
        self.run(&[more, &arguments].concat(), text).stdout
    }
}

impl Drop for Gnupg {
    fn drop(&mut self) {
        let _ = Command::new("gpgconf").env("GNUPGHOME", self.home.path()).args(["--kill", "all"]).output();
    }
}

fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    pintle_testkit::skip(why);
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

fn text(archive: &[u8]) -> Vec<u8> {
    message(METADATA, NAME, &sha256(archive)).unwrap()
}

fn outcome(ring: &[u8], provenance: &[u8]) -> Result<String, String> {
    let ring = Keyring::read(ring).map_err(|error| error.to_string())?;
    let verified = verify(&ring, provenance, NAME, &sha256(b"archive"), now() + 1);
    verified.map(|verified| verified.signed_by.join(",")).map_err(|error| error.to_string())
}

/// What the real Helm says about the same files.
fn helm(ring: &[u8], provenance: &[u8]) -> Option<Result<String, String>> {
    let Some(path) = pintle_testkit::real_helm() else {
        pintle_testkit::skip("the real Helm 4.3.1 is missing");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let (ring, archive) = (file("ring.gpg", ring), file(NAME, b"archive"));
    file(&format!("{NAME}.prov"), provenance);
    let output = Command::new(path)
        .env("HOME", folder.path())
        .arg("verify")
        .arg(&archive)
        .arg("--keyring")
        .arg(&ring)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    if !output.status.success() {
        return Some(Err(err.trim().trim_start_matches("Error: ").to_owned()));
    }
    let names: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("Signed by: ")).collect();
    Some(Ok(names.join(",")))
}

#[test]
fn gnupg_and_helm_verify_what_we_sign() {
    let Some(gnupg) = Gnupg::new() else { return };
    for (user, passphrase) in [("rsa@", ""), ("edwards@", ""), ("nist@", ""), ("locked@", "secret")] {
        let ring = Keyring::read(&gnupg.secret(user, passphrase)).unwrap();
        let entity = ring.find(user).unwrap();
        assert_eq!(entity.needs_passphrase().unwrap(), !passphrase.is_empty(), "{user}");
        let provenance = sign(entity, Some(passphrase.as_bytes()), &text(b"archive"), now()).unwrap();
        let checked = gnupg.try_run(&["--verify"], &provenance);
        assert!(checked.status.success(), "{user}: {}", String::from_utf8_lossy(&checked.stderr));
        let public = gnupg.public(user);
        let ours = outcome(&public, &provenance);
        assert!(ours.is_ok(), "{user}: {ours:?}");
        if let Some(theirs) = helm(&public, &provenance) {
            assert_eq!(ours, theirs, "{user}");
        }
    }
}

#[test]
fn text_with_blanks_at_line_ends_verifies_everywhere() {
    let Some(gnupg) = Gnupg::new() else { return };
    let ring = Keyring::read(&gnupg.secret("edwards@", "")).unwrap();
    for text in ["a: b \n", "a\t\n", "- a\n-----\n", "", "a", "\n\n", "a\n\n...\nfiles: \n"] {
        let provenance = sign(ring.find("edwards@").unwrap(), None, text.as_bytes(), now()).unwrap();
        let checked = gnupg.try_run(&["--verify"], &provenance);
        assert!(checked.status.success(), "{text:?}: {}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn we_verify_what_gnupg_signs_as_helm_does() {
    let Some(gnupg) = Gnupg::new() else { return };
    let text = text(b"archive");
    for (user, passphrase, more) in [
        ("rsa@", "", &["--digest-algo", "SHA512"][..]),
        ("rsa@", "", &["--digest-algo", "SHA256"]),
        ("edwards@", "", &["--digest-algo", "SHA512"]),
        ("nist@", "", &["--digest-algo", "SHA256"]),
        ("locked@", "secret", &["--digest-algo", "SHA512"]),
        ("rsa@", "", &["--digest-algo", "SHA1", "--allow-weak-digest-algos"]),
        ("rsa@", "", &["--digest-algo", "RIPEMD160", "--allow-weak-digest-algos"]),
        (
            "rsa@",
            "",
            &[
                "--default-sig-expire",
                "1d",
                "--faked-system-time",
                "20200301T000000",
                "--ignore-time-conflict",
                "--ignore-valid-from",
            ],
        ),
        ("old@", "", &["--faked-system-time", "20200101T010000"]),
    ] {
        let provenance = gnupg.clearsign(user, passphrase, more, &text);
        let public = gnupg.public(user);
        let ours = outcome(&public, &provenance);
        match helm(&public, &provenance) {
            Some(theirs) => assert_eq!(ours, theirs, "{user} {more:?}"),
            None if more.contains(&"SHA512") => assert!(ours.is_ok(), "{user} {more:?}: {ours:?}"),
            None => {}
        }
    }
    let old = gnupg.clearsign("old@", "", &["--faked-system-time", "20200101T010000"], &text);
    assert_eq!(outcome(&gnupg.public("old@"), &old).unwrap_err(), "openpgp: key expired");
}

#[test]
fn revoked_keys_do_not_count() {
    let Some(gnupg) = Gnupg::new() else { return };
    let provenance = gnupg.clearsign("gone@", "", &["--digest-algo", "SHA512"], &text(b"archive"));
    assert!(outcome(&gnupg.public("gone@"), &provenance).is_ok());
    let fingerprint = Keyring::read(&gnupg.public("gone@")).unwrap().entities()[0].fingerprint();
    let folder = gnupg.home.path().join("openpgp-revocs.d");
    let certificate = std::fs::read_to_string(folder.join(format!("{fingerprint}.rev"))).unwrap();
    // GnuPG puts a colon before the block, so that nobody uses it by accident.
    gnupg.run(&["--import"], certificate.replace(":-----BEGIN", "-----BEGIN").as_bytes());
    let public = gnupg.public("gone@");
    assert_eq!(outcome(&public, &provenance).unwrap_err(), "openpgp: signature made by revoked key");
    if let Some(theirs) = helm(&public, &provenance) {
        assert_eq!(outcome(&public, &provenance), theirs);
    }
}

#[test]
fn keyboxes_armour_and_old_rings_are_read() {
    let Some(gnupg) = Gnupg::new() else { return };
    let provenance = gnupg.clearsign("edwards@", "", &["--digest-algo", "SHA512"], &text(b"archive"));
    let keybox = std::fs::read(gnupg.home.path().join("pubring.kbx")).unwrap();
    let armoured = gnupg.run(&["--armor", "--export"], b"").stdout;
    let binary = gnupg.run(&["--export"], b"").stdout;
    for (form, ring) in [("keybox", keybox), ("armour", armoured), ("binary", binary)] {
        // Other tests add keys at the same time.
        assert!(Keyring::read(&ring).unwrap().entities().len() >= 6, "{form}");
        assert_eq!(outcome(&ring, &provenance), Ok("Ed <edwards@example.com>".to_owned()), "{form}");
    }
}

#[test]
fn stubs_of_secret_keys_are_told_from_keys() {
    let Some(gnupg) = Gnupg::new() else { return };
    gnupg.run(
        &["--passphrase", "", "--quick-gen-key", "Stub <stub@example.com>", "ed25519", "cert", "never"],
        b"",
    );
    let fingerprint = Keyring::read(&gnupg.public("stub@")).unwrap().entities()[0].fingerprint();
    let subkeys = |user: &str| gnupg.run(&["--passphrase", "", "--export-secret-subkeys", user], b"").stdout;
    let alone =
        Keyring::read(&gnupg.run(&["--passphrase", "", "--export-secret-keys", "edwards@"], b"").stdout)
            .unwrap();
    assert!(alone.find("edwards@").unwrap().needs_passphrase().is_ok());
    gnupg.run(&["--passphrase", "", "--quick-add-key", &fingerprint, "ed25519", "sign", "never"], b"");
    // The primary key is a stub here, and its subkey signs.
    let ring = Keyring::read(&subkeys("stub@")).unwrap();
    let provenance = sign(ring.find("stub@").unwrap(), None, &text(b"archive"), now()).unwrap();
    let public = gnupg.public("stub@");
    assert!(outcome(&public, &provenance).is_ok());
    if let Some(theirs) = helm(&public, &provenance) {
        assert_eq!(outcome(&public, &provenance), theirs);
    }
    // The secret key of the subkey is missing, too: nothing is left to sign with.
    let subkey = gnupg.run(&["--with-colons", "--with-keygrip", "--list-secret-keys", "stub@"], b"").stdout;
    let subkey = String::from_utf8(subkey).unwrap();
    let grip = subkey.lines().filter(|line| line.starts_with("grp:")).nth(1).unwrap().trim_matches(':');
    let grip = grip.rsplit(':').next().unwrap();
    gnupg.run(&["--armor", "--export", "stub@"], b"");
    std::fs::remove_file(gnupg.home.path().join("private-keys-v1.d").join(format!("{grip}.key"))).unwrap();
    let left = gnupg.try_run(&["--passphrase", "", "--export-secret-subkeys", "stub@"], b"").stdout;
    if let Ok(ring) = Keyring::read(&left)
        && let Ok(entity) = ring.find("stub@")
    {
        assert!(matches!(entity.needs_passphrase(), Err(Error::Stub | Error::NotPrivate)), "{entity:?}");
    }
}
