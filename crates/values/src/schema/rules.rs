//! A compiled schema.

use std::rc::Rc;

use pintle_regex::Regex;
use pintle_tree::{Map, Node, Str};

use super::decimal::Decimal;
use super::document::Doc;
use super::format::Format;

/// The index of a compiled schema.
pub(super) type SchemaId = usize;

/// One schema. Rules that few schemas have are boxed.
#[derive(Debug, Default)]
pub(super) struct Schema {
    /// The enclosing schema that has its own identifier.
    pub(super) resource: SchemaId,
    pub(super) draft: u16,
    /// For the schemas `true` and `false`.
    pub(super) boolean: Option<bool>,
    pub(super) types: Types,
    pub(super) value: Option<Box<ValueRules>>,
    pub(super) references: Option<Box<References>>,
    pub(super) object: Option<Box<ObjectRules>>,
    pub(super) array: Option<Box<ArrayRules>>,
    pub(super) text: Option<Box<TextRules>>,
    pub(super) number: Option<Box<NumberRules>>,
    pub(super) logic: Option<Box<Logic>>,
}

impl Schema {
    /// The cost of applying the schema: names looked up in each map, and subschemas of lists.
    pub(super) fn size(&self) -> u64 {
        let object = self.object.as_ref().map_or(0, |rules| {
            rules.required.len()
                + rules.dependencies.len()
                + rules.dependent_schemas.len()
                + rules.dependent_required.iter().map(|(_, names)| 1 + names.len()).sum::<usize>()
        });
        object as u64 / 4
    }
}

/// Rules for values of all types.
#[derive(Debug, Default)]
pub(super) struct ValueRules {
    pub(super) constant: Option<Doc>,
    pub(super) choices: Option<Vec<Doc>>,
    pub(super) format: Option<Format>,
}

/// Other schemas that apply as well.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) reference: Option<SchemaId>,
    pub(super) recursive: Option<SchemaId>,
    pub(super) recursive_anchor: bool,
    /// The initial target, and the anchor if the reference names one.
    pub(super) dynamic: Option<(SchemaId, Option<String>)>,
    pub(super) dynamic_anchor: Option<Str>,
    /// For a schema with an identifier: the dynamic anchors inside it.
    pub(super) dynamic_anchors: Vec<(String, SchemaId)>,
}

/// Rules for maps.
#[derive(Debug, Default)]
pub(super) struct ObjectRules {
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
    pub(super) required: Vec<Str>,
    pub(super) dependencies: Vec<(Str, Dependency)>,
    pub(super) properties: Map<SchemaId>,
    pub(super) patterns: Vec<(Rc<Regex>, SchemaId)>,
    pub(super) additional: Option<Additional>,
    pub(super) names: Option<SchemaId>,
    pub(super) dependent_schemas: Vec<(Str, SchemaId)>,
    pub(super) dependent_required: Vec<(Str, Vec<Str>)>,
    pub(super) unevaluated: Option<SchemaId>,
}

/// What the presence of a property requires.
#[derive(Debug)]
pub(super) enum Dependency {
    Properties(Vec<Str>),
    Schema(SchemaId),
}

/// The rule for properties or items that nothing else covers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Additional {
    Allowed(bool),
    Schema(SchemaId),
}

/// Rules for lists.
#[derive(Debug, Default)]
pub(super) struct ArrayRules {
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
    pub(super) unique: bool,
    /// Schemas of the first items.
    pub(super) first: Vec<SchemaId>,
    /// The schema of all items after the first ones.
    pub(super) rest: Option<Additional>,
    pub(super) contains: Option<SchemaId>,
    pub(super) minimum_contained: Option<i64>,
    pub(super) maximum_contained: Option<i64>,
    pub(super) unevaluated: Option<SchemaId>,
}

/// Rules for strings.
#[derive(Debug, Default)]
pub(super) struct TextRules {
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
    pub(super) pattern: Option<Rc<Regex>>,
}

/// Rules for numbers.
#[derive(Debug, Default)]
pub(super) struct NumberRules {
    pub(super) minimum: Option<Decimal>,
    pub(super) maximum: Option<Decimal>,
    pub(super) above: Option<Decimal>,
    pub(super) below: Option<Decimal>,
    pub(super) unit: Option<Decimal>,
}

/// Combinations of schemas.
#[derive(Debug, Default)]
pub(super) struct Logic {
    pub(super) not: Option<SchemaId>,
    pub(super) all: Vec<SchemaId>,
    pub(super) any: Vec<SchemaId>,
    pub(super) one: Vec<SchemaId>,
    pub(super) condition: Option<SchemaId>,
    pub(super) then: Option<SchemaId>,
    pub(super) otherwise: Option<SchemaId>,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// Names in the order in which messages list them.
const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

impl Types {
    pub(super) const INTEGER: Types = Types(1 << 3);

    /// The types of a `type` keyword; unknown names are ignored.
    pub(super) fn read(doc: &Doc) -> Self {
        let one = |doc: &Doc| doc.as_text().map_or(0, |name| Types::named(name.as_bytes()).0);
        match doc {
            Doc::List(names) => Types(names.iter().fold(0, |types, name| types | one(name))),
            _ => Types(one(doc)),
        }
    }

    fn named(name: &[u8]) -> Self {
        TYPES.iter().position(|known| known.as_bytes() == name).map_or(Types(0), |index| Types(1 << index))
    }

    /// The type of a value; an integer is a number.
    pub(super) fn from_node(node: &Node) -> Self {
        Types(
            1 << match node {
                Node::Nil => 0,
                Node::Bool(_) => 1,
                // Whether a number is an integer depends on its value, so it is decided later.
                Node::Int(_) | Node::Float(_) => 2,
                Node::Str(_) => 4,
                Node::List(_) => 5,
                Node::Map(_) => 6,
            },
        )
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn contains(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn names(self) -> Vec<&'static str> {
        TYPES
            .iter()
            .enumerate()
            .filter(|(index, _)| self.0 & 1 << index != 0)
            .map(|(_, name)| *name)
            .collect()
    }
}
