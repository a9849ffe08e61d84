//! The report of `preview` as text.

use pintle::ops::{AppChange, AppStatus, Cause, FieldChange, ObjectChange, ObjectChangeKind, PreviewReport};
use pintle::tree::Node;

use crate::output::grid::counted;

/// The most characters of a value in one line.
const MAX_VALUE: usize = 120;
/// The most fields and lines that are shown of one object.
const MAX_FIELDS: usize = 60;

pub(super) fn text((base, head): (&str, &str), report: &PreviewReport) -> String {
    let mut out = format!("{} in {head}, compared with {base}\n", counted(report.rendered, "app"));
    let failed: Vec<&AppChange> = report.not_rendered().collect();
    if !failed.is_empty() {
        out.push_str(&format!("\nnot rendered ({})\n", failed.len()));
        for app in failed {
            let AppStatus::NotRendered { reason, was_before } = &app.status else { continue };
            let before = if *was_before { ", as before" } else { "" };
            out.push_str(&format!("  {}: {reason}{before} ({})\n", app.id, app.place));
        }
    }
    let dangers = report.dangers();
    if !dangers.is_empty() {
        out.push_str(&format!("\ndangers ({})\n", dangers.len()));
        for (app, danger) in dangers {
            out.push_str(&format!("  {:11} {} ({})\n", danger.kind.name(), danger.text, app.id));
        }
    }
    for app in report.apps.iter().filter(|app| !matches!(app.status, AppStatus::NotRendered { .. })) {
        add_app(&mut out, app);
    }
    let new: Vec<_> = report.notes.iter().filter(|(is_new, _)| *is_new).collect();
    if !new.is_empty() {
        out.push_str(&format!("\nnot understood or left out, new ({})\n", new.len()));
        new.iter().for_each(|(_, note)| out.push_str(&format!("  {note}\n")));
    }
    out.push_str(&format!("\n{}\n", summary(report)));
    out
}

/// The last line.
pub(super) fn summary(report: &PreviewReport) -> String {
    let [added, changed, removed] = report.counts();
    let apps = report.apps.iter().filter(|app| !app.objects.is_empty()).count();
    let (all, known) = report.explained();
    let old = report.notes.iter().filter(|(is_new, _)| !is_new).count();
    let mut text = match added + changed + removed {
        0 => "no object changes".to_owned(),
        _ => format!(
            "{} added, {changed} changed, {removed} removed in {}; {known} of {} {} a proven cause",
            counted(added, "object"),
            counted(apps, "app"),
            counted(all, "change"),
            if all == 1 { "has" } else { "have" },
        ),
    };
    if old > 0 {
        let are = if old == 1 { "is" } else { "are" };
        text.push_str(&format!("; {} {are} as before (--list shows them)", counted(old, "note")));
    }
    text
}

fn add_app(out: &mut String, app: &AppChange) {
    let state = match app.status {
        AppStatus::Added => " (new)",
        AppStatus::Removed => " (removed)",
        _ if app.is_suspended => " (suspended)",
        _ => "",
    };
    out.push_str(&format!("\n{}{state}: {} ({})\n", app.id, app.what, app.place));
    let (routine, others): (Vec<&ObjectChange>, Vec<&ObjectChange>) =
        app.objects.iter().partition(|object| object.is_routine);
    for object in others {
        add_object(out, object);
    }
    if !routine.is_empty() {
        out.push_str(&format!("  ~ only chart labels, checksums and images: {}\n", named(&routine)));
        let mut seen: Vec<String> = Vec::new();
        for field in
            routine.iter().flat_map(|object| &object.fields).filter(|field| field.name.ends_with("image"))
        {
            let line =
                format!("      {} -> {}{}", value(field, true), value(field, false), because(&field.causes));
            if !seen.contains(&line) {
                out.push_str(&format!("{line}\n"));
                seen.push(line);
            }
        }
        let causes = routine.iter().flat_map(|object| &object.fields).flat_map(|field| field.causes.clone());
        let mut causes: Vec<Cause> = causes.collect();
        causes.sort();
        causes.dedup();
        if seen.is_empty() {
            causes.iter().for_each(|cause| out.push_str(&format!("      because {}\n", cause_text(cause))));
        }
    }
    for note in &app.upgrade {
        out.push_str(&format!("  upgrade {}: {}: {}\n", note.severity, note.subject, note.message));
    }
    for finding in &app.findings {
        out.push_str(&format!(
            "  check {}: {}: {} ({})\n",
            finding.severity, finding.object, finding.message, finding.rule
        ));
    }
    if let Some(rehearsal) = &app.rehearsal {
        match rehearsal.is_empty() {
            true => out.push_str("  rehearsed: no findings\n"),
            false => rehearsal.iter().for_each(|line| out.push_str(&format!("  rehearsed: {line}\n"))),
        }
    }
    for note in &app.notes {
        out.push_str(&format!("  note: {note}\n"));
    }
}

/// Objects by their kinds and names.
pub(super) fn named(objects: &[&ObjectChange]) -> String {
    let names: Vec<String> =
        objects.iter().map(|object| format!("{} {}", object.id.kind, object.id.name)).collect();
    names.join(", ")
}

fn add_object(out: &mut String, object: &ObjectChange) {
    let sign = sign(object.kind);
    out.push_str(&format!("  {sign} {}{}\n", title(object), because(&object.causes)));
    for field in object.fields.iter().take(MAX_FIELDS) {
        match lines(field) {
            Some(lines) => {
                out.push_str(&format!("      {}{}\n", field.name, because(&field.causes)));
                lines.iter().take(MAX_FIELDS).for_each(|line| out.push_str(&format!("        {line}\n")));
            }
            None => {
                let (old, new) = (value(field, true), value(field, false));
                let change = match (&field.old, &field.new) {
                    (None, _) => format!("+ {new}"),
                    (_, None) => format!("- {old}"),
                    _ => format!("{old} -> {new}"),
                };
                out.push_str(&format!("      {}: {change}\n", field.name));
                field
                    .causes
                    .iter()
                    .for_each(|cause| out.push_str(&format!("        because {}\n", cause_text(cause))));
            }
        }
    }
    if object.fields.len() > MAX_FIELDS {
        out.push_str(&format!("      and {} more fields\n", object.fields.len() - MAX_FIELDS));
    }
}

/// The object, as it is named in reports.
pub(super) fn title(object: &ObjectChange) -> String {
    let namespace = match object.id.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" in {namespace}"),
    };
    format!("{} {}{namespace}", object.id.kind, object.id.name)
}

pub(super) fn sign(kind: ObjectChangeKind) -> char {
    match kind {
        ObjectChangeKind::Added => '+',
        ObjectChangeKind::Removed => '-',
        ObjectChangeKind::Changed => '~',
    }
}

fn because(causes: &[Cause]) -> String {
    match causes {
        [] => String::new(),
        causes => {
            let texts: Vec<String> = causes.iter().map(cause_text).collect();
            format!(", because {}", texts.join("; "))
        }
    }
}

/// A cause in one line.
pub(super) fn cause_text(cause: &Cause) -> String {
    let mut text = format!("{} {}", cause.kind.name(), cause.name);
    match (cause.old.as_str(), cause.new.as_str()) {
        ("", "") => {}
        ("", new) => text.push_str(&format!(" is now {}", cut(new))),
        (old, "") => text.push_str(&format!(" was {}", cut(old))),
        (old, new) => text.push_str(&format!(" {} -> {}", cut(old), cut(new))),
    }
    if let Some(place) = &cause.place {
        text.push_str(&format!(", {place}"));
    }
    if !cause.layer.is_empty() {
        text.push_str(&format!(" ({})", cause.layer));
    }
    if !cause.via.is_empty() {
        text.push_str(&format!(", by {}", cause.via));
    }
    if !cause.is_proven {
        text.push_str(" (only together with others)");
    }
    text
}

/// A value of a field in one line; those of Secrets are not shown.
pub(super) fn value(field: &FieldChange, is_old: bool) -> String {
    let node = if is_old { &field.old } else { &field.new };
    match node {
        None => String::new(),
        Some(_) if field.is_secret => "(secret)".to_owned(),
        Some(Node::Str(text)) => cut(&text.to_str_lossy()),
        Some(node) => cut(&String::from_utf8_lossy(&pintle::tree::json::write(node).unwrap_or_default())),
    }
}

fn cut(text: &str) -> String {
    let line = text.replace('\n', "\\n");
    match line.char_indices().nth(MAX_VALUE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// The lines of a text that differ, if it has several.
pub(super) fn lines(field: &FieldChange) -> Option<Vec<String>> {
    let (Some(Node::Str(old)), Some(Node::Str(new))) = (&field.old, &field.new) else { return None };
    let has_lines =
        |text: &pintle::tree::Str| text.as_bytes().iter().filter(|byte| **byte == b'\n').count() > 1;
    if field.is_secret || !(has_lines(old) || has_lines(new)) {
        return None;
    }
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let differing = pintle::diff::lines::diff(old, new, false);
    let shown = differing.iter().filter_map(|line| {
        let text = String::from_utf8_lossy(line.text(old, new)).trim_end().to_owned();
        match line.side {
            pintle::diff::lines::Side::Common => None,
            pintle::diff::lines::Side::Old => Some(format!("- {text}")),
            pintle::diff::lines::Side::New => Some(format!("+ {text}")),
        }
    });
    Some(shown.collect())
}
