//! New charts, from the built-in scaffold or a starter chart.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_tree::quote::quote;

use crate::error::{Error, Result, file_error};
use crate::load::load_any_version;
use crate::metadata::{Metadata, OBJECT_V3, V2, V3};
use crate::package::{self, Times};
use crate::path::clean;
use crate::write::{check_links, create_folders, write_below, write_file_error};
use crate::{Chart, File};
use pintle_tree::LogLine;

/// The placeholder for the chart name in scaffolds and starters.
const PLACEHOLDER: &str = "<CHARTNAME>";
/// The placeholder for the version of the image in Chart.yaml of scaffolds.
const APP_VERSION: &str = "<APPVERSION>";
/// The valid characters of a name, as the error shows them.
const NAME_PATTERN: &str = "^[a-zA-Z0-9._-]+$";
// Helm's `maxChartNameLength`.
const MAX_NAME: usize = 250;

/// The files of a new chart.
const SCAFFOLD: [(&str, &str); 12] = [
    ("Chart.yaml", include_str!("../scaffold/Chart.yaml")),
    ("values.yaml", include_str!("../scaffold/values.yaml")),
    // Not named .helmignore in this repository, where it would apply to the scaffold itself.
    (".helmignore", include_str!("../scaffold/helmignore")),
    ("templates/ingress.yaml", include_str!("../scaffold/templates/ingress.yaml")),
    ("templates/httproute.yaml", include_str!("../scaffold/templates/httproute.yaml")),
    ("templates/deployment.yaml", include_str!("../scaffold/templates/deployment.yaml")),
    ("templates/service.yaml", include_str!("../scaffold/templates/service.yaml")),
    ("templates/serviceaccount.yaml", include_str!("../scaffold/templates/serviceaccount.yaml")),
    ("templates/hpa.yaml", include_str!("../scaffold/templates/hpa.yaml")),
    ("templates/NOTES.txt", include_str!("../scaffold/templates/NOTES.txt")),
    ("templates/_helpers.tpl", include_str!("../scaffold/templates/_helpers.tpl")),
    (
        "templates/tests/test-connection.yaml",
        include_str!("../scaffold/templates/tests/test-connection.yaml"),
    ),
];

/// What [`Scaffold::Complete`] has instead of files of [`SCAFFOLD`], and in addition.
const COMPLETE: [(&str, &str); 9] = [
    ("README.md", include_str!("../scaffold/complete/README.md")),
    ("values.yaml", include_str!("../scaffold/complete/values.yaml")),
    ("values.schema.json", include_str!("../scaffold/complete/values.schema.json")),
    ("ci/autoscaling-values.yaml", include_str!("../scaffold/complete/ci/autoscaling-values.yaml")),
    ("ci/ingress-values.yaml", include_str!("../scaffold/complete/ci/ingress-values.yaml")),
    ("templates/deployment.yaml", include_str!("../scaffold/complete/templates/deployment.yaml")),
    (
        "templates/tests/test-connection.yaml",
        include_str!("../scaffold/complete/templates/tests/test-connection.yaml"),
    ),
    ("tests/deployment_test.yaml", include_str!("../scaffold/complete/tests/deployment_test.yaml")),
    ("tests/service_test.yaml", include_str!("../scaffold/complete/tests/service_test.yaml")),
];

/// Patterns of .helmignore in [`Scaffold::Complete`].
const COMPLETE_IGNORED: &str = "\n# Unit tests\n/tests/\n";

/// Chart.yaml of a new chart in the form of a Kubernetes object.
const OBJECT_CHART_FILE: &str = include_str!("../scaffold/Chart.object.yaml");

/// The chart API version of a new chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// `apiVersion: v2`.
    #[default]
    V2,
    /// `apiVersion: v3`, Helm's experiment, which can only be created and shown.
    V3,
    /// `apiVersion: helm.sh/v3`: Chart.yaml is a Kubernetes object of the kind Chart.
    Object,
}

impl Generation {
    fn api_version(self) -> &'static str {
        match self {
            Generation::V2 => V2,
            Generation::V3 => V3,
            Generation::Object => OBJECT_V3,
        }
    }
}

/// What a new chart has besides templates and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaffold {
    /// The files that Helm's `create` makes: settings of security and resources are left to the user.
    Minimal,
    /// Documented values with a schema, unit tests, values for checks in `ci/`, and pods that run without root and with
    /// resources, so that nothing that checks charts has a warning.
    #[default]
    Complete,
}

impl Scaffold {
    /// The files as they are shipped.
    fn files(self) -> Vec<(&'static str, String)> {
        let own = match self {
            Scaffold::Minimal => &[][..],
            Scaffold::Complete => &COMPLETE[..],
        };
        let kept = SCAFFOLD.iter().filter(|(path, _)| !own.iter().any(|(other, _)| other == path));
        let mut files: Vec<_> = kept.chain(own).map(|(path, text)| (*path, (*text).to_owned())).collect();
        if self == Scaffold::Complete {
            let ignored = files.iter_mut().filter(|(path, _)| *path == ".helmignore");
            ignored.for_each(|(_, text)| text.push_str(COMPLETE_IGNORED));
        }
        files
    }

    /// The version of the image that values.yaml names.
    fn app_version(self) -> &'static str {
        match self {
            Scaffold::Minimal => "1.16.0",
            Scaffold::Complete => "1.29.3",
        }
    }
}

/// Returns the files of a new chart called `name`.
pub fn scaffold(name: &str, generation: Generation, scaffold: Scaffold) -> Vec<File> {
    let file = |(path, text): (&'static str, String)| {
        let text = match path {
            "Chart.yaml" if generation == Generation::Object => OBJECT_CHART_FILE.to_owned(),
            "Chart.yaml" => text.replacen(V2, generation.api_version(), 1),
            _ => text,
        };
        let text = text.replace(PLACEHOLDER, name).replace(APP_VERSION, scaffold.app_version());
        File::new(path, text.into_bytes())
    };
    scaffold.files().into_iter().map(file).collect()
}

/// Creates the chart `name` in a folder of that name inside `folder`. Returns the path of the new folder. Files
/// that exist are overwritten, and `report` is called with the path of each.
///
/// # Errors
/// When the name is invalid, the folder does not exist, or files cannot be written.
pub fn create(
    name: &str,
    generation: Generation,
    files: Scaffold,
    folder: &Path,
    report: &mut dyn FnMut(&Path),
) -> Result<PathBuf> {
    write_files(name, scaffold(name, generation, files), folder, report)
}

/// Writes the files of a new chart, as [`create`] does.
///
/// # Errors
/// As those of [`create`].
pub fn write_files(
    name: &str,
    files: Vec<File>,
    folder: &Path,
    report: &mut dyn FnMut(&Path),
) -> Result<PathBuf> {
    check_name(name)?;
    let folder = std::path::absolute(folder).map_err(file_error("getwd", folder))?;
    let folder = folder.to_str().map_or(folder.clone(), |text| PathBuf::from(clean(text)));
    if !fs::metadata(&folder).map_err(file_error("stat", &folder))?.is_dir() {
        return Err(Error::message(format!("no such directory {}", folder.display())));
    }
    let chart = folder.join(name);
    if chart.exists() && !chart.is_dir() {
        return Err(Error::message(format!(
            "file {} already exists and is not a directory",
            chart.display()
        )));
    }
    for file in files {
        let path = chart.join(&file.name);
        if path.exists() {
            report(&path);
        }
        write(&chart, Path::new(&file.name), &file.data)?;
    }
    let charts = chart.join("charts");
    check_links(&chart, Path::new("charts")).map_err(write_file_error(&charts))?;
    create_folders(&charts)?;
    Ok(chart)
}

/// Creates the chart `name` inside `folder` from the chart at `starter`, replacing the placeholder in its templates
/// and values.
///
/// # Errors
/// When the starter cannot be loaded, or files cannot be written.
pub fn create_from(
    name: &str,
    generation: Generation,
    folder: &Path,
    starter: &Path,
    times: Times,
    log: &mut Vec<LogLine>,
) -> Result<PathBuf> {
    let mut chart = load_any_version(starter, log)
        .map_err(|error| Error::message(format!("could not load {}: {error}", starter.display())))?;
    chart.metadata = Metadata {
        api_version: generation.api_version().to_owned(),
        name: name.to_owned(),
        description: "A Helm chart for Kubernetes".to_owned(),
        kind: "application".to_owned(),
        version: "0.1.0".to_owned(),
        app_version: "0.1.0".to_owned(),
        ..Metadata::default()
    };
    // Helm replaces the placeholder in templates and values only; other files of a starter are copied as they
    // are.
    let values = chart.raw.iter_mut().filter(|file| file.name == "values.yaml");
    for file in chart.templates.iter_mut().chain(values) {
        file.data = replaced(&file.data, name).into();
    }
    if let Some(text) = chart.values_text() {
        pintle_yaml::read_values(text)
            .map_err(|error| Error::message(format!("transforming values file: {error}")))?;
    }
    save_unpacked(&mut chart, folder, times)
}

/// Writes a chart as a folder of its name inside `folder`, with its subcharts as archives.
///
/// # Errors
/// When the name is a path, or files cannot be written.
pub fn save_unpacked(chart: &mut Chart, folder: &Path, times: Times) -> Result<PathBuf> {
    package::check_name(chart.name())?;
    let path = folder.join(chart.name());
    if path.exists() && !path.is_dir() {
        return Err(Error::message(format!("file {} already exists and is not a directory", path.display())));
    }
    write(&path, Path::new("Chart.yaml"), &chart.metadata.to_yaml()?)?;
    for file in chart.raw.iter().filter(|file| file.name == "values.yaml") {
        write(&path, Path::new("values.yaml"), &file.data)?;
    }
    if let Some(schema) = &chart.schema {
        write(&path, Path::new("values.schema.json"), schema)?;
    }
    for file in chart.templates.iter().chain(&chart.files) {
        // Loaded charts never have paths that escape, but a chart may have been built in memory.
        let inside = clean(&file.name);
        if inside.starts_with('/') || inside.starts_with("..") {
            return Err(Error::message(format!(
                "file {} leads out of the chart",
                quote(file.name.as_bytes())
            )));
        }
        write(&path, Path::new(&inside), &file.data)?;
    }
    let charts = path.join("charts");
    check_links(&path, Path::new("charts")).map_err(write_file_error(&charts))?;
    for subchart in &mut chart.subcharts {
        let name = subchart.name().to_owned();
        package::save(subchart, &charts, times).map_err(|error| {
            Error::message(format!("saving {}/charts/{name}: {error}", chart.metadata.name))
        })?;
    }
    Ok(path)
}

/// Checks the name of a new chart.
///
/// # Errors
/// When it is too long or has other characters than letters, digits, dots, underscores and dashes.
pub fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(Error::message(format!("chart name must be between 1 and {MAX_NAME} characters")));
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
        let pattern = quote(NAME_PATTERN.as_bytes());
        return Err(Error::message(format!("chart name must match the regular expression {pattern}")));
    }
    Ok(())
}

fn replaced(data: &[u8], name: &str) -> Vec<u8> {
    let placeholder = PLACEHOLDER.as_bytes();
    let mut out = Vec::with_capacity(data.len());
    let mut rest = data;
    while let Some(at) = rest.windows(placeholder.len()).position(|window| window == placeholder) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(name.as_bytes());
        rest = &rest[at + placeholder.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// Writes a file of a chart. The folder may have been there, with links in it.
fn write(chart: &Path, name: &Path, data: &[u8]) -> Result<()> {
    let path = chart.join(name);
    check_links(chart, name).map_err(write_file_error(&path))?;
    // For Go's words about a folder that cannot be made.
    create_folders(path.parent().unwrap_or(chart))?;
    write_below(chart, name, data).map_err(write_file_error(&path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_dir;

    const TIMES: Times = Times { all: Some(0), fallback: 0 };

    #[test]
    fn a_new_chart_loads_and_names_itself_everywhere() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let mut existing = Vec::new();
        let path = create("web", Generation::V2, Scaffold::Minimal, folder.path(), &mut |path| {
            existing.push(path.to_owned())
        })
        .expect("can be made");
        assert!(existing.is_empty());
        let chart = load_dir(&path, &mut Vec::new()).expect("a good chart");
        assert_eq!((chart.name(), chart.templates.len()), ("web", 9));
        assert!(path.join("charts").is_dir());
        let left = chart.raw.iter().filter(|file| String::from_utf8_lossy(&file.data).contains(PLACEHOLDER));
        assert_eq!(left.count(), 0);

        create("web", Generation::V2, Scaffold::Minimal, folder.path(), &mut |path| {
            existing.push(path.to_owned())
        })
        .expect("can be made again");
        assert_eq!(existing.len(), 12);
        assert_eq!(existing[0], path.join("Chart.yaml"));
    }

    #[test]
    fn names_are_checked() {
        let error = |name: &str| {
            create(name, Generation::V2, Scaffold::Complete, Path::new("/"), &mut |_| {})
                .expect_err("a bad name")
                .to_string()
        };
        assert_eq!(error(""), "chart name must be between 1 and 250 characters");
        assert_eq!(error("a b"), "chart name must match the regular expression \"^[a-zA-Z0-9._-]+$\"");
    }

    #[test]
    fn a_starter_gives_its_files_with_the_name_put_in() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let starter = folder.path().join("starter");
        for (name, text) in [
            ("Chart.yaml", "name: starter\nversion: 9.9.9\n"),
            ("values.yaml", "name: <CHARTNAME> # kept\n"),
            ("templates/x.yaml", "a: <CHARTNAME>\n"),
            ("README.md", "<CHARTNAME>"),
            ("charts/sub/Chart.yaml", "name: sub\nversion: 1.0.0\n"),
        ] {
            write(&starter, Path::new(name), text.as_bytes()).expect("can be written");
        }
        let path = create_from("mine", Generation::V2, folder.path(), &starter, TIMES, &mut Vec::new())
            .expect("can be made");
        let text = |name: &str| fs::read_to_string(path.join(name)).expect("is there");
        assert_eq!(text("values.yaml"), "name: mine # kept\n");
        assert_eq!(text("templates/x.yaml"), "a: mine\n");
        assert_eq!(text("README.md"), "<CHARTNAME>");
        assert!(text("Chart.yaml").contains("version: 0.1.0"));
        assert!(path.join("charts/sub-1.0.0.tgz").exists());
    }
}
