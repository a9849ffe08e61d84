//! Validates objects for each Kubernetes version, with the verdicts of kubeconform.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Map, Node};
use pintle_values::schema::{SchemaDocument, Validator, Violation};

use super::build::schemas;
use super::custom::{self, CustomKind};
use super::{Catalog, Gvk, location};
use crate::deprecation;
use crate::document::Object;
use crate::finding::{ObjectName, Verdict, VerdictStatus};
use crate::fix::Replacement;
use crate::run::{Scope, Settings};

/// The schemas for everything that a chart renders.
pub(crate) struct Checker<'c> {
    settings: &'c Settings<'c>,
    custom: BTreeMap<Gvk, CustomKind>,
    versions: Vec<VersionSchemas<'c>>,
}

/// The schemas for one Kubernetes version.
struct VersionSchemas<'c> {
    catalog: &'c dyn Catalog,
    /// The built-in kinds, and each custom kind by itself: a CRD whose schema cannot be used affects no others.
    documents: Vec<Document>,
    /// The document of each kind.
    by_kind: BTreeMap<Gvk, usize>,
    located: BTreeMap<Gvk, Located>,
}

/// The schemas of some kinds.
struct Document {
    kinds: BTreeSet<Gvk>,
    strict: SchemaDocument,
    /// Built only if an object has unknown fields, to see whether anything else is wrong with it.
    lax: OnceCell<SchemaDocument>,
    definitions: BTreeMap<Gvk, String>,
    /// The strict schemas as a tree, to suggest names of fields.
    tree: Map<Node>,
}

impl Document {
    fn new(catalog: &dyn Catalog, kinds: BTreeSet<Gvk>, custom: &BTreeMap<Gvk, CustomKind>) -> Self {
        let set = schemas(catalog, &kinds, custom, true);
        Document {
            kinds,
            strict: SchemaDocument::from_node(&set.document),
            lax: OnceCell::new(),
            definitions: set.kinds,
            tree: set.document,
        }
    }
}

/// A schema from a location.
enum Located {
    Found(Box<SchemaDocument>),
    Missing,
    /// Why it could not be read.
    Failed(String),
}

impl<'c> Checker<'c> {
    pub(crate) fn new<'o>(
        settings: &'c Settings<'c>,
        used: &'c BTreeSet<Gvk>,
        objects: impl Iterator<Item = &'o Object>,
    ) -> Self {
        let custom = custom::kinds(objects);
        let version = |catalog: &&'c dyn Catalog| {
            let (own, built_in): (BTreeSet<Gvk>, BTreeSet<Gvk>) =
                used.iter().cloned().partition(|kind| custom.contains_key(kind));
            let sets = std::iter::once(built_in).chain(own.into_iter().map(|kind| BTreeSet::from([kind])));
            let documents: Vec<Document> =
                sets.map(|kinds| Document::new(*catalog, kinds, &custom)).collect();
            let numbered = documents.iter().enumerate();
            let by_kind: BTreeMap<Gvk, usize> = numbered
                .flat_map(|(at, document)| document.definitions.keys().map(move |kind| (kind.clone(), at)))
                .collect();
            let unknown = used.iter().filter(|kind| !by_kind.contains_key(kind));
            let located = unknown.map(|kind| (kind.clone(), locate(settings, *catalog, kind))).collect();
            VersionSchemas { catalog: *catalog, documents, by_kind, located }
        };
        let versions = settings.catalogs.iter().map(version).collect();
        Checker { settings, custom, versions }
    }

    /// Validates all objects of a rendering.
    pub(crate) fn check(&self, scope: &mut Scope<'_, '_>, verdicts: &mut Vec<Verdict>) {
        for version in &self.versions {
            if !scope.is_for(&version.catalog.version()) {
                continue;
            }
            let mut validators = Validators::default();
            let mut verdict = |file: &str, object: ObjectName, status| {
                let (file, scenario) = (file.to_owned(), scope.scenario.to_owned());
                verdicts.push(Verdict { file, scenario, version: version.catalog.version(), object, status });
            };
            for problem in &scope.documents.problems {
                if problem.rule == "invalid-yaml" || self.settings.strict {
                    let file = &scope.documents.documents[problem.document].file.path;
                    // An object whose keys occur twice still has a name.
                    let object = scope.objects().iter().find(|object| object.document == problem.document);
                    let name = object.map(|object| object.name.clone()).unwrap_or_default();
                    verdict(file, name, VerdictStatus::Error);
                }
            }
            let broken: BTreeSet<usize> = match self.settings.strict {
                true => scope.documents.problems.iter().map(|problem| problem.document).collect(),
                false => BTreeSet::new(),
            };
            for object in scope.objects() {
                let outcome = self.object(version, object, &mut validators);
                if !broken.contains(&object.document) {
                    let file = &scope.documents.documents[object.document].file.path;
                    verdict(file, object.name.clone(), outcome.status);
                }
                self.report(scope, version, object, outcome);
            }
        }
    }

    fn report(
        &self,
        scope: &mut Scope<'_, '_>,
        version: &VersionSchemas<'_>,
        object: &Object,
        outcome: Outcome,
    ) {
        let kubernetes = version.catalog.version();
        let ObjectName { api_version, kind, .. } = &object.name;
        // That it is removed says more than that it has no schema.
        if let Some(message) = outcome.missing
            && !deprecation::is_removed(api_version, kind, &kubernetes)
        {
            scope.add_for("missing-schema", object, "/kind", message, Some(&kubernetes));
        }
        for violation in outcome.violations {
            let (rule, pointer, mut message) = describe(&violation);
            let kind = object.gvk();
            let document = version.by_kind.get(&kind).filter(|_| rule == "unknown-field");
            let near = document
                .map(|at| &version.documents[*at])
                .and_then(|document| near_field(&document.tree, document.definitions.get(&kind)?, &pointer));
            let fix = near.as_ref().and_then(|(written, meant)| {
                message.push_str(&format!("; did you mean {meant}?"));
                // What differs in case only is certain.
                let certain = written.eq_ignore_ascii_case(meant) && !message.starts_with("unknown fields");
                certain.then(|| Replacement { from: format!("{written}:"), to: format!("{meant}:") })
            });
            scope.add_fixable(rule, object, &pointer, message, (Some(&kubernetes), fix));
        }
    }

    fn object<'v>(
        &self,
        version: &'v VersionSchemas<'_>,
        object: &Object,
        validators: &mut Validators<'v>,
    ) -> Outcome {
        let kind = object.gvk();
        if let Some(at) = version.by_kind.get(&kind)
            && let Some(definition) = version.documents[*at].definitions.get(&kind)
        {
            let pointer = format!("/definitions/{definition}");
            let document = &version.documents[*at];
            let validator = validators
                .strict
                .entry(*at)
                .or_insert_with(|| Validator::new(&document.strict, &mut |path| self.referenced(path)).ok());
            let found = validator.as_ref().and_then(|validator| validator.check_with(&pointer, &object.node));
            let Some(found) = found else {
                return Outcome::missing(format!("the schema of {kind} cannot be used"));
            };
            let lax = || self.lax(version, *at, validators, &pointer, object);
            return Outcome { status: self.status(&found, lax), violations: found, missing: None };
        }
        match version.located.get(&kind) {
            Some(Located::Found(document)) => {
                let validator = validators
                    .located
                    .entry(kind)
                    .or_insert_with(|| Validator::new(document, &mut |path| self.referenced(path)).ok());
                let found =
                    validator.as_ref().map(|validator| validator.check(&object.node)).unwrap_or_default();
                let status = if found.is_empty() { VerdictStatus::Valid } else { VerdictStatus::Invalid };
                Outcome { status, violations: found, missing: None }
            }
            Some(Located::Failed(reason)) => Outcome::missing(format!("cannot read the schema: {reason}")),
            _ if self.settings.ignore_missing_schemas => {
                Outcome { status: VerdictStatus::Skipped, violations: Vec::new(), missing: None }
            }
            _ => Outcome::missing(missing_message(version.catalog, &kind)),
        }
    }

    /// Whether the object is valid: in strict mode if nothing is wrong, otherwise also if only unknown fields are.
    fn status(&self, found: &[Violation], lax: impl FnOnce() -> bool) -> VerdictStatus {
        let valid = found.is_empty() || (!self.settings.strict && found.iter().any(has_unknown) && lax());
        if valid { VerdictStatus::Valid } else { VerdictStatus::Invalid }
    }

    fn lax<'v>(
        &self,
        version: &'v VersionSchemas<'_>,
        at: usize,
        validators: &mut Validators<'v>,
        pointer: &str,
        object: &Object,
    ) -> bool {
        let document = &version.documents[at];
        let lax = document.lax.get_or_init(|| {
            let set = schemas(version.catalog, &document.kinds, &self.custom, false);
            SchemaDocument::from_node(&set.document)
        });
        let validator = validators
            .lax
            .entry(at)
            .or_insert_with(|| Validator::new(lax, &mut |path| self.referenced(path)).ok());
        let found = validator.as_ref().and_then(|validator| validator.check_with(pointer, &object.node));
        found.is_some_and(|found| found.is_empty())
    }

    fn referenced(&self, path: &str) -> Result<Vec<u8>, String> {
        (self.settings.read)(path)?.ok_or_else(|| format!("open {path}: no such file or directory"))
    }
}

/// The validators of the documents that objects needed so far; `None` for a document that is no valid schema.
#[derive(Default)]
struct Validators<'v> {
    strict: BTreeMap<usize, Option<Validator<'v>>>,
    lax: BTreeMap<usize, Option<Validator<'v>>>,
    located: BTreeMap<Gvk, Option<Validator<'v>>>,
}

/// What came out for one object and version.
struct Outcome {
    status: VerdictStatus,
    violations: Vec<Violation>,
    missing: Option<String>,
}

impl Outcome {
    fn missing(message: String) -> Self {
        Outcome { status: VerdictStatus::Error, violations: Vec::new(), missing: Some(message) }
    }
}

fn missing_message(catalog: &dyn Catalog, kind: &Gvk) -> String {
    match catalog.serves_group(&kind.group) {
        true => format!("Kubernetes {} has no {kind}", catalog.version()),
        false => format!("there is no schema for {kind}"),
    }
}

fn locate(settings: &Settings<'_>, catalog: &dyn Catalog, kind: &Gvk) -> Located {
    for place in settings.schema_locations.iter().filter(|place| *place != "default") {
        let path = match location::path(place, kind, &catalog.version(), settings.strict) {
            Ok(path) => path,
            Err(error) => return Located::Failed(error),
        };
        match (settings.read)(&path) {
            Ok(Some(text)) => match SchemaDocument::read(&text) {
                Ok(document) => return Located::Found(Box::new(document)),
                // What is no schema is passed over, as in kubeconform.
                Err(_) => continue,
            },
            Ok(None) => {}
            Err(error) => return Located::Failed(error),
        }
    }
    Located::Missing
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

/// The rule of a violation, the field, and a message that a reader of the template understands.
fn describe(violation: &Violation) -> (&'static str, String, String) {
    let path = dotted(&violation.pointer);
    let shown = if path.is_empty() { "the object".to_owned() } else { path };
    if let Some(names) =
        violation.message.strip_prefix(UNKNOWN).and_then(|rest| rest.strip_suffix(" not allowed"))
    {
        let first = names.split('\'').nth(1).unwrap_or_default();
        let pointer = format!("{}/{}", violation.pointer, first.replace('~', "~0").replace('/', "~1"));
        let plural = if names.contains("', '") { "unknown fields" } else { "unknown field" };
        return ("unknown-field", pointer, format!("{plural} {names} in {shown}"));
    }
    ("schema", violation.pointer.clone(), format!("{shown}: {}", violation.message))
}

/// A JSON pointer as people write it: `spec.containers[0].image`.
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
