//! Charts of the repository that nothing refers to, and that are rendered with their own values.

use crate::app::{App, AppId, ChartApp, ChartSource, Content};
use crate::discovery::Discovery;
use crate::{Place, parent};

/// Adds the charts that the settings ask for.
pub(crate) fn add(discovery: &mut Discovery<'_>) {
    let files = discovery.files;
    let wanted = &discovery.settings.charts;
    let charts = files.entries().filter_map(|(path, _)| path.strip_suffix("Chart.yaml").map(|_| (path, parent(path))));
    let is_wanted = |folder: &str| {
        wanted.iter().any(|wanted| {
            let wanted = wanted.trim_matches('/');
            wanted.is_empty() || folder == wanted || folder.starts_with(&format!("{wanted}/"))
        })
    };
    let found: Vec<(String, String)> = charts
        .filter(|(path, folder)| (path.ends_with("/Chart.yaml") || *path == "Chart.yaml") && is_wanted(folder))
        // A chart in a chart is rendered with it.
        .filter(|(_, folder)| !folder.contains("/charts/") || wanted.iter().any(|wanted| wanted.trim_matches('/') == *folder))
        .map(|(path, folder)| (path.to_owned(), folder.to_owned()))
        .collect();
    for (path, folder) in found {
        let name = folder.rsplit('/').next().unwrap_or_default().to_owned();
        let app = App {
            id: AppId { cluster: String::new(), kind: "Chart".to_owned(), namespace: String::new(), name: folder.clone() },
            place: Place { file: path, line: 1 },
            content: Content::Chart(Box::new(ChartApp {
                chart: ChartSource::Folder(folder),
                version_place: None,
                release: name,
                namespace: "default".to_owned(),
                layers: Vec::new(),
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
}
