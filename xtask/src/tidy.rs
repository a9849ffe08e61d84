//! `tidy`: layout checks that the compiler does not do.

mod cited;
mod front_ends;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell::{cargo, output, print_line, root};

/// Runs all checks and prints all problems.
pub(crate) fn run() -> Result<()> {
    let mut problems = Vec::new();
    problems.extend(dependencies()?);
    problems.extend(heavy_dependencies()?);
    for path in tracked_files()? {
        problems.extend(check_file(&path)?);
    }
    problems.extend(required_documents());
    problems.extend(impure_sources()?);
    problems.extend(unlisted_tests()?);
    problems.extend(cited::problems()?);
    problems.extend(front_ends::problems()?);
    for problem in &problems {
        print_line(&format!("tidy: {problem}"));
    }
    if !problems.is_empty() {
        bail!("{} problems", problems.len());
    }
    print_line("tidy: no problems");
    Ok(())
}

/// Parses the table of `crates/README.md`: each crate with the crates that it may depend on.
fn allowed_dependencies() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let path = root().join("crates/README.md");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut allowed = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [name, .., uses] = cells[..] {
            let uses = uses.split(',').map(|name| name.trim().trim_matches('`').to_owned());
            let uses = uses.filter(|name| !name.is_empty() && name != "–").collect();
            allowed.insert(name.trim_matches('`').to_owned(), uses);
        }
    }
    Ok(allowed)
}

/// Compares the dependencies between our crates with the allowed ones.
fn dependencies() -> Result<Vec<String>> {
    let allowed = allowed_dependencies()?;
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata is no JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let folders: BTreeMap<String, String> = packages
        .iter()
        .filter_map(|package| Some((package["name"].as_str()?.to_owned(), folder_of(package)?)))
        .collect();
    let mut problems = Vec::new();
    for package in packages {
        let Some(folder) = folder_of(package) else { continue };
        let Some(may_use) = allowed.get(&folder) else {
            problems.push(format!("crates/README.md has no row for `{folder}`"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            // Dev-dependencies are not restricted.
            let is_test_only = dependency["kind"].as_str() == Some("dev");
            let Some(used) = dependency["name"].as_str().and_then(|name| folders.get(name)) else { continue };
            if !is_test_only && !may_use.contains(used) {
                problems.push(format!("`{folder}` uses `{used}`, which crates/README.md does not allow"));
            }
        }
    }
    for folder in allowed.keys() {
        if !root().join("crates").join(folder).join("Cargo.toml").is_file() {
            problems.push(format!("crates/README.md names `{folder}`, which does not exist"));
        }
    }
    Ok(problems)
}

/// Crates that rendering alone must not pull in, by the beginning of their names: C and C++ code, clients of Kubernetes,
/// HTTP and TLS.
const HEAVY: [&str; 14] = [
    "aws-lc",
    "hyper",
    "k8s-openapi",
    "kube",
    "luau0-src",
    "mlua",
    "native-tls",
    "openssl",
    "ring",
    "rustls",
    "tokio",
    "tower",
    "webpki",
    "zstd-sys",
];

/// The dependencies of the library without features that are on the list of [`HEAVY`] ones.
fn heavy_dependencies() -> Result<Vec<String>> {
    let selection = ["tree", "--package", "pintle", "--no-default-features", "--edges", "normal,build"];
    // Not `--offline`: on a new machine nothing has been downloaded when this runs.
    let tree = output(cargo(&selection).args(["--prefix", "none", "--locked"]))?;
    let tree = String::from_utf8_lossy(&tree).into_owned();
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let heavy = |name: &&str| HEAVY.iter().any(|heavy| name.starts_with(heavy));
    Ok(names
        .into_iter()
        .filter(heavy)
        .map(|name| format!("`pintle` without features depends on `{name}`; rendering alone must not"))
        .collect())
}

/// The folder below `crates/` that a package lies in.
fn folder_of(package: &Value) -> Option<String> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let relative = manifest.strip_prefix(root().join("crates")).ok()?;
    Some(relative.parent()?.to_string_lossy().into_owned())
}

fn tracked_files() -> Result<Vec<PathBuf>> {
    let mut git = std::process::Command::new("git");
    let listed = output(
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root()),
    )?;
    let names = listed.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned())).collect())
}

/// Checks a single file.
fn check_file(path: &Path) -> Result<Vec<String>> {
    let whole = root().join(path);
    let name = path.to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let is_text = matches!(extension.as_str(), "rs" | "md" | "toml");
    if !is_text || name.starts_with("conformance/cases/") || !whole.is_file() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&whole).with_context(|| format!("cannot read {name}"))?;
    let mut problems = Vec::new();
    if extension == "rs" && !text.starts_with("//!") && !text.starts_with("#!") {
        problems.push(format!("{name}: a file begins with a `//!` sentence that says why it exists"));
    }
    for (index, line) in text.lines().enumerate() {
        // Expected output in tests may have trailing spaces.
        if line.ends_with([' ', '\t']) && extension != "md" && !name.contains("/tests/") {
            problems.push(format!("{name}:{}: trailing white space", index + 1));
        }
        let attribute = line.trim().strip_prefix("#[").unwrap_or_default();
        if extension == "rs" && (attribute.starts_with("ignore") || attribute.starts_with("should_panic")) {
            problems.push(format!("{name}:{}: no ignored tests and no should_panic", index + 1));
        }
    }
    if extension == "md" {
        problems.extend(broken_links(path, &text));
    }
    Ok(problems)
}

/// Links to files that do not exist.
fn broken_links(path: &Path, text: &str) -> Vec<String> {
    let folder = root().join(path.parent().unwrap_or(Path::new("")));
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links
        .map(|link| link.split('#').next().unwrap_or_default())
        .filter(|link| !link.is_empty() && !link.contains("://") && !link.contains(' '))
        .filter(|link| !folder.join(link).exists())
        .map(|link| format!("{}: broken link to {link}", path.display()))
        .collect()
}

/// Integration test files without a `mod` line in `tests/main.rs`: they would silently never run.
fn unlisted_tests() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in tracked_files()?.iter().filter(|path| path.ends_with("tests/main.rs")) {
        let (Some(folder), Ok(listed)) = (path.parent(), fs::read_to_string(root().join(path))) else {
            continue;
        };
        for entry in fs::read_dir(root().join(folder))? {
            let file = entry?.path();
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_test = file.extension().is_some_and(|extension| extension == "rs") && name != "main";
            if is_test && !listed.lines().any(|line| line == format!("mod {name};")) {
                problems.push(format!("{} does not list `{name}`", path.display()));
            }
        }
    }
    Ok(problems)
}

/// Crates whose source works on data only. Their `clippy.toml` bans the clock, the environment and hash maps.
const PURE: [&str; 12] = [
    "events", "gotmpl", "hooks", "images", "objects", "plan", "regex", "render", "semver", "tree", "values",
    "yaml",
];

/// Uses of files, sockets and processes in pure crates, outside of tests.
fn impure_sources() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in tracked_files()? {
        let name = path.to_string_lossy().into_owned();
        let is_pure = PURE.iter().any(|pure| name.starts_with(&format!("crates/{pure}/src/")));
        if !is_pure || !name.ends_with(".rs") || name.ends_with("tests.rs") || !root().join(&path).is_file() {
            continue;
        }
        let text = fs::read_to_string(root().join(&path)).with_context(|| format!("cannot read {name}"))?;
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for banned in ["std::fs", "std::net::Tcp", "std::process"] {
            if code.contains(banned) {
                problems.push(format!("{name}: a pure crate does not use {banned}"));
            }
        }
    }
    for pure in PURE {
        let file = root().join("crates").join(pure).join("clippy.toml");
        if !fs::read_to_string(file).is_ok_and(|text| text.contains("std::collections::HashMap")) {
            problems.push(format!("crates/{pure}/clippy.toml lacks the bans of pure crates"));
        }
    }
    Ok(problems)
}

/// Documents that must exist.
fn required_documents() -> Vec<String> {
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "COMPATIBILITY.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "LICENSE",
        "deny.toml",
        "crates/README.md",
    ];
    let missing = names.into_iter().filter(|name| !root().join(name).is_file());
    missing.map(|name| format!("{name} is missing")).collect()
}
