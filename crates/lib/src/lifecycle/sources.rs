//! Applies what handlers changed in a chart before it is rendered, packaged or written.

use pintle_chart::metadata::Dependency;
use pintle_chart::{Chart, File};
use pintle_events::{ChartContext, Context, Event, SourceFile};
use pintle_tree::{Map, Node};

use super::context::{chosen_libraries, is_shown, sources};
use crate::{Error, Result};

/// Moves the files and templates of a chart and its subcharts from the context back into the chart.
///
/// # Errors
/// When a handler added a file whose path leaves the chart.
pub(crate) fn apply_file_changes(chart: &mut Chart, context: &mut Context, event: Event) -> Result<()> {
    let chosen = chosen_libraries(chart);
    take_parts(chart, &chosen, &mut context.take_charts().into_iter(), event)
}

/// Assigns the parts in the order in which `context` added them; handlers can neither add nor remove charts.
fn take_parts(
    chart: &mut Chart,
    chosen: &[*const Chart],
    parts: &mut std::vec::IntoIter<ChartContext>,
    event: Event,
) -> Result<()> {
    let Some(part) = parts.next() else { return Ok(()) };
    if let Some(templates) = changed(&chart.templates, part.templates, event)? {
        chart.templates = templates;
    }
    let (shown, kept): (Vec<File>, Vec<File>) = chart.files.iter().cloned().partition(is_shown);
    if let Some(mut files) = changed(&shown, part.files, event)? {
        files.extend(kept);
        chart.files = files;
    }
    for subchart in &mut chart.subcharts {
        take_parts(subchart, chosen, parts, event)?;
    }
    for library in &mut chart.libraries {
        if chosen.contains(&std::ptr::from_ref(library)) {
            take_parts(library, chosen, parts, event)?;
        }
    }
    Ok(())
}

/// Returns the new files, or `None` if nothing changed. Unchanged files keep their modification time.
fn changed(old: &[File], new: Vec<SourceFile>, event: Event) -> Result<Option<Vec<File>>> {
    if sources(old) == new {
        return Ok(None);
    }
    let file = |source: SourceFile| {
        check_name(&source.name, event)?;
        let same = old.iter().find(|file| file.name == source.name && file.data[..] == source.data[..]);
        Ok(same.cloned().unwrap_or_else(|| File::new(source.name, source.data)))
    };
    new.into_iter().map(file).collect::<Result<Vec<File>>>().map(Some)
}

/// Checks that a file name stays inside the chart, because it becomes a path when output is written to a folder.
fn check_name(name: &str, event: Event) -> Result<()> {
    let is_step = |part: &str| !matches!(part, "" | "." | "..");
    if !name.contains('\\') && name.split('/').all(is_step) {
        return Ok(());
    }
    Err(Error::Input(format!(
        "a handler of `{event}` names a file {name:?}, which is not a path inside the chart"
    )))
}

/// Merges the dependencies that handlers returned with the fields of Chart.yaml that handlers do not see.
pub(crate) fn dependencies(chart: &Chart, wanted: Vec<pintle_events::Dependency>) -> Vec<Dependency> {
    let one = |wanted: pintle_events::Dependency| {
        let known = &chart.metadata.dependencies;
        let same = |known: &&Dependency| known.name == wanted.name && known.alias == wanted.alias;
        let base = known.iter().find(same).cloned().unwrap_or_default();
        let pintle_events::Dependency { name, version, repository, alias } = wanted;
        Dependency { name, version, repository, alias, ..base }
    };
    wanted.into_iter().map(one).collect()
}

/// Replaces the default values of a chart, in memory and in the text of values.yaml. Unchanged entries keep their
/// comments, order and formatting.
///
/// # Errors
/// When the values cannot be written as YAML.
pub(crate) fn set_defaults(chart: &mut Chart, values: Map<Node>, event: Event) -> Result<()> {
    let text = match chart.values_text().and_then(|text| pintle_yaml::outline::patch(text, &values)) {
        Some(text) => text,
        None => pintle_yaml::write(&values).map_err(|error| {
            Error::Input(format!("values of a handler of `{event}` cannot be written: {error}"))
        })?,
    };
    match chart.raw.iter_mut().find(|file| file.name == "values.yaml") {
        Some(file) => *file = File::new("values.yaml", text),
        None => chart.raw.push(File::new("values.yaml", text)),
    }
    chart.values = values;
    Ok(())
}

/// Propagates `global` values to subcharts again, in case a handler changed those of the root chart.
///
/// # Errors
/// When the values of a subchart are not a map.
pub(crate) fn share_globals(chart: &Chart, values: Map<Node>) -> Result<Map<Node>> {
    if chart.subcharts.is_empty() {
        return Ok(values);
    }
    // Charts without defaults are used, so that coalescing does not bring back keys that a handler removed.
    Ok(pintle_values::coalesce(&names(chart), &values, pintle_values::NullRules::Helm4, &mut Vec::new())?)
}

/// Returns the chart tree with names only.
fn names(chart: &Chart) -> Chart {
    let mut bare = Chart { subcharts: chart.subcharts.iter().map(names).collect(), ..Chart::default() };
    bare.metadata.name.clone_from(&chart.metadata.name);
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::context::for_chart;

    fn chart() -> Chart {
        let mut chart = Chart {
            files: vec![
                File::new("ext/lua/chart.lua", "x".as_bytes()),
                File { modified: Some(7), ..File::new("a.txt", "a".as_bytes()) },
            ],
            templates: vec![File::new("templates/t.yaml", "t".as_bytes())],
            ..Chart::default()
        };
        chart.metadata.name = "web".into();
        chart
    }

    #[test]
    fn files_come_back_changed_and_scripts_stay() {
        let mut chart = chart();
        let mut context = for_chart(&chart, Map::new());
        assert_eq!(context.files().len(), 1);
        let files = context.files_mut().expect("nobody's turn");
        files.push(SourceFile { name: "b/c.txt".into(), data: "b".into() });
        context.templates_mut().expect("nobody's turn").clear();
        apply_file_changes(&mut chart, &mut context, Event::PreRender).expect("good names");
        let names: Vec<(&str, Option<i64>)> =
            chart.files.iter().map(|file| (file.name.as_str(), file.modified)).collect();
        assert_eq!(names, [("a.txt", Some(7)), ("b/c.txt", None), ("ext/lua/chart.lua", None)]);
        assert!(chart.templates.is_empty());
    }

    #[test]
    fn names_that_lead_out_of_the_chart_are_refused() {
        for name in ["../x", "/etc/x", "a/../../x", "a\\b", "", "a//b"] {
            let mut chart = chart();
            let mut context = for_chart(&chart, Map::new());
            let file = SourceFile { name: name.into(), data: "b".into() };
            context.templates_mut().expect("nobody's turn").push(file);
            let outcome = apply_file_changes(&mut chart, &mut context, Event::PreRender);
            assert!(outcome.is_err(), "{name:?}");
        }
    }

    #[test]
    fn defaults_that_change_leave_comments_and_order_alone() {
        let text = "# How many.\nsize: 1 # few\n\n# Who.\nname: web\nlist:\n- a # first\n";
        let mut chart = chart();
        chart.raw.push(File::new("values.yaml", text.as_bytes()));
        let mut values = pintle_yaml::read_values(text.as_bytes()).expect("good values");
        values.insert("size".into(), 3.into());
        values.insert("added".into(), true.into());
        set_defaults(&mut chart, values, Event::PrePackage).expect("can be written");
        let after = chart.values_text().map(|text| String::from_utf8_lossy(text).into_owned());
        assert_eq!(
            after.as_deref(),
            Some("# How many.\nsize: 3 # few\n\n# Who.\nname: web\nlist:\n- a # first\nadded: true\n")
        );
    }

    #[test]
    fn globals_reach_subcharts_and_what_was_removed_stays_away() {
        let mut top = chart();
        top.values = pintle_yaml::read_values(b"removed: 1\n").expect("good values");
        let mut db = Chart::default();
        db.metadata.name = "db".into();
        top.subcharts.push(db);
        let values = pintle_yaml::read_values(b"global: {a: 2}\ndb: {global: {a: 1}, x: 1}\n").expect("good");
        let shared = share_globals(&top, values).expect("they fit");
        let text = pintle_yaml::write(&shared).expect("can be written");
        assert_eq!(text, b"db:\n  global:\n    a: 2\n  x: 1\nglobal:\n  a: 2\n");
    }
}
