//! Validates objects for each Kubernetes version, with the verdicts of kubeconform.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use pintle_tree::{Map, Node};
use pintle_values::schema::{SchemaDocument, Validator, Violation};

use super::build::schemas;
use super::custom::CustomKind;
use super::{Catalog, Gvk, location};
use crate::deprecation;
use crate::document::Object;
use crate::finding::{ObjectName, VerdictStatus};
use crate::fix::Replacement;
use crate::run::Settings;
use crate::scope::Scope;

/// The schemas of the built-in kinds. Each is built once, by the first thread that needs it.
pub(crate) struct Checker<'c> {
    settings: &'c Settings<'c>,
    /// The kinds of CRDs that are known before any object is read. They take precedence over built-in kinds.
    given: &'c BTreeMap<Gvk, CustomKind>,
    versions: Vec<BuiltIn<'c>>,
}

/// The built-in kinds of one Kubernetes version.
struct BuiltIn<'c> {
    catalog: &'c dyn Catalog,
    version: String,
    sets: Vec<SchemaSet>,
    /// The set of each kind.
    by_kind: BTreeMap<Gvk, usize>,
}

/// Kinds whose schemas are built together, because they share most definitions.
struct SchemaSet {
    kinds: BTreeSet<Gvk>,
    schemas: OnceLock<Schemas>,
}

/// The kinds whose schemas include the definitions of pods.
const POD_KINDS: [&str; 9] = [
    "Pod",
    "PodTemplate",
    "ReplicationController",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
];

impl<'c> BuiltIn<'c> {
    fn new(catalog: &'c dyn Catalog) -> Self {
        let (pods, others): (BTreeSet<Gvk>, BTreeSet<Gvk>) =
            catalog.kinds().into_iter().partition(|kind| POD_KINDS.contains(&kind.kind.as_str()));
        let kinds = std::iter::once(pods).chain(others.into_iter().map(|kind| BTreeSet::from([kind])));
        let sets: Vec<SchemaSet> = kinds.map(|kinds| SchemaSet { kinds, schemas: OnceLock::new() }).collect();
        let numbered = sets.iter().enumerate();
        let by_kind =
            numbered.flat_map(|(at, set)| set.kinds.iter().map(move |kind| (kind.clone(), at))).collect();
        BuiltIn { catalog, version: catalog.version(), sets, by_kind }
    }
}

/// The schemas of some kinds.
struct Schemas {
    strict: SchemaDocument,
    /// Built only if an object has unknown fields, to see whether anything else is wrong with it.
    lax: OnceLock<SchemaDocument>,
    /// The strict schemas as a tree, to suggest names of fields.
    tree: OnceLock<Map<Node>>,
    definitions: BTreeMap<Gvk, String>,
}

/// What schemas are built from.
#[derive(Clone, Copy)]
struct SchemaSource<'s> {
    catalog: &'s dyn Catalog,
    kinds: &'s BTreeSet<Gvk>,
    custom: &'s BTreeMap<Gvk, CustomKind>,
}

impl SchemaSource<'_> {
    fn build(self) -> Schemas {
        let set = schemas(self.catalog, self.kinds, self.custom, true);
        Schemas {
            strict: SchemaDocument::from_node(&set.document),
            lax: OnceLock::new(),
            tree: OnceLock::new(),
            definitions: set.kinds,
        }
    }

    fn lax(self) -> SchemaDocument {
        SchemaDocument::from_node(&schemas(self.catalog, self.kinds, self.custom, false).document)
    }

    fn tree(self) -> Map<Node> {
        schemas(self.catalog, self.kinds, self.custom, true).document
    }
}

/// The validators that the objects of one thread needed so far, by the number of their schemas; `None` for an invalid
/// schema.
#[derive(Default)]
pub(crate) struct Validators<'v> {
    strict: BTreeMap<usize, Option<Validator<'v>>>,
    lax: BTreeMap<usize, Option<Validator<'v>>>,
}

/// The result for one object and version.
pub(crate) struct Outcome {
    pub(crate) status: VerdictStatus,
    problems: Vec<SchemaProblem>,
}

/// Something wrong with an object, by its schema.
struct SchemaProblem {
    rule: &'static str,
    pointer: String,
    message: String,
    fix: Option<Replacement>,
}

impl Outcome {
    fn missing(message: String) -> Self {
        let problem =
            SchemaProblem { rule: "missing-schema", pointer: "/kind".to_owned(), message, fix: None };
        Outcome { status: VerdictStatus::Error, problems: vec![problem] }
    }

    /// Adds what a server refuses. Verdicts are by schema alone, as those of kubeconform.
    fn add_refusals(&mut self, catalog: &dyn Catalog, object: &Node) {
        for (field, message) in catalog.refusals(object) {
            let pointer = pointer_of(&field, object);
            // What the schema says about the field, or about one that contains it, is the same problem.
            let is_known = self.problems.iter().any(|problem| {
                let is_below = problem
                    .pointer
                    .strip_prefix(&pointer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                let is_missing_there =
                    message.starts_with("Required value") && pointer.starts_with(&problem.pointer);
                problem.rule != "unknown-field" && (field.is_empty() || is_below || is_missing_there)
            });
            if !is_known {
                let message = if field.is_empty() { message } else { format!("{field}: {message}") };
                self.problems.push(SchemaProblem { rule: "refused-object", pointer, message, fix: None });
            }
        }
    }

    /// Adds the findings.
    pub(crate) fn report(self, scope: &mut Scope<'_>, object: &Object, version: &str) {
        let ObjectName { api_version, kind, .. } = &object.name;
        for SchemaProblem { rule, pointer, message, fix } in self.problems {
            // The finding that the API was removed is more specific than that of a missing schema.
            if rule == "missing-schema" && deprecation::is_removed(api_version, kind, version) {
                continue;
            }
            scope.add_fixable(rule, object, &pointer, message, (Some(version), fix));
        }
    }
}

impl<'c> Checker<'c> {
    pub(crate) fn new(settings: &'c Settings<'c>, given: &'c BTreeMap<Gvk, CustomKind>) -> Self {
        let versions = settings.catalogs.iter().map(|catalog| BuiltIn::new(*catalog)).collect();
        Checker { settings, given, versions }
    }

    /// The kinds that are defined before any object is read.
    pub(crate) fn given(&self) -> &'c BTreeMap<Gvk, CustomKind> {
        self.given
    }

    /// Validates an object for a Kubernetes version; `None` if its kind is not built in.
    pub(crate) fn check<'v>(
        &'v self,
        version: &str,
        object: &Object,
        validators: &mut Validators<'v>,
    ) -> Option<Outcome> {
        let kind = object.gvk();
        if self.given.contains_key(&kind) {
            return None;
        }
        let (index, built_in) = self.built_in(version)?;
        let at = *built_in.by_kind.get(&kind)?;
        let set = &built_in.sets[at];
        let source = SchemaSource { catalog: built_in.catalog, kinds: &set.kinds, custom: self.given };
        let schemas = set.schemas.get_or_init(|| source.build());
        // Numbers of different versions do not overlap.
        let number = at * self.versions.len() + index;
        let mut outcome = validate(self.settings, schemas, source, &kind, object, (number, validators));
        outcome.add_refusals(built_in.catalog, &object.node);
        Some(outcome)
    }

    fn built_in(&self, version: &str) -> Option<(usize, &BuiltIn<'c>)> {
        self.versions.iter().enumerate().find(|(_, it)| it.version == version)
    }
}

/// The schemas of kinds that are not built in.
pub(crate) struct OtherKinds<'c> {
    checker: &'c Checker<'c>,
    custom: &'c BTreeMap<Gvk, CustomKind>,
    /// By Kubernetes version and kind, numbered.
    schemas: BTreeMap<(String, Gvk), (usize, OtherKind)>,
}

/// Where the schema of a kind comes from. A CRD whose schema cannot be used affects no other kinds.
enum OtherKind {
    Custom(Box<Schemas>, BTreeSet<Gvk>),
    Located(Box<SchemaDocument>),
    Missing,
    /// Why it could not be read.
    Failed(String),
}

impl<'c> OtherKinds<'c> {
    /// Finds the schemas of kinds by Kubernetes version, among the custom kinds first.
    pub(crate) fn find(
        checker: &'c Checker<'c>,
        custom: &'c BTreeMap<Gvk, CustomKind>,
        wanted: BTreeSet<(String, Gvk)>,
    ) -> Self {
        let find = |(version, kind): (String, Gvk)| {
            let (_, built_in) = checker.built_in(&version)?;
            let catalog = built_in.catalog;
            let found = match custom.contains_key(&kind) {
                true => {
                    let kinds = BTreeSet::from([kind.clone()]);
                    let schemas = SchemaSource { catalog, kinds: &kinds, custom }.build();
                    OtherKind::Custom(Box::new(schemas), kinds)
                }
                false => locate(checker.settings, catalog, &kind),
            };
            Some(((version, kind), found))
        };
        let found = wanted.into_iter().filter_map(find).enumerate();
        let schemas = found.map(|(number, (key, found))| (key, (number, found))).collect();
        OtherKinds { checker, custom, schemas }
    }

    /// Validates an object for a Kubernetes version.
    pub(crate) fn check<'v>(
        &'v self,
        version: &str,
        object: &Object,
        validators: &mut Validators<'v>,
    ) -> Outcome {
        let settings = self.checker.settings;
        let key = (version.to_owned(), object.gvk());
        let Some((_, built_in)) = self.checker.built_in(version) else {
            return Outcome::missing(format!("there is no schema for {}", key.1));
        };
        match self.schemas.get(&key) {
            Some((number, OtherKind::Custom(schemas, kinds))) => {
                let source = SchemaSource { catalog: built_in.catalog, kinds, custom: self.custom };
                validate(settings, schemas, source, &key.1, object, (*number, validators))
            }
            Some((number, OtherKind::Located(document))) => {
                let validator = validator(settings, document, *number, &mut validators.strict);
                let found = validator.map(|validator| validator.check(&object.node)).unwrap_or_default();
                let status = if found.is_empty() { VerdictStatus::Valid } else { VerdictStatus::Invalid };
                Outcome { status, problems: found.iter().map(describe).collect() }
            }
            Some((_, OtherKind::Failed(reason))) => {
                Outcome::missing(format!("cannot read the schema: {reason}"))
            }
            _ if settings.ignore_missing_schemas => {
                Outcome { status: VerdictStatus::Skipped, problems: Vec::new() }
            }
            _ => Outcome::missing(missing_message(built_in.catalog, &key.1)),
        }
    }
}

/// Validates an object by the schema of its kind.
fn validate<'v>(
    settings: &Settings<'_>,
    schemas: &'v Schemas,
    source: SchemaSource<'_>,
    kind: &Gvk,
    object: &Object,
    (number, validators): (usize, &mut Validators<'v>),
) -> Outcome {
    let Some(definition) = schemas.definitions.get(kind) else {
        return Outcome::missing(missing_message(source.catalog, kind));
    };
    let pointer = format!("/definitions/{definition}");
    let strict = validator(settings, &schemas.strict, number, &mut validators.strict);
    let Some(found) = strict.and_then(|validator| validator.check_with(&pointer, &object.node)) else {
        return Outcome::missing(format!("the schema of {kind} cannot be used"));
    };
    // In strict mode it is valid if nothing is wrong, otherwise also if only unknown fields are.
    let is_valid = found.is_empty()
        || (!settings.strict && found.iter().any(has_unknown) && {
            let lax = schemas.lax.get_or_init(|| source.lax());
            let validator = validator(settings, lax, number, &mut validators.lax);
            validator
                .and_then(|validator| validator.check_with(&pointer, &object.node))
                .is_some_and(|found| found.is_empty())
        });
    let status = if is_valid { VerdictStatus::Valid } else { VerdictStatus::Invalid };
    let mut problems: Vec<SchemaProblem> = found.iter().map(describe).collect();
    for problem in problems.iter_mut().filter(|problem| problem.rule == "unknown-field") {
        let tree = schemas.tree.get_or_init(|| source.tree());
        problem.suggest(tree, definition);
    }
    Outcome { status, problems }
}

fn validator<'m, 'v>(
    settings: &Settings<'_>,
    document: &'v SchemaDocument,
    number: usize,
    validators: &'m mut BTreeMap<usize, Option<Validator<'v>>>,
) -> Option<&'m Validator<'v>> {
    let mut referenced =
        |path: &str| (settings.read)(path)?.ok_or_else(|| format!("open {path}: no such file or directory"));
    let new = || Validator::new(document, &mut referenced).ok();
    validators.entry(number).or_insert_with(new).as_ref()
}

impl SchemaProblem {
    /// Suggests a field that the kind has.
    fn suggest(&mut self, tree: &Map<Node>, definition: &str) {
        let Some((written, meant)) = near_field(tree, definition, &self.pointer) else { return };
        self.message.push_str(&format!("; did you mean {meant}?"));
        // If only the case differs, the suggestion is certain.
        if written.eq_ignore_ascii_case(&meant) && !self.message.starts_with("unknown fields") {
            self.fix = Some(Replacement { from: format!("{written}:"), to: format!("{meant}:") });
        }
    }
}

/// The JSON pointer of a field as servers write it: `spec.ports[0].port`, `metadata.labels[a.b/c]`.
fn pointer_of(field: &str, object: &Node) -> String {
    let mut pointer = String::new();
    let mut node = Some(object);
    let mut rest = field;
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        let step = match node {
            // Some lists are addressed by the name of their items.
            Some(Node::List(items)) if step.parse::<usize>().is_err() => {
                let named = |item: &Node| item.get("name").and_then(Node::as_str) == Some(step);
                match items.iter().position(named) {
                    Some(at) => at.to_string(),
                    None => break,
                }
            }
            _ => step.to_owned(),
        };
        node = match (node, step.parse::<usize>()) {
            (Some(Node::List(items)), Ok(at)) => items.get(at),
            (Some(node), _) => node.get(&step),
            (None, _) => None,
        };
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    pointer
}

fn missing_message(catalog: &dyn Catalog, kind: &Gvk) -> String {
    match catalog.serves_group(&kind.group) {
        true => format!("Kubernetes {} has no {kind}", catalog.version()),
        false => format!("there is no schema for {kind}"),
    }
}

fn locate(settings: &Settings<'_>, catalog: &dyn Catalog, kind: &Gvk) -> OtherKind {
    for template in settings.schema_locations.iter().filter(|template| *template != "default") {
        let path = match location::path(template, kind, &catalog.version(), settings.strict) {
            Ok(path) => path,
            Err(error) => return OtherKind::Failed(error),
        };
        match (settings.read)(&path) {
            Ok(Some(text)) => match SchemaDocument::read(&text) {
                Ok(document) => return OtherKind::Located(Box::new(document)),
                // Invalid schemas are skipped, as in kubeconform.
                Err(_) => continue,
            },
            Ok(None) => {}
            Err(error) => return OtherKind::Failed(error),
        }
    }
    OtherKind::Missing
}

/// The name of an unknown field, and a declared one like it.
fn near_field(schemas: &Map<Node>, definition: &str, pointer: &str) -> Option<(String, String)> {
    let (parent, written) = pointer.rsplit_once('/')?;
    let definitions = schemas.get("definitions")?;
    let resolve = |schema: &'_ Node| -> Option<Node> {
        let target =
            schema.get("$ref").and_then(Node::as_str).and_then(|it| it.strip_prefix("#/definitions/"));
        target.map_or_else(|| Some(schema.clone()), |name| definitions.get(name).cloned())
    };
    let mut schema = definitions.get(definition)?.clone();
    for token in parent.split('/').skip(1) {
        let property = schema.get("properties").and_then(|it| it.get(token));
        let next = property.or_else(|| schema.get("items")).or_else(|| schema.get("additionalProperties"))?;
        schema = resolve(next)?;
    }
    let names: Vec<&str> =
        schema.get("properties")?.as_map()?.keys().filter_map(|name| name.as_str()).collect();
    let same = names.iter().find(|name| name.eq_ignore_ascii_case(written)).copied();
    let near = same.or_else(|| pintle_tree::suggest::suggest(written, &names))?;
    Some((written.to_owned(), near.to_owned()))
}

/// How the validator begins a message about fields that are not declared.
const UNKNOWN: &str = "additional properties ";

fn has_unknown(violation: &Violation) -> bool {
    violation.message.contains(UNKNOWN)
}

/// Turns a violation into a message for the author of the template.
fn describe(violation: &Violation) -> SchemaProblem {
    let path = dotted(&violation.pointer);
    let shown = if path.is_empty() { "the object".to_owned() } else { path };
    let unknown = violation.message.strip_prefix(UNKNOWN).and_then(|rest| rest.strip_suffix(" not allowed"));
    let (rule, pointer, message) = match unknown {
        Some(names) => {
            let first = names.split('\'').nth(1).unwrap_or_default();
            let pointer = format!("{}/{}", violation.pointer, first.replace('~', "~0").replace('/', "~1"));
            let plural = if names.contains("', '") { "unknown fields" } else { "unknown field" };
            ("unknown-field", pointer, format!("{plural} {names} in {shown}"))
        }
        None => ("schema", violation.pointer.clone(), format!("{shown}: {}", violation.message)),
    };
    SchemaProblem { rule, pointer, message, fix: None }
}

/// A JSON pointer as a field path: `spec.containers[0].image`.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{token}]"));
        } else if token.contains(['.', '/']) {
            path.push_str(&format!("[{token:?}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&token);
        }
    }
    path
}
