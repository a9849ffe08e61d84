//! Two versions of a release side by side, or a version and the live objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle::ops::{self, ComparedObject, DriftRequest, DriftedObject, HIDDEN, HiddenTexts, drift};
use pintle::release::{ReleaseVersion, VersionRef};
use pintle_tree::Node;
use serde_json::{Value, json};

use crate::access::reveals;
use crate::answer::{Answered, Request};
use crate::app::App;
use crate::error::{Failure, Result};
use crate::json::{key, node, with_identity};
use crate::lines::LineBudget;
use crate::records::{blocking, load_at, notes_of, version_of, yaml};

/// The most equal lines around lines that differ.
const MAX_CONTEXT: u64 = 1000;

/// The most fields of an object that are listed; its lines have all of them.
pub(crate) const MAX_FIELDS: usize = 1000;

/// What of a comparison is shown.
struct Shown {
    reveal: bool,
    full: bool,
    only: Option<String>,
    what: BTreeSet<String>,
    context: usize,
    limit: usize,
}

pub(crate) async fn compare(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let query = &request.query;
    let context = query.number("context")?.unwrap_or(3).min(MAX_CONTEXT);
    let mut what: BTreeSet<String> = query.words("what").into_iter().map(str::to_owned).collect();
    if what.is_empty() || what.contains("all") {
        what = ["manifest", "values", "notes"].map(str::to_owned).into();
    }
    let shown = Shown {
        reveal: reveals(&app, &request, request.part(0)).await?,
        full: query.on("full"),
        only: query.given("key").map(str::to_owned),
        what,
        context: usize::try_from(context).unwrap_or(3),
        limit: app.settings.limits.diff_lines,
    };
    if query.text("to") == "live" {
        return with_live(&app, &session, &request, &shown).await;
    }
    let before = match query.given("from") {
        Some(_) => version_of(&request, "from")?,
        None => VersionRef::Before(1),
    };
    let before = load_at(&app, &session, &request, &before).await?;
    let after = load_at(&app, &session, &request, &version_of(&request, "to")?).await?;
    let compared = blocking(move || versions(&before, &after, &shown)).await?;
    compared.map(Answered::json).map_err(|error| app.failure(&error))
}

fn versions(before: &ReleaseVersion, after: &ReleaseVersion, shown: &Shown) -> pintle::Result<Value> {
    let mut budget = LineBudget::new(shown.limit, shown.context);
    let objects = match shown.what.contains("manifest") {
        true => ops::compare(before, after, shown.reveal)?,
        false => Vec::new(),
    };
    let of = |change: &str| objects.iter().filter(|object| word(object) == change).count();
    let summary = json!({"added": of("added"), "removed": of("removed"), "changed": of("changed"),
        "unchanged": of("unchanged")});
    let objects: Vec<Value> = objects
        .iter()
        .filter(|object| shown.only.as_ref().is_none_or(|only| *only == key(&object.id)))
        .map(|compared| object(compared, shown, &mut budget))
        .collect();
    let mut answer = json!({"from": {"revision": before.number}, "to": {"revision": after.number},
        "summary": summary, "objects": objects});
    if shown.what.contains("values") {
        let (old, new) = (values(before, shown.reveal), values(after, shown.reveal));
        answer["values"] = json!({"lines": budget.lines(&old, &new)});
    }
    if shown.what.contains("notes") {
        answer["notes"] =
            json!({"lines": budget.lines(&notes_of(before, shown.reveal), &notes_of(after, shown.reveal))});
    }
    answer["truncated"] = budget.is_exceeded.into();
    Ok(answer)
}

fn values(version: &ReleaseVersion, reveal: bool) -> String {
    let mut values = version.config.clone().unwrap_or_default();
    if !reveal {
        HiddenTexts::of(version).hide(&mut values);
    }
    yaml(&values)
}

fn word(object: &ComparedObject) -> &'static str {
    match (&object.before, &object.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ if object.is_changed() => "changed",
        _ => "unchanged",
    }
}

fn object(compared: &ComparedObject, shown: &Shown, budget: &mut LineBudget) -> Value {
    let text = |side: &Option<String>| side.clone().unwrap_or_default();
    let fields = compared.changes.iter().take(MAX_FIELDS).map(|change| {
        json!({"path": change.path, "before": change.before.as_ref().map(node),
            "after": change.after.as_ref().map(node), "managers": [], "noise": is_noise(&change.path)})
    });
    let full = |side: &Option<String>| side.clone().filter(|_| shown.full);
    with_identity(
        &compared.id,
        json!({
            "change": word(compared),
            "problem": null,
            "before": full(&compared.before),
            "after": full(&compared.after),
            "fields": fields.collect::<Vec<Value>>(),
            "lines": budget.lines(&text(&compared.before), &text(&compared.after)),
        }),
    )
}

/// Fields that differ from version to version and mean nothing: the label with the version of the chart, and checksums.
fn is_noise(path: &str) -> bool {
    path.ends_with("[\"helm.sh/chart\"]") || path.contains("[\"checksum/")
}

/// What was deployed last and what is in the cluster.
async fn with_live(
    app: &App,
    session: &pintle::Session,
    request: &Request,
    shown: &Shown,
) -> Result<Answered> {
    let drifted = DriftRequest {
        name: request.part(1).to_owned(),
        namespace: request.part(0).to_owned(),
        ..DriftRequest::default()
    };
    let found = drift(session, &drifted).await.map_err(|error| app.failure(&error))?;
    if let Some(wanted) = request.query.number("from")?
        && wanted != found.version.number
    {
        let text =
            format!("the live objects are compared with version {}, which is deployed", found.version.number);
        return Err(Failure::input(text).hint("ask without `from`"));
    }
    let mut budget = LineBudget::new(shown.limit, shown.context);
    let objects: Vec<Value> = found
        .objects
        .iter()
        .filter(|object| shown.only.as_ref().is_none_or(|only| *only == key(&object.id)))
        .map(|object| live_object(object, shown, &mut budget))
        .collect();
    let missing = found.objects.iter().filter(|object| object.is_missing).count();
    let changed = found.objects.iter().filter(|object| !object.fields.is_empty()).count();
    Ok(Answered::json(json!({
        "from": {"revision": found.version.number},
        "to": {"live": true},
        "summary": {"added": 0, "removed": missing, "changed": changed,
            "unchanged": found.compared.saturating_sub(missing + changed)},
        "truncated": budget.is_exceeded,
        "objects": objects,
    })))
}

fn live_object(object: &DriftedObject, shown: &Shown, budget: &mut LineBudget) -> Value {
    let is_hidden = object.id.kind == "Secret" && !shown.reveal;
    let value = |value: &Option<Node>| match value {
        Some(_) if is_hidden => HIDDEN.into(),
        Some(value) => node(value),
        None => Value::Null,
    };
    let mut texts = [String::new(), String::new()];
    let fields: Vec<Value> = object
        .fields
        .iter()
        .map(|field| {
            let (before, after) = (value(&field.recorded), value(&field.live));
            for (text, value) in texts.iter_mut().zip([&before, &after]) {
                if !value.is_null() {
                    text.push_str(&format!("{}: {value}\n", field.path));
                }
            }
            json!({"path": field.path, "before": before, "after": after, "managers": field.managers,
                "noise": false})
        })
        .collect();
    let change = match object {
        object if object.is_missing => "missing",
        object if object.is_unchecked() => "unchecked",
        _ => "changed",
    };
    let lines = budget.lines(&texts[0], &texts[1]);
    with_identity(
        &object.id,
        json!({"change": change, "problem": object.problem, "before": null, "after": null, "fields": fields,
            "lines": lines}),
    )
}
