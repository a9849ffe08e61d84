//! `create --from`: a chart from the manifests of something that runs already.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use pintle_chart::File;
use pintle_chart::create::{self, Generation, Scaffold};
use pintle_objects::{Object, ObjectId};
use pintle_render::{Capabilities, Release, Target};
use pintle_tree::{Map, Node};
use pintle_values::schema::SchemaFormat;

use super::extract::{Extracted, extract};
use crate::prepare::{self, PrepareOptions};
use crate::{Error, Lifecycle, Result, Silent};

/// How many objects a chart is made of at most.
const MAX_OBJECTS: usize = 5_000;

/// A manifest and where it comes from, for errors.
#[derive(Clone, Debug)]
pub struct SourceManifest {
    /// A path, or a word such as `standard input`.
    pub name: String,
    /// Its documents.
    pub text: Vec<u8>,
}

/// Which manifests become a chart, and where.
#[derive(Clone, Debug)]
pub struct CreateFromRequest {
    /// The parent of the chart's folder.
    pub folder: PathBuf,
    /// The name of the chart.
    pub name: String,
    /// The manifests.
    pub manifests: Vec<SourceManifest>,
}

/// A chart that was made of manifests.
#[derive(Clone, Debug)]
pub struct CreatedFrom {
    /// Its folder.
    pub folder: PathBuf,
    /// How many objects its templates render.
    pub objects: usize,
    /// How many values they read.
    pub values: usize,
    /// The CRDs, which a chart has in a folder of their own.
    pub crds: usize,
    /// What a person has to look at.
    pub notes: Vec<String>,
}

/// Makes a chart whose objects, rendered with its default values, are those of the manifests: images, replicas, resources,
/// ports, environment variables and the like become values, what the server adds to objects is left out. Every template is
/// rendered and compared before anything is written.
///
/// # Errors
/// A bad name, manifests that cannot be read or have no objects, and files that cannot be written.
pub fn create_from(request: &CreateFromRequest) -> Result<CreatedFrom> {
    create::check_name(&request.name)?;
    let mut notes = Vec::new();
    let (objects, crds) = read(&request.manifests, &mut notes)?;
    let namespace = common_namespace(&objects, &mut notes);
    let keys = value_keys(&objects);
    let mut draft = Draft::new(&request.name);
    for (object, key) in objects.iter().zip(&keys) {
        if object.kind() == "Secret" {
            notes.push(format!(
                "Secret {} is in the chart with its data, encoded but not encrypted; take it out before others see the chart",
                object.name()
            ));
        }
        draft.add(object, extract(object, key, namespace.as_deref()));
    }
    draft.prove(&objects, namespace.as_deref())?;
    let files = draft.files(&crds)?;
    let folder = create::write_files(&request.name, files, &request.folder, &mut |_| {})?;
    Ok(CreatedFrom { folder, objects: objects.len(), values: draft.count(), crds: crds.len(), notes })
}

/// The objects and the CRDs, as a user would have written them.
fn read(manifests: &[SourceManifest], notes: &mut Vec<String>) -> Result<(Vec<Object>, Vec<Object>)> {
    let (mut objects, mut crds) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for manifest in manifests {
        let objects_of = Object::read_manifest(&manifest.text, &manifest.name)
            .map_err(|error| Error::Input(error.to_string()))?;
        for object in objects_of {
            if object.kind().is_empty() || object.name().is_empty() {
                return Err(Error::Input(format!("{}: an object has no kind or no name", manifest.name)));
            }
            let id = object.id();
            if !seen.insert((id.group.clone(), id.kind.clone(), id.namespace.clone(), id.name.clone())) {
                return Err(Error::Input(format!(
                    "{}: {} {} is there twice",
                    manifest.name,
                    object.kind(),
                    object.name()
                )));
            }
            match object.kind() {
                "Namespace" => notes.push(format!(
                    "Namespace {} is left out: `--create-namespace` of install makes it",
                    object.name()
                )),
                "CustomResourceDefinition" => crds.push(without_server_fields(object)),
                _ => objects.push(without_server_fields(object)),
            }
            if objects.len() > MAX_OBJECTS {
                return Err(Error::Input(format!("more than {MAX_OBJECTS} objects")));
            }
        }
    }
    if objects.is_empty() && crds.is_empty() {
        return Err(Error::Input("the manifests have no objects".to_owned()));
    }
    Ok((objects, crds))
}

/// What the API server and its controllers write, `kubectl get -o yaml` shows, and a chart must not have.
fn without_server_fields(object: Object) -> Object {
    const METADATA: [&str; 7] = [
        "creationTimestamp",
        "generation",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ];
    const ANNOTATIONS: [&str; 5] = [
        "deployment.kubernetes.io/revision",
        "kubectl.kubernetes.io/last-applied-configuration",
        "meta.helm.sh/release-name",
        "meta.helm.sh/release-namespace",
        "pv.kubernetes.io/bind-completed",
    ];
    let kind = object.kind().to_owned();
    let mut body = object.into_body();
    body.remove("status");
    if let Some(metadata) = body.get_mut("metadata").and_then(Node::as_map_mut) {
        for field in METADATA {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Node::as_map_mut) {
            for annotation in ANNOTATIONS {
                annotations.remove(annotation);
            }
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    if let ("Service", Some(spec)) = (kind.as_str(), body.get_mut("spec").and_then(Node::as_map_mut)) {
        // Addresses of this cluster; headless services ask for none.
        if spec.get("clusterIP").and_then(Node::as_str) != Some("None") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
    }
    Object::new(body)
}

/// The namespace of all objects, which the release's takes the place of. Objects of several keep theirs.
fn common_namespace(objects: &[Object], notes: &mut Vec<String>) -> Option<String> {
    let found: BTreeSet<&str> = objects.iter().map(Object::namespace).filter(|it| !it.is_empty()).collect();
    match found.len() {
        1 => found.first().map(|it| (*it).to_owned()),
        0 => None,
        count => {
            notes.push(format!(
                "the objects are in {count} namespaces, which are kept: a release can be installed only once"
            ));
            None
        }
    }
}

/// The key of each object's values: its name, with the kind where objects of the same values share one.
fn value_keys(objects: &[Object]) -> Vec<String> {
    let mut taken: BTreeMap<(String, bool), ObjectId> = BTreeMap::new();
    let mut key_of = |object: &Object| {
        let is_workload = super::extract::pod_template(object.kind()).is_some();
        let short = camel_case(object.name());
        let mut key = short.clone();
        let mut round = 1;
        while let Some(other) = taken.get(&(key.clone(), is_workload)) {
            // A Service and a ConfigMap of one name have values of different names.
            if !is_workload && other.kind != object.kind() {
                break;
            }
            round += 1;
            key = if round == 2 { format!("{short}{}", object.kind()) } else { format!("{short}{round}") };
        }
        taken.insert((key.clone(), is_workload), object.id());
        key
    };
    objects.iter().map(&mut key_of).collect()
}

/// A name as a key that templates can read with a dot.
pub(super) fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for character in name.chars() {
        if !character.is_ascii_alphanumeric() {
            upper = !out.is_empty();
        } else if std::mem::take(&mut upper) {
            out.push(character.to_ascii_uppercase());
        } else {
            out.push(character);
        }
    }
    match out.chars().next() {
        // `global` has a meaning of its own.
        Some(first) if first.is_ascii_alphabetic() && out != "global" => out,
        // Keys that templates read with a dot cannot begin with a digit.
        _ => format!("n{out}"),
    }
}

/// The chart, as far as it is made.
struct Draft {
    name: String,
    templates: Vec<Template>,
    paths: BTreeSet<String>,
}

/// The template of one object.
struct Template {
    path: String,
    /// Kind and name of the object, for comments.
    title: String,
    extracted: Extracted,
}

impl Draft {
    fn new(name: &str) -> Draft {
        Draft { name: name.to_owned(), templates: Vec::new(), paths: BTreeSet::new() }
    }

    fn add(&mut self, object: &Object, extracted: Extracted) {
        let base = file_name(&format!("{}-{}", object.name(), object.kind().to_lowercase()));
        let mut path = format!("templates/{base}.yaml");
        let mut round = 1;
        while !self.paths.insert(path.clone()) {
            round += 1;
            path = format!("templates/{base}-{round}.yaml");
        }
        let title = format!("{} {}", object.kind(), object.name());
        self.templates.push(Template { path, title, extracted });
    }

    /// Writes an object down as it is. Its values would have no effect.
    fn write_literally(&mut self, index: usize) {
        let extracted = &mut self.templates[index].extracted;
        extracted.template.clone_from(&extracted.literal);
        extracted.values.clear();
    }

    /// How many values the templates read.
    fn count(&self) -> usize {
        self.templates.iter().map(|template| template.extracted.values.len()).sum()
    }

    /// The values of all templates.
    fn values(&self) -> impl Iterator<Item = &(Vec<String>, Node)> {
        self.templates.iter().flat_map(|template| &template.extracted.values)
    }

    /// Renders each template, and writes down literally what would not be the same.
    fn prove(&mut self, objects: &[Object], namespace: Option<&str>) -> Result<()> {
        let different = self.differences(objects, namespace)?;
        different.iter().for_each(|index| self.write_literally(*index));
        if !different.is_empty()
            && let Some(&index) = self.differences(objects, namespace)?.first()
        {
            return Err(Error::Input(format!(
                "{} {} cannot be written as a template: it renders to something else",
                objects[index].kind(),
                objects[index].name()
            )));
        }
        Ok(())
    }

    /// The indexes of objects that their templates do not render to.
    fn differences(&self, objects: &[Object], namespace: Option<&str>) -> Result<Vec<usize>> {
        let chart = pintle_chart::load_files(self.files(&[])?)?;
        let target = Target::offline(
            Release {
                name: self.name.clone(),
                namespace: namespace.unwrap_or("default").to_owned(),
                revision: 1,
                is_upgrade: false,
            },
            Capabilities::default(),
        );
        let rendered = prepare::prepare(
            chart,
            Map::new(),
            &target,
            PrepareOptions::default(),
            &Lifecycle::default(),
            &mut Silent,
        )?;
        let text_of = |path: &str| {
            let path = format!("{}/{path}", self.name);
            rendered.files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_slice())
        };
        let is_different = |(object, Template { path, .. }): (&Object, &Template)| {
            let found = text_of(path).map(|text| Object::read_manifest(text, path));
            !matches!(found, Some(Ok(found)) if found.len() == 1 && found[0].to_json() == expected(object, namespace))
        };
        let pairs = objects.iter().zip(&self.templates);
        Ok(pairs.enumerate().filter(|(_, pair)| is_different(*pair)).map(|(index, _)| index).collect())
    }

    /// All files of the chart.
    fn files(&self, crds: &[Object]) -> Result<Vec<File>> {
        let mut files = create::scaffold(&self.name, Generation::V2, Scaffold::Minimal);
        files.retain(|file| file.name == ".helmignore");
        files.push(File::new("Chart.yaml", self.chart_file().into_bytes()));
        let values = self.values_file()?;
        let schema =
            pintle_values::schema::derive_with(&values, &[], SchemaFormat::Json).map_err(Error::Input)?;
        files.push(File::new("values.yaml", values));
        files.push(File::new("values.schema.json", schema));
        let template = |made: &Template| File::new(made.path.as_str(), made.extracted.template.clone());
        files.extend(self.templates.iter().map(template));
        for object in crds {
            let path = format!("crds/{}.yaml", file_name(object.name()));
            files.push(File::new(path, pintle_yaml::write(object.body()).map_err(written)?));
        }
        Ok(files)
    }

    fn chart_file(&self) -> String {
        let is_tag = |path: &[String]| path.last().is_some_and(|key| key == "tag");
        let tags: BTreeSet<&str> =
            self.values().filter(|(path, _)| is_tag(path)).filter_map(|(_, value)| value.as_str()).collect();
        let version = match (tags.len(), tags.first()) {
            (1, Some(tag)) => {
                format!("\n# The version of what the chart runs.\nappVersion: {}\n", quoted(tag))
            }
            _ => String::new(),
        };
        format!(
            "apiVersion: v2\nname: {}\ndescription: Runs {} on Kubernetes\ntype: application\n\n\
             # The version of the chart itself. Raise it with every change.\nversion: 0.1.0\n{version}",
            self.name, self.name
        )
    }

    fn values_file(&self) -> Result<Vec<u8>> {
        let mut values = Map::new();
        let mut titles: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for template in &self.templates {
            for (path, value) in &template.extracted.values {
                insert(&mut values, path, value.clone());
            }
            if let Some((path, _)) = template.extracted.values.first() {
                titles.entry(&path[0]).or_default().push(one_line(&template.title));
            }
        }
        let mut out = format!("# The settings of {} and their defaults.\n", self.name).into_bytes();
        for (key, value) in values.iter() {
            let titles = key.as_str().and_then(|key| titles.get(key));
            let titles = titles.map(|titles| titles.join(", ")).unwrap_or_default();
            out.extend_from_slice(format!("\n# -- {titles}\n").as_bytes());
            let one: Map<Node> = [(key.clone(), value.clone())].into_iter().collect();
            out.extend_from_slice(&pintle_yaml::write(&Node::Map(one)).map_err(written)?);
        }
        Ok(out)
    }
}

/// The longest name of a file, without its end.
const MAX_FILE_NAME: usize = 200;

/// A name of a file for a name that may be anything.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' };
    let name: String = name.chars().map(plain).take(MAX_FILE_NAME).collect();
    // Charts leave files out whose names begin with a dot.
    if name.starts_with('.') { format!("-{name}") } else { name }
}

/// A text for a comment.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'), " ")
}

/// What a template has to render to: without the namespace that the release brings.
fn expected(object: &Object, namespace: Option<&str>) -> Vec<u8> {
    let mut body = object.body().clone();
    if namespace.is_some_and(|common| object.namespace() == common)
        && let Some(metadata) = body.get_mut("metadata").and_then(Node::as_map_mut)
    {
        metadata.remove("namespace");
    }
    Object::new(body).to_json()
}

fn insert(values: &mut Map<Node>, path: &[String], value: Node) {
    let Some((first, rest)) = path.split_first() else { return };
    let key = first.as_str().into();
    if rest.is_empty() {
        values.insert(key, value);
        return;
    }
    let child = values.entry_or_insert_with(&key, Node::empty_map);
    if let Some(map) = child.as_map_mut() {
        insert(map, rest, value);
    }
}

fn quoted(text: &str) -> String {
    pintle_tree::quote::quote(text.as_bytes())
}

fn written(error: pintle_yaml::Error) -> Error {
    Error::Input(error.to_string())
}
