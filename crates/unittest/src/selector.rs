//! Document selectors: which documents of the rendered templates an assertion is about.

use std::collections::BTreeMap;

use pintle_tree::Node;

use crate::path::Path;

/// The documents of each template.
pub(crate) type ByTemplate<'a> = BTreeMap<String, Vec<&'a Node>>;

/// Selects documents by the value at a path.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub(crate) path: Path,
    /// The value; null for any.
    pub(crate) value: Node,
    pub(crate) match_many: bool,
    pub(crate) skip_empty_templates: bool,
}

impl Selector {
    /// Returns the documents that match; templates without any are left out.
    ///
    /// # Errors
    /// When the path is malformed, when there is none, or more than one and only one is expected.
    pub(crate) fn select<'a>(&self, documents: &ByTemplate<'a>) -> Result<ByTemplate<'a>, String> {
        let mut selected = ByTemplate::new();
        let mut count = 0;
        for (template, documents) in documents {
            let mut matching = Vec::new();
            for document in documents {
                if self.matches(document)? {
                    matching.push(*document);
                }
            }
            count += matching.len();
            if !self.match_many && count > 1 {
                return Err("multiple indexes found".to_owned());
            }
            if !matching.is_empty() {
                selected.insert(template.clone(), matching);
            }
        }
        if count == 0 && !self.skip_empty_templates {
            return Err("document not found".to_owned());
        }
        Ok(selected)
    }

    fn matches(&self, document: &Node) -> Result<bool, String> {
        let found = self.path.find(document)?;
        Ok(found.iter().any(|node| self.value.is_nil() || **node == self.value))
    }
}
