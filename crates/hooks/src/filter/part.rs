//! Writes the parts of one document.

use std::borrow::Cow;

use pintle_yaml::outline::{Edits, NodeRef, Outline, expand_aliases, expand_aliases_in};

use super::source::comment;
use crate::change::{Change, Path, apply_to_text, locate};
use crate::plan::{Hook, Part, Plan};
use crate::reference::Renames;

/// The document start marker.
const MARKER: &[u8] = b"---";

/// The byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Writes a document with hooks. `last` means that no other document follows.
pub(super) fn write_parts(text: &[u8], plan: &Plan, renames: &Renames, last: bool, out: &mut Vec<u8>) {
    // The text was parsed before; if that fails now, it is written unchanged so that nothing gets lost.
    let start = out.len();
    if try_write(text, plan, renames, last, out).is_none() {
        out.truncate(start);
        out.extend_from_slice(text);
    }
}

fn try_write(text: &[u8], plan: &Plan, renames: &Renames, last: bool, out: &mut Vec<u8>) -> Option<()> {
    // An alias repeats a node elsewhere, so changing its anchor would change both.
    let spelled = without_aliases(text, plan, renames)?;
    let outline = Outline::read_first(&spelled).ok()?;
    let root = outline.roots().next()?;
    let document = Document { outline: &outline, root, line_break: line_break(&spelled) };
    let start = out.len();
    let mut number = 0;
    if plan.leaves_list() {
        if !plan.empties_list() {
            document.write_rest(plan, out)?;
            number += 1;
        }
        for hook in &plan.hooks {
            for part in &hook.parts {
                document.write_member(hook, part, renames, number > 0, out)?;
                number += 1;
            }
        }
        return Some(());
    }
    for hook in &plan.hooks {
        for part in &hook.parts {
            number += 1;
            let changes = hook.changes(root, part, renames);
            document.write_copy(&changes, out.len() > start, last && number == hook.parts.len(), out)?;
        }
    }
    Some(())
}

/// The text with aliases expanded where anchors are shared by nodes that change. Usually that is the text itself.
fn without_aliases<'t>(text: &'t [u8], plan: &Plan, renames: &Renames) -> Option<Cow<'t, [u8]>> {
    // A cheap test: aliases need `*`, and merge keys `<<`.
    let shares = memchr::memchr2(b'*', b'<', text).is_some();
    if !shares {
        return Some(Cow::Borrowed(text));
    }
    let outline = Outline::read_first(text).ok()?;
    let root = outline.roots().next()?;
    let mut paths: Vec<Path> = Vec::new();
    for hook in &plan.hooks {
        for part in &hook.parts {
            paths.extend(hook.changes(root, part, renames).iter().map(Change::path).cloned());
        }
        if !hook.path.is_empty() {
            paths.push(hook.path.clone());
        }
    }
    let mut spelled = expand_aliases(text, &paths).ok()?;
    for hook in plan.hooks.iter().filter(|hook| !hook.path.is_empty()) {
        if let Cow::Owned(text) = expand_aliases_in(&spelled, &hook.path).ok()? {
            spelled = Cow::Owned(text);
        }
    }
    Some(spelled)
}

fn line_break(text: &[u8]) -> &'static [u8] {
    match memchr::memchr(b'\n', text) {
        Some(at) if at > 0 && text[at - 1] == b'\r' => b"\r\n",
        _ => b"\n",
    }
}

fn begins_with_marker(text: &[u8]) -> bool {
    text.strip_prefix(MARKER)
        .is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\t' | b'\r' | b'\n')))
}

struct Document<'o> {
    outline: &'o Outline<'o>,
    root: NodeRef<'o>,
    line_break: &'static [u8],
}

impl<'o> Document<'o> {
    /// Writes the document with changes. `further` means that a part of it was written already.
    fn write_copy(&self, changes: &[Change], further: bool, last: bool, out: &mut Vec<u8>) -> Option<()> {
        let text = self.outline.text();
        let mut edits = Edits::new(self.outline);
        apply_to_text(self.root, &mut edits, changes);
        if !last {
            edits.terminate(self.root);
        }
        let mut from = 0;
        if further {
            from = self.head_length();
            if !begins_with_marker(&text[from..]) {
                out.extend_from_slice(MARKER);
                out.extend_from_slice(self.line_break);
            }
        }
        edits.apply_in(from..text.len(), out).ok()?;
        if !last && !out.ends_with(b"\n") {
            out.extend_from_slice(self.line_break);
        }
        Some(())
    }

    /// The length of what only the first document of a stream may have: byte order mark and directives.
    fn head_length(&self) -> usize {
        let text = self.outline.text();
        let mark = if text.starts_with(MARK) { MARK.len() } else { 0 };
        let before = &text[..self.root.range().start];
        if !before.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"%")) {
            return mark;
        }
        memchr::memmem::find(before, b"\n---").map_or(mark, |at| at + 1)
    }

    /// Writes the list without its hooks.
    fn write_rest(&self, plan: &Plan, out: &mut Vec<u8>) -> Option<()> {
        let leaving: Vec<Change> = plan.hooks.iter().map(|hook| Change::Remove(hook.path.clone())).collect();
        self.write_copy(&leaving, false, false, out)
    }

    /// Writes a member of the list as its own document.
    fn write_member(
        &self,
        hook: &Hook,
        part: &Part,
        renames: &Renames,
        further: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let text = self.outline.text();
        let member = locate(self.root, &hook.path)?;
        let mut edits = Edits::new(self.outline);
        apply_to_text(self.root, &mut edits, &hook.changes(self.root, part, renames));
        edits.terminate(self.root);
        let range = member.range();
        // A comment behind the last line belongs to a block member, but not to a flow one, where the list
        // continues.
        let end = if member.is_flow() { range.end } else { self.outline.line_end(range.end) };
        let mut changed = Vec::new();
        edits.apply_in(range.start..end, &mut changed).ok()?;
        if further || begins_with_marker(text) {
            out.extend_from_slice(MARKER);
            out.extend_from_slice(self.line_break);
        }
        // Each part repeats the comment, so that its template stays known.
        if let Some(comment) = comment(text) {
            out.extend_from_slice(comment);
            out.extend_from_slice(self.line_break);
        }
        // Dedents the following lines like the first one.
        let indentation = member.indentation();
        for (number, line) in changed.split(|&byte| byte == b'\n').enumerate() {
            let blanks = line.iter().take_while(|&&byte| byte == b' ').count();
            if number > 0 {
                out.push(b'\n');
                out.extend_from_slice(&line[blanks.min(indentation)..]);
            } else {
                out.extend_from_slice(line);
            }
        }
        out.extend_from_slice(self.line_break);
        Some(())
    }
}
