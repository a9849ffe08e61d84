//! Post-renderers: the user's programs that change rendered objects before they are sorted.
//!
//! As in Helm, all documents go through a program as one stream, hooks included. An annotation keeps the name of the
//! template of each, so that they can be put back, and both ways the documents are re-encoded in the layout of the
//! library that Helm uses for it.

use std::fmt;
use std::sync::Arc;

use pintle_objects::Order;
use pintle_tree::Node;
use pintle_yaml::outline::{Edits, Kind, Outline, Style};

use crate::{Error, Result};

/// The annotation with the name of a document's template.
const FILE_NAME: &str = "postrenderer.helm.sh/postrender-filename";

/// Changes rendered objects.
pub trait PostRenderer: fmt::Debug + Send + Sync {
    /// Changes a stream of YAML documents.
    ///
    /// # Errors
    /// Why it failed.
    fn run(&self, manifests: &[u8]) -> std::result::Result<Vec<u8>, String>;
}

/// How hooks are post-rendered (`--post-renderer-strategy`). The names are those of Helm's `PostRenderStrategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostRenderStrategy {
    /// Hooks and other objects go through the program together, as in Helm 4.
    #[default]
    Combined,
    /// Hooks go through the program by themselves.
    Separate,
    /// Hooks do not go through the program, as in Helm 3.
    NoHooks,
}

/// The post-renderers of an operation.
#[derive(Clone, Debug, Default)]
pub struct PostRenderOptions {
    /// The programs, in the order in which they run.
    pub renderers: Vec<Arc<dyn PostRenderer>>,
    /// How hooks are treated.
    pub strategy: PostRenderStrategy,
}

type Files = Vec<(String, Vec<u8>)>;

/// Sends rendered files through the post-renderers.
///
/// # Errors
/// When one fails, and documents that are not objects.
pub(crate) fn run(files: Files, options: &PostRenderOptions) -> Result<Files> {
    if options.renderers.is_empty() {
        return Ok(files);
    }
    let failed = |front: String| move |text: String| Error::PostRender(format!("{front}: {text}"));
    if options.strategy == PostRenderStrategy::Combined {
        let merged = merge(&files).map_err(failed("error merging manifests".to_owned()))?;
        let rendered =
            render(merged, options).map_err(failed("error while running post render on files".to_owned()))?;
        return split(&rendered, "").map_err(failed("error while parsing post rendered output".to_owned()));
    }
    let mut result = Files::new();
    for (name, group) in groups(&files)? {
        if group.is_empty() {
            continue;
        }
        let done = if name == "hooks" && options.strategy == PostRenderStrategy::NoHooks {
            group
        } else {
            let merged = merge(&group).map_err(failed(format!("error merging {name}")))?;
            let rendered = render(merged, options)
                .map_err(failed(format!("error while running post render on {name}")))?;
            split(&rendered, name)
                .map_err(failed(format!("error while parsing post rendered output for {name}")))?
        };
        for (path, text) in done {
            add(&mut result, &path, &text, b"\n---\n");
        }
    }
    result.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(result)
}

/// The documents of hooks, and those of other objects.
fn groups(files: &Files) -> Result<[(&'static str, Files); 2]> {
    let sorted = pintle_objects::sort(files, Order::Install)
        .map_err(|source| Error::Objects { cause: Box::new(source), rendered: Vec::new() })?;
    let (mut hooks, mut manifests) = (Files::new(), Files::new());
    for hook in &sorted.hooks {
        add(&mut hooks, hook.path, hook.manifest, b"\n---\n");
    }
    for manifest in &sorted.manifests {
        add(&mut manifests, manifest.path, manifest.content, b"\n---\n");
    }
    Ok([("hooks", hooks), ("manifests", manifests)])
}

fn add(files: &mut Files, path: &str, text: &[u8], separator: &[u8]) {
    match files.iter_mut().find(|(other, _)| other == path) {
        Some((_, content)) => {
            content.extend_from_slice(separator);
            content.extend_from_slice(text);
        }
        None => files.push((path.to_owned(), text.to_vec())),
    }
}

fn render(mut text: Vec<u8>, options: &PostRenderOptions) -> std::result::Result<Vec<u8>, String> {
    for renderer in &options.renderers {
        text = renderer.run(&text)?;
    }
    Ok(text)
}

/// All documents as one stream, each with the annotation that names its template.
fn merge(files: &Files) -> std::result::Result<Vec<u8>, String> {
    let mut sorted: Vec<&(String, Vec<u8>)> = files.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let mut merged = Vec::new();
    for (path, content) in sorted {
        // As in Helm, which leaves out partials.
        let is_partial = path.rsplit('/').next().is_some_and(|name| name.starts_with('_'));
        if is_partial || content.trim_ascii().is_empty() {
            continue;
        }
        for document in pintle_objects::split(content).filter(|text| !text.trim_ascii().is_empty()) {
            let annotated = annotated(document, path).map_err(|error| format!("parsing {path}: {error}"))?;
            if let Some(annotated) = annotated {
                push_document(&mut merged, &annotated);
            }
        }
    }
    Ok(merged)
}

fn push_document(stream: &mut Vec<u8>, document: &[u8]) {
    if !stream.is_empty() {
        stream.extend_from_slice(b"---\n");
    }
    stream.extend_from_slice(document);
}

/// A document with the annotation, in the layout of the stream; nothing if it has no content.
fn annotated(document: &[u8], path: &str) -> std::result::Result<Option<Vec<u8>>, String> {
    let malformed = |error: pintle_yaml::Error| format!("MalformedYAMLError: {}", plain(&error));
    let outline = Outline::read_first(document).map_err(malformed)?;
    let Some(root) = outline.roots().next() else { return Ok(None) };
    if root.kind() == Kind::Scalar(Style::Plain) && root.text().is_empty() {
        return Ok(None);
    }
    if root.kind() != Kind::Mapping {
        return Err(format!("wrong node kind for metadata: {}", kind(root.kind())));
    }
    let mut edits = Edits::new(&outline);
    let value = Node::from(path);
    let only = |key: &str, value: Node| Node::Map(pintle_tree::Map::from_entries(vec![(key.into(), value)]));
    match root.get("metadata") {
        Some(metadata) if metadata.target().kind() == Kind::Mapping => match metadata.get("annotations") {
            Some(annotations)
                if annotations.target().kind() == Kind::Mapping && annotations.entries().next().is_some() =>
            {
                edits.set(annotations, FILE_NAME, &value);
            }
            _ => edits.set(metadata, "annotations", &only(FILE_NAME, value)),
        },
        _ => edits.set(root, "metadata", &only("annotations", only(FILE_NAME, value))),
    }
    let text = edits.apply().map_err(malformed)?;
    let text = pintle_yaml::normalize(&text).map_err(malformed)?;
    // Helm's library quotes the values of annotations.
    let (plain, quoted) = (format!("{FILE_NAME}: {path}\n"), format!("{FILE_NAME}: '{path}'\n"));
    Ok(Some(String::from_utf8_lossy(&text).replace(&plain, &quoted).into_bytes()))
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Sequence => "SequenceNode",
        Kind::Mapping => "MappingNode",
        Kind::Alias => "AliasNode",
        Kind::Scalar(_) => "ScalarNode",
    }
}

/// The error of the YAML parser without the prefix of the conversion to JSON, which is not done here.
fn plain(error: &pintle_yaml::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error converting YAML to JSON: ").map(str::to_owned).unwrap_or(text)
}

/// Puts the documents of a stream back into their files. Those without the annotation get files of their own.
fn split(stream: &[u8], group: &str) -> std::result::Result<Files, String> {
    let parsing =
        |error: pintle_yaml::Error| format!("error parsing YAML: MalformedYAMLError: {}", plain(&error));
    let text = String::from_utf8_lossy(stream).replace("\r\n", "\n");
    let mut files = Files::new();
    let mut at = 0;
    for document in documents(&text)? {
        let outline = Outline::read_first(document.as_bytes()).map_err(parsing)?;
        let Some(root) = outline.roots().next() else { continue };
        if root.kind() == Kind::Scalar(Style::Plain) && root.text().is_empty() {
            continue;
        }
        if root.kind() != Kind::Mapping {
            let contents =
                String::from_utf8_lossy(&pintle_yaml::normalize(document.as_bytes()).map_err(parsing)?)
                    .into_owned();
            return Err(format!(
                "error parsing YAML: wrong node kind: expected MappingNode but got {}: node contents:\n{contents}",
                kind(root.kind())
            ));
        }
        let metadata = root.get("metadata").filter(|metadata| metadata.target().kind() == Kind::Mapping);
        let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
        let annotations = annotations.filter(|annotations| annotations.target().kind() == Kind::Mapping);
        let name = annotations.and_then(|annotations| annotations.get(FILE_NAME));
        let name = name.map(|name| String::from_utf8_lossy(&name.text()).into_owned());
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| match group {
            "" => format!("generated-by-postrender-{at}.yaml"),
            group => format!("generated-by-postrender-{group}-{at}.yaml"),
        });
        let mut edits = Edits::new(&outline);
        if let (Some(metadata), Some(annotations)) = (metadata, annotations) {
            let others = annotations.entries().any(|entry| *entry.key.text() != *FILE_NAME.as_bytes());
            match others {
                true => edits.remove(annotations, FILE_NAME),
                false => edits.remove(metadata, "annotations"),
            }
        }
        let text = edits.apply().map_err(parsing)?;
        let text = pintle_yaml::normalize(&text).map_err(parsing)?;
        add(&mut files, &name, &text, b"---\n");
        at += 1;
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

/// The documents of a stream: what is between lines that begin with three dashes.
fn documents(text: &str) -> std::result::Result<Vec<String>, String> {
    let mut documents = vec![String::new()];
    for (at, line) in text.split_inclusive('\n').enumerate() {
        match line.strip_prefix("---") {
            Some(rest) if at > 0 => {
                let rest = rest.trim();
                if !rest.is_empty() && !rest.starts_with('#') {
                    return Err(format!("error parsing YAML: invalid document separator: {}", line.trim()));
                }
                documents.push(String::new());
            }
            _ => documents.last_mut().into_iter().for_each(|document| document.push_str(line)),
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces a text.
    #[derive(Debug)]
    struct Replace(&'static str, &'static str);

    impl PostRenderer for Replace {
        fn run(&self, manifests: &[u8]) -> std::result::Result<Vec<u8>, String> {
            Ok(String::from_utf8_lossy(manifests).replace(self.0, self.1).into_bytes())
        }
    }

    fn options(
        strategy: PostRenderStrategy,
        renderers: &[(&'static str, &'static str)],
    ) -> PostRenderOptions {
        let renderers =
            renderers.iter().map(|(old, new)| Arc::new(Replace(old, new)) as Arc<dyn PostRenderer>);
        PostRenderOptions { renderers: renderers.collect(), strategy }
    }

    fn files() -> Files {
        let hook = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: old-hook\n  annotations:\n    helm.sh/hook: pre-install\n";
        let object =
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: old\ndata:\n    list: |\n        - x\n";
        vec![("c/templates/a.yaml".to_owned(), object.into()), ("c/templates/b.yaml".to_owned(), hook.into())]
    }

    fn text(files: &Files) -> String {
        files.iter().map(|(path, text)| format!("{path}\n{}", String::from_utf8_lossy(text))).collect()
    }

    #[test]
    fn documents_go_through_in_a_chain_and_come_back_to_their_files() {
        let done = run(files(), &options(PostRenderStrategy::Combined, &[("old", "new"), ("new", "newer")]))
            .unwrap();
        assert_eq!(
            text(&done),
            "c/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: newer\ndata:\n  list: |\n    - x\n\
             c/templates/b.yaml\napiVersion: v1\nkind: Pod\nmetadata:\n  name: newer-hook\n  annotations:\n    \
             helm.sh/hook: pre-install\n"
        );
    }

    #[test]
    fn without_hooks_only_other_objects_go_through() {
        let done = run(files(), &options(PostRenderStrategy::NoHooks, &[("old", "new")])).unwrap();
        assert!(text(&done).contains("name: old-hook") && text(&done).contains("name: new\n"));
        let done = run(files(), &options(PostRenderStrategy::Separate, &[("old", "new")])).unwrap();
        assert!(text(&done).contains("name: new-hook") && text(&done).contains("name: new\n"));
    }

    #[test]
    fn documents_that_were_added_get_names_and_broken_ones_are_refused() {
        let add = (
            "kind: Pod",
            "kind: Pod\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n---\nkind: Pod",
        );
        let done = run(files(), &options(PostRenderStrategy::Combined, &[add])).unwrap();
        assert!(text(&done).contains("generated-by-postrender-"), "{}", text(&done));
        let error =
            run(files(), &options(PostRenderStrategy::Combined, &[("kind: Pod", "kind: [")])).unwrap_err();
        assert!(
            error.to_string().starts_with("error while parsing post rendered output: error parsing YAML: "),
            "{error}"
        );
    }
}
