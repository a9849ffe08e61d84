//! A place in an object of a known kind, and the way to the places below it.

use pintle_tree::{Node, Str};

use super::catalog::Definitions;
use super::resource::Resource;
use super::shape::{Additional, ListType, PatchStrategy, Shape, Type};

/// A place in an object: what is said where it is used, and what its definition says. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Schema<'t> {
    /// What the place where it is used says.
    usage: &'t Shape,
    /// What the definition says; the same as `usage` if there is no definition.
    shape: &'t Shape,
    definitions: &'t Definitions,
}

impl<'t> Schema<'t> {
    /// The place that `usage` describes, with references looked up in `definitions`.
    pub fn new(usage: &'t Shape, definitions: &'t Definitions) -> Schema<'t> {
        let mut shape = usage;
        // Definitions refer to definitions at most a few times; a circle of nothing but references ends here.
        for _ in 0..8 {
            let Some(target) = shape.reference.as_ref().and_then(|name| definitions.shape(name)) else {
                break;
            };
            shape = target;
        }
        Schema { usage, shape, definitions }
    }

    /// The same place with another shape, as alternatives of a schema have it.
    pub fn with_shape<'s>(&self, shape: &'s Shape) -> Schema<'s>
    where
        't: 's,
    {
        Schema::new(shape, self.definitions)
    }

    /// The name of the definition, where there is one.
    pub fn definition(&self) -> Option<&'t Str> {
        self.usage.reference.as_ref()
    }

    /// What its definition says, for what has no method here (format, enum, limits …).
    pub fn shape(&self) -> &'t Shape {
        self.shape
    }

    /// What it may hold.
    pub fn kind(&self) -> Type {
        self.shape.kind
    }

    /// The known field `name`.
    pub fn field(&self, name: impl AsRef<[u8]>) -> Option<Schema<'t>> {
        self.shape.fields.get(name).map(|usage| Schema::new(usage, self.definitions))
    }

    /// The known fields in the order of their names.
    pub fn fields(&self) -> impl Iterator<Item = (&'t Str, Schema<'t>)> + use<'t> {
        let definitions = self.definitions;
        self.shape.fields.iter().map(move |(name, usage)| (name, Schema::new(usage, definitions)))
    }

    /// What fields without a name of their own hold, where all hold the same.
    pub fn additional(&self) -> Option<Schema<'t>> {
        match &self.shape.additional {
            Additional::Shape(usage) => Some(Schema::new(usage, self.definitions)),
            _ => None,
        }
    }

    /// The field `name`: a known one, or one of the others.
    pub fn child(&self, name: impl AsRef<[u8]>) -> Option<Schema<'t>> {
        self.field(name).or_else(|| self.additional())
    }

    /// The elements of a list.
    pub fn items(&self) -> Option<Schema<'t>> {
        self.shape.items.as_deref().map(|usage| Schema::new(usage, self.definitions))
    }

    /// Whether fields that are not known are kept: free maps, places of any type, and those that say so.
    pub fn keeps_unknown(&self) -> bool {
        let free = self.shape.fields.is_empty() && matches!(self.shape.additional, Additional::None);
        let free = matches!(self.shape.additional, Additional::Any)
            || (free && matches!(self.shape.kind, Type::Object | Type::Any) && !self.shape.closed);
        self.shape.preserve_unknown || self.usage.preserve_unknown || free
    }

    /// What is set where nothing is.
    pub fn default(&self) -> Option<&'t Node> {
        self.usage.default.as_ref().or(self.shape.default.as_ref())
    }

    /// How elements of a list are told apart.
    pub fn list(&self) -> &'t ListType {
        &self.shape.list
    }

    /// Whether a map is one value.
    pub fn is_atomic_map(&self) -> bool {
        self.usage.atomic_map || self.shape.atomic_map
    }

    /// Whether null is a value here.
    pub fn is_nullable(&self) -> bool {
        self.usage.nullable || self.shape.nullable
    }

    /// How strategic merge patches treat it.
    pub fn patch(&self) -> Option<&'t PatchStrategy> {
        self.usage.patch.as_ref().or(self.shape.patch.as_ref())
    }
}

/// A kind with what is known about its objects.
#[derive(Clone, Copy)]
pub struct Kind<'t> {
    /// What discovery says.
    pub resource: &'t Resource,
    /// What its objects look like; none for custom resources that keep whatever they are given.
    pub schema: Option<Schema<'t>>,
    /// Whether a custom resource definition made it.
    pub custom: bool,
    /// The second number of the Kubernetes version whose rules hold: 36 of `1.36`.
    pub minor: u16,
}
