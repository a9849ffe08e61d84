//! Changes to rendered objects: patches, images and common metadata, with the meaning they have in kustomize, and the frozen
//! objects of an approved plan.

mod budget;
mod image;
mod strategic;

use std::sync::{Arc, Mutex, PoisonError};

use json_patch::PatchOperation;
use pintle::objects::Object;
use pintle::{ObjectSelector, PostRenderOptions};
use pintle_tree::Node;
use serde_json::{Map, Value};

use crate::memory::StageLimits;
use crate::request::{CommonMetadata, HelmRequestSpec, Image, PostRenderer};
use budget::{Budget, size};

/// The end of the text of an error that says that post-renderers make too much.
const MORE_THAN: &str = "the post-renderers make objects with more than";

/// Whether an operation failed because post-renderers made more than the limits allow.
pub(crate) fn exceeds_limits(error: &pintle::Error) -> bool {
    error.to_string().contains(MORE_THAN)
}

/// The post-renderers of a request, in the order in which they run.
///
/// # Errors
/// A patch or target that cannot be parsed.
pub(crate) fn options(spec: &HelmRequestSpec, limits: StageLimits) -> Result<PostRenderOptions, String> {
    let mut options = PostRenderOptions::default();
    let budget = Budget::with_output(limits.post_rendered());
    for renderer in &spec.post_renderers {
        options.renderers.push(Arc::new(Kustomize { budget: budget.clone(), ..compile(renderer)? }));
    }
    if spec.common_metadata != CommonMetadata::default() {
        let metadata = spec.common_metadata.clone();
        options.renderers.push(Arc::new(AddMetadata { metadata, budget }));
    }
    Ok(options)
}

/// Parses a post-renderer of a request.
///
/// # Errors
/// A patch or target that cannot be parsed.
pub(crate) fn compile(renderer: &PostRenderer) -> Result<Kustomize, String> {
    let mut patches = Vec::new();
    for (index, patch) in renderer.patches.iter().enumerate() {
        let compiled = compile_patch(&patch.patch, patch.target.as_ref().map(|target| target.selector()));
        patches.push(compiled.map_err(|error| format!("patches[{index}]: {error}"))?);
    }
    if let Some(index) = renderer.images.iter().position(|image| image.name.is_empty()) {
        return Err(format!("images[{index}]: name must be set"));
    }
    Ok(Kustomize { patches, images: renderer.images.clone(), budget: Budget::default() })
}

fn compile_patch(
    text: &str,
    target: Option<Result<ObjectSelector, String>>,
) -> Result<(Change, PatchTarget), String> {
    let node =
        pintle_yaml::read(text.as_bytes()).map_err(|error| format!("the patch is no YAML: {error}"))?;
    let value = to_json(&node)?;
    let target = target.transpose()?;
    match value {
        Value::Array(_) => {
            let target = target.ok_or("a list of operations needs a target")?;
            let patch = serde_json::from_value(value)
                .map_err(|error| format!("the patch is no list of operations of JSON 6902: {error}"))?;
            Ok((Change::Json(patch), PatchTarget::Selected(Box::new(target))))
        }
        Value::Object(map) => {
            let target = match target {
                Some(target) => PatchTarget::Selected(Box::new(target)),
                None => PatchTarget::named(&map)
                    .ok_or("without a target, the patch must have kind and metadata.name")?,
            };
            Ok((Change::Strategic(map), target))
        }
        _ => Err("the patch is neither a map nor a list of operations".to_owned()),
    }
}

/// Patches and images.
#[derive(Debug)]
pub(crate) struct Kustomize {
    patches: Vec<(Change, PatchTarget)>,
    images: Vec<Image>,
    budget: Budget,
}

#[derive(Debug)]
enum Change {
    Json(json_patch::Patch),
    Strategic(Map<String, Value>),
}

#[derive(Debug)]
enum PatchTarget {
    Selected(Box<ObjectSelector>),
    /// The object that the patch itself names.
    Named {
        kind: String,
        name: String,
        namespace: Option<String>,
    },
}

impl PatchTarget {
    fn named(patch: &Map<String, Value>) -> Option<PatchTarget> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let metadata = patch.get("metadata");
        Some(PatchTarget::Named {
            kind: text(patch.get("kind"))?,
            name: text(metadata.and_then(|metadata| metadata.get("name")))?,
            namespace: text(metadata.and_then(|metadata| metadata.get("namespace"))),
        })
    }

    fn matches(&self, object: &Object) -> bool {
        match self {
            PatchTarget::Selected(selector) => selector.matches(object),
            PatchTarget::Named { kind, name, namespace } => {
                object.kind() == kind
                    && object.name() == name
                    && namespace.as_deref().is_none_or(|namespace| object.namespace() == namespace)
            }
        }
    }
}

impl pintle::PostRenderer for Kustomize {
    fn run(&self, manifests: &[u8]) -> Result<Vec<u8>, String> {
        // Each image is searched for in all objects.
        self.budget.charge(manifests.len().saturating_mul(self.images.len()))?;
        each_document(manifests, &self.budget, |mut object| {
            for (change, target) in &self.patches {
                self.budget.charge(TARGET_COST)?;
                if target.matches(&object) {
                    match change.apply(&object, &self.budget)? {
                        Some(patched) => object = patched,
                        None => return Ok(None),
                    }
                }
            }
            for image in &self.images {
                image::replace(object.body_mut(), image);
            }
            Ok(Some(object))
        })
    }
}

/// What it costs to find out whether a target selects an object.
const TARGET_COST: usize = 256;

impl Change {
    /// The patched object; `None` if the patch deletes it.
    fn apply(&self, object: &Object, budget: &Budget) -> Result<Option<Object>, String> {
        let failed = |error: String| format!("{}/{}: {error}", object.kind(), object.name());
        let text = object.to_json();
        // Reading and writing takes several times as long as copying.
        budget.charge(text.len().saturating_mul(4)).map_err(failed)?;
        let mut value: Value = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        match self {
            Change::Json(patch) => apply_operations(&mut value, patch, budget).map_err(failed)?,
            Change::Strategic(patch) => match strategic::is_deletion(patch) {
                true => return Ok(None),
                false => strategic::merge(&mut value, patch, budget).map_err(failed)?,
            },
        }
        let bytes = serde_json::to_vec(&value).map_err(|error| failed(error.to_string()))?;
        Object::read_json(&bytes).map(Some).map_err(|error| failed(error.to_string()))
    }
}

/// Applies operations one by one, and keeps the object from growing without bounds: `copy` can double it each time.
fn apply_operations(value: &mut Value, patch: &[PatchOperation], budget: &Budget) -> Result<(), String> {
    let most = budget.object;
    let at = |value: &Value, pointer: &str| value.pointer(pointer).map_or(0, |value| size(value, most));
    let mut total = size(value, most);
    for (index, operation) in patch.iter().enumerate() {
        let touched = match operation {
            PatchOperation::Add(add) => size(&add.value, most),
            PatchOperation::Replace(replace) => size(&replace.value, most),
            PatchOperation::Copy(copy) => at(value, copy.from.as_str()),
            PatchOperation::Test(_) | PatchOperation::Move(_) | PatchOperation::Remove(_) => 0,
        };
        // Items of a list move when one is added or removed, and `test` compares.
        let path = operation.path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let moved = value.pointer(parent).and_then(Value::as_array).map_or(0, Vec::len);
        let compared = if let PatchOperation::Test(_) = operation { at(value, path) } else { 0 };
        budget.charge(64 + touched + compared + moved.saturating_mul(16))?;
        total = total.saturating_add(touched);
        if total > most {
            return Err(format!("operation '/{index}' makes the object larger than {most} bytes"));
        }
        json_patch::patch(value, std::slice::from_ref(operation)).map_err(|mut error| {
            error.operation = index;
            error.to_string()
        })?;
    }
    Ok(())
}

/// Adds labels and annotations to every object.
#[derive(Debug)]
struct AddMetadata {
    metadata: CommonMetadata,
    budget: Budget,
}

impl pintle::PostRenderer for AddMetadata {
    fn run(&self, manifests: &[u8]) -> Result<Vec<u8>, String> {
        each_document(manifests, &self.budget, |mut object| {
            self.metadata.labels.iter().for_each(|(key, value)| object.set_label(key, value));
            self.metadata.annotations.iter().for_each(|(key, value)| object.set_annotation(key, value));
            Ok(Some(object))
        })
    }
}

/// Captures the manifests and passes them on unchanged.
#[derive(Debug, Default)]
pub(crate) struct Capture(Mutex<Vec<u8>>);

impl Capture {
    /// The manifests of the last run.
    pub(crate) fn taken(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl pintle::PostRenderer for Capture {
    fn run(&self, manifests: &[u8]) -> Result<Vec<u8>, String> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = manifests.to_vec();
        Ok(manifests.to_vec())
    }
}

/// Replaces what was rendered by the objects of an approved plan, so that random values and `lookup` cannot change them
/// after the approval.
#[derive(Debug)]
pub(crate) struct Frozen(pub(crate) Vec<u8>);

impl pintle::PostRenderer for Frozen {
    fn run(&self, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}

/// Changes each object of a stream; `None` removes it.
fn each_document(
    stream: &[u8],
    budget: &Budget,
    change: impl Fn(Object) -> Result<Option<Object>, String>,
) -> Result<Vec<u8>, String> {
    budget.charge(stream.len())?;
    let mut out = Vec::new();
    for object in Object::read_manifest(stream, "rendered objects").map_err(|error| error.to_string())? {
        let Some(object) = change(object)? else { continue };
        let text = pintle_yaml::write(&Node::Map(object.into_body())).map_err(|error| error.to_string())?;
        if !out.is_empty() {
            out.extend_from_slice(b"---\n");
        }
        out.extend_from_slice(&text);
        if out.len() > budget.output {
            let most = budget.output;
            return Err(format!("{MORE_THAN} {most} bytes together"));
        }
    }
    Ok(out)
}

fn to_json(node: &Node) -> Result<Value, String> {
    let text = pintle_tree::json::write_raw(node).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use pintle::PostRenderer as _;

    use super::*;
    use crate::request::{Patch, Target};

    const OBJECTS: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - {name: web, image: 'nginx:1', env: [{name: A, value: '1'}]}
      - {name: side, image: 'registry.example.com:5000/side@sha256:aa'}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80, name: http}]}
";

    fn patched(patch: &str, target: Option<Target>) -> Result<String, String> {
        let patches = vec![Patch { patch: patch.to_owned(), target }];
        let compiled = small(&PostRenderer { patches, images: Vec::new() })?;
        Ok(String::from_utf8(compiled.run(OBJECTS.as_bytes())?).expect("text"))
    }

    /// A renderer with a thousandth of the usual budget.
    fn small(renderer: &PostRenderer) -> Result<Kustomize, String> {
        Ok(Kustomize { budget: Budget::small(), ..compile(renderer)? })
    }

    #[test]
    fn a_strategic_patch_merges_containers_by_name() {
        let patch = "kind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n  template: {spec: {containers: [{name: web, env: [{name: B, value: '2'}]}]}}";
        let text = patched(patch, None).expect("patched");
        assert!(text.contains("replicas: 3") && text.contains("image: nginx:1"), "{text}");
        assert!(
            text.contains("name: A") && text.contains("name: B") && text.contains("name: side"),
            "{text}"
        );
    }

    #[test]
    fn a_strategic_patch_can_delete_an_item_or_an_object() {
        let item = "spec: {template: {spec: {containers: [{name: side, $patch: delete}]}}}";
        let target = Target { kind: Some("Deployment".to_owned()), ..Target::default() };
        let text = patched(item, Some(target)).expect("patched");
        assert!(!text.contains("side") && text.contains("nginx:1"), "{text}");
        let object = "$patch: delete\nkind: Service\nmetadata: {name: web}";
        let text = patched(object, None).expect("patched");
        assert!(!text.contains("Service"), "{text}");
    }

    #[test]
    fn operations_are_applied_to_what_the_target_selects() {
        let target = Target { kind: Some("Service|Ingress".to_owned()), ..Target::default() };
        let patch = "[{op: replace, path: /spec/ports/0/port, value: 81}]";
        let text = patched(patch, Some(target.clone())).expect("patched");
        assert!(text.contains("port: 81") && text.contains("replicas: 1"), "{text}");
        let wrong = patched("[{op: remove, path: /spec/nothing}]", Some(target)).expect_err("no such field");
        assert!(wrong.starts_with("Service/web: "), "{wrong}");
    }

    #[test]
    fn wrong_patches_are_refused_with_the_reason() {
        assert_eq!(patched("[]", None).unwrap_err(), "patches[0]: a list of operations needs a target");
        assert!(patched("spec: {}", None).unwrap_err().contains("must have kind and metadata.name"));
        assert!(patched("just text", None).unwrap_err().contains("neither a map nor a list"));
        let target = Target { name: Some("(".to_owned()), ..Target::default() };
        assert!(patched("spec: {}", Some(target)).unwrap_err().starts_with("patches[0]: target: name: "));
    }

    #[test]
    fn images_are_replaced_by_name() {
        let image = |name: &str, new_name: Option<&str>, tag: Option<&str>, digest: Option<&str>| Image {
            name: name.to_owned(),
            new_name: new_name.map(str::to_owned),
            new_tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        };
        let images = vec![
            image("nginx", Some("mirror.example.com/nginx"), Some("2"), None),
            image("registry.example.com:5000/side", None, None, Some("sha256:bb")),
            image("ngin", Some("never"), None, None),
        ];
        let compiled = compile(&PostRenderer { patches: Vec::new(), images }).expect("valid");
        let text = String::from_utf8(compiled.run(OBJECTS.as_bytes()).expect("runs")).expect("text");
        assert!(text.contains("image: mirror.example.com/nginx:2"), "{text}");
        assert!(text.contains("image: registry.example.com:5000/side@sha256:bb"), "{text}");
        assert!(!text.contains("never"), "{text}");
    }

    #[test]
    fn common_metadata_is_added_to_every_object() {
        let metadata =
            CommonMetadata { labels: [("team".to_owned(), "blue".to_owned())].into(), ..Default::default() };
        let text = AddMetadata { metadata, budget: Budget::default() }.run(OBJECTS.as_bytes()).expect("runs");
        assert_eq!(String::from_utf8_lossy(&text).matches("team: blue").count(), 2);
    }

    fn operations(count: usize, operation: impl Fn(usize) -> String) -> String {
        let operations: Vec<String> = (0..count).map(operation).collect();
        format!("[{}]", operations.join(", "))
    }

    fn deployment() -> Option<Target> {
        Some(Target { kind: Some("Deployment".to_owned()), ..Target::default() })
    }

    #[test]
    fn an_object_cannot_be_copied_into_itself_without_end() {
        let bomb = operations(28, |number| format!("{{op: copy, from: /spec, path: /spec/x{number}}}"));
        let error = patched(&bomb, deployment()).expect_err("2^28 copies");
        assert!(error.contains("makes the object larger than"), "{error}");
        let few =
            operations(3, |number| format!("{{op: copy, from: /spec/replicas, path: /spec/x{number}}}"));
        assert!(patched(&few, deployment()).expect("it is small").contains("x2: 1"));
        let wrong = "[{op: add, path: /spec/a, value: 1}, {op: remove, path: /spec/nothing}]";
        let error = patched(wrong, deployment()).expect_err("there is no such field");
        assert!(error.contains("operation '/1' failed"), "{error}");
    }

    #[test]
    fn the_work_of_all_patches_together_has_a_limit() {
        let objects: String = (0..20)
            .map(|number| {
                format!(
                    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}}}\ndata: {{a: {}}}\n",
                    "x".repeat(200)
                )
            })
            .collect();
        let patch = Patch {
            patch: "[{op: add, path: /data/b, value: b}]".to_owned(),
            target: Some(Target { kind: Some("ConfigMap".to_owned()), ..Target::default() }),
        };
        let renderer = |patches: usize| {
            let patches = vec![patch.clone(); patches];
            small(&PostRenderer { patches, images: Vec::new() }).expect("good patches")
        };
        assert!(renderer(1).run(objects.as_bytes()).is_ok());
        let all = renderer(100).run(objects.as_bytes());
        assert!(all.expect_err("2,000 patches").contains("too much work"));
        let images = vec![Image { name: "a".to_owned(), ..Image::default() }; 100];
        let images = small(&PostRenderer { patches: Vec::new(), images }).expect("good images");
        assert!(images.run(objects.as_bytes()).expect_err("too many images").contains("too much work"));
    }

    #[test]
    fn lists_that_merge_by_key_cost_what_they_compare() {
        let items = |count: usize| -> String {
            (0..count).map(|number| format!("{{name: n{number}, value: v}}")).collect::<Vec<_>>().join(", ")
        };
        let patch = |count: usize| {
            format!("spec: {{template: {{spec: {{containers: [{{name: web, env: [{}]}}]}}}}}}", items(count))
        };
        assert!(patched(&patch(20), deployment()).is_ok());
        let error = patched(&patch(200), deployment()).expect_err("20,000 comparisons");
        assert!(error.contains("too much work"), "{error}");
    }

    #[test]
    fn what_all_objects_together_take_has_a_limit() {
        let patch = format!("metadata: {{annotations: {{a: {}}}}}", "x".repeat(1 << 10));
        let objects: String = (0..80)
            .map(|number| format!("---\napiVersion: v1\nkind: Service\nmetadata: {{name: s{number}}}\n"))
            .collect();
        let target = Some(Target { kind: Some("Service".to_owned()), ..Target::default() });
        let compiled = small(&PostRenderer { patches: vec![Patch { patch, target }], images: Vec::new() });
        let error = compiled.expect("a good patch").run(objects.as_bytes()).expect_err("80 KiB");
        assert!(error.contains("bytes together"), "{error}");
    }
}
