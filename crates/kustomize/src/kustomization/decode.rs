//! Reading fields as Go's JSON does: names in any case, null as nothing, other types refused.

use std::sync::Arc;

use pintle_tree::{Map, Node, Str, ValuePath};

use super::{
    FieldOptions, GeneratorEntry, GeneratorOptions, ImageEntry, Item, LabelEntry, PatchEntry, Replacement,
    ReplacementEntry, ReplicaEntry, Sort, Source, Target,
};
use crate::config;
use crate::error::Error;
use crate::object::Place;
use crate::resource::Behavior;
use crate::select::SelectorText;
use crate::source::{Document, Position};

/// A map of a kustomization file.
pub(super) struct Fields<'k> {
    map: &'k Map<Node>,
    document: &'k Document,
    path: ValuePath,
}

type Pairs = Vec<(Str, Str)>;

impl<'k> Fields<'k> {
    pub(super) fn new(map: &'k Map<Node>, document: &'k Document, path: ValuePath) -> Self {
        Fields { map, document, path }
    }

    pub(super) fn file(&self) -> Arc<str> {
        self.document.file.clone()
    }

    /// The place of the map.
    fn place(&self) -> Place {
        self.place_of(&self.path)
    }

    fn place_of(&self, path: &ValuePath) -> Place {
        Place { file: self.file(), line: self.document.line_of(path) }
    }

    /// Where the content of a text is: below its key if it is a block.
    fn position_of(&self, name: &str, text: &str) -> Position {
        let line = self.document.line_of(&self.path_of(name));
        let blank = text.len() - text.trim_start().len();
        match self.document.is_block_at(line) {
            true => Position::After(line + text[..blank].matches('\n').count()),
            false => Position::Line(line),
        }
    }

    /// A field that is not null, with its name as it is written.
    fn entry(&self, name: &str) -> Option<(&'k Str, &'k Node)> {
        let exact = self.map.iter().find(|(key, _)| key.as_bytes() == name.as_bytes());
        let any_case =
            || self.map.iter().find(|(key, _)| key.as_bytes().eq_ignore_ascii_case(name.as_bytes()));
        exact.or_else(any_case).filter(|(_, value)| !value.is_nil())
    }

    pub(super) fn get(&self, name: &str) -> Option<&'k Node> {
        self.entry(name).map(|(_, value)| value)
    }

    fn path_of(&self, name: &str) -> ValuePath {
        self.path.key(self.entry(name).map_or_else(|| name.into(), |(key, _)| key.clone()))
    }

    fn error(&self, message: String, path: &ValuePath) -> Error {
        Error::new(message).at(&self.document.file, Some(self.document.line_of(path)))
    }

    /// An error about a field.
    pub(super) fn wrong(&self, name: &str, message: &str) -> Error {
        self.error(message.to_owned(), &self.path_of(name))
    }

    pub(super) fn refused(&self, name: &'static str, reason: &str) -> Error {
        let line = self.document.line_of(&self.path_of(name));
        Error::refused(name, format!("{name} are not supported: {reason}"))
            .at(&self.document.file, Some(line))
    }

    fn wrong_type(&self, path: &ValuePath, value: &Node, wanted: &str) -> Error {
        let name = path.last_key().map(ToString::to_string).unwrap_or_default();
        self.error(format!("invalid Kustomization: {name} is a {}, not a {wanted}", value.json_type()), path)
    }

    /// Refuses all other fields.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Error> {
        let is_known =
            |key: &Str| known.iter().any(|name| key.as_bytes().eq_ignore_ascii_case(name.as_bytes()));
        match self.map.keys().find(|key| !is_known(key)) {
            None => Ok(()),
            Some(key) => {
                let message = format!("invalid Kustomization: unknown field {:?}", key.to_str_lossy());
                Err(self.error(message, &self.path.key(key.clone())))
            }
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<String, Error> {
        match self.get(name) {
            None => Ok(String::new()),
            Some(Node::Str(text)) => Ok(text.to_string()),
            Some(other) => Err(self.wrong_type(&self.path_of(name), other, "string")),
        }
    }

    fn bool(&self, name: &str) -> Result<bool, Error> {
        match self.get(name) {
            None => Ok(false),
            Some(Node::Bool(value)) => Ok(*value),
            Some(other) => Err(self.wrong_type(&self.path_of(name), other, "bool")),
        }
    }

    fn int(&self, name: &str) -> Result<i64, Error> {
        match self.get(name) {
            None => Ok(0),
            Some(Node::Int(value)) => Ok(*value),
            Some(other) => Err(self.wrong_type(&self.path_of(name), other, "integer")),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<&'k [Node], Error> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Node::List(list)) => Ok(list),
            Some(other) => Err(self.wrong_type(&self.path_of(name), other, "list")),
        }
    }

    /// A text that is not empty, with its place.
    pub(super) fn item(&self, name: &str) -> Result<Option<Item>, Error> {
        let text = self.text(name)?;
        Ok((!text.is_empty()).then(|| Item { text, place: self.place_of(&self.path_of(name)) }))
    }

    /// The texts of a list with their places.
    pub(super) fn items(&self, name: &str) -> Result<Vec<Item>, Error> {
        let path = self.path_of(name);
        let item = |(index, node): (usize, &Node)| match node {
            Node::Str(text) => Ok(Item { text: text.to_string(), place: self.place_of(&path.index(index)) }),
            Node::Nil => Ok(Item { text: String::new(), place: self.place_of(&path.index(index)) }),
            other => Err(self.wrong_type(&path.index(index), other, "string")),
        };
        self.list(name)?.iter().enumerate().map(item).collect()
    }

    pub(super) fn strings(&self, name: &str) -> Result<Vec<String>, Error> {
        Ok(self.items(name)?.into_iter().map(|item| item.text).collect())
    }

    fn pairs(&self, name: &str) -> Result<Pairs, Error> {
        let path = self.path_of(name);
        let map = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Node::Map(map)) => map,
            Some(other) => return Err(self.wrong_type(&path, other, "map")),
        };
        let pair = |(key, value): (&Str, &Node)| match value {
            Node::Str(text) => Ok((key.clone(), text.clone())),
            Node::Nil => Ok((key.clone(), Str::default())),
            other => Err(self.wrong_type(&path.key(key.clone()), other, "string")),
        };
        map.iter().map(pair).collect()
    }

    pub(super) fn inner(&self, name: &str) -> Result<Option<Fields<'k>>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Node::Map(map)) => {
                Ok(Some(Fields { map, document: self.document, path: self.path_of(name) }))
            }
            Some(other) => Err(self.wrong_type(&self.path_of(name), other, "map")),
        }
    }

    /// Decodes the maps of a list.
    pub(super) fn each<T>(
        &self,
        name: &str,
        decode: impl Fn(&Fields<'k>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let path = self.path_of(name);
        let empty: &'static Map<Node> = const { &Map::new() };
        let one = |(index, node): (usize, &'k Node)| match node {
            Node::Map(map) => decode(&Fields { map, document: self.document, path: path.index(index) }),
            Node::Nil => decode(&Fields { map: empty, document: self.document, path: path.index(index) }),
            other => Err(self.wrong_type(&path.index(index), other, "map")),
        };
        self.list(name)?.iter().enumerate().map(one).collect()
    }
}

const SELECTOR: [&str; 7] =
    ["group", "version", "kind", "name", "namespace", "annotationSelector", "labelSelector"];

fn selector(fields: &Fields<'_>, also: &[&str]) -> Result<SelectorText, Error> {
    fields.only(&[&SELECTOR[..], also].concat())?;
    Ok(SelectorText {
        group: fields.text("group")?,
        version: fields.text("version")?,
        kind: fields.text("kind")?,
        name: fields.text("name")?,
        namespace: fields.text("namespace")?,
        labels: fields.text("labelSelector")?,
        annotations: fields.text("annotationSelector")?,
    })
}

pub(super) fn patch(fields: &Fields<'_>) -> Result<PatchEntry, Error> {
    fields.only(&["path", "patch", "target", "options"])?;
    let options = fields.inner("options")?;
    let option = |name: &str| options.as_ref().map_or(Ok(false), |options| options.bool(name));
    let patch = fields.text("patch")?;
    Ok(PatchEntry {
        position: fields.position_of("patch", &patch),
        path: fields.text("path")?,
        patch,
        target: fields.inner("target")?.map(|target| selector(&target, &[])).transpose()?,
        allow_name_change: option("allowNameChange")?,
        allow_kind_change: option("allowKindChange")?,
        place: fields.place(),
    })
}

pub(super) fn common_labels(fields: &Fields<'_>) -> Result<Option<LabelEntry>, Error> {
    let pairs = fields.pairs("commonLabels")?;
    Ok((!pairs.is_empty()).then(|| LabelEntry {
        pairs,
        include_selectors: true,
        include_templates: false,
        include_claim_templates: false,
        fields: Vec::new(),
        place: fields.place_of(&fields.path_of("commonLabels")),
    }))
}

pub(super) fn label(fields: &Fields<'_>) -> Result<LabelEntry, Error> {
    fields.only(&[
        "pairs",
        "includeSelectors",
        "includeTemplates",
        "includeVolumeClaimTemplates",
        "fields",
    ])?;
    let specs = fields.get("fields").map_or(Ok(Vec::new()), |specs| config::specs_of(specs, "fields"));
    Ok(LabelEntry {
        pairs: fields.pairs("pairs")?,
        include_selectors: fields.bool("includeSelectors")?,
        include_templates: fields.bool("includeTemplates")?,
        include_claim_templates: fields.bool("includeVolumeClaimTemplates")?,
        fields: specs.map_err(|error| fields.wrong("fields", &error))?,
        place: fields.place(),
    })
}

pub(super) fn common_annotations(fields: &Fields<'_>) -> Result<Option<(Pairs, Place)>, Error> {
    let pairs = fields.pairs("commonAnnotations")?;
    let place = || fields.place_of(&fields.path_of("commonAnnotations"));
    Ok((!pairs.is_empty()).then(|| (pairs, place())))
}

pub(super) fn image(fields: &Fields<'_>) -> Result<ImageEntry, Error> {
    fields.only(&["name", "newName", "tagSuffix", "newTag", "digest"])?;
    Ok(ImageEntry {
        name: fields.text("name")?,
        new_name: fields.text("newName")?,
        new_tag: fields.text("newTag")?,
        tag_suffix: fields.text("tagSuffix")?,
        digest: fields.text("digest")?,
        place: fields.place(),
    })
}

pub(super) fn replica(fields: &Fields<'_>) -> Result<ReplicaEntry, Error> {
    fields.only(&["name", "count"])?;
    Ok(ReplicaEntry { name: fields.text("name")?, count: fields.int("count")?, place: fields.place() })
}

pub(super) fn replacement_entry(fields: &Fields<'_>) -> Result<ReplacementEntry, Error> {
    fields.only(&["path", "source", "targets", "sourceValue"])?;
    match fields.item("path")? {
        Some(item) if fields.get("source").is_some() || fields.get("targets").is_some() => {
            Err(Error::new("cannot specify both path and inline replacement")
                .at(&item.place.file, Some(item.place.line)))
        }
        Some(item) => Ok(ReplacementEntry::File(item)),
        None => replacement(fields).map(|inline| ReplacementEntry::Inline(Box::new(inline))),
    }
}

pub(super) fn replacement(fields: &Fields<'_>) -> Result<Replacement, Error> {
    let source = fields.inner("source")?.map(|source| {
        let selector = selector(&source, &["fieldPath", "options"])?;
        Ok(Source { selector, field_path: source.text("fieldPath")?, options: options(&source)? })
    });
    let target = |target: &Fields<'_>| {
        target.only(&["select", "reject", "fieldPaths", "options"])?;
        Ok(Target {
            select: target.inner("select")?.map(|select| selector(&select, &[])).transpose()?,
            reject: target.each("reject", |reject| selector(reject, &[]))?,
            field_paths: target.strings("fieldPaths")?,
            options: options(target)?,
        })
    };
    let value = fields.get("sourceValue").map(|_| fields.text("sourceValue")).transpose()?;
    let replacement = Replacement {
        source: source.transpose()?,
        value,
        targets: fields.each("targets", target)?,
        place: fields.place(),
    };
    let has_value = replacement.source.is_some() || replacement.value.is_some();
    if !has_value || fields.get("targets").is_none() {
        return Err(fields
            .error("replacements must specify a source and at least one target".to_owned(), &fields.path));
    }
    if replacement.source.is_some() && replacement.value.is_some() {
        return Err(fields.wrong("sourceValue", "value and resource selectors are mutually exclusive"));
    }
    Ok(replacement)
}

fn options(fields: &Fields<'_>) -> Result<FieldOptions, Error> {
    let Some(options) = fields.inner("options")? else { return Ok(FieldOptions::default()) };
    options.only(&["delimiter", "index", "encoding", "create"])?;
    Ok(FieldOptions {
        delimiter: options.text("delimiter")?,
        index: options.int("index")?,
        create: options.bool("create")?,
    })
}

pub(super) fn generators(fields: &Fields<'_>) -> Result<Vec<GeneratorEntry>, Error> {
    let global = generator_options(fields, "generatorOptions")?;
    let mut entries = fields.each("configMapGenerator", |entry| generator(entry, false, &global))?;
    entries.extend(fields.each("secretGenerator", |entry| generator(entry, true, &global))?);
    Ok(entries)
}

fn generator(
    fields: &Fields<'_>,
    is_secret: bool,
    global: &GeneratorOptions,
) -> Result<GeneratorEntry, Error> {
    let known = ["namespace", "name", "behavior", "literals", "files", "envs", "env", "options"];
    let also: &[&str] = if is_secret { &["type"] } else { &[] };
    fields.only(&[&known[..], also].concat())?;
    let behavior = match fields.text("behavior")?.as_str() {
        "merge" => Behavior::Merge,
        "replace" => Behavior::Replace,
        _ => Behavior::Create,
    };
    let mut envs = fields.strings("envs")?;
    envs.extend(fields.item("env")?.map(|item| item.text));
    let mut options = generator_options(fields, "options")?;
    add_missing(&mut options.labels, &global.labels);
    add_missing(&mut options.annotations, &global.annotations);
    options.disable_name_suffix_hash |= global.disable_name_suffix_hash;
    options.immutable |= global.immutable;
    Ok(GeneratorEntry {
        is_secret,
        name: fields.text("name")?,
        namespace: fields.text("namespace")?,
        behavior,
        secret_type: if is_secret { fields.text("type")? } else { String::new() },
        literals: fields.strings("literals")?,
        files: fields.strings("files")?,
        envs,
        options,
        place: fields.place(),
    })
}

fn add_missing(pairs: &mut Pairs, global: &Pairs) {
    for (key, value) in global {
        if pairs.iter().all(|(mine, _)| mine != key) {
            pairs.push((key.clone(), value.clone()));
        }
    }
}

fn generator_options(fields: &Fields<'_>, name: &str) -> Result<GeneratorOptions, Error> {
    let Some(options) = fields.inner(name)? else { return Ok(GeneratorOptions::default()) };
    options.only(&["labels", "annotations", "disableNameSuffixHash", "immutable"])?;
    Ok(GeneratorOptions {
        labels: options.pairs("labels")?,
        annotations: options.pairs("annotations")?,
        disable_name_suffix_hash: options.bool("disableNameSuffixHash")?,
        immutable: options.bool("immutable")?,
    })
}

/// The old names of the fields of a chart.
const OLD_CHART_FIELDS: [(&str, &str); 7] = [
    ("chartName", "name"),
    ("chartVersion", "version"),
    ("chartRepoUrl", "repo"),
    ("values", "valuesFile"),
    ("valuesLocal", "valuesInline"),
    ("valuesMerge", "valuesMerge"),
    ("releaseName", "releaseName"),
];

/// Charts with their places, and the settings for all of them.
pub(super) fn helm(fields: &Fields<'_>) -> Result<(Vec<(Node, Place)>, Node), Error> {
    let mut charts = fields.each("helmCharts", |chart| Ok((Node::Map(chart.map.clone()), chart.place())))?;
    let mut home = Map::new();
    charts.extend(fields.each("helmChartInflationGenerator", |chart| {
        let renamed =
            OLD_CHART_FIELDS.iter().filter_map(|(old, new)| Some(((*new).into(), chart.get(old)?.clone())));
        Ok((Node::Map(renamed.collect()), chart.place()))
    })?);
    for chart in fields.list("helmChartInflationGenerator")? {
        if let Some(folder) = chart.get("chartHome").filter(|folder| !folder.is_nil()) {
            home.insert("chartHome".into(), folder.clone());
        }
    }
    let globals = fields.get("helmGlobals").cloned();
    let old = (!home.is_empty()).then_some(Node::Map(home));
    Ok((charts, globals.or(old).unwrap_or_default()))
}

pub(super) fn sort(fields: &Fields<'_>) -> Result<Option<Sort>, Error> {
    let Some(sort) = fields.inner("sortOptions")? else { return Ok(None) };
    sort.only(&["order", "legacySortOptions"])?;
    let legacy = match sort.text("order")?.as_str() {
        "legacy" => true,
        "fifo" => false,
        _ => return Err(sort.wrong("order", "the field 'sortOptions.order' must be one of [fifo, legacy]")),
    };
    let orders = sort.inner("legacySortOptions")?.map(|orders| {
        orders.only(&["orderFirst", "orderLast"])?;
        Ok((orders.strings("orderFirst")?, orders.strings("orderLast")?))
    });
    let orders = orders.transpose()?;
    if !legacy && orders.is_some() {
        let message = "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'";
        return Err(sort.wrong("legacySortOptions", message));
    }
    Ok(Some(Sort { legacy, orders }))
}
