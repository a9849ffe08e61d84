//! A writer for each container whose log is received.

use std::collections::BTreeMap;
use std::io::Write;

use pintle_cluster::logs::LogSource;

use crate::{Progress, Reporter};

type Open = dyn FnMut(&str, &str, &str) -> Box<dyn Write + Send> + Send;

/// Writes the log of each container to a writer of its own, which is opened by namespace, pod and container when the first bytes
/// arrive. A writer that fails gets nothing more; the operation goes on.
///
/// ```
/// use pintle::LogWriters;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().to_owned();
/// let mut writers = LogWriters::new(move |namespace, pod, container| {
///     match std::fs::File::create(path.join(format!("{namespace}_{pod}_{container}.log"))) {
///         Ok(file) => Box::new(file),
///         Err(_) => Box::new(std::io::sink()),
///     }
/// });
/// # let session = pintle::Session::offline();
/// // As a reporter: `install(&session, &request, &mut writers).await`.
/// # let _: &mut dyn pintle::Reporter = &mut writers;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LogWriters {
    open: Box<Open>,
    /// `None` for a writer that has failed.
    writers: BTreeMap<LogSource, Option<Box<dyn Write + Send>>>,
    /// Receives what is not a log.
    rest: Option<Box<dyn Reporter>>,
}

impl LogWriters {
    /// Opens writers by namespace, pod and container.
    pub fn new(open: impl FnMut(&str, &str, &str) -> Box<dyn Write + Send> + Send + 'static) -> LogWriters {
        LogWriters { open: Box::new(open), writers: BTreeMap::new(), rest: None }
    }

    /// Passes everything that is not the log of a hook to another reporter.
    #[must_use]
    pub fn with_rest(mut self, reporter: impl Reporter + 'static) -> LogWriters {
        self.rest = Some(Box::new(reporter));
        self
    }

    /// Writes a chunk of a container's log.
    pub fn write(&mut self, source: &LogSource, bytes: &[u8]) {
        if !self.writers.contains_key(source) {
            let writer = (self.open)(&source.namespace, &source.pod, &source.container);
            self.writers.insert(source.clone(), Some(writer));
        }
        if let Some(slot) = self.writers.get_mut(source)
            && let Some(writer) = slot
            && writer.write_all(bytes).and_then(|()| writer.flush()).is_err()
        {
            *slot = None;
        }
    }
}

impl Reporter for LogWriters {
    fn report(&mut self, progress: Progress) {
        match progress {
            Progress::HookLog { source, bytes } => self.write(&source, &bytes),
            other => {
                if let Some(rest) = &mut self.rest {
                    rest.report(other);
                }
            }
        }
    }
}
