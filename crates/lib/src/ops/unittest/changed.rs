//! Which suites changed files can affect.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pintle_chart::path::clean;
use pintle_unittest::Suite;

use super::files::join;

/// The files that changed, by their absolute paths.
pub(super) struct Changes<'c> {
    files: &'c [PathBuf],
    current_folder: &'c Path,
    /// The chart as named by the user.
    chart: &'c str,
}

impl<'c> Changes<'c> {
    pub(super) fn new(files: &'c [PathBuf], current_folder: &'c Path, chart: &'c str) -> Self {
        Changes { files, current_folder, chart }
    }

    /// Leaves only the suites that the changes affect.
    pub(super) fn retain(&self, suites: &mut Vec<Suite>, chart_name: &str) {
        let suite_files: BTreeSet<PathBuf> = suites.iter().map(|suite| self.absolute(suite.file())).collect();
        suites.retain(|suite| {
            self.files.iter().any(|file| self.affects(file, suite, &suite_files, chart_name))
        });
    }

    fn affects(&self, file: &Path, suite: &Suite, suites: &BTreeSet<PathBuf>, chart_name: &str) -> bool {
        let own = [suite.file().to_owned(), suite.snapshot_file()];
        let read = suite.values_files().into_iter().chain(own);
        if read.map(|path| self.absolute(&path)).any(|path| path == file) {
            return true;
        }
        if suites.contains(file) {
            return false;
        }
        let chart = self.absolute(self.chart);
        let Ok(below) = file.strip_prefix(&chart) else {
            // An archive is the chart itself.
            return file == chart;
        };
        // Only suites read the files beside them, and those that this suite reads are checked above.
        // Suites can also be in the root of the chart or among templates, whose files templates read, too.
        let is_template = is_template(below);
        let folders = suites.iter().filter_map(|suite| suite.parent()).filter(|folder| *folder != chart);
        if !is_template && folders.into_iter().any(|folder| file.starts_with(folder)) {
            return false;
        }
        match is_template {
            // Templates see nothing of each other but partials.
            true => suite.renders(&join(chart_name, &below.to_string_lossy())),
            // Values, metadata and other files can be read by all templates.
            false => true,
        }
    }

    fn absolute(&self, path: &str) -> PathBuf {
        PathBuf::from(clean(&self.current_folder.join(path).to_string_lossy()))
    }
}

/// Whether a path below a chart is in `templates/`, of the chart itself or of a subchart in `charts/`.
fn is_template(below: &Path) -> bool {
    let mut path = below;
    while let Ok(subchart) = path.strip_prefix("charts") {
        let mut components = subchart.components();
        components.next();
        path = components.as_path();
    }
    path.starts_with("templates")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_unittest::SuiteOrigin;

    /// Three suites in a folder.
    fn suites(folder: &str) -> Vec<Suite> {
        let suite = |name: &str, extra: &str| {
            let file = &format!("{folder}/{name}_test.yaml");
            let text = format!(
                "suite: {file}\n{extra}\ntests: [{{it: a, values: [v/a.yaml], asserts: [{{hasDocuments: {{count: 1}}}}]}}]\n"
            );
            let origin = SuiteOrigin { file, route: "web", ..SuiteOrigin::default() };
            Suite::parse(text.as_bytes(), &origin).expect("a suite").remove(0)
        };
        vec![suite("all", ""), suite("pod", "templates: [pod.yaml]"), suite("job", "templates: [job.yaml]")]
    }

    /// The suites that a change affects.
    fn affected(file: &str, folder: &str) -> String {
        let files = [PathBuf::from("/repo").join(file)];
        let mut suites = suites(folder);
        Changes::new(&files, Path::new("/repo"), "charts/web").retain(&mut suites, "web");
        let name =
            |suite: &Suite| suite.name().rsplit('/').next().unwrap_or_default().replace("_test.yaml", "");
        suites.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn suites_run_if_they_or_what_they_render_changed() {
        for (file, expected) in [
            ("charts/web/values.yaml", "all pod job"),
            ("charts/web/templates/_helpers.tpl", "all pod job"),
            ("charts/web/templates/pod.yaml", "all pod"),
            ("charts/web/templates/new.yaml", "all"),
            ("charts/web/charts/db/templates/pod.yaml", "all"),
            ("charts/web/files/templates/pod.yaml", "all pod job"),
            ("charts/web/mytemplates/pod.yaml", "all pod job"),
            ("charts/web/tests/job_test.yaml", "job"),
            ("charts/web/tests/__snapshot__/pod_test.yaml.snap", "pod"),
            ("charts/web/tests/v/a.yaml", "all pod job"),
            ("charts/web/tests/v/b.yaml", ""),
            ("charts/webber/values.yaml", ""),
            ("README.md", ""),
        ] {
            assert_eq!(affected(file, "charts/web/tests"), expected, "{file}");
        }
    }

    #[test]
    fn suites_beside_the_values_or_templates_of_a_chart_run_if_these_changed() {
        for (file, expected) in [
            ("charts/web/values.yaml", "all pod job"),
            ("charts/web/templates/pod.yaml", "all pod"),
            ("charts/web/job_test.yaml", "job"),
        ] {
            assert_eq!(affected(file, "charts/web"), expected, "{file}");
        }
        assert_eq!(affected("charts/web/templates/pod.yaml", "charts/web/templates"), "all pod");
    }
}
