//! The Rust packages that a program is made of, for a target: what its bill of materials and its licences are written from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::dist::target::Target;
use crate::shell::{cargo, output, root};

/// A package in a program.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: String,
    /// SHA-256 of what the registry serves; empty for our own crates.
    pub(crate) checksum: String,
    pub(crate) folder: PathBuf,
    /// The keys of the packages that it uses itself.
    pub(crate) uses: BTreeSet<String>,
}

/// The packages that are compiled into the program of `package`, by name and version. What builds and tests them is left out.
pub(crate) fn of_program(package: &str, target: &Target) -> Result<BTreeMap<String, Package>> {
    let metadata = output(&mut cargo(&[
        "metadata",
        "--quiet",
        "--locked",
        "--format-version=1",
        "--filter-platform",
        target.triple,
    ]))?;
    let metadata = serde_json::from_slice(&metadata).context("cargo metadata is no JSON")?;
    let used = tree(package, target)?;
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    read(&metadata, &used, &toml::from_str(&lock).context("Cargo.lock is no TOML")?)
}

/// The names and versions that cargo resolves for this one program: metadata unifies the features of the whole workspace,
/// which has tests and tasks, too.
fn tree(package: &str, target: &Target) -> Result<BTreeSet<String>> {
    let selection = ["tree", "--quiet", "--locked", "--package", package, "--target", target.triple];
    let how = ["--edges", "normal", "--prefix", "none", "--no-dedupe", "--format", "{p}"];
    let lines = output(cargo(&selection).args(how))?;
    let key = |line: &str| {
        let mut words = line.split(' ');
        Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
    };
    Ok(String::from_utf8_lossy(&lines).lines().filter_map(key).collect())
}

fn read(metadata: &Value, used: &BTreeSet<String>, lock: &toml::Value) -> Result<BTreeMap<String, Package>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut keys = BTreeMap::new();
    let mut packages = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let key = format!("{name} {version}");
        keys.insert(text(&package["id"]), key.clone());
        if used.contains(&key) {
            let folder = Path::new(&text(&package["manifest_path"])).parent().map(Path::to_owned);
            let checksum = checksum(lock, &name, &version);
            let licence = text(&package["license"]);
            let folder = folder.with_context(|| format!("{key} has no folder"))?;
            packages.insert(key, Package { name, version, licence, checksum, folder, uses: BTreeSet::new() });
        }
    }
    for node in list(&metadata["resolve"]["nodes"]) {
        let Some(package) = keys.get(&text(&node["id"])).and_then(|key| packages.get_mut(key)) else {
            continue;
        };
        let is_normal = |edge: &Value| list(&edge["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let edges = list(&node["deps"]).into_iter().filter(is_normal);
        let uses = edges.filter_map(|edge| keys.get(&text(&edge["pkg"])).cloned());
        package.uses.extend(uses.filter(|key| used.contains(key)));
    }
    Ok(packages)
}

fn checksum(lock: &toml::Value, name: &str, version: &str) -> String {
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let field = |package: &toml::Value, field: &str| {
        package.get(field).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    packages
        .into_iter()
        .flatten()
        .find(|package| field(package, "name") == name && field(package, "version") == version)
        .map(|package| field(package, "checksum"))
        .unwrap_or_default()
}

/// A page with the licences of all packages of others: the table, then each text once.
pub(crate) fn licences(packages: &BTreeMap<String, Package>) -> Result<String> {
    let mut page = String::from(
        "# Licences of what this program is made of\n\n| package | version | licence |\n|---|---|---|\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, package) in packages.iter().filter(|(_, package)| !package.checksum.is_empty()) {
        page.push_str(&format!("| {} | {} | {} |\n", package.name, package.version, package.licence));
        for text in texts_of(&package.folder)? {
            texts.entry(text).or_default().push(key.clone());
        }
    }
    for (text, of) in texts {
        page.push_str(&format!("\n## {}\n\n```text\n{}\n```\n", of.join(", "), text.trim_end()));
    }
    Ok(page)
}

/// The texts of the licences in a package's folder.
fn texts_of(folder: &Path) -> Result<Vec<String>> {
    let names = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if names.iter().any(|known| name.starts_with(known)) && entry.file_type()?.is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let read =
        |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    paths.iter().map(|path| Ok(String::from_utf8_lossy(&read(path)?).into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packages_have_their_checksums_and_only_uses_of_the_program() {
        let metadata = json!({
            "packages": [
                {"id": "a#1", "name": "a", "version": "1.0.0", "license": "MIT", "manifest_path": "/r/a/Cargo.toml"},
                {"id": "b#2", "name": "b", "version": "2.0.0", "license": null, "manifest_path": "/r/b/Cargo.toml"},
                {"id": "t#3", "name": "t", "version": "3.0.0", "license": "MIT", "manifest_path": "/r/t/Cargo.toml"},
            ],
            "resolve": {"nodes": [{"id": "a#1", "deps": [
                {"pkg": "b#2", "dep_kinds": [{"kind": null}]},
                {"pkg": "t#3", "dep_kinds": [{"kind": "dev"}]},
            ]}]},
        });
        let used = ["a 1.0.0", "b 2.0.0"].map(str::to_owned).into();
        let lock = toml::from_str("[[package]]\nname = \"b\"\nversion = \"2.0.0\"\nchecksum = \"c0ffee\"\n")
            .expect("TOML");
        let packages = read(&metadata, &used, &lock).expect("packages");
        assert_eq!(packages.keys().collect::<Vec<_>>(), ["a 1.0.0", "b 2.0.0"]);
        assert_eq!(packages["a 1.0.0"].uses, BTreeSet::from(["b 2.0.0".to_owned()]));
        assert_eq!(packages["b 2.0.0"].checksum, "c0ffee");
        assert_eq!(packages["a 1.0.0"].folder, Path::new("/r/a"));
    }
}
