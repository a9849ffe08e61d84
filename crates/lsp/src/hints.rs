//! What is shown behind actions while reading: what they write, which way conditions go, how many items loops have, and what an
//! `end` ends.

use std::ops::Range;

use pintle::render::trace::Branch;
use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree};

use crate::analysis::Analysis;
use crate::preview::Deeds;
use crate::project::FileId;
use crate::shape::{Segment, Shape, Types};

/// The maximum length of a value that is shown.
const MAX_VALUE: usize = 60;
/// The number of lines from which on the opening of a block is shown at its end; both are on the screen if they are near.
const FAR: usize = 8;
/// What in the name of a value or of a function says that it may be secret.
const SECRET: [&str; 14] = [
    "password",
    "passwd",
    "secret",
    "token",
    "key",
    "credential",
    "private",
    "cert",
    "auth",
    "b64enc",
    "rand",
    "htpasswd",
    "encrypt",
    "sha",
];

/// The hints of a part of a template. `deeds` is what it did when it was last rendered.
pub fn hints(
    analysis: &Analysis,
    file: FileId,
    within: &Range<usize>,
    deeds: Option<&Deeds>,
) -> Vec<(usize, String)> {
    let text = &analysis.project.file(file).text;
    let Some(tree) = &text.tree else { return Vec::new() };
    let mut found = Vec::new();
    for node in tree.nodes() {
        let range = tree.range(node);
        if range.end < within.start || range.start > within.end {
            continue;
        }
        let label = match tree.kind(node) {
            NodeKind::Action => value_hint(analysis, file, tree, node, deeds),
            NodeKind::Opening | NodeKind::Else => deeds.and_then(|deeds| branch_hint(tree, node, deeds)),
            NodeKind::End => {
                let opening = tree.parent(node).and_then(|block| tree.child(block, NodeKind::Opening));
                let far = |opening: &NodeId| {
                    text.lines.line(range.start) > text.lines.line(tree.range(*opening).start) + FAR
                };
                opening.filter(far).map(|opening| {
                    let inner = text.text[tree.inner_range(opening)].trim();
                    inner.chars().take(50).collect::<String>().replace('\n', " ")
                })
            }
            _ => None,
        };
        found.extend(label.map(|label| (range.end, format!(" {label}"))));
    }
    found
}

/// The value that an action writes: that of the last render, or what values.yaml says.
fn value_hint(
    analysis: &Analysis,
    file: FileId,
    tree: &SyntaxTree,
    action: NodeId,
    deeds: Option<&Deeds>,
) -> Option<String> {
    let range = tree.range(action);
    let source = String::from_utf8_lossy(tree.text_of(action)).to_lowercase();
    // What may be secret is not shown beside the code.
    if SECRET.iter().any(|word| source.contains(word)) || in_secret(tree, range.start) {
        return None;
    }
    let value = match deeds.and_then(|deeds| deeds.written_in(&range)) {
        Some((_, true)) => return None,
        Some((text, false)) => text.trim().to_owned(),
        None => written_value(analysis, file, tree, action)?,
    };
    let shown = !value.is_empty() && value.chars().count() <= MAX_VALUE && !value.contains('\n');
    shown.then(|| format!("= {value}"))
}

/// Whether an offset is in a document of the kind Secret.
fn in_secret(tree: &SyntaxTree, offset: usize) -> bool {
    let text = tree.text().as_bytes();
    let is_divider = |line: &[u8]| line.trim_ascii_end() == b"---";
    let (mut at, mut secret, mut reached) = (0, false, false);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if is_divider(line) {
            if reached {
                break;
            }
            secret = false;
        }
        secret |= line.trim_ascii() == b"kind: Secret";
        at += line.len();
        reached |= at > offset;
    }
    secret
}

/// Which way a condition went, or how many items a loop had.
fn branch_hint(tree: &SyntaxTree, clause: NodeId, deeds: &Deeds) -> Option<String> {
    let block = tree.parent(clause)?;
    let branch = deeds.branch_in(&tree.range(clause))?;
    if tree.kind(block) == NodeKind::Range && tree.kind(clause) == NodeKind::Opening {
        return Some(match items(tree, block, clause, branch, deeds) {
            0 => "no items".to_owned(),
            1 => "1 item".to_owned(),
            count => format!("{count} items"),
        });
    }
    Some(match branch {
        Branch { taken: 0, skipped: 0 } => return None,
        Branch { skipped: 0, .. } => "→ true".to_owned(),
        Branch { taken: 0, .. } => "→ false".to_owned(),
        Branch { taken, skipped } => format!("→ {taken}× true, {skipped}× false"),
    })
}

/// The items of all rounds of a loop: as often as the first thing in its body ran.
fn items(tree: &SyntaxTree, block: NodeId, clause: NodeId, branch: Branch, deeds: &Deeds) -> u64 {
    if branch.taken == 0 {
        return 0;
    }
    let clauses = tree.clauses(block);
    let body = clauses.iter().find(|(known, _)| *known == clause).and_then(|(_, body)| *body);
    body.map_or(branch.taken, |body| deeds.runs_in(&tree.range(body)).max(branch.taken))
}

/// The value of an action that writes one value as it is.
fn written_value(analysis: &Analysis, file: FileId, tree: &SyntaxTree, action: NodeId) -> Option<String> {
    let pipe = tree.child(action, NodeKind::Pipeline)?;
    let commands: Vec<NodeId> = tree.children(pipe).collect();
    let [command] = commands.as_slice() else { return None };
    let words: Vec<NodeId> = tree.children(*command).collect();
    let [word] = words.as_slice() else { return None };
    if tree.kind(*word) != NodeKind::Selector {
        return None;
    }
    let types: Types = analysis.types_of(file, *word);
    let [Shape::Values(instance, path)] = types.shapes() else { return None };
    if path.contains(&Segment::Any) {
        return None;
    }
    let place = analysis.places(*instance, path).into_iter().next()?;
    analysis.scalar_text(place)
}
