//! The path under which plugins call this program back.

use std::io;
use std::path::Path;

use super::process::look_path;
use crate::chart_reference::absolute;
use crate::env::{Environment, Home};
use crate::failure::{Failure, reason};
use crate::personality::Personality;

/// The name of the link that answers as Helm.
const NAME: &str = if cfg!(windows) { "helm.exe" } else { "helm" };

/// The value of `HELM_BIN`: an absolute path under which this program behaves as Helm. If it was called by another name, this
/// is a link in the cache, which is created when the first plugin runs.
///
/// # Errors
///
/// When the link cannot be made.
pub(crate) fn helm_bin(
    personality: Personality,
    called_as: &str,
    environment: &Environment,
) -> Result<String, Failure> {
    if personality == Personality::Helm {
        if called_as.contains(std::path::MAIN_SEPARATOR) {
            return Ok(absolute(called_as).to_string_lossy().into_owned());
        }
        let found = look_path(called_as, environment).unwrap_or_else(|_| called_as.to_owned());
        return Ok(absolute(&found).to_string_lossy().into_owned());
    }
    let folder = absolute(environment.home(Home::Cache, "pintle/bin"));
    let link = folder.join(NAME);
    let program = std::env::current_exe()?;
    if !leads_to(&link, &program) {
        create(&folder, &link, &program).map_err(|error| {
            Failure::run_time(format!("cannot create `{}`: {}", link.display(), reason(&error)))
                .hint("plugins call Helm back by this link; $HELM_CACHE_HOME sets another cache directory")
        })?;
    }
    Ok(link.to_string_lossy().into_owned())
}

fn leads_to(link: &Path, program: &Path) -> bool {
    match (std::fs::canonicalize(link), std::fs::canonicalize(program)) {
        (Ok(link), Ok(program)) => link == program,
        _ => false,
    }
}

/// Creates or replaces the link atomically, by a rename, so that plugins that run at the same time always find one.
fn create(folder: &Path, link: &Path, program: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let beside = folder.join(format!(".{NAME}.{}", std::process::id()));
    let _ = std::fs::remove_file(&beside);
    #[cfg(unix)]
    std::os::unix::fs::symlink(program, &beside)?;
    #[cfg(not(unix))]
    std::fs::copy(program, &beside)?;
    std::fs::rename(&beside, link)
}
