//! What release records keep besides what Helm's format has fields for. For the scripts of a chart: subcharts with scripts,
//! the rendered values if handlers changed them, and the granted permissions. For commands that render the chart of a release
//! again: the chart as it was loaded, in stores without a size limit. Helm ignores all of it, whatever the store.

mod order;

use std::collections::BTreeMap;

use pintle_chart::metadata::{Dependency, Draft, Metadata};
use pintle_chart::{Chart, File, ext};
use pintle_release::{ChartSource, ReleaseVersion, SOURCE_FILE, StoredChart, StoredFile};
use pintle_tree::{Map, Node};

pub(crate) use order::subchart_order;

/// The label with the granted permissions, prefixed with the number of its version because Helm copies labels to the
/// next version. It is informational and grants nothing: anyone who may write the record may write the label.
pub(crate) const PERMISSIONS_LABEL: &str = "pintle.dev/permissions";

/// The label of versions whose scripts handle list events, with the number of the version. `list` reads only labels
/// of most records; for versions with this label it has to load the scripts.
const LIST_EVENTS_LABEL: &str = "pintle.dev/handles-list-events";

/// The name of that label in records of versions before 0.1.0.
const OLD_LIST_EVENTS_LABEL: &str = "pintle.dev/hears-of-lists";

/// Separates permissions in a label value, where commas are not allowed.
const SEPARATOR: char = '.';

const SUBCHART_DIR: &str = "charts/";
const LIBRARY_DIR: &str = "library/";

/// The file that marks a subchart in the record, even if it has no scripts.
const METADATA_FILE: &str = "Chart.yaml";

const TEMPLATE_DIR: &str = "templates/";

/// The file with the rendered values, present if handlers changed them.
const RENDERED_VALUES_FILE: &str = "pintle.dev/rendered-values.yaml";

/// The folder of the recorded files that only the chart as it was loaded has: its subcharts, and what dependency processing
/// changes.
const SOURCE_DIR: &str = "pintle.dev/chart/";

/// Records what is missing in a record to restore the chart as it was loaded, if that has subcharts.
pub(crate) fn record_source_chart(stored: &mut StoredChart, chart: &Chart) {
    if !chart.raw.iter().any(|file| file.name.starts_with(SUBCHART_DIR)) {
        return;
    }
    let is_kept = |name: &str| {
        matches!(name, METADATA_FILE | "values.yaml" | "requirements.yaml" | "Chart.lock") || is_below(name)
    };
    let kept = chart.raw.iter().filter(|file| is_kept(&file.name)).map(|file| StoredFile {
        name: format!("{SOURCE_DIR}{}", file.name),
        data: Some(file.data.text()),
        modified: None,
    });
    stored.files.get_or_insert_default().extend(kept);
}

/// Removes what [`record_source_chart`] recorded, for stores with a size limit.
#[cfg(feature = "cluster")]
pub(crate) fn forget_source_chart(stored: &mut StoredChart) {
    if let Some(files) = &mut stored.files {
        files.retain(|file| !file.name.starts_with(SOURCE_DIR));
    }
}

/// Whether a record lacks the subcharts of its chart: it names dependencies, and does not hold them.
pub(crate) fn lacks_subcharts(stored: &StoredChart) -> bool {
    let holds_them = stored.files().iter().any(|file| file.name.starts_with(SOURCE_DIR));
    !holds_them && !stored.metadata.dependencies.is_empty()
}

/// Returns the chart of a record as it was loaded; `None` if the record does not hold more than Helm's.
pub(crate) fn source_chart(stored: &StoredChart) -> Option<Chart> {
    let plain = stored.to_chart();
    let (source, own): (Vec<File>, Vec<File>) =
        plain.files.into_iter().partition(|file| file.name.starts_with(SOURCE_DIR));
    if source.is_empty() {
        return None;
    }
    let mut files: Vec<File> = source
        .into_iter()
        .map(|file| File { name: file.name[SOURCE_DIR.len()..].to_owned(), ..file })
        .collect();
    files.extend(own.into_iter().filter(|file| !is_extra(&file.name) && !is_below(&file.name)));
    files.extend(plain.templates);
    files.extend(plain.schema.map(|schema| File::new("values.schema.json", schema)));
    pintle_chart::load_files(files).ok()
}

/// Returns the permissions that a version was created with, separated by commas. Labels of other versions are ignored.
pub(crate) fn recorded_permissions(version: &ReleaseVersion) -> String {
    let label = version.labels.get(PERMISSIONS_LABEL).and_then(|text| text.split_once(SEPARATOR));
    let own = label.filter(|(number, _)| *number == version.number.to_string());
    own.map(|(_, list)| list.replace(SEPARATOR, ",")).unwrap_or_default()
}

/// Sets the permissions label of a version, replacing that of an earlier version. `granted` is separated by commas.
pub(crate) fn record_permissions(labels: &mut BTreeMap<String, String>, number: u64, granted: &str) {
    labels.remove(PERMISSIONS_LABEL);
    if !granted.is_empty() {
        let list = granted.replace(',', &SEPARATOR.to_string());
        labels.insert(PERMISSIONS_LABEL.to_owned(), format!("{number}{SEPARATOR}{list}"));
    }
}

/// Sets or clears the list-events label of a version.
pub(crate) fn record_list_events(labels: &mut BTreeMap<String, String>, number: u64, handles: bool) {
    labels.remove(LIST_EVENTS_LABEL);
    labels.remove(OLD_LIST_EVENTS_LABEL);
    if handles {
        labels.insert(LIST_EVENTS_LABEL.to_owned(), number.to_string());
    }
}

/// Returns whether the scripts of a version handle list events.
pub(crate) fn listens_to_list_events(number: u64, labels: &BTreeMap<String, String>) -> bool {
    let number = number.to_string();
    [LIST_EVENTS_LABEL, OLD_LIST_EVENTS_LABEL].iter().any(|label| labels.get(*label) == Some(&number))
}

/// Converts a chart to its form in release records: Helm's, plus subcharts with scripts among the files, plus the
/// rendered values if they cannot be computed from the chart and the user's values.
pub(crate) fn stored(
    chart: &Chart,
    changed: Option<&Map<Node>>,
    source: Option<&ChartSource>,
) -> StoredChart {
    let mut stored = StoredChart::from_chart(chart);
    if let Some(files) = &mut stored.files {
        // Files of these names in the chart would forge the rendered values and the source.
        files.retain(|file| !is_extra(&file.name));
    }
    if let Some(source) = source {
        source.record(&mut stored);
    }
    if let Some(file) = order::file(chart) {
        stored.files.get_or_insert_default().push(file);
    }
    // Values that cannot be written as YAML could not be read back either.
    if let Some(text) = changed.and_then(|values| pintle_yaml::write(values).ok()) {
        let data = Some(String::from_utf8_lossy(&text).as_ref().into());
        let file = StoredFile { name: RENDERED_VALUES_FILE.to_owned(), data, modified: None };
        stored.files.get_or_insert_default().push(file);
    }
    if !ext::has_scripts(chart) {
        return stored;
    }
    if let Some(files) = &mut stored.files {
        // The loader also keeps `library/` among the files; only the chosen libraries are stored.
        files.retain(|file| !is_below(&file.name));
    }
    let mut below = Vec::new();
    add_subcharts(chart, "", &mut below);
    for library in pintle_chart::library::resolve(chart).unwrap_or_default() {
        add(library, &format!("{LIBRARY_DIR}{}/", library.name()), &mut below);
    }
    if !below.is_empty() {
        stored.files.get_or_insert_default().extend(below);
    }
    stored
}

/// Whether a recorded file is one that the record adds to those of the chart.
fn is_extra(name: &str) -> bool {
    name == RENDERED_VALUES_FILE || name == SOURCE_FILE || name == order::FILE || name.starts_with(SOURCE_DIR)
}

fn add_subcharts(chart: &Chart, prefix: &str, files: &mut Vec<StoredFile>) {
    for subchart in &chart.subcharts {
        let prefix = format!("{prefix}{SUBCHART_DIR}{}/", subchart.name());
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
    let raw = chart.raw.iter().find(|file| file.name == METADATA_FILE).map(|file| file.data.text());
    let about = format!("name: {}\nversion: {}\n", chart.name(), chart.metadata.version);
    files.push(keep(METADATA_FILE, raw.unwrap_or_else(|| about.as_str().into())));
    // Handlers see the files of their own chart only, so charts without handlers need not store any.
    let has_handlers = ext::main_script(chart).is_some();
    let kept = chart.files.iter().filter(|file| has_handlers || ext::is_extension(file));
    let templates = chart.templates.iter().filter(|_| has_handlers);
    files.extend(kept.chain(templates).map(|file| keep(&file.name, file.data.text())));
}

/// Returns the rendered values of a version if they were stored.
pub(crate) fn rendered_values(version: &ReleaseVersion) -> Option<Map<Node>> {
    let file = version.chart.files.iter().flatten().find(|file| file.name == RENDERED_VALUES_FILE)?;
    pintle_yaml::read_values(file.data.as_ref()?).ok()
}

/// Converts a recorded chart back, with the parts of subcharts that their scripts need.
pub(crate) fn chart(stored: &StoredChart) -> Chart {
    let mut chart = stored.to_chart();
    chart.files.retain(|file| !is_extra(&file.name));
    if !chart.files.iter().any(|file| is_below(&file.name)) {
        return chart;
    }
    let (below, own): (Vec<File>, Vec<File>) = chart.files.into_iter().partition(|file| is_below(&file.name));
    chart.files = own;
    chart.metadata.libraries.clear();
    for file in below {
        insert_file(&mut chart, file);
    }
    // The version of a library was chosen at install time, so any constraint has to accept it now.
    let any = ">=0.0.0-0".to_owned();
    let wanted = |library: &Chart| Dependency {
        name: library.name().to_owned(),
        version: any.clone(),
        ..Dependency::default()
    };
    chart.metadata.libraries = chart.libraries.iter().map(wanted).collect();
    chart
}

/// Returns whether a file belongs to a subchart or library.
fn is_below(name: &str) -> bool {
    name.starts_with(SUBCHART_DIR) || name.starts_with(LIBRARY_DIR)
}

/// Adds a file to the subchart that its path names.
fn insert_file(chart: &mut Chart, file: File) {
    let (charts, rest) = match (file.name.strip_prefix(SUBCHART_DIR), file.name.strip_prefix(LIBRARY_DIR)) {
        (Some(rest), _) => (&mut chart.subcharts, rest),
        (None, Some(rest)) => (&mut chart.libraries, rest),
        (None, None) if file.name == METADATA_FILE => return parse_metadata(chart, &file),
        (None, None) if file.name.starts_with(TEMPLATE_DIR) => return chart.templates.push(file),
        (None, None) => return chart.files.push(file),
    };
    let Some((name, rest)) = rest.split_once('/') else { return };
    let index = match charts.iter().position(|known| known.name() == name) {
        Some(index) => index,
        None => {
            let mut new = Chart::default();
            new.metadata.name = name.to_owned();
            charts.push(new);
            charts.len() - 1
        }
    };
    let file = File { name: rest.to_owned(), ..file };
    insert_file(&mut charts[index], file);
}

/// Parses the Chart.yaml of a subchart. Its name stays the alias under which it is used.
fn parse_metadata(chart: &mut Chart, file: &File) {
    let mut draft = Draft::default();
    if draft.read_chart_file(&file.data).is_ok() {
        let name = std::mem::take(&mut chart.metadata.name);
        chart.metadata = Metadata { name, ..draft.metadata };
    }
}

#[cfg(all(test, feature = "lua"))]
mod tests {
    use super::*;
    use pintle_events::ChartPath;
    use pintle_lua::{Limits, Permissions, Scripts, Services};

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
        // The loader keeps the library folder among the files, as Helm does.
        web.files.push(File::new("library/common/ext/lua/x.lua", &b"return 1"[..]));
        web.files.push(File::new("library/common/values.yaml", &b"a: 1"[..]));
        let mut plain = Chart::default();
        plain.metadata.name = "plain".to_owned();
        web.subcharts = vec![db, plain];
        web.libraries.push(common);
        web.metadata.libraries.push(Dependency { name: "common".to_owned(), ..Dependency::default() });
        let back = chart(&stored(&web, None, None));
        let (limits, services) = (Limits::default(), Services::default());
        let scripts = Scripts::load(&back, &Permissions::none(), &limits, &services).expect("they load");
        let charts: Vec<String> = scripts.charts().map(ChartPath::to_string).collect();
        assert_eq!(charts, ["chart web/db/log", "chart web/db", "chart web"]);
        assert_eq!(pintle_lua::scripts_digest(&back), pintle_lua::scripts_digest(&web));
    }

    #[test]
    fn a_chart_without_scripts_is_kept_as_helm_keeps_it() {
        let mut web = Chart::default();
        web.subcharts.push(Chart::default());
        assert_eq!(stored(&web, None, None), StoredChart::from_chart(&web));
    }

    #[test]
    fn a_chart_below_comes_back_as_full_as_the_one_above() {
        let mut web = chart_of("web", "");
        let mut db = chart_of("db", "events.on('ready', function() end)");
        db.files.push(File::new("README.md", &b"read me"[..]));
        db.templates.push(File::new("templates/a.yaml", &b"a: 1"[..]));
        let about = "apiVersion: v2\nname: postgres\nversion: 3.1.4-beta\nappVersion: '16'\ntype: library\n";
        db.raw.push(File::new("Chart.yaml", about.as_bytes()));
        let mut plain = chart_of("plain", "");
        plain.files.clear();
        plain.templates.push(File::new("templates/b.yaml", &b"b: 1"[..]));
        web.subcharts = vec![db, plain];
        let back = chart(&stored(&web, None, None));
        let [db, plain] = &back.subcharts[..] else { panic!("two subcharts") };
        assert_eq!((db.name(), db.metadata.version.as_str()), ("db", "3.1.4-beta"));
        assert!(db.is_library() && db.metadata.app_version == "16");
        assert_eq!(db.templates.len(), 1);
        assert!(db.files.iter().any(|file| file.name == "README.md"));
        assert!(plain.templates.is_empty(), "nobody sees these");
    }

    #[test]
    fn values_that_handlers_changed_are_kept_and_no_chart_can_say_what_they_were() {
        let mut web = chart_of("web", "");
        web.files.push(File::new(RENDERED_VALUES_FILE, &b"forged: true"[..]));
        let mut version = ReleaseVersion { chart: stored(&web, None, None), ..ReleaseVersion::default() };
        assert_eq!(rendered_values(&version), None);
        let values = pintle_yaml::read_values(b"size: 3\n").expect("good values");
        version.chart = stored(&web, Some(&values), None);
        assert_eq!(rendered_values(&version), Some(values));
        assert!(!chart(&version.chart).files.iter().any(|file| file.name == RENDERED_VALUES_FILE));
    }

    #[test]
    fn permissions_fit_into_a_label_and_are_those_of_one_version() {
        let mut version = ReleaseVersion { number: 3, ..ReleaseVersion::default() };
        version.labels.insert("a".to_owned(), "b".to_owned());
        record_permissions(&mut version.labels, 3, "network,filesystem,os");
        assert_eq!(version.labels[PERMISSIONS_LABEL], "3.network.filesystem.os");
        assert_eq!(recorded_permissions(&version), "network,filesystem,os");
        // Helm copies labels to the next version.
        version.number = 4;
        assert!(recorded_permissions(&version).is_empty());
        record_permissions(&mut version.labels, 4, "");
        assert_eq!((version.labels.len(), recorded_permissions(&version)), (1, String::new()));
        for text in ["4", "network", "4.", "04.network"] {
            version.labels.insert(PERMISSIONS_LABEL.to_owned(), text.to_owned());
            assert!(recorded_permissions(&version).is_empty(), "{text}");
        }
    }
}
