//! References to other schemas, including dynamic ones, whose target depends on the scope.

use super::{Scope, Validation};
use crate::schema::message::{Failure, FailureKind};
use crate::schema::rules::{References, SchemaId};

impl Validation<'_, '_, '_> {
    /// Validates the value with the schema that a keyword refers to.
    pub(super) fn follow(&mut self, id: SchemaId, keyword: &'static str) -> Result<(), Failure> {
        self.itself(id, keyword, false).map_err(|failure| {
            let mut reference = self.failure(|| "validation failed".to_owned());
            reference.kind = FailureKind::Reference;
            reference.causes = failure.into_group();
            reference
        })
    }

    pub(super) fn follow_dynamically(&mut self, references: &References) {
        if let Some(id) = references.recursive {
            let result = self.follow(self.recursive_target(id), "$recursiveRef");
            self.failures.extend(result.err());
        }
        if let Some((id, anchor)) = &references.dynamic {
            let target = anchor.as_ref().map_or(*id, |anchor| self.dynamic_target(*id, anchor));
            let result = self.follow(target, "$dynamicRef");
            self.failures.extend(result.err());
        }
    }

    /// The outermost scope whose resource has a recursive anchor, if the initial target has one.
    fn recursive_target(&self, id: SchemaId) -> SchemaId {
        let extensible = |id: SchemaId| {
            let schema = self.validator.schemas.schema(id);
            schema.references.as_ref().is_some_and(|references| references.recursive_anchor)
        };
        if !extensible(id) {
            return id;
        }
        let resource = |scope: &Scope<'_>| self.validator.schemas.schema(scope.schema).resource;
        self.scopes().filter(|scope| extensible(resource(scope))).last().map_or(id, |scope| scope.schema)
    }

    /// The outermost scope with a dynamic anchor of that name, if the initial target has it.
    fn dynamic_target(&self, id: SchemaId, anchor: &str) -> SchemaId {
        let schemas = self.validator.schemas;
        let first = schemas.schema(id);
        let own = first.references.as_ref().and_then(|references| references.dynamic_anchor.as_ref());
        if own.is_none_or(|own| *own != anchor) {
            return id;
        }
        let anchored = |scope: &Scope<'_>| {
            let resource = schemas.schema(schemas.schema(scope.schema).resource);
            let anchors = &resource.references.as_ref()?.dynamic_anchors;
            anchors.iter().find(|(name, _)| name == anchor).map(|(_, id)| *id)
        };
        self.scopes().filter_map(anchored).last().unwrap_or(id)
    }

    /// The scopes from here outwards.
    fn scopes(&self) -> impl Iterator<Item = &Scope<'_>> {
        std::iter::successors(Some(self.scope), |scope| scope.parent)
    }
}
