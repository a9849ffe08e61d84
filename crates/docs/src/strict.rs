//! Strict mode: every value has a comment.

use std::collections::BTreeMap;

use pintle_regex::Regex;
use pintle_yaml::commented::{Document, Kind};

use crate::comment::Description;
use crate::error::Error;
use crate::info::MAX_DEPTH;

/// Which values may lack a comment. As in helm-docs, a comment counts only if it names its key.
#[derive(Clone, Debug, Default)]
pub struct Strictness {
    /// Paths.
    pub allowed: Vec<String>,
    /// Patterns of paths, in Go's syntax.
    pub allowed_patterns: Vec<Regex>,
}

impl Strictness {
    pub(crate) fn check(
        &self,
        values: &Document,
        descriptions: &BTreeMap<String, Description>,
    ) -> Result<(), Error> {
        let mut missing = Vec::new();
        collect(values, values.root(), descriptions, &mut Vec::new(), &mut missing);
        missing.retain(|path| !self.allows(path));
        if missing.is_empty() { Ok(()) } else { Err(Error::Undocumented(missing)) }
    }

    fn allows(&self, path: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == path)
            || self.allowed_patterns.iter().any(|pattern| pattern.is_match(path.as_bytes()))
    }
}

fn collect(
    values: &Document,
    number: usize,
    descriptions: &BTreeMap<String, Description>,
    path: &mut Vec<String>,
    missing: &mut Vec<String>,
) {
    let node = values.node(number);
    if path.len() > MAX_DEPTH {
        return;
    }
    match node.kind {
        Kind::Mapping => {
            for pair in node.children.chunks_exact(2) {
                path.push(values.node(pair[0]).value.clone());
                let text = path.join(".");
                if !descriptions.contains_key(&text) {
                    missing.push(text);
                }
                collect(values, pair[1], descriptions, path, missing);
                path.pop();
            }
        }
        Kind::Sequence => {
            for (index, &child) in node.children.iter().enumerate() {
                path.push(format!("[{index}]"));
                collect(values, child, descriptions, path, missing);
                path.pop();
            }
        }
        Kind::Scalar | Kind::Alias(_) => {}
    }
}
