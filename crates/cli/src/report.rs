//! What operations say on their way, passed on to the user.

use std::io::{self, IsTerminal as _, Write as _};

use pintle::ObjectProgress;
use pintle::cluster::logs::LogSource;
use pintle_tree::LogLine;

use crate::output::live::Live;
use crate::personality::Personality;
use crate::ui::{self, Ui};

/// Passes on what operations on files report.
pub(crate) struct Reporting<'a>(&'a mut Ui);

impl<'a> Reporting<'a> {
    /// Passes on to this user.
    pub(crate) fn new(ui: &'a mut Ui) -> Reporting<'a> {
        Reporting(ui)
    }
}

impl pintle::Reporter for Reporting<'_> {
    fn log(&mut self, line: LogLine) {
        self.0.log(&line);
    }

    fn log_extra(&mut self, line: LogLine) {
        if self.0.personality() != Personality::Helm {
            self.0.log(&line);
        }
    }

    fn progress(&mut self, text: &str) {
        // What cannot be written any more shows when the output is flushed at the end.
        let _ = self.0.print(&format!("{}\n", text.trim_end_matches('\n')));
    }
}

/// Passes on what operations on a cluster report: objects while they are waited for, and logs of hooks. Helm keeps
/// silent about the former and logs the latter.
pub(crate) struct Watching<'a> {
    ui: &'a mut Ui,
    live: Live,
    /// Whether standard output is for data alone.
    data: bool,
    /// Whose log was shown last, and whether it ended with a line break.
    last: Option<(LogSource, bool)>,
}

impl<'a> Watching<'a> {
    /// Passes on to this user; `data` says that standard output is for a program.
    pub(crate) fn new(ui: &'a mut Ui, data: bool) -> Watching<'a> {
        Watching { ui, live: Live::new(io::stderr().is_terminal()), data, last: None }
    }

    fn is_helm(&self) -> bool {
        self.ui.personality() == Personality::Helm
    }

    /// Makes room for something else. A failing standard error leaves nobody to tell, here and below.
    fn clear(&mut self) {
        let _ = self.live.clear(&mut io::stderr().lock());
    }

    fn print(&mut self, bytes: &[u8]) {
        let _ = if self.data {
            let mut stream = ui::stderr();
            stream.write_all(bytes).and_then(|()| stream.flush())
        } else {
            self.ui.out().write_all(bytes).and_then(|()| self.ui.out().flush())
        };
    }

    fn header(&mut self, source: &LogSource) {
        let unfinished = match &self.last {
            Some((last, _)) if last == source => return,
            Some((_, ended)) => !ended,
            None => false,
        };
        if unfinished {
            self.print(b"\n");
        }
        self.print(format!("Logs for pod: {}, container: {}\n", source.pod, source.container).as_bytes());
    }
}

impl pintle::Reporter for Watching<'_> {
    fn log(&mut self, line: LogLine) {
        self.clear();
        self.ui.log(&line);
    }

    fn log_extra(&mut self, line: LogLine) {
        if !self.is_helm() {
            self.log(line);
        }
    }

    fn log_failure(&mut self, line: LogLine) {
        if self.is_helm() {
            self.log(line);
        }
    }

    fn progress(&mut self, text: &str) {
        if !self.is_helm() {
            self.clear();
            self.ui.note(text.trim_end_matches('\n'));
        }
    }

    fn object_progress(&mut self, progress: &ObjectProgress<'_>) {
        if !self.is_helm() {
            let _ = self.live.update(progress, &mut io::stderr().lock());
        }
    }

    fn hook_log(&mut self, source: &LogSource, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.is_helm() {
            let text = String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(bytes)).into_owned();
            return self.ui.log(&LogLine::info(text));
        }
        self.clear();
        self.header(source);
        self.print(bytes);
        self.last = Some((source.clone(), bytes.ends_with(b"\n")));
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.clear();
        if matches!(self.last, Some((_, false))) {
            self.print(b"\n");
        }
    }
}
