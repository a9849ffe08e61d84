//! How Kubernetes' Go types look to encoding/json, which OpenAPI does not tell: what is a pointer, what is left out
//! when empty, and what types are called in errors. The table is made by `testbed/kubernetes/shapes`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::OnceLock;

use pintle_tree::{Map, Node, Str};

static PACKED: &[u8] = include_bytes!("../../tables/go.z");

/// A Go type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GoType {
    Bool,
    /// Its bits; whole numbers with a sign.
    Int(u8),
    Float,
    Text,
    Bytes,
    Quantity,
    IntOrString,
    /// Digits of the second: none, or six.
    Time(u8),
    Duration,
    /// Anything that JSON can hold.
    Any,
    Slice(Box<FieldType>),
    Map(Box<FieldType>),
    Struct(usize),
}

/// A type with the name that errors give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldType {
    pub(crate) kind: GoType,
    pub(crate) pointer: bool,
    /// Empty for structs, which have their own.
    name: Str,
}

impl FieldType {
    /// The name that errors give the type.
    pub(crate) fn name(&self, types: &'static GoTypes) -> String {
        if !self.name.is_empty() {
            return self.name.to_string();
        }
        match &self.kind {
            GoType::Struct(number) => types.structs[*number].name.to_string(),
            GoType::Slice(items) => {
                format!("[]{}{}", if items.pointer { "*" } else { "" }, items.name(types))
            }
            GoType::Map(values) => format!("map[string]{}", values.name(types)),
            _ => String::new(),
        }
    }
}

/// What is written where a field has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmptyEncoding {
    /// Nothing.
    Omitted,
    /// Null.
    Null,
    /// The zero of its type.
    Zero,
    /// Nothing if the whole struct is zero.
    OmittedIfZero,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Str,
    pub(crate) absent: EmptyEncoding,
    pub(crate) of: FieldType,
    /// The embedded structs that it is inside of.
    pub(crate) inside: Vec<Str>,
    /// Its number in protobuf, after those of the embedded structs that it is inside of.
    pub(crate) numbers: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Struct {
    /// `v1.PodSpec`.
    name: Str,
    pub(crate) fields: Vec<Field>,
    by_name: BTreeMap<Str, usize>,
}

impl Struct {
    /// `PodSpec`.
    pub(crate) fn short_name(&self) -> String {
        let name = self.name.to_string();
        name.rsplit('.').next().unwrap_or_default().to_owned()
    }

    pub(crate) fn field(&self, name: &Str) -> Option<(usize, &Field)> {
        self.by_name.get(name).map(|index| (*index, &self.fields[*index]))
    }
}

/// All types, and the kinds that they are the roots of.
#[derive(Default)]
pub(crate) struct GoTypes {
    structs: Vec<Struct>,
    kinds: BTreeMap<String, usize>,
}

impl GoTypes {
    /// The table, read on first use.
    pub(crate) fn all() -> &'static GoTypes {
        static TYPES: OnceLock<GoTypes> = OnceLock::new();
        TYPES.get_or_init(|| {
            let mut text = String::new();
            // The table is part of the program; a test fails if it does not unpack.
            match flate2::read::ZlibDecoder::new(PACKED).read_to_string(&mut text) {
                Ok(_) => GoTypes::read(&text),
                Err(_) => GoTypes::default(),
            }
        })
    }

    fn read(text: &str) -> GoTypes {
        let mut types = GoTypes::default();
        for line in text.lines() {
            let Some(field) = line.strip_prefix(' ') else {
                let (name, kinds) = line.split_once(' ').unwrap_or((line, ""));
                let number = types.structs.len();
                types.kinds.extend(
                    kinds.split(',').filter(|kind| !kind.is_empty()).map(|kind| (kind.to_owned(), number)),
                );
                types.structs.push(Struct { name: name.into(), ..Struct::default() });
                continue;
            };
            if let (Some(last), Some(field)) = (types.structs.last_mut(), read_field(field)) {
                last.by_name.insert(field.name.clone(), last.fields.len());
                last.fields.push(field);
            }
        }
        types
    }

    /// The type of objects of a built-in kind.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<usize> {
        self.kinds.get(&format!("{api_version}/{kind}")).copied()
    }

    pub(crate) fn of(&self, number: usize) -> &Struct {
        &self.structs[number]
    }

    /// What is written for a struct without any values. Types do not contain themselves other than by pointers, so this
    /// ends.
    pub(crate) fn empty(&'static self, number: usize) -> Node {
        let fields = self.structs[number].fields.iter();
        let zeros = fields.filter_map(|field| Some((field.name.clone(), self.absent(field)?)));
        Node::Map(zeros.collect::<Map<Node>>())
    }

    /// What is written for a field without a value.
    pub(crate) fn absent(&'static self, field: &Field) -> Option<Node> {
        match field.absent {
            EmptyEncoding::Omitted | EmptyEncoding::OmittedIfZero => None,
            EmptyEncoding::Null => Some(Node::Nil),
            EmptyEncoding::Zero => Some(self.zero(&field.of.kind)),
        }
    }

    /// The zero of a type.
    pub(crate) fn zero(&'static self, kind: &GoType) -> Node {
        match kind {
            GoType::Bool => Node::Bool(false),
            GoType::Int(_) | GoType::Float | GoType::IntOrString => Node::Int(0),
            GoType::Text => "".into(),
            GoType::Quantity => "0".into(),
            GoType::Duration => "0s".into(),
            GoType::Struct(number) => self.empty(*number),
            GoType::Bytes | GoType::Time(_) | GoType::Any | GoType::Slice(_) | GoType::Map(_) => Node::Nil,
        }
    }
}

fn read_field(line: &str) -> Option<Field> {
    let mut words = line.split(' ');
    let (name, flags, numbers, of) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let absent = match flags {
        "o" => EmptyEncoding::Omitted,
        "n" => EmptyEncoding::Null,
        "z" | "oz" => EmptyEncoding::OmittedIfZero,
        _ => EmptyEncoding::Zero,
    };
    let numbers = numbers.split('.').filter_map(|number| number.parse().ok()).collect();
    let inside = words.map(Str::from).collect();
    Some(Field { name: name.into(), absent, of: read_type(of), inside, numbers })
}

fn read_type(text: &str) -> FieldType {
    let (pointer, text) = match text.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // `v1.PullPolicy=string`: the name before, the kind behind. Names of elements belong to these.
    let named = text.find('=').filter(|at| !text[..*at].contains(['[', '#']));
    let (name, shape) = named.map_or(("", text), |at| (&text[..at], &text[at + 1..]));
    let (kind, own) = read_kind(shape);
    FieldType { kind, pointer, name: Str::from(if name.is_empty() { own } else { name }) }
}

/// The kind, and its name in errors where that is no compound.
fn read_kind(text: &str) -> (GoType, &str) {
    if let Some(number) = text.strip_prefix('#') {
        return (GoType::Struct(number.parse().unwrap_or_default()), "");
    }
    if text == "[]uint8" {
        return (GoType::Bytes, text);
    }
    if let Some(items) = text.strip_prefix("[]") {
        return (GoType::Slice(Box::new(read_type(items))), "");
    }
    if let Some((_, values)) = text.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return (GoType::Map(Box::new(read_type(values))), "");
    }
    let kind = match text {
        "bool" => GoType::Bool,
        "int32" | "uint32" => GoType::Int(32),
        "int64" | "int" | "uint64" => GoType::Int(64),
        "uint16" | "int16" => GoType::Int(16),
        "uint8" | "int8" => GoType::Int(8),
        "float64" | "float32" => GoType::Float,
        "string" => GoType::Text,
        "resource.Quantity" => GoType::Quantity,
        "intstr.IntOrString" => GoType::IntOrString,
        "v1.Time" => GoType::Time(0),
        "v1.MicroTime" => GoType::Time(6),
        "v1.Duration" => GoType::Duration,
        _ => GoType::Any,
    };
    (kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_deployment_is_what_go_writes() {
        let types = GoTypes::all();
        let number = types.kind("apps/v1", "Deployment").unwrap();
        let text = String::from_utf8(pintle_tree::json::write_raw(&types.empty(number)).unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"metadata":{},"spec":{"selector":null,"strategy":{},"template":{"metadata":{},"spec":{"containers":null}}},"status":{}}"#
        );
    }

    #[test]
    fn types_have_the_names_of_errors() {
        let types = GoTypes::all();
        let container = types.structs.iter().find(|known| known.name == "v1.Container").unwrap();
        let name = |field: &str| container.field(&field.into()).unwrap().1.of.name(types);
        assert_eq!(name("ports"), "[]v1.ContainerPort");
        assert_eq!(name("imagePullPolicy"), "v1.PullPolicy");
        assert_eq!(name("resources"), "v1.ResourceRequirements");
        assert_eq!(name("command"), "[]string");
        let meta = types.structs.iter().find(|known| known.name == "v1.ObjectMeta").unwrap();
        assert_eq!(meta.field(&"labels".into()).unwrap().1.of.name(types), "map[string]string");
    }

    #[test]
    fn every_kind_that_can_be_made_has_a_type() {
        let types = GoTypes::all();
        for resource in crate::schema::ApiCatalog::newest().resources().iter().filter(|it| it.can("create")) {
            let kind = resource.kind.to_string();
            assert!(types.kind(&resource.api_version(), &kind).is_some(), "{}", resource.qualified_name());
        }
    }
}
