//! The report of `preview` for programs.

use pintle::ops::{AppChange, AppStatus, Cause, PreviewReport};
use pintle::tree::{Map, Node, json};

use super::text::{cause_text, value};

fn map(entries: Vec<(&str, Node)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, node)| (key.into(), node)).collect::<Map<Node>>())
}

fn text(text: &str) -> Node {
    Node::from(text)
}

fn list<T>(items: impl IntoIterator<Item = T>, node: impl Fn(T) -> Node) -> Node {
    Node::List(items.into_iter().map(node).collect())
}

fn number(count: usize) -> Node {
    Node::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn written(node: &Node) -> String {
    let mut out = String::from_utf8_lossy(&json::write_pretty(node).unwrap_or_default()).into_owned();
    out.push('\n');
    out
}

pub(super) fn json((base, head): (&str, &str), report: &PreviewReport) -> String {
    let [added, changed, removed] = report.counts();
    let (all, known) = report.explained();
    written(&map(vec![
        ("base", text(base)),
        ("head", text(head)),
        ("apps", list(&report.apps, app)),
        (
            "notes",
            list(&report.notes, |(is_new, note)| {
                map(vec![("new", Node::Bool(*is_new)), ("text", text(&note.to_string()))])
            }),
        ),
        (
            "summary",
            map(vec![
                ("apps", number(report.rendered)),
                ("notRendered", number(report.not_rendered().count())),
                ("dangers", number(report.dangers().len())),
                ("added", number(added)),
                ("changed", number(changed)),
                ("removed", number(removed)),
                ("changes", number(all)),
                ("explained", number(known)),
            ]),
        ),
    ]))
}

fn app(app: &AppChange) -> Node {
    let (status, reason) = match &app.status {
        AppStatus::Added => ("added", ""),
        AppStatus::Removed => ("removed", ""),
        AppStatus::Both => ("changed", ""),
        AppStatus::NotRendered { reason, .. } => ("not-rendered", reason.as_str()),
    };
    map(vec![
        ("kind", text(&app.id.kind)),
        ("namespace", text(&app.id.namespace)),
        ("name", text(&app.id.name)),
        ("cluster", text(&app.id.cluster)),
        ("place", text(&app.place.to_string())),
        ("what", text(&app.what)),
        ("status", text(status)),
        ("reason", text(reason)),
        ("suspended", Node::Bool(app.is_suspended)),
        ("objects", list(&app.objects, object)),
        (
            "dangers",
            list(&app.dangers, |danger| {
                map(vec![("kind", text(danger.kind.name())), ("text", text(&danger.text))])
            }),
        ),
        (
            "findings",
            list(&app.findings, |finding| {
                map(vec![
                    ("rule", text(finding.rule)),
                    ("severity", text(finding.severity)),
                    ("object", text(&finding.object)),
                    ("message", text(&finding.message)),
                ])
            }),
        ),
        (
            "upgrade",
            list(&app.upgrade, |note| {
                map(vec![
                    ("subject", text(&note.subject)),
                    ("severity", text(note.severity)),
                    ("message", text(&note.message)),
                ])
            }),
        ),
        ("rehearsal", app.rehearsal.as_ref().map_or(Node::Nil, |lines| list(lines, |line| text(line)))),
    ])
}

fn object(object: &pintle::ops::ObjectChange) -> Node {
    map(vec![
        ("group", text(&object.id.group)),
        ("kind", text(&object.id.kind)),
        ("namespace", text(&object.id.namespace)),
        ("name", text(&object.id.name)),
        ("change", text(object.kind.name())),
        ("template", text(&object.template)),
        ("routine", Node::Bool(object.is_routine)),
        ("causes", list(&object.causes, cause)),
        (
            "fields",
            list(&object.fields, |field| {
                let shown = |node: &Option<Node>| match node {
                    Some(_) if field.is_secret => text("(secret)"),
                    Some(node) => node.clone(),
                    None => Node::Nil,
                };
                map(vec![
                    ("path", text(&field.name)),
                    ("old", shown(&field.old)),
                    ("new", shown(&field.new)),
                    ("causes", list(&field.causes, cause)),
                ])
            }),
        ),
    ])
}

fn cause(cause: &Cause) -> Node {
    map(vec![
        ("kind", text(cause.kind.name())),
        ("name", text(&cause.name)),
        ("file", text(cause.place.as_ref().map_or("", |place| &place.file))),
        ("line", number(cause.place.as_ref().map_or(0, |place| place.line))),
        ("layer", text(&cause.layer)),
        ("old", text(&cause.old)),
        ("new", text(&cause.new)),
        ("proven", Node::Bool(cause.is_proven)),
    ])
}

/// What a reviewer has to see, each with a place in the repository.
struct Remark<'r> {
    rule: String,
    level: &'static str,
    message: String,
    app: &'r AppChange,
    file: String,
    line: usize,
}

fn remarks(report: &PreviewReport) -> Vec<Remark<'_>> {
    let mut remarks = Vec::new();
    for app in &report.apps {
        let mut add = |rule: &str, level: &'static str, message: String, object: Option<&str>| {
            // The input that the object's change comes from is where a reviewer can do something.
            let objects =
                app.objects.iter().filter(|it| object.is_none_or(|name| name.ends_with(&it.id.name)));
            let causes = objects
                .flat_map(|it| it.causes.iter().chain(it.fields.iter().flat_map(|field| &field.causes)));
            let place = object.and_then(|_| causes.filter_map(|cause| cause.place.clone()).next());
            let place = place.unwrap_or_else(|| app.place.clone());
            let (file, line) = (place.file, place.line.max(1));
            remarks.push(Remark { rule: rule.to_owned(), level, message, app, file, line });
        };
        if let AppStatus::NotRendered { reason, .. } = &app.status {
            add("not-rendered", "error", format!("{} is not rendered: {reason}", app.id), None);
        }
        for danger in &app.dangers {
            add(danger.kind.name(), "warning", danger.text.clone(), Some(&danger.object.name));
        }
        for finding in &app.findings {
            let level = match finding.severity {
                "error" => "error",
                "warning" => "warning",
                _ => "note",
            };
            add(
                finding.rule,
                level,
                format!("{}: {}", finding.object, finding.message),
                Some(&finding.object),
            );
        }
        for note in &app.upgrade {
            add("upgrade", "warning", format!("{}: {}", note.subject, note.message), None);
        }
    }
    remarks
}

pub(super) fn sarif(report: &PreviewReport) -> String {
    let remarks = remarks(report);
    let mut rules: Vec<&str> = remarks.iter().map(|remark| remark.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let driver = map(vec![
        ("name", text("pintle preview")),
        ("version", text(env!("CARGO_PKG_VERSION"))),
        ("rules", list(rules, |rule| map(vec![("id", text(rule))]))),
    ]);
    let result = |remark: &Remark<'_>| {
        let region = map(vec![("startLine", number(remark.line))]);
        let artifact = map(vec![("uri", text(&remark.file))]);
        let physical = map(vec![("artifactLocation", artifact), ("region", region)]);
        map(vec![
            ("ruleId", text(&remark.rule)),
            ("level", text(remark.level)),
            ("message", map(vec![("text", text(&remark.message))])),
            ("locations", Node::List(vec![map(vec![("physicalLocation", physical)])])),
        ])
    };
    let run = map(vec![("tool", map(vec![("driver", driver)])), ("results", list(&remarks, result))]);
    written(&map(vec![
        ("$schema", text("https://json.schemastore.org/sarif-2.1.0.json")),
        ("version", text("2.1.0")),
        ("runs", Node::List(vec![run])),
    ]))
}

pub(super) fn junit(report: &PreviewReport) -> String {
    let remarks = remarks(report);
    let failures =
        |app: &AppChange| remarks.iter().filter(|remark| remark.app.id == app.id).collect::<Vec<_>>();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"preview\" tests=\"{}\" failures=\"{}\">\n  <testsuite name=\"apps\" tests=\"{0}\" failures=\"{1}\">\n",
        report.apps.len(),
        report.apps.iter().filter(|app| !failures(app).is_empty()).count()
    );
    for app in &report.apps {
        out.push_str(&format!(
            "    <testcase name=\"{}\" file=\"{}\">\n",
            xml(&app.id.to_string()),
            xml(&app.place.file)
        ));
        let found = failures(app);
        if !found.is_empty() {
            let texts: Vec<String> =
                found.iter().map(|remark| format!("{}: {}", remark.rule, remark.message)).collect();
            out.push_str(&format!(
                "      <failure message=\"{} findings\">{}</failure>\n",
                found.len(),
                xml(&texts.join("\n"))
            ));
        }
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn xml(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            // Other control characters are not allowed in XML.
            character if character.is_control() => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

/// Commands of workflows, which become annotations.
pub(super) fn github(report: &PreviewReport) -> String {
    let mut out = String::new();
    for remark in remarks(report) {
        let level = if remark.level == "note" { "notice" } else { remark.level };
        let (file, line) = (property(&remark.file), remark.line);
        out.push_str(&format!(
            "::{level} file={file},line={line},title={}::{}\n",
            property(&remark.rule),
            data(&remark.message)
        ));
    }
    for app in &report.apps {
        for object in &app.objects {
            for field in object.fields.iter().filter(|_| !object.is_routine) {
                for cause in &field.causes {
                    let Some(place) = &cause.place else { continue };
                    let message = format!(
                        "{} {}: {} {} -> {} ({})",
                        object.id.kind,
                        object.id.name,
                        field.name,
                        value(field, true),
                        value(field, false),
                        cause_text(cause)
                    );
                    out.push_str(&format!(
                        "::notice file={},line={}::{}\n",
                        property(&place.file),
                        place.line,
                        data(&message)
                    ));
                }
            }
        }
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
