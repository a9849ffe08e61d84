//! Resolves a chart reference to a path, and fetches the chart if necessary.

use std::io::ErrorKind;

use pintle::release::ChartSource;
use pintle::repo::{Getter, Registries, Resolved, Wanted, provenance_url};
use pintle_tree::quote::quote;
use pintle_tree::redact::redacted;
use pintle_tree::{LogLevel, LogLine};

use crate::advice::repository;
use crate::failure::{Failure, FailureKind, reason};
use crate::flag::names;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::{cosign, provenance, remote};

/// Finds the chart that `reference` means: a path that exists, or an archive that is brought into the content cache.
///
/// # Errors
///
/// Paths that do not exist, and charts that cannot be fetched.
pub(crate) fn locate(invocation: &mut Invocation<'_>, reference: &str) -> Result<String, Failure> {
    let mut wanted = remote::wanted(&invocation.flags, reference.trim());
    debug_devel(invocation);
    // Helm trims the version here, but not in `pull`.
    wanted.version = wanted.version.trim().to_owned();
    locate_wanted(invocation, &wanted)
}

/// As [`locate`]; with `--debug` it reports the version that was asked for and the path, as `install` and `template` of
/// Helm do.
pub(crate) fn locate_reported(invocation: &mut Invocation<'_>, reference: &str) -> Result<String, Failure> {
    debug_version(invocation, "Original chart version");
    let path = locate(invocation, reference)?;
    invocation.ui.debug("Chart path", &[("path", &path)]);
    Ok(path)
}

/// Reports the version that was asked for.
pub(crate) fn debug_version(invocation: &mut Invocation<'_>, message: &'static str) {
    invocation.ui.debug(message, &[("version", invocation.flags.text(names::VERSION))]);
}

/// Reports the range of versions that `--devel` stands for.
pub(crate) fn debug_devel(invocation: &mut Invocation<'_>) {
    let flags = &invocation.flags;
    if flags.declares(names::VERSION)
        && flags.text(names::VERSION).is_empty()
        && !remote::devel(flags).is_empty()
    {
        invocation.ui.debug("setting version to >0.0.0-0", &[]);
    }
}

/// As [`locate`], with a version of its own instead of that of the flags.
pub(crate) fn locate_version(
    invocation: &mut Invocation<'_>,
    reference: &str,
    version: &str,
) -> Result<String, Failure> {
    let wanted =
        Wanted { version: version.to_owned(), ..remote::wanted(&invocation.flags, reference.trim()) };
    locate_wanted(invocation, &wanted)
}

fn locate_wanted(invocation: &mut Invocation<'_>, wanted: &Wanted) -> Result<String, Failure> {
    let path = find_or_fetch(invocation, wanted)?;
    invocation.chart_path = Some(path.as_str().into());
    Ok(path)
}

fn find_or_fetch(invocation: &mut Invocation<'_>, wanted: &Wanted) -> Result<String, Failure> {
    let reference = wanted.reference.as_str();
    if wanted.repo_url.is_empty() {
        match std::fs::metadata(reference) {
            Ok(_) => return Ok(absolute(reference)),
            Err(error) if reference.starts_with(['/', '.']) => {
                return Err(missing(invocation, reference, &error));
            }
            Err(_) => {}
        }
    }
    let getter = remote::getter(invocation, remote::TIMEOUT);
    let resolver = remote::resolver(invocation, &getter);
    let create_cache = || {
        let created = pintle::chart::create_folders(&resolver.folders.repository_cache);
        created.map_err(|error| pintle::repo::Error::File(error.to_string()))
    };
    let resolved = resolver.resolve_after(wanted, create_cache);
    let mut resolved =
        resolved.map_err(|error| repository::improve(Failure::from(error), invocation, reference))?;
    for line in &resolved.log {
        invocation.ui.log(line);
    }
    if cosign::is_asked(&invocation.flags) {
        let verified = cosign::verify(invocation, &resolver, &mut resolved)?;
        verified.lines().for_each(|line| invocation.ui.note(line));
    }
    let fetched = resolver.fetch(&resolved);
    notice(invocation, &getter)?;
    if let Err(pintle::repo::Error::Cache(_)) = fetched {
        let line = LogLine::info("failed to create cache directory");
        invocation.ui.log(&LogLine { level: LogLevel::Error, ..line });
    }
    let fetched = fetched?;
    // Helm's records have no field for it, and under Helm's name our records are the same bytes as Helm's.
    if invocation.personality == Personality::Pintle {
        invocation.chart_source = Some(ChartSource {
            url: redacted(&resolved.source.url).into_owned(),
            repository: redacted(&resolved.source.repository).into_owned(),
            digest: format!("sha256:{}", fetched.digest),
        });
    }
    let verify = invocation.flags.declares(names::VERIFY) && invocation.flags.on(names::VERIFY);
    if verify && !cosign::is_asked(&invocation.flags) {
        let provenance = resolver.cached_provenance(&resolved, &fetched.digest);
        notice(invocation, &getter)?;
        let provenance = provenance.map_err(|error| no_provenance(&resolved, &error))?;
        let (archive, provenance) = (fetched.path.to_string_lossy(), provenance.to_string_lossy());
        provenance::verify_named(invocation, &archive, &resolved.file_name, &provenance)?;
    }
    Ok(absolute(&fetched.path.to_string_lossy()))
}

/// The commands of Helm whose standard output is data, so that messages about charts go to standard error.
const PRINT_DATA: [&str; 2] = ["template", "show"];

/// Prints Helm's messages about charts from registries. Helm mixes them into the standard output of commands that print no
/// data; called as `pintle`, they always go to standard error.
fn notice(invocation: &mut Invocation<'_>, getter: &Getter) -> Result<(), Failure> {
    let notices = getter.registries().map(Registries::take_notices).unwrap_or_default();
    let prints_data =
        invocation.command_path.path.split(' ').nth(1).is_some_and(|name| PRINT_DATA.contains(&name));
    match invocation.personality {
        Personality::Helm if !prints_data => invocation.ui.print(&notices),
        _ => {
            notices.lines().for_each(|line| invocation.ui.note(line));
            Ok(())
        }
    }
}

/// The failure if a provenance file is required but cannot be fetched. Helm does not print the cause.
pub(crate) fn no_provenance(resolved: &Resolved, cause: &pintle::repo::Error) -> Failure {
    let url = quote(provenance_url(resolved).as_bytes());
    let text = format!("failed to fetch provenance {url}");
    let own = redacted(&format!("{text}: {cause}")).into_owned();
    Failure::run_time(text).with_pintle_text(own)
}

fn missing(invocation: &Invocation<'_>, reference: &str, error: &std::io::Error) -> Failure {
    let shown = redacted(reference);
    let failure =
        Failure::new(FailureKind::BadInput, format!("path {} not found", quote(reference.as_bytes())));
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput => repository::no_chart(failure, invocation, &shown),
        _ => failure.with_pintle_text(format!("cannot look at `{shown}`: {}", reason(error))),
    }
}

/// An absolute, cleaned path. Links are not followed, because errors show the path.
pub(crate) fn absolute(path: &str) -> String {
    if path.starts_with('/') {
        return crate::path::clean(path);
    }
    match std::env::current_dir() {
        Ok(folder) => crate::path::join(&[&folder.to_string_lossy(), path]),
        Err(_) => path.to_owned(),
    }
}
