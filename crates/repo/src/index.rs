//! Index files: what a repository says about its charts.
//!
//! An index may have tens of thousands of versions, of which a command wants a few. [`read()`] therefore goes over the text
//! once and hands each version over as it comes, and [`Catalog`] keeps what search and choice need. `side` is the
//! catalog in a file beside the index, so that the text is parsed once per download and not once per command.

mod catalog;
mod choose;
mod decode;
mod json;
mod read;
mod side;
mod write;

pub use catalog::{Catalog, ChartEntry, Detail, Text, VersionHead};
pub use choose::{Chosen, Found};
pub use decode::VersionEntry;
pub use side::{Cached, SIDE_SUFFIX, Validators};
pub use write::{IndexDocument, index_directory};

use pintle_tree::LogLine;

use crate::error::{Error, Result};

/// The largest index that is read. The largest known ones are a quarter of it.
pub const MAX_INDEX: u64 = 512 << 20;

/// Receives the entries of an index while it is read.
pub trait Receiver {
    /// A chart, which may turn out to have no versions.
    fn chart(&mut self, name: &str);
    /// A version of the chart that was named last, in the order of the file.
    fn version(&mut self, entry: VersionEntry);
    /// Discards everything; the document starts again.
    fn reset(&mut self);
}

/// A remark about an entry that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The chart.
    pub chart: String,
    /// The version and what is wrong with the entry; `None` for entries that are null.
    pub invalid: Option<(String, String)>,
}

impl Skipped {
    /// What Helm logs about it; `source` is the file or the URL of the index.
    pub fn log_line(&self, source: &str) -> LogLine {
        let name = ("name", self.chart.clone());
        let source = ("source", source.to_owned());
        match &self.invalid {
            None => {
                let text = "skipping loading invalid entry for chart: empty entry";
                LogLine::warn(text, vec![name, source])
            }
            Some((version, reason)) => {
                let attributes = vec![name, ("version", version.clone()), source, ("error", reason.clone())];
                LogLine::warn("skipping loading invalid entry for chart", attributes)
            }
        }
    }
}

/// Goes over an index, JSON or YAML, by Helm's rules.
///
/// # Errors
/// When the text is not an index. Single invalid entries are skipped and returned instead.
pub fn read(text: &[u8], receiver: &mut dyn Receiver) -> Result<Vec<Skipped>> {
    if text.is_empty() {
        return Err(Error::Index("empty index.yaml file".to_owned()));
    }
    let begins = text.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    let summary = match begins {
        // Every first character of JSON. Text that turns out not to be JSON is read as YAML.
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => json::read(text, receiver),
        _ => None,
    };
    let summary = match summary {
        Some(summary) => summary,
        None => {
            receiver.reset();
            read::read(text, receiver)
        }
    }?;
    if summary.api_version.is_empty() {
        return Err(Error::Index("no API version specified".to_owned()));
    }
    Ok(summary.skipped)
}
