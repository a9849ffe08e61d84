//! The image fields of rendered objects: exactly those that the kubelet reads.

use pintle_objects::ObjectId;
use pintle_tree::{Map, Node, Str, with_stack};

use crate::value_path::{MAX_DEPTH, Segment, ValuePath};

/// The pod spec lists whose items have an `image`.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The location of a string in rendered output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldLocation {
    /// The template path including its chart, as in `root/charts/sub/templates/x.yaml`.
    pub template: String,
    /// The index of the document within the rendered template.
    pub document: usize,
    /// The path of the string within the document.
    pub path: ValuePath,
}

/// A field of a rendered object that names an image to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where the field is.
    pub location: FieldLocation,
    /// The object it belongs to; for a `List`, the item.
    pub object: ObjectId,
    /// The image as rendered.
    pub image: String,
}

/// A parsed document of a rendered file.
pub(crate) struct Document {
    pub(crate) number: usize,
    pub(crate) body: Map<Node>,
}

/// Finds the image fields of pod specs in rendered files, in objects of any kind.
///
/// Documents that are not valid YAML are skipped; the render pipeline reports those.
pub fn fields(files: &[(String, Vec<u8>)]) -> Vec<Field> {
    let mut fields = Vec::new();
    for (template, text) in files {
        for document in documents(text, b"image") {
            fields.extend(in_document(template, document.number, &document.body));
        }
    }
    fields
}

/// Parses the documents of a rendered file that contain `word`. CustomResourceDefinitions are skipped: what looks
/// like a pod spec there is a schema.
pub(crate) fn documents<'t>(text: &'t [u8], word: &'t [u8]) -> impl Iterator<Item = Document> + 't {
    let numbered = pintle_objects::split(text).enumerate();
    let promising = numbered.filter(move |(_, document)| contains(document, word));
    promising.filter_map(|(number, document)| match pintle_yaml::read(document) {
        Ok(Node::Map(body)) if !is_definition(&body) => Some(Document { number, body }),
        _ => None,
    })
}

pub(crate) fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

pub(crate) fn is_definition(body: &Map<Node>) -> bool {
    body.get("kind").and_then(Node::as_str) == Some("CustomResourceDefinition")
}

/// The image fields of one document.
pub(crate) fn in_document(template: &str, number: usize, body: &Map<Node>) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut visit = |object: &ObjectId, path: &ValuePath, image: &str| {
        let location = FieldLocation { template: template.to_owned(), document: number, path: path.clone() };
        fields.push(Field { location, object: object.clone(), image: image.to_owned() });
    };
    each_object(body, &ValuePath::root(), &mut |object, path| {
        let id = id(object);
        in_map(object, path, &mut |path, image| visit(&id, path, image));
    });
    fields
}

/// Visits an object, or each item if the object is a `List`.
pub(crate) fn each_object(body: &Map<Node>, path: &ValuePath, visit: &mut dyn FnMut(&Map<Node>, &ValuePath)) {
    let is_list = body.get("kind").and_then(Node::as_str).is_some_and(|kind| kind.ends_with("List"));
    match body.get("items") {
        // Lists may nest; all walks over untrusted trees have this limit.
        Some(Node::List(_)) if is_list && path.segments().len() > MAX_DEPTH => {}
        Some(Node::List(items)) if is_list => {
            let items_path = path.key("items");
            for (index, item) in items.iter().enumerate() {
                if let Node::Map(item) = item {
                    with_stack(|| each_object(item, &items_path.index(index), visit));
                }
            }
        }
        _ => visit(body, path),
    }
}

/// The identity of an object; `generateName` replaces a missing name.
pub(crate) fn id(body: &Map<Node>) -> ObjectId {
    let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
    let metadata = body.get("metadata");
    let of_metadata = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    let name = match of_metadata("name") {
        name if name.is_empty() => of_metadata("generateName"),
        name => name,
    };
    ObjectId::new(&text(body.get("apiVersion")), &text(body.get("kind")), &of_metadata("namespace"), &name)
}

type Visit<'v> = dyn FnMut(&ValuePath, &str) + 'v;

fn in_node(node: &Node, path: &ValuePath, visit: &mut Visit<'_>) {
    match node {
        _ if path.segments().len() > MAX_DEPTH => {}
        Node::Map(map) => with_stack(|| in_map(map, path, visit)),
        Node::List(list) => with_stack(|| {
            for (index, item) in list.iter().enumerate() {
                if matches!(item, Node::Map(_) | Node::List(_)) {
                    in_node(item, &path.index(index), visit);
                }
            }
        }),
        _ => {}
    }
}

fn in_map(map: &Map<Node>, path: &ValuePath, visit: &mut Visit<'_>) {
    // By shape and not by kind, so that the pod templates of custom resources are found as well.
    let is_pod = CONTAINERS.iter().any(|key| matches!(map.get(key), Some(Node::List(_))));
    for (key, node) in map.iter() {
        if !matches!(node, Node::Map(_) | Node::List(_)) {
            continue;
        }
        let here = path.with(Segment::Key(key.clone()));
        if is_pod {
            in_pod(key, node, &here, visit);
        }
        in_node(node, &here, visit);
    }
}

/// The images directly below one entry of a pod spec: containers, and volumes with an image source.
fn in_pod(key: &Str, node: &Node, path: &ValuePath, visit: &mut Visit<'_>) {
    let Node::List(items) = node else { return };
    let is_containers = CONTAINERS.iter().any(|containers| key == containers);
    for (index, item) in items.iter().enumerate() {
        if is_containers && let Some(image) = item.get("image").and_then(Node::as_str) {
            visit(&path.index(index).key("image"), image);
        }
        let volume = item.get("image").and_then(|image| image.get("reference")).and_then(Node::as_str);
        if *key == "volumes"
            && let Some(image) = volume
        {
            visit(&path.index(index).key("image").key("reference"), image);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [("c/templates/x.yaml".to_owned(), text.as_bytes().to_vec())];
        let show = |field: &Field| {
            format!("{} {} {} {}", field.location.document, field.object, field.location.path, field.image)
        };
        fields(&files).iter().map(show).collect()
    }

    #[test]
    fn every_pod_spec_counts_wherever_it_is() {
        let pod = "kind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{image: a}]\n  initContainers: [{image: b}]\n  \
                   ephemeralContainers: [{image: c}]\n  volumes: [{image: {reference: d}}, {name: x}]\n";
        assert_eq!(
            found(pod),
            [
                "0 Pod/p spec.containers[0].image a",
                "0 Pod/p spec.ephemeralContainers[0].image c",
                "0 Pod/p spec.initContainers[0].image b",
                "0 Pod/p spec.volumes[0].image.reference d",
            ]
        );
        let job = "kind: CronJob\nmetadata: {name: j}\nspec: {jobTemplate: {spec: {template: {spec: {containers: \
                   [{image: x}]}}}}}";
        assert_eq!(found(job), ["0 CronJob/j spec.jobTemplate.spec.template.spec.containers[0].image x"]);
        let custom = "kind: Rollout\nmetadata: {name: r, namespace: ns}\nspec: {template: {spec: {containers: [{image: \
                      x}]}}}";
        assert_eq!(found(custom), ["0 Rollout/ns/r spec.template.spec.containers[0].image x"]);
    }

    #[test]
    fn members_of_lists_have_their_own_names() {
        let list = "a: 1\n---\nkind: List\nitems:\n- kind: Pod\n  metadata: {name: p}\n  spec: {containers: [{image: x}]}\n";
        assert_eq!(found(list), ["1 Pod/p items[0].spec.containers[0].image x"]);
    }

    #[test]
    fn schemas_and_other_images_do_not_count() {
        let text = "kind: CustomResourceDefinition\nspec: {containers: [{image: x}]}\n---\nkind: X\nspec: {image: y}\n---\n\
                    kind: Pod\nspec: {containers: [{image: 5}, {name: image}, image]}\n---\nimage: [\n";
        assert!(found(text).is_empty());
    }
}
