//! `images copy`: from registries, charts and directories to registries and directories, with real registries where
//! installed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::registries;
use crate::support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use registries::fake::{Behavior, Fake, Fault};
use registries::program::distribution;
use registries::{LayoutBuilder, noise, open};
use support::TestEnv;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 0.1.0\n";

/// A folder `set` with an image for two platforms and its signature.
fn set(env: &TestEnv) -> String {
    let folder = env.path().join("set");
    let mut maker = LayoutBuilder::new(&folder);
    let amd = maker.image("amd64", &noise(100_000, 1));
    let arm = maker.image("arm64", &noise(100_000, 2));
    let index = maker.index(&[("amd64", &amd), ("arm64", &arm)]);
    let signature = maker.image("none", b"signed");
    maker.name("docker.io/team/web:1.2", &index);
    maker.name(&format!("docker.io/team/web:sha256-{}.sig", index.digest.hex()), &signature);
    index.digest.to_string()
}

/// A chart whose image is at this registry.
fn chart(env: &TestEnv, host: &str) {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - image: '{{ .Values.image }}'\n";
    env.write("web/Chart.yaml", CHART)
        .write("web/values.yaml", &format!("image: {host}/mirror/dockerio/team/web:1.2\n"))
        .write("web/templates/pod.yaml", pod);
}

fn digest_of(env: &TestEnv, image: &str) -> String {
    let printed = env.pintle(&format!("images list ./web --resolve -o csv --unique --set image={image}"));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    printed.trim_end().rsplit(',').next().unwrap().to_owned()
}

#[test]
fn images_cross_the_air_gap_and_are_where_overrides_point() {
    let (Some(here), Some(there)) = (distribution(""), distribution("")) else { return };
    let env = TestEnv::new();
    let digest = set(&env);
    let printed = env.pintle(&format!("images copy oci:set {}/mirror", here.host));
    assert!(printed.contains("1 image copied, 0 were there"), "{printed}");
    assert!(printed.contains("1 signatures"), "{printed}");
    chart(&env, &here.host);
    let printed = env.pintle("images copy ./web oci:gap -q");
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    assert_eq!(
        open(&env.path().join("gap")).images().unwrap(),
        [format!("{}/mirror/dockerio/team/web:1.2", here.host)]
    );
    let printed = env.pintle(&format!("images copy oci:gap {}", there.host));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    let line = format!("images override ./web -t {} -s {}", there.host, here.host);
    let printed = env.pintle(&line);
    let image = printed.lines().find_map(|line| line.strip_prefix("image: ")).expect(&printed).to_owned();
    assert!(image.starts_with(&there.host), "{image}");
    assert_eq!(digest_of(&env, &image), digest);
    // A direct copy has nothing left to do.
    let printed = env.pintle(&format!("images copy ./web {} -o json", there.host));
    assert!(printed.contains(r#""state":"there""#) && printed.contains(r#""imagesCopied":0"#), "{printed}");
}

#[test]
fn a_dry_run_shows_the_plan_and_copies_nothing() {
    let env = TestEnv::new();
    set(&env);
    let printed = env.pintle("images copy oci:set oci:gap --dry-run");
    assert!(printed.contains("oci:set:docker.io/team/web:1.2"), "{printed}");
    assert!(printed.contains("1 image, at most 200.") && printed.contains("to copy"), "{printed}");
    assert!(!env.path().join("gap").exists());
    let printed = env.pintle("images copy oci:set oci:gap --dry-run -o json --signatures=false");
    assert!(printed.contains(r#""state":"new""#) && printed.contains(r#""signatures":0"#), "{printed}");
    let printed =
        env.pintle("images copy oci:set:docker.io/team/web:1.2 oci:gap --platform linux/arm64 -o yaml");
    assert!(
        printed.contains("warning: oci:set:docker.io/team/web:1.2: with fewer platforms its digest is"),
        "{printed}"
    );
    assert!(printed.contains("imagesCopied: 1\n"), "{printed}");
}

#[test]
fn lists_and_locks_name_images() {
    let fake = Fake::honest();
    let env = TestEnv::new();
    let digest = set(&env);
    assert!(env.pintle(&format!("images copy oci:set {} -j 1", fake.host)).starts_with("exit 0\n"));
    let name = fake.name("dockerio/team/web:1.2");
    env.write("list.txt", &format!("# ours\n\n{name} # the web\n"));
    let printed = env.pintle("images copy --from-list list.txt oci:one");
    assert!(printed.contains("1 image copied"), "{printed}");
    let lock = format!(
        "apiVersion: v0\nkind: ImagesLock\nimages:\n- image: {name}\n  digest: {digest}\n  digests: []\n"
    );
    env.write("Images.lock", &lock);
    assert!(env.pintle("images copy --from-list Images.lock oci:two").contains("1 image copied"));
    assert_eq!(open(&env.path().join("two")).images().unwrap(), [format!("{name}@{digest}")]);
    // Content that differs from the lock counts as missing.
    let other = format!("sha256:{}", "0".repeat(64));
    env.write("Images.lock", &lock.replace(&digest, &other));
    let printed = env.pintle("images copy --from-list Images.lock oci:three");
    assert!(printed.starts_with("exit 1\n") && printed.contains("no such image"), "{printed}");
    assert!(printed.contains("1 of 1 image cannot be copied, so nothing was copied"), "{printed}");
}

#[test]
fn tags_are_not_moved_by_accident() {
    let fake = Fake::honest();
    let env = TestEnv::new();
    set(&env);
    let folder = env.path().join("other");
    let mut maker = LayoutBuilder::new(&folder);
    let other = maker.image("amd64", b"other");
    maker.name("docker.io/team/web:1.2", &other);
    assert!(env.pintle(&format!("images copy oci:other {}", fake.host)).starts_with("exit 0\n"));
    let printed = env.pintle(&format!("images copy oci:set {}", fake.host));
    assert!(printed.starts_with("exit 1\n") && printed.contains("--overwrite moves the tag"), "{printed}");
    let printed = env.pintle(&format!("images copy oci:set {} --dry-run --overwrite", fake.host));
    assert!(printed.starts_with("exit 0\n") && printed.contains("overwrites"), "{printed}");
    let printed = env.pintle(&format!("images copy oci:set {} --overwrite", fake.host));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    // With --keep-going the other images are copied.
    let printed = env.pintle(&format!(
        "images copy {}/dockerio/team/web:1.2 {}/none:1 oci:gap --keep-going",
        fake.host, fake.host
    ));
    assert!(printed.starts_with("exit 1\n") && printed.contains("1 image copied"), "{printed}");
}

#[test]
fn one_image_can_be_copied_to_another_name() {
    let fake = Fake::honest();
    let env = TestEnv::new();
    set(&env);
    let printed = env.pintle(&format!("images copy oci:set {}/our/site:2", fake.host));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    assert!(fake.state.lock().unwrap().manifests.contains_key(&("our/site".to_owned(), "2".to_owned())));
}

#[test]
fn invalid_arguments_are_reported() {
    let env = TestEnv::new();
    set(&env);
    for (line, code, printed) in [
        ("images copy hub.corp", 2, "there are no images to copy"),
        ("images copy a:b:c oci:x", 4, "a:b:c"),
        ("images copy oci:none oci:x", 2, "it is not an OCI layout"),
        ("images copy oci:set oci:", 2, "oci: needs a folder"),
        ("images copy oci:set oci:.", 2, "it is not empty, and no OCI layout folder"),
        ("images copy oci:set oci:x --platform linux", 2, "`linux` is not a platform"),
        ("images copy oci:set oci:x --platform linux/s390x", 1, "not available for linux/s390x"),
        ("images copy oci:set hub.corp --creds me", 2, "the credentials are not USER:PASSWORD"),
        ("images copy oci:set hub.corp --cert-file x", 2, "--cert-file and --key-file must be set together"),
        ("images copy oci:set hub.corp --ca-file none.pem", 2, "cannot use none.pem"),
        ("images copy nginx quay.io/x/y hub.corp/z:1", 2, "names one image, and there are 2 to copy"),
        ("images copy", 2, "requires at least 1 argument"),
    ] {
        let said = env.pintle(line);
        assert!(said.starts_with(&format!("exit {code}\n")) && said.contains(printed), "{line}: {said}");
    }
}

#[test]
fn ctrl_c_leaves_a_consistent_directory() {
    let fake = Fake::start(|asked| match asked.is("GET", "/blobs/sha256:") {
        true => Behavior::Changed(|reply| reply.fault(Fault::Silence)),
        false => Behavior::Honest,
    });
    let env = TestEnv::new();
    set(&env);
    assert!(env.pintle(&format!("images copy oci:set {}", fake.host)).starts_with("exit 0\n"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_pintle"))
        .args(["images", "copy", &fake.name("dockerio/team/web:1.2"), "oci:gap"])
        .current_dir(env.path())
        .env_clear()
        .env("HOME", env.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let limit = Instant::now() + Duration::from_secs(180);
    while fake.count("GET", "/blobs/sha256:") == 0 {
        assert!(Instant::now() < limit, "nothing is asked for");
        std::thread::sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(open(&env.path().join("gap")).names().is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_depend_on_the_size_of_layers() {
    let env = TestEnv::new();
    let folder = env.path().join("big");
    let mut maker = LayoutBuilder::new(&folder);
    let image = maker.image("amd64", &noise(128 << 20, 1));
    maker.name("docker.io/team/big:1", &image);
    let fake = distribution("");
    let to = fake.as_ref().map_or_else(|| "oci:gap".to_owned(), |registry| registry.host.clone());
    let mut child = Command::new(env!("CARGO_BIN_EXE_pintle"))
        .args(["images", "copy", "oci:big", &to, "-q"])
        .current_dir(env.path())
        .env_clear()
        .env("HOME", env.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(code, Some(0));
    assert!((1..64 << 10).contains(&peak), "{peak} kB");
}

/// Certificates that our template functions generate, as files of the environment.
pub(crate) fn certificates(env: &TestEnv) {
    let template = r#"{{ $ca := genCA "ours" 2 }}{{ $server := genSignedCert "127.0.0.1" (list "127.0.0.1") (list "localhost") 2 $ca }}
{{- range $name, $text := dict "ca.pem" $ca.Cert "server.pem" $server.Cert "server.key" $server.Key }}
{{ $name }}: |
{{ $text | indent 2 }}
{{- end }}
"#;
    env.write("keys/Chart.yaml", CHART).write("keys/templates/keys.yaml", template);
    let printed = env.pintle("template keys ./keys");
    let mut file = None;
    for line in printed.lines() {
        match (line.strip_suffix(": |"), line.strip_prefix("  "), &mut file) {
            (Some(name), _, _) => file = Some((name.to_owned(), String::new())),
            (None, Some(text), Some((_, whole))) => whole.push_str(&format!("{text}\n")),
            _ => {}
        }
        if let Some((name, text)) = file.as_ref().filter(|(_, text)| text.contains("-----END")) {
            env.write(name, text);
            file = None;
        }
    }
}

#[test]
fn registries_with_private_certificates_are_trusted_with_a_ca_file() {
    let env = TestEnv::new();
    set(&env);
    certificates(&env);
    let here = env.path().display();
    let tls = format!(
        "  tls:\n    certificate: {here}/server.pem\n    key: {here}/server.key\n    clientcas: [{here}/ca.pem]\n"
    );
    let Some(registry) = distribution(&tls) else { return };
    let copy =
        |flags: &str| env.pintle(&format!("images copy oci:set {} --retries 0 {flags}", registry.host));
    // The server's certificate is signed by the same CA, so it works as a client certificate.
    let ours = "--cert-file server.pem --key-file server.key";
    let printed = copy(&format!("--ca-file ca.pem {ours}"));
    assert!(printed.starts_with("exit 0\n") && printed.contains("1 image copied"), "{printed}");
    let printed = copy(&format!("--insecure-skip-tls-verify {ours}"));
    assert!(printed.starts_with("exit 0\n") && printed.contains("1 were there"), "{printed}");
    for flags in ["--dest-insecure-skip-tls-verify", ours] {
        let printed = copy(flags).to_lowercase();
        assert!(printed.starts_with("exit 1\n") && printed.contains("certificate"), "{printed}");
    }
}

/// A server that closes the connection after the TLS handshake, as one does that requires a client certificate and
/// closes before its alert arrives. Returns its address.
fn one_that_hangs_up(env: &TestEnv) -> String {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let file = |name: &str| env.path().join(name);
    let chain = CertificateDer::pem_file_iter(file("server.pem")).unwrap().collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = std::sync::Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut hands = rustls::ServerConnection::new(config.clone()).unwrap();
            while hands.is_handshaking() && hands.complete_io(&mut stream).is_ok() {}
        }
    });
    address
}

#[test]
fn a_loopback_registry_that_closes_the_connection_is_not_retried_without_tls() {
    let env = TestEnv::new();
    set(&env);
    certificates(&env);
    let host = one_that_hangs_up(&env);
    let copy = |flags: &str| env.pintle(&format!("images copy oci:set {host} --retries 0 {flags}"));
    let printed = copy("--ca-file ca.pem");
    assert!(printed.contains(&format!("https://{host}/")) && !printed.contains("http://"), "{printed}");
    assert!(printed.contains("does the server want a certificate of its clients?"), "{printed}");
    let printed = copy("--ca-file ca.pem --cert-file server.pem --key-file server.key");
    assert!(
        printed.contains(&format!("https://{host}/")) && !printed.contains("does the server want"),
        "{printed}"
    );
}

#[test]
fn source_and_destination_have_separate_credentials() {
    let env = TestEnv::new();
    set(&env);
    env.write("keys/Chart.yaml", CHART)
        .write("keys/templates/users.yaml", "users: '{{ htpasswd .Values.user \"secret\" }}'\n");
    let guarded = |user: &str| {
        let printed = env.pintle(&format!("template keys ./keys --set user={user}"));
        let line = printed.lines().find_map(|line| line.strip_prefix("users: ")).expect(&printed);
        env.write(&format!("{user}.htpasswd"), &format!("{}\n", line.trim_matches('\'')));
        let file = env.path().join(format!("{user}.htpasswd"));
        distribution(&format!("auth:\n  htpasswd: {{realm: ours, path: {}}}\n", file.display()))
    };
    let (Some(here), Some(there)) = (guarded("anna"), guarded("bob")) else { return };
    let printed = env.pintle(&format!("images copy oci:set {} --retries 0", here.host));
    assert!(printed.starts_with("exit 1\n"), "{printed}");
    let printed = env.pintle(&format!(
        "images copy oci:set {} --dest-creds anna:secret --dest-plain-http --jobs 2 --idle-timeout 10m",
        here.host
    ));
    assert!(printed.starts_with("exit 0\n") && printed.contains("1 image copied"), "{printed}");
    let image = format!("{}/dockerio/team/web:1.2", here.host);
    let both = "--src-creds anna:secret --src-plain-http --dest-creds bob:secret";
    let printed = env.pintle(&format!("images copy {image} {} --plain-http {both}", there.host));
    assert!(printed.starts_with("exit 0\n") && printed.contains("1 image copied"), "{printed}");
    let swapped = "--src-creds bob:secret --dest-creds anna:secret --retries 0";
    let printed = env.pintle(&format!("images copy {image} {} {swapped}", there.host));
    assert!(printed.starts_with("exit 1\n") && !printed.contains("secret"), "{printed}");
}

#[test]
fn a_source_may_be_trusted_without_trusting_the_destination() {
    let env = TestEnv::new();
    set(&env);
    certificates(&env);
    let here = env.path().display();
    let tls = format!("  tls:\n    certificate: {here}/server.pem\n    key: {here}/server.key\n");
    let Some(registry) = distribution(&tls) else { return };
    let printed = env.pintle(&format!("images copy oci:set {} --ca-file ca.pem", registry.host));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    let image = format!("{}/dockerio/team/web:1.2", registry.host);
    for (flags, code) in [("--src-insecure-skip-tls-verify", 0), ("--dest-insecure-skip-tls-verify", 1)] {
        let printed = env.pintle(&format!("images copy {image} oci:gap-{code} --retries 0 {flags}"));
        assert!(printed.starts_with(&format!("exit {code}\n")), "{printed}");
    }
}

#[test]
fn a_silent_registry_times_out() {
    let fake = Fake::start(|asked| match asked.is("GET", "/blobs/sha256:") {
        true => Behavior::Changed(|reply| reply.fault(Fault::Silence)),
        false => Behavior::Honest,
    });
    let env = TestEnv::new();
    set(&env);
    assert!(env.pintle(&format!("images copy oci:set {}", fake.host)).starts_with("exit 0\n"));
    // The registry never responds, so only the idle timeout ends this.
    let name = fake.name("dockerio/team/web:1.2");
    let printed = env.pintle(&format!("images copy {name} oci:gap --retries 0 --idle-timeout 300ms"));
    assert!(printed.starts_with("exit 1\n") && printed.contains("300ms"), "{printed}");
}

#[test]
fn charts_and_releases_are_sources() {
    let fake = Fake::honest();
    let env = TestEnv::new();
    set(&env);
    assert!(env.pintle(&format!("images copy oci:set {}/mirror", fake.host)).starts_with("exit 0\n"));
    chart(&env, &fake.host);
    let printed = env.pintle("images copy --from-chart ./web oci:one");
    assert!(printed.starts_with("exit 0\n") && printed.contains("1 image copied"), "{printed}");
    // The template is a pod whose image is the value.
    let release = format!(
        "- name: web\n  namespace: team\n  version: 1\n  info: {{status: deployed}}\n  chart:\n    \
         metadata: {{apiVersion: v2, name: web, version: 0.1.0}}\n    \
         templates: [{{name: templates/pod.yaml, data: YXBpVmVyc2lvbjogdjEKa2luZDogUG9kCm1ldGFkYXRhOiB7bmFtZTogYX0Kc3BlYzoge2NvbnRhaW5lcnM6IFt7bmFtZTogYSwgaW1hZ2U6ICJ7eyAuVmFsdWVzLmltYWdlIH19In1dfQo=}}]\n  \
         config: {{image: '{}/mirror/dockerio/team/web:1.2'}}\n",
        fake.host
    );
    env.write("releases.yaml", &release);
    let variables = [("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "releases.yaml")];
    let printed = env.called("pintle", "images copy --from-release web -n team oci:two", &variables);
    assert!(printed.starts_with("exit 0\n") && printed.contains("1 image copied"), "{printed}");
}
