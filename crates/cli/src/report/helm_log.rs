//! What operations decide and do, in the words of Helm's debug log.

use pintle::objects::ObjectId;
use pintle::{AppliedObject, ApplyMethod, ObjectChange, Progress};
use pintle_tree::{LogLevel, LogLine};

type Attributes<'a> = &'a [(&'static str, &'a str)];

/// The lines that Helm logs with `--debug`.
pub(super) fn decisions(progress: &Progress) -> Vec<LogLine> {
    match progress {
        Progress::Decision(line) => vec![line.clone()],
        Progress::Applied(applied) => applied_lines(applied),
        _ => Vec::new(),
    }
}

fn line(message: &'static str, attributes: Attributes<'_>) -> LogLine {
    let attributes = attributes.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    LogLine { level: LogLevel::Debug, message: message.into(), attributes }
}

fn applied_lines(applied: &AppliedObject) -> Vec<LogLine> {
    let id = &applied.id;
    let (namespace, name, kind) =
        (("namespace", id.namespace.as_str()), ("name", id.name.as_str()), ("kind", id.kind.as_str()));
    let gvk = gvk(id);
    let gvk = ("gvk", gvk.as_str());
    match (applied.change, applied.method) {
        (ObjectChange::Created, method) => {
            let by_patch = line("Created resource via patch", &[namespace, name, gvk]);
            let created = line("created a new resource", &[namespace, name, kind]);
            let lines = [(by_patch, method == ApplyMethod::ServerSide), (created, !applied.among_new)];
            lines.into_iter().filter(|(_, is_logged)| *is_logged).map(|(line, _)| line).collect()
        }
        // Helm names what it deletes before it does.
        (ObjectChange::Deleted, _) => Vec::new(),
        (_, ApplyMethod::Replace) => {
            vec![line("replace succeeded", &[name, ("initialKind", &id.kind), kind])]
        }
        (_, ApplyMethod::ServerSide) => vec![line("Patched resource", &[namespace, name, gvk])],
        (ObjectChange::Unchanged, _) => vec![line("no changes detected", &[kind, name])],
        _ => vec![line("patching resource", &[kind, name, namespace])],
    }
}

/// Group, version and kind, as Go prints them.
fn gvk(id: &ObjectId) -> String {
    format!("{}/{}, Kind={}", id.group, id.version, id.kind)
}
