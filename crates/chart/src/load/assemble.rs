//! Assembles a chart from its files; folders and archives below `charts/` become subcharts.

use std::collections::BTreeMap;

use super::archive::{Budget, read_archive_within};
use crate::error::{Error, Result};
use crate::metadata::{Draft, Lock, OBJECT_V3, V1, V3};
use crate::path::extension;
use crate::{Chart, File};
use pintle_tree::{LogLevel, LogLine};

/// The maximum nesting of subcharts. Assembling recurses, and only a hostile chart nests deeper.
const MAX_DEPTH: usize = 64;

/// Assembles a chart with all its subcharts.
pub(super) struct Assembler<'a> {
    log: &'a mut Vec<LogLine>,
    depth: usize,
    /// The remaining decompressed size of nested archives.
    budget: Budget,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(log: &'a mut Vec<LogLine>) -> Self {
        Assembler { log, depth: 0, budget: Budget::nested() }
    }

    /// With what is left of a budget.
    pub(super) fn within(budget: Budget, log: &'a mut Vec<LogLine>) -> Self {
        Assembler { log, depth: 0, budget }
    }

    /// Whether the budget was too small.
    pub(super) fn is_exceeded(&self) -> bool {
        self.budget.is_exceeded()
    }

    /// Assembles one chart.
    pub(super) fn chart(&mut self, files: Vec<File>) -> Result<Chart> {
        let mut chart = Chart::default();
        let mut draft = chart_file(&files)?;
        let mut subcharts = Folders::default();
        let mut libraries = Folders::default();
        // Contents are shared, so this copies names only.
        chart.raw = files.clone();
        for file in files {
            if let Some(inner) = file.name.strip_prefix("charts/") {
                // Signatures of subcharts belong to the chart that holds them.
                if extension(inner) == ".prov" {
                    chart.files.push(file);
                } else {
                    subcharts.add(inner.to_owned(), file);
                }
                continue;
            }
            self.add_file(file, &mut chart, &mut draft, &mut libraries)?;
        }
        chart.metadata = draft.ok_or(Error::NoChartFile)?.validate()?;
        chart.subcharts = self.nested(subcharts, &chart)?;
        // Helm does not know `library/`, so it counts only for charts that request libraries, themselves or in subcharts,
        // whose libraries are fetched into the root chart.
        if chart.metadata.api_version == OBJECT_V3 || requests_libraries(&chart) {
            chart.libraries = self.nested(libraries, &chart)?;
        }
        Ok(chart)
    }

    /// Adds one file to the field it belongs to.
    fn add_file(
        &mut self,
        file: File,
        chart: &mut Chart,
        draft: &mut Option<Draft>,
        libraries: &mut Folders,
    ) -> Result<()> {
        // Helm's own v3 charts have no requirements.yaml.
        let legacy = draft.as_ref().is_none_or(|draft| draft.metadata.api_version != V3);
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => chart.lock = Lock::read(&file.data, "Chart.lock")?,
            "values.yaml" => {
                chart.values = pintle_yaml::read_values(&file.data).map_err(|error| Error::File {
                    file: "values.yaml",
                    line: error.line(),
                    reason: error.to_string(),
                })?;
            }
            "values.schema.json" => chart.schema = Some(file.data.text()),
            "requirements.yaml" if legacy => {
                let draft = draft.get_or_insert_default();
                if !lists_only_libraries(&file.data.text()) {
                    self.warn_legacy(draft, DEPENDENCIES_REMARK);
                }
                draft.read_requirements(&file.data)?;
                if has_requirements_file(draft) {
                    chart.files.push(file);
                }
            }
            "requirements.lock" if legacy => {
                chart.lock = Lock::read(&file.data, "requirements.lock")?;
                let draft = draft.get_or_insert_default();
                self.warn_legacy(draft, LOCK_REMARK);
                if has_requirements_file(draft) {
                    chart.files.push(file);
                }
            }
            name if name.starts_with("templates/") => chart.templates.push(file),
            name => {
                if name == "values.schema.yaml" {
                    chart.schema_yaml = Some(file.data.text());
                }
                if let Some(inner) = name.strip_prefix("library/") {
                    libraries.add(inner.to_owned(), file.clone());
                }
                chart.files.push(file);
            }
        }
        Ok(())
    }

    fn warn_legacy(&mut self, draft: &Draft, remark: &'static str) {
        if !has_requirements_file(draft) {
            self.log.push(LogLine { level: LogLevel::Info, message: remark.into(), attributes: Vec::new() });
        }
    }

    /// The charts of a folder such as `charts/`, by name.
    fn nested(&mut self, folders: Folders, parent: &Chart) -> Result<Vec<Chart>> {
        let mut charts = Vec::with_capacity(folders.0.len());
        for (name, files) in folders.0 {
            // Helm skips these folders in `charts/`.
            if name.starts_with(['_', '.']) {
                continue;
            }
            let wrap = |source| Error::Subchart {
                name: name.clone(),
                parent: parent.name().to_owned(),
                source: Box::new(source),
            };
            let files = if extension(&name) == ".tgz" {
                self.unpack(&name, files, parent)?.map_err(|error| wrap(error.into()))?
            } else {
                inside(files)
            };
            if self.depth == MAX_DEPTH {
                return Err(Error::TooDeep(MAX_DEPTH));
            }
            self.depth += 1;
            charts.push(self.chart(files).map_err(wrap)?);
            self.depth -= 1;
        }
        Ok(charts)
    }

    /// The files of an archive inside the chart.
    fn unpack(
        &mut self,
        name: &str,
        files: Vec<File>,
        parent: &Chart,
    ) -> Result<std::result::Result<Vec<File>, crate::error::ArchiveError>> {
        match files.into_iter().next() {
            Some(file) if file.name == name => Ok(read_archive_within(&file.data.text(), &mut self.budget)),
            other => Err(Error::FolderNamedAsArchive {
                parent: parent.name().to_owned(),
                expected: name.to_owned(),
                found: other.map(|file| file.name).unwrap_or_default(),
            }),
        }
    }
}

const DEPENDENCIES_REMARK: &str = "Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating dependencies to Chart.yaml.";
const LOCK_REMARK: &str = "Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend migrating to Chart.lock.";

/// Whether a chart or any of its subcharts requests libraries.
fn requests_libraries(chart: &Chart) -> bool {
    !chart.metadata.libraries.is_empty() || chart.subcharts.iter().any(requests_libraries)
}

/// Whether a requirements.yaml has libraries and nothing else. Chart.yaml has no place for them, so there is nothing to
/// migrate.
fn lists_only_libraries(text: &[u8]) -> bool {
    let Ok(map) = pintle_yaml::read_map(text) else { return false };
    !map.is_empty() && map.keys().all(|key| *key == "libraries" || *key == "library")
}

/// Whether this API version keeps its dependencies in requirements.yaml.
fn has_requirements_file(draft: &Draft) -> bool {
    matches!(draft.metadata.api_version.as_str(), V1 | OBJECT_V3)
}

/// The content of all files named Chart.yaml; an archive may hold several, and Helm decodes them on top of each
/// other.
fn chart_file(files: &[File]) -> Result<Option<Draft>> {
    let mut draft = None;
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        draft.get_or_insert_with(Draft::default).read_chart_file(&file.data)?;
    }
    Ok(draft)
}

/// Files of a folder of charts, by the name of the chart's folder or archive.
#[derive(Default)]
struct Folders(BTreeMap<String, Vec<File>>);

impl Folders {
    fn add(&mut self, inner: String, file: File) {
        let folder = inner.split('/').next().unwrap_or_default();
        let file = File { name: inner.clone(), ..file };
        self.0.entry(folder.to_owned()).or_default().push(file);
    }
}

/// The files of one folder without the folder's name; a single file is not part of a chart.
fn inside(files: Vec<File>) -> Vec<File> {
    files
        .into_iter()
        .filter_map(|file| {
            let (_, inner) = file.name.split_once('/')?;
            Some(File { name: inner.to_owned(), data: file.data, modified: file.modified })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{load_files, load_files_logged};
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<File> {
        files.iter().map(|(name, text)| File::new(*name, text.as_bytes())).collect()
    }

    const CHART: &str = "apiVersion: v2\nname: p\nversion: 1.0.0\n";

    #[test]
    fn files_go_under_their_headings() {
        let chart = load_files(files(&[
            ("templates/a.yaml", "a"),
            ("README.md", "r"),
            ("values.yaml", "x: 1\n"),
            ("values.schema.json", "{}"),
            ("charts/sub/Chart.yaml", "name: sub\nversion: 1.0.0\n"),
            ("charts/sub/templates/t.yaml", "t"),
            ("charts/_off/Chart.yaml", "nonsense: ["),
            ("charts/x.tgz.prov", "p"),
            ("Chart.yaml", CHART),
        ]))
        .expect("a good chart");
        let names = |files: &[File]| files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&chart.templates), ["templates/a.yaml"]);
        assert_eq!(names(&chart.files), ["README.md", "charts/x.tgz.prov"]);
        assert_eq!(chart.subcharts.len(), 1);
        assert_eq!(chart.subcharts[0].name(), "sub");
        assert_eq!(names(&chart.subcharts[0].templates), ["templates/t.yaml"]);
        assert!(chart.schema.is_some());
        assert_eq!(chart.raw.len(), 9);
        assert!(chart.values.contains_key("x"));
    }

    #[test]
    fn failures_have_helm_s_texts() {
        for (list, text) in [
            (vec![("values.yaml", "a: 1")], "Chart.yaml file is missing"),
            (vec![("requirements.yaml", "")], "validation: chart.metadata.apiVersion is required"),
            (
                vec![("Chart.yaml", CHART), ("charts/README.md", "x")],
                "error unpacking subchart README.md in p: Chart.yaml file is missing",
            ),
            (
                vec![("Chart.yaml", CHART), ("charts/a.tgz/b", "x")],
                "error unpacking subchart tar in p: expected a.tgz, got a.tgz/b",
            ),
            (
                vec![("Chart.yaml", CHART), ("charts/a.tgz", "no gzip at all")],
                "error unpacking subchart a.tgz in p: gzip: invalid header",
            ),
        ] {
            assert_eq!(load_files(files(&list)).expect_err("a bad chart").to_string(), text);
        }
    }

    #[test]
    fn a_requirements_file_is_remarked_on_in_newer_charts() {
        let mut log = Vec::new();
        let list = [("Chart.yaml", CHART), ("requirements.yaml", "dependencies: [{name: a}]")];
        let chart = load_files_logged(files(&list), &mut log).expect("a good chart");
        assert_eq!(chart.metadata.dependencies[0].name, "a");
        assert!(chart.files.is_empty());
        assert_eq!(log.len(), 1);
        assert!(log[0].to_string().starts_with("level=INFO msg=\"Warning: Dependencies are handled"));
    }

    #[test]
    fn a_library_folder_counts_only_for_charts_that_ask() {
        let library = ("library/common/Chart.yaml", "name: common\nversion: 2.2.0\ntype: library\n");
        let without = load_files(files(&[("Chart.yaml", CHART), library])).expect("a good chart");
        assert!(without.libraries.is_empty());
        let asking = format!("{CHART}libraries: [{{name: common, version: ^2.1.0}}]\n");
        let with = load_files(files(&[("Chart.yaml", &asking), library])).expect("a good chart");
        assert_eq!(with.libraries[0].name(), "common");
        assert_eq!(with.files.len(), 1);
    }

    #[test]
    fn endless_nesting_is_an_error() {
        let mut list = vec![("Chart.yaml".to_owned(), CHART.to_owned())];
        for depth in 1..200 {
            list.push((format!("{}Chart.yaml", "charts/p/".repeat(depth)), CHART.to_owned()));
        }
        let list: Vec<(&str, &str)> =
            list.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert!(
            load_files(files(&list)).expect_err("too deep").to_string().contains("nested more than 64 deep")
        );
    }
}
