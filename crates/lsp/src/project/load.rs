//! Reads the charts of a project, with their subcharts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle::chart::metadata::Draft;
use pintle_gotmpl::Functions;
use pintle_tree::{Node, Str};

use super::files::{self, DiskFile, read_chart_folder};
use super::{ChartSource, Dependency, FileKind, MAX_DEPTH, Project, ProjectFile, Text, kind_of};

/// Finds a text that has been read before: by address, text, and what it is for.
pub type KnownTexts<'a> = dyn Fn(&str, &str, FileKind) -> Option<Arc<Text>> + 'a;

/// What a project is made of.
pub struct Loader<'a> {
    /// The functions that templates may call.
    pub functions: &'a Functions,
    /// The open documents that are files: addresses and paths.
    pub open: &'a [(String, PathBuf)],
    /// The texts of open documents, by address.
    pub overlay: &'a dyn Fn(&str) -> Option<String>,
    /// Texts that have been read before, by address.
    pub known: &'a KnownTexts<'a>,
    /// The folders below which files may be read.
    pub roots: &'a [PathBuf],
    /// The next number of a text.
    pub next: &'a mut u64,
}

impl Loader<'_> {
    /// Loads the chart in a folder.
    pub fn load(&mut self, root: &Path) -> Project {
        *self.next += 1;
        let mut project = Project {
            root: root.to_owned(),
            charts: Vec::new(),
            instances: Vec::new(),
            files: Vec::new(),
            by_uri: BTreeMap::new(),
            structure: *self.next,
            configured: Vec::new(),
        };
        let files = self.read(root);
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.chart(&mut project, files, Some(root.to_owned()), &name, 0);
        project.instantiate(0, None, String::new(), 0);
        project
    }

    /// The files of a folder, and the documents that will be there when they are saved.
    fn read(&self, folder: &Path) -> Vec<DiskFile> {
        let mut files = read_chart_folder(folder, self.roots);
        for (uri, path) in self.open {
            let Ok(name) = path.strip_prefix(folder) else { continue };
            if files.iter().all(|file| file.uri != *uri) {
                let name = name.to_string_lossy().replace('\\', "/");
                let path = Some(path.clone());
                files.push(DiskFile { name, uri: uri.clone(), path, ignored: false, data: Vec::new() });
            }
        }
        files
    }

    fn chart(
        &mut self,
        project: &mut Project,
        files: Vec<DiskFile>,
        folder: Option<PathBuf>,
        path: &str,
        depth: usize,
    ) -> usize {
        let chart = project.charts.len();
        project.charts.push(ChartSource {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            path: path.to_owned(),
            folder: folder.clone(),
            dependencies: Vec::new(),
            is_library: false,
            files: Vec::new(),
            children: Vec::new(),
        });
        let mut nested: BTreeMap<String, Vec<DiskFile>> = BTreeMap::new();
        for file in files {
            match file.name.strip_prefix("charts/").map(str::to_owned) {
                Some(inner) => {
                    let (name, rest) = inner.split_once('/').unwrap_or((inner.as_str(), ""));
                    let (name, rest) = (name.to_owned(), rest.to_owned());
                    nested.entry(name).or_default().push(DiskFile { name: rest, ..file });
                }
                None => self.file(project, chart, file),
            }
        }
        self.read_metadata(project, chart);
        if depth < MAX_DEPTH {
            self.subcharts(project, chart, nested, depth);
        }
        chart
    }

    fn file(&mut self, project: &mut Project, chart: usize, file: DiskFile) {
        let kind = kind_of(&file.name);
        // Files that are not text have no positions; templates read them as they are.
        let (text, bytes) = match ((self.overlay)(&file.uri), String::from_utf8(file.data)) {
            (Some(text), _) | (None, Ok(text)) => (text, None),
            (None, Err(error)) => (String::new(), Some(Str::from(error.into_bytes()))),
        };
        let text = (self.known)(&file.uri, &text, kind).unwrap_or_else(|| {
            *self.next += 1;
            Arc::new(Text::new(text, kind, self.functions, *self.next))
        });
        let id = project.files.len();
        project.by_uri.insert(file.uri.clone(), id);
        project.charts[chart].files.push(id);
        project.files.push(ProjectFile {
            chart,
            name: file.name,
            kind,
            uri: file.uri,
            path: file.path,
            ignored: file.ignored,
            bytes,
            text,
        });
    }

    fn read_metadata(&mut self, project: &mut Project, chart: usize) {
        let text = |name: &str| {
            let mut files = project.charts[chart].files.iter().map(|file| &project.files[*file]);
            files.find(|file| file.name == name).map(|file| file.text.text.clone())
        };
        let mut draft = Draft::default();
        // What is malformed is reported by linting; what can be read is used.
        let _ = draft.read_chart_file(text("Chart.yaml").unwrap_or_default().as_bytes());
        if let Some(requirements) = text("requirements.yaml") {
            let _ = draft.read_requirements(requirements.as_bytes());
        }
        let dependencies = draft.dependencies.iter().flatten().map(dependency).collect();
        let source = &mut project.charts[chart];
        if !draft.metadata.name.is_empty() {
            source.name = draft.metadata.name.clone();
        }
        source.is_library = draft.metadata.kind == "library";
        source.dependencies = dependencies;
    }

    fn subcharts(
        &mut self,
        project: &mut Project,
        chart: usize,
        nested: BTreeMap<String, Vec<DiskFile>>,
        depth: usize,
    ) {
        let path = project.charts[chart].path.clone();
        let folder = project.charts[chart].folder.clone();
        let mut children = Vec::new();
        for (name, mut files) in nested {
            if name.starts_with(['_', '.']) {
                continue;
            }
            let archive = name.ends_with(".tgz") && files.len() == 1 && files[0].name.is_empty();
            let (child_folder, child_files) = if archive {
                let Some(file) = files.pop() else { continue };
                (None, files::in_archive(&file))
            } else {
                (folder.as_ref().map(|folder| folder.join("charts").join(&name)), files)
            };
            // Without Chart.yaml it is no chart.
            if !child_files.iter().any(|file| file.name == "Chart.yaml") {
                continue;
            }
            let path = format!("{path}/charts/{name}");
            children.push(self.chart(project, child_files, child_folder, &path, depth + 1));
        }
        // A dependency from a folder of the workspace is edited there, so the folder counts rather than its copy.
        for dependency in project.charts[chart].dependencies.clone() {
            let Some(folder) = self.local_folder(folder.as_deref(), &dependency) else { continue };
            if folder == project.root
                || project.charts.iter().any(|known| known.folder.as_ref() == Some(&folder))
            {
                continue;
            }
            let files = self.read(&folder);
            if files.iter().any(|file| file.name == "Chart.yaml") {
                let path = format!("{path}/charts/{}", dependency.name);
                let child = self.chart(project, files, Some(folder), &path, depth + 1);
                let name = project.charts[child].name.clone();
                children.retain(|other: &usize| project.charts[*other].name != name);
                children.push(child);
            }
        }
        project.charts[chart].children = children;
    }

    fn local_folder(&self, chart: Option<&Path>, dependency: &Dependency) -> Option<PathBuf> {
        let relative = dependency.repository.strip_prefix("file://")?;
        let folder = std::fs::canonicalize(chart?.join(relative)).ok()?;
        self.roots.iter().any(|root| folder.starts_with(root)).then_some(folder)
    }
}

fn dependency(dependency: &pintle::chart::metadata::Dependency) -> Dependency {
    let keys = |path: &str| path.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
    let import = |node: &Node| match node {
        Node::Map(pair) => {
            let text = |key: &str| pair.get(key).and_then(Node::as_str);
            Some((keys(text("child")?), keys(text("parent")?)))
        }
        node => Some((keys(&format!("exports.{}", node.as_str()?)), Vec::new())),
    };
    Dependency {
        name: dependency.name.clone(),
        alias: dependency.alias.clone(),
        repository: dependency.repository.clone(),
        condition: dependency.condition.clone(),
        imports: dependency.import_values.iter().filter_map(import).collect(),
    }
}
