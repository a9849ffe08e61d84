//! The sets of values that a chart is looked at with: its own, its files for CI, and those of the editor's settings.

use std::path::{Path, PathBuf};

use pintle::ValuesLayer;
use pintle::chart::{MAX_TEXT, read_limited};
use pintle_tree::{Node, json};
use serde_json::Value;

use crate::project::Project;

/// A set of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The name: empty for the chart's own values, otherwise a file or a name of the settings.
    pub name: String,
    /// The values over those of the chart, as YAML.
    pub text: Option<Vec<u8>>,
}

/// A scenario of the settings: values files in order, relative to the chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// The name.
    pub name: String,
    /// The files.
    pub files: Vec<String>,
}

/// A scenario of the settings as its files are now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadScenario {
    /// The name.
    pub name: String,
    /// The files that it consists of.
    pub paths: Vec<PathBuf>,
    /// The values of all files, or why there are none.
    pub values: Result<Vec<u8>, String>,
}

impl Configured {
    /// Reads the scenarios of settings: names with a file or a list of files.
    pub fn read_all(settings: &Value) -> Vec<Configured> {
        let named = settings.as_object().into_iter().flatten();
        let texts = |value: &Value| -> Vec<String> {
            match value {
                Value::String(file) => vec![file.clone()],
                value => {
                    let list = value.as_array().into_iter().flatten();
                    list.filter_map(|file| file.as_str().map(str::to_owned)).collect()
                }
            }
        };
        named
            .map(|(name, files)| Configured { name: name.clone(), files: texts(files) })
            .filter(|scenario| !scenario.files.is_empty())
            .collect()
    }

    /// Reads the files. Those outside of the workspace are refused. `open` returns the text of an open document.
    pub fn read(
        &self,
        chart: &Path,
        roots: &[PathBuf],
        open: &dyn Fn(&Path) -> Option<String>,
    ) -> ReadScenario {
        let mut paths = Vec::new();
        let mut layers = Vec::new();
        let mut problem = None;
        for file in &self.files {
            let path = chart.join(file);
            let Ok(path) = std::fs::canonicalize(&path) else {
                problem = problem.or(Some(format!("there is no file `{file}`")));
                // It may appear later.
                paths.push(path);
                continue;
            };
            if !path.starts_with(chart) && !roots.iter().any(|root| path.starts_with(root)) {
                problem = problem.or(Some(format!("`{file}` is outside of the workspace")));
                continue;
            }
            let text = match open(&path) {
                Some(text) => Ok(text.into_bytes()),
                None => read_limited(&path, MAX_TEXT).map_err(|error| format!("`{file}`: {error}")),
            };
            paths.push(path);
            match text {
                Ok(content) => layers.push(ValuesLayer::Bytes { name: file.clone(), content }),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        let values = match problem {
            Some(problem) => Err(problem),
            None => merged(&layers),
        };
        ReadScenario { name: self.name.clone(), paths, values }
    }
}

/// The values of some files as one text.
fn merged(layers: &[ValuesLayer]) -> Result<Vec<u8>, String> {
    let none = &mut |_: &Path| Err("not a file".to_owned());
    let values = pintle::values::layer(layers, none).map_err(|error| error.to_string())?;
    // JSON is YAML.
    json::write(&Node::Map(values)).map_err(|error| error.to_string())
}

impl Project {
    /// All scenarios of the chart, its own values first.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let own = Scenario { name: String::new(), text: None };
        let files = self.values_for_checks().into_iter();
        let files = files.map(|(name, text)| Scenario { name, text: Some(text) });
        std::iter::once(own).chain(files).collect()
    }

    /// The scenario of a name.
    pub fn scenario(&self, name: &str) -> Option<Scenario> {
        self.scenarios().into_iter().find(|scenario| scenario.name == name)
    }

    /// The names and texts of the values that the chart is checked with besides its own.
    pub fn values_for_checks(&self) -> Vec<(String, Vec<u8>)> {
        let files = self.charts[0].files.iter().map(|file| self.file(*file));
        let ci = files.filter(|file| file.name.starts_with("ci/") && file.name.ends_with("-values.yaml"));
        let ci = ci.map(|file| (file.name.clone(), file.text.text.clone().into_bytes()));
        let configured = self
            .configured
            .iter()
            .filter_map(|scenario| Some((scenario.name.clone(), scenario.values.as_ref().ok()?.clone())));
        ci.chain(configured).collect()
    }
}
