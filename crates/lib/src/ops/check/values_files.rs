//! Values files for CI, by the convention of chart-testing: `ci/*-values.yaml`.

use std::fs;
use std::path::Path;

use pintle_chart::Chart;

use crate::input::go_error_text;
use crate::{Error, Result};

/// A values file of a chart.
pub(super) struct ValuesFile {
    /// Its path in the chart.
    pub(super) name: String,
    pub(super) text: Vec<u8>,
}

/// The values files of a chart, by name. Those of a folder count even if `.helmignore` excludes them from the package.
pub(super) fn find(path: &Path, chart: &Chart) -> Result<Vec<ValuesFile>> {
    let mut files: Vec<ValuesFile> = Vec::new();
    if path.is_dir() {
        let folder = path.join("ci");
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(files) };
        for entry in entries.flatten() {
            let name = format!("ci/{}", entry.file_name().to_string_lossy());
            if is_values_file(&name) {
                let path = entry.path();
                let text = pintle_chart::read_limited(&path, pintle_chart::MAX_TEXT)
                    .map_err(|error| Error::Input(go_error_text(&path, &error)))?;
                files.push(ValuesFile { name, text });
            }
        }
    } else {
        let of_chart = chart.files.iter().filter(|file| is_values_file(&file.name));
        files.extend(of_chart.map(|file| ValuesFile { name: file.name.clone(), text: file.data.to_vec() }));
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn is_values_file(name: &str) -> bool {
    let file = name.strip_prefix("ci/").filter(|file| !file.contains('/'));
    file.is_some_and(|file| file.ends_with("-values.yaml"))
}
