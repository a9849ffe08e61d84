//! `drift`: shows how live objects differ from what was recorded.

use pintle::ops::{DriftRequest, DriftedField, DriftedObject, ListRequest, ReleaseDrift};
use pintle::release::Status;
use pintle::tree::{Map, Node, json};
use pintle_tree::quote::quote;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::color::{GREEN, RED, Rule, YELLOW};
use crate::output::grid::counted;
use crate::report::ClusterReporter;

/// `drift [RELEASE]`
pub(crate) static COMMAND: Command = Command {
    name: "drift",
    operands_text: "[RELEASE]",
    short: "show how live objects differ from what was recorded",
    long: "\
Compare the live objects of a release, or of all releases of the namespace, with what was recorded when it was last
deployed: fields that someone has changed or removed, with the field managers that own them now, and objects that are
gone.

    {program} drift web
    {program} drift -A

The server restores each object in a dry run, and what that would change has drifted. So fields that other controllers
add, defaults, and other spellings of a value are not reported. CRDs of crds/ folders are compared too, as far as other
field managers have changed them. With --fix, objects that have drifted are restored; the release gets no new version.

The exit code is 0 if nothing has drifted or everything was restored, 2 if something has, and 1 on errors: also if an object
could not be checked, because the server refused to read it or to restore it in a dry run.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Release,
    flags: &[OWN],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::ALL_NAMESPACES, "look at the releases of all namespaces").short('A'),
    Flag::switch(names::ALL, "also show the releases that have not drifted"),
    Flag::switch(names::FIX, "restore objects that have drifted"),
    Flag::text(names::OUTPUT, "the format: text or json")
        .short('o')
        .or("text")
        .completes(FlagCompletion::Words(&["text", "json"])),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let data = match invocation.flags.text(names::OUTPUT) {
        "text" => false,
        "json" => true,
        other => {
            return Err(Failure::usage(format!("--output is {}", quote(other.as_bytes())))
                .hint("it may be text or json"));
        }
    };
    let connection = Connection::open(invocation)?;
    let correct = invocation.flags.on(names::FIX);
    // Of many releases only those that need attention are shown.
    let shows_all = invocation.flags.on(names::ALL) || !invocation.flags.operands.is_empty();
    let mut unchanged = 0;
    let mut found = Vec::new();
    for (namespace, name) in releases(invocation, &connection)? {
        let request = DriftRequest { name, namespace, correct, ..DriftRequest::default() };
        let drift = connection.run(pintle::ops::drift(&connection.session, &request))?;
        if drift.objects.is_empty() && !shows_all {
            unchanged += 1;
        } else if !data {
            let text = invocation.ui.paint().report(describe(&drift), COLORS);
            invocation.ui.print(&text)?;
        }
        found.push(drift);
    }
    if data {
        let bytes = json::write_pretty(&Node::List(found.iter().map(tree).collect())).unwrap_or_default();
        invocation.ui.print(&format!("{}\n", String::from_utf8_lossy(&bytes)))?;
    }
    if !data && !shows_all {
        let text = match (unchanged, found.len()) {
            (_, 0) => "there are no deployed releases here".to_owned(),
            (unchanged, all) if unchanged == all => format!("no drift in {}", counted(all, "release")),
            (unchanged, all) => {
                format!("no drift in {unchanged} of {}; `--all` shows every one", counted(all, "release"))
            }
        };
        invocation.ui.print(&format!("{text}\n"))?;
    }
    answer(&found, correct)
}

/// Answers by the exit code.
fn answer(found: &[ReleaseDrift], correct: bool) -> Result<(), Failure> {
    let objects = || found.iter().flat_map(|drift| &drift.objects);
    let unchecked = objects().filter(|object| object.is_unchecked()).count();
    if unchecked > 0 {
        let text = format!("{unchecked} {} could not be checked", plural(unchecked));
        return Err(Failure::run_time(text).hint("the problems are listed above"));
    }
    match objects().filter(|object| object.problem.is_some()).count() {
        0 if correct || objects().next().is_none() => Ok(()),
        count if correct => Err(Failure::run_time(format!("{count} {} cannot be restored", plural(count)))),
        _ => Err(Failure::new(FailureKind::Changes, "")),
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "object" } else { "objects" }
}

/// The releases to look at, as namespace and name.
fn releases(
    invocation: &mut Invocation<'_>,
    connection: &Connection,
) -> Result<Vec<(String, String)>, Failure> {
    if let Some(name) = invocation.flags.operands.first() {
        return Ok(vec![(connection.namespace.clone(), name.clone())]);
    }
    let namespace = (!invocation.flags.on(names::ALL_NAMESPACES)).then(|| connection.namespace.clone());
    let request = ListRequest { namespace, statuses: vec![Status::Deployed], ..ListRequest::default() };
    let mut reporter = ClusterReporter::new(invocation.ui, true);
    let listed = connection.run(pintle::ops::list(&connection.session, &request, &mut reporter))?;
    Ok(listed.into_iter().map(|summary| (summary.namespace, summary.name)).collect())
}

const COLORS: &[Rule] = &[
    Rule::new(": ", "no drift", GREEN),
    Rule::new(" ", "have drifted", YELLOW),
    Rule::new(" ", "has drifted", YELLOW),
    Rule::new(" ", "could not be checked", RED),
    Rule::new("    ", "does not exist", RED),
    Rule::new("    ", "problem:", RED),
    Rule::new("    ", "restored", GREEN),
];

fn describe(drift: &ReleaseDrift) -> String {
    let version = &drift.version;
    let mut text =
        format!("release {} in namespace {}, version {}: ", version.name, version.namespace, version.number);
    if drift.objects.is_empty() {
        text.push_str(&format!("no drift in {}\n", counted(drift.compared, "object")));
        return text;
    }
    let unchecked = drift.objects.iter().filter(|object| object.is_unchecked()).count();
    let drifted = drift.objects.len() - unchecked;
    let has_drifted = if drifted == 1 { "has drifted" } else { "have drifted" };
    let parts = [(drifted, has_drifted), (unchecked, "could not be checked")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} of {} {what}", counted(drift.compared, "object")))
        .collect();
    text.push_str(&format!("{}\n", parts.join(", ")));
    for object in &drift.objects {
        text.push_str(&format!("  {} {}\n", object.id.kind, path(object)));
        if object.is_missing {
            text.push_str("    does not exist\n");
        }
        if let Some(problem) = &object.problem {
            text.push_str(&format!("    problem: {problem}\n"));
        }
        for field in &object.fields {
            text.push_str(&format!("    {}\n", field_line(field)));
        }
        if object.is_corrected {
            text.push_str("    restored\n");
        }
    }
    text
}

fn path(object: &DriftedObject) -> String {
    match object.id.namespace.as_str() {
        "" => object.id.name.clone(),
        namespace => format!("{namespace}/{}", object.id.name),
    }
}

fn field_line(field: &DriftedField) -> String {
    let value = |node: &Option<Node>| match node {
        Some(node) => String::from_utf8_lossy(&json::write_raw(node).unwrap_or_default()).into_owned(),
        None => "nothing".to_owned(),
    };
    let by = match field.managers.is_empty() {
        true => String::new(),
        false => format!(" (owned by {})", field.managers.join(", ")),
    };
    format!("{}: {} instead of {}{by}", field.path, value(&field.live), value(&field.recorded))
}

fn tree(drift: &ReleaseDrift) -> Node {
    let version = &drift.version;
    map(vec![
        ("release", version.name.as_str().into()),
        ("namespace", version.namespace.as_str().into()),
        ("version", Node::Float(version.number as f64)),
        ("compared", Node::Float(drift.compared as f64)),
        ("objects", Node::List(drift.objects.iter().map(object_tree).collect())),
    ])
}

fn object_tree(object: &DriftedObject) -> Node {
    let fields = object.fields.iter().map(|field| {
        map(vec![
            ("path", field.path.as_str().into()),
            ("recorded", field.recorded.clone().unwrap_or_default()),
            ("live", field.live.clone().unwrap_or_default()),
            ("managers", Node::List(field.managers.iter().map(|name| name.as_str().into()).collect())),
        ])
    });
    let mut entries = vec![
        ("apiVersion", object.id.api_version().into()),
        ("kind", object.id.kind.as_str().into()),
        ("namespace", object.id.namespace.as_str().into()),
        ("name", object.id.name.as_str().into()),
        ("missing", object.is_missing.into()),
        ("restored", object.is_corrected.into()),
        ("fields", Node::List(fields.collect())),
    ];
    if let Some(problem) = &object.problem {
        entries.push(("problem", problem.as_str().into()));
    }
    map(entries)
}

fn map(entries: Vec<(&str, Node)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map<Node>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle::objects::ObjectId;

    fn found(problem: Option<&str>, is_missing: bool) -> Vec<ReleaseDrift> {
        let object = DriftedObject {
            id: ObjectId::new("v1", "ConfigMap", "default", "web"),
            is_missing,
            fields: Vec::new(),
            problem: problem.map(str::to_owned),
            is_corrected: false,
        };
        vec![ReleaseDrift { version: Default::default(), objects: vec![object], compared: 2 }]
    }

    #[test]
    fn what_could_not_be_checked_has_not_drifted() {
        let drift = found(Some("configmaps is forbidden"), false);
        assert!(describe(&drift[0]).contains(": 1 of 2 objects could not be checked\n"));
        let failure = answer(&drift, false).expect_err("unknown");
        assert_eq!(
            (failure.class, failure.text.as_str()),
            (FailureKind::RunTime, "1 object could not be checked")
        );
        let drift = found(None, true);
        assert!(describe(&drift[0]).contains(": 1 of 2 objects has drifted\n"));
        assert_eq!(answer(&drift, false).expect_err("drifted").class, FailureKind::Changes);
        let failure = answer(&found(Some("refused"), true), true).expect_err("not restored");
        assert_eq!(failure.text, "1 object cannot be restored");
    }
}
