//! Front ends call operations of the library, and no functions of the crates below it.
//!
//! What is compared are names: a function of a stage crate that a front end names, by the crate or as `pintle::CRATE::…`, must
//! be in the list of exceptions, and so must the types that do the work of an operation. Types that requests and results are
//! made of are free, and so are their methods, which this check does not see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::shell::root;

/// The crates whose functions front ends may call: formats, words and numbers, and other front ends that the program has inside.
const LANGUAGE: [&str; 9] = ["tree", "yaml", "semver", "time", "gotmpl", "sprig", "controller", "lsp", "ui"];

/// Names in the root of the library that are operations or modules of it, and not of a stage crate.
const LIBRARY: [&str; 5] = ["ops", "cosign", "lint", "embedded", "rehearse"];

/// Types that do the work of an operation.
const WORKERS: [&str; 6] = [
    "pintle::repo::Cached",
    "pintle::repo::DependencySource",
    "pintle::repo::Locked",
    "pintle::repo::Repositories",
    "pintle::repo::Resolver",
    "pintle_plugin::Installer",
];

/// What front ends may name all the same, and why.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    (
        "cli",
        &[
            "pintle::chart::limited",
            "pintle::chart::path::base",
            "pintle::chart::path::clean",
            "pintle::chart::read_limited",
            "pintle::chart::write_atomic",
            "pintle::chart::write_below",
            "pintle::provenance::sha256",
        ],
        "files and texts of the program itself",
    ),
    (
        "cli",
        &["pintle::chart::load", "pintle::chart::load_any_version"],
        "cached archives, and a variable that is checked",
    ),
    (
        "cli",
        &[
            "pintle::repo::Cached",
            "pintle::repo::Repositories",
            "pintle::repo::repository::charts_path",
            "pintle::repo::repository::index_path",
        ],
        "completion reads cached files, within milliseconds and without a request",
    ),
    (
        "cli",
        &["pintle::repo::key_pair_problem", "pintle::registry::check_login_file"],
        "files that flags name",
    ),
    ("cli", &["pintle::repo::pull::expand"], "`cm-push` changes an archive before it uploads it"),
    ("cli", &["pintle::registry::copy::execute"], "`images copy` executes the plan of the operation"),
    (
        "cli",
        &["pintle::provenance::message", "pintle::provenance::sign"],
        "signing asks for passphrases and calls GnuPG",
    ),
    (
        "cli",
        &[
            "pintle::check::report::write",
            "pintle::diff::lines::diff",
            "pintle::images::mapping::skeleton",
            "pintle::images::rewrite",
            "pintle::release::driver_word",
            "pintle::release::helm::encode",
            "pintle::unittest::coverage::html",
            "pintle::unittest::coverage::lcov",
            "pintle::unittest::report::write",
        ],
        "output formats",
    ),
    (
        "cli",
        &[
            "pintle::images::mapping::check_name",
            "pintle::images::mapping::remove",
            "pintle::images::mapping::set",
        ],
        "`images config` edits a file",
    ),
    (
        "cli",
        &["pintle::check::known_deprecation", "pintle::render::function_names"],
        "advice names the replacement of a kind and the nearest function",
    ),
    (
        "cli",
        &["pintle::gitops::hosts", "pintle::gitops::read_objects"],
        "what the base names decides which servers `preview` may ask",
    ),
    ("cli", &["pintle::lua::is_public"], "a rule about addresses"),
    ("cli", &["pintle::cluster::crds::helm_requests"], "a text that `request crd` prints"),
    ("cli", &["pintle::cluster::crds::install_for_controller"], "no operation of the library yet"),
    (
        "cli",
        &[
            "pintle_plugin::Installer",
            "pintle_plugin::archive_name",
            "pintle_plugin::check_duplicates",
            "pintle_plugin::check_manifest",
            "pintle_plugin::load_all",
            "pintle_plugin::load_dir",
            "pintle_plugin::metadata_of_archive",
            "pintle_plugin::pack",
            "pintle_plugin::prepare",
            "pintle_plugin::read_completion",
            "pintle_plugin::read_scripts",
            "pintle_plugin::signed_metadata",
            "pintle_plugin::signing_status",
            "pintle_plugin::symlink",
            "pintle_wasm::call",
        ],
        "plugins are programs of the user, which the program installs and runs",
    ),
    (
        "controller",
        &[
            "pintle::chart::load_archive_within",
            "pintle::chart::load_file_within",
            "pintle::provenance::verify",
        ],
        "charts are fetched with the rights and the budget of a request",
    ),
    (
        "controller",
        &["pintle::repo::Resolver"],
        "charts are fetched with the rights and the budget of a request",
    ),
    ("controller", &["pintle::lua::is_public"], "a rule about addresses"),
    (
        "controller",
        &[
            "pintle::cluster::crds::helm_request_sets",
            "pintle::cluster::crds::helm_requests",
            "pintle::cluster::wait::ready",
        ],
        "objects of the controller itself, and those that requests depend on",
    ),
    ("ui", &["pintle::diff::lines::diff"], "an output format"),
];

/// Names that front ends use against the rule, and exceptions that nobody needs.
pub(super) fn problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for front_end in ["cli", "controller", "ui"] {
        let allowed: BTreeSet<&str> = EXCEPTIONS
            .iter()
            .filter(|(name, ..)| *name == front_end)
            .flat_map(|(_, names, _)| *names)
            .copied()
            .collect();
        let mut named = BTreeMap::new();
        names_in(&root().join("crates").join(front_end).join("src"), &mut named)?;
        for (name, file) in &named {
            if !allowed.contains(name.as_str()) {
                problems.push(format!(
                    "{file} names `{name}`: front ends call operations of `lib`, see xtask/src/tidy/front_ends.rs"
                ));
            }
        }
        for name in allowed.iter().filter(|name| !named.contains_key(**name)) {
            problems.push(format!(
                "xtask/src/tidy/front_ends.rs allows `{name}`, which `{front_end}` does not name"
            ));
        }
    }
    Ok(problems)
}

/// The names that the rule is about, each with a file that has it.
fn names_in(folder: &Path, named: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            names_in(&path, named)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            for name in names(&text) {
                named.entry(name).or_insert_with(|| shown.clone());
            }
        }
    }
    Ok(())
}

/// The functions of stage crates, and the types that do the work of operations, that a source names.
fn names(source: &str) -> BTreeSet<String> {
    let code: String = source
        .split("#[cfg(test)]")
        .next()
        .unwrap_or_default()
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut imported: BTreeMap<String, String> = BTreeMap::new();
    let mut rest = String::new();
    for (at, piece) in code.split("use pintle").enumerate() {
        let (tree, after) = if at == 0 { ("", piece) } else { piece.split_once(';').unwrap_or((piece, "")) };
        if at > 0 {
            expand("", &format!("pintle{tree}"), &mut |path, alias| {
                imported.insert(alias.to_owned(), path.to_owned());
            });
        }
        rest.push_str(after);
    }
    // A module counts by what is named in it.
    let is_module = |alias: &String| rest.contains(&format!("{alias}::"));
    let functions =
        imported.iter().filter(|(alias, path)| WORKERS.contains(&path.as_str()) || !is_module(alias));
    let mut found: BTreeSet<String> = functions.map(|(_, path)| path.clone()).collect();
    let is_path = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    for word in rest.split(|character: char| !is_path(character)) {
        let word = word.trim_end_matches(':');
        let Some((first, others)) = word.split_once("::") else { continue };
        if first == "pintle" || first.starts_with("pintle_") {
            found.insert(word.to_owned());
        } else if let Some(module) = imported.get(first) {
            found.insert(format!("{module}::{others}"));
        }
    }
    found.retain(|path| is_meant(path));
    found
}

/// Expands a tree of imports.
fn expand(prefix: &str, tree: &str, each: &mut impl FnMut(&str, &str)) {
    let tree = tree.trim();
    let join = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
    if let Some(inner) = tree.strip_prefix('{').and_then(|tree| tree.strip_suffix('}')) {
        let (mut depth, mut start) = (0_usize, 0);
        for (at, character) in inner.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    expand(prefix, &inner[start..at], each);
                    start = at + 1;
                }
                _ => {}
            }
        }
        expand(prefix, &inner[start..], each);
    } else if let Some((first, others)) = tree.split_once("::") {
        expand(&join(first), others, each);
    } else if !tree.is_empty() {
        let (name, alias) = tree.split_once(" as ").unwrap_or((tree, tree));
        let path = if name == "self" { prefix.to_owned() } else { join(name) };
        let alias = if name == "self" && alias == "self" {
            prefix.rsplit("::").next().unwrap_or(prefix)
        } else {
            alias
        };
        each(&path, alias);
    }
}

/// Whether the rule is about a path: not about language crates, operations, and types that are only data.
fn is_meant(path: &str) -> bool {
    let mut parts = path.split("::");
    let first = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    match first.strip_prefix("pintle_") {
        Some(of) if LANGUAGE.contains(&of) => return false,
        None if parts.len() < 2 || LIBRARY.contains(&parts[0]) || LANGUAGE.contains(&parts[0]) => {
            return false;
        }
        _ => {}
    }
    let is_type = |part: &&str| part.starts_with(|first: char| first.is_uppercase());
    WORKERS.contains(&path) || !parts.iter().any(is_type)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn functions_are_found_by_every_way_to_name_them_and_types_are_not() {
        let source = "\
            use pintle::repo::{self, Entry, repository::{download_index, remove as gone}};\n\
            use pintle::registry::copy;\n\
            use pintle::ops::search;\n\
            use pintle_tree::quote::quote;\n\
            fn f() { download_index(); gone(); copy::execute(); repo::check(Entry::new()); quote(search()); }\n\
            // pintle::repo::commented()\n\
            fn g() { pintle::chart::load(path); pintle::repo::Resolver { x } }\n";
        let found: Vec<String> = names(source).into_iter().collect();
        let expected = [
            "pintle::chart::load",
            "pintle::registry::copy::execute",
            "pintle::repo::Resolver",
            "pintle::repo::check",
            "pintle::repo::repository::download_index",
            "pintle::repo::repository::remove",
        ];
        assert_eq!(found, expected);
    }
}
