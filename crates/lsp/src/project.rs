//! A chart of the workspace with its subcharts, in folders and in archives, and the texts of unsaved documents over the files.

mod files;
mod load;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_gotmpl::Functions;
use pintle_gotmpl::syntax::SyntaxTree;
use pintle_tree::{Node, Str};

use crate::outline::Outline;
use crate::position::LineIndex;
use crate::scenario::ReadScenario;
pub use files::{DiskFile, read_chart_folder};
pub use load::{KnownTexts, Loader};

/// The number of a file of a project.
pub type FileId = usize;
/// The number of a chart in the tree of charts. The root is 0.
pub type Instance = u16;

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// values.yaml.
    Values,
    /// Other values: `values-*.yaml`, and `ci/*-values.yaml`.
    MoreValues,
    /// A template.
    Template,
    /// values.schema.json.
    Schema,
    /// Chart.yaml.
    ChartFile,
    /// A suite of helm-unittest.
    Suite,
    /// Anything else.
    Other,
}

/// A file of a project.
#[derive(Clone)]
pub struct ProjectFile {
    /// The index of its chart.
    pub chart: usize,
    /// Its name in the chart, as in `templates/a.yaml`.
    pub name: String,
    /// What it is for.
    pub kind: FileKind,
    /// Its address.
    pub uri: String,
    /// Its path; `None` in archives.
    pub path: Option<PathBuf>,
    /// Whether `.helmignore` keeps it out of the chart.
    pub ignored: bool,
    /// Its content, if that is not text.
    pub bytes: Option<Str>,
    /// Its text, and what is made of it.
    pub text: Arc<Text>,
}

/// A text and what is made of it.
pub struct Text {
    /// The text.
    pub text: String,
    /// A number that no other text has.
    pub number: u64,
    /// Its lines.
    pub lines: LineIndex,
    /// Its tree, if it is a template.
    pub tree: Option<SyntaxTree>,
    /// Its keys, if it is YAML.
    pub outline: Option<Outline>,
    /// Its content, if it is a schema.
    pub schema: Option<Node>,
    /// Whether it is too large to be analysed.
    pub too_large: bool,
}

/// The size up to which templates are analysed.
pub const MAX_TEMPLATE: usize = 1 << 20;
/// The depth up to which templates are analysed.
const MAX_NODES_DEEP: usize = 1000;
/// The size up to which values are analysed.
pub const MAX_VALUES: usize = 2 << 20;

impl Text {
    /// Reads a text as what a file of this kind contains.
    pub fn new(text: String, kind: FileKind, functions: &Functions, number: u64) -> Self {
        let lines = LineIndex::new(&text);
        let limit = if kind == FileKind::Template { MAX_TEMPLATE } else { MAX_VALUES };
        let tree = (kind == FileKind::Template).then(|| SyntaxTree::parse(text.as_str(), functions));
        // Templates are followed by recursion; nobody writes such a depth.
        let deep = tree.as_ref().is_some_and(|tree| tree.depth() > MAX_NODES_DEEP);
        let too_large = text.len() > limit || deep;
        let yaml = matches!(
            kind,
            FileKind::Values
                | FileKind::MoreValues
                | FileKind::ChartFile
                | FileKind::Suite
                | FileKind::Schema
        );
        let outline = (yaml && !too_large).then(|| Outline::read(&text));
        let schema =
            (kind == FileKind::Schema).then(|| pintle_tree::json::read(text.as_bytes()).ok()).flatten();
        Text { lines, tree, outline, schema, too_large, number, text }
    }
}

/// A chart: the source of one or more instances.
#[derive(Clone)]
pub struct ChartSource {
    /// Its name.
    pub name: String,
    /// Where it is, as in `web/charts/db`.
    pub path: String,
    /// Its folder; `None` in archives.
    pub folder: Option<PathBuf>,
    /// What Chart.yaml says about its dependencies.
    pub dependencies: Vec<Dependency>,
    /// Whether it is a library chart.
    pub is_library: bool,
    /// Its files.
    pub files: Vec<FileId>,
    /// Its subcharts.
    pub children: Vec<usize>,
}

/// A dependency in Chart.yaml.
#[derive(Clone, Debug, Default)]
pub struct Dependency {
    /// The name of the chart.
    pub name: String,
    /// The name that it gets here.
    pub alias: String,
    /// Where it is from.
    pub repository: String,
    /// The value that enables it.
    pub condition: String,
    /// What it brings into the values: path in the subchart, path here.
    pub imports: Vec<(Vec<String>, Vec<String>)>,
}

impl Dependency {
    /// The key of its values.
    pub fn key(&self) -> &str {
        if self.alias.is_empty() { &self.name } else { &self.alias }
    }
}

/// A chart in the tree: under an alias it is there several times.
#[derive(Clone)]
pub struct ChartInstance {
    /// The index of its chart.
    pub chart: usize,
    /// The key of its values in the chart above.
    pub key: String,
    /// The chart above.
    pub parent: Option<Instance>,
    /// Its subcharts.
    pub children: Vec<Instance>,
}

/// A chart with everything that belongs to it.
#[derive(Clone)]
pub struct Project {
    /// Its folder.
    pub root: PathBuf,
    /// The charts; the root is 0.
    pub charts: Vec<ChartSource>,
    /// The tree of charts; the root is 0.
    pub instances: Vec<ChartInstance>,
    /// All files.
    pub files: Vec<ProjectFile>,
    /// The files by address.
    pub by_uri: BTreeMap<String, FileId>,
    /// A number that changes when files come or go.
    pub structure: u64,
    /// The scenarios of the settings.
    pub configured: Vec<ReadScenario>,
}

/// The maximum nesting of charts.
const MAX_DEPTH: usize = 16;
/// The maximum number of charts in the tree.
const MAX_INSTANCES: usize = 2000;

/// What a file of a chart is for, by its name.
pub fn kind_of(name: &str) -> FileKind {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let is_yaml = file.ends_with(".yaml") || file.ends_with(".yml");
    match (folder, file) {
        _ if folder == "templates" || folder.starts_with("templates/") => FileKind::Template,
        ("", "values.yaml") => FileKind::Values,
        ("", "Chart.yaml" | "requirements.yaml") => FileKind::ChartFile,
        ("", "values.schema.json") => FileKind::Schema,
        ("", _) if is_yaml && file.starts_with("values") => FileKind::MoreValues,
        ("ci", _) if is_yaml && (file.ends_with("-values.yaml") || file == "values.yaml") => {
            FileKind::MoreValues
        }
        _ if is_yaml
            && (file.ends_with("_test.yaml") || file.ends_with("_test.yml"))
            && !folder.is_empty() =>
        {
            FileKind::Suite
        }
        _ => FileKind::Other,
    }
}

impl Project {
    fn instantiate(&mut self, chart: usize, parent: Option<Instance>, key: String, depth: usize) -> Instance {
        let id = self.instances.len() as Instance;
        self.instances.push(ChartInstance { chart, key, parent, children: Vec::new() });
        if depth >= MAX_DEPTH {
            return id;
        }
        let children = self.charts[chart].children.clone();
        for child in children {
            let name = self.charts[child].name.clone();
            let dependencies = &self.charts[chart].dependencies;
            let mut keys: Vec<String> = dependencies
                .iter()
                .filter(|dependency| dependency.name == name)
                .map(|dependency| dependency.key().to_owned())
                .collect();
            if keys.is_empty() {
                keys.push(name);
            }
            for key in keys {
                if self.instances.len() < MAX_INSTANCES {
                    let instance = self.instantiate(child, Some(id), key, depth + 1);
                    self.instances[id as usize].children.push(instance);
                }
            }
        }
        id
    }

    /// A file.
    pub fn file(&self, id: FileId) -> &ProjectFile {
        &self.files[id]
    }

    /// The chart of an instance.
    pub fn chart_of(&self, instance: Instance) -> &ChartSource {
        &self.charts[self.instances[instance as usize].chart]
    }

    /// Where a chart is in the tree.
    pub fn instances_of(&self, chart: usize) -> impl Iterator<Item = Instance> + '_ {
        let instances = self.instances.iter().enumerate();
        instances.filter(move |(_, instance)| instance.chart == chart).map(|(id, _)| id as Instance)
    }

    /// The subchart of an instance under a key.
    pub fn child(&self, instance: Instance, key: &str) -> Option<Instance> {
        let children = &self.instances[instance as usize].children;
        children.iter().copied().find(|child| self.instances[*child as usize].key == key)
    }

    /// Whether a chart has scripts, which may read and change anything.
    pub fn has_scripts(&self) -> bool {
        self.files.iter().any(|file| file.name.starts_with("ext/lua/") && file.name.ends_with(".lua"))
    }

    /// The file of a chart with a name.
    pub fn file_named(&self, chart: usize, name: &str) -> Option<FileId> {
        self.charts[chart].files.iter().copied().find(|file| self.files[*file].name == name)
    }

    /// The templates of all charts.
    pub fn templates(&self) -> impl Iterator<Item = FileId> + '_ {
        (0..self.files.len())
            .filter(|id| self.files[*id].kind == FileKind::Template && !self.files[*id].ignored)
    }

    /// Replaces the text of a file.
    pub fn set_text(&mut self, file: FileId, text: Arc<Text>) {
        self.files[file].text = text;
    }

    /// The files that the chart of this project is loaded from, with their texts as they are now.
    pub fn chart_files(&self) -> Vec<pintle::chart::File> {
        self.chart_files_of(0)
    }

    /// The files that one of the charts is loaded from.
    pub fn chart_files_of(&self, chart: usize) -> Vec<pintle::chart::File> {
        let mut files = Vec::new();
        self.add_files(chart, "", &|_| true, &mut files, 0);
        files
    }

    /// The same files without templates that do not parse, so that the others can be rendered.
    pub fn parsable_files(&self) -> Vec<pintle::chart::File> {
        let parses = |file: &ProjectFile| file.text.tree.as_ref().is_none_or(|tree| tree.errors().is_empty());
        let mut files = Vec::new();
        self.add_files(0, "", &parses, &mut files, 0);
        files
    }

    fn add_files(
        &self,
        chart: usize,
        prefix: &str,
        wanted: &dyn Fn(&ProjectFile) -> bool,
        into: &mut Vec<pintle::chart::File>,
        depth: usize,
    ) {
        let source = &self.charts[chart];
        let files = source.files.iter().map(|id| &self.files[*id]);
        for file in files.filter(|file| !file.ignored && wanted(file)) {
            let text = Str::from(file.text.text.trim_start_matches('\u{feff}'));
            let text = file.bytes.clone().unwrap_or(text);
            into.push(pintle::chart::File::new(format!("{prefix}{}", file.name), text));
        }
        if depth < MAX_DEPTH {
            for child in &source.children {
                // The folder of a chart may have another name than the chart.
                let folder = self.charts[*child].path.rsplit('/').next().unwrap_or_default();
                let folder = folder.strip_suffix(".tgz").unwrap_or(folder);
                let prefix = format!("{prefix}charts/{folder}/");
                self.add_files(*child, &prefix, wanted, into, depth + 1);
            }
        }
    }

    /// The path that errors and findings give a file, as in `web/charts/db/templates/a.yaml`.
    pub fn rendered_path(&self, file: FileId) -> Option<String> {
        let file = &self.files[file];
        let mut instance = self.instances_of(file.chart).next()?;
        let mut path = format!("/{}", file.name);
        loop {
            let node = &self.instances[instance as usize];
            match node.parent {
                Some(parent) => {
                    path = format!("/charts/{}{path}", node.key);
                    instance = parent;
                }
                None => return Some(format!("{}{path}", self.charts[0].name)),
            }
        }
    }

    /// The file that a path such as `web/charts/db/templates/a.yaml` means; also without the name of the root chart.
    pub fn by_rendered_path(&self, path: &str) -> Option<FileId> {
        let rest = path.strip_prefix(self.charts[0].name.as_str()).and_then(|rest| rest.strip_prefix('/'));
        let mut rest = rest.unwrap_or(path);
        let mut instance: Instance = 0;
        while let Some(inner) = rest.strip_prefix("charts/") {
            let (key, below) = inner.split_once('/')?;
            let by_name = || {
                let children = &self.instances[instance as usize].children;
                children.iter().copied().find(|child| self.chart_of(*child).name == key)
            };
            instance = self.child(instance, key).or_else(by_name)?;
            rest = below;
        }
        self.file_named(self.instances[instance as usize].chart, rest)
    }
}

/// The folder of the chart that a file belongs to: the nearest one with Chart.yaml, or the one around its `charts`.
pub fn chart_root(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let mut found = None;
    let inside = |folder: &Path| roots.is_empty() || roots.iter().any(|root| folder.starts_with(root));
    for folder in path.ancestors().skip(1).filter(|folder| inside(folder)) {
        if folder.join("Chart.yaml").is_file() {
            found = Some(folder.to_owned());
            let in_charts =
                folder.parent().is_some_and(|above| above.file_name().is_some_and(|name| name == "charts"));
            let above = folder.parent().and_then(Path::parent);
            if !(in_charts && above.is_some_and(|above| above.join("Chart.yaml").is_file() && inside(above)))
            {
                break;
            }
        }
    }
    found
}
