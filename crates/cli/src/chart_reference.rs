//! Chart references as users type them, and the flags that say how they are looked up.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pintle::ops::locate_chart;
use pintle::repo::{self, ChartQuery};
use pintle::{ChartReference, Error, LocatedChart, Progress, RemoteError, RemoteEvent, Reporter, Verify};
use pintle_tree::redact::redacted;

use crate::advice::repository;
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::ui::Ui;
use crate::{cosign, provenance, remote};

/// The hint for a chart that was not found.
pub(crate) const PATHS: &str = "give the path of a folder or an archive, or repo/name of a repository";

/// Finds the chart that `reference` means: a path that exists, or an archive that is brought into the content cache.
///
/// # Errors
///
/// Paths that do not exist, and charts that cannot be fetched or verified.
pub(crate) fn locate(invocation: &mut Invocation<'_>, reference: &str) -> Result<LocatedChart, Failure> {
    debug_devel(invocation);
    // Helm trims the version here, but not in `pull`.
    let version = remote::wanted(&invocation.flags, "").version.trim().to_owned();
    locate_version(invocation, reference, &version)
}

/// As [`locate`]; with `--debug` it reports the version that was asked for and the path, as `install` and `template` of
/// Helm do.
pub(crate) fn locate_reported(
    invocation: &mut Invocation<'_>,
    reference: &str,
) -> Result<LocatedChart, Failure> {
    debug_version(invocation, "Original chart version");
    let chart = locate(invocation, reference)?;
    invocation.ui.debug("Chart path", &[("path", &chart.path.to_string_lossy())]);
    Ok(chart)
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
) -> Result<LocatedChart, Failure> {
    let query =
        ChartQuery { version: version.to_owned(), ..remote::wanted(&invocation.flags, reference.trim()) };
    let chart = of_query(invocation, query)?;
    let prints_data =
        PRINT_DATA.iter().any(|name| invocation.command_path.path.split(' ').nth(1) == Some(name));
    let mut reporter = Locating { ui: invocation.ui, prints_data };
    let located = run_offline(locate_chart(&chart, &mut reporter));
    let located = located.map_err(|error| with_advice(invocation, reference.trim(), error))?;
    invocation.chart_path = Some(located.path.clone());
    // Helm's records have no field for the source, and under Helm's name our records are the same bytes as Helm's.
    let source = located.source.filter(|_| invocation.personality == Personality::Pintle);
    Ok(LocatedChart { source, ..located })
}

/// A reference with the settings of the flags.
pub(crate) fn of_query(invocation: &Invocation<'_>, query: ChartQuery) -> Result<ChartReference, Failure> {
    let flags = &invocation.flags;
    let verify = match () {
        () if cosign::is_asked(flags) => Verify::Cosign(cosign::trust(flags)?.into()),
        () if flags.declares(names::VERIFY) && flags.on(names::VERIFY) => {
            Verify::Provenance(provenance::keyring_file(invocation))
        }
        () => Verify::Never,
    };
    let folder = std::env::current_dir().unwrap_or_default();
    Ok(ChartReference { remote: remote::remote(invocation, remote::TIMEOUT), query, folder, verify })
}

/// The failure of a reference that is neither a path nor in a repository.
fn with_advice(invocation: &Invocation<'_>, reference: &str, error: Error) -> Failure {
    let shown = redacted(reference);
    let Error::Remote(remote) = &error else { return error.into() };
    match &**remote {
        RemoteError::NoChartAtPath { source, .. }
            if !matches!(source.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) =>
        {
            error.into()
        }
        RemoteError::NoChartAtPath { .. } | RemoteError::Repo(repo::Error::NotAbsolute { .. }) => {
            repository::no_chart(error.into(), invocation, &shown)
        }
        RemoteError::Repo(repo::Error::UnknownRepository { name }) => {
            let name = name.clone();
            repository::unknown(error.into(), invocation, &name, &shown)
        }
        _ => repository::without_index(error.into(), reference),
    }
}

/// The commands of Helm whose standard output is data, so that messages about charts go to standard error.
const PRINT_DATA: [&str; 2] = ["template", "show"];

/// Shows what happens while a chart is located.
struct Locating<'a> {
    ui: &'a mut Ui,
    prints_data: bool,
}

impl Reporter for Locating<'_> {
    fn report(&mut self, progress: Progress) {
        match progress {
            Progress::Message(message) => self.ui.log(&message.line),
            Progress::Remote(event) => self.remote(&event),
            _ => {}
        }
    }
}

impl Locating<'_> {
    fn remote(&mut self, event: &RemoteEvent) {
        match event {
            // Helm mixes messages into the standard output of commands that print no data; called as `pintle`, they always go
            // to standard error. A write error is reported when the output is flushed at the end.
            RemoteEvent::Pulled { text }
                if self.ui.personality() == Personality::Helm && !self.prints_data =>
            {
                let _ = self.ui.print(text);
            }
            RemoteEvent::Pulled { text } => text.lines().for_each(|line| self.ui.note(line)),
            RemoteEvent::SignedByCosign(verified) => {
                cosign::words(verified).lines().for_each(|line| self.ui.note(line));
            }
            _ => {}
        }
    }
}

/// An absolute, cleaned path. Links are not followed, because errors show the path.
pub(crate) fn absolute(path: impl AsRef<Path>) -> PathBuf {
    match std::env::current_dir() {
        Ok(folder) => pintle::ops::absolute(&folder, path.as_ref()),
        Err(_) => path.as_ref().to_owned(),
    }
}
