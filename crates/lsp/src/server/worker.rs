//! The thread that renders charts and runs tests, so that typing never waits for them.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use lsp_server::RequestId;

use crate::diagnostics::{self, Problems};
use crate::preview::Deeds;
use crate::project::{FileId, Project};
use crate::scenario::Scenario;
use crate::suites::{self, SuiteOutcome};

/// The stack of the thread that renders, as large as that of the program.
pub(super) const STACK: usize = 64 << 20;

/// The last results of a suite.
pub(super) struct Tested {
    pub(super) root: PathBuf,
    pub(super) outcome: SuiteOutcome,
}

/// Something to do.
pub(super) enum Job {
    /// Renders and checks a chart. Of several for one chart, only the newest is done.
    Check { root: PathBuf, project: Arc<Project>, scenario: Scenario },
    /// Runs the suites of a file, for a request.
    Test { id: RequestId, root: PathBuf, project: Arc<Project>, file: FileId },
}

/// What came out of it.
pub(super) enum Done {
    /// What is wrong with a chart.
    Checked { root: PathBuf, project: Arc<Project>, problems: Problems },
    /// What its templates did.
    Rendered { root: PathBuf, project: Arc<Project>, deeds: BTreeMap<FileId, Deeds> },
    /// How tests ended.
    Tested { id: RequestId, root: PathBuf, project: Arc<Project>, file: FileId, outcome: SuiteOutcome },
}

/// Starts the thread.
pub(super) fn start() -> std::io::Result<(mpsc::Sender<Job>, mpsc::Receiver<Done>)> {
    let (jobs, work) = mpsc::channel::<Job>();
    let (done, results) = mpsc::channel();
    thread::Builder::new().name("render".to_owned()).stack_size(STACK).spawn(move || serve(&work, &done))?;
    Ok((jobs, results))
}

fn serve(work: &mpsc::Receiver<Job>, done: &mpsc::Sender<Done>) {
    let mut waiting: VecDeque<Job> = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Ok(job) = work.recv() else { return };
            waiting.push_back(job);
        }
        while let Ok(job) = work.try_recv() {
            if let Job::Check { root, .. } = &job {
                waiting.retain(|other| !matches!(other, Job::Check { root: known, .. } if known == root));
            }
            waiting.push_back(job);
        }
        let Some(job) = waiting.pop_front() else { continue };
        if !run(job, done) {
            return;
        }
    }
}

/// Does a job. A chart that makes rendering panic must not end the results of others. Returns whether someone listens.
fn run(job: Job, done: &mpsc::Sender<Done>) -> bool {
    match job {
        Job::Check { root, project, scenario } => {
            let problems = std::panic::catch_unwind(AssertUnwindSafe(|| diagnostics::of_chart(&project)));
            let problems = problems.unwrap_or_default();
            let checked = Done::Checked { root: root.clone(), project: Arc::clone(&project), problems };
            if done.send(checked).is_err() {
                return false;
            }
            let deeds = std::panic::catch_unwind(AssertUnwindSafe(|| project.deeds(&scenario)));
            done.send(Done::Rendered { root, project, deeds: deeds.unwrap_or_default() }).is_ok()
        }
        Job::Test { id, root, project, file } => {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| suites::run(&project, file)));
            let outcome = outcome.unwrap_or_else(|_| SuiteOutcome {
                error: Some("the server has a bug: this suite made it panic".to_owned()),
                ..SuiteOutcome::default()
            });
            done.send(Done::Tested { id, root, project, file, outcome }).is_ok()
        }
    }
}
