//! Open documents, projects, and their analyses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use pintle_gotmpl::Functions;
use serde_json::Value;

use super::documents::SentTokens;
use super::previews::Rendered;
use super::{Settings, worker};
use crate::analysis::{Analysis, Memory};
use crate::position::{Encoding, LineIndex};
use crate::preview::Deeds;
use crate::project::{FileId, FileKind, Loader, Project, Text, chart_root, kind_of};
use crate::uri;

/// An open document.
pub(super) struct Document {
    pub(super) version: i64,
    pub(super) text: String,
}

/// A project and what is known about it.
#[derive(Default)]
struct ProjectState {
    analysis: Option<Analysis>,
    /// The project, while its analysis is out of date.
    project: Option<Arc<Project>>,
    memory: Memory,
}

/// The server without its connection: what tests call directly.
pub struct Server {
    pub(super) encoding: Encoding,
    pub(super) roots: Vec<PathBuf>,
    pub(super) documents: BTreeMap<String, Document>,
    projects: BTreeMap<PathBuf, ProjectState>,
    pub(super) functions: Functions,
    next: u64,
    /// Projects whose diagnostics are out of date.
    pub(super) outdated: BTreeSet<PathBuf>,
    pub(super) settings: Settings,
    /// The scenarios that were chosen, by project.
    pub(super) chosen: BTreeMap<PathBuf, String>,
    /// Rendered documents that clients have asked for, by address.
    pub(super) previews: BTreeMap<String, Rendered>,
    /// What the templates of projects did when they were last rendered.
    pub(super) deeds: BTreeMap<PathBuf, (Arc<Project>, BTreeMap<FileId, Deeds>)>,
    /// The last results of suites, by address, and what the suites of charts cover.
    pub(super) tested: BTreeMap<String, worker::Tested>,
    /// The tokens that clients have, by address.
    pub(super) tokens: BTreeMap<String, SentTokens>,
}

/// The maximum number of projects that are kept; those without open documents are dropped first.
const MAX_PROJECTS: usize = 12;

impl Server {
    /// Returns a server for folders of a workspace.
    pub fn new(roots: Vec<PathBuf>, encoding: Encoding) -> Self {
        let roots = roots.into_iter().map(|root| std::fs::canonicalize(&root).unwrap_or(root)).collect();
        Server {
            encoding,
            roots,
            documents: BTreeMap::new(),
            projects: BTreeMap::new(),
            functions: pintle::render::functions(),
            next: 0,
            outdated: BTreeSet::new(),
            settings: Settings::default(),
            chosen: BTreeMap::new(),
            previews: BTreeMap::new(),
            deeds: BTreeMap::new(),
            tested: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// Applies what users have set. Charts are read again, because scenarios belong to them.
    pub fn configure(&mut self, settings: Settings) {
        if settings != self.settings {
            self.settings = settings;
            for root in std::mem::take(&mut self.projects).into_keys() {
                self.outdated.insert(root);
            }
        }
    }

    /// Whether the chart in a folder may be read: it is there already, or in the workspace.
    pub(super) fn may_load(&self, root: &std::path::Path) -> bool {
        let climbs = root.components().any(|part| part == std::path::Component::ParentDir);
        self.projects.contains_key(root)
            || !climbs && self.roots.iter().any(|allowed| root.starts_with(allowed))
    }

    /// What the templates of a project did when it was last rendered, if it has not changed since.
    pub(super) fn deeds_of(
        &self,
        root: &PathBuf,
        project: &Arc<Project>,
    ) -> Option<&BTreeMap<FileId, Deeds>> {
        let (rendered, deeds) = self.deeds.get(root)?;
        Arc::ptr_eq(rendered, project).then_some(deeds)
    }

    // Documents.

    /// A document is open in the editor.
    pub fn open(&mut self, uri: &str, version: i64, text: String) {
        let uri = uri::normalized(uri);
        self.documents.insert(uri.clone(), Document { version, text });
        self.changed(&uri);
    }

    /// Changes a document. `changes` are those of the protocol. Older versions than the known one are ignored.
    pub fn change(&mut self, uri: &str, version: i64, changes: &[Value]) {
        let uri = uri::normalized(uri);
        let encoding = self.encoding;
        let Some(document) = self.documents.get_mut(&uri) else { return };
        if version < document.version {
            return;
        }
        document.version = version;
        for change in changes {
            let new = change["text"].as_str().unwrap_or_default();
            let Some(range) = change.get("range").filter(|range| range.is_object()) else {
                new.clone_into(&mut document.text);
                continue;
            };
            let lines = LineIndex::new(&document.text);
            let offset = |position: &Value| {
                let part = |key: &str| position[key].as_u64().unwrap_or(0) as usize;
                lines.offset(&document.text, part("line"), part("character"), encoding)
            };
            let (start, end) = (offset(&range["start"]), offset(&range["end"]));
            document.text.replace_range(start.min(end)..end.max(start), new);
        }
        self.changed(&uri);
    }

    /// A document is no longer open: the file counts again.
    pub fn close(&mut self, uri: &str) {
        let uri = uri::normalized(uri);
        self.documents.remove(&uri);
        self.tokens.remove(&uri);
        self.reload_with(&uri);
    }

    /// A file has changed on disk, appeared or gone.
    pub fn file_changed(&mut self, uri: &str) {
        let uri = uri::normalized(uri);
        self.reload_with(&uri);
    }

    /// Forgets projects that a file belongs to, so that they are read again.
    fn reload_with(&mut self, uri: &str) {
        let Some(path) = uri::to_path(uri) else { return };
        let keys: Vec<PathBuf> = self.projects.keys().cloned().collect();
        for root in keys {
            let has = self
                .projects
                .get(&root)
                .and_then(|state| state.project())
                .is_some_and(|project| project.by_uri.contains_key(uri));
            let reads = self.project_reads(&root, &path);
            if has || reads || path.starts_with(&root) {
                self.projects.remove(&root);
                self.outdated.insert(root);
            }
        }
        if let Some(root) = chart_root(&path, &self.roots) {
            self.outdated.insert(root);
        }
    }

    /// Whether a scenario of a project has a file.
    fn project_reads(&self, root: &PathBuf, path: &std::path::Path) -> bool {
        let project = self.projects.get(root).and_then(ProjectState::project);
        project.is_some_and(|project| {
            project.configured.iter().any(|scenario| scenario.paths.iter().any(|known| known == path))
        })
    }

    /// The text of an open document has changed.
    fn changed(&mut self, uri: &str) {
        let Some(text) = self.documents.get(uri).map(|document| document.text.clone()) else { return };
        let roots: Vec<PathBuf> = self.projects.keys().cloned().collect();
        let path = uri::to_path(uri);
        let mut known = false;
        for root in roots {
            if path.as_ref().is_some_and(|path| self.project_reads(&root, path)) {
                self.projects.remove(&root);
                self.outdated.insert(root);
                continue;
            }
            let Some(state) = self.projects.get_mut(&root) else { continue };
            let Some(file) = state.project().and_then(|project| project.by_uri.get(uri).copied()) else {
                continue;
            };
            known = true;
            let Some(mut project) = state.take_project() else { continue };
            let kind = project.file(file).kind;
            if project.file(file).text.text == text {
                state.project = Some(project);
                continue;
            }
            self.next += 1;
            let new = Arc::new(Text::new(text.clone(), kind, &self.functions, self.next));
            Arc::make_mut(&mut project).set_text(file, new);
            // What Chart.yaml says about dependencies decides what belongs to the project.
            if kind == FileKind::ChartFile || project.file(file).name == ".helmignore" {
                self.projects.remove(&root);
            } else {
                state.project = Some(project);
            }
            self.outdated.insert(root);
        }
        if !known && let Some(root) = uri::to_path(uri).and_then(|path| chart_root(&path, &self.roots)) {
            self.projects.remove(&root);
            self.outdated.insert(root);
        }
    }

    // Projects.

    /// The projects that a document belongs to; the outermost one first.
    pub(super) fn roots_of(&mut self, uri: &str) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = Vec::new();
        if let Some(root) = uri::to_path(uri).and_then(|path| chart_root(&path, &self.roots)) {
            self.load(&root);
            roots.push(root);
        }
        for (root, state) in &self.projects {
            let has = state.project().is_some_and(|project| project.by_uri.contains_key(uri));
            if has && !roots.contains(root) {
                roots.push(root.clone());
            }
        }
        roots
    }

    fn load(&mut self, root: &PathBuf) {
        if self.projects.contains_key(root) {
            return;
        }
        if self.projects.len() >= MAX_PROJECTS {
            let open = |state: &ProjectState| {
                state
                    .project()
                    .is_some_and(|project| self.documents.keys().any(|uri| project.by_uri.contains_key(uri)))
            };
            let unused = self.projects.iter().find(|(_, state)| !open(state)).map(|(root, _)| root.clone());
            let dropped = unused.or_else(|| self.projects.keys().next().cloned());
            dropped.map(|root| self.projects.remove(&root));
        }
        let documents = &self.documents;
        let open: Vec<(String, PathBuf)> =
            documents.keys().filter_map(|uri| Some((uri.clone(), uri::to_path(uri)?))).collect();
        let overlay = |uri: &str| documents.get(uri).map(|document| document.text.clone());
        let projects = &self.projects;
        let known = |uri: &str, text: &str, kind: FileKind| {
            let mut states = projects.values().filter_map(ProjectState::project);
            states.find_map(|project| {
                let file = project.file(*project.by_uri.get(uri)?);
                (file.kind == kind && file.text.text == text).then(|| Arc::clone(&file.text))
            })
        };
        let mut next = self.next;
        let mut loader = Loader {
            functions: &self.functions,
            open: &open,
            overlay: &overlay,
            known: &known,
            roots: &self.roots,
            next: &mut next,
        };
        let mut project = loader.load(root);
        self.next = next;
        let open = |path: &std::path::Path| {
            documents.get(&uri::from_path(path)).map(|document| document.text.clone())
        };
        let configured = self.settings.scenarios.iter();
        project.configured = configured.map(|scenario| scenario.read(root, &self.roots, &open)).collect();
        self.projects.insert(
            root.clone(),
            ProjectState { project: Some(Arc::new(project)), ..ProjectState::default() },
        );
    }

    /// The analysis of a project, up to date.
    pub(super) fn analysis(&mut self, root: &PathBuf) -> Option<&Analysis> {
        self.load(root);
        let state = self.projects.get_mut(root)?;
        if state.analysis.is_none() {
            let project = state.project.take()?;
            let memory = std::mem::take(&mut state.memory);
            state.analysis = Some(Analysis::new(project, memory));
        }
        state.analysis.as_ref()
    }

    /// The project in a folder.
    pub fn project_at(&mut self, root: &std::path::Path) -> Option<Arc<Project>> {
        self.project(&root.to_owned())
    }

    /// The analysis of the project in a folder.
    pub fn analysis_at(&mut self, root: &std::path::Path) -> Option<&Analysis> {
        self.analysis(&root.to_owned())
    }

    /// The project itself, without an analysis.
    pub(super) fn project(&mut self, root: &PathBuf) -> Option<Arc<Project>> {
        self.load(root);
        let state = self.projects.get(root)?;
        state
            .analysis
            .as_ref()
            .map(|analysis| Arc::clone(&analysis.project))
            .or_else(|| state.project.clone())
    }

    /// The analyses that a document belongs to, and its file in each.
    pub(super) fn places_of(&mut self, uri: &str) -> Vec<(PathBuf, FileId)> {
        let uri = uri::normalized(uri);
        let roots = self.roots_of(&uri);
        let file_of = |server: &mut Server, root: &PathBuf| {
            server.project(root).and_then(|project| project.by_uri.get(&uri).copied())
        };
        roots.into_iter().filter_map(|root| file_of(self, &root).map(|file| (root, file))).collect()
    }

    /// All charts below the folders of the workspace.
    pub fn discover(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for root in &self.roots {
            discover_below(root, 0, &mut found);
        }
        found
    }

    /// What a document would be in a chart, by its address.
    pub fn kind_of_document(&self, uri: &str) -> Option<FileKind> {
        let path = uri::to_path(uri)?;
        let root = chart_root(&path, &self.roots)?;
        Some(kind_of(&path.strip_prefix(root).ok()?.to_string_lossy()))
    }
}

/// The maximum number of charts of a workspace that are found.
const MAX_CHARTS: usize = 500;

fn discover_below(folder: &std::path::Path, depth: usize, into: &mut Vec<PathBuf>) {
    if into.len() >= MAX_CHARTS || depth > 6 {
        return;
    }
    if folder.join("Chart.yaml").is_file() {
        into.push(folder.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| {
            !entry.file_name().to_string_lossy().starts_with('.') && entry.file_name() != "node_modules"
        })
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    for folder in folders {
        discover_below(&folder, depth + 1, into);
    }
}

impl ProjectState {
    fn project(&self) -> Option<&Arc<Project>> {
        self.analysis.as_ref().map(|analysis| &analysis.project).or(self.project.as_ref())
    }

    /// Takes the project out; its analysis is out of date then.
    fn take_project(&mut self) -> Option<Arc<Project>> {
        if let Some(analysis) = self.analysis.take() {
            let project = Arc::clone(&analysis.project);
            self.memory = analysis.into_memory();
            return Some(project);
        }
        self.project.take()
    }
}
