//! Reporters that show the messages and the progress of operations to the user.

mod helm_log;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pintle::chart::metadata::Dependency;
use pintle::cluster::logs::LogSource;
use pintle::{Message, MessageKind, ObjectProgress, Progress, RemoteEvent};
use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use crate::output::live::ProgressTable;
use crate::personality::Personality;
use crate::ui::{self, Ui};

/// The reporter of operations that need no cluster: their progress goes to standard output.
pub(crate) struct Reporting<'a>(&'a mut Ui);

impl<'a> Reporting<'a> {
    pub(crate) fn new(ui: &'a mut Ui) -> Reporting<'a> {
        Reporting(ui)
    }
}

impl pintle::Reporter for Reporting<'_> {
    fn report(&mut self, progress: Progress) {
        match progress {
            Progress::Message(message) if self.0.personality() == Personality::Helm => {
                if message.kind != MessageKind::Additional {
                    self.0.log(&message.line);
                }
            }
            Progress::Message(message) => self.0.log(&message.line),
            Progress::Step(text) => {
                // A write error is reported when the output is flushed at the end.
                let _ = self.0.print(&format!("{}\n", text.trim_end_matches('\n')));
            }
            Progress::Remote(event) => {
                // Each line is shown at once: the next repository may take a while.
                let _ = self.0.print(&remote_text(&event)).and_then(|()| self.0.flush());
            }
            other => helm_log::decisions(&other).iter().for_each(|line| self.0.log(line)),
        }
    }
}

/// Helm's lines about repositories and charts of registries.
fn remote_text(event: &RemoteEvent) -> String {
    let quoted = |name: &str| quote(name.as_bytes());
    match event {
        RemoteEvent::RepositoryRemoved { name } => {
            format!("{} has been removed from your repositories\n", quoted(name))
        }
        RemoteEvent::UpdatingRepositories => {
            "Hang tight while we grab the latest from your chart repositories...\n".to_owned()
        }
        RemoteEvent::RepositoryUpdated { name } => {
            format!("...Successfully got an update from the {} chart repository\n", quoted(name))
        }
        RemoteEvent::RepositoryNotUpdated { name, url, error } => {
            let name = quoted(name);
            format!("...Unable to get an update from the {name} chart repository ({url}):\n\t{error}\n")
        }
        RemoteEvent::DependencyAdded(Dependency { name, version, repository, .. }) => {
            format!("Added {name} {version} from {repository}\n")
        }
        RemoteEvent::DependencyUpgraded { name, from, to, newest } if from == to => {
            format!("{name} {to} allows {newest}, the newest version\n")
        }
        RemoteEvent::DependencyUpgraded { name, from, to, .. } => {
            format!("Upgraded {name} from {from} to {to}\n")
        }
        RemoteEvent::Uploading { file_name, to } => format!("Pushing {file_name} to {to}...\n"),
        RemoteEvent::Pulled { text } => text.clone(),
        _ => String::new(),
    }
}

/// How often the elapsed times of the table are renewed. Objects report changes only, which may be minutes apart.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// The reporter of operations on a cluster. Shows objects that are waited for, and the logs of hooks; called as `helm`,
/// it shows no objects and logs the latter, as Helm does.
pub(crate) struct ClusterReporter<'a> {
    ui: &'a mut Ui,
    table: Arc<Mutex<ProgressTable>>,
    refresher: Option<Refresher>,
    /// Whether standard output is for data alone.
    data: bool,
    /// Whether the command prints the objects that an uninstall keeps.
    lists_kept: bool,
    /// Whose log was shown last, and whether it ended with a line break.
    last: Option<(LogSource, bool)>,
}

impl<'a> ClusterReporter<'a> {
    /// With `data`, standard output is for machine-readable output, and logs of hooks go to standard error.
    pub(crate) fn new(ui: &'a mut Ui, data: bool) -> ClusterReporter<'a> {
        let table = Arc::new(Mutex::new(ProgressTable::new(io::stderr().is_terminal())));
        ClusterReporter { ui, table, refresher: None, data, lists_kept: false, last: None }
    }

    /// For commands that print the objects that an uninstall keeps: no warning for each of them. As Helm, there are both.
    pub(crate) fn without_kept(mut self) -> Self {
        self.lists_kept = true;
        self
    }

    fn is_helm(&self) -> bool {
        self.ui.personality() == Personality::Helm
    }

    /// Erases the table. Errors of standard error are ignored, here and below: there is no other stream to report
    /// them on.
    fn clear(&mut self) {
        let _ = lock(&self.table).clear(&mut io::stderr().lock());
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

impl pintle::Reporter for ClusterReporter<'_> {
    fn report(&mut self, progress: Progress) {
        match progress {
            Progress::Message(message) => self.message(&message),
            Progress::Step(text) if !self.is_helm() => {
                self.clear();
                self.ui.note(text.trim_end_matches('\n'));
            }
            Progress::Readiness(object) if !self.is_helm() => self.object_progress(&object),
            Progress::HookLog { source, bytes } => self.hook_log(source, &bytes),
            other => {
                for line in helm_log::decisions(&other) {
                    self.clear();
                    self.ui.log(&line);
                }
            }
        }
    }
}

impl ClusterReporter<'_> {
    fn message(&mut self, message: &Message) {
        let is_shown = match message.kind {
            MessageKind::Additional => !self.is_helm(),
            MessageKind::Listed => self.is_helm() || !self.lists_kept,
            MessageKind::Failure => self.is_helm(),
            _ => true,
        };
        if is_shown {
            self.clear();
            self.ui.log(&message.line);
        }
    }

    fn object_progress(&mut self, progress: &ObjectProgress) {
        let _ = lock(&self.table).update(progress, Instant::now(), &mut io::stderr().lock());
        if self.refresher.is_none() && io::stderr().is_terminal() {
            self.refresher = Some(Refresher::start(Arc::clone(&self.table)));
        }
    }

    fn hook_log(&mut self, source: LogSource, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.is_helm() {
            let text = String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(bytes)).into_owned();
            return self.ui.log(&LogLine::info(text));
        }
        self.clear();
        self.header(&source);
        self.print(bytes);
        self.last = Some((source, bytes.ends_with(b"\n")));
    }
}

impl Drop for ClusterReporter<'_> {
    fn drop(&mut self) {
        self.refresher = None;
        self.clear();
        if matches!(self.last, Some((_, false))) {
            self.print(b"\n");
        }
    }
}

/// A thread that redraws the table until this is dropped.
struct Refresher {
    /// Dropping the sender stops the thread without waiting for the interval to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Refresher {
    fn start(table: Arc<Mutex<ProgressTable>>) -> Refresher {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(REFRESH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let _ = lock(&table).refresh(Instant::now(), &mut io::stderr().lock());
            }
        });
        Refresher { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Refresher {
    fn drop(&mut self) {
        self.stop = None;
        // The thread only fails if it panics, which the panic hook has reported.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lock(table: &Mutex<ProgressTable>) -> MutexGuard<'_, ProgressTable> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
