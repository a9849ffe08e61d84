//! `publishable`: whether the library and the crates that it needs could be published: their metadata, and that everything they
//! depend on can be published, too. Prints them in the order in which they have to be.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell::{cargo, output, print_line};

/// What is published: the library with all of its features, and the program, which `cargo install` builds.
const ROOTS: [&str; 2] = ["pintle", "pintle-cli"];

/// The longest description that registries show whole.
const LONGEST: usize = 160;

/// A crate of the workspace.
struct Crate {
    description: String,
    repository: String,
    licence: String,
    /// Ours that it depends on, without those for tests.
    uses: BTreeSet<String>,
    /// Dependencies by path without a version, which a registry refuses.
    without_version: Vec<String>,
}

/// Runs `publishable`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask publishable");
    }
    let crates = crates()?;
    let order = order(&crates)?;
    let problems: Vec<String> = order.iter().flat_map(|name| problems(name, &crates[name])).collect();
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    print_line(&format!("{} crates can be published, in this order:\n{}", order.len(), order.join(" ")));
    Ok(())
}

fn crates() -> Result<BTreeMap<String, Crate>> {
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata is no JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = packages.iter().map(|package| text(&package["name"])).collect();
    let mut crates = BTreeMap::new();
    for package in packages {
        let mut one = Crate {
            description: text(&package["description"]),
            repository: text(&package["repository"]),
            licence: text(&package["license"]),
            uses: BTreeSet::new(),
            without_version: Vec::new(),
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = text(&dependency["name"]);
            if names.contains(&name) && dependency["kind"].as_str() != Some("dev") {
                if dependency["req"] == "*" {
                    one.without_version.push(name.clone());
                }
                one.uses.insert(name);
            }
        }
        crates.insert(text(&package["name"]), one);
    }
    Ok(crates)
}

/// The crates that are published, each after those that it uses.
fn order(crates: &BTreeMap<String, Crate>) -> Result<Vec<String>> {
    fn visit(name: &str, crates: &BTreeMap<String, Crate>, done: &mut Vec<String>) -> Result<()> {
        if done.iter().any(|known| known == name) {
            return Ok(());
        }
        // Cargo allows no cycles, so this ends.
        for used in &crates.get(name).with_context(|| format!("there is no crate {name}"))?.uses {
            visit(used, crates, done)?;
        }
        done.push(name.to_owned());
        Ok(())
    }
    let mut done = Vec::new();
    for root in ROOTS {
        visit(root, crates, &mut done)?;
    }
    Ok(done)
}

fn problems(name: &str, one: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    if one.description.is_empty() || one.description.len() > LONGEST {
        found.push(format!("{name}: a description of 1 to {LONGEST} characters is needed"));
    }
    if one.repository.is_empty() || one.licence.is_empty() {
        found.push(format!("{name}: repository and license are needed"));
    }
    found.extend(
        one.without_version.iter().map(|used| format!("{name}: its dependency {used} needs a version")),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_comes_first_and_what_is_missing_is_named() {
        let one = |uses: &[&str], description: &str| Crate {
            description: description.to_owned(),
            repository: "r".to_owned(),
            licence: "l".to_owned(),
            uses: uses.iter().map(|name| (*name).to_owned()).collect(),
            without_version: uses.iter().map(|name| (*name).to_owned()).collect(),
        };
        let crates = BTreeMap::from([
            ("pintle".to_owned(), one(&["b", "a"], "d")),
            ("pintle-cli".to_owned(), one(&["pintle"], "d")),
            ("a".to_owned(), one(&[], "")),
            ("b".to_owned(), one(&["a"], "d")),
        ]);
        assert_eq!(order(&crates).expect("an order"), ["a", "b", "pintle", "pintle-cli"]);
        assert_eq!(problems("a", &crates["a"]).len(), 1);
        assert_eq!(problems("b", &crates["b"]), ["b: its dependency a needs a version"]);
    }
}
