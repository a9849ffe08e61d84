//! Which fields of an object become values, and its template.

use pintle_objects::Object;
use pintle_tree::{Map, Node};

use super::manifests::camel_case;

/// The longest text of a ConfigMap that becomes a value. Files stay in the template.
const MAX_SETTING: usize = 200;

/// A template and the defaults of the values that it reads.
#[derive(Debug)]
pub(super) struct Extracted {
    /// The text of the template.
    pub(super) template: Vec<u8>,
    /// The text of a template that reads no values, for an object that `template` does not render to.
    pub(super) literal: Vec<u8>,
    /// Paths of values with their defaults.
    pub(super) values: Vec<(Vec<String>, Node)>,
}

/// How a template prints a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A quoted string.
    Text,
    /// A whole number. Helm reads it as a float, which large ones would show.
    Number,
    /// A string that is only a part of the field, with what follows it.
    Image,
    /// A map or list, on lines of its own.
    Block,
    /// The namespace of the release.
    Namespace,
}

/// What takes the place of a field.
struct Hole {
    form: Form,
    path: Vec<String>,
}

/// The fields of pods that become values as they are, where they are set.
const POD_FIELDS: [&str; 6] =
    ["affinity", "imagePullSecrets", "nodeSelector", "priorityClassName", "securityContext", "tolerations"];

/// The fields of containers that become values as they are.
const CONTAINER_FIELDS: [&str; 5] =
    ["args", "livenessProbe", "readinessProbe", "resources", "securityContext"];

/// The path of the pod template in a kind of workload.
pub(super) fn pod_template(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => {
            Some(&["spec", "template", "spec"])
        }
        "CronJob" => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        "Pod" => Some(&["spec"]),
        _ => None,
    }
}

/// Makes the template of an object. Its values are below `key`; `namespace` is that of the release.
pub(super) fn extract(object: &Object, key: &str, namespace: Option<&str>) -> Extracted {
    let mut body = object.body().clone();
    let mut holes = Holes { key, found: Vec::new(), values: Vec::new(), mark: unused_mark(object) };
    if namespace.is_some_and(|common| object.namespace() == common)
        && let Some(metadata) = map_at(&mut body, &["metadata"])
    {
        metadata.remove("namespace");
    }
    let literal = yaml(&body);
    if let Some(path) = pod_template(object.kind()) {
        holes.field(map_at(&mut body, &["spec"]), "replicas", Form::Number, &["replicas"]);
        holes.field(map_at(&mut body, &["spec"]), "schedule", Form::Text, &["schedule"]);
        if let Some(pod) = map_at(&mut body, path) {
            holes.pod(pod);
        }
    }
    match object.kind() {
        "Service" => holes.service(&mut body),
        "Ingress" => {
            holes.field(
                map_at(&mut body, &["spec"]),
                "ingressClassName",
                Form::Text,
                &["ingress", "className"],
            );
            holes.field(map_at(&mut body, &["spec"]), "rules", Form::Block, &["ingress", "rules"]);
            holes.field(map_at(&mut body, &["spec"]), "tls", Form::Block, &["ingress", "tls"]);
            holes.field(
                map_at(&mut body, &["metadata"]),
                "annotations",
                Form::Block,
                &["ingress", "annotations"],
            );
        }
        "ConfigMap" => holes.settings(map_at(&mut body, &["data"]), "config"),
        "HorizontalPodAutoscaler" => {
            for field in ["minReplicas", "maxReplicas"] {
                holes.field(map_at(&mut body, &["spec"]), field, Form::Number, &["autoscaling", field]);
            }
        }
        "PersistentVolumeClaim" => {
            let requests = map_at(&mut body, &["spec", "resources", "requests"]);
            holes.field(requests, "storage", Form::Text, &["storage", "size"]);
            let spec = map_at(&mut body, &["spec"]);
            holes.field(spec, "storageClassName", Form::Text, &["storage", "className"]);
        }
        "ServiceAccount" => {
            let metadata = map_at(&mut body, &["metadata"]);
            holes.field(metadata, "annotations", Form::Block, &["serviceAccount", "annotations"]);
        }
        "RoleBinding" | "ClusterRoleBinding" => holes.subjects(&mut body, namespace),
        _ => {}
    }
    let template = holes.fill(&yaml(&body));
    Extracted { template, literal: escaped(&literal).into_bytes(), values: holes.values }
}

/// The fields that were taken out of an object.
struct Holes<'k> {
    key: &'k str,
    found: Vec<Hole>,
    values: Vec<(Vec<String>, Node)>,
    /// Begins the words that stand for holes; the object has no such text.
    mark: String,
}

impl Holes<'_> {
    /// Takes a field out, if the object sets it to something that fits the form.
    fn field(&mut self, map: Option<&mut Map<Node>>, field: &str, form: Form, path: &[&str]) {
        let Some(node) = map.and_then(|map| map.get_mut(field)) else { return };
        let fits = match node {
            Node::Str(text) => matches!(form, Form::Text) && text.as_str().is_some(),
            Node::Int(_) => form == Form::Number,
            Node::Float(number) => form == Form::Number && number.fract() == 0.0,
            Node::List(_) | Node::Map(_) => form == Form::Block,
            _ => false,
        };
        if fits {
            self.take(node, form, path.iter().map(|it| (*it).to_owned()).collect());
        }
    }

    fn take(&mut self, node: &mut Node, form: Form, path: Vec<String>) {
        let mut full = vec![self.key.to_owned()];
        full.extend(path);
        let hole = self.hole(form, full.clone());
        let value = std::mem::replace(node, hole);
        self.values.push((full, value));
    }

    /// The word that stands for what a template prints.
    fn hole(&mut self, form: Form, path: Vec<String>) -> Node {
        let word = format!("{}{}x", self.mark, self.found.len());
        self.found.push(Hole { form, path });
        Node::from(word)
    }

    fn pod(&mut self, pod: &mut Map<Node>) {
        for field in POD_FIELDS {
            let (form, name) = match field {
                "priorityClassName" => (Form::Text, field),
                "securityContext" => (Form::Block, "podSecurityContext"),
                _ => (Form::Block, field),
            };
            self.field(Some(&mut *pod), field, form, &[name]);
        }
        let is_single = pod.get("containers").and_then(Node::as_list).is_some_and(|list| list.len() == 1);
        for (field, alone) in [("containers", is_single), ("initContainers", false)] {
            let Some(Node::List(containers)) = pod.get_mut(field) else { continue };
            for container in containers.iter_mut().filter_map(Node::as_map_mut) {
                let name = container.get("name").and_then(Node::as_str).map(camel_case).unwrap_or_default();
                let prefix = if alone { Vec::new() } else { vec![field.to_owned(), name] };
                self.container(container, &prefix);
            }
        }
    }

    fn container(&mut self, container: &mut Map<Node>, prefix: &[String]) {
        let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
        let below = |rest: &[&'static str]| [prefix.as_slice(), rest].concat();
        if let Some(node) = container.get_mut("image")
            && let Some((repository, tag)) = node.as_str().and_then(split_image)
        {
            let image: Vec<String> =
                [self.key].into_iter().chain(below(&["image"])).map(ToOwned::to_owned).collect();
            for (part, text) in [("repository", repository), ("tag", tag)] {
                self.values.push(([image.as_slice(), &[part.to_owned()]].concat(), Node::from(text)));
            }
            *node = self.hole(Form::Image, image);
        } else {
            self.field(Some(&mut *container), "image", Form::Text, &below(&["image"]));
        }
        self.field(Some(&mut *container), "imagePullPolicy", Form::Text, &below(&["pullPolicy"]));
        for field in CONTAINER_FIELDS {
            self.field(Some(&mut *container), field, Form::Block, &below(&[field]));
        }
        let Some(Node::List(variables)) = container.get_mut("env") else { return };
        for variable in variables.iter_mut().filter_map(Node::as_map_mut) {
            let Some(name) = variable.get("name").and_then(Node::as_str).filter(|it| is_key(it)) else {
                continue;
            };
            let path = [prefix.as_slice(), &["env"], &[name]].concat().join("/");
            let path: Vec<&str> = path.split('/').collect();
            self.field(Some(&mut *variable), "value", Form::Text, &path);
        }
    }

    fn service(&mut self, body: &mut Map<Node>) {
        self.field(map_at(body, &["spec"]), "type", Form::Text, &["service", "type"]);
        let Some(Node::List(ports)) = map_at(body, &["spec"]).and_then(|spec| spec.get_mut("ports")) else {
            return;
        };
        let alone = ports.len() == 1;
        for port in ports.iter_mut().filter_map(Node::as_map_mut) {
            let name = port.get("name").and_then(Node::as_str).map(camel_case);
            match (alone, name) {
                (true, _) => self.field(Some(port), "port", Form::Number, &["service", "port"]),
                (false, Some(name)) => {
                    self.field(Some(port), "port", Form::Number, &["service", "ports", &name]);
                }
                (false, None) => {}
            }
        }
    }

    fn settings(&mut self, data: Option<&mut Map<Node>>, below: &str) {
        let Some(data) = data else { return };
        let is_setting = |key: &str, node: &Node| {
            is_key(key) && node.as_str().is_some_and(|text| text.len() <= MAX_SETTING && !text.contains('\n'))
        };
        let keys = data.iter().filter_map(|(key, node)| Some((key.as_str()?, node)));
        let keys: Vec<String> =
            keys.filter(|(key, node)| is_setting(key, node)).map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            self.field(Some(&mut *data), &key, Form::Text, &[below, &key]);
        }
    }

    /// Subjects in the namespace of the release move with it.
    fn subjects(&mut self, body: &mut Map<Node>, namespace: Option<&str>) {
        let Some(Node::List(subjects)) = body.get_mut("subjects") else { return };
        for subject in subjects.iter_mut().filter_map(Node::as_map_mut) {
            if let Some(node) = subject.get_mut("namespace")
                && node.as_str().is_some()
                && node.as_str() == namespace
            {
                *node = self.hole(Form::Namespace, Vec::new());
            }
        }
    }

    /// Writes expressions where the holes are.
    fn fill(&self, text: &str) -> Vec<u8> {
        let mut out = String::with_capacity(text.len());
        for line in escaped(text).lines() {
            let indent = line.len() - line.trim_start_matches([' ', '-']).len();
            let mut rest = line;
            // What is written in is not searched again: names of objects are part of it.
            while let Some((at, length, hole)) = self.first_in(rest) {
                out.push_str(&rest[..at]);
                out.push_str(&hole.expression(indent));
                rest = &rest[at + length..];
            }
            out.push_str(rest);
            out.push('\n');
        }
        out.into_bytes()
    }

    /// Where the next hole is, how long its word is, and the hole.
    fn first_in(&self, line: &str) -> Option<(usize, usize, &Hole)> {
        let at = line.find(&self.mark)?;
        let rest = &line[at + self.mark.len()..];
        let digits = &rest[..rest.find('x')?];
        let hole = self.found.get(digits.parse::<usize>().ok()?)?;
        Some((at, self.mark.len() + digits.len() + 1, hole))
    }
}

impl Hole {
    fn expression(&self, indent: usize) -> String {
        let path = self.path.join(".");
        match self.form {
            Form::Text => format!("{{{{ .Values.{path} | quote }}}}"),
            Form::Number => format!("{{{{ .Values.{path} | int64 }}}}"),
            Form::Image => {
                format!("{{{{ printf \"%s:%s\" .Values.{path}.repository .Values.{path}.tag | quote }}}}")
            }
            Form::Block => format!("{{{{- toYaml .Values.{path} | nindent {} }}}}", indent + 2),
            Form::Namespace => "{{ .Release.Namespace }}".to_owned(),
        }
    }
}

/// Whether templates can read a key with a dot.
fn is_key(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Repository and tag. An image with a digest stays whole.
fn split_image(image: &str) -> Option<(&str, &str)> {
    let (repository, tag) = image.rsplit_once(':')?;
    (!image.contains('@') && !tag.contains('/') && !tag.is_empty()).then_some((repository, tag))
}

fn map_at<'m>(map: &'m mut Map<Node>, path: &[&str]) -> Option<&'m mut Map<Node>> {
    path.iter().try_fold(map, |map, key| map.get_mut(key)?.as_map_mut())
}

fn yaml(body: &Map<Node>) -> String {
    pintle_yaml::write(body).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// Text that a template prints as it is.
fn escaped(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// A word that the object does not have.
fn unused_mark(object: &Object) -> String {
    let text = yaml(object.body());
    let mut mark = "valueHole".to_owned();
    while text.contains(&mark) {
        mark.push('e');
    }
    mark
}
