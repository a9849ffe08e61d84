//! Repositories in memory.

use pintle_gitops::{App, ChartApp, Content, Discovery, Entry, LayerData, Note, Settings, Snapshot};

/// Files by path; `-> path` is a link.
pub(crate) fn snapshot(files: &[(&str, &str)]) -> Snapshot {
    let entry = |text: &str| match text.strip_prefix("-> ") {
        Some(target) => Entry::Link(target.to_owned()),
        None => Entry::File(text.as_bytes().into()),
    };
    Snapshot::new(files.iter().map(|(path, text)| ((*path).to_owned(), entry(text))))
}

/// All apps and notes, without rendering any.
pub(crate) fn found(files: &[(&str, &str)]) -> (Vec<App>, Vec<Note>) {
    let settings = Settings {
        repository_urls: vec!["https://git.example.com/team/repo".to_owned()],
        ..Settings::default()
    };
    let snapshot = snapshot(files);
    let mut discovery = Discovery::new(&snapshot, &settings);
    let mut apps = Vec::new();
    loop {
        let more = discovery.take();
        if more.is_empty() {
            return (apps, discovery.notes());
        }
        apps.extend(more);
    }
}

/// The names of apps, in order.
pub(crate) fn names(apps: &[App]) -> Vec<String> {
    let mut names: Vec<String> = apps.iter().map(|app| app.id.to_string()).collect();
    names.sort();
    names
}

/// The app of a name.
pub(crate) fn app<'a>(apps: &'a [App], name: &str) -> &'a App {
    apps.iter()
        .find(|app| app.id.to_string() == name)
        .unwrap_or_else(|| panic!("no {name} in {:?}", names(apps)))
}

/// The chart of an app.
pub(crate) fn chart<'a>(apps: &'a [App], name: &str) -> &'a ChartApp {
    match &app(apps, name).content {
        Content::Chart(chart) => chart,
        other => panic!("{name} is no chart: {other:?}"),
    }
}

/// The values of all layers as they are merged, one after the other.
pub(crate) fn layers(chart: &ChartApp) -> Vec<String> {
    let text = |data: &LayerData| match data {
        LayerData::Tree(values) => {
            String::from_utf8_lossy(&pintle_tree::json::write(values).unwrap_or_default()).into_owned()
        }
        LayerData::Set { path, value, .. } => format!("{path}={value}"),
    };
    chart.layers.iter().map(|layer| format!("{}: {}", layer.kind.name(), text(&layer.data))).collect()
}
