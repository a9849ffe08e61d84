//! Rules for maps.

use pintle_tree::{Map, Node, Str};

use super::{InstancePath, Validation};
use crate::schema::message::{Failure, quoted, quoted_list};
use crate::schema::rules::{Additional, Dependency, ObjectRules, SchemaId};

impl Validation<'_, '_, '_> {
    pub(super) fn check_object(&mut self, map: &Map<Node>, rules: &ObjectRules) {
        let length = map.len() as i64;
        self.check_bounds("Properties", length, rules.minimum, rules.maximum);
        self.check_required(map, &rules.required, |missing| match missing {
            [one] => format!("missing property {}", quoted(one.as_bytes())),
            _ => format!("missing properties {}", quoted_list(missing)),
        });
        // The library stops at the same places when it only needs yes or no, for example inside `not`.
        if self.brief && !self.failures.is_empty() {
            return;
        }
        for (name, dependency) in &rules.dependencies {
            if !map.contains_key(name) {
                continue;
            }
            match dependency {
                Dependency::Properties(needed) => self.check_dependent(map, name, needed),
                Dependency::Schema(id) => self.check_self(*id),
            }
        }
        self.check_properties(map, rules);
        // `propertyNames` and what follows came with draft 6.
        if self.schema.draft == 4 {
            return;
        }
        if let Some(id) = rules.names {
            for name in map.keys() {
                self.check_name(id, name);
            }
        }
        for (name, id) in &rules.dependent_schemas {
            if map.contains_key(name) {
                self.check_self(*id);
            }
        }
        for (name, needed) in &rules.dependent_required {
            if map.contains_key(name) {
                self.check_dependent(map, name, needed);
            }
        }
    }

    fn check_properties(&mut self, map: &Map<Node>, rules: &ObjectRules) {
        let mut refused: Vec<&Str> = Vec::new();
        // By key, where the library walks a Go map: its order of messages is random, ours is not.
        for (index, (name, node)) in map.iter().enumerate() {
            if self.brief && !self.failures.is_empty() {
                return;
            }
            let mut evaluated = false;
            if let Some(&id) = rules.properties.get(name) {
                evaluated = true;
                self.check_inside(id, node, InstancePath::Key(self.at, name));
            }
            for (pattern, id) in &rules.patterns {
                // Several patterns may match the same name, and all of them apply.
                if self.spend(1 + pattern.cost(name.len() as u64)) && pattern.is_match(name.as_bytes()) {
                    evaluated = true;
                    self.check_inside(*id, node, InstancePath::Key(self.at, name));
                }
            }
            if !evaluated && let Some(additional) = rules.additional {
                evaluated = true;
                match additional {
                    Additional::Allowed(true) => {}
                    Additional::Allowed(false) => refused.push(name),
                    Additional::Schema(id) => self.check_inside(id, node, InstancePath::Key(self.at, name)),
                }
            }
            if evaluated && let Some(flags) = &mut self.unevaluated.properties {
                flags[index] = false;
            }
        }
        if !refused.is_empty() {
            // One message for all of them, as in the library.
            self.fail(|| format!("additional properties {} not allowed", quoted_list(&refused)));
        }
    }

    /// Validates the name of a property, as a string whose own failures have no location in the instance.
    fn check_name(&mut self, id: SchemaId, name: &Str) {
        if let Err(failure) = self.validator.validate_alone(id, &Node::Str(name.clone()), self.brief) {
            let message = format!("invalid propertyName {}", quoted(name.as_bytes()));
            let (at, causes) = (self.at.pointer(), failure.into_group());
            self.failures.push(Failure { message, at, causes, ..Failure::default() });
        }
    }

    fn check_required(&mut self, map: &Map<Node>, needed: &[Str], message: impl FnOnce(&[&Str]) -> String) {
        let missing: Vec<&Str> = needed.iter().filter(|name| !map.contains_key(name)).collect();
        if !missing.is_empty() {
            self.fail(|| message(&missing));
        }
    }

    fn check_dependent(&mut self, map: &Map<Node>, name: &Str, needed: &[Str]) {
        self.check_required(map, needed, |missing| {
            format!("properties {} required, if {} exists", quoted_list(missing), quoted(name.as_bytes()))
        });
    }
}
