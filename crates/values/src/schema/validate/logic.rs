//! Combinations of schemas, and what is left after them.

use pintle_tree::Node;

use super::{InstancePath, Validation};
use crate::schema::message::count;
use crate::schema::rules::{Logic, SchemaId};

impl Validation<'_, '_, '_> {
    pub(super) fn check_logic(&mut self, logic: &Logic) {
        if let Some(id) = logic.not
            && self.itself(id, "", true).is_ok()
        {
            self.fail(|| "'not' failed".to_owned());
        }
        if !logic.all.is_empty() {
            let mut causes = Vec::new();
            for &id in &logic.all {
                if let Err(failure) = self.itself(id, "", false) {
                    causes.push(failure);
                    if self.brief {
                        break;
                    }
                }
            }
            if !causes.is_empty() {
                self.fail_with(causes, || "'allOf' failed".to_owned());
            }
        }
        if !logic.any.is_empty() {
            self.check_any(&logic.any);
        }
        if !logic.one.is_empty() {
            self.check_one(&logic.one);
        }
        if let Some(condition) = logic.condition {
            let holds = self.itself(condition, "", true).is_ok();
            if let Some(id) = if holds { logic.then } else { logic.otherwise } {
                self.check_self(id);
            }
        }
    }

    fn check_any(&mut self, any: &[SchemaId]) {
        let mut causes = Vec::new();
        let mut matched = false;
        for &id in any {
            match self.itself(id, "", false) {
                Err(failure) => causes.push(failure),
                Ok(()) => {
                    matched = true;
                    // Others may still evaluate properties.
                    if self.unevaluated.is_empty() {
                        break;
                    }
                }
            }
        }
        if !matched {
            self.fail_with(causes, || "'anyOf' failed".to_owned());
        }
    }

    fn check_one(&mut self, one: &[SchemaId]) {
        let mut causes = Vec::new();
        let mut matched = None;
        for (index, &id) in one.iter().enumerate() {
            // Once one has matched, reasons of the others are not shown, so they are not collected either.
            match (self.itself(id, "", matched.is_some()), matched) {
                (Err(failure), None) => causes.push(failure),
                (Err(_), Some(_)) => {}
                (Ok(()), None) => matched = Some(index),
                (Ok(()), Some(first)) => {
                    let (first, second) = (count(first as i64), count(index as i64));
                    self.fail(|| format!("'oneOf' failed, subschemas {first}, {second} matched"));
                    return;
                }
            }
        }
        if matched.is_none() {
            self.fail_with(causes, || "'oneOf' failed, none matched".to_owned());
        }
    }

    pub(super) fn check_unevaluated(&mut self) {
        if self.schema.draft < 2019 {
            return;
        }
        if let (Node::Map(map), Some(id)) =
            (self.node, self.schema.object.as_ref().and_then(|r| r.unevaluated))
        {
            for ((name, node), flag) in map.iter().zip(self.unevaluated.properties.take().unwrap_or_default())
            {
                if flag {
                    self.check_inside(id, node, InstancePath::Key(self.at, name));
                }
            }
        }
        if let (Node::List(list), Some(id)) =
            (self.node, self.schema.array.as_ref().and_then(|r| r.unevaluated))
        {
            for (index, flag) in self.unevaluated.items.take().unwrap_or_default().into_iter().enumerate() {
                if flag {
                    self.check_inside(id, &list[index], InstancePath::Index(self.at, index));
                }
            }
        }
    }
}
