//! Selecting objects: by regular expressions on their ids, and by labels and annotations.

use pintle_regex::Regex;
use pintle_tree::Str;

use crate::id::{Gvk, Id};
use crate::resource::Resource;

/// `target` of a patch, `select` and `reject` of a replacement.
#[derive(Debug, Default)]
pub(crate) struct Selector {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

/// The texts of a selector as they are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct SelectorText {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) labels: String,
    pub(crate) annotations: String,
}

impl Selector {
    pub(crate) fn compile(text: &SelectorText) -> Result<Self, String> {
        let regex = |pattern: &String| -> Result<Option<Regex>, String> {
            if pattern.is_empty() {
                return Ok(None);
            }
            let compiled = Regex::compile(format!("^(?:{pattern})$"));
            compiled.map(Some).map_err(|error| format!("{pattern:?} is not a regular expression: {error}"))
        };
        Ok(Selector {
            group: regex(&text.group)?,
            version: regex(&text.version)?,
            kind: regex(&text.kind)?,
            name: regex(&text.name)?,
            namespace: regex(&text.namespace)?,
            labels: parse_requirements(&text.labels)?,
            annotations: parse_requirements(&text.annotations)?,
        })
    }

    /// Whether it says nothing about ids.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.name, &self.namespace]
            .iter()
            .all(|regex| regex.is_none())
    }

    /// Whether it says nothing about labels and annotations.
    pub(crate) fn is_without_requirements(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }

    fn fits_gvk(&self, gvk: &Gvk) -> bool {
        fits(&self.group, &gvk.group) && fits(&self.version, &gvk.version) && fits(&self.kind, &gvk.kind)
    }

    /// Whether an id fits as it is.
    pub(crate) fn fits_id(&self, id: &Id) -> bool {
        self.fits_gvk(&id.gvk) && fits(&self.name, &id.name) && fits(&self.namespace, &id.namespace)
    }

    /// Whether labels and annotations fit.
    pub(crate) fn fits_metadata(&self, resource: &Resource) -> bool {
        (self.labels.is_empty() || fits_all(&self.labels, &resource.texts("labels")))
            && (self.annotations.is_empty() || fits_all(&self.annotations, &resource.texts("annotations")))
    }

    /// Whether an object is selected as the target of a patch: names and namespaces may be the first or the present ones.
    pub(crate) fn selects(&self, resource: &Resource) -> bool {
        let now = resource.id();
        if !self.fits_gvk(&now.gvk) {
            return false;
        }
        let before = resource.original_id();
        let namespaces = [before.effective_namespace(), now.effective_namespace()];
        namespaces.iter().any(|namespace| fits(&self.namespace, namespace))
            && [&before.name, &now.name].iter().any(|name| fits(&self.name, name))
            && self.fits_metadata(resource)
    }
}

fn fits(regex: &Option<Regex>, text: &Str) -> bool {
    regex.as_ref().is_none_or(|regex| regex.is_match(text.as_bytes()))
}

/// A part of a label selector.
#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

fn fits_all(requirements: &[Requirement], texts: &[(Str, Str)]) -> bool {
    requirements.iter().all(|requirement| {
        let value = texts.iter().find(|(key, _)| key.as_bytes() == requirement.key.as_bytes());
        let value = value.map(|(_, value)| value.to_str_lossy());
        let number = || value.as_ref().and_then(|value| value.parse::<i64>().ok());
        match &requirement.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|wanted| *wanted == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|wanted| *wanted != value)),
            Test::Greater(bound) => number().is_some_and(|value| value > *bound),
            Test::Less(bound) => number().is_some_and(|value| value < *bound),
        }
    })
}

/// Parses a label selector as kubectl's `-l`.
fn parse_requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let wrong = |part: &str| format!("{part:?} is not part of a label selector");
    let mut requirements = Vec::new();
    for part in split_outside_parentheses(text) {
        let part = part.trim();
        if part.is_empty() {
            if text.trim().is_empty() {
                continue;
            }
            return Err(wrong(text));
        }
        requirements.push(parse_requirement(part).ok_or_else(|| wrong(part))?);
    }
    Ok(requirements)
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parse_requirement(part: &str) -> Option<Requirement> {
    let make = |key: &str, test| is_key(key.trim()).then(|| Requirement { key: key.trim().to_owned(), test });
    if let Some(key) = part.strip_prefix('!') {
        return make(key, Test::Missing);
    }
    if let Some(open) = part.find('(') {
        let values = part[open + 1..].strip_suffix(')')?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let (key, word) = part[..open].trim_end().rsplit_once(char::is_whitespace)?;
        return match word {
            "in" => make(key, Test::In(values)),
            "notin" => make(key, Test::NotIn(values)),
            _ => None,
        };
    }
    let value =
        |text: &str| Some(text.trim()).filter(|text| !text.contains(char::is_whitespace)).map(str::to_owned);
    if let Some((key, text)) = part.split_once("!=") {
        return make(key, Test::NotIn(vec![value(text)?]));
    }
    if let Some((key, text)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return make(key, Test::In(vec![value(text)?]));
    }
    if let Some((key, text)) = part.split_once('>') {
        return make(key, Test::Greater(text.trim().parse().ok()?));
    }
    if let Some((key, text)) = part.split_once('<') {
        return make(key, Test::Less(text.trim().parse().ok()?));
    }
    make(part, Test::Exists)
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits_labels(selector: &str, labels: &[(&str, &str)]) -> bool {
        let texts: Vec<(Str, Str)> =
            labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        fits_all(&parse_requirements(selector).expect("a selector"), &texts)
    }

    #[test]
    fn label_selectors_have_the_tests_of_kubectl() {
        let labels = [("app", "web"), ("tier", "3")];
        for selector in
            ["", "app", "app=web", "app==web, tier in (1, 3)", "!x", "app!=db", "x notin (y)", "tier>2"]
        {
            assert!(fits_labels(selector, &labels), "{selector}");
        }
        for selector in ["x", "app=db", "tier in (1,2)", "!app", "app!=web", "tier<3"] {
            assert!(!fits_labels(selector, &labels), "{selector}");
        }
        assert!(parse_requirements("app in web").is_err() && parse_requirements("a,").is_err());
    }
}
