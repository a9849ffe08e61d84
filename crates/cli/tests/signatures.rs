//! Signing and verifying: what differs from Helm. What equals Helm is in `beside_helm`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::process::Command;

use crate::support::terminal::Terminal;
use crate::support::{TestEnv, chart};

/// An environment with a chart and a GnuPG home with two keys, the second one locked; `None` if GnuPG is not installed.
fn env() -> Option<TestEnv> {
    if Command::new("gpg").arg("--version").output().is_err() {
        #[allow(clippy::print_stderr, reason = "a test that is skipped is to be seen")]
        let () = eprintln!("skipped: gpg is not installed");
        return None;
    }
    let env = TestEnv::new();
    chart::write(&env);
    std::fs::create_dir(env.path().join("gnupg")).unwrap();
    std::fs::set_permissions(env.path().join("gnupg"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    for (user, passphrase) in [("Anne <anne@example.com>", ""), ("Bob <bob@example.org>", "open sesame")] {
        gpg(&env, &["--passphrase", passphrase, "--quick-gen-key", user, "ed25519", "sign,cert", "never"]);
    }
    Some(env)
}

fn gpg(env: &TestEnv, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("gpg")
        .env("GNUPGHOME", env.path().join("gnupg"))
        .args(["--batch", "--yes", "--no-tty", "--pinentry-mode", "loopback"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn run(env: &TestEnv, name: &str, line: &str) -> String {
    let home = env.path().join("gnupg").to_string_lossy().into_owned();
    env.called(name, line, &[("GNUPGHOME", &home), ("PATH", "/usr/bin:/bin")])
}

fn end(env: &TestEnv) {
    let home = env.path().join("gnupg");
    let _ = Command::new("gpgconf").env("GNUPGHOME", home).args(["--kill", "all"]).output();
}

#[test]
fn keys_that_only_gnupg_has_sign_through_its_agent_and_its_keybox_is_the_keyring() {
    let Some(env) = env() else { return };
    let signed = run(&env, "pintle", "package web --sign --key anne@");
    assert!(signed.starts_with("exit 0\n"), "{signed}");
    let verified = run(&env, "pintle", "verify web-0.1.0.tgz");
    assert!(verified.starts_with("exit 0\n--- stdout\nSigned by: Anne <anne@example.com>\n"), "{verified}");
    assert_eq!(run(&env, "helm", "verify web-0.1.0.tgz"), verified);
    // A passphrase is passed to GnuPG, too.
    env.write("pass", "open sesame\n");
    let signed = run(&env, "pintle", "package web --sign --key bob@ --passphrase-file pass");
    assert!(signed.starts_with("exit 0\n"), "{signed}");
    assert!(run(&env, "pintle", "verify web-0.1.0.tgz").contains("Signed by: Bob"));
    // Helm never runs GnuPG, so neither do we under its name.
    let refused = run(&env, "helm", "package web --sign --key anne@");
    assert!(
        refused.ends_with(
            "Error: provided key is not a private key. Try providing a keyring with secret keys\n"
        ),
        "{refused}"
    );
    let nobody = run(&env, "pintle", "package web --sign --key nobody@");
    assert!(
        nobody.starts_with("exit 1\n") && nobody.contains("GnuPG cannot sign with it either"),
        "{nobody}"
    );
    end(&env);
}

#[test]
fn keys_are_named_by_fingerprint_and_keyrings_may_be_armoured() {
    let Some(env) = env() else { return };
    let secret = gpg(&env, &["--armor", "--export-secret-keys", "anne@"]);
    std::fs::write(env.path().join("secret.asc"), secret).unwrap();
    std::fs::write(env.path().join("public.asc"), gpg(&env, &["--armor", "--export"])).unwrap();
    let listed = String::from_utf8(gpg(&env, &["--with-colons", "--list-keys", "anne@"])).unwrap();
    let fingerprint = listed.lines().find_map(|line| line.strip_prefix("fpr:")).unwrap().trim_matches(':');
    for key in [fingerprint, &fingerprint[24..], &format!("0x{}", &fingerprint[32..])] {
        let signed = run(&env, "helm", &format!("package web --sign --key {key} --keyring secret.asc"));
        assert!(signed.starts_with("exit 0\n"), "{key}: {signed}");
    }
    let verified = run(&env, "helm", "verify web-0.1.0.tgz --keyring public.asc");
    assert!(verified.contains(&format!("Using Key With Fingerprint: {fingerprint}\n")), "{verified}");
    let shown = run(&env, "pintle", "show chart web-0.1.0.tgz --verify --keyring public.asc");
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    // One more byte, and the chart is not read.
    let mut archive = std::fs::read(env.path().join("web-0.1.0.tgz")).unwrap();
    archive.push(0);
    std::fs::write(env.path().join("web-0.1.0.tgz"), archive).unwrap();
    let refused = run(&env, "pintle", "template x web-0.1.0.tgz --verify --keyring public.asc");
    assert!(refused.starts_with("exit 1\n") && refused.contains("sha256 sum does not match"), "{refused}");
    end(&env);
}

#[test]
fn a_passphrase_is_asked_for_and_not_shown() {
    let Some(env) = env() else { return };
    let secret = gpg(&env, &["--passphrase", "open sesame", "--export-secret-keys", "bob@"]);
    std::fs::write(env.path().join("secret.gpg"), secret).unwrap();
    let line = "package web --sign --key bob@ --keyring secret.gpg";
    let terminal = Terminal::start_as(&env, "helm", line, true);
    terminal.wait_for("Password for key \"Bob <bob@example.org>\" >  ", 1).type_in("open sesame\n");
    let (code, _, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("sesame"), "{screen}");
    assert!(screen.contains(">  \nSuccessfully packaged chart"), "{screen}");
    end(&env);
}

#[test]
fn endless_files_are_rejected_as_keyrings_and_provenance() {
    let env = TestEnv::new();
    env.write("web-0.1.0.tgz", "x").write("web-0.1.0.tgz.prov", "x").write("none", "");
    let printed = env.pintle("verify web-0.1.0.tgz --keyring /dev/zero");
    assert!(printed.contains("the keyring is larger than 67108864 bytes"), "{printed}");
    std::fs::remove_file(env.path().join("web-0.1.0.tgz.prov")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", env.path().join("web-0.1.0.tgz.prov")).unwrap();
    let printed = env.pintle("verify web-0.1.0.tgz --keyring none");
    assert!(printed.contains("the provenance file is larger than 8388608 bytes"), "{printed}");
}

#[test]
fn charts_that_are_fetched_are_verified_and_their_signatures_are_asked_for_with_the_credentials() {
    use crate::repositories::server::{LOGIN, Server};
    let Some(env) = env() else { return };
    let signed = run(&env, "pintle", "package web --sign --key anne@ -d served");
    assert!(signed.starts_with("exit 0\n"), "{signed}");
    assert!(run(&env, "pintle", "repo index served").starts_with("exit 0\n"));
    let mut files = std::collections::BTreeMap::new();
    for name in ["index.yaml", "web-0.1.0.tgz", "web-0.1.0.tgz.prov"] {
        files.insert(name.to_owned(), std::fs::read(env.path().join("served").join(name)).unwrap());
    }
    let server = Server::plain(&std::sync::Arc::new(files.clone()));
    let keyrings =
        [("anne.gpg", gpg(&env, &["--export", "anne@"])), ("bob.gpg", gpg(&env, &["--export", "bob@"]))];
    for (name, content) in keyrings {
        std::fs::write(env.path().join(name), content).unwrap();
    }
    let add = format!("repo add r http://{}/auth --username me --password secret", server.address);
    assert!(run(&env, "pintle", &add).starts_with("exit 0\n"));
    std::fs::remove_dir_all(env.path().join("web")).unwrap();
    server.asked();
    for name in ["helm", "pintle"] {
        for command in
            ["template r/web", "show values r/web", "pull r/web", "install x r/web --dry-run=client"]
        {
            let printed = run(&env, name, &format!("{command} --verify --keyring anne.gpg"));
            assert!(printed.starts_with("exit 0\n"), "{command}: {printed}");
            let printed = run(&env, name, &format!("{command} --verify --keyring bob.gpg"));
            assert!(printed.starts_with("exit 1\n"), "{command}: {printed}");
            assert!(printed.contains("signature made by unknown entity"), "{command}: {printed}");
        }
    }
    let asked = server.asked();
    let provenance: Vec<_> = asked.iter().filter(|asked| asked.path.ends_with(".prov")).collect();
    assert!(!provenance.is_empty());
    for asked in provenance {
        assert_eq!(asked.headers.get("authorization").map(String::as_str), Some(LOGIN), "{asked:?}");
    }
    // A provenance file without a signature is rejected, and so is a missing one.
    files.insert("web-0.1.0.tgz.prov".to_owned(), b"no signature\n".to_vec());
    let other = Server::plain(&std::sync::Arc::new(files.clone()));
    files.remove("web-0.1.0.tgz.prov");
    let bare = Server::plain(&std::sync::Arc::new(files));
    for (server, why) in [(&other, "signature block not found"), (&bare, "failed to fetch provenance")] {
        std::fs::remove_dir_all(env.path().join(".cache/helm/content")).unwrap();
        for command in ["template", "pull"] {
            let line =
                format!("{command} http://{}/web-0.1.0.tgz --verify --keyring anne.gpg", server.address);
            let printed = run(&env, "pintle", &line);
            assert!(printed.starts_with("exit 1\n") && printed.contains(why), "{command}: {printed}");
        }
    }
    end(&env);
}
