//! Validates values against compiled rules.

mod array;
mod logic;
mod object;
mod reference;
mod scalar;
mod unevaluated;

use std::rc::Rc;

use pintle_tree::{Node, Str};

use super::budget::Budget;
use super::document::escape;
use super::message::{Failure, FailureKind, count};
use super::rules::{Schema, SchemaId};
use unevaluated::Unevaluated;

/// The maximum nesting of schemas entered. Helm has no such limit; here it bounds the recursion on the stack.
const MAX_DEPTH: usize = 400;

/// The cost of entering a schema.
const ENTER_COST: u64 = 25;

/// Compiled schemas. Validation starts with number 0.
pub(super) trait Schemas {
    fn schema(&self, id: SchemaId) -> Rc<Schema>;

    /// The URL of a schema.
    fn location(&self, id: SchemaId) -> String;
}

/// The violations as lines; `None` if the value is valid.
pub(super) fn failures(schemas: &dyn Schemas, node: &Node, budget: &Budget) -> Option<String> {
    let failure = failure(schemas, 0, node, budget)?;
    let mut lines = String::new();
    for cause in failure.into_group() {
        cause.write(0, &mut lines);
    }
    Some(lines)
}

/// Why a value violates one of the schemas; `None` if it is valid.
pub(super) fn failure(
    schemas: &dyn Schemas,
    schema: SchemaId,
    node: &Node,
    budget: &Budget,
) -> Option<Failure> {
    Validator { schemas, budget }.validate_alone(schema, node, false).err()
}

struct Validator<'c> {
    schemas: &'c dyn Schemas,
    budget: &'c Budget,
}

/// The location of a value in the instance.
#[derive(Clone, Copy)]
enum InstancePath<'p> {
    Top,
    Key(&'p InstancePath<'p>, &'p Str),
    Index(&'p InstancePath<'p>, usize),
}

impl InstancePath<'_> {
    fn pointer(&self) -> String {
        match self {
            InstancePath::Top => String::new(),
            InstancePath::Key(outer, key) => format!("{}/{}", outer.pointer(), escape(&key.to_str_lossy())),
            InstancePath::Index(outer, index) => format!("{}/{index}", outer.pointer()),
        }
    }
}

/// The schemas entered so far.
struct Scope<'p> {
    schema: SchemaId,
    /// The keyword of the reference that led here, if any.
    reference: &'static str,
    /// A number per value: scopes of one value have the same.
    value: usize,
    depth: usize,
    parent: Option<&'p Scope<'p>>,
}

impl Scope<'_> {
    /// The scope that already validates the same value with the same schema.
    fn cycle(&self) -> Option<&Self> {
        let mut scope = self.parent;
        while let Some(candidate) = scope.filter(|candidate| candidate.value == self.value) {
            if candidate.schema == self.schema {
                return Some(candidate);
            }
            scope = candidate.parent;
        }
        None
    }

    /// The keywords that lead here.
    fn keywords(&self, schemas: &dyn Schemas) -> String {
        let Some(parent) = self.parent else { return String::new() };
        let before = parent.keywords(schemas);
        if !self.reference.is_empty() {
            return format!("{before}/{}", self.reference);
        }
        let here = schemas.location(self.schema);
        let step = here.get(schemas.location(parent.schema).len()..).unwrap_or_default();
        format!("{before}{step}")
    }
}

type Outcome = Result<Unevaluated, Failure>;

/// The message when the work budget is used up.
const TOO_COMPLEX: &str = "the schema is too complex to be checked";

impl Validator<'_> {
    /// Spends work. Returns whether enough was left; once it was not, nothing is left.
    fn spend(&mut self, work: u64) -> bool {
        self.budget.spend_work(work)
    }

    /// Validates a value that is not part of another one.
    fn validate_alone(&mut self, id: SchemaId, node: &Node, brief: bool) -> Outcome {
        let scope = Scope { schema: id, reference: "", value: 0, depth: 0, parent: None };
        self.enter(node, &InstancePath::Top, &scope, false, brief)
    }

    /// Validates a value with the schema of `scope`. `wanted` is whether the caller needs the unevaluated parts.
    fn enter(
        &mut self,
        node: &Node,
        at: &InstancePath<'_>,
        scope: &Scope<'_>,
        wanted: bool,
        brief: bool,
    ) -> Outcome {
        let schema = &*self.schemas.schema(scope.schema);
        let unevaluated = Unevaluated::new(node, schema, wanted);
        if schema.boolean == Some(true) {
            return Ok(unevaluated);
        }
        let mut step =
            Validation { validator: self, schema, node, at, scope, unevaluated, brief, failures: Vec::new() };
        step.run()?;
        match step.failures.len() {
            0 => Ok(step.unevaluated),
            1 => Err(step.failures.remove(0)),
            _ => {
                let mut group = step.failure(|| "validation failed".to_owned());
                group.kind = FailureKind::Group;
                group.causes = step.failures;
                Err(group)
            }
        }
    }
}

/// One value validated against one schema.
struct Validation<'v, 'c, 'p> {
    validator: &'v mut Validator<'c>,
    schema: &'p Schema,
    node: &'p Node,
    at: &'p InstancePath<'p>,
    scope: &'p Scope<'p>,
    unevaluated: Unevaluated,
    /// Whether only the outcome matters, not the reasons.
    brief: bool,
    failures: Vec<Failure>,
}

impl Validation<'_, '_, '_> {
    /// Applies all rules. An early error ends the validation; others are collected.
    fn run(&mut self) -> Result<(), Failure> {
        let schema = self.schema;
        if schema.boolean == Some(false) {
            return Err(self.failure(|| "false schema".to_owned()));
        }
        if self.scope.depth > MAX_DEPTH || !self.validator.spend(ENTER_COST) {
            return Err(self.failure(|| TOO_COMPLEX.to_owned()));
        }
        self.spend(schema.size());
        if let Some(other) = self.scope.cycle() {
            return Err(self.failure(|| self.cycle_message(other)));
        }
        // A wrong type or constant ends the validation, as in the library: the other rules would only repeat
        // the failure.
        self.check_value()?;
        if let Some(id) = schema.references.as_ref().and_then(|references| references.reference) {
            let result = self.follow(id, "$ref");
            // Up to draft 7 a reference stands alone: its siblings are ignored.
            if schema.draft < 2019 {
                return result;
            }
            self.failures.extend(result.err());
        }
        match (self.node, schema) {
            (Node::Map(map), Schema { object: Some(rules), .. }) => self.check_object(map, rules),
            (Node::List(list), Schema { array: Some(rules), .. }) => self.check_array(list, rules),
            (Node::Str(text), Schema { text: Some(rules), .. }) => self.check_text(text, rules),
            (Node::Int(_) | Node::Float(_), Schema { number: Some(rules), .. }) => self.check_number(rules),
            _ => {}
        }
        if self.failures.is_empty() || !self.brief {
            if let (2019.., Some(references)) = (schema.draft, &schema.references) {
                self.follow_dynamically(references);
            }
            if let Some(logic) = &schema.logic {
                self.check_logic(logic);
            }
            self.check_unevaluated();
        }
        Ok(())
    }

    fn cycle_message(&self, other: &Scope<'_>) -> String {
        let schemas = self.validator.schemas;
        let url = pintle_tree::quote::quote(schemas.location(self.scope.schema).as_bytes());
        let (one, two) = (self.scope.keywords(schemas), other.keywords(schemas));
        format!("both {one} and {two} resolve to {url} causing reference cycle")
    }

    fn check_bounds(&mut self, what: &str, found: i64, minimum: Option<i64>, maximum: Option<i64>) {
        if let Some(minimum) = minimum.filter(|&minimum| found < minimum) {
            self.fail(|| format!("min{what}: got {}, want {}", count(found), count(minimum)));
        }
        if let Some(maximum) = maximum.filter(|&maximum| found > maximum) {
            self.fail(|| format!("max{what}: got {}, want {}", count(found), count(maximum)));
        }
    }

    /// Validates the same value with another schema.
    fn itself(&mut self, id: SchemaId, reference: &'static str, brief: bool) -> Result<(), Failure> {
        let scope = Scope {
            schema: id,
            reference,
            value: self.scope.value,
            depth: self.scope.depth + 1,
            parent: Some(self.scope),
        };
        let wanted = !self.unevaluated.is_empty();
        let rest = self.validator.enter(self.node, self.at, &scope, wanted, self.brief || brief)?;
        self.unevaluated.merge(&rest);
        Ok(())
    }

    fn check_self(&mut self, id: SchemaId) {
        let result = self.itself(id, "", false);
        self.failures.extend(result.err());
    }

    /// Validates a part of the value.
    fn inside(&mut self, id: SchemaId, node: &Node, at: &InstancePath<'_>) -> Outcome {
        let scope = Scope {
            schema: id,
            reference: "",
            // A new number: a cycle is only one as long as the value stays the same.
            value: self.scope.value + 1,
            depth: self.scope.depth + 1,
            parent: Some(self.scope),
        };
        self.validator.enter(node, at, &scope, false, self.brief)
    }

    fn check_inside(&mut self, id: SchemaId, node: &Node, at: InstancePath<'_>) {
        let result = self.inside(id, node, &at);
        self.failures.extend(result.err());
    }

    /// Spends work; reports a failure if the budget is exhausted, after which every further call fails as well.
    fn spend(&mut self, work: u64) -> bool {
        let enough = self.validator.spend(work);
        if !enough {
            self.fail(|| TOO_COMPLEX.to_owned());
        }
        enough
    }

    /// A failure here. The text is built only if it will be shown.
    fn failure(&self, message: impl FnOnce() -> String) -> Failure {
        if self.brief {
            return Failure::default();
        }
        let budget = self.validator.budget;
        if !budget.has_messages_left() {
            // The failure still counts; only its text is left out.
            return Failure { message: "…".to_owned(), ..Failure::default() };
        }
        let (at, message) = (self.at.pointer(), message());
        budget.spend_message(at.len() + message.len());
        Failure { at, message, ..Failure::default() }
    }

    fn fail(&mut self, message: impl FnOnce() -> String) {
        let failure = self.failure(message);
        self.failures.push(failure);
    }

    fn fail_with(&mut self, causes: Vec<Failure>, message: impl FnOnce() -> String) {
        let mut failure = self.failure(message);
        failure.causes = causes;
        self.failures.push(failure);
    }
}
