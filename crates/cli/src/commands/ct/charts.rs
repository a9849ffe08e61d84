//! Which charts are processed, and the frame around what is done to them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use pintle::chart::IgnoreRules;
use pintle_semver::Version;
use pintle_tree::quote::quote;
use pintle_yaml::commented::{Document, Kind};

use super::{Action, Tested, Testing};
use crate::failure::Failure;
use crate::path::{base, clean, directory, join};

/// A chart in a folder.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) deprecated: bool,
    pub(super) maintainers: Vec<String>,
    /// `ci/*-values.yaml`, sorted.
    pub(super) values_files: Vec<String>,
}

impl fmt::Display for Chart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} => (version: \"{}\", path: \"{}\")", self.name, self.version, self.path)
    }
}

impl Chart {
    pub(super) fn read(path: &str) -> Result<Self, String> {
        let file = join(&[path, "Chart.yaml"]);
        let text = crate::read::file(&file, crate::read::MAX_SETTINGS)
            .map_err(|error| format!("could not read 'Chart.yaml': {}", opening(&file, &error)))?;
        let fields = Fields::read(&text)?;
        Ok(Chart {
            path: path.to_owned(),
            name: fields.text("name"),
            version: fields.text("version"),
            deprecated: fields.text("deprecated").eq_ignore_ascii_case("true"),
            maintainers: fields.maintainers(),
            values_files: values_files(path),
        })
    }

    /// The chart as Go quotes it.
    pub(super) fn quoted(&self) -> String {
        quote(self.to_string().as_bytes())
    }
}

/// The error of a file that cannot be opened, in Go's words.
pub(super) fn opening(file: &str, error: &std::io::Error) -> String {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    format!("open {file}: {reason}")
}

/// What go-yaml says about a text, without what the libraries above it add.
pub(super) fn of_go_yaml(error: &str) -> &str {
    error.find("yaml: ").map_or(error, |at| &error[at..])
}

/// A version of a chart, with the errors of the library that chart-testing has.
pub(super) fn semantic_version(text: &str) -> Result<Version, String> {
    Version::parse(text).map_err(|error| match error {
        pintle_semver::Error::InvalidVersion => {
            "failed parsing semantic version: Invalid Semantic Version".to_owned()
        }
        other => format!("failed parsing semantic version: {other}"),
    })
}

/// The fields of a Chart.yaml, with scalars as they are written: `1.10` is a version, and no number.
pub(super) struct Fields(Option<Document>);

impl Fields {
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        pintle_yaml::read_map(text)
            .and_then(|_| Document::read(text))
            .map(Fields)
            .map_err(|error| format!("could not unmarshal 'Chart.yaml': {}", of_go_yaml(&error.to_string())))
    }

    /// A scalar; empty if there is none.
    pub(super) fn text(&self, key: &str) -> String {
        self.0.as_ref().map(|document| scalar(document, document.root(), key)).unwrap_or_default()
    }

    fn maintainers(&self) -> Vec<String> {
        let Some(document) = &self.0 else { return Vec::new() };
        let list = value(document, document.root(), "maintainers");
        let items = list.map(|list| document.node(list).children.clone()).unwrap_or_default();
        items.into_iter().map(|item| scalar(document, resolved(document, item), "name")).collect()
    }
}

/// The node that an alias stands for.
fn resolved(document: &Document, number: usize) -> usize {
    match document.node(number).kind {
        Kind::Alias(target) => target,
        _ => number,
    }
}

fn value(document: &Document, map: usize, key: &str) -> Option<usize> {
    let map = document.node(map);
    let mut pairs = map.children.chunks_exact(2).filter(|_| map.kind == Kind::Mapping);
    pairs.find(|pair| document.node(pair[0]).value == key).map(|pair| resolved(document, pair[1]))
}

fn scalar(document: &Document, map: usize, key: &str) -> String {
    let node = value(document, map, key).map(|number| document.node(number));
    node.filter(|node| node.tag != "!!null").map(|node| node.value.clone()).unwrap_or_default()
}

fn values_files(path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(join(&[path, "ci"])).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<String> =
        names.filter(|name| name.ends_with("-values.yaml")).map(|name| join(&[path, "ci", &name])).collect();
    files.sort();
    files
}

impl Testing<'_, '_> {
    /// The folders of charts that the branch changes.
    pub(super) fn changed_charts(&mut self) -> Result<Vec<String>, Failure> {
        let config = std::sync::Arc::clone(&self.config);
        let base = self.merge_base().map_err(Failure::run_time)?;
        let files = self.changed_files(&base, &config.chart_dirs).map_err(Failure::run_time)?;
        let is_excluded = |name: &str| config.excluded_charts.iter().any(|excluded| excluded == name);
        let mut changed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in files {
            let mut parts = file.splitn(3, '/').skip(1);
            if parts.next().is_none_or(&is_excluded) {
                continue;
            }
            let folder = directory(&file);
            let Some(chart) = chart_folder(&config.chart_dirs, &folder) else {
                let folder = quote(folder.as_bytes());
                self.invocation
                    .ui
                    .note(&format!("Directory {folder} is not a valid chart directory. Skipping..."));
                continue;
            };
            if chart.rsplit_once('/').is_some_and(|(_, name)| is_excluded(name)) {
                continue;
            }
            let below = file.strip_prefix(&format!("{chart}/")).unwrap_or(&file).to_owned();
            changed.entry(chart).or_default().push(below);
        }
        if config.use_helmignore {
            for (chart, files) in &mut changed {
                let rules = crate::read::file(join(&[chart, ".helmignore"]), crate::read::MAX_SETTINGS)
                    .unwrap_or_default();
                let rules =
                    IgnoreRules::parse_plain(&rules).map_err(|error| Failure::run_time(error.to_string()))?;
                files.retain(|file| !is_ignored(&rules, file));
            }
            changed.retain(|_, files| !files.is_empty());
        }
        Ok(changed.into_keys().collect())
    }

    fn charts_to_process(&mut self) -> Result<Vec<String>, Failure> {
        let config = std::sync::Arc::clone(&self.config);
        if !config.all {
            return if config.charts.is_empty() { self.changed_charts() } else { Ok(config.charts.clone()) };
        }
        let mut found = Vec::new();
        for parent in &config.chart_dirs {
            let entries = std::fs::read_dir(parent).map_err(|error| {
                Failure::run_time(format!("failed reading chart directories: {}", opening(parent, &error)))
            })?;
            let mut folders: Vec<String> = entries
                .flatten()
                .map(|entry| join(&[parent, &entry.file_name().to_string_lossy()]))
                .filter(|folder| !config.excluded_charts.iter().any(|name| *name == base(folder)))
                .filter(|folder| chart_folder(&config.chart_dirs, folder).is_some())
                .collect();
            folders.sort();
            found.append(&mut folders);
        }
        Ok(found)
    }

    /// Builds dependencies and runs the action for each chart.
    pub(super) fn process_charts(&mut self, action: &Action) -> Result<Vec<Tested>, Failure> {
        let folders = self.charts_to_process().map_err(|failure| {
            Failure::run_time(format!("failed identifying charts to process: {}", failure.text))
        })?;
        let mut charts = Vec::new();
        for folder in &folders {
            let chart = Chart::read(folder).map_err(Failure::run_time)?;
            if self.config.exclude_deprecated && chart.deprecated {
                let text = "is deprecated and will be ignored because '--exclude-deprecated' is set";
                self.print(&format!("Chart {} {text}\n", chart.quoted()))?;
            } else {
                charts.push(chart);
            }
        }
        if folders.is_empty() {
            return Ok(Vec::new());
        }
        self.begin_section("Charts to be processed", " Charts to be processed:")?;
        for chart in &charts {
            self.print(&format!(" {chart}\n"))?;
        }
        self.end_section(true)?;
        self.add_repositories()?;
        self.add_previous(&charts)?;
        let mut results = Vec::new();
        for chart in charts {
            if !self.config.skip_helm_dependencies {
                let mut words = vec!["dependency".to_owned(), "build".to_owned(), chart.path.clone()];
                words.extend(self.config.helm_dependency_extra_args.iter().cloned());
                if let Err(error) = self.helm(words)? {
                    let text = format!("failed building dependencies for chart {}: {error}", chart.quoted());
                    return Err(Failure::run_time(text));
                }
            }
            let result = action(self, &chart)?;
            results.push((chart, result));
        }
        Ok(results)
    }

    fn add_repositories(&mut self) -> Result<(), Failure> {
        let config = std::sync::Arc::clone(&self.config);
        for repository in &config.chart_repos {
            let Some((name, url)) = repository.split_once('=') else {
                return Err(Failure::usage(format!("invalid repository `{repository}`: must be name=url")));
            };
            let extra = config.helm_repo_extra_args.iter().filter_map(|extra| extra.split_once('='));
            let extra =
                extra.filter(|(other, _)| *other == name).flat_map(|(_, words)| words.split_whitespace());
            let command = match url.strip_prefix("oci://") {
                Some(registry) => vec!["registry", "login", registry],
                None => vec!["repo", "add", name, url],
            };
            let words = command.into_iter().chain(extra).map(str::to_owned).collect();
            if let Err(error) = self.helm(words)? {
                return Err(Failure::run_time(format!("failed adding repo: {name}={url}: {error}")));
            }
        }
        Ok(())
    }

    pub(super) fn print_results(&mut self, results: &[Tested]) -> Result<(), Failure> {
        self.begin_section("Test Results", "")?;
        if results.is_empty() {
            self.print("No chart changes detected.\n")?;
        }
        for (chart, result) in results {
            let line = match result {
                Ok(()) => format!(" \u{2714}\u{fe0e} {chart}\n"),
                Err(error) => format!(" \u{2716}\u{fe0e} {chart} > {error}\n"),
            };
            self.print(&line)?;
        }
        self.end_section(false)
    }

    fn begin_section(&mut self, group: &str, title: &str) -> Result<(), Failure> {
        if self.config.github_groups {
            return self.print(&format!("::group::{group}\n"));
        }
        let line = "-".repeat(120);
        match title {
            "" => self.print(&format!("\n{line}\n")),
            title => self.print(&format!("\n{line}\n{title}\n{line}\n")),
        }
    }

    fn end_section(&mut self, empty_line: bool) -> Result<(), Failure> {
        if self.config.github_groups {
            return self.print("::endgroup::\n");
        }
        self.print(&format!("{}\n{}", "-".repeat(120), if empty_line { "\n" } else { "" }))
    }
}

/// The chart that a folder belongs to: the nearest one that is directly in a folder of charts.
fn chart_folder(chart_dirs: &[String], folder: &str) -> Option<String> {
    chart_dirs.iter().find_map(|parent| {
        let parent = clean(parent);
        let mut current = clean(folder);
        loop {
            if Path::new(&current).join("Chart.yaml").is_file() && directory(&current) == parent {
                return Some(current);
            }
            let above = directory(&current);
            if above == current || above == parent || above == "." || above == "/" {
                return None;
            }
            current = above;
        }
    })
}

fn is_ignored(rules: &IgnoreRules, file: &str) -> bool {
    let folders = file.match_indices('/').map(|(at, _)| &file[..at]);
    let mut folders = folders.filter(|folder| !folder.is_empty());
    rules.ignores(file, false) || folders.any(|folder| rules.ignores(folder, true))
}
