//! How registries of charts are spoken to: flags, files with logins, proxies.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle::registry::{Client, Login, Settings};
use pintle::repo::{Credentials, Registries};

use crate::commands::images::access;
use crate::failure::{Failure, reason};
use crate::invocation::Invocation;
use crate::personality::Personality;

/// A client for charts in registries, as the flags of `groups::REMOTE` want it.
pub(crate) fn client(invocation: &Invocation<'_>) -> Result<Arc<Client>, Failure> {
    build(chart_settings(invocation)?).map_err(|failure| failure.during("missing registry client"))
}

/// Settings for charts in registries, as the flags of `groups::REMOTE` want it, as far as a command has these.
fn chart_settings(invocation: &Invocation<'_>) -> Result<Settings, Failure> {
    let flags = &invocation.flags;
    let text = |name: &str| if flags.declares(name) { flags.text(name) } else { "" };
    let login = match (text("username"), text("password")) {
        ("", _) | (_, "") => None,
        (user, password) => Some(Login::Password { user: user.to_owned(), password: password.to_owned() }),
    };
    let insecure = flags.declares("insecure-skip-tls-verify") && flags.on("insecure-skip-tls-verify");
    Ok(Settings { login, ..settings(invocation, insecure)? })
}

/// The registries that charts come from. What is wrong with the flags is said when a chart does come from one.
pub(crate) fn registries(invocation: &Invocation<'_>) -> Registries {
    let unusable = |failure: Failure| pintle::repo::Error::Input(failure.text.clone());
    let settings = chart_settings(invocation).map_err(unusable);
    Registries::new(move |credentials| {
        let mut settings = settings.clone()?;
        if credentials == Credentials::Stored {
            settings.login = None;
        }
        build(settings).map_err(|failure| unusable(failure.during("missing registry client")))
    })
}

/// Settings from the flags that all commands for registries have.
pub(crate) fn settings(invocation: &Invocation<'_>, insecure: bool) -> Result<Settings, Failure> {
    let flags = &invocation.flags;
    let text = |name: &str| if flags.declares(name) { flags.text(name) } else { "" };
    let file = |name: &str| Some(text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    // Helm reads the authorities itself, and says so in its own words.
    if let Some(path) = file("ca-file")
        && let Err(error) = std::fs::read(&path)
    {
        let path = path.display();
        let text = format!(
            "can't create TLS config for client: can't read CA file: \"{path}\": open {path}: {}",
            reason(&error)
        );
        return Err(Failure::usage(text)
            .with_pintle_text(format!("cannot read the authorities in `{path}`: {}", reason(&error)))
            .during("missing registry client"));
    }
    Ok(Settings {
        login_files: access::login_files(invocation),
        plain_http: flags.declares("plain-http") && flags.on("plain-http"),
        // Called `pintle`, registries on this machine may do without TLS.
        always_tls: invocation.personality == Personality::Helm,
        insecure,
        authorities: file("ca-file"),
        certificate: file("cert-file").zip(file("key-file")),
        proxies: access::proxies(invocation.environment),
        retries: 3,
        pause: Duration::from_millis(200),
        ..Settings::default()
    })
}

/// A client with these settings.
pub(crate) fn build(settings: Settings) -> Result<Arc<Client>, Failure> {
    Ok(Arc::new(Client::new(settings).map_err(pintle::Error::from)?))
}

/// Runs to the end, or until the user wants no more.
pub(crate) use access::run;
