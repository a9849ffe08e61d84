//! The validation rules of Chart.yaml, with Helm's texts.

use std::collections::BTreeSet;

use pintle_semver::Version;
use pintle_tree::quote::{is_print, quote};

use super::{Dependency, Maintainer, Metadata};
use crate::error::{Error, Result};
use crate::path::base;

impl Metadata {
    /// Sanitizes the strings (whitespace to spaces, unprintable characters removed) and checks the rules.
    ///
    /// # Errors
    /// The first violated rule.
    pub fn validate(&mut self) -> Result<()> {
        let mut maintainers: Vec<_> = std::mem::take(&mut self.maintainers).into_iter().map(Some).collect();
        let mut dependencies: Vec<_> = std::mem::take(&mut self.dependencies).into_iter().map(Some).collect();
        let result = check(self, &mut maintainers, &mut dependencies);
        self.maintainers = maintainers.into_iter().flatten().collect();
        self.dependencies = dependencies.into_iter().flatten().collect();
        result
    }
}

/// Sanitizes and validates metadata whose lists of structs may still have nil entries.
pub(super) fn check(
    metadata: &mut Metadata,
    maintainers: &mut [Option<Maintainer>],
    dependencies: &mut [Option<Dependency>],
) -> Result<()> {
    // Before the checks, as in Helm: a name with a line break passes as one with a space. The version is not
    // sanitized.
    tidy(metadata);
    check_fields(metadata)?;
    for maintainer in maintainers {
        let Some(maintainer) = maintainer else {
            return invalid("maintainers must not contain empty or null nodes");
        };
        for text in [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url] {
            sanitize(text);
        }
    }
    let mut names = BTreeSet::new();
    for dependency in dependencies {
        let Some(dependency) = dependency else {
            return invalid("dependencies must not contain empty or null nodes");
        };
        check_dependency(dependency)?;
        // An alias lets the same chart be a dependency several times.
        let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        if !names.insert(name.clone()) {
            return invalid(format!("more than one dependency with name or alias {}", quoted(name)));
        }
    }
    Ok(())
}

fn tidy(metadata: &mut Metadata) {
    for text in [
        &mut metadata.name,
        &mut metadata.description,
        &mut metadata.home,
        &mut metadata.icon,
        &mut metadata.condition,
        &mut metadata.tags,
        &mut metadata.app_version,
        &mut metadata.kube_version,
    ] {
        sanitize(text);
    }
    metadata.sources.iter_mut().chain(&mut metadata.keywords).for_each(sanitize);
}

fn check_fields(metadata: &Metadata) -> Result<()> {
    let Metadata { api_version, name, version, kind, .. } = metadata;
    if api_version.is_empty() {
        return invalid("chart.metadata.apiVersion is required");
    }
    if name.is_empty() {
        return invalid("chart.metadata.name is required");
    }
    if name == "." || name == ".." {
        return invalid(format!("chart.metadata.name {} is not allowed", quoted(name)));
    }
    if name != base(name) {
        return invalid(format!("chart.metadata.name {} is invalid", quoted(name)));
    }
    if version.is_empty() {
        return invalid("chart.metadata.version is required");
    }
    if Version::parse(version).is_err() {
        return invalid(format!("chart.metadata.version {} is invalid", quoted(version)));
    }
    if !matches!(kind.as_str(), "" | "application" | "library") {
        return invalid("chart.metadata.type must be application or library");
    }
    Ok(())
}

fn check_dependency(dependency: &mut Dependency) -> Result<()> {
    for text in
        [&mut dependency.name, &mut dependency.version, &mut dependency.repository, &mut dependency.condition]
    {
        sanitize(text);
    }
    dependency.tags.iter_mut().for_each(sanitize);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !dependency.alias.bytes().all(allowed) {
        let name = quoted(&dependency.name);
        return invalid(format!("dependency {name} has disallowed characters in the alias"));
    }
    Ok(())
}

fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::Invalid(text.into()))
}

fn quoted(text: &str) -> String {
    quote(text.as_bytes())
}

/// Whitespace becomes spaces, and unprintable characters are removed.
fn sanitize(text: &mut String) {
    // Most texts need no copy.
    let fine = |character: char| character == ' ' || (is_print(character) && !character.is_whitespace());
    if text.chars().all(fine) {
        return;
    }
    *text = text
        .chars()
        .filter_map(|character| match character {
            _ if character.is_whitespace() => Some(' '),
            _ if is_print(character) => Some(character),
            _ => None,
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(change: impl FnOnce(&mut Metadata)) -> String {
        let mut metadata = Metadata {
            api_version: "v2".into(),
            name: "a".into(),
            version: "1.0.0".into(),
            ..Metadata::default()
        };
        change(&mut metadata);
        metadata.validate().map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn each_broken_rule_has_its_text() {
        assert_eq!(outcome(|_| {}), "fine");
        assert_eq!(outcome(|metadata| metadata.name.clear()), "validation: chart.metadata.name is required");
        assert_eq!(
            outcome(|metadata| metadata.name = "a/b".into()),
            "validation: chart.metadata.name \"a/b\" is invalid"
        );
        assert_eq!(
            outcome(|metadata| metadata.version = "x".into()),
            "validation: chart.metadata.version \"x\" is invalid"
        );
        assert_eq!(
            outcome(|metadata| metadata.kind = "other".into()),
            "validation: chart.metadata.type must be application or library"
        );
    }

    #[test]
    fn aliases_count_as_names_when_looking_for_duplicates() {
        let dependency = |name: &str, alias: &str| Dependency {
            name: name.into(),
            alias: alias.into(),
            ..Default::default()
        };
        assert_eq!(
            outcome(|metadata| metadata.dependencies = vec![dependency("a", ""), dependency("b", "a")]),
            "validation: more than one dependency with name or alias \"a\""
        );
        assert_eq!(
            outcome(|metadata| metadata.dependencies = vec![dependency("a", "x y")]),
            "validation: dependency \"a\" has disallowed characters in the alias"
        );
    }

    #[test]
    fn texts_are_tidied() {
        let mut text = "a\tb\u{0}\u{200b}é\n".to_owned();
        sanitize(&mut text);
        assert_eq!(text, "a bé ");
    }
}
