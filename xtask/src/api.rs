//! `api`: lists the public items of the library, so that a change to them is seen in review.
//!
//! The list is made from the source text, which rustfmt has formatted: items begin at the margin, members one step in.
//! That every `pub` item is reachable from outside is checked by the compiler (`unreachable_pub`). See
//! docs/decisions/0021-api-list.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::shell::{print_line, root};

/// Compares the lists with the source, or writes them.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let write = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => bail!("usage: cargo xtask api [--write]"),
    };
    let mut outdated = Vec::new();
    for name in listed_crates()? {
        let file = root().join("crates").join(&name).join("api.txt");
        let list = list_crate(&root().join("crates").join(&name).join("src"))?;
        if write {
            fs::write(&file, list).with_context(|| format!("cannot write {}", file.display()))?;
        } else if fs::read_to_string(&file).ok().as_ref() != Some(&list) {
            outdated.push(format!("crates/{name}/api.txt"));
        }
    }
    if !outdated.is_empty() {
        bail!(
            "the public API has changed: {}; `cargo xtask api --write` renews the lists for review",
            outdated.join(", ")
        );
    }
    print_line("api: the lists are up to date");
    Ok(())
}

/// The folders of `lib` and of all crates that it re-exports.
fn listed_crates() -> Result<Vec<String>> {
    let path = root().join("crates/lib/src/lib.rs");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let exports = text.lines().filter_map(|line| line.strip_prefix("pub use pintle_")?.split(' ').next());
    Ok(["lib"].into_iter().chain(exports).map(ToOwned::to_owned).collect())
}

fn list_crate(source: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(source, &mut files)?;
    let mut texts = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let relative = file.strip_prefix(source).unwrap_or(&file).to_string_lossy().into_owned();
        texts.push((relative, text));
    }
    let types: BTreeSet<&str> = texts.iter().flat_map(|(_, text)| public_types(text)).collect();
    let mut list = String::new();
    for (file, text) in &texts {
        let items = Lister::new(text, &types).list();
        if !items.is_empty() {
            list.push_str(&format!("# src/{file}\n{items}\n"));
        }
    }
    Ok(list)
}

/// The source files below a folder, sorted, without those of tests.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    for path in paths {
        let is_test = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_test {
            collect(&path, files)?;
        } else if !is_test && path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The names of the public types and traits of a file.
fn public_types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = ["struct ", "enum ", "trait ", "type "]
            .iter()
            .find_map(|kind| line.strip_prefix("pub ")?.strip_prefix(kind))?;
        rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
    })
}

/// Lists the public items of one file.
struct Lister<'t> {
    lines: std::iter::Peekable<std::str::Lines<'t>>,
    types: &'t BTreeSet<&'t str>,
    list: String,
}

impl<'t> Lister<'t> {
    fn new(text: &'t str, types: &'t BTreeSet<&'t str>) -> Lister<'t> {
        Lister { lines: text.lines().peekable(), types, list: String::new() }
    }

    fn list(mut self) -> String {
        let mut attributes = Vec::new();
        while let Some(line) = self.lines.next() {
            if line.starts_with("#[") {
                attributes.push(self.until(line, |text| text.ends_with(']')));
                continue;
            }
            if line.starts_with("//") || line.is_empty() || line.starts_with(' ') {
                continue;
            }
            let is_test = attributes.iter().any(|attribute| attribute.starts_with("#[cfg(test)"));
            let shown: Vec<String> =
                std::mem::take(&mut attributes).into_iter().filter(|text| is_shown(text)).collect();
            match is_test {
                true if line.ends_with('{') => self.skip_block(),
                true => {}
                false => self.item(line, &shown),
            }
        }
        self.list
    }

    fn item(&mut self, line: &str, attributes: &[String]) {
        let is_block = line.starts_with("impl") || line.starts_with("pub ");
        if !is_block {
            // A list of imports ends with `};`, unlike every other block.
            if line.starts_with("use ") {
                self.until(line, |text| text.ends_with(';'));
            } else if line.ends_with('{') {
                self.skip_block();
            }
            return;
        }
        let head = match line.starts_with("pub use ") {
            true => self.until(line, |text| text.ends_with(';')),
            false => self.until(line, is_complete),
        };
        let text = head.trim_end_matches(" {").trim_end_matches(" {}");
        if line.starts_with("impl") {
            return self.implementation(&head, text, attributes);
        }
        self.add(attributes, 0, text.split(" = ").next().filter(|_| is_constant(text)).unwrap_or(text));
        if !head.ends_with('{') {
            return;
        }
        match text.trim_start_matches("pub ").split(' ').next() {
            Some("struct") => self.members(|line| line.starts_with("pub ")),
            Some("enum" | "union") => self.members(|_| true),
            Some("trait" | "unsafe") => self.members(is_associated),
            _ => self.skip_block(),
        }
    }

    /// Adds an `impl` block: the header if it implements a trait, otherwise its public members.
    fn implementation(&mut self, head: &str, text: &str, attributes: &[String]) {
        if !head.ends_with('{') {
            // An empty block.
            if self.is_public_implementation(text) {
                self.add(attributes, 0, text);
            }
            return;
        }
        if text.contains(" for ") {
            if self.is_public_implementation(text) {
                self.add(attributes, 0, text);
            }
            return self.skip_block();
        }
        let before = self.list.len();
        self.add(attributes, 0, text);
        let header = self.list.len();
        self.members(|line| line.starts_with("pub "));
        if self.list.len() == header {
            self.list.truncate(before);
        }
    }

    fn is_public_implementation(&self, text: &str) -> bool {
        text.split_once(" for ").is_some_and(|(_, on)| {
            let on = on.split(['<', ' ']).next().unwrap_or_default().trim_start_matches('&');
            self.types.contains(on)
        })
    }

    /// Adds the members of a block that are wanted, up to its end.
    fn members(&mut self, wanted: impl Fn(&str) -> bool) {
        let mut attributes = Vec::new();
        while let Some(line) = self.lines.next() {
            if line == "}" {
                return;
            }
            let inner = line.trim_start();
            let depth = line.len() - inner.len();
            if inner.starts_with("#[") {
                let whole = self.until(inner, |text| text.ends_with(']'));
                if depth == 4 {
                    attributes.push(whole);
                }
            } else if depth >= 4 && !inner.starts_with("//") && !inner.is_empty() {
                let shown: Vec<String> =
                    std::mem::take(&mut attributes).into_iter().filter(|text| is_shown(text)).collect();
                let is_member = depth == 4 && wanted(inner);
                let member = if is_member { self.until(inner, is_complete) } else { inner.to_owned() };
                if is_member && !inner.starts_with(['}', ')']) {
                    let text = member.trim_end_matches(['{', ',']).trim_end();
                    let text = text.split(" = ").next().filter(|_| is_constant(text)).unwrap_or(text);
                    self.add(&shown, 1, text);
                    if member.ends_with('{') {
                        self.fields();
                    }
                } else if inner.ends_with('{') && depth == 4 {
                    self.skip_inner();
                }
            }
        }
    }

    /// Adds the fields of an enum's variant; skips the body of a function.
    fn fields(&mut self) {
        let is_variant = self.list.lines().last().is_some_and(|line| !line.contains("fn "));
        while let Some(line) = self.lines.next() {
            if line.starts_with("    }") {
                return;
            }
            let inner = line.trim_start();
            if is_variant && line.len() - inner.len() == 8 && !inner.starts_with("//") {
                match inner.starts_with("#[") {
                    true => drop(self.until(inner, |text| text.ends_with(']'))),
                    false => self.add(&[], 2, inner.trim_end_matches(',')),
                }
            }
        }
    }

    fn skip_inner(&mut self) {
        while self.lines.next().is_some_and(|line| !line.starts_with("    }")) {}
    }

    fn skip_block(&mut self) {
        while self.lines.next().is_some_and(|line| line != "}") {}
    }

    /// Joins lines until the text is complete.
    fn until(&mut self, first: &str, is_complete: impl Fn(&str) -> bool) -> String {
        let mut text = first.trim().to_owned();
        while !is_complete(&text) {
            let Some(line) = self.lines.next() else { break };
            let line = line.trim();
            if line.starts_with("//") {
                continue;
            }
            // rustfmt breaks lists after `(`, and ends them with a comma.
            if !text.ends_with(['(', '<', '[', '{']) && !line.starts_with([')', '>', ']', '}']) {
                text.push(' ');
            }
            if line.starts_with([')', '>', ']', '}']) && text.ends_with(',') {
                text.pop();
            }
            text.push_str(line);
        }
        text
    }

    fn add(&mut self, attributes: &[String], depth: usize, text: &str) {
        let indent = "    ".repeat(depth);
        for attribute in attributes {
            self.list.push_str(&format!("{indent}{attribute}\n"));
        }
        self.list.push_str(&format!("{indent}{text}\n"));
    }
}

/// Whether a joined head of an item is whole: it opens a block, or ends.
fn is_complete(text: &str) -> bool {
    let balanced = |open: char, close: char| text.matches(open).count() == text.matches(close).count();
    let is_flat = balanced('(', ')') && balanced('[', ']');
    is_flat && (text.ends_with(['{', ';', ',', '}']) || is_constant(text) && text.contains(" = "))
        || text.ends_with('{') && is_flat
}

fn is_constant(text: &str) -> bool {
    let text = text.strip_prefix("pub ").unwrap_or(text);
    (text.starts_with("const ") && !text.starts_with("const fn")) || text.starts_with("static ")
}

fn is_associated(line: &str) -> bool {
    ["fn ", "async fn ", "type ", "const "].iter().any(|kind| line.starts_with(kind))
}

/// Whether an attribute is part of what users of an item rely on.
fn is_shown(attribute: &str) -> bool {
    ["#[derive(", "#[cfg(", "#[non_exhaustive]", "#[must_use"]
        .iter()
        .any(|shown| attribute.starts_with(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_items_are_listed_and_others_are_not() {
        let text = "\
//! A file.

use std::fmt;
use std::io::{
    Read, Write,
};

/// A point.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its place.
    pub x: i64,
    y: i64,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// One.
    #[error(\"one {what}\")]
    One {
        /// What.
        what: String,
    },
    /// Two.
    Two(Box<Error>),
}

impl Point {
    /// The limit.
    pub const MAX: i64 = 3;

    /// Makes one.
    #[must_use]
    pub fn new(
        x: i64,
        y: i64,
    ) -> Point {
        Point { x, y }
    }

    fn hidden(&self) {
        if true {}
    }
}

impl fmt::Display for Point {
    fn fmt(&self) {}
}

impl fmt::Display for Hidden {
    fn fmt(&self) {}
}

/// A port.
pub trait Port: Send {
    /// Sends.
    fn send(&self, text: &str);

    /// Receives.
    fn receive(&self) -> String {
        String::new()
    }
}

pub(crate) fn inner() {}

/// Adds.
pub fn add(a: i64, b: i64) -> i64 {
    a + b
}

pub use std::collections::{
    BTreeMap, BTreeSet,
};

#[cfg(test)]
mod tests {
    pub fn none() {}
}
";
        let types = public_types(text).collect();
        let list = Lister::new(text, &types).list();
        let expected = "\
#[derive(Clone, Debug)]
pub struct Point
    pub x: i64
#[derive(Debug)]
#[non_exhaustive]
pub enum Error
    One
        what: String
    Two(Box<Error>)
impl Point
    pub const MAX: i64
    #[must_use]
    pub fn new(x: i64, y: i64) -> Point
impl fmt::Display for Point
pub trait Port: Send
    fn send(&self, text: &str);
    fn receive(&self) -> String
pub fn add(a: i64, b: i64) -> i64
pub use std::collections::{BTreeMap, BTreeSet};
";
        assert_eq!(list, expected);
    }
}
