//! `docs`: READMEs of charts, from the comments in their values.

mod find;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use pintle_chart::path::clean;
use pintle_chart::{MAX_TEXT, read_limited, write_below};
use pintle_docs::{
    ChartFiles, ChartInfo, ChartText, DependencyValues, Options, SortOrder, Strictness, default_template,
    dependency_values,
};

use crate::input::go_error_text;
use crate::{Error, Result};

/// Which charts to document, and how.
#[derive(Clone, Debug)]
pub struct DocsRequest {
    /// The folder below which charts are searched.
    pub search_root: String,
    /// Only these charts, by their folders; all that are found if empty.
    pub charts: Vec<String>,
    /// The folder that relative paths start from.
    pub current_folder: PathBuf,
    /// The name of the ignore file, at the root of the git repository or in the current folder.
    pub ignore_file: String,
    /// The name of the README, relative to each chart.
    pub output_file: String,
    /// Template files: names in the folder of the chart, or paths.
    pub template_files: Vec<String>,
    /// The name of the values file.
    pub values_file: String,
    /// Whether the values of dependencies are documented too.
    pub document_dependencies: bool,
    /// Which values need comments.
    pub strictness: Option<Strictness>,
    /// The order of values.
    pub sort: SortOrder,
    /// The style of badges.
    pub badge_style: String,
    /// Whether values without comments are left out.
    pub only_described: bool,
    /// The version in the footer.
    pub helm_docs_version: String,
    /// Whether the default template leaves the footer out.
    pub skip_version_footer: bool,
}

impl Default for DocsRequest {
    fn default() -> Self {
        let Options { sort, badge_style, only_described, helm_docs_version, skip_version_footer, .. } =
            Options::default();
        DocsRequest {
            search_root: ".".to_owned(),
            charts: Vec::new(),
            current_folder: PathBuf::from("."),
            ignore_file: ".helmdocsignore".to_owned(),
            output_file: "README.md".to_owned(),
            template_files: vec!["README.md.gotmpl".to_owned()],
            values_file: "values.yaml".to_owned(),
            document_dependencies: false,
            strictness: None,
            sort,
            badge_style,
            only_described,
            helm_docs_version,
            skip_version_footer,
        }
    }
}

/// The README of one chart.
#[derive(Clone, Debug)]
pub struct DocumentedChart {
    /// The folder of the chart.
    pub directory: String,
    /// The path of the README.
    pub path: PathBuf,
    /// The text; up to the error, if the template failed.
    pub text: String,
    /// Why the template failed.
    pub error: Option<String>,
    /// Whether the file has this text already.
    pub current: bool,
    /// The folder of the chart, from where the program is.
    folder: PathBuf,
}

impl DocumentedChart {
    /// Writes the file atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self) -> Result<()> {
        // The name of the file is the user's and may lead elsewhere; what is below the chart is not.
        let (folder, name) = match self.path.strip_prefix(&self.folder) {
            Ok(name) if name.components().all(|part| matches!(part, Component::Normal(_))) => {
                (self.folder.as_path(), name)
            }
            _ => {
                let name = self.path.file_name().unwrap_or_default();
                (self.path.parent().unwrap_or(Path::new("")), Path::new(name))
            }
        };
        write_below(folder, name, self.text.as_bytes())
            .map_err(|error| Error::Input(go_error_text(&self.path, &error)))
    }
}

/// The READMEs of all charts, in the order of their folders.
#[derive(Clone, Debug, Default)]
pub struct Documented {
    /// The folders of all charts that were found.
    pub found: Vec<String>,
    /// The READMEs.
    pub charts: Vec<DocumentedChart>,
    /// Charts that could not be documented, and why.
    pub failures: Vec<(String, String)>,
    /// What is missing in READMEs.
    pub warnings: Vec<String>,
}

/// Renders the READMEs of charts. Nothing is written.
///
/// # Errors
/// When the folder cannot be searched, or the ignore file is invalid.
pub fn document(request: &DocsRequest) -> Result<Documented> {
    let mut documented = Documented::default();
    let ignored = find::IgnoreRules::read(&request.current_folder, &request.ignore_file)?;
    let root = request.current_folder.join(&request.search_root);
    let mut infos = BTreeMap::new();
    for below in find::chart_folders(&root, &ignored)? {
        let directory = clean(&format!("{}/{below}", request.search_root));
        match request.read(&directory) {
            Ok(info) => {
                infos.insert(directory.clone(), info);
            }
            Err(error) => documented.failures.push((directory.clone(), error)),
        }
        documented.found.push(below);
    }
    let wanted: Vec<String> = match request.charts.as_slice() {
        [] => infos.keys().cloned().collect(),
        charts => charts.iter().map(|chart| clean(chart)).collect(),
    };
    if !request.charts.is_empty() {
        documented.failures.retain(|(directory, _)| wanted.contains(directory));
    }
    for directory in wanted {
        let Some(info) = infos.get(&directory) else {
            if !documented.failures.iter().any(|(failed, _)| *failed == directory) {
                let text = format!("no chart was found there; found were: {}", documented.found.join(", "));
                documented.failures.push((directory, text));
            }
            continue;
        };
        let warnings = &mut documented.warnings;
        match request.document_one(info, &infos, warnings) {
            Ok(chart) => documented.charts.push(chart),
            Err(error) => documented.failures.push((directory, error)),
        }
    }
    Ok(documented)
}

impl DocsRequest {
    fn read(&self, directory: &str) -> Result<ChartInfo, String> {
        let folder = self.current_folder.join(directory);
        let file = |name: &str| {
            let path = folder.join(name);
            read_limited(&path, MAX_TEXT)
                .map_err(|error| go_error_text(&Path::new(directory).join(name), &error))
        };
        let (chart, values) = (file("Chart.yaml")?, file(&self.values_file)?);
        let requirements = file("requirements.yaml").ok();
        let text = ChartText { chart: &chart, requirements: requirements.as_deref(), values: &values };
        ChartInfo::parse(directory, &text, self.strictness.as_ref()).map_err(|error| error.to_string())
    }

    fn document_one(
        &self,
        info: &ChartInfo,
        infos: &BTreeMap<String, ChartInfo>,
        warnings: &mut Vec<String>,
    ) -> Result<DocumentedChart, String> {
        let join = |folder: &str, below: &str| clean(&format!("{folder}/{below}"));
        let dependencies: Vec<DependencyValues<'_>> = match self.document_dependencies {
            true => dependency_values(info, infos, &join, &mut |warning| warnings.push(warning)),
            false => Vec::new(),
        };
        let options = Options {
            template: self.template(&info.directory)?,
            sort: self.sort,
            badge_style: self.badge_style.clone(),
            only_described: self.only_described,
            helm_docs_version: self.helm_docs_version.clone(),
            skip_version_footer: self.skip_version_footer,
        };
        let files = FolderFiles { folder: self.current_folder.clone(), chart: info.directory.clone() };
        let readme = pintle_docs::render(info, &dependencies, &options, Rc::new(files))
            .map_err(|error| error.to_string())?;
        let folder = self.current_folder.join(&info.directory);
        let path = folder.join(&self.output_file);
        let current = read_limited(&path, MAX_TEXT).is_ok_and(|text| text == readme.text.as_bytes());
        Ok(DocumentedChart {
            directory: info.directory.clone(),
            path,
            text: readme.text,
            error: readme.error,
            current,
            folder,
        })
    }

    /// The texts of all template files that exist, one after the other; the default one too if any does not.
    fn template(&self, directory: &str) -> Result<String, String> {
        let mut template = String::new();
        let mut missing = false;
        for file in &self.template_files {
            let is_name = !file.contains('/');
            let path = match file {
                file if is_name => format!("{directory}/{file}"),
                file if file.starts_with('.') => format!("{}/{file}", self.search_root),
                file => file.clone(),
            };
            match read_limited(self.current_folder.join(&path), MAX_TEXT) {
                Ok(text) => template.push_str(&String::from_utf8_lossy(&text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing = true,
                Err(error) => return Err(go_error_text(Path::new(&path), &error)),
            }
        }
        // As helm-docs does: any missing template file brings in the default one, at the end of those that exist.
        if missing {
            template.push_str(default_template());
        }
        Ok(template)
    }
}

/// The files below the folder of a chart.
struct FolderFiles {
    folder: PathBuf,
    chart: String,
}

impl ChartFiles for FolderFiles {
    fn paths(&self) -> Vec<String> {
        let below = find::files(&self.folder.join(&self.chart));
        below.iter().map(|path| self.join(path)).collect()
    }

    fn read(&self, path: &str) -> Vec<u8> {
        read_limited(self.folder.join(path), MAX_TEXT).unwrap_or_default()
    }

    fn join(&self, below: &str) -> String {
        clean(&format!("{}/{below}", self.chart))
    }
}
