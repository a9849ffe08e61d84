//! Schemas with resolved references.

use pintle_tree::{Node, Str};

use super::catalog::Definitions;
use super::resource::Resource;
use super::shape::{Additional, ListType, PatchStrategy, Shape, Type};

/// The schema of a value: that of the property, and the definition that it refers to. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Schema<'t> {
    /// The schema of the property, which has defaults and patch strategies of its own.
    usage: &'t Shape,
    /// The definition; the same as `usage` without a reference.
    shape: &'t Shape,
    definitions: &'t Definitions,
}

impl<'t> Schema<'t> {
    /// Resolves the references of `usage`.
    pub fn new(usage: &'t Shape, definitions: &'t Definitions) -> Schema<'t> {
        let mut shape = usage;
        // Chains of references are short; the limit ends cycles.
        for _ in 0..8 {
            let Some(target) = shape.reference.as_ref().and_then(|name| definitions.shape(name)) else {
                break;
            };
            shape = target;
        }
        Schema { usage, shape, definitions }
    }

    /// Another schema with the same definitions, as for `anyOf`.
    pub fn with_shape<'s>(&self, shape: &'s Shape) -> Schema<'s>
    where
        't: 's,
    {
        Schema::new(shape, self.definitions)
    }

    /// The name of the definition, if it is a reference.
    pub fn definition(&self) -> Option<&'t Str> {
        self.usage.reference.as_ref()
    }

    /// The definition, for everything without a method of its own (format, enum, limits …).
    pub fn shape(&self) -> &'t Shape {
        self.shape
    }

    /// The type of the value.
    pub fn kind(&self) -> Type {
        self.shape.kind
    }

    /// The declared field `name`.
    pub fn field(&self, name: impl AsRef<[u8]>) -> Option<Schema<'t>> {
        self.shape.fields.get(name).map(|usage| Schema::new(usage, self.definitions))
    }

    /// The known fields in the order of their names.
    pub fn fields(&self) -> impl Iterator<Item = (&'t Str, Schema<'t>)> + use<'t> {
        let definitions = self.definitions;
        self.shape.fields.iter().map(move |(name, usage)| (name, Schema::new(usage, definitions)))
    }

    /// The schema of `additionalProperties`.
    pub fn additional(&self) -> Option<Schema<'t>> {
        match &self.shape.additional {
            Additional::Shape(usage) => Some(Schema::new(usage, self.definitions)),
            _ => None,
        }
    }

    /// The field `name`, declared or additional.
    pub fn child(&self, name: impl AsRef<[u8]>) -> Option<Schema<'t>> {
        self.field(name).or_else(|| self.additional())
    }

    /// The elements of a list.
    pub fn items(&self) -> Option<Schema<'t>> {
        self.shape.items.as_deref().map(|usage| Schema::new(usage, self.definitions))
    }

    /// Whether unknown fields are preserved: in free-form maps, in values of any type, and with
    /// `x-kubernetes-preserve-unknown-fields`.
    pub fn keeps_unknown(&self) -> bool {
        let free = self.shape.fields.is_empty() && matches!(self.shape.additional, Additional::None);
        let free = matches!(self.shape.additional, Additional::Any)
            || (free && matches!(self.shape.kind, Type::Object | Type::Any) && !self.shape.closed);
        self.shape.preserve_unknown || self.usage.preserve_unknown || free
    }

    /// The default value.
    pub fn default(&self) -> Option<&'t Node> {
        // The property first: several properties refer to one definition with different defaults.
        self.usage.default.as_ref().or(self.shape.default.as_ref())
    }

    /// `x-kubernetes-list-type` and its keys.
    pub fn list(&self) -> &'t ListType {
        &self.shape.list
    }

    /// `x-kubernetes-map-type: atomic`.
    pub fn is_atomic_map(&self) -> bool {
        self.usage.atomic_map || self.shape.atomic_map
    }

    /// Whether null is a value here.
    pub fn is_nullable(&self) -> bool {
        self.usage.nullable || self.shape.nullable
    }

    /// The patch strategy of strategic merge patches.
    pub fn patch(&self) -> Option<&'t PatchStrategy> {
        self.usage.patch.as_ref().or(self.shape.patch.as_ref())
    }
}

/// A kind, as decoding, defaulting, validation and admission need it.
#[derive(Clone, Copy)]
pub struct Kind<'t> {
    /// The entry of discovery.
    pub resource: &'t Resource,
    /// The schema of its objects.
    pub schema: Option<Schema<'t>>,
    /// Whether it is a custom resource.
    pub custom: bool,
    /// The minor version of Kubernetes whose rules apply: 37 for `1.37`.
    pub minor: u16,
}

impl Kind<'_> {
    /// Whether another server than that of the built-in kinds serves it, as part of the same program.
    pub fn has_server_of_its_own(&self) -> bool {
        self.custom
            || self.resource.group == "apiextensions.k8s.io"
            || self.resource.group == "apiregistration.k8s.io"
    }

    /// Whether its objects are also validated with the rules generated from the API types, as those of all built-in kinds
    /// since 1.37.
    pub fn is_validated_declaratively(&self) -> bool {
        self.minor >= 37 && !self.has_server_of_its_own()
    }
}
