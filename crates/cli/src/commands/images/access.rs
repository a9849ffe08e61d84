//! Access to registries: flags, credential files, proxies.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle::registry::{Client, Login, Proxies, Settings};

use crate::connect::{self, Signals};
use crate::env::Environment;
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion, Kind};
use crate::invocation::Invocation;
use crate::path::join;

/// Flags for all registries.
pub(super) static ACCESS: &[Flag] = &[
    Flag::text("creds", "the credentials for registries: USER:PASSWORD").completes(FlagCompletion::Nothing),
    Flag::text("ca-file", "a CA bundle to trust in addition to the system's"),
    Flag::text("cert-file", "the client certificate to present over TLS"),
    Flag::text("key-file", "the key of the client certificate"),
    Flag::switch("insecure-skip-tls-verify", "skip TLS certificate checks for registries (insecure)"),
    Flag::switch("plain-http", "use plain HTTP for registries; loopback registries may always use it"),
    Flag::of("retries", Kind::Uint, "5", "the number of retries of transient failures"),
    Flag::of("idle-timeout", Kind::Duration, "1m0s", "the idle timeout of a connection"),
];

/// Flags for the source or the destination of a copy.
pub(super) static SIDES: &[Flag] = &[
    Flag::text("src-creds", "like --creds, for the source").completes(FlagCompletion::Nothing),
    Flag::text("dest-creds", "like --creds, for the destination").completes(FlagCompletion::Nothing),
    Flag::switch("src-plain-http", "like --plain-http, for the source"),
    Flag::switch("dest-plain-http", "like --plain-http, for the destination"),
    Flag::switch("src-insecure-skip-tls-verify", "like --insecure-skip-tls-verify, for the source"),
    Flag::switch("dest-insecure-skip-tls-verify", "like --insecure-skip-tls-verify, for the destination"),
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
        RegistryRole::Both => ("creds", "plain-http", "insecure-skip-tls-verify"),
        RegistryRole::Source => ("src-creds", "src-plain-http", "src-insecure-skip-tls-verify"),
        RegistryRole::Destination => ("dest-creds", "dest-plain-http", "dest-insecure-skip-tls-verify"),
    };
    let file = |name: &str| Some(flags.text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    let certificate = match (file("cert-file"), file("key-file")) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(Failure::usage("--cert-file and --key-file must be set together")),
    };
    let pair = [creds, "creds"]
        .into_iter()
        .find_map(|name| flags.last_text(&[name]).filter(|text| !text.is_empty()));
    let login = match pair {
        None => None,
        Some(pair) => Some(Login::pair(pair).ok_or_else(|| {
            Failure::usage("the credentials are not USER:PASSWORD")
                .hint(format!("give --{creds} USER:PASSWORD"))
        })?),
    };
    Ok(Settings {
        login,
        login_files: login_files(invocation),
        plain_http: flags.on("plain-http") || flags.on(plain),
        insecure: flags.on("insecure-skip-tls-verify") || flags.on(insecure),
        authorities: file("ca-file"),
        certificate,
        proxies: proxies(invocation.environment),
        retries: u32::try_from(flags.uint("retries")).unwrap_or(u32::MAX),
        idle_timeout: flags.duration("idle-timeout").max(Duration::from_millis(1)),
        ..Settings::default()
    })
}

/// The credential files of Helm, Docker and Podman.
pub(crate) fn login_files(invocation: &Invocation<'_>) -> Vec<PathBuf> {
    let environment = invocation.environment;
    let set = |name: &str| environment.variable(name).filter(|text| !text.is_empty());
    let docker = set("DOCKER_CONFIG").unwrap_or_else(|| join(&[&environment.user_home(), ".docker"]));
    let mut files = vec![
        invocation.flags.text_or_setting("registry-config", environment),
        join(&[&docker, "config.json"]),
    ];
    files.extend(set("REGISTRY_AUTH_FILE"));
    files.extend(set("XDG_RUNTIME_DIR").map(|folder| join(&[&folder, "containers", "auth.json"])));
    files.into_iter().map(PathBuf::from).collect()
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
