//! Strings that look like images outside image fields: custom resources, arguments, configuration.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_objects::ObjectId;
use pintle_tree::{Map, Node, with_stack};

use crate::fields::{Field, FieldLocation, documents, each_object, id};
use crate::provenance::name_of;
use crate::reference::Reference;
use crate::rendering::Files;
use crate::value_path::{MAX_DEPTH, Segment, ValuePath};

/// Registries that serve little else than images.
const REGISTRIES: [&str; 16] = [
    "docker.io",
    "index.docker.io",
    "quay.io",
    "gcr.io",
    "ghcr.io",
    "registry.k8s.io",
    "k8s.gcr.io",
    "lscr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "registry.gitlab.com",
    "nvcr.io",
    "docker.elastic.co",
    "cr.l5d.io",
    "registry.access.redhat.com",
    "registry.redhat.io",
];

/// API groups of operators whose resources name images to run.
const OPERATORS: [&str; 18] = [
    "monitoring.coreos.com",
    "elasticsearch.k8s.elastic.co",
    "kibana.k8s.elastic.co",
    "logstash.k8s.elastic.co",
    "kafka.strimzi.io",
    "argoproj.io",
    "tekton.dev",
    "postgres-operator.crunchydata.com",
    "postgresql.cnpg.io",
    "acid.zalan.do",
    "minio.min.io",
    "ceph.rook.io",
    "redis.redis.opstreelabs.in",
    "rabbitmq.com",
    "k8s.mariadb.com",
    "opentelemetry.io",
    "operator.tigera.io",
    "jaegertracing.io",
];

/// A string that looks like an image, outside the fields that the kubelet reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suspect {
    /// Where it is.
    pub location: FieldLocation,
    /// The object it belongs to: kind and name.
    pub object: String,
    /// The image.
    pub image: String,
    /// The kind of field it is in.
    pub kind: SuspectKind,
    /// The new text of the whole string, if overrides for other images change it.
    pub after: Option<String>,
}

/// The kind of field a suspect is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SuspectKind {
    /// A resource of an operator that is known to run it.
    Operator,
    /// Some other custom resource.
    CustomResource,
    /// An argument, a command or an environment variable of a container.
    Argument,
    /// The data of a ConfigMap or a Secret.
    Configuration,
    /// An annotation.
    Annotation,
    /// Anywhere else.
    Other,
}

impl SuspectKind {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            SuspectKind::Operator => "operator",
            SuspectKind::CustomResource => "custom resource",
            SuspectKind::Argument => "argument",
            SuspectKind::Configuration => "configuration",
            SuspectKind::Annotation => "annotation",
            SuspectKind::Other => "other",
        }
    }
}

/// Finds strings outside image fields that look like images, in order of their locations.
pub fn suspects(files: &Files, image_fields: &[Field]) -> Vec<Suspect> {
    let known: BTreeSet<&str> =
        image_fields.iter().map(|field| name_of(&field.image)).filter(|name| name.contains('/')).collect();
    let locations: BTreeSet<&FieldLocation> = image_fields.iter().map(|field| &field.location).collect();
    let mut search = Search { known, locations, found: BTreeSet::new() };
    for (template, text) in files {
        if search.is_promising(text) {
            search.file(template, text);
        }
    }
    search.found.into_iter().collect()
}

struct Search<'s> {
    known: BTreeSet<&'s str>,
    locations: BTreeSet<&'s FieldLocation>,
    found: BTreeSet<Suspect>,
}

/// The object being searched.
struct Context<'s> {
    template: &'s str,
    document: usize,
    object: &'s ObjectId,
}

impl Search<'_> {
    /// A cheap check whether a file can contain a suspect, before parsing it.
    fn is_promising(&self, text: &[u8]) -> bool {
        let text = String::from_utf8_lossy(text);
        // The data of Secrets is encoded, so that it has to be parsed to be searched.
        text.contains("kind: Secret") || tokens(&text).any(|token| self.is_image(token))
    }

    fn file(&mut self, template: &str, text: &[u8]) {
        for document in documents(text, b"") {
            each_object(&document.body, &ValuePath::root(), &mut |body, path| {
                let object = id(body);
                let context = Context { template, document: document.number, object: &object };
                self.map(body, path, &context);
            });
        }
    }

    fn map(&mut self, map: &Map<Node>, path: &ValuePath, context: &Context<'_>) {
        for (key, node) in map.iter() {
            self.node(node, path.with(Segment::Key(key.clone())), context);
        }
    }

    fn node(&mut self, node: &Node, path: ValuePath, context: &Context<'_>) {
        match node {
            _ if path.segments().len() > MAX_DEPTH => {}
            Node::Map(map) => with_stack(|| self.map(map, &path, context)),
            Node::List(list) => with_stack(|| {
                for (index, item) in list.iter().enumerate() {
                    self.node(item, path.index(index), context);
                }
            }),
            Node::Str(text) => self.text(&text.to_str_lossy(), path, context),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, path: ValuePath, context: &Context<'_>) {
        let decoded = (context.object.kind == "Secret" && starts_with(&path, "data"))
            .then(|| STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok()))
            .flatten();
        let text = decoded.as_deref().unwrap_or(text);
        let kind = kind_of(&path, context.object);
        // In a custom resource, a field named `image` is enough evidence.
        let is_named =
            matches!(kind, SuspectKind::Operator | SuspectKind::CustomResource) && is_image_key(&path);
        let mut images: Vec<String> =
            tokens(text).filter(|token| self.is_image(token)).map(str::to_owned).collect();
        if images.is_empty() && is_named && Reference::parse(text).is_ok() {
            images.push(text.to_owned());
        }
        let location =
            FieldLocation { template: context.template.to_owned(), document: context.document, path };
        if images.is_empty() || self.locations.contains(&location) {
            return;
        }
        for image in images {
            self.found.insert(Suspect {
                location: location.clone(),
                object: context.object.to_string(),
                image,
                kind,
                after: None,
            });
        }
    }

    /// Whether a token is an image: one of the chart's, or one with a registry and a tag, a digest or a known host.
    fn is_image(&self, token: &str) -> bool {
        if !token.contains('/') {
            return false;
        }
        if self.known.contains(name_of(token)) {
            return true;
        }
        let Some((host, _)) = token.split_once('/') else { return false };
        if !host.contains(['.', ':']) || host.starts_with('.') {
            return false;
        }
        match Reference::parse(token) {
            Ok(image) => match image.written_registry() {
                Some(host) if REGISTRIES.contains(&host) => true,
                // A dot in the tag tells a version from a port or the part of a URL behind a colon.
                Some(_) => image.digest().is_some() || image.tag().is_some_and(|tag| tag.contains('.')),
                None => false,
            },
            Err(_) => false,
        }
    }
}

/// The tokens of a text that could be images: split at whitespace, quotes, commas and equals signs.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let cut = |character: char| {
        character.is_whitespace()
            || matches!(
                character,
                '"' | '\'' | '`' | ',' | '=' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '<' | '>'
            )
    };
    text.split(cut).map(|token| token.trim_end_matches(['.', ':', '/'])).filter(|token| token.len() > 3)
}

fn starts_with(path: &ValuePath, key: &str) -> bool {
    matches!(path.segments().first(), Some(Segment::Key(first)) if *first == key)
}

fn is_image_key(path: &ValuePath) -> bool {
    matches!(path.segments().last(), Some(Segment::Key(key)) if key.to_str_lossy().to_ascii_lowercase().ends_with("image"))
}

fn kind_of(path: &ValuePath, object: &ObjectId) -> SuspectKind {
    let has = |words: &[&str]| {
        path.segments()
            .iter()
            .any(|step| matches!(step, Segment::Key(key) if words.iter().any(|word| *key == *word)))
    };
    if has(&["annotations"]) {
        return SuspectKind::Annotation;
    }
    if matches!(object.kind.as_str(), "ConfigMap" | "Secret") && object.group.is_empty() {
        return SuspectKind::Configuration;
    }
    if has(&["args", "command", "env"]) {
        return SuspectKind::Argument;
    }
    if OPERATORS.contains(&object.group.as_str()) {
        return SuspectKind::Operator;
    }
    // Built-in API groups have no dot, or end in `.k8s.io`.
    let is_own = !object.group.contains('.') || object.group.ends_with(".k8s.io");
    if is_own { SuspectKind::Other } else { SuspectKind::CustomResource }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::fields;

    fn found(text: &str) -> Vec<String> {
        let files = vec![("c/templates/x.yaml".to_owned(), text.as_bytes().to_vec())];
        let image_fields = fields(&files);
        let show = |suspect: &Suspect| {
            format!("{}: {} {}", suspect.kind.name(), suspect.location.path, suspect.image)
        };
        suspects(&files, &image_fields).iter().map(show).collect()
    }

    #[test]
    fn suspects_are_found_by_place_and_word() {
        let prometheus =
            "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nspec: {image: 'quay.io/p/p:v1'}\n";
        assert_eq!(found(prometheus), ["operator: spec.image quay.io/p/p:v1"]);
        let pod = "kind: Pod\napiVersion: v1\nspec: {containers: [{image: 'a.b/c:1.0', args: ['--x=a.b/c:1.0', 'a.b/d']}]}\n";
        assert_eq!(found(pod), ["argument: spec.containers[0].args[0] a.b/c:1.0"]);
        let config = "kind: ConfigMap\napiVersion: v1\ndata:\n  x: |\n    image: \"ghcr.io/a/b\"\n    url: https://ghcr.io/a/c\n";
        assert_eq!(found(config), ["configuration: data.x ghcr.io/a/b"]);
        let secret = "kind: Secret\napiVersion: v1\ndata: {x: cXVheS5pby9hL2I6MQ==}\n";
        assert_eq!(found(secret), ["configuration: data.x quay.io/a/b:1"]);
        let none = "kind: ConfigMap\napiVersion: v1\ndata: {x: 'example.com/path', y: 'a/b:1', z: example.com/a:80}\n";
        assert!(found(none).is_empty());
    }
}
