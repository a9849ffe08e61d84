//! The formats of a plan: text, JSON, Markdown for pull requests, and Graphviz.

use pintle::diff::lines::{self, Side};
use pintle::ops::{Operation, PlannedAction, PlannedChange, PlannedHook, PlannedObject, ReleasePlan};
use pintle::plan::recreation::Recreation;
use pintle::tree::{Map, Node, json};

use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;

/// The format of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Json,
    Markdown,
    Dot,
}

/// Prints a plan.
pub(super) fn print(
    invocation: &mut Invocation<'_>,
    plan: &ReleasePlan,
    format: Format,
) -> Result<(), Failure> {
    let layout = Layout::new(invocation, format);
    let text = match format {
        Format::Text => layout.text(plan),
        Format::Markdown => layout.markdown(plan),
        Format::Dot => dot(plan),
        Format::Json => json_text(&layout.tree(plan)),
    };
    invocation.ui.print(&text)
}

fn json_text(node: &Node) -> String {
    let bytes = json::write_pretty(node).unwrap_or_default();
    format!("{}\n", String::from_utf8_lossy(&bytes))
}

/// Prints what comes after several plans: JSON as a whole, or a summary.
pub(super) fn print_list(
    invocation: &mut Invocation<'_>,
    format: Format,
    trees: Vec<Node>,
    summary: &str,
) -> Result<(), Failure> {
    match format {
        Format::Json => invocation.ui.print(&json_text(&map(vec![("releases", Node::List(trees))]))),
        _ => invocation.ui.print(&format!("{summary}\n")),
    }
}

pub(super) struct Layout {
    colored: bool,
    context: Option<usize>,
    unchanged: bool,
    insignificant: bool,
}

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

impl Layout {
    pub(super) fn new(invocation: &mut Invocation<'_>, format: Format) -> Self {
        Layout {
            colored: invocation.ui.paint().on && format == Format::Text,
            context: usize::try_from(invocation.flags.int(names::CONTEXT, invocation.environment)).ok(),
            unchanged: invocation.flags.on(names::SHOW_UNCHANGED),
            insignificant: invocation.flags.on(names::SHOW_INSIGNIFICANT),
        }
    }

    /// Prints a plan of several; as JSON, only adds it to the list.
    pub(super) fn print_one_of_many(
        &self,
        invocation: &mut Invocation<'_>,
        plan: &ReleasePlan,
        format: Format,
        trees: &mut Vec<Node>,
    ) -> Result<(), Failure> {
        let text = match format {
            Format::Json => {
                trees.push(self.tree(plan));
                return Ok(());
            }
            Format::Markdown => self.markdown(plan),
            _ => self.text(plan),
        };
        invocation.ui.print(&format!("{text}\n"))
    }

    fn paint(&self, color: &str, text: &str) -> String {
        if self.colored { format!("{color}{text}{PLAIN}") } else { text.to_owned() }
    }

    fn shown<'p>(&self, plan: &'p ReleasePlan) -> impl Iterator<Item = &'p PlannedObject> {
        let (unchanged, insignificant) = (self.unchanged, self.insignificant);
        plan.objects.iter().filter(move |object| {
            unchanged
                || object.action != PlannedAction::Unchanged
                || object.problem.is_some()
                || (insignificant && !object.insignificant_changes.is_empty())
        })
    }

    /// The changes that are shown only if asked for.
    fn insignificant_lines(&self, object: &PlannedObject) -> Vec<String> {
        if !self.insignificant {
            return Vec::new();
        }
        let value =
            |node: &Node| String::from_utf8_lossy(&json::write(node).unwrap_or_default()).into_owned();
        let line = |change: &PlannedChange| {
            let path = &change.path;
            match (&change.before, &change.after) {
                (Some(before), Some(after)) => {
                    format!("{path}: {} instead of {}", value(after), value(before))
                }
                (None, Some(after)) => format!("{path}: {} is new", value(after)),
                (Some(before), None) => format!("{path}: {} is removed", value(before)),
                (None, None) => path.clone(),
            }
        };
        object.insignificant_changes.iter().map(line).collect()
    }

    fn text(&self, plan: &ReleasePlan) -> String {
        let mut text = format!("{}\n", title(plan));
        for hook in plan.hooks.iter().filter(|hook| runs_before(hook)) {
            text.push_str(&format!("\n{}\n", hook_line(hook)));
        }
        let mut stage = None;
        for object in self.shown(plan) {
            if object.stage.is_some() && object.stage != stage {
                stage = object.stage;
                text.push_str(&format!("\n{}\n", stage_line(plan, stage)));
            }
            let (mark, color) = mark(object.action);
            text.push_str(&format!(
                "\n{}\n",
                self.paint(color, &format!("{mark} {} {}", object.action.name(), describe(object)))
            ));
            for line in self.notes(object) {
                text.push_str(&format!("  {}\n", self.paint(RED, &line)));
            }
            for (side, line) in self.lines(object) {
                let line = match side {
                    Some(Side::New) => self.paint(GREEN, &format!("+ {line}")),
                    Some(Side::Old) => self.paint(RED, &format!("- {line}")),
                    Some(Side::Common) if line.is_empty() => String::new(),
                    Some(Side::Common) => format!("  {line}"),
                    None => "...".to_owned(),
                };
                text.push_str(&format!("    {}\n", line).replace("    \n", "\n"));
            }
            for line in self.insignificant_lines(object) {
                text.push_str(&format!("    insignificant: {line}\n"));
            }
        }
        for hook in plan.hooks.iter().filter(|hook| !runs_before(hook)) {
            text.push_str(&format!("\n{}\n", hook_line(hook)));
        }
        if let Some(deferred) = &plan.deferred {
            text.push_str(&format!("\n{}\n", self.paint(YELLOW, &format!("! {deferred}"))));
        }
        text.push_str(&format!("\n{}\n", summary(plan)));
        text
    }

    /// The conflicts, immutable fields and errors that the server reported for a step.
    fn notes(&self, object: &PlannedObject) -> Vec<String> {
        let mut notes: Vec<String> = object
            .conflicts
            .iter()
            .map(|conflict| format!("conflict: {} is owned by {}", conflict.field, conflict.manager))
            .collect();
        notes.extend(
            object
                .yielded
                .iter()
                .map(|conflict| format!("yielded: {} is left to {}", conflict.field, conflict.manager)),
        );
        notes.extend(object.immutable.iter().map(|field| match object.recreation {
            None => format!("immutable: {field} cannot be changed in place"),
            Some(Recreation::DeleteDependents) => {
                format!("immutable: {field} changes, so the object and its dependents are deleted and created again")
            }
            Some(Recreation::OrphanDependents) => {
                format!("immutable: {field} changes, so the object is deleted and created again; its dependents stay")
            }
        }));
        notes.extend(object.kept_because.iter().map(|reason| format!("kept: {reason}")));
        let is_explained = !object.conflicts.is_empty() || !object.immutable.is_empty();
        if let (false, Some(problem)) = (is_explained, &object.problem) {
            notes.push(format!("refused: {problem}"));
        }
        notes
    }

    /// The changed lines of an object with their context; `None` stands for lines left out.
    fn lines(&self, object: &PlannedObject) -> Vec<(Option<Side>, String)> {
        if matches!(object.action, PlannedAction::Delete | PlannedAction::Keep | PlannedAction::Forget) {
            return Vec::new();
        }
        let (before, after) = (object.before.as_deref().unwrap_or(""), object.after.as_deref().unwrap_or(""));
        let (before, after) = (before.trim_end().as_bytes(), after.trim_end().as_bytes());
        if before.is_empty() {
            let text = String::from_utf8_lossy(after);
            return text.lines().map(|line| (Some(Side::New), line.to_owned())).collect();
        }
        let diff = lines::diff(before, after, false);
        let near = |index: usize| match self.context {
            None => true,
            Some(context) => {
                let range = index.saturating_sub(context)..(index + context + 1).min(diff.len());
                diff[range].iter().any(|line| line.side != Side::Common)
            }
        };
        let mut shown: Vec<(Option<Side>, String)> = Vec::new();
        for (index, line) in diff.iter().enumerate() {
            if near(index) {
                shown.push((Some(line.side), String::from_utf8_lossy(line.text(before, after)).into_owned()));
            } else if shown.last().is_none_or(|(side, _)| side.is_some()) {
                shown.push((None, String::new()));
            }
        }
        if shown.iter().all(|(side, _)| side.is_none_or(|side| side == Side::Common)) {
            Vec::new()
        } else {
            shown
        }
    }

    fn markdown(&self, plan: &ReleasePlan) -> String {
        let mut text = format!("### {}\n\n{}\n\n", title(plan), summary(plan));
        let has_stages = plan.stages() > 0;
        if self.shown(plan).next().is_some() {
            text.push_str(if has_stages { "| Stage " } else { "" });
            text.push_str("| Action | Kind | Namespace | Name |\n");
            text.push_str(if has_stages { "|---" } else { "" });
            text.push_str("|---|---|---|---|\n");
        }
        for object in self.shown(plan) {
            let id = &object.id;
            if has_stages {
                let stage = object.stage.map(|stage| stage.to_string()).unwrap_or_default();
                text.push_str(&format!("| {stage} "));
            }
            text.push_str(&format!(
                "| {} | {} | {} | {} |\n",
                object.action.name(),
                id.kind,
                id.namespace,
                id.name
            ));
        }
        if let Some(deferred) = &plan.deferred {
            text.push_str(&format!("\n> **Scripts**: {deferred}\n"));
        }
        if !plan.hooks.is_empty() {
            text.push_str("\nHooks, in order:\n\n");
            for hook in &plan.hooks {
                text.push_str(&format!("1. {}\n", hook_line(hook)));
            }
        }
        for object in self.shown(plan) {
            for note in self.notes(object) {
                text.push_str(&format!("\n> **{}**: {note}\n", describe(object)));
            }
            for line in self.insignificant_lines(object) {
                text.push_str(&format!("\n> {}, insignificant: {line}\n", describe(object)));
            }
            let lines = self.lines(object);
            if lines.is_empty() {
                continue;
            }
            text.push_str(&format!(
                "\n<details><summary>{} {}</summary>\n\n```diff\n",
                object.action.name(),
                describe(object)
            ));
            for (side, line) in lines {
                let sign = match side {
                    Some(Side::New) => "+ ",
                    Some(Side::Old) => "- ",
                    Some(Side::Common) => "  ",
                    None => "...",
                };
                text.push_str(&format!("{sign}{line}\n"));
            }
            text.push_str("```\n\n</details>\n");
        }
        text
    }
}

fn mark(action: PlannedAction) -> (&'static str, &'static str) {
    match action {
        PlannedAction::Create => ("+", GREEN),
        PlannedAction::Update | PlannedAction::Adopt => ("~", YELLOW),
        PlannedAction::Delete => ("-", RED),
        PlannedAction::Recreate => ("!", RED),
        PlannedAction::Unchanged | PlannedAction::Keep | PlannedAction::Forget => ("=", PLAIN),
    }
}

fn title(plan: &ReleasePlan) -> String {
    let versions = match (plan.from, plan.to) {
        (Some(from), Some(to)) if from != to => format!(", version {from} to {to}"),
        (_, Some(to)) => format!(", version {to}"),
        (_, None) => String::new(),
    };
    let operation = plan.operation.name();
    format!("Plan to {operation} release {} in namespace {}{versions}", plan.release, plan.namespace)
}

/// `Kind namespace/name`, with the group of kinds that are not built in.
fn describe(object: &PlannedObject) -> String {
    let id = &object.id;
    let kind = match id.group.contains('.') && !id.group.ends_with(".k8s.io") {
        true => format!("{}.{}", id.kind, id.group),
        false => id.kind.clone(),
    };
    match id.namespace.as_str() {
        "" => format!("{kind} {}", id.name),
        namespace => format!("{kind} {namespace}/{}", id.name),
    }
}

/// `stage 2 of 3`, after what the plan waits for.
fn stage_line(plan: &ReleasePlan, stage: Option<usize>) -> String {
    let stage = stage.unwrap_or(1);
    let condition = match (stage, plan.operation) {
        (1, _) => "",
        (_, Operation::Uninstall) => ", when what depends on it is gone",
        _ => ", when what it depends on is ready",
    };
    format!("> stage {stage} of {}{condition}", plan.stages())
}

fn runs_before(hook: &PlannedHook) -> bool {
    hook.event.as_str().starts_with("pre-")
}

fn hook_line(hook: &PlannedHook) -> String {
    format!("> run {} hook {} {} (weight {})", hook.event.as_str(), hook.kind, hook.name, hook.weight)
}

fn summary(plan: &ReleasePlan) -> String {
    // What cannot be applied is not counted as if it could.
    let works = |object: &&PlannedObject| object.problem.is_none();
    let count = |action| plan.objects.iter().filter(works).filter(|object| object.action == action).count();
    let parts = [
        (PlannedAction::Create, "to create"),
        (PlannedAction::Update, "to update"),
        (PlannedAction::Adopt, "to adopt"),
        (PlannedAction::Recreate, "to recreate"),
        (PlannedAction::Delete, "to delete"),
        (PlannedAction::Keep, "to keep"),
        (PlannedAction::Unchanged, "unchanged"),
    ];
    let mut parts: Vec<String> = parts
        .into_iter()
        .map(|(action, text)| (count(action), text))
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!("{count} {text}"))
        .collect();
    let failing = plan.objects.iter().filter(|object| object.problem.is_some()).count();
    if failing > 0 {
        parts.push(format!("{failing} that cannot be applied"));
    }
    if !plan.hooks.is_empty() {
        let plural = if plan.hooks.len() == 1 { "hook" } else { "hooks" };
        parts.push(format!("{} {plural} to run", plan.hooks.len()));
    }
    match parts.is_empty() {
        true => "Plan: nothing to do.".to_owned(),
        false => format!("Plan: {}.", parts.join(", ")),
    }
}

/// The order of hooks and objects as a graph: what is on one line may happen at once.
fn dot(plan: &ReleasePlan) -> String {
    let mut ranks: Vec<Vec<String>> = Vec::new();
    let hooks = |before: bool| {
        let hooks: Vec<&PlannedHook> = plan.hooks.iter().filter(|hook| runs_before(hook) == before).collect();
        hooks
            .chunk_by(|one, next| one.event == next.event && one.group == next.group)
            .map(|group| {
                group
                    .iter()
                    .map(|hook| format!("{} {} {}", hook.event.as_str(), hook.kind, hook.name))
                    .collect()
            })
            .collect::<Vec<Vec<String>>>()
    };
    ranks.extend(hooks(true));
    let changed: Vec<&PlannedObject> =
        plan.objects.iter().filter(|object| object.action.is_change()).collect();
    let batches = changed.chunk_by(|one, next| {
        one.id.kind == next.id.kind && one.action == next.action && one.stage == next.stage
    });
    ranks.extend(batches.map(|batch| {
        batch.iter().map(|object| format!("{} {}", object.action.name(), describe(object))).collect()
    }));
    ranks.extend(hooks(false));
    let mut text = format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(&plan.release));
    for rank in &ranks {
        let nodes: Vec<String> = rank.iter().map(|node| quoted(node)).collect();
        text.push_str(&format!("  {{ rank=same; {}; }}\n", nodes.join("; ")));
    }
    for pair in ranks.windows(2) {
        for from in &pair[0] {
            for to in &pair[1] {
                text.push_str(&format!("  {} -> {};\n", quoted(from), quoted(to)));
            }
        }
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Layout {
    /// The plan as data.
    fn tree(&self, plan: &ReleasePlan) -> Node {
        let number = |value: Option<u64>| value.map_or(Node::Nil, |value| Node::Float(value as f64));
        let mut entries = vec![
            ("operation", plan.operation.name().into()),
            ("release", plan.release.as_str().into()),
            ("namespace", plan.namespace.as_str().into()),
            ("fromVersion", number(plan.from)),
            ("toVersion", number(plan.to)),
            ("hasChanges", plan.has_changes().into()),
            ("objects", Node::List(plan.objects.iter().map(|object| self.object_tree(object)).collect())),
            ("hooks", Node::List(plan.hooks.iter().map(hook_tree).collect())),
        ];
        if let Some(deferred) = &plan.deferred {
            let (event, reason) = (deferred.event.as_str().into(), deferred.reason.as_str().into());
            entries.push(("deferredHandlers", map(vec![("event", event), ("reason", reason)])));
        }
        map(entries)
    }

    fn object_tree(&self, object: &PlannedObject) -> Node {
        let id = &object.id;
        let mut entries = vec![
            ("action", object.action.name().into()),
            ("apiVersion", id.api_version().into()),
            ("kind", id.kind.as_str().into()),
            ("namespace", id.namespace.as_str().into()),
            ("name", id.name.as_str().into()),
            ("crd", object.is_crd.into()),
        ];
        if let Some(stage) = object.stage {
            entries.push(("stage", Node::Int(i64::try_from(stage).unwrap_or(i64::MAX))));
        }
        entries.push(("changes", Node::List(object.changes.iter().map(change_tree).collect())));
        if self.insignificant {
            let changes = object.insignificant_changes.iter().map(change_tree);
            entries.push(("insignificantChanges", Node::List(changes.collect())));
        }
        let conflicts = object.conflicts.iter().map(|conflict| {
            map(vec![
                ("field", conflict.field.as_str().into()),
                ("manager", conflict.manager.as_str().into()),
            ])
        });
        entries.push(("conflicts", Node::List(conflicts.collect())));
        let yielded = object.yielded.iter().map(|conflict| {
            map(vec![
                ("field", conflict.field.as_str().into()),
                ("manager", conflict.manager.as_str().into()),
            ])
        });
        entries.push(("yielded", Node::List(yielded.collect())));
        let immutable = object.immutable.iter().map(|field| field.as_str().into());
        entries.push(("immutableFields", Node::List(immutable.collect())));
        if let Some(recreation) = object.recreation {
            entries.push(("keepsDependents", (recreation == Recreation::OrphanDependents).into()));
        }
        if let Some(reason) = &object.kept_because {
            entries.push(("keptBecause", reason.as_str().into()));
        }
        if let Some(problem) = &object.problem {
            entries.push(("problem", problem.as_str().into()));
        }
        map(entries)
    }
}

/// A change as data.
fn change_tree(change: &PlannedChange) -> Node {
    map(vec![
        ("path", change.path.as_str().into()),
        ("before", change.before.clone().unwrap_or_default()),
        ("after", change.after.clone().unwrap_or_default()),
    ])
}

fn hook_tree(hook: &PlannedHook) -> Node {
    map(vec![
        ("event", hook.event.as_str().into()),
        ("weight", hook.weight.into()),
        ("group", Node::Int(i64::try_from(hook.group).unwrap_or(i64::MAX))),
        ("kind", hook.kind.as_str().into()),
        ("name", hook.name.as_str().into()),
        ("template", hook.template.as_str().into()),
    ])
}

fn map(entries: Vec<(&str, Node)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map<Node>>())
}
