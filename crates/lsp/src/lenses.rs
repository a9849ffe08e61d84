//! What is shown above definitions, values and tests: how often they are used, and how tests ended.

use std::ops::Range;

use pintle_gotmpl::syntax::NodeKind;

use crate::analysis::Analysis;
use crate::outline::{Kind, Outline, unquoted};
use crate::project::{FileId, FileKind};

/// A lens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lens {
    /// What it is above.
    pub range: Range<usize>,
    /// What it says.
    pub kind: LensKind,
}

/// What a lens says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LensKind {
    /// How often what is there is used.
    Uses,
    /// Runs the test of a name, and how it ended.
    Test(String),
    /// Runs all tests of a suite.
    Suite,
    /// What tests cover of a template.
    Coverage,
}

impl Analysis {
    /// The lenses of a document.
    pub fn lenses(&self, file: FileId) -> Vec<Lens> {
        let source = self.project.file(file);
        match source.kind {
            FileKind::Template => {
                let Some(tree) = &source.text.tree else { return Vec::new() };
                let names = tree
                    .nodes()
                    .filter(|node| matches!(tree.kind(*node), NodeKind::Define | NodeKind::Block))
                    .filter_map(|node| tree.template_name(node));
                let uses = names.map(|name| {
                    let range = tree.range(name);
                    let inner = range.start + 1..(range.end - 1).max(range.start + 1);
                    Lens { range: inner, kind: LensKind::Uses }
                });
                std::iter::once(Lens { range: 0..0, kind: LensKind::Coverage }).chain(uses).collect()
            }
            FileKind::Values => {
                let Some(outline) = &source.text.outline else { return Vec::new() };
                let Some(document) = outline.documents().find(|id| !outline.node(*id).children.is_empty())
                else {
                    return Vec::new();
                };
                let keys = outline.node(document).children.iter().map(|child| outline.node(*child));
                let keys = keys.filter(|node| node.kind == Kind::Entry && node.key != "<<");
                keys.map(|node| Lens { range: node.key_range.clone(), kind: LensKind::Uses }).collect()
            }
            FileKind::Suite => source
                .text
                .outline
                .as_ref()
                .map_or_else(Vec::new, |outline| suite(outline, &source.text.text)),
            _ => Vec::new(),
        }
    }
}

/// The lenses of a suite: one for all, and one for each test with a name.
fn suite(outline: &Outline, text: &str) -> Vec<Lens> {
    let mut found = Vec::new();
    for document in outline.documents() {
        let first = outline.node(document).children.first().map(|child| outline.node(*child));
        if let Some(first) = first {
            found.push(Lens { range: first.key_range.clone(), kind: LensKind::Suite });
        }
        for id in outline.find(document, &[Some("tests"), None, Some("it")]) {
            let node = outline.node(id);
            let name = unquoted(&text[node.value.clone()]);
            found.push(Lens { range: node.key_range.clone(), kind: LensKind::Test(name) });
        }
    }
    found
}
