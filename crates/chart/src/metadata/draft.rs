//! Chart.yaml as decoded, before validation: the same fields, with the gaps that YAML allows.

use pintle_tree::{Map, Node};

use super::{Dependency, Maintainer, Metadata, OBJECT_V3, V1, v3};
use crate::decode::{Decoder, read_tree};
use crate::error::{Error, Result};

/// The field names of Metadata, in Chart.yaml and in release records.
pub const METADATA: [&str; 17] = [
    "name",
    "home",
    "sources",
    "version",
    "description",
    "keywords",
    "maintainers",
    "icon",
    "apiVersion",
    "condition",
    "tags",
    "appVersion",
    "deprecated",
    "annotations",
    "kubeVersion",
    "dependencies",
    "type",
];
const MAINTAINER: [&str; 3] = ["name", "email", "url"];
const DEPENDENCY: [&str; 8] =
    ["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"];

/// Chart.yaml and requirements.yaml, not validated. Lists may have nil entries, which validation rejects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The fields that are not lists of structs; those lists are empty.
    pub metadata: Metadata,
    /// The entries of `maintainers:`.
    pub maintainers: Vec<Option<Maintainer>>,
    /// The entries of `dependencies:`.
    pub dependencies: Vec<Option<Dependency>>,
}

impl Draft {
    /// Decodes a Chart.yaml on top of what is already set.
    ///
    /// # Errors
    /// When the text is not valid YAML, or a field has the wrong type.
    pub fn read_chart_file(&mut self, text: &[u8]) -> Result<()> {
        self.read(text, "Chart.yaml", false)?;
        // Helm 2 did not require an `apiVersion`.
        if self.metadata.api_version.is_empty() {
            self.metadata.api_version = V1.to_owned();
        }
        Ok(())
    }

    /// Decodes a single Chart.yaml; duplicate keys and unknown fields are errors.
    ///
    /// # Errors
    /// Like [`Draft::read_chart_file`], and for duplicate keys and unknown fields.
    pub fn read_strictly(text: &[u8]) -> Result<Draft> {
        let mut draft = Draft::default();
        draft.read(text, "Chart.yaml", true)?;
        Ok(draft)
    }

    /// Decodes a requirements.yaml on top of what is already set. As in Helm, it may set any field of Chart.yaml.
    ///
    /// # Errors
    /// Like [`Draft::read_chart_file`].
    pub fn read_requirements(&mut self, text: &[u8]) -> Result<()> {
        self.read(text, "requirements.yaml", false)
    }

    /// Validates the fields and returns the finished metadata.
    ///
    /// # Errors
    /// The first violated rule.
    pub fn validate(self) -> Result<Metadata> {
        let Draft { mut metadata, mut maintainers, mut dependencies } = self;
        super::validate::check(&mut metadata, &mut maintainers, &mut dependencies)?;
        metadata.maintainers = maintainers.into_iter().flatten().collect();
        metadata.dependencies = dependencies.into_iter().flatten().collect();
        Ok(metadata)
    }

    fn read(&mut self, text: &[u8], file: &'static str, strict: bool) -> Result<()> {
        let tree = read_tree(text, file, strict)?;
        let flat;
        let mut root = &tree;
        let shaped_as_object = tree.get("apiVersion").and_then(Node::as_str) == Some(OBJECT_V3);
        if shaped_as_object {
            flat = v3::flatten(&tree).map_err(|reason| Error::File { file, reason, line: None })?;
            root = &flat;
        } else if self.metadata.api_version == OBJECT_V3 {
            flat = v3::rename_requirements(&tree);
            root = &flat;
        }
        self.read_libraries(root);
        // Helm does not know `libraries:`, so strict mode must not reject it.
        let stripped;
        if strict && root.get("libraries").is_some() {
            stripped = without(root, "libraries");
            root = &stripped;
        }
        // The converted tree has fields of its own, so it is not checked for unknown ones.
        let mut decoder = Decoder::new(strict && !shaped_as_object);
        self.decode(&mut decoder, root);
        decoder.finish(root).map_err(|reason| Error::File { file, reason, line: None })
    }

    /// `libraries:` is our extension, so a field of that name with another meaning must not break a chart that Helm
    /// accepts: whatever does not look like ours is ignored.
    fn read_libraries(&mut self, root: &Node) {
        let Some(list) = root.get("libraries").and_then(Node::as_list) else { return };
        let mut decoder = Decoder::new(false);
        let mut libraries = Vec::new();
        for item in list.iter().filter(|item| item.get("name").is_some()) {
            let mut library = Dependency::default();
            dependency(&mut decoder, item, &mut library);
            libraries.push(library);
        }
        if decoder.finish(root).is_ok() {
            self.metadata.libraries = libraries;
        }
    }

    fn decode(&mut self, decoder: &mut Decoder, root: &Node) {
        let Draft { metadata, maintainers, dependencies } = self;
        decoder.document(root, "v2.Metadata", &METADATA, |decoder, name, value| {
            match name {
                "name" => decoder.string(value, &mut metadata.name),
                "home" => decoder.string(value, &mut metadata.home),
                "sources" => decoder.strings(value, &mut metadata.sources),
                "version" => decoder.string(value, &mut metadata.version),
                "description" => decoder.string(value, &mut metadata.description),
                "keywords" => decoder.strings(value, &mut metadata.keywords),
                "maintainers" => decoder.structs(value, "v2.Maintainer", maintainers, maintainer),
                "icon" => decoder.string(value, &mut metadata.icon),
                "apiVersion" => decoder.string(value, &mut metadata.api_version),
                "condition" => decoder.string(value, &mut metadata.condition),
                "tags" => decoder.string(value, &mut metadata.tags),
                "appVersion" => decoder.string(value, &mut metadata.app_version),
                "deprecated" => decoder.bool(value, &mut metadata.deprecated),
                "annotations" => decoder.string_map(value, &mut metadata.annotations),
                "kubeVersion" => decoder.string(value, &mut metadata.kube_version),
                "dependencies" => {
                    decoder.structs(value, "v2.Dependency", dependencies, dependency);
                    // Go distinguishes a nil list from an empty one.
                    metadata.declares_dependencies = value.as_list().is_some();
                }
                // The decoder passes only names of `METADATA`, so the last one needs no name here.
                _ => decoder.string(value, &mut metadata.kind),
            }
        });
    }
}

fn maintainer(decoder: &mut Decoder, value: &Node, target: &mut Maintainer) {
    decoder.fields(value, &MAINTAINER, |decoder, name, value| {
        let slot = match name {
            "name" => &mut target.name,
            "email" => &mut target.email,
            _ => &mut target.url,
        };
        decoder.string(value, slot);
    });
}

/// Decodes one entry of `dependencies:`, of Chart.yaml or of a lock.
pub(super) fn dependency(decoder: &mut Decoder, value: &Node, target: &mut Dependency) {
    decoder.fields(value, &DEPENDENCY, |decoder, name, value| match name {
        "name" => decoder.string(value, &mut target.name),
        "version" => decoder.string(value, &mut target.version),
        "repository" => decoder.string(value, &mut target.repository),
        "condition" => decoder.string(value, &mut target.condition),
        "tags" => decoder.strings(value, &mut target.tags),
        "enabled" => decoder.bool(value, &mut target.enabled),
        "import-values" => decoder.nodes(value, &mut target.import_values),
        _ => decoder.string(value, &mut target.alias),
    });
}

fn without(root: &Node, key: &str) -> Node {
    match root {
        Node::Map(map) => {
            let kept: Map<Node> = map
                .iter()
                .filter(|(name, _)| *name != key)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            Node::Map(kept)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Result<Draft> {
        let mut draft = Draft::default();
        draft.read_chart_file(text.as_bytes()).map(|()| draft)
    }

    fn error(text: &str) -> String {
        draft(text).expect_err("the file is wrong").to_string()
    }

    #[test]
    fn scalars_become_text_and_a_missing_api_version_is_v1() {
        let draft =
            draft("NAME: 5\nversion: 1.10\nappVersion: 1000000\ndescription: true\n").expect("a good file");
        assert_eq!(draft.metadata.name, "5");
        assert_eq!(draft.metadata.version, "1.1");
        assert_eq!(draft.metadata.app_version, "1000000");
        assert_eq!(draft.metadata.description, "true");
        assert_eq!(draft.metadata.api_version, "v1");
    }

    #[test]
    fn type_errors_are_reported_as_in_go() {
        let prefix =
            "cannot load Chart.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal";
        for (text, rest) in [
            ("dependencies: {}", "object into Go struct field .dependencies of type []*v2.Dependency"),
            ("dependencies: [5]", "number into .dependencies.0 of type v2.Dependency"),
            (
                "dependencies: [{tags: x}]",
                "string into Go struct field .dependencies.0.tags of type []string",
            ),
            ("dependencies: [{}, {Tags: [[1]]}]", "array into .dependencies.1.Tags.0 of type string"),
            ("NAME: [1]", "array into Go struct field .NAME of type string"),
            ("deprecated: 'yes'", "string into Go struct field .deprecated of type bool"),
            ("maintainers: [x]", "string into .maintainers.0 of type v2.Maintainer"),
            ("annotations: {a/b: [1]}", "array into Go struct field .annotations.a~1b of type string"),
            ("[]", "array into Go value of type v2.Metadata"),
        ] {
            assert_eq!(error(text), format!("{prefix} {rest}"));
        }
    }

    #[test]
    fn requirements_are_read_into_the_entries_of_the_chart_file() {
        let mut draft = draft("dependencies: [{name: a, version: '1'}, {name: b}]\n").expect("a good file");
        draft.read_requirements(b"dependencies: [{version: '2'}]\n").expect("a good file");
        let first = draft.dependencies[0].as_ref().expect("no gap");
        assert_eq!((first.name.as_str(), first.version.as_str(), draft.dependencies.len()), ("a", "2", 1));
    }

    #[test]
    fn odd_libraries_do_not_break_a_chart() {
        assert!(draft("name: a\nlibraries: nothing").expect("a good file").metadata.libraries.is_empty());
        let draft = draft("libraries: [{name: common, version: ^2.1.0}]").expect("a good file");
        assert_eq!(draft.metadata.libraries[0].version, "^2.1.0");
    }

    #[test]
    fn strict_reading_refuses_unknown_fields_but_accepts_libraries() {
        assert!(Draft::read_strictly(b"name: a\nlibraries: []\n").is_ok());
        let error = Draft::read_strictly(b"name: a\nfoo: 1\n").expect_err("foo is unknown");
        assert!(error.to_string().ends_with("json: unknown field \"foo\""));
    }
}
