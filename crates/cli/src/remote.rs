//! Repositories as flags and environment describe them: where files are, how servers are reached.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle::Remote;
use pintle::repo::{Access, ChartQuery, Getter, Proxies, RepositoryPaths, StaleDigest};
use pintle_tree::LogLine;

use crate::connect;
use crate::download_progress;
use crate::env::Environment;
use crate::failure::{Failure, FailureKind, repository_hint};
use crate::flag::parsed::Parsed;
use crate::flag::{Name, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins::getter::Getters;
use crate::{registry_access, ui};

/// How long a request may take as a whole, unless a flag says otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// The paths of Helm's repository configuration and caches.
pub(crate) fn folders(flags: &Parsed, environment: &Environment) -> RepositoryPaths {
    let path = |name: Name<String>| PathBuf::from(flags.text_or_setting(name, environment));
    RepositoryPaths {
        repository_config: path(names::REPOSITORY_CONFIG),
        repository_cache: path(names::REPOSITORY_CACHE),
        content_cache: path(names::CONTENT_CACHE),
    }
}

/// Proxies of the environment, for repositories.
pub(crate) fn proxies(proxies: pintle::cluster::Proxies) -> Proxies {
    Proxies { http: proxies.http, https: proxies.https, none: proxies.none }
}

/// The `User-Agent` of requests.
pub(crate) fn agent(personality: Personality) -> String {
    match personality {
        Personality::Helm => format!("Helm/{}", crate::commands::version::HELM.trim_start_matches('v')),
        Personality::Pintle => concat!("pintle/", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// Fetches over HTTP and from registries.
pub(crate) fn getter(invocation: &Invocation<'_>, timeout: Duration) -> Getter {
    let proxies = proxies(connect::proxies(invocation.environment));
    Getter::new(proxies, timeout, agent(invocation.personality))
        .with_subdomains(invocation.personality == Personality::Helm)
        .with_progress(download_progress::bars(invocation.personality))
        .with_registries(registry_access::registries(invocation))
        .with_schemes(Getters::new(invocation))
        .with_stale_digests((invocation.personality == Personality::Helm).then(stale_digest_warning))
}

/// What is said as Helm about an archive that is not what the index declares: Helm does not compare them.
fn stale_digest_warning() -> StaleDigest {
    Arc::new(|error| {
        let message = format!("{error}; --insecure-skip-digest accepts it without this warning");
        // Errors of standard error are ignored: there is no other stream to report them on.
        let _ = ui::eprint_line(&LogLine::warn(message, Vec::new()).to_string());
    })
}

/// What operations on repositories and registries work with.
pub(crate) fn remote(invocation: &Invocation<'_>, timeout: Duration) -> Remote {
    let flags = &invocation.flags;
    Remote {
        skip_digest: flags.declares(names::INSECURE_SKIP_DIGEST) && flags.on(names::INSECURE_SKIP_DIGEST),
        needs_all_indexes: invocation.personality == Personality::Helm,
        ..Remote::new(folders(flags, invocation.environment), getter(invocation, timeout))
    }
}

/// Credentials and TLS settings from the flags.
pub(crate) fn access(flags: &Parsed) -> Access {
    let text =
        |name: Name<String>| if flags.declares(name) { flags.text(name).to_owned() } else { String::new() };
    let on = |name: Name<bool>| flags.declares(name) && flags.on(name);
    Access {
        username: text(names::USERNAME),
        password: text(names::PASSWORD),
        cert_file: text(names::CERT_FILE),
        key_file: text(names::KEY_FILE),
        ca_file: text(names::CA_FILE),
        insecure_skip_tls_verify: on(names::INSECURE_SKIP_TLS_VERIFY),
        pass_credentials_all: on(names::PASS_CREDENTIALS),
        token: None,
    }
}

/// The range of versions that --devel stands for; empty without it.
pub(crate) fn devel(flags: &Parsed) -> &'static str {
    if flags.declares(names::DEVEL) && flags.on(names::DEVEL) { ">0.0.0-0" } else { "" }
}

/// The chart that a reference and the flags ask for.
pub(crate) fn wanted(flags: &Parsed, reference: &str) -> ChartQuery {
    let text = |name: Name<String>| if flags.declares(name) { flags.text(name) } else { "" };
    let version = match text(names::VERSION) {
        "" => devel(flags),
        version => version,
    };
    ChartQuery {
        reference: reference.to_owned(),
        version: version.to_owned(),
        repo_url: text(names::REPO).to_owned(),
        access: access(flags),
    }
}

impl From<pintle::repo::Error> for Failure {
    fn from(error: pintle::repo::Error) -> Failure {
        let class = match error {
            pintle::repo::Error::Input(_)
            | pintle::repo::Error::NotAbsolute { .. }
            | pintle::repo::Error::UnknownRepository { .. } => FailureKind::BadInput,
            pintle::repo::Error::Archive(_) => FailureKind::BadChart,
            _ => FailureKind::RunTime,
        };
        let failure = Failure::new(class, error.to_string());
        match repository_hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
