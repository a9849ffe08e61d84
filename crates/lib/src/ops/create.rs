//! `create`: a new chart.

use std::path::{Path, PathBuf};

use pintle_chart::package::Times;

use crate::report::with_log;
use crate::{Reporter, Result};

/// Which chart to make, and where.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    /// The folder in which the chart's own folder is made.
    pub folder: PathBuf,
    /// The name of the chart.
    pub name: String,
    /// A chart to start from instead of the built-in scaffold.
    pub starter: Option<PathBuf>,
    /// The time of files whose source has none, in seconds since 1970.
    pub now: i64,
}

impl CreateRequest {
    /// Returns a request for the built-in scaffold.
    pub fn new(folder: impl AsRef<Path>, name: impl Into<String>) -> Self {
        CreateRequest { folder: folder.as_ref().to_owned(), name: name.into(), starter: None, now: 0 }
    }
}

/// Makes the chart and returns its folder. Files that were there already are reported before they are replaced.
///
/// # Errors
/// A bad name, a starter that cannot be read, or files that cannot be written.
pub fn create(request: &CreateRequest, reporter: &mut dyn Reporter) -> Result<PathBuf> {
    let CreateRequest { folder, name, starter, now } = request;
    match starter {
        None => Ok(pintle_chart::create::create(name, folder, &mut |line| reporter.progress(line))?),
        Some(starter) => with_log(reporter, |log| {
            let times = Times { all: None, fallback: *now };
            Ok(pintle_chart::create::create_from(name, folder, starter, times, log)?)
        }),
    }
}
