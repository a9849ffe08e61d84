//! Access to registries: flags, credential files, proxies.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle::registry::{Client, Login, Proxies, Settings, WaitNotice, check_login_file};

use crate::connect::{self, Signals};
use crate::env::{Environment, Home};
use crate::failure::{Failure, FailureKind};
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, Kind, Name, names};
use crate::invocation::Invocation;
use crate::path::join;
use crate::personality::Personality;

/// Flags for all registries.
pub(super) static ACCESS: &[Flag] = &[
    Flag::text(names::CREDS, "the credentials for registries: USER:PASSWORD")
        .completes(FlagCompletion::Nothing),
    Flag::text(names::CA_FILE, "a CA bundle to trust in addition to the system's"),
    Flag::text(names::CERT_FILE, "the client certificate to present over TLS"),
    Flag::text(names::KEY_FILE, "the key of the client certificate"),
    Flag::switch(names::INSECURE_SKIP_TLS_VERIFY, "skip TLS certificate checks for registries (insecure)"),
    Flag::switch(names::PLAIN_HTTP, "use plain HTTP for registries; loopback registries may always use it"),
    Flag::of(names::RETRIES, Kind::Uint, "5", "the number of retries of transient failures"),
    Flag::of(names::IDLE_TIMEOUT, Kind::Duration, "1m0s", "the idle timeout of a connection"),
];

/// Flags for the source or the destination of a copy.
pub(super) static SIDES: &[Flag] = &[
    Flag::text(names::SRC_CREDS, "like --creds, for the source").completes(FlagCompletion::Nothing),
    Flag::text(names::DEST_CREDS, "like --creds, for the destination").completes(FlagCompletion::Nothing),
    Flag::switch(names::SRC_PLAIN_HTTP, "like --plain-http, for the source"),
    Flag::switch(names::DEST_PLAIN_HTTP, "like --plain-http, for the destination"),
    Flag::switch(names::SRC_INSECURE_SKIP_TLS_VERIFY, "like --insecure-skip-tls-verify, for the source"),
    Flag::switch(
        names::DEST_INSECURE_SKIP_TLS_VERIFY,
        "like --insecure-skip-tls-verify, for the destination",
    ),
];

/// The registries to which credentials and TLS settings apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegistryRole {
    /// All.
    Both,
    /// The sources of a copy.
    Source,
    /// The destination of a copy.
    Destination,
}

/// A registry client with the settings of flags and environment.
pub(super) fn client(invocation: &Invocation<'_>, side: RegistryRole) -> Result<Arc<Client>, Failure> {
    let client = Client::new(settings(invocation, side)?).map_err(pintle::Error::from)?;
    Ok(Arc::new(client))
}

fn settings(invocation: &Invocation<'_>, side: RegistryRole) -> Result<Settings, Failure> {
    let flags = &invocation.flags;
    let (creds, plain, insecure) = match side {
        RegistryRole::Both => (names::CREDS, names::PLAIN_HTTP, names::INSECURE_SKIP_TLS_VERIFY),
        RegistryRole::Source => {
            (names::SRC_CREDS, names::SRC_PLAIN_HTTP, names::SRC_INSECURE_SKIP_TLS_VERIFY)
        }
        RegistryRole::Destination => {
            (names::DEST_CREDS, names::DEST_PLAIN_HTTP, names::DEST_INSECURE_SKIP_TLS_VERIFY)
        }
    };
    let file = |name: Name<String>| Some(flags.text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    let certificate = match (file(names::CERT_FILE), file(names::KEY_FILE)) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(Failure::usage("--cert-file and --key-file must be set together")),
    };
    let pair = [creds, names::CREDS]
        .into_iter()
        .find_map(|name| flags.last_text(&[name]).filter(|text| !text.is_empty()));
    let login = match pair {
        None => None,
        Some(pair) => Some(Login::pair(pair).ok_or_else(|| {
            Failure::usage("the credentials are not USER:PASSWORD")
                .hint(format!("give --{} USER:PASSWORD", creds.as_str()))
        })?),
    };
    Ok(Settings {
        login,
        login_files: login_files(invocation),
        plain_http: flags.on(names::PLAIN_HTTP) || flags.on(plain),
        insecure: flags.on(names::INSECURE_SKIP_TLS_VERIFY) || flags.on(insecure),
        authorities: file(names::CA_FILE),
        certificate,
        proxies: proxies(invocation.environment),
        retries: u32::try_from(flags.uint(names::RETRIES)).unwrap_or(u32::MAX),
        idle_timeout: flags.duration(names::IDLE_TIMEOUT).max(Duration::from_millis(1)),
        on_wait: wait_notice(invocation),
        ..Settings::default()
    })
}

/// Tells on stderr that a registry asked to wait (`Retry-After`); Helm says nothing.
pub(crate) fn wait_notice(invocation: &Invocation<'_>) -> Option<WaitNotice> {
    let notice = |host: &str, pause: Duration| {
        let _ = crate::ui::eprint_line(&wait_text(host, pause));
    };
    (invocation.personality == Personality::Pintle).then(|| WaitNotice::new(notice))
}

/// What is said about a pause that a server asked for.
pub(crate) fn wait_text(host: &str, pause: Duration) -> String {
    format!("info: {host} asks to wait {} seconds", pause.as_secs())
}

/// The credential files of Helm, Docker and Podman. Helm passes over a file of Docker's that it cannot use.
pub(crate) fn login_files(invocation: &Invocation<'_>) -> Vec<PathBuf> {
    let environment = invocation.environment;
    let set = |name: &str| environment.variable(name).filter(|text| !text.is_empty());
    let docker = set("DOCKER_CONFIG").unwrap_or_else(|| join(&[&environment.user_home(), ".docker"]));
    let docker = PathBuf::from(join(&[&docker, "config.json"]));
    let is_used = invocation.personality == Personality::Pintle || check_login_file(&docker).is_ok();
    let mut files = vec![login_file(&invocation.flags, environment)];
    files.extend(Some(docker).filter(|_| is_used));
    files.extend(set("REGISTRY_AUTH_FILE").map(PathBuf::from));
    let podman = set("XDG_RUNTIME_DIR").map(|folder| join(&[&folder, "containers", "auth.json"]));
    files.extend(podman.map(PathBuf::from));
    files
}

/// The credential file of Helm: like Helm, the usual one instead of an empty path.
pub(crate) fn login_file(flags: &Parsed, environment: &Environment) -> PathBuf {
    match flags.text_or_setting(names::REGISTRY_CONFIG, environment) {
        path if path.is_empty() => environment.home(Home::Config, "registry/config.json").into(),
        path => path.into(),
    }
}

pub(crate) fn proxies(environment: &Environment) -> Proxies {
    let found = connect::proxies(environment);
    Proxies { http: found.http, https: found.https, none: found.none }
}

/// Runs until completion or Ctrl-C. Completed images are kept.
pub(crate) fn run<T>(operation: impl Future<Output = T>) -> Result<T, Failure> {
    connect::runtime()?.block_on(async {
        let mut signals = Signals::new()?;
        tokio::select! {
            outcome = operation => Ok(outcome),
            () = signals.next() => Err(Failure::new(FailureKind::Cancelled, "cancelled")
                .hint("completed images are kept; run the same command again to resume")),
        }
    })
}
