//! Which definitions call which.

use std::collections::BTreeMap;
use std::ops::Range;

use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree};
use pintle_tree::Str;

use crate::analysis::Analysis;
use crate::project::FileId;

/// A definition, or a template file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caller {
    /// A definition.
    Define(FileId, Str),
    /// What a file writes outside of its definitions.
    File(FileId),
}

/// Calls: who or what, and the bytes of the names with which it is called, in one file.
pub type Calls = BTreeMap<Caller, (FileId, Vec<Range<usize>>)>;

impl Analysis {
    /// Who calls a definition.
    pub fn callers(&self, name: &Str) -> Calls {
        let mut found = Calls::new();
        let text = name.to_str_lossy();
        for file in self.project.templates() {
            let Some(tree) = &self.project.file(file).text.tree else { continue };
            if !self.project.file(file).text.text.contains(text.as_ref()) {
                continue;
            }
            let facts = self.facts(file);
            for node in facts.names.keys().filter(|node| tree.string(**node).as_ref() == Some(name)) {
                let caller = self.caller_around(file, tree, *node);
                let entry = found.entry(caller).or_insert_with(|| (file, Vec::new()));
                entry.1.push(inner(tree, *node));
            }
        }
        found
    }

    /// What a definition, or a file, calls.
    pub fn callees(&self, caller: &Caller) -> Calls {
        let mut found = Calls::new();
        let (Caller::Define(file, _) | Caller::File(file)) = caller;
        let Some(tree) = &self.project.file(*file).text.tree else { return found };
        let facts = self.facts(*file);
        for node in facts.names.keys() {
            let Some(name) = tree.string(*node) else { continue };
            if self.caller_around(*file, tree, *node) != *caller {
                continue;
            }
            for (home, _) in self.defines.get(&name).into_iter().flatten() {
                let callee = Caller::Define(*home, name.clone());
                let entry = found.entry(callee).or_insert_with(|| (*file, Vec::new()));
                entry.1.push(inner(tree, *node));
            }
        }
        found
    }

    fn caller_around(&self, file: FileId, tree: &SyntaxTree, node: NodeId) -> Caller {
        let define = tree.ancestors(node).find(|around| {
            matches!(tree.kind(*around), NodeKind::Define | NodeKind::Block)
                // The clause of a block belongs to what is around it.
                && tree
                    .child(*around, NodeKind::Body)
                    .is_some_and(|body| tree.ancestors(node).any(|around| around == body))
        });
        let name = define.and_then(|define| tree.string(tree.template_name(define)?));
        name.map_or(Caller::File(file), |name| Caller::Define(file, name))
    }
}

/// The text of a string without its quotes.
fn inner(tree: &SyntaxTree, node: NodeId) -> Range<usize> {
    let range = tree.range(node);
    range.start + 1..(range.end - 1).max(range.start + 1)
}
