//! Repositories as flags and environment describe them: where files are, how servers are reached.

use std::path::PathBuf;
use std::time::Duration;

use pintle::repo::{Access, Folders, Getter, Proxies, Resolver, Wanted};

use crate::connect;
use crate::env::Environment;
use crate::failure::{Failure, FailureKind};
use crate::flag::parsed::Parsed;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins::getter::Getters;
use crate::registry_access;

/// How long a request may take as a whole, unless a flag says otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// Where Helm keeps what it knows about repositories.
pub(crate) fn folders(flags: &Parsed, environment: &Environment) -> Folders {
    let path = |name: &str| PathBuf::from(flags.text_or_setting(name, environment));
    Folders {
        repository_config: path("repository-config"),
        repository_cache: path("repository-cache"),
        content_cache: path("content-cache"),
    }
}

/// Fetches over HTTP and from registries.
pub(crate) fn getter(invocation: &Invocation<'_>, timeout: Duration) -> Getter {
    let proxies = connect::proxies(invocation.environment);
    let proxies = Proxies { http: proxies.http, https: proxies.https, none: proxies.none };
    let agent = match invocation.personality {
        Personality::Helm => format!("Helm/{}", crate::commands::version::HELM.trim_start_matches('v')),
        Personality::Pintle => concat!("pintle/", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    Getter::new(proxies, timeout, agent)
        .with_registries(registry_access::registries(invocation))
        .with_schemes(Getters::new(invocation))
}

/// Turns references into archives.
pub(crate) fn resolver<'g>(invocation: &Invocation<'_>, getter: &'g Getter) -> Resolver<'g> {
    let flags = &invocation.flags;
    Resolver {
        folders: folders(flags, invocation.environment),
        getter,
        skip_digest: flags.declares("insecure-skip-digest") && flags.on("insecure-skip-digest"),
        needs_all_indexes: invocation.personality == Personality::Helm,
    }
}

/// How servers are reached, by the flags.
pub(crate) fn access(flags: &Parsed) -> Access {
    let text = |name: &str| if flags.declares(name) { flags.text(name).to_owned() } else { String::new() };
    let on = |name: &str| flags.declares(name) && flags.on(name);
    Access {
        username: text("username"),
        password: text("password"),
        cert_file: text("cert-file"),
        key_file: text("key-file"),
        ca_file: text("ca-file"),
        insecure_skip_tls_verify: on("insecure-skip-tls-verify"),
        pass_credentials_all: on("pass-credentials"),
    }
}

/// The chart that a reference and the flags ask for.
pub(crate) fn wanted(flags: &Parsed, reference: &str) -> Wanted {
    let text = |name: &str| if flags.declares(name) { flags.text(name) } else { "" };
    let devel = flags.declares("devel") && flags.on("devel");
    let version = match text("version") {
        "" if devel => ">0.0.0-0",
        version => version,
    };
    Wanted {
        reference: reference.to_owned(),
        version: version.to_owned(),
        repo_url: text("repo").to_owned(),
        access: access(flags),
    }
}

impl From<pintle::repo::Error> for Failure {
    fn from(error: pintle::repo::Error) -> Failure {
        let class = match error {
            pintle::repo::Error::Input(_) => FailureKind::BadInput,
            _ => FailureKind::RunTime,
        };
        let failure = Failure::new(class, error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
