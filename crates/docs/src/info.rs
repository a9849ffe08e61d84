//! What is known about a chart: metadata, dependencies, values and their comments.

use std::collections::BTreeMap;

use pintle_yaml::commented::{Document, Kind, Node};

use crate::comment::{Description, named_descriptions};
use crate::error::Error;
use crate::strict::Strictness;

/// The files of a chart that are read, with `\n` or `\r\n` as line breaks.
#[derive(Clone, Copy, Debug)]
pub struct ChartText<'t> {
    /// Chart.yaml.
    pub chart: &'t [u8],
    /// requirements.yaml, which charts of `apiVersion: v1` have.
    pub requirements: Option<&'t [u8]>,
    /// values.yaml, or the file that is used instead.
    pub values: &'t [u8],
}

/// Chart.yaml. Scalars are kept as written, so that the version `1.10` does not become `1.1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Metadata {
    pub api_version: String,
    pub app_version: String,
    pub kube_version: String,
    pub name: String,
    pub deprecated: bool,
    pub description: String,
    pub version: String,
    pub home: String,
    pub kind: String,
    /// `None` if there is no such field: templates that print JSON show the difference to an empty list.
    pub sources: Option<Vec<String>>,
    pub engine: String,
    pub maintainers: Option<Vec<Maintainer>>,
}

/// A maintainer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Maintainer {
    pub email: String,
    pub name: String,
    pub url: String,
}

/// A dependency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    pub repository: String,
    pub alias: String,
}

/// A chart to document.
#[derive(Clone, Debug)]
pub struct ChartInfo {
    /// The folder, as templates see it.
    pub directory: String,
    /// Chart.yaml.
    pub metadata: Metadata,
    /// In the order of repository and name; `None` if there is no such field.
    pub dependencies: Option<Vec<Dependency>>,
    pub(crate) values: Option<Document>,
    pub(crate) descriptions: BTreeMap<String, Description>,
}

impl ChartInfo {
    /// Reads the files of a chart. With `strictness`, undocumented values are an error.
    ///
    /// # Errors
    /// When a file is not YAML, Chart.yaml has fields of wrong types, or values lack comments.
    pub fn parse(
        directory: &str,
        text: &ChartText<'_>,
        strictness: Option<&Strictness>,
    ) -> Result<Self, Error> {
        let chart = read("Chart.yaml", text.chart)?;
        let metadata = match &chart {
            Some(document) => metadata(&Decoder { file: "Chart.yaml", document })?,
            None => Metadata::default(),
        };
        let dependencies = if metadata.api_version == "v1" {
            let requirements = text.requirements.map(|text| read("requirements.yaml", text)).transpose()?;
            dependencies("requirements.yaml", requirements.flatten().as_ref())?
        } else {
            dependencies("Chart.yaml", chart.as_ref())?
        };
        let mut values = read("values.yaml", text.values)?;
        if let Some(values) = &mut values {
            remove_ignored(values, values.root(), 0);
        }
        let descriptions = named_descriptions(&String::from_utf8_lossy(text.values));
        if let (Some(strictness), Some(values)) = (strictness, &values) {
            strictness.check(values, &descriptions)?;
        }
        Ok(ChartInfo { directory: directory.to_owned(), metadata, dependencies, values, descriptions })
    }
}

fn read(file: &'static str, text: &[u8]) -> Result<Option<Document>, Error> {
    let yaml = |error: pintle_yaml::Error| Error::Yaml { file, message: error.to_string() };
    if !text.contains(&b'\r') {
        return Document::read(text).map_err(yaml);
    }
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n");
    Document::read(text.as_bytes()).map_err(yaml)
}

/// Deeper values are not documented; only an alias to one of its own parents gets this deep.
pub(crate) const MAX_DEPTH: usize = 1_000;

/// Takes out what has `@ignore` in the comment above it.
fn remove_ignored(document: &mut Document, number: usize, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let node = document.node(number);
    let is_map = node.kind == Kind::Mapping;
    let children = node.children.clone();
    let mut kept = Vec::with_capacity(children.len());
    let mut children = children.into_iter();
    while let Some(child) = children.next() {
        if document.node(child).head_comment.contains("@ignore") {
            if is_map {
                children.next();
            }
            continue;
        }
        remove_ignored(document, child, depth + 1);
        kept.push(child);
    }
    document.node_mut(number).children = kept;
}

/// Reads fields as go-yaml 3 decodes them into structs.
struct Decoder<'d> {
    file: &'static str,
    document: &'d Document,
}

impl<'d> Decoder<'d> {
    fn resolve(&self, number: usize) -> &'d Node {
        match self.document.node(number) {
            Node { kind: Kind::Alias(target), .. } => self.document.node(*target),
            node => node,
        }
    }

    fn wrong(&self, node: &Node, wanted: &'static str) -> Error {
        Error::Field { file: self.file, line: node.line, found: node.tag.clone(), wanted }
    }

    fn defined_twice(&self, key: &Node, first: usize) -> Error {
        let message =
            format!("line {}: mapping key {:?} already defined at line {first}", key.line, key.value);
        Error::Yaml { file: self.file, message }
    }

    /// The entries of a map; none for null. Keys that occur twice are errors, as for go-yaml 3.
    fn entries(&self, number: usize, wanted: &'static str) -> Result<Vec<(&'d str, usize)>, Error> {
        let node = self.resolve(number);
        match node.kind {
            Kind::Mapping => {
                let mut lines = BTreeMap::new();
                let mut entries = Vec::new();
                for pair in node.children.chunks_exact(2) {
                    let key = self.resolve(pair[0]);
                    if let Some(first) = lines.insert(key.value.as_str(), key.line) {
                        return Err(self.defined_twice(key, first));
                    }
                    entries.push((key.value.as_str(), pair[1]));
                }
                Ok(entries)
            }
            Kind::Scalar if node.tag == "!!null" => Ok(Vec::new()),
            _ => Err(self.wrong(node, wanted)),
        }
    }

    fn text(&self, number: usize) -> Result<String, Error> {
        let node = self.resolve(number);
        match node.kind {
            Kind::Scalar if node.tag == "!!null" => Ok(String::new()),
            Kind::Scalar => Ok(node.value.clone()),
            _ => Err(self.wrong(node, "string")),
        }
    }

    fn switch(&self, number: usize) -> Result<bool, Error> {
        let node = self.resolve(number);
        match (node.kind, node.tag.as_str(), node.value.as_str()) {
            (Kind::Scalar, "!!null", _) => Ok(false),
            (Kind::Scalar, "!!bool", text) => Ok(text.eq_ignore_ascii_case("true")),
            (Kind::Scalar, "!!str", "y" | "Y" | "yes" | "on") => Ok(true),
            (Kind::Scalar, "!!str", "n" | "N" | "no" | "off") => Ok(false),
            _ => Err(self.wrong(node, "bool")),
        }
    }

    fn list<T>(
        &self,
        number: usize,
        item: impl Fn(usize) -> Result<T, Error>,
    ) -> Result<Option<Vec<T>>, Error> {
        let node = self.resolve(number);
        match node.kind {
            Kind::Sequence => {
                node.children.iter().map(|&child| item(child)).collect::<Result<_, _>>().map(Some)
            }
            Kind::Scalar if node.tag == "!!null" => Ok(None),
            _ => Err(self.wrong(node, "list")),
        }
    }
}

fn metadata(decoder: &Decoder<'_>) -> Result<Metadata, Error> {
    let mut metadata = Metadata::default();
    for (key, value) in decoder.entries(decoder.document.root(), "chart")? {
        let text = match key {
            "apiVersion" => &mut metadata.api_version,
            "appVersion" => &mut metadata.app_version,
            "kubeVersion" => &mut metadata.kube_version,
            "name" => &mut metadata.name,
            "description" => &mut metadata.description,
            "version" => &mut metadata.version,
            "home" => &mut metadata.home,
            "type" => &mut metadata.kind,
            "engine" => &mut metadata.engine,
            "deprecated" => {
                metadata.deprecated = decoder.switch(value)?;
                continue;
            }
            "sources" => {
                metadata.sources = decoder.list(value, |item| decoder.text(item))?;
                continue;
            }
            "maintainers" => {
                metadata.maintainers = decoder.list(value, |item| maintainer(decoder, item))?;
                continue;
            }
            _ => continue,
        };
        *text = decoder.text(value)?;
    }
    Ok(metadata)
}

fn maintainer(decoder: &Decoder<'_>, number: usize) -> Result<Maintainer, Error> {
    let mut maintainer = Maintainer::default();
    for (key, value) in decoder.entries(number, "maintainer")? {
        match key {
            "email" => maintainer.email = decoder.text(value)?,
            "name" => maintainer.name = decoder.text(value)?,
            "url" => maintainer.url = decoder.text(value)?,
            _ => {}
        }
    }
    Ok(maintainer)
}

fn dependencies(file: &'static str, document: Option<&Document>) -> Result<Option<Vec<Dependency>>, Error> {
    let Some(document) = document else { return Ok(None) };
    let decoder = Decoder { file, document };
    let mut found = None;
    for (key, value) in decoder.entries(document.root(), "chart")? {
        if key == "dependencies" {
            found = decoder.list(value, |item| dependency(&decoder, item))?;
        }
    }
    if let Some(found) = &mut found {
        let key = |dependency: &Dependency| format!("{}/{}", dependency.repository, dependency.name);
        found.sort_by_cached_key(key);
    }
    Ok(found)
}

fn dependency(decoder: &Decoder<'_>, number: usize) -> Result<Dependency, Error> {
    let mut dependency = Dependency::default();
    for (key, value) in decoder.entries(number, "dependency")? {
        match key {
            "name" => dependency.name = decoder.text(value)?,
            "version" => dependency.version = decoder.text(value)?,
            "repository" => dependency.repository = decoder.text(value)?,
            "alias" => dependency.alias = decoder.text(value)?,
            _ => {}
        }
    }
    Ok(dependency)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(chart: &str, values: &str) -> Result<ChartInfo, Error> {
        let text = ChartText { chart: chart.as_bytes(), requirements: None, values: values.as_bytes() };
        ChartInfo::parse(".", &text, None)
    }

    #[test]
    fn scalars_are_kept_as_written() {
        let info =
            parse("name: a\nversion: 1.10\nappVersion: 0x1\nsources: [x, 1.0]\ndeprecated: true\n", "")
                .unwrap();
        assert_eq!((info.metadata.version.as_str(), info.metadata.app_version.as_str()), ("1.10", "0x1"));
        assert_eq!(info.metadata.sources, Some(vec!["x".to_owned(), "1.0".to_owned()]));
        assert!(info.metadata.deprecated);
    }

    #[test]
    fn a_field_of_the_wrong_type_is_an_error_with_its_line() {
        let error = parse("name: a\nversion: [1]\n", "").unwrap_err();
        assert_eq!(error.to_string(), "Chart.yaml: line 2: cannot read !!seq as string");
    }

    #[test]
    fn a_key_that_occurs_twice_is_an_error_where_it_is_read() {
        let error = parse("name: a\nmaintainers:\n- name: b\n  name: c\n", "").unwrap_err();
        assert_eq!(error.to_string(), "Chart.yaml: line 4: mapping key \"name\" already defined at line 3");
        assert!(parse("name: a\nannotations: {x: 1, x: 2}\n", "").is_ok());
    }

    #[test]
    fn dependencies_are_sorted_by_repository_and_name() {
        let text = "dependencies:\n- {name: b, repository: x}\n- {name: z}\n- {name: a, repository: x}\n";
        let names: Vec<String> =
            parse(text, "").unwrap().dependencies.into_iter().flatten().map(|item| item.name).collect();
        assert_eq!(names, ["z", "a", "b"]);
    }
}
