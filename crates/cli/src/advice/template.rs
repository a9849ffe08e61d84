//! Templates that fail when they are executed.

use pintle::render::Frame;
use pintle::tree::{Map, Node};
use pintle_gotmpl::blocks::{Block, Blocks};

use super::subject::{Subject, described, value_path};
use super::{operators, parse};
use crate::failure::Failure;
use crate::suggest::{NameOf, likeliest, question};

/// What the root context of a template has.
const ROOT: [&str; 7] = ["Values", "Release", "Chart", "Capabilities", "Files", "Template", "Subcharts"];

/// The fields of `.Chart`.
const CHART: [&str; 17] = [
    "Name",
    "Home",
    "Sources",
    "Version",
    "Description",
    "Keywords",
    "Maintainers",
    "Icon",
    "APIVersion",
    "Condition",
    "Tags",
    "AppVersion",
    "Deprecated",
    "Annotations",
    "KubeVersion",
    "Dependencies",
    "Type",
];

/// What the advice needs to know of a failed template.
pub(super) struct Spot<'f> {
    pub(super) subject: &'f Subject,
    pub(super) message: &'f str,
    pub(super) frames: &'f [Frame],
    /// The innermost position.
    pub(super) frame: &'f Frame,
    pub(super) blocks: Blocks,
    /// The position in the source, in bytes.
    pub(super) offset: usize,
}

/// Improves the failure of a template.
pub(super) fn improve(failure: &mut Failure, subject: &Subject, message: &str, frames: &[Frame]) {
    let Some(frame) = frames.last() else { return };
    let source = frame.source.as_bytes();
    let line_start = match frame.line {
        0 | 1 => 0,
        line => source
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .nth(line - 2)
            .map_or(0, |(at, _)| at + 1),
    };
    let offset = (line_start + frame.column).min(source.len());
    let spot = Spot { subject, message, frames, frame, blocks: Blocks::read(source), offset };
    if is_cycle(frames) {
        return show_cycle(failure, &spot);
    }
    if parse::improve(failure, &spot) {
        return;
    }
    let _ = nil_pointer(failure, &spot)
        .or_else(|| no_field(failure, &spot))
        .or_else(|| no_template(failure, &spot))
        .or_else(|| operators::improve(failure, &spot))
        .or_else(|| required(failure, &spot));
}

impl Spot<'_> {
    /// The action around the position, without its delimiters.
    pub(super) fn action(&self) -> &str {
        let source = self.frame.source.as_str().unwrap_or_default();
        let Some((before, after)) = source.split_at_checked(self.offset) else { return "" };
        let start = before.rfind("{{").map_or(0, |at| at + 2);
        let end = after.find("}}").map_or(source.len(), |at| self.offset + at);
        source.get(start..end).unwrap_or_default().trim_matches(['-', ' ', '\n', '\t'])
    }

    /// The paths of values that the action reads, as keys.
    pub(super) fn paths(&self) -> Vec<Vec<String>> {
        self.action().split(".Values.").skip(1).map(keys_of).filter(|keys| !keys.is_empty()).collect()
    }

    /// The keys of a value from the root chart, for one that a template of a subchart reads.
    pub(super) fn absolute(&self, keys: &[String]) -> Vec<String> {
        let charts = self.frame.file.split("/charts/").skip(1);
        let charts = charts.filter_map(|rest| rest.split('/').next()).map(str::to_owned);
        match keys.first().is_some_and(|key| key == "global") {
            true => keys.to_vec(),
            false => charts.chain(keys.iter().cloned()).collect(),
        }
    }

    /// The value at a path of the template's chart, if the chart can be read.
    pub(super) fn value(&self, keys: &[String]) -> Option<Lookup<'_>> {
        let values = self.subject.values()?;
        Some(look_up(values, &self.absolute(keys)))
    }

    /// The innermost block that changes the dot.
    fn scope(&self) -> Option<&Block> {
        self.blocks.around(self.offset).filter(|block| matches!(block.keyword, "range" | "with")).last()
    }

    /// The definition that the position is in.
    fn definition(&self) -> Option<&Block> {
        self.blocks.around(self.offset).find(|block| matches!(block.keyword, "define" | "block"))
    }

    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.frame.file)
    }
}

fn keys_of(text: &str) -> Vec<String> {
    let end = text
        .find(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '.'))
        .unwrap_or(text.len());
    text[..end].split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

/// What is at a path.
pub(super) enum Lookup<'v> {
    Found(&'v Node),
    /// The first key that is not set, by the number of keys up to it, and the map that does not have it.
    Unset {
        keys: usize,
        parent: &'v Map<Node>,
    },
    /// A value on the way that is no map, by the number of keys up to it.
    NoMap {
        keys: usize,
        found: &'v Node,
    },
}

pub(super) fn look_up<'v>(values: &'v Map<Node>, keys: &[String]) -> Lookup<'v> {
    let mut map = values;
    for (index, key) in keys.iter().enumerate() {
        let last = index + 1 == keys.len();
        match map.get(key.as_bytes()) {
            None | Some(Node::Nil) => return Lookup::Unset { keys: index + 1, parent: map },
            Some(node) if last => return Lookup::Found(node),
            Some(Node::Map(next)) => map = next,
            Some(found) => return Lookup::NoMap { keys: index + 1, found },
        }
    }
    Lookup::Unset { keys: keys.len(), parent: map }
}

/// The same template again and again.
fn is_cycle(frames: &[Frame]) -> bool {
    frames.len() > 100 && cycle(frames).is_some()
}

/// The frames of one round, outermost first.
fn cycle(frames: &[Frame]) -> Option<&[Frame]> {
    let place = |frame: &Frame| (frame.file.clone(), frame.line, frame.column);
    let last = frames.len().checked_sub(1)?;
    let end = place(&frames[last]);
    let before = frames[..last].iter().rposition(|frame| place(frame) == end)?;
    Some(&frames[before + 1..])
}

/// Shows each template of the cycle once.
fn show_cycle(failure: &mut Failure, spot: &Spot<'_>) {
    let Some(round) = cycle(spot.frames) else { return };
    // The round begins with the template that the chain entered first.
    let entered = spot.frames.iter().position(|frame| {
        round
            .iter()
            .any(|other| (&other.file, other.line, other.column) == (&frame.file, frame.line, frame.column))
    });
    let Some(start) = entered else { return };
    let round = &spot.frames[start..start + round.len()];
    let Some(first) = round.first() else { return };
    let name = first.template.to_string();
    failure.own = Some(format!("the template `{name}` includes itself"));
    let mut shown = String::new();
    for (index, frame) in round.iter().enumerate() {
        let next = round.get(index + 1).unwrap_or(first);
        let arrow = if index == 0 { "-->" } else { "   " };
        shown.push_str(&format!(
            "  {arrow} {}:{}:{}: `{}` includes `{}`\n",
            frame.file,
            frame.line,
            frame.column + 1,
            frame.template,
            next.template
        ));
        shown.extend(frame.excerpt.iter().flat_map(|text| text.lines()).map(|line| format!("  {line}\n")));
    }
    if let Some(caller) = start.checked_sub(1).and_then(|index| spot.frames.get(index)) {
        shown.push_str(&format!("  included from {}:{}:{}\n", caller.file, caller.line, caller.column + 1));
    }
    failure.excerpt = Some(shown);
    failure.hint =
        Some("remove one of these calls, or make it conditional, so that the chain ends".to_owned());
}

/// `nil pointer evaluating interface {}.NAME`
fn nil_pointer(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    let field = spot.message.strip_prefix("nil pointer evaluating interface {}.")?;
    let names: Vec<&str> = spot.frame.context.split('.').collect();
    let root = *names.get(1)?;
    let at = names.iter().skip(1).position(|name| *name == field)? + 1;
    if ROOT.contains(&root) && at == 2 && names[0].is_empty() && !is_root_dot(spot) {
        return outside_root(failure, spot, root);
    }
    if root == "Values" {
        let keys: Vec<String> = names[2..].iter().map(|name| (*name).to_owned()).collect();
        if let Some(lookup) = spot.value(&keys) {
            return missing_value(failure, spot, &keys, &lookup);
        }
    }
    if names[0].is_empty()
        && is_root_dot(spot)
        && let Some(near) = likeliest(NameOf::Other, root, &ROOT).filter(|near| *near != root)
    {
        failure.own = Some(format!("the context has no `.{root}`"));
        failure.hint = Some(format!("did you mean `.{near}`?"));
        return Some(());
    }
    let unset = names[..at].join(".");
    failure.own = Some(format!("`{unset}` is not set, so `.{field}` cannot be read from it"));
    failure.hint = Some(match spot.scope() {
        Some(block) if names[0].is_empty() => format!(
            "inside `{} {}` ({}), `.` is {}; values of the chart are `$.Values…`, and `{{{{ with {unset} }}}}` skips what is not set",
            block.keyword,
            block.subject,
            spot.at(block.line),
            item_of(block)
        ),
        _ => format!("test it first: `{{{{ with {unset} }}}}…{{{{ end }}}}`"),
    });
    Some(())
}

/// Whether the dot is the root context: at the top level of a rendered file.
fn is_root_dot(spot: &Spot<'_>) -> bool {
    spot.scope().is_none() && spot.definition().is_none()
}

fn item_of(block: &Block) -> String {
    match block.keyword {
        "range" => "one item of the list or map".to_owned(),
        _ => format!("`{}`", block.subject),
    }
}

/// A field of the root context that is read where the dot is something else.
fn outside_root(failure: &mut Failure, spot: &Spot<'_>, root: &str) -> Option<()> {
    let path = spot.frame.context.as_str();
    if let Some(block) = spot.scope() {
        failure.own = Some(format!(
            "`.{root}` does not exist inside `{}`, where `.` is {}",
            block.keyword,
            item_of(block)
        ));
        failure.hint = Some(format!(
            "write `${path}`: `$` is the context of the template, and `.` that of `{} {}` ({})",
            block.keyword,
            block.subject,
            spot.at(block.line)
        ));
        return Some(());
    }
    let caller = spot.frames.len().checked_sub(2).and_then(|index| spot.frames.get(index))?;
    let name = spot.frame.template.to_string();
    failure.own =
        Some(format!("the template `{name}` reads `.{root}`, but the context it is given has none"));
    failure.hint = Some(format!(
        "{}:{} calls it with something else than the context of the chart; write `include \"{name}\" $` there",
        caller.file, caller.line
    ));
    Some(())
}

/// A value that is not set, or is of another shape.
fn missing_value(failure: &mut Failure, spot: &Spot<'_>, keys: &[String], lookup: &Lookup<'_>) -> Option<()> {
    let whole = spot.absolute(keys);
    match lookup {
        Lookup::Unset { keys: count, parent } => {
            let unset = whole[..*count].join(".");
            let rest = whole[*count..].join(".");
            failure.own = Some(match rest.is_empty() {
                true => format!("the value `{unset}` is not set"),
                false => format!("the value `{unset}` is not set, so `.{rest}` cannot be read from it"),
            });
            failure.hint = Some(how_to_set(&whole, *count, parent));
            Some(())
        }
        Lookup::NoMap { keys: count, found } => {
            let path = whole[..*count].join(".");
            let next = whole.get(*count)?;
            failure.own =
                Some(format!("the value `{path}` is {}, and not a map that has `{next}`", described(found)));
            let set_by = spot.subject.set_by(&value_path(&whole[..*count]));
            let set_by = set_by.map(|source| format!("it is set by {source}; ")).unwrap_or_default();
            failure.hint = Some(format!("{set_by}make it a map: `--set {}=VALUE`", whole.join(".")));
            Some(())
        }
        Lookup::Found(_) => None,
    }
}

/// How to set a value, or which one was meant.
pub(super) fn how_to_set(keys: &[String], unset: usize, parent: &Map<Node>) -> String {
    let known: Vec<String> = parent.keys().map(ToString::to_string).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let above = keys[..unset.saturating_sub(1)].join(".");
    let wrong = keys.get(unset.saturating_sub(1)).map_or("", String::as_str);
    let inside = if above.is_empty() { "the values have".to_owned() } else { format!("`{above}` has") };
    let near = likeliest(NameOf::Other, wrong, &known);
    let near = near.map(|name| format!("{inside} `{name}`; if that is not meant, ")).unwrap_or_default();
    format!(
        "{near}set it with `--set {}=VALUE`, in a file given with -f, or in values.yaml of the chart",
        keys.join(".")
    )
}

/// `can't evaluate field NAME in type TYPE`
fn no_field(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    let (field, kind) = spot.message.strip_prefix("can't evaluate field ")?.split_once(" in type ")?;
    if ROOT.contains(&field) {
        return outside_root(failure, spot, field);
    }
    let names: Vec<&str> = spot.frame.context.split('.').collect();
    match names.get(1) {
        Some(&"Values") => {
            let keys: Vec<String> = names[2..].iter().map(|name| (*name).to_owned()).collect();
            let lookup = spot.value(&keys)?;
            missing_value(failure, spot, &keys, &lookup)
        }
        Some(&"Chart") => {
            failure.own = Some(format!("`.Chart` has no field `{field}`"));
            failure.hint = Some(question(NameOf::Other, field, &CHART).unwrap_or_else(|| {
                format!("it has {}; own data goes into `annotations` of Chart.yaml", CHART.join(", "))
            }));
            Some(())
        }
        _ => {
            let kind = if kind == "interface {}" { "something that is no map" } else { kind };
            let receiver =
                spot.frame.context.rsplit_once(&format!(".{field}")).map_or(".", |(before, _)| before);
            let receiver = if receiver.is_empty() { "." } else { receiver };
            failure.own = Some(format!("`{receiver}` has no field `{field}`: it is {kind}"));
            failure.hint = spot.scope().map(|block| {
                format!(
                    "inside `{} {}` ({}), `.` is {}",
                    block.keyword,
                    block.subject,
                    spot.at(block.line),
                    item_of(block)
                )
            });
            Some(())
        }
    }
}

/// A template that is not defined.
fn no_template(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    let message = spot.message;
    let rest = message
        .strip_prefix("no template ")
        .or_else(|| message.strip_prefix("error calling include: template: no template "))
        .or_else(|| message.strip_prefix("template ").filter(|_| message.ends_with(" not defined")))?;
    let name = rest.split('"').nth(1)?;
    let known = spot.subject.named_templates();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    failure.own = Some(format!("there is no template `{name}`"));
    failure.hint = Some(question(NameOf::Other, name, &known).unwrap_or_else(|| match known.as_slice() {
        [] => "the chart defines no templates; `{{ define \"NAME\" }}…{{ end }}` in a file of templates/ does".to_owned(),
        known if known.len() <= 12 => format!("the chart defines {}", known.join(", ")),
        known => format!("the chart and its subcharts define {} templates, none of which is similar", known.len()),
    }));
    Some(())
}

/// A message of `required`, or of `fail`, about values that are not set.
fn required(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    if failure.hint.is_some() || !spot.frame.context.starts_with("required ") {
        return None;
    }
    let keys = spot.paths().into_iter().next_back()?;
    let whole = spot.absolute(&keys);
    failure.hint = Some(match spot.value(&keys)? {
        Lookup::Unset { keys: count, parent } => {
            format!("`{}` is not set; {}", whole.join("."), how_to_set(&whole, count, parent))
        }
        Lookup::Found(Node::Str(text)) if text.is_empty() => {
            format!(
                "`{0}` is empty; set it with `--set {0}=VALUE`, or in a file given with -f",
                whole.join(".")
            )
        }
        _ => return None,
    });
    Some(())
}
