//! Access to chart registries: flags, credential files, proxies.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle::registry::address::AddressCheck;
use pintle::registry::{self, Client, Login, Settings};
use pintle::repo::{Credentials, Registries, key_pair_problem};
use pintle_tree::quote::quote;

use crate::commands::images::access;
use crate::env::Environment;
use crate::failure::{Failure, FailureKind, reason};
use crate::flag::parsed::Parsed;
use crate::flag::{Name, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::ui::Ui;
use crate::{read, remote};

/// A registry client for charts, configured by the flags of `groups::REMOTE`.
pub(crate) fn client(invocation: &Invocation<'_>) -> Result<Arc<Client>, Failure> {
    build_for_charts(chart_settings(invocation)?)
}

/// The settings of the registry client for charts, from those flags of `groups::REMOTE` that the command has.
fn chart_settings(invocation: &Invocation<'_>) -> Result<Settings, Failure> {
    let flags = &invocation.flags;
    let text = |name: Name<String>| if flags.declares(name) { flags.text(name) } else { "" };
    let login = match (text(names::USERNAME), text(names::PASSWORD)) {
        ("", _) | (_, "") => None,
        (user, password) => Some(Login::Password { user: user.to_owned(), password: password.to_owned() }),
    };
    let insecure =
        flags.declares(names::INSECURE_SKIP_TLS_VERIFY) && flags.on(names::INSECURE_SKIP_TLS_VERIFY);
    let settings = Settings { login, ..settings(invocation, insecure)? };
    if let Some((certificate, key)) = &settings.certificate {
        for (file, what) in [(certificate, "cert"), (key, "key")] {
            read::file(file, read::MAX_SETTINGS).map_err(|error| {
                let (path, why) = (file.display(), reason(&error));
                no_tls(
                    &format!("unable to read {what} file: \"{path}\": open {path}: {why}"),
                    format!("cannot read the client certificate or key in `{path}`: {why}"),
                )
            })?;
        }
        let texts = [certificate, key].map(|file| read::file(file, read::MAX_SETTINGS).unwrap_or_default());
        if let Some(problem) = key_pair_problem(&texts[0], &texts[1]) {
            let own = format!("cannot use `{}` with `{}`: {problem}", certificate.display(), key.display());
            return Err(no_tls(&format!("unable to load cert from key pair: {problem}"), own));
        }
    }
    Ok(settings)
}

/// Builds a client for charts. Errors about TLS files have Helm's text.
fn build_for_charts(settings: Settings) -> Result<Arc<Client>, Failure> {
    let authorities = settings.authorities.as_ref().map(|file| file.display().to_string());
    let pair = settings.certificate.clone();
    let is_of_pair = move |what: &str| {
        pair.iter().any(|(certificate, key)| [certificate, key].iter().any(|file| file.as_os_str() == what))
    };
    let client = Client::new(settings).map_err(|error| match &error {
        registry::Error::Settings { what, .. } if Some(what) == authorities.as_ref() => {
            no_tls("failed to append certificates from pem block", error.to_string())
        }
        registry::Error::Settings { what, reason } if is_of_pair(what) => {
            no_tls(&format!("unable to load cert from key pair: {reason}"), error.to_string())
        }
        _ => Failure::from(pintle::Error::from(error)).during("missing registry client"),
    });
    client.map(Arc::new)
}

fn no_tls(text: &str, own: String) -> Failure {
    Failure::usage(format!("can't create TLS config for client: {text}"))
        .with_pintle_text(own)
        .during("missing registry client")
}

/// Checks the files of the TLS flags, for commands that may fetch a chart: Helm creates its registry client first, wherever
/// the chart comes from.
pub(crate) fn check_tls_flags(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let is_asked = flags.declares(names::PLAIN_HTTP)
        && [names::CA_FILE, names::CERT_FILE, names::KEY_FILE].into_iter().any(|name| flags.given(name))
        && !flags.operands.is_empty()
        && !matches!(invocation.command_path.command.name, "login" | "repo" | "copy");
    if !is_asked {
        return Ok(());
    }
    let getter = remote::getter(invocation, remote::TIMEOUT);
    getter
        .check_tls(&remote::access(flags))
        .map_err(|error| Failure::from(error).during("missing registry client"))
}

/// The registries that charts come from. Invalid flags are reported only when a chart is fetched from a registry.
pub(crate) fn registries(invocation: &Invocation<'_>) -> Registries {
    registries_at(invocation, None)
}

/// The same, at addresses that pass a check.
pub(crate) fn registries_within(invocation: &Invocation<'_>, addresses: AddressCheck) -> Registries {
    registries_at(invocation, Some(addresses))
}

fn registries_at(invocation: &Invocation<'_>, addresses: Option<AddressCheck>) -> Registries {
    let personality = invocation.personality;
    let unusable = move |failure: Failure| {
        let own = failure.own.clone().filter(|_| personality == Personality::Pintle);
        pintle::repo::Error::Input(own.unwrap_or_else(|| failure.text.clone()))
    };
    let settings = chart_settings(invocation).map_err(unusable);
    let settings = settings.map(|settings| Settings { addresses, ..settings });
    Registries::new(move |credentials| {
        let mut settings = settings.clone()?;
        if credentials == Credentials::Stored {
            settings.login = None;
        }
        build_for_charts(settings).map_err(unusable)
    })
}

/// Settings from the flags that all commands for registries have.
pub(crate) fn settings(invocation: &Invocation<'_>, insecure: bool) -> Result<Settings, Failure> {
    let flags = &invocation.flags;
    let text = |name: Name<String>| if flags.declares(name) { flags.text(name) } else { "" };
    let file = |name: Name<String>| Some(text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    // Helm reads the CA file itself, with its own error text.
    if let Some(path) = file(names::CA_FILE)
        && let Err(error) = read::file(&path, read::MAX_SETTINGS)
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
        plain_http: flags.declares(names::PLAIN_HTTP) && flags.on(names::PLAIN_HTTP),
        // Called as `pintle`, plain HTTP is allowed for registries on loopback addresses.
        always_tls: invocation.personality == Personality::Helm,
        insecure,
        authorities: file(names::CA_FILE),
        certificate: file(names::CERT_FILE).zip(file(names::KEY_FILE)),
        proxies: access::proxies(invocation.environment),
        retries: 3,
        pause: Duration::from_millis(200),
        on_wait: access::wait_notice(invocation),
        ..Settings::default()
    })
}

/// A client with these settings.
pub(crate) fn build(settings: Settings) -> Result<Arc<Client>, Failure> {
    Ok(Arc::new(Client::new(settings).map_err(pintle::Error::from)?))
}

/// Reads the credential file before any command, as Helm does; an invalid file is logged and the command does not run.
///
/// # Errors
///
/// A file that cannot be used; it was reported.
pub(crate) fn check_login_file(
    flags: &Parsed,
    environment: &Environment,
    ui: &mut Ui,
) -> Result<(), Failure> {
    registry::check_login_file(&login_file(flags, environment)).map_err(|text| {
        ui.note(&format!("level=WARN msg=\"command failed\" error={}", quote(text.as_bytes())));
        Failure::new(FailureKind::AlreadyReported, text)
    })
}

pub(crate) use access::{login_file, run};
