//! What tests expect of the lifecycle of a release: scripts, hooks, images and rehearsals.

use std::collections::BTreeMap;

use pintle_chart::Chart;
use pintle_events::TABLE;
use pintle_images::Reference;
use pintle_objects::HookEvent;
use pintle_unittest::{PrepareRequest, PreparedChart};
use pintle_values::SchemaCheck;

use crate::lifecycle::Lifecycle;
use crate::ops::hook_plan::hooks_of;
use crate::prepare::{PrepareOptions, Prepared};
use crate::report::BufferedReporter;
use crate::{Error, RecordObjects, Result};

/// Renders a chart as an installation does.
///
/// # Errors
/// The text of the first stage that fails; of templates, Helm 3's text.
pub(super) fn prepare(request: &PrepareRequest<'_>) -> std::result::Result<PreparedChart, String> {
    prepared(request).map_err(|error| match error {
        Error::Render(error) => error.helm_3_text(),
        other => other.to_string(),
    })
}

fn prepared(request: &PrepareRequest<'_>) -> Result<PreparedChart> {
    let options = PrepareOptions {
        nulls: request.options.nulls,
        schema: if request.options.skip_schema { SchemaCheck::Skip } else { SchemaCheck::Check },
        record_objects: RecordObjects::Allow,
        ..PrepareOptions::default()
    };
    let events = lifecycle(request.permissions)?;
    let mut reporter = BufferedReporter::default();
    let (chart, values) = (request.chart.clone(), request.values.clone());
    let prepared = crate::prepare::prepare(chart, values, request.target, options, &events, &mut reporter)?;
    Ok(PreparedChart {
        events: handled(&prepared),
        hooks: hooks(&prepared)?,
        images: images(&prepared),
        log: reporter.0.into_iter().map(|line| line.message.into_owned()).collect(),
        files: files(prepared, request.chart),
    })
}

/// Handlers that run the scripts of a chart with these permissions. They reach neither network nor system: tests give the
/// same results everywhere.
#[cfg(feature = "lua")]
pub(super) fn lifecycle(permissions: &[String]) -> Result<Lifecycle> {
    use pintle_lua::{Permissions, Services};

    use crate::{Granted, Scripting};

    let granted = Granted(Permissions::parse(&permissions.join(","))?);
    Ok(Lifecycle::default().with_scripting(Scripting::new(Services::default(), granted)))
}

#[cfg(not(feature = "lua"))]
pub(super) fn lifecycle(_permissions: &[String]) -> Result<Lifecycle> {
    Ok(Lifecycle::default())
}

fn handled(prepared: &Prepared) -> Vec<String> {
    let entries = TABLE.iter().filter(|entry| prepared.events().listens(entry.event));
    entries.map(|entry| entry.name.to_owned()).collect()
}

/// The hooks of each event; also of those that have none, so that a test can tell them from events that do not exist.
fn hooks(prepared: &Prepared) -> Result<BTreeMap<String, Vec<String>>> {
    let mut hooks: BTreeMap<String, Vec<String>> =
        HookEvent::ALL.iter().map(|event| (event.as_str().to_owned(), Vec::new())).collect();
    for hook in hooks_of(prepared, &mut BufferedReporter::default())? {
        let name = format!("{}/{}", hook.kind, hook.name);
        hooks.entry(hook.event.as_str().to_owned()).or_default().push(name);
    }
    Ok(hooks)
}

fn images(prepared: &Prepared) -> BTreeMap<String, String> {
    let registry = |image: &str| Reference::parse_loosely(image).map(|it| it.registry()).unwrap_or_default();
    let fields = pintle_images::fields(&prepared.files).into_iter();
    fields.map(|field| (field.image.clone(), registry(&field.image))).collect()
}

/// The files as tests see them: one text for each template, and the notes as one of them.
fn files(prepared: Prepared, chart: &Chart) -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (path, text) in prepared.files {
        let file = files.entry(path).or_default();
        if !file.is_empty() {
            file.extend_from_slice(b"\n---\n");
        }
        file.extend_from_slice(&text);
    }
    if !prepared.notes.is_empty() {
        files.insert(format!("{}/templates/NOTES.txt", chart.name()), prepared.notes);
    }
    files
}
