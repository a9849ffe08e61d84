//! What a release keeps for the scripts of its chart: the scripts of charts below it, which records have no place for,
//! and the permissions that were granted. Both are kept in every store, in ways that Helm passes over.

use std::collections::BTreeMap;

use pintle_chart::metadata::Dependency;
use pintle_chart::{Chart, File, ext};
use pintle_lua::{Asked, Permissions};
use pintle_release::{ReleaseVersion, StoredChart, StoredFile};

/// The label under which permissions are kept, after the number of the version that they were granted to. A chart cannot
/// set labels of a record, so it cannot grant itself any; and Helm, which carries labels from version to version, cannot
/// carry permissions to a chart that nobody was asked about.
pub(crate) const LABEL: &str = "pintle.dev/permissions";

/// What stands between permissions in a label, which cannot have commas.
const BETWEEN: char = '.';

const SUBCHARTS: &str = "charts/";
const LIBRARIES: &str = "library/";

/// The file that says that there is a chart, even if it has no scripts.
const MARK: &str = "Chart.yaml";

/// The permissions that a version was granted. What cannot be read, or was granted to another version, was not granted.
pub(crate) fn granted(version: &ReleaseVersion) -> Permissions {
    let label = version.labels.get(LABEL).and_then(|text| text.split_once(BETWEEN));
    let own = label.filter(|(number, _)| *number == version.number.to_string());
    let list = own.map(|(_, list)| list.replace(BETWEEN, ","));
    list.and_then(|list| Permissions::parse(&list).ok()).unwrap_or_default()
}

/// What each chart of a version was granted: what it asked for, as far as the version was granted that.
pub(crate) fn granted_to_charts(version: &ReleaseVersion) -> Asked {
    let granted = granted(version);
    if granted.is_empty() {
        return Asked::default();
    }
    // Whoever cannot be understood was granted nothing.
    pintle_lua::asked(&chart(&version.chart)).unwrap_or_default().and(&granted)
}

/// Keeps permissions among the labels of a version, instead of those that it had.
pub(crate) fn grant(labels: &mut BTreeMap<String, String>, number: u64, granted: &Permissions) {
    labels.remove(LABEL);
    if !granted.is_empty() {
        let list = granted.to_string().replace(',', &BETWEEN.to_string());
        labels.insert(LABEL.to_owned(), format!("{number}{BETWEEN}{list}"));
    }
}

/// What a release keeps of a chart: as Helm does, and the scripts of the charts below it among its files.
pub(crate) fn stored(chart: &Chart) -> StoredChart {
    let mut stored = StoredChart::of(chart);
    if !ext::has_scripts(chart) {
        return stored;
    }
    let mut below = Vec::new();
    add_subcharts(chart, "", &mut below);
    for library in pintle_chart::library::resolve(chart).unwrap_or_default() {
        add(library, &format!("{LIBRARIES}{}/", library.name()), &mut below);
    }
    if !below.is_empty() {
        stored.files.get_or_insert_default().extend(below);
    }
    stored
}

fn add_subcharts(chart: &Chart, prefix: &str, files: &mut Vec<StoredFile>) {
    for subchart in &chart.subcharts {
        let prefix = format!("{prefix}{SUBCHARTS}{}/", subchart.name());
        add(subchart, &prefix, files);
        add_subcharts(subchart, &prefix, files);
    }
}

fn add(chart: &Chart, prefix: &str, files: &mut Vec<StoredFile>) {
    let keep = |name: &str, data: pintle_tree::Str| StoredFile {
        name: format!("{prefix}{name}"),
        data: Some(data),
        modified: None,
    };
    let about = format!("name: {}\nversion: {}\n", chart.name(), chart.metadata.version);
    files.push(keep(MARK, about.as_str().into()));
    let extensions = chart.files.iter().filter(|file| ext::is_extension(file));
    files.extend(extensions.map(|file| keep(&file.name, file.data.text())));
}

/// The chart of a record, with as much of the charts below it as their scripts need.
pub(crate) fn chart(stored: &StoredChart) -> Chart {
    let mut chart = stored.to_chart();
    if !chart.files.iter().any(is_below) {
        return chart;
    }
    let (below, own): (Vec<File>, Vec<File>) = chart.files.into_iter().partition(is_below);
    chart.files = own;
    chart.metadata.libraries.clear();
    for file in below {
        put(&mut chart, file);
    }
    let wanted = |library: &Chart| Dependency { name: library.name().to_owned(), ..Dependency::default() };
    chart.metadata.libraries = chart.libraries.iter().map(wanted).collect();
    chart
}

/// Whether a file belongs to a chart below. The loader leaves no file of that name with the chart itself.
fn is_below(file: &File) -> bool {
    file.name.starts_with(SUBCHARTS) || file.name.starts_with(LIBRARIES)
}

/// Puts a file into the chart below that its path names.
fn put(chart: &mut Chart, file: File) {
    let (charts, rest) = match (file.name.strip_prefix(SUBCHARTS), file.name.strip_prefix(LIBRARIES)) {
        (Some(rest), _) => (&mut chart.subcharts, rest),
        (None, Some(rest)) => (&mut chart.libraries, rest),
        (None, None) if file.name == MARK => return,
        (None, None) => return chart.files.push(file),
    };
    let Some((name, rest)) = rest.split_once('/') else { return };
    let place = match charts.iter().position(|known| known.name() == name) {
        Some(place) => place,
        None => {
            let mut new = Chart::default();
            new.metadata.name = name.to_owned();
            // Any version will do: it was chosen when the chart was installed.
            new.metadata.version = "1.0.0".to_owned();
            charts.push(new);
            charts.len() - 1
        }
    };
    let file = File { name: rest.to_owned(), ..file };
    put(&mut charts[place], file);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_events::ChartPath;
    use pintle_lua::{Limits, Scripts, Services};

    fn chart_of(name: &str, script: &str) -> Chart {
        let mut chart = Chart::default();
        chart.metadata.name = name.to_owned();
        chart.metadata.version = "2.0.0".to_owned();
        chart.files.push(File::new("ext/lua/chart.lua", script.as_bytes()));
        chart
    }

    #[test]
    fn scripts_of_charts_below_come_back_from_a_record() {
        let mut web = chart_of("web", "require('common/x'); events.subchart('plain'):off('ready')");
        let mut db = chart_of("db", "events.on('ready', function() end)");
        db.subcharts.push(chart_of("log", "events.on('ready', function() end)"));
        let mut common = chart_of("common", "");
        common.files = vec![File::new("ext/lua/x.lua", &b"return 1"[..])];
        let mut plain = Chart::default();
        plain.metadata.name = "plain".to_owned();
        web.subcharts = vec![db, plain];
        web.libraries.push(common);
        web.metadata.libraries.push(Dependency { name: "common".to_owned(), ..Dependency::default() });
        let back = chart(&stored(&web));
        let (limits, services) = (Limits::default(), Services::default());
        let scripts = Scripts::load(&back, &Permissions::none(), &limits, &services).expect("they load");
        let charts: Vec<String> = scripts.charts().map(ChartPath::to_string).collect();
        assert_eq!(charts, ["chart web/db/log", "chart web/db", "chart web"]);
    }

    #[test]
    fn a_chart_without_scripts_is_kept_as_helm_keeps_it() {
        let mut web = Chart::default();
        web.subcharts.push(Chart::default());
        assert_eq!(stored(&web), StoredChart::of(&web));
    }

    #[test]
    fn permissions_fit_into_a_label_and_hold_for_one_version() {
        let mut version = ReleaseVersion { number: 3, ..ReleaseVersion::default() };
        version.labels.insert("a".to_owned(), "b".to_owned());
        grant(&mut version.labels, 3, &Permissions::all());
        assert_eq!(version.labels[LABEL], "3.network.filesystem.os");
        assert_eq!(granted(&version), Permissions::all());
        // Helm takes the labels along when it makes the next version.
        version.number = 4;
        assert!(granted(&version).is_empty());
        grant(&mut version.labels, 4, &Permissions::none());
        assert_eq!((version.labels.len(), granted(&version)), (1, Permissions::none()));
        for text in ["4.everything", "4", "network", "4.", "04.network", "4.network.everything"] {
            version.labels.insert(LABEL.to_owned(), text.to_owned());
            assert!(granted(&version).is_empty(), "{text}");
        }
    }

    #[test]
    fn each_chart_of_a_version_was_granted_what_it_asked_for() {
        let mut web = chart_of("web", "");
        web.files.push(File::new("ext/permissions.yaml", &b"lua: [os]"[..]));
        let mut db = chart_of("db", "");
        db.files.push(File::new("ext/permissions.yaml", &b"lua: [network, filesystem]"[..]));
        web.subcharts.push(db);
        let mut version = ReleaseVersion { number: 1, chart: stored(&web), ..ReleaseVersion::default() };
        grant(&mut version.labels, 1, &Permissions::parse("network,os").expect("known"));
        let told: Vec<String> = granted_to_charts(&version)
            .charts
            .iter()
            .map(|(path, permissions)| format!("{path}: {permissions}"))
            .collect();
        assert_eq!(told, ["chart web: os", "chart web/db: network"]);
    }
}
