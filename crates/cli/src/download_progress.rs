//! Progress bars of downloads, on a terminal.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use pintle::repo::{DownloadProgress, Meter};

use crate::output::terminal::sanitize;
use crate::personality::Personality;

/// Smaller downloads are over before a bar can be read.
const LEAST: u64 = 1 << 20;

/// Progress bars on standard error for downloads that take a while; `None` under Helm's name, because Helm has no bars, and if
/// standard error is not a terminal.
pub(crate) fn bars(personality: Personality) -> Option<DownloadProgress> {
    if personality == Personality::Helm || !io::stderr().is_terminal() {
        return None;
    }
    let all = MultiProgress::new();
    Some(Arc::new(move |name: &str, size: Option<u64>| meter(&all, name, size)))
}

/// Removes a bar at the end of its download.
struct Bar(ProgressBar);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn meter(all: &MultiProgress, name: &str, size: Option<u64>) -> Meter {
    let bar = match size {
        Some(size) if size < LEAST => return Box::new(|_| {}),
        Some(size) => ProgressBar::new(size)
            .with_style(style("{prefix} {bytes:>10}/{total_bytes:10} {bytes_per_sec} {wide_bar} {eta}")),
        None => ProgressBar::no_length().with_style(style("{prefix} {bytes:>10} {bytes_per_sec} {spinner}")),
    };
    let bar = Bar(all.add(bar.with_prefix(sanitize(name).into_owned())));
    Box::new(move |bytes| bar.0.inc(bytes))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
