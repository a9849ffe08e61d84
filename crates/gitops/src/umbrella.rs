//! Charts of the repository that nothing refers to, and that are rendered with their own values.

use crate::app::{App, AppId, ChartApp, ChartSource, Content};
use crate::argo::file_layer;
use crate::discovery::Discovery;
use crate::{NoteKind, Place, join, parent};

/// Adds the charts that the settings ask for.
pub(crate) fn add(discovery: &mut Discovery<'_>) {
    for wanted in &discovery.settings.charts.clone() {
        let (folder, values) = wanted.split_once('=').unwrap_or((wanted, ""));
        let charts = charts(discovery, folder.trim_matches('/'));
        if charts.is_empty() {
            discovery.note(NoteKind::LeftOut, None, format!("there is no chart in {folder}"));
        }
        for chart in charts {
            add_chart(discovery, chart, values);
        }
    }
}

/// The folders with charts in or below a folder. A chart in a chart is rendered with it.
fn charts(discovery: &Discovery<'_>, wanted: &str) -> Vec<String> {
    let is_wanted = |folder: &str| {
        folder == wanted
            || ((wanted.is_empty() || folder.starts_with(&format!("{wanted}/")))
                && !folder.contains("/charts/"))
    };
    let charts = discovery.files.entries().filter_map(|(path, _)| {
        let is_chart = path == "Chart.yaml" || path.ends_with("/Chart.yaml");
        is_chart.then(|| parent(path)).filter(|folder| is_wanted(folder)).map(str::to_owned)
    });
    charts.collect()
}

fn add_chart(discovery: &mut Discovery<'_>, folder: String, values: &str) {
    let place = Place { file: join(&folder, "Chart.yaml").unwrap_or_default(), line: 1 };
    let mut layers = Vec::new();
    let mut cluster = String::new();
    if !values.is_empty() {
        match file_layer(discovery, values) {
            Ok(layer) => layers.push(layer),
            Err(reason) => {
                return discovery.note(NoteKind::Failed, Some(place), format!("{folder}: {reason}"));
            }
        }
        // With values files, one chart is deployed several times: what it makes is told apart by them.
        let name = values.rsplit('/').next().unwrap_or_default();
        cluster = name.trim_end_matches(".yaml").trim_start_matches("values-").to_owned();
    }
    let release = folder.rsplit('/').next().unwrap_or_default().to_owned();
    let app = App {
        id: AppId { cluster, kind: "Chart".to_owned(), namespace: String::new(), name: folder.clone() },
        place,
        content: Content::Chart(Box::new(ChartApp {
            chart: ChartSource::Folder(folder),
            version_place: None,
            release,
            namespace: "default".to_owned(),
            layers,
            default_files: Vec::new(),
            ignores_missing: false,
            skip_crds: false,
            skip_tests: false,
            skip_schema: false,
            kube_version: String::new(),
            api_versions: Vec::new(),
            post: Vec::new(),
        })),
        is_suspended: false,
        depends_on: Vec::new(),
        wave: 0,
    };
    discovery.add_app(app);
}
