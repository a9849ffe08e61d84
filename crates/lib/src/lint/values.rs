//! Rules for values.yaml and its schema.

use std::path::Path;

use pintle_tree::{LogLine, Node};
use pintle_values::schema;

use super::Severity::{Error, Info};
use super::{Findings, Options};
use crate::input;

const FILE: &str = "values.yaml";

pub(super) fn check(folder: &Path, options: &Options, findings: &mut Findings) {
    let path = folder.join(FILE);
    let exists = if path.exists() { Ok(()) } else { Err("file does not exist".to_owned()) };
    if findings.check(Info, FILE, exists) {
        let outcome = check_file(folder, options, &mut findings.log);
        findings.check(Error, FILE, outcome);
    }
}

fn check_file(folder: &Path, options: &Options, log: &mut Vec<LogLine>) -> Result<(), String> {
    let path = folder.join(FILE);
    let text = pintle_chart::read_regular(&path).map_err(|error| input::go_error_text(&path, &error));
    let text = text.map_err(|reason| format!("unable to parse YAML: {reason}"))?;
    let defaults = pintle_yaml::read_map(&text).map_err(|error| {
        // Helm decodes into a named type here, which its error message contains.
        let reason = error.to_string().replace("type map[string]interface {}", "type common.Values");
        format!("unable to parse YAML: {reason}")
    })?;
    let values = Node::Map(pintle_values::coalesce_tables(&options.values, &defaults, log));
    if options.skip_schema {
        return Ok(());
    }
    let read = &mut |location: &str| options.schemas.load(location);
    if let Some(schema) = schema_text(folder, "values.schema.json") {
        schema::check_json(&values, &schema, read, log)?;
    }
    if let Some(schema) = schema_text(folder, "values.schema.yaml") {
        schema::check_yaml(&values, &schema, read, log)?;
    }
    Ok(())
}

/// Returns the text of a schema; `None` for a missing or empty one.
fn schema_text(folder: &Path, name: &str) -> Option<Vec<u8>> {
    pintle_chart::read_regular(&folder.join(name)).ok().filter(|text| !text.is_empty())
}
