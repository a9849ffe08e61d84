//! A chart in memory: metadata, templates, default values, files and subcharts.

use pintle_tree::{Map, Node, Str};

use crate::content::Content;
use crate::error::{Error, Result};
#[cfg(test)]
use crate::metadata::Dependency;
use crate::metadata::{Lock, Metadata};
use crate::path::{clean, extension};

/// A file of a chart, by its slash-separated path inside the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The path inside the chart, as in `templates/service.yaml`.
    pub name: String,
    /// The content.
    pub data: Content,
    /// The modification time in seconds since the Unix epoch, if the source has one.
    pub modified: Option<i64>,
}

impl File {
    /// Returns a file without a modification time.
    pub fn new(name: impl Into<String>, data: impl Into<Str>) -> Self {
        File { name: name.into(), data: data.into().into(), modified: None }
    }
}

/// A chart, loaded from a folder or an archive. It is `Send` and can be rendered repeatedly.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The content of Chart.yaml.
    pub metadata: Metadata,
    /// The content of Chart.lock or requirements.lock.
    pub lock: Option<Lock>,
    /// All files below `templates/`.
    pub templates: Vec<File>,
    /// The default values of values.yaml.
    pub values: Map<Node>,
    /// The text of values.schema.json.
    pub schema: Option<Str>,
    /// The text of values.schema.yaml.
    pub schema_yaml: Option<Str>,
    /// All other files: README, crds/, ext/ and the rest. `.Files` shows these, without `ext/`.
    pub files: Vec<File>,
    /// Every file as read, for commands that show or pack the original text.
    pub raw: Vec<File>,
    /// The charts below `charts/`.
    pub subcharts: Vec<Chart>,
    /// The library charts below `library/`, whose `define`s are available to this chart and its subcharts.
    pub libraries: Vec<Chart>,
}

/// A file below `crds/` of a chart or a subchart.
#[derive(Clone, Debug, PartialEq)]
pub struct Crd<'a> {
    /// The path with the full path of its chart, as in `parent/charts/child/crds/x.yaml`.
    pub path: String,
    /// The file.
    pub file: &'a File,
}

impl Chart {
    /// The name of the chart.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The path of this chart as a subchart of the chart at `parent`, as in `parent/charts/child`; without a parent,
    /// its name.
    pub fn full_path(&self, parent: Option<&str>) -> String {
        match parent {
            Some(parent) => format!("{parent}/charts/{}", self.name()),
            None => self.name().to_owned(),
        }
    }

    /// Whether this is a library chart, which only provides `define`s.
    pub fn is_library(&self) -> bool {
        self.metadata.kind == "library"
    }

    /// Whether the chart should no longer be used.
    pub fn is_deprecated(&self) -> bool {
        self.metadata.deprecated
    }

    /// Rejects charts that cannot be installed on their own.
    ///
    /// # Errors
    /// When it is a library chart.
    pub fn check_installable(&self) -> Result<()> {
        match self.metadata.kind.as_str() {
            "" | "application" => Ok(()),
            kind => Err(Error::message(format!("{kind} charts are not installable"))),
        }
    }

    /// Rejects a chart whose declared dependencies are not all present.
    ///
    /// # Errors
    /// Names those that are missing.
    pub fn check_dependencies(&self) -> Result<()> {
        let present = |name: &str| self.subcharts.iter().any(|subchart| subchart.name() == name);
        let missing: Vec<&str> = self
            .metadata
            .dependencies
            .iter()
            .map(|dependency| dependency.name.as_str())
            .filter(|name| !present(name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        Err(Error::message(format!("found in Chart.yaml, but missing in charts/ directory: {missing}")))
    }

    /// The manifests below `crds/`: those of this chart, then those of its subcharts.
    pub fn crds(&self) -> Vec<Crd<'_>> {
        let mut crds = Vec::new();
        self.add_crds(None, &mut crds);
        crds
    }

    fn add_crds<'a>(&'a self, parent: Option<&str>, crds: &mut Vec<Crd<'a>>) {
        let path = self.full_path(parent);
        crds.extend(
            self.files
                .iter()
                .filter(|file| is_crd(&file.name))
                .map(|file| Crd { path: clean(&format!("{path}/{}", file.name)), file }),
        );
        for subchart in &self.subcharts {
            subchart.add_crds(Some(&path), crds);
        }
    }

    /// The original text of values.yaml.
    pub fn values_text(&self) -> Option<&[u8]> {
        self.raw.iter().find(|file| file.name == "values.yaml").map(|file| &file.data[..])
    }

    /// The README: the first file named `readme`, `readme.txt` or `readme.md`, ignoring case.
    pub fn readme(&self) -> Option<&File> {
        let names = ["readme.md", "readme.txt", "readme"];
        self.files.iter().find(|file| names.iter().any(|name| file.name.eq_ignore_ascii_case(name)))
    }
}

fn is_crd(name: &str) -> bool {
    let extensions = [".yaml", ".yml", ".json"];
    name.starts_with("crds/") && extensions.iter().any(|known| extension(name).eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(name: &str, files: &[&str]) -> Chart {
        Chart {
            metadata: Metadata { name: name.into(), ..Metadata::default() },
            files: files.iter().map(|name| File::new(*name, &b""[..])).collect(),
            ..Chart::default()
        }
    }

    #[test]
    fn crds_of_subcharts_follow_with_their_full_path() {
        let mut parent = chart("p", &["crds/a.yaml", "crds/readme.md", "crds/sub/b.JSON", "other/c.yaml"]);
        parent.subcharts.push(chart("s", &["crds/c.yml"]));
        let paths: Vec<String> = parent.crds().into_iter().map(|crd| crd.path).collect();
        assert_eq!(paths, ["p/crds/a.yaml", "p/crds/sub/b.JSON", "p/charts/s/crds/c.yml"]);
    }

    #[test]
    fn libraries_are_not_installable() {
        let mut library = chart("l", &[]);
        assert!(library.check_installable().is_ok());
        library.metadata.kind = "library".into();
        let error = library.check_installable().expect_err("a library");
        assert_eq!(error.to_string(), "library charts are not installable");
    }

    #[test]
    fn missing_dependencies_are_named() {
        let mut parent = chart("p", &[]);
        for name in ["a", "b", "c"] {
            parent.metadata.dependencies.push(Dependency { name: name.into(), ..Dependency::default() });
        }
        parent.subcharts.push(chart("b", &[]));
        assert_eq!(
            parent.check_dependencies().expect_err("two are missing").to_string(),
            "found in Chart.yaml, but missing in charts/ directory: a, c"
        );
    }
}
