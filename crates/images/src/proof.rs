//! Compares two renders: only the intended images, and strings derived from them, may differ.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_objects::ObjectId;
use pintle_tree::{Map, Node, with_stack};

use crate::fields::{Field, FieldLocation, each_object, id};
use crate::rendering::Files;
use crate::value_path::{MAX_DEPTH, Segment, ValuePath};

/// A string of a rendered object that differs after the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it is.
    pub location: FieldLocation,
    /// The object it belongs to.
    pub object: ObjectId,
    /// The text before the change.
    pub before: String,
    /// The text after the change.
    pub after: String,
}

/// An acceptable difference outside image fields, because it derives from a moved image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consequence {
    /// The difference.
    pub difference: Difference,
    /// Why it is acceptable.
    pub kind: ConsequenceKind,
}

/// Why a string outside image fields may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConsequenceKind {
    /// It contains an image, or part of one, that came from the same value.
    Carries,
    /// It is a digest of something that differs, such as a `checksum/config` annotation.
    Digest,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    /// Image fields that changed as intended.
    pub moved: Vec<FieldLocation>,
    /// Acceptable differences that derive from them.
    pub consequences: Vec<Consequence>,
    /// Differences that refute the change.
    pub violations: Vec<Violation>,
}

/// An unintended difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A string that must not differ, or differs in an unexpected way.
    Text(Difference),
    /// An image that should have changed and did not.
    Unmoved(FieldLocation),
    /// A difference in structure, not just in strings.
    Structure {
        /// The template.
        template: String,
        /// What differs, and where.
        what: String,
    },
    /// The chart no longer renders, or its values no longer match their schema.
    Broken(String),
}

impl Violation {
    /// Whether the objects differ in more than strings.
    pub(crate) fn is_structural(&self) -> bool {
        matches!(self, Violation::Structure { .. } | Violation::Broken(_))
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Violation::Text(it) => {
                let (before, after) = (shortened(&it.before), shortened(&it.after));
                write!(formatter, "{} {} from `{before}` to `{after}`", it.object, it.location.path)
            }
            Violation::Unmoved(location) => {
                write!(formatter, "{} of {} stays", location.path, location.template)
            }
            Violation::Structure { template, what } => write!(formatter, "{what} of {template}"),
            Violation::Broken(error) => formatter.write_str(error),
        }
    }
}

fn shortened(text: &str) -> String {
    const MAX_LENGTH: usize = 120;
    match text.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a change is meant to do.
pub(crate) struct ExpectedChange<'i> {
    /// The new image of each field that moves.
    pub(crate) images: BTreeMap<&'i FieldLocation, &'i str>,
    /// All image fields.
    pub(crate) image_fields: &'i [Field],
    /// Replacements that are acceptable wherever they occur: images and values with their new texts.
    pub(crate) pairs: Vec<(String, String)>,
}

/// Compares the render before a change with the render after it.
pub(crate) fn compare(before: &Files, after: &Files, expected: &ExpectedChange<'_>) -> Comparison {
    let mut pairs: Vec<&(String, String)> =
        expected.pairs.iter().filter(|(old, _)| !old.is_empty()).collect();
    // Longest first, so that a prefix never shadows a more specific match.
    pairs.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    pairs.dedup();
    let image_fields = expected.image_fields.iter().map(|field| &field.location).collect();
    let mut comparing = Comparer { expected, pairs, image_fields, found: Comparison::default() };
    comparing.files(before, after);
    let moved = &comparing.found.moved;
    let unmoved = expected.images.keys().filter(|location| !moved.contains(location));
    let unmoved: Vec<Violation> = unmoved.map(|location| Violation::Unmoved((*location).clone())).collect();
    comparing.found.violations.extend(unmoved);
    comparing.found
}

struct Comparer<'c> {
    expected: &'c ExpectedChange<'c>,
    pairs: Vec<&'c (String, String)>,
    image_fields: std::collections::BTreeSet<&'c FieldLocation>,
    found: Comparison,
}

/// The object being compared.
struct Context<'s> {
    template: &'s str,
    document: usize,
    object: &'s ObjectId,
    is_secret: bool,
}

impl Comparer<'_> {
    fn files(&mut self, before: &Files, after: &Files) {
        let paths = |files: &Files| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
        if paths(before) != paths(after) {
            return self.structure("", "the list of files");
        }
        for ((template, old), (_, new)) in before.iter().zip(after) {
            if old != new {
                self.file(template, old, new);
            }
        }
    }

    fn file(&mut self, template: &str, old: &[u8], new: &[u8]) {
        let (old, new): (Vec<&[u8]>, Vec<&[u8]>) =
            (pintle_objects::split(old).collect(), pintle_objects::split(new).collect());
        if old.len() != new.len() {
            return self.structure(template, "the number of objects");
        }
        for (number, (old, new)) in old.into_iter().zip(new).enumerate() {
            if old != new {
                self.document(template, number, old, new);
            }
        }
    }

    fn document(&mut self, template: &str, document: usize, old: &[u8], new: &[u8]) {
        let (old, new) = match (pintle_yaml::read(old), pintle_yaml::read(new)) {
            (Ok(Node::Map(old)), Ok(Node::Map(new))) => (old, new),
            _ => return self.structure(template, "a document that is no object"),
        };
        // A `List` is compared as one document, but each item is reported as its own object.
        let mut members: Vec<(ValuePath, ObjectId)> = Vec::new();
        each_object(&old, &ValuePath::root(), &mut |object, path| members.push((path.clone(), id(object))));
        if members.len() == 1 && members[0].0.segments().is_empty() {
            let context = context(template, document, &members[0].1);
            return self.map(&old, &new, &ValuePath::root(), &context);
        }
        let list = id(&old);
        let (mut old_rest, mut new_rest) = (old.clone(), new.clone());
        let items = [old_rest.remove("items"), new_rest.remove("items")];
        self.map(&old_rest, &new_rest, &ValuePath::root(), &context(template, document, &list));
        let [Some(Node::List(old)), Some(Node::List(new))] = items else {
            return self.structure(template, "a list");
        };
        if old.len() != new.len() {
            return self.structure(template, "the length of a list");
        }
        let path = ValuePath::root().key("items");
        for (index, (old, new)) in old.iter().zip(&new).enumerate() {
            let object = old.as_map().map(id).unwrap_or_default();
            self.node(old, new, &path.index(index), &context(template, document, &object));
        }
    }

    fn structure(&mut self, template: &str, what: &str) {
        let (template, what) = (template.to_owned(), what.to_owned());
        self.found.violations.push(Violation::Structure { template, what });
    }

    fn node(&mut self, old: &Node, new: &Node, path: &ValuePath, context: &Context<'_>) {
        match (old, new) {
            _ if path.segments().len() > MAX_DEPTH => {
                self.structure(
                    context.template,
                    &format!("{} deeper than {MAX_DEPTH} levels", context.object),
                );
            }
            (Node::Map(old), Node::Map(new)) => with_stack(|| self.map(old, new, path, context)),
            (Node::List(old), Node::List(new)) if old.len() == new.len() => with_stack(|| {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    if old != new {
                        self.node(old, new, &path.index(index), context);
                    }
                }
            }),
            (Node::Str(old), Node::Str(new)) => {
                if old != new {
                    self.text(&old.to_str_lossy(), &new.to_str_lossy(), path, context);
                }
            }
            _ if old == new => {}
            _ => self.structure(context.template, &format!("{} at {path}", context.object)),
        }
    }

    fn map(&mut self, old: &Map<Node>, new: &Map<Node>, path: &ValuePath, context: &Context<'_>) {
        if !old.keys().eq(new.keys()) {
            return self.structure(context.template, &format!("the keys of {} at `{path}`", context.object));
        }
        for ((key, old), new) in old.iter().zip(new.values()) {
            if old != new {
                self.node(old, new, &path.with(Segment::Key(key.clone())), context);
            }
        }
    }

    fn text(&mut self, old: &str, new: &str, path: &ValuePath, context: &Context<'_>) {
        let location = FieldLocation {
            template: context.template.to_owned(),
            document: context.document,
            path: path.clone(),
        };
        if self.image_fields.contains(&location) {
            return match self.expected.images.get(&location) {
                Some(wanted) if *wanted == new => self.found.moved.push(location),
                _ => self.violation(location, old, new, context),
            };
        }
        match self.consequence(old, new, path, context) {
            Some(kind) => {
                let difference = difference(location, old, new, context);
                self.found.consequences.push(Consequence { difference, kind });
            }
            None => self.violation(location, old, new, context),
        }
    }

    fn violation(&mut self, location: FieldLocation, old: &str, new: &str, context: &Context<'_>) {
        self.found.violations.push(Violation::Text(difference(location, old, new, context)));
    }

    fn consequence(
        &self,
        old: &str,
        new: &str,
        path: &ValuePath,
        context: &Context<'_>,
    ) -> Option<ConsequenceKind> {
        // Before the check of names: charts put hashes of their configuration into them.
        if is_digest_of_other(old, new) {
            return Some(ConsequenceKind::Digest);
        }
        if !may_carry(path) {
            return None;
        }
        if follows(old, new, &self.pairs) {
            return Some(ConsequenceKind::Carries);
        }
        let decoded = |text: &str| STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if context.is_secret
            && let (Some(old), Some(new)) = (decoded(old), decoded(new))
        {
            return follows(&old, &new, &self.pairs).then_some(ConsequenceKind::Carries);
        }
        None
    }
}

fn context<'s>(template: &'s str, document: usize, object: &'s ObjectId) -> Context<'s> {
    let is_secret = object.kind == "Secret" && object.group.is_empty();
    Context { template, document, object, is_secret }
}

fn difference(location: FieldLocation, old: &str, new: &str, context: &Context<'_>) -> Difference {
    let (before, after) = (old.to_owned(), new.to_owned());
    Difference { location, object: context.object.clone(), before, after }
}

/// Whether a string may contain an image. Names, labels and selectors may not: changing one of them changes identity,
/// and the cluster would find or match other objects.
fn may_carry(path: &ValuePath) -> bool {
    const IDENTITY: [&str; 6] =
        ["labels", "matchLabels", "selector", "podSelector", "namespaceSelector", "matchExpressions"];
    let mut keys = path.segments().iter().filter_map(|step| match step {
        Segment::Key(key) => key.as_str(),
        Segment::Index(_) => None,
    });
    let is_name = |last: &str| {
        matches!(last, "name" | "namespace" | "generateName" | "kind" | "apiVersion" | "imagePullPolicy")
    };
    !keys.any(|key| IDENTITY.contains(&key))
        && !path.last_key().and_then(|key| key.as_str()).is_some_and(is_name)
}

/// Whether `new` equals `old` with only the given replacements applied.
fn follows(old: &str, new: &str, pairs: &[&(String, String)]) -> bool {
    // Without backtracking: at worst an acceptable difference counts as a violation, which only drops an override.
    let (mut old, mut new) = (old, new);
    let mut begins = [false; 256];
    for (from, _) in pairs {
        begins[usize::from(from.as_bytes()[0])] = true;
    }
    loop {
        // Most bytes begin no replacement; rendered files can be megabytes of configuration.
        let may_begin = old.bytes().next().is_some_and(|byte| begins[usize::from(byte)]);
        let pairs = if may_begin { pairs } else { &[] };
        let pair =
            pairs.iter().find(|(from, to)| old.starts_with(from.as_str()) && new.starts_with(to.as_str()));
        if let Some((from, to)) = pair {
            (old, new) = (&old[from.len()..], &new[to.len()..]);
            continue;
        }
        let (mut a, mut b) = (old.chars(), new.chars());
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y => (old, new) = (a.as_str(), b.as_str()),
            // Also if a digest in the same text differs: no rule covers replacements and digests together.
            _ => return false,
        }
    }
}

/// The shortest run of hexadecimal digits that counts as a digest (charts truncate checksums).
const DIGEST: usize = 6;

/// Whether two texts differ only in digests: runs of hexadecimal digits of equal length.
fn is_digest_of_other(old: &str, new: &str) -> bool {
    if old.len() != new.len() {
        return false;
    }
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let mut at = 0;
    while at < old.len() {
        let run = |text: &[u8]| text[at..].iter().take_while(|byte| is_hex(byte)).count();
        let (length, other) = (run(old), run(new));
        let end = at + length.max(1);
        if length != other || (length < DIGEST && old[at..end] != new[at..end]) {
            return false;
        }
        at = end;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::fields;

    const POD: &str = "kind: Pod\nmetadata: {name: x, labels: {i: web}}\nspec:\n  containers:\n  - image: web:1\n    args: \
                       [--use=web:1, run]\n";
    const MOVED: &str = "hub/library/web:1";

    /// The comparison of `old` with `new`, where the images of `old` should have become [`MOVED`].
    fn compared(old: &str, new: &str) -> Comparison {
        let files = |text: &str| vec![("c/templates/x.yaml".to_owned(), text.as_bytes().to_vec())];
        let (before, after) = (files(old), files(new));
        let image_fields = fields(&before);
        let images = image_fields.iter().map(|field| (&field.location, MOVED)).collect();
        let pairs =
            vec![("web:1".to_owned(), MOVED.to_owned()), ("web".to_owned(), "hub/library/web".to_owned())];
        compare(&before, &after, &ExpectedChange { images, image_fields: &image_fields, pairs })
    }

    fn violations(old: &str, new: &str) -> Vec<String> {
        compared(old, new).violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn intended_images_and_what_carries_them_may_differ() {
        let moved = compared(POD, &POD.replace("web:1", MOVED));
        assert!(moved.violations.is_empty(), "{:?}", moved.violations);
        assert_eq!((moved.moved.len(), moved.consequences.len()), (1, 1));
        assert_eq!(moved.consequences[0].kind, ConsequenceKind::Carries);
    }

    #[test]
    fn wrong_images_names_labels_and_other_words_may_not() {
        let wrong = |from: &str, to: &str| {
            violations(POD, &POD.replace("image: web:1", "image: hub/library/web:1").replace(from, to))
        };
        assert_eq!(
            wrong("hub/library/web:1", "hub/web:1").len(),
            2,
            "it is wrong, and the right one is missing"
        );
        assert_eq!(
            wrong("{i: web}", "{i: hub/library/web}"),
            ["Pod/x metadata.labels.i from `web` to `hub/library/web`"]
        );
        assert_eq!(wrong("name: x", "name: web").len(), 1);
        assert_eq!(wrong("run]", "stop]"), ["Pod/x spec.containers[0].args[1] from `run` to `stop`"]);
        assert_eq!(wrong("run]", "run, more]"), ["Pod/x at spec.containers[0].args of c/templates/x.yaml"]);
        assert_eq!(wrong("kind: Pod", "x: y\nkind: Pod").len(), 2, "nothing else is looked at then");
        assert_eq!(wrong("run]", "5]").len(), 1);
        assert_eq!(violations(POD, POD), ["spec.containers[0].image of c/templates/x.yaml stays"]);
        let more = format!("{POD}---\nkind: X\n");
        assert_eq!(violations(POD, &more)[0], "the number of objects of c/templates/x.yaml");
    }

    #[test]
    fn secrets_are_decoded_and_digests_may_differ() {
        let secret = |data: &str| {
            format!("kind: Secret\napiVersion: v1\nmetadata: {{name: x}}\ndata: {{a: {data}}}\n")
        };
        let encoded = |text: &str| secret(&STANDARD.encode(text));
        assert!(violations(&encoded("image: web:1"), &encoded("image: hub/library/web:1")).is_empty());
        assert_eq!(violations(&encoded("image: web:1"), &encoded("image: web:2")).len(), 1);
        for (old, new, may) in [
            ("0123456789abcdef", "fedcba9876543210", true),
            ("job-01234567", "job-89abcdef", true),
            ("job-01234567", "jab-01234567", false),
            ("12", "34", false),
            ("0123456789", "01234567890", false),
        ] {
            assert_eq!(is_digest_of_other(old, new), may, "{old} {new}");
        }
    }

    #[test]
    fn members_of_lists_are_compared_one_by_one() {
        let list = |image: &str, name: &str| {
            format!(
                "kind: List\nitems:\n- {{kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{image: '{image}'}}]}}}}\n"
            )
        };
        assert!(violations(&list("web:1", "a"), &list(MOVED, "a")).is_empty());
        assert_eq!(
            violations(&list("web:1", "a"), &list(MOVED, "b")),
            ["Pod/a items[0].metadata.name from `a` to `b`"]
        );
    }
}
