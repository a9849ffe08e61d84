//! Progress of copies: bars on a terminal, a line for each image elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};

use crate::output::terminal::sanitize;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use pintle::registry::copy::{CopyStats, Outcome};
use pintle::registry::{Digest, Progress, Silent};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Returns the progress receiver for copies, and the lines that it produces where there are no bars. With `quiet` there
/// are neither.
pub(crate) fn progress(quiet: bool, total: u64) -> (Arc<dyn Progress>, UnboundedReceiver<String>) {
    let (sender, receiver) = unbounded_channel();
    let progress: Arc<dyn Progress> = match quiet {
        true => Arc::new(Silent),
        false if io::stderr().is_terminal() => Arc::new(Bars::new(total)),
        false => Arc::new(Lines(sender)),
    };
    (progress, receiver)
}

/// A line for each image.
struct Lines(UnboundedSender<String>);

impl Progress for Lines {
    fn image_finished(&self, outcome: &Outcome) {
        // The receiver is dropped only when the copy was cancelled.
        let _ = self.0.send(line(outcome));
    }
}

/// The result of one image in one line.
pub(crate) fn line(outcome: &Outcome) -> String {
    let Outcome { source, destination, digest, result } = outcome;
    match result {
        Ok(tally) if is_unchanged(tally) => format!("there   {destination} ({})", digest.short()),
        Ok(tally) => {
            let CopyStats { copied, mounted, existing: there, bytes, artifacts, .. } = tally;
            let mut parts = vec![format!("{copied} blobs, {}", size(*bytes))];
            let more = [(mounted, "mounted"), (there, "there"), (artifacts, "signatures and the like")];
            parts.extend(
                more.iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!("{count} {what}")),
            );
            format!("copied  {source} -> {destination} ({}; {})", digest.short(), parts.join(", "))
        }
        Err(error) => format!("failed  {source} -> {destination}: {error}"),
    }
}

/// Whether the image was at the destination already. A manifest is written last, so none written means nothing was
/// missing.
pub(crate) fn is_unchanged(tally: &CopyStats) -> bool {
    tally.manifests == 0
}

/// A byte count in decimal units, as registries and Docker show it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A bar for each blob in transfer, and one for the total.
struct Bars {
    all: MultiProgress,
    total: ProgressBar,
    blobs: Mutex<BTreeMap<Digest, ProgressBar>>,
}

impl Bars {
    fn new(total: u64) -> Bars {
        let all = MultiProgress::new();
        let bar = all.add(
            ProgressBar::new(total)
                .with_style(style("{bytes}/{total_bytes} {bytes_per_sec} {wide_bar} {eta}")),
        );
        Bars { all, total: bar, blobs: Mutex::default() }
    }

    fn with(&self, digest: &Digest, then: impl FnOnce(&ProgressBar)) {
        if let Some(bar) = self.blobs.lock().unwrap_or_else(PoisonError::into_inner).get(digest) {
            then(bar);
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress for Bars {
    fn blob_started(&self, digest: &Digest, size: u64) {
        let bar =
            ProgressBar::new(size).with_style(style("{prefix} {bytes:>10}/{total_bytes:10} {wide_bar}"));
        let bar = self.all.insert_before(&self.total, bar.with_prefix(digest.short().to_owned()));
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner).insert(digest.clone(), bar);
    }

    fn blob_resumed(&self, digest: &Digest, offset: u64) {
        self.with(digest, |bar| {
            let before = bar.position();
            self.total.set_position((self.total.position() + offset).saturating_sub(before));
            bar.set_position(offset);
        });
    }

    fn blob_progressed(&self, digest: &Digest, bytes: u64) {
        self.with(digest, |bar| bar.inc(bytes));
        self.total.inc(bytes);
    }

    fn blob_finished(&self, digest: &Digest) {
        if let Some(bar) = self.blobs.lock().unwrap_or_else(PoisonError::into_inner).remove(digest) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    fn image_finished(&self, outcome: &Outcome) {
        // Errors of the terminal are ignored; the result is printed at the end anyway.
        let _ = self.all.println(sanitize(&line(outcome)));
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.total.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1000, 1_234_567, 999_949, 999_950, 2_000_000_000, u64::MAX];
        let formatted = sizes.map(size);
        assert_eq!(
            formatted,
            ["0 B", "999 B", "1.0 kB", "1.2 MB", "999.9 kB", "1.0 MB", "2.0 GB", "18446.7 PB"]
        );
    }
}
