//! `preview`: what a change of a git repository means for the objects of its clusters, and why.

mod causes;
mod charts;
mod compare;
mod dangers;
mod render;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pintle_gitops::{AppId, Note, NoteKind, Settings, Snapshot};
use pintle_objects::parallel_map;
use pintle_render::{Capabilities, KubeVersion};

use crate::{OfflineSession, Result};

pub use charts::{ChartFetcher, FetchedArchive, RemoteCharts, host_of};
pub use compare::{FieldChange, ObjectChange, ObjectChangeKind};
pub use report::{
    AppChange, AppStatus, Cause, CauseKind, CheckFinding, Danger, DangerKind, PreviewReport, UpgradeNote,
};

use render::{RenderedApp, Renders, Side};

/// What to compare.
#[derive(Clone)]
pub struct PreviewRequest {
    /// The files before.
    pub base: Arc<Snapshot>,
    /// The files after.
    pub head: Arc<Snapshot>,
    /// What the repository does not say about itself. It has to come from the base or from the user.
    pub settings: Settings,
    /// Only apps whose text has one of these in it; all if empty.
    pub only: Vec<String>,
    /// No apps whose text has one of these in it.
    pub skip: Vec<String>,
    /// Only apps of these clusters; all if empty.
    pub clusters: Vec<String>,
    /// The Kubernetes version to render for.
    pub kube_version: Option<KubeVersion>,
    /// API versions in addition to the built-in ones.
    pub api_versions: Vec<String>,
    /// Fetches charts that are not in the repository.
    pub charts: Arc<dyn ChartFetcher>,
    /// Whether objects are checked.
    pub check: bool,
    /// Whether values are checked against new versions of charts.
    pub upgrade_check: bool,
    /// Whether changed apps are rehearsed.
    pub rehearse: bool,
}

/// The most rounds of finding apps in what apps render.
const MAX_ROUNDS: usize = 50;

/// Renders both sides and compares them. Nothing that the repository names is run.
///
/// # Errors
/// When the rehearsal cannot be started. Apps that cannot be rendered are part of the report.
pub fn preview(session: &OfflineSession, request: &PreviewRequest) -> Result<PreviewReport> {
    let renders = Renders::new(request.charts.clone(), capabilities(request));
    let mut sides = [&request.base, &request.head].map(|files| side(files, request, &renders));
    add_api_versions(&mut sides, &renders);
    let [base, head] = sides;
    let mut report = PreviewReport { rendered: head.apps.len(), ..PreviewReport::default() };
    add_notes(&base.notes, &head.notes, &mut report);
    let pairs = pairs(base.apps, head.apps);
    let changes = parallel_map(&pairs, 1, |_| 1, |pair| report::change(session, request, &renders, pair));
    for change in changes {
        report.add(change);
    }
    report.settle();
    Ok(report)
}

/// The apps of one side, without rendering what is not needed for finding them.
///
/// # Errors
/// None; apps that cannot be rendered say so.
pub fn preview_list(request: &PreviewRequest) -> (Vec<(AppId, String)>, Vec<Note>) {
    let renders = Renders::new(request.charts.clone(), capabilities(request));
    let side = side(&request.head, request, &renders);
    let apps = side.apps.iter().map(|rendered| (rendered.app.id.clone(), rendered.describe()));
    (apps.collect(), side.notes)
}

fn capabilities(request: &PreviewRequest) -> Capabilities {
    let mut capabilities = Capabilities::default().with_api_versions(&request.api_versions);
    if let Some(version) = &request.kube_version {
        capabilities.kube_version = version.clone();
    }
    capabilities
}

fn side(files: &Arc<Snapshot>, request: &PreviewRequest, renders: &Renders) -> Side {
    let mut discovery = pintle_gitops::Discovery::new(files, &request.settings);
    let mut apps = Vec::new();
    let mut notes = Vec::new();
    for round in 0.. {
        let found = discovery.take();
        if found.is_empty() {
            break;
        }
        if round == MAX_ROUNDS {
            let text = format!("apps make apps more than {MAX_ROUNDS} times; the rest is left out");
            notes.push(Note::new(NoteKind::Failed, None, text));
            break;
        }
        let rendered = parallel_map(&found, 1, |_| 1, |app| renders.render(files, app, &[]));
        for rendered in rendered {
            if rendered.is_chart() {
                discovery.add_rendered(&rendered.app.id, rendered.described());
            }
            apps.push(rendered);
        }
    }
    notes.extend(discovery.notes());
    let mut side = Side { files: Arc::clone(files), apps, notes };
    side.apps.retain(|rendered| is_chosen(&rendered.app.id, request));
    side.apps.sort_by(|a, b| a.app.id.cmp(&b.app.id));
    side
}

fn is_chosen(id: &AppId, request: &PreviewRequest) -> bool {
    let text = id.to_string();
    let matches = |words: &[String]| words.iter().any(|word| text.contains(word.as_str()));
    (request.only.is_empty() || matches(&request.only))
        && !matches(&request.skip)
        && (request.clusters.is_empty() || request.clusters.contains(&id.cluster))
}

/// Renders charts again that look at the API versions of the cluster, if apps of the cluster bring some.
fn add_api_versions(sides: &mut [Side; 2], renders: &Renders) {
    for side in sides {
        let mut by_cluster: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for rendered in &side.apps {
            by_cluster.entry(rendered.app.id.cluster.clone()).or_default().extend(rendered.crd_versions());
        }
        let files = Arc::clone(&side.files);
        let again = |rendered: &RenderedApp| -> Option<RenderedApp> {
            let versions =
                by_cluster.get(&rendered.app.id.cluster).filter(|versions| !versions.is_empty())?;
            if !rendered.reads_api_versions() {
                return None;
            }
            let versions: Vec<String> = versions.iter().cloned().collect();
            Some(renders.render(&files, &rendered.app, &versions))
        };
        let changed = parallel_map(&side.apps, 1, |_| 1, again);
        for (rendered, changed) in side.apps.iter_mut().zip(changed) {
            if let Some(changed) = changed {
                *rendered = changed;
            }
        }
    }
}

/// One app on both sides; at least one of them has it.
pub(crate) struct Pair {
    pub(crate) base: Option<RenderedApp>,
    pub(crate) head: Option<RenderedApp>,
}

impl Pair {
    /// The app, of the head if it is there.
    pub(crate) fn any(&self) -> &RenderedApp {
        self.head.as_ref().or(self.base.as_ref()).expect("a pair is made from an app")
    }
}

fn pairs(base: Vec<RenderedApp>, head: Vec<RenderedApp>) -> Vec<Pair> {
    let mut pairs: BTreeMap<AppId, Pair> = BTreeMap::new();
    for rendered in base {
        pairs.insert(rendered.app.id.clone(), Pair { base: Some(rendered), head: None });
    }
    for rendered in head {
        match pairs.get_mut(&rendered.app.id) {
            Some(pair) => pair.head = Some(rendered),
            None => drop(pairs.insert(rendered.app.id.clone(), Pair { base: None, head: Some(rendered) })),
        }
    }
    pairs.into_values().collect()
}

fn add_notes(base: &[Note], head: &[Note], report: &mut PreviewReport) {
    let same = |note: &Note, other: &Note| note.text == other.text && note.kind == other.kind;
    for note in head {
        let is_new = !base.iter().any(|other| same(note, other));
        report.notes.push((is_new, note.clone()));
    }
    report.notes.sort_by_key(|(is_new, note)| (!is_new, std::cmp::Reverse(note.kind)));
}
