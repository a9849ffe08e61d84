//! Checks the rules of `deny.toml` about licences, bans and sources against `cargo metadata`.
//!
//! cargo-deny reads the same file, but has to be compiled first, which takes many minutes on a cold machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell::{cargo, output, print_line, root};

/// A banned crate.
struct Ban {
    name: String,
    /// The crates that may still use it (`wrappers`).
    wrappers: Vec<String>,
    reason: String,
}

/// The part of `deny.toml` that is checked here.
struct Rules {
    licenses: BTreeSet<String>,
    /// Licence exceptions per crate.
    exceptions: BTreeMap<String, BTreeSet<String>>,
    bans: Vec<Ban>,
}

/// Checks all dependencies, for every system and with all features, and lists all problems.
pub(crate) fn run() -> Result<()> {
    let text = fs::read_to_string(root().join("deny.toml")).context("cannot read deny.toml")?;
    let rules = Rules::parse(&text)?;
    let metadata =
        output(&mut cargo(&["metadata", "--quiet", "--locked", "--all-features", "--format-version=1"]))?;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata is no JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut problems: Vec<String> = packages.iter().flat_map(|package| rules.problems(package)).collect();
    problems.extend(foreign_registries(packages));
    for problem in &problems {
        print_line(&format!("dependencies: {problem}"));
    }
    if !problems.is_empty() {
        bail!("{} problems with dependencies; deny.toml has the rules", problems.len());
    }
    print_line(&format!("dependencies: {} packages keep the rules", packages.len()));
    Ok(())
}

impl Rules {
    fn parse(text: &str) -> Result<Rules> {
        let file: toml::Table = text.parse().context("deny.toml is no TOML")?;
        let words = |value: Option<&toml::Value>| -> Vec<String> {
            let list = value.and_then(toml::Value::as_array).into_iter().flatten();
            list.filter_map(|word| Some(word.as_str()?.to_owned())).collect()
        };
        let licenses = file.get("licenses").context("deny.toml has no [licenses]")?;
        let exceptions = licenses.get("exceptions").and_then(toml::Value::as_array).into_iter().flatten();
        let exceptions = exceptions.filter_map(|entry| {
            Some((entry.get("crate")?.as_str()?.to_owned(), words(entry.get("allow")).into_iter().collect()))
        });
        let bans = file.get("bans").and_then(|bans| bans.get("deny")).and_then(toml::Value::as_array);
        let bans = bans.context("deny.toml has no list `bans.deny`")?.iter().map(|entry| {
            let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
            let name = text("crate").context("an entry of `bans.deny` names no crate")?;
            Ok(Ban {
                name,
                wrappers: words(entry.get("wrappers")),
                reason: text("reason").unwrap_or_default(),
            })
        });
        Ok(Rules {
            licenses: words(licenses.get("allow")).into_iter().collect(),
            exceptions: exceptions.collect(),
            bans: bans.collect::<Result<_>>()?,
        })
    }

    fn problems(&self, package: &Value) -> Vec<String> {
        let name = package["name"].as_str().unwrap_or_default();
        let is_ours = package["source"].is_null();
        let mut problems = Vec::new();
        if !is_ours && !self.license_is_fine(name, package["license"].as_str().unwrap_or_default()) {
            problems.push(format!("the licence of `{name}` is {}", package["license"]));
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            if is_ours && dependency["path"].is_null() && dependency["req"] == "*" {
                problems.push(format!("`{name}` takes any version of `{used}`"));
            }
            // Dev-dependencies of third parties and disabled optional dependencies are not built.
            let is_built = dependency["kind"] != "dev" && dependency["optional"] != true;
            let ban = self.bans.iter().find(|ban| ban.name == used && is_built);
            if let Some(ban) = ban.filter(|ban| !ban.wrappers.iter().any(|wrapper| wrapper == name)) {
                problems.push(format!("`{name}` uses `{used}`: {}", ban.reason));
            }
        }
        problems
    }

    fn license_is_fine(&self, package: &str, expression: &str) -> bool {
        let is_allowed = |license: &str| {
            self.licenses.contains(license)
                || self.exceptions.get(package).is_some_and(|allowed| allowed.contains(license))
        };
        satisfies(expression, &is_allowed)
    }
}

/// Whether an SPDX expression can be met with allowed licences. `OR` binds weakest; `/` is how old packages write it.
fn satisfies(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let text = expression.replace('/', " OR ");
    let any = split(&text, " OR ");
    if any.len() > 1 {
        return any.into_iter().any(|part| satisfies(part, is_allowed));
    }
    let all = split(&text, " AND ");
    if all.len() > 1 {
        return all.into_iter().all(|part| satisfies(part, is_allowed));
    }
    let text = text.trim();
    match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inner) => satisfies(inner, is_allowed),
        None => is_allowed(text),
    }
}

/// Splits at a word that stands outside parentheses.
fn split<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(word) => {
                parts.push(&text[start..at]);
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Checks that every dependency comes from the one registry, and none from git.
fn foreign_registries(packages: &[Value]) -> Vec<String> {
    let sources: BTreeSet<&str> = packages.iter().filter_map(|package| package["source"].as_str()).collect();
    let registries = sources.iter().filter(|source| source.starts_with("registry+")).count();
    let mut problems: Vec<String> = sources
        .iter()
        .filter(|source| !source.starts_with("registry+"))
        .map(|source| format!("packages come from {source}"))
        .collect();
    if registries > 1 {
        problems.push("packages come from several registries".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULES: &str = r#"
[licenses]
allow = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"]
exceptions = [{ crate = "roots", allow = ["CDLA-Permissive-2.0"] }]
[bans]
deny = [{ crate = "kube", wrappers = ["pintle-cluster"], reason = "only one" }, { crate = "openssl-sys" }]
"#;

    #[test]
    fn expressions_of_licences_are_understood() {
        let rules = Rules::parse(RULES).unwrap();
        for fine in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-2.0",
            "(MIT OR GPL-3.0) AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception AND MIT",
        ] {
            assert!(rules.license_is_fine("x", fine), "{fine}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND GPL-2.0", "CDLA-Permissive-2.0"] {
            assert!(!rules.license_is_fine("x", bad), "{bad}");
        }
        assert!(rules.license_is_fine("roots", "CDLA-Permissive-2.0"));
    }

    #[test]
    fn banned_crates_are_for_those_who_may_use_them() {
        let rules = Rules::parse(RULES).unwrap();
        let package = |name: &str, used: &str, kind: Value| {
            json!({"name": name, "source": null, "dependencies": [
                {"name": used, "kind": kind, "optional": false, "req": "^1", "path": null}]})
        };
        assert!(rules.problems(&package("pintle-cluster", "kube", Value::Null)).is_empty());
        assert_eq!(
            rules.problems(&package("pintle", "kube", Value::Null)),
            ["`pintle` uses `kube`: only one"]
        );
        assert_eq!(rules.problems(&package("any", "openssl-sys", json!("build"))).len(), 1);
        assert!(rules.problems(&package("any", "openssl-sys", json!("dev"))).is_empty());
    }

    #[test]
    fn packages_come_from_one_registry() {
        let from = |source: &str| json!({"source": source});
        assert!(
            foreign_registries(&[from("registry+a"), from("registry+a"), json!({"source": null})]).is_empty()
        );
        assert_eq!(foreign_registries(&[from("registry+a"), from("registry+b")]).len(), 1);
        assert_eq!(foreign_registries(&[from("git+a")]).len(), 1);
    }
}
