//! Login and push: what differs from Helm. What equals Helm is in `beside_helm`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::registries::program::{Program, distribution};
use crate::support::terminal::Terminal;
use crate::support::{TestEnv, chart};

/// A registry that requires credentials (me, pw), and an archive to push.
fn guarded() -> Option<(TestEnv, Program)> {
    let env = TestEnv::new();
    chart::write(&env);
    env.write("htpasswd", "me:$2a$10$59HOHojFhqgaT6W2MF3wXetn3XLgRwjEB7dsuXl3MvujW.ONfuDY2\n");
    let file = env.path().join("htpasswd");
    let registry = distribution(&format!("auth:\n  htpasswd: {{realm: test, path: {}}}\n", file.display()))?;
    assert!(env.pintle("package web").starts_with("exit 0\n"));
    Some((env, registry))
}

#[test]
fn credentials_can_be_limited_to_a_path_of_a_registry() {
    let Some((env, registry)) = guarded() else { return };
    let host = &registry.host;
    let printed = env.pintle(&format!("registry login {host}/team -u me -p pw"));
    assert!(printed.starts_with("exit 0\n--- stdout\nLogin Succeeded\n"), "{printed}");
    let pushed = env.pintle(&format!("push web-0.1.0.tgz oci://{host}/team/charts"));
    assert!(
        pushed.starts_with(&format!("exit 0\n--- stdout\nPushed: {host}/team/charts/web:0.1.0\n")),
        "{pushed}"
    );
    let refused = env.pintle(&format!("push web-0.1.0.tgz oci://{host}/other"));
    assert!(refused.starts_with("exit 1\n") && refused.contains("basic credential not found"), "{refused}");
    let printed = env.pintle(&format!("registry logout {host}/team"));
    assert!(printed.contains(&format!("Removing login credentials for {host}/team\n")), "{printed}");
    let refused = env.pintle(&format!("push web-0.1.0.tgz oci://{host}/team/again"));
    assert!(refused.starts_with("exit 1\n"), "{refused}");
}

#[test]
fn users_and_passwords_are_asked_for_and_passwords_are_not_shown() {
    let Some((env, registry)) = guarded() else { return };
    let line = format!("registry login {} --plain-http", registry.host);
    let terminal = Terminal::start_as(&env, "helm", &line, true);
    terminal.wait_for("Username: ", 1).type_in("me\n");
    terminal.wait_for("Password: ", 1).type_in("pw\n");
    let (code, _, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(screen, "Username: me\nPassword: \nLogin Succeeded\n");
    let terminal = Terminal::start_as(&env, "helm", &line, true);
    terminal.wait_for("Username: ", 1).type_in("\n");
    terminal.wait_for("Token: ", 1).type_in("\n");
    let (code, _, screen) = terminal.end();
    assert_eq!(code, 1, "{screen}");
    assert!(screen.ends_with("Error: token required\n"), "{screen}");
}

#[test]
fn docker_and_podman_credentials_and_credential_helpers_are_used() {
    let Some((env, registry)) = guarded() else { return };
    let host = &registry.host;
    let logins = format!(r#"{{"auths":{{"{host}":{{"auth":"bWU6cHc="}}}}}}"#);
    env.write("docker/config.json", &logins).write("podman.json", &logins);
    let path = |name: &str| env.path().join(name).to_string_lossy().into_owned();
    let push = |folder: &str, variables: &[(&str, &str)]| {
        env.helm_with(&format!("push web-0.1.0.tgz oci://{host}/{folder} --plain-http"), variables)
    };
    assert!(push("none", &[]).starts_with("exit 1\n"));
    let docker = push("docker", &[("DOCKER_CONFIG", &path("docker"))]);
    assert!(docker.starts_with("exit 0\n"), "{docker}");
    let podman = push("podman", &[("REGISTRY_AUTH_FILE", &path("podman.json"))]);
    assert!(podman.starts_with("exit 0\n"), "{podman}");
    // A credential helper stores the credentials, and the file has none.
    env.write(
        "bin/docker-credential-drawer",
        "#!/bin/sh\nf=\"$(dirname \"$0\")/kept\"\ncase $1 in\nstore) cat > \"$f\";;\nerase) rm -f \"$f\";;\n\
         get) if [ -f \"$f\" ]; then cat \"$f\"; else echo 'credentials not found in native keychain'; exit 1; fi;;\nesac\n",
    );
    let program = env.path().join("bin/docker-credential-drawer");
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let settings = format!(r#"{{"credHelpers":{{"{host}":"drawer"}}}}"#);
    env.write(".config/helm/registry/config.json", &settings);
    let search = format!("{}:/usr/bin:/bin", path("bin"));
    let variables = [("PATH", search.as_str())];
    let printed = env.helm_with(&format!("registry login {host} -u me -p pw --plain-http"), &variables);
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    let kept = std::fs::read_to_string(env.path().join("bin/kept")).unwrap();
    assert_eq!(kept, format!(r#"{{"Secret":"pw","ServerURL":"{host}","Username":"me"}}"#));
    assert_eq!(
        std::fs::read_to_string(env.path().join(".config/helm/registry/config.json")).unwrap(),
        settings
    );
    let pushed = push("drawer", &variables);
    assert!(pushed.starts_with("exit 0\n"), "{pushed}");
    let printed = env.helm_with(&format!("registry logout {host}"), &variables);
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    assert!(!env.path().join("bin/kept").exists());
    assert!(push("gone", &variables).starts_with("exit 1\n"));
}

#[test]
fn unreadable_certificate_authorities_are_an_error() {
    let Some((env, registry)) = guarded() else { return };
    let line = format!("registry login {} -u me -p pw --ca-file nope", registry.host);
    let printed = env.helm(&line);
    assert!(
        printed.starts_with("exit 1\n")
            && printed.contains("can't read CA file: \"nope\": open nope: no such file"),
        "{printed}"
    );
    let printed = env.pintle(&line);
    assert!(
        printed.starts_with("exit 2\n") && printed.contains("cannot read the authorities in `nope`"),
        "{printed}"
    );
}

#[test]
fn a_login_file_that_is_not_json_stops_only_what_needs_it() {
    let env = TestEnv::new();
    env.write("logins.json", "{").write("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n");
    let logins = "--registry-config logins.json";
    let printed = env.pintle(&format!("show chart app {logins}"));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    let printed = env.pintle(&format!("pull oci://127.0.0.1:1/charts/app:1.0.0 {logins}"));
    assert!(printed.starts_with("exit 2\n") && printed.contains("invalid JSON"), "{printed}");
    let printed = env.helm(&format!("show chart app {logins}"));
    assert!(printed.starts_with("exit 1\n"), "{printed}");
    let text =
        "msg=\"command failed\" error=\"failed to decode config file logins.json: invalid config format: ";
    assert!(printed.contains(text), "{printed}");
}

#[test]
fn helm_needs_plain_http_and_pintle_does_not_for_loopback_registries() {
    let Some((env, registry)) = guarded() else { return };
    let line = format!("push web-0.1.0.tgz oci://{}/charts --username me --password pw", registry.host);
    assert!(env.pintle(&line).starts_with("exit 0\n"));
    let printed = env.helm(&line);
    assert!(printed.ends_with("http: server gave HTTP response to HTTPS client\n"), "{printed}");
    let printed = env.helm(&format!("{line} --plain-http --insecure-skip-tls-verify"));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
}

#[test]
fn a_pushed_chart_is_pulled_with_its_provenance() {
    use pintle::registry::chart::WantedProvenance;
    use pintle::registry::{Client, Settings};

    let env = TestEnv::new();
    chart::write(&env);
    let Some(registry) = distribution("") else { return };
    assert!(env.pintle("package web --version 1.0.0+x").starts_with("exit 0\n"));
    env.write("web-1.0.0+x.tgz.prov", "signed\n");
    let host = &registry.host;
    let pushed = env.pintle(&format!("push web-1.0.0+x.tgz oci://{host}/charts"));
    assert!(pushed.contains("web:1.0.0_x contains an underscore.\n\nOCI artifact references"), "{pushed}");
    let client =
        std::sync::Arc::new(Client::new(Settings { plain_http: true, ..Settings::default() }).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fetch = |reference: String, version: &str, provenance| {
        let mut archive = Vec::new();
        let mut write = |piece: &[u8]| {
            archive.extend_from_slice(piece);
            Ok(())
        };
        let fetched = pintle::ops::fetch_oci_chart(&client, &reference, version, provenance, &mut write);
        let fetched = runtime.block_on(fetched);
        fetched.map(|fetched| (fetched, archive))
    };
    let web = format!("oci://{host}/charts/web");
    let (fetched, archive) = fetch(web.clone(), "^1", WantedProvenance::IfThere).unwrap();
    assert_eq!(fetched.file_name, "web-1.0.0+x.tgz");
    assert_eq!(fetched.reference, format!("{host}/charts/web:1.0.0_x"));
    assert_eq!(fetched.provenance.as_deref(), Some(&b"signed\n"[..]));
    assert!(archive == std::fs::read(env.path().join("web-1.0.0+x.tgz")).unwrap());
    assert!(pushed.contains(&format!("Digest: {}\n", fetched.manifest)), "{pushed}");
    let digest = fetched.manifest;
    let (fetched, _) = fetch(format!("{web}@{digest}"), "", WantedProvenance::No).unwrap();
    assert_eq!(fetched.file_name, format!("web@sha256-{}.tgz", digest.hex()));
    assert!(fetched.provenance.is_none());
    let error = fetch(web, "^2", WantedProvenance::No).err().unwrap().to_string();
    assert_eq!(error, "could not locate a version matching provided version string ^2");
}
