//! Validates schemas against the metaschema of their draft.

use super::budget::Budget;
use super::document::Doc;
use super::draft::Draft;
use super::eager::Compiler;
use super::message::quoted;
use super::validate;

/// Reports what is wrong with a schema, if anything.
pub(super) fn check(doc: &Doc, draft: &Draft) -> Result<(), String> {
    let mut nothing = |path: &str| Err(format!("open {path}: not part of a metaschema"));
    let (mut log, budget) = (Vec::new(), Budget::new());
    let compiled = Compiler::new(&mut nothing, &mut log, &budget).asserting_formats().compile(draft.url)?;
    match validate::failures(&compiled, &doc.to_node(), &budget) {
        None => Ok(()),
        Some(lines) => {
            let url = quoted(format!("{}#", draft.url).as_bytes());
            Err(format!("jsonschema validation failed with {url}\n{lines}"))
        }
    }
}
