//! User-supplied values, in order of precedence (Helm's `pkg/cli/values`).

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, json, merge, set};

use crate::{Error, Result};

/// The value flags of a command, each in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--values`: file names.
    pub files: Vec<String>,
    /// `--set-json`.
    pub set_json: Vec<String>,
    /// `--set`.
    pub set: Vec<String>,
    /// `--set-string`.
    pub set_string: Vec<String>,
    /// `--set-file`.
    pub set_file: Vec<String>,
    /// `--set-literal`.
    pub set_literal: Vec<String>,
    /// The contents of files and URLs that were already fetched, by the names used in the flags.
    pub fetched: BTreeMap<String, Vec<u8>>,
}

/// Returns the content of a file by the name that the user gave, or the reason why not. This crate reads no files.
pub type ReadSource<'r> = dyn FnMut(&str) -> std::result::Result<Vec<u8>, String> + 'r;

/// Merges all flags: files first, then `--set-json`, `--set`, `--set-string`, `--set-file`, `--set-literal`,
/// regardless of their order on the command line.
///
/// # Errors
/// When a file cannot be read, or a text does not parse.
pub fn layer(overrides: &Overrides, read: &mut ReadSource<'_>) -> Result<Map<Node>> {
    let mut base = Map::new();
    // URLs in `-f` and `--set-file` are fetched by the caller beforehand, because this crate does no I/O.
    let mut read = |name: &str| match overrides.fetched.get(name) {
        Some(text) => Ok(text.clone()),
        None => read(name),
    };
    for name in &overrides.files {
        let text = read(name).map_err(Error::Unreadable)?;
        let values = pintle_yaml::read_values(&text)
            .map_err(|error| Error::BadFile { name: name.clone(), reason: error.to_string() })?;
        base = merge::merge(base, values);
    }
    for text in &overrides.set_json {
        base = apply_json(text, base)?;
    }
    let bad = |flag| move |error: set::Error| Error::BadFlag { flag, reason: error.to_string() };
    for text in &overrides.set {
        set::assign(text, &mut base).map_err(bad("set"))?;
    }
    for text in &overrides.set_string {
        set::assign_strings(text, &mut base).map_err(bad("set-string"))?;
    }
    for text in &overrides.set_file {
        set::assign_files(text, &mut base, &mut |path| read(path)).map_err(bad("set-file"))?;
    }
    for text in &overrides.set_literal {
        set::assign_literal(text, &mut base).map_err(bad("set-literal"))?;
    }
    Ok(base)
}

/// A JSON object is merged like a file; anything else is `key=json`.
fn apply_json(text: &str, mut base: Map<Node>) -> Result<Map<Node>> {
    let trimmed = text.trim();
    if trimmed.starts_with('{') {
        let object = json::read_map(trimmed.as_bytes()).map_err(|_| Error::BadJsonObject(text.to_owned()))?;
        return Ok(merge::merge(base, object));
    }
    set::assign_json(text, &mut base).map_err(|_| Error::BadJson(text.to_owned()))?;
    Ok(base)
}
