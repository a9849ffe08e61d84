//! Values against rules.

use std::fmt::Write as _;

use pintle_tree::{Map, Node, Str};

use super::compile::Compiled;
use super::decimal::Decimal;
use super::document::{Doc, escape};
use super::message::{Failure, FailureKind, amount, count, displayed, quoted, quoted_list};
use super::rules::{
    Additional, ArrayRules, Dependency, Logic, NumberRules, ObjectRules, Schema, SchemaId, TextRules, Types,
};

/// The most schemas that may be entered one inside the other, and the most steps of one validation. Helm has no such
/// limits; ours bound what a hostile schema can cost.
const MAX_DEPTH: usize = 400;
const MAX_STEPS: usize = 20_000_000;

/// What does not fit, as lines, or `None` if all fits.
pub(super) fn failures(compiled: &Compiled, node: &Node) -> Option<String> {
    let mut validator = Validator { compiled, steps: 0 };
    let failure = validator.validate_alone(0, node, false).err()?;
    let mut lines = String::new();
    for cause in failure.into_group() {
        cause.write(0, &mut lines);
    }
    Some(lines)
}

struct Validator<'c> {
    compiled: &'c Compiled,
    steps: usize,
}

/// Where a value is.
#[derive(Clone, Copy)]
enum At<'p> {
    Top,
    Key(&'p At<'p>, &'p Str),
    Index(&'p At<'p>, usize),
}

impl At<'_> {
    fn pointer(&self) -> String {
        match self {
            At::Top => String::new(),
            At::Key(outer, key) => format!("{}/{}", outer.pointer(), escape(&key.to_str_lossy())),
            At::Index(outer, index) => format!("{}/{index}", outer.pointer()),
        }
    }
}

/// The schemas that were entered on the way here.
struct Scope<'p> {
    schema: SchemaId,
    /// The keyword of the reference that led here, if one did.
    reference: &'static str,
    /// Counts values: scopes of one value have the same number.
    value: usize,
    depth: usize,
    parent: Option<&'p Scope<'p>>,
}

impl Scope<'_> {
    /// The scope that validates the same value with the same schema already.
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
    fn keywords(&self, compiled: &Compiled) -> String {
        let Some(parent) = self.parent else { return String::new() };
        let before = parent.keywords(compiled);
        if !self.reference.is_empty() {
            return format!("{before}/{}", self.reference);
        }
        let here = compiled.location(self.schema);
        let step = here.get(compiled.location(parent.schema).len()..).unwrap_or_default();
        format!("{before}{step}")
    }
}

/// Which properties or items no rule has looked at. `None` stands for none of them.
#[derive(Default)]
struct Unevaluated {
    properties: Option<Vec<bool>>,
    items: Option<Vec<bool>>,
}

impl Unevaluated {
    fn of(node: &Node, schema: &Schema, wanted: bool) -> Self {
        let mut unevaluated = Unevaluated::default();
        match node {
            Node::Map(map) => {
                let rules = schema.object.as_deref();
                let complete = rules.is_some_and(|rules| rules.additional.is_some());
                if !complete && (wanted || rules.is_some_and(|rules| rules.unevaluated.is_some())) {
                    unevaluated.properties = Some(vec![true; map.len()]);
                }
            }
            Node::List(list) => {
                let rules = schema.array.as_deref();
                let complete = rules.is_some_and(|rules| rules.rest.is_some());
                let first = rules.map_or(0, |rules| rules.first.len());
                let wanted = wanted || rules.is_some_and(|rules| rules.unevaluated.is_some());
                if !complete && wanted && first < list.len() {
                    unevaluated.items = Some((0..list.len()).map(|index| index >= first).collect());
                }
            }
            _ => {}
        }
        unevaluated
    }

    fn is_empty(&self) -> bool {
        let none = |flags: &Option<Vec<bool>>| flags.as_ref().is_none_or(|flags| !flags.contains(&true));
        none(&self.properties) && none(&self.items)
    }

    fn merge(&mut self, other: &Unevaluated) {
        let both = |mine: &mut Option<Vec<bool>>, other: &Option<Vec<bool>>| match (mine.as_mut(), other) {
            (Some(mine), Some(other)) => mine.iter_mut().zip(other).for_each(|(mine, other)| *mine &= other),
            _ => *mine = None,
        };
        both(&mut self.properties, &other.properties);
        both(&mut self.items, &other.items);
    }
}

type Outcome = Result<Unevaluated, Failure>;

impl<'c> Validator<'c> {
    /// Validates a value that is not part of another one.
    fn validate_alone(&mut self, id: SchemaId, node: &Node, brief: bool) -> Outcome {
        let unevaluated = Unevaluated::of(node, &self.compiled.schemas[id], false);
        let scope = Scope { schema: id, reference: "", value: 0, depth: 0, parent: None };
        self.enter(node, &At::Top, &scope, unevaluated, brief)
    }

    fn enter(
        &mut self,
        node: &Node,
        at: &At<'_>,
        scope: &Scope<'_>,
        unevaluated: Unevaluated,
        brief: bool,
    ) -> Outcome {
        let compiled = self.compiled;
        let schema = &compiled.schemas[scope.schema];
        let mut step =
            Step { validator: self, schema, node, at, scope, unevaluated, brief, failures: Vec::new() };
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

/// One value against one schema.
struct Step<'v, 'c, 'p> {
    validator: &'v mut Validator<'c>,
    schema: &'c Schema,
    node: &'p Node,
    at: &'p At<'p>,
    scope: &'p Scope<'p>,
    unevaluated: Unevaluated,
    /// Whether only the outcome counts, not the reasons.
    brief: bool,
    failures: Vec<Failure>,
}

impl<'c> Step<'_, 'c, '_> {
    /// Applies all rules. An early error ends the step; others are gathered.
    fn run(&mut self) -> Result<(), Failure> {
        match self.schema.boolean {
            Some(true) => return Ok(()),
            Some(false) => return Err(self.failure(|| "false schema".to_owned())),
            None => {}
        }
        self.validator.steps += 1;
        if self.scope.depth > MAX_DEPTH || self.validator.steps > MAX_STEPS {
            return Err(self.failure(|| "the schema is too involved to be checked".to_owned()));
        }
        if let Some(other) = self.scope.cycle() {
            let compiled = self.validator.compiled;
            return Err(self.failure(|| {
                let url = pintle_tree::quote::quote(compiled.location(self.scope.schema).as_bytes());
                let [one, two] = [self.scope, other].map(|scope| scope.keywords(compiled));
                format!("both {one} and {two} resolve to {url} causing reference cycle")
            }));
        }
        self.check_value()?;
        let references = self.schema.references.as_deref();
        if let Some(id) = references.and_then(|references| references.reference) {
            let result = self.follow(id, "$ref");
            if self.schema.draft < 2019 {
                return result;
            }
            self.failures.extend(result.err());
        }
        match (self.node, self.schema) {
            (Node::Map(map), Schema { object: Some(rules), .. }) => self.check_object(map, rules),
            (Node::List(list), Schema { array: Some(rules), .. }) => self.check_array(list, rules),
            (Node::Str(text), Schema { text: Some(rules), .. }) => self.check_text(text, rules),
            (Node::Int(_) | Node::Float(_), Schema { number: Some(rules), .. }) => self.check_number(rules),
            _ => {}
        }
        if self.failures.is_empty() || !self.brief {
            if self.schema.draft >= 2019 {
                self.follow_dynamically();
            }
            if let Some(logic) = self.schema.logic.as_deref() {
                self.check_logic(logic);
            }
            self.check_unevaluated();
        }
        Ok(())
    }

    fn check_value(&mut self) -> Result<(), Failure> {
        let types = self.schema.types;
        let found = Types::of(self.node);
        if !types.is_empty() && !types.contains(found) {
            let integer = types.contains(Types::INTEGER)
                && Decimal::of(self.node).is_some_and(|number| number.is_integer());
            if !integer {
                return Err(self.failure(|| {
                    format!("got {}, want {}", found.names().join(""), types.names().join(" or "))
                }));
            }
        }
        let Some(rules) = self.schema.value.as_deref() else { return Ok(()) };
        if let Some(constant) = &rules.constant
            && !equal(self.node, constant)
        {
            return Err(self.failure(|| match constant {
                Doc::List(_) | Doc::Map(_) => "'const' failed".to_owned(),
                _ => format!("value must be {}", displayed(constant)),
            }));
        }
        if let Some(choices) = &rules.choices
            && !choices.iter().any(|choice| same_type(self.node, choice) && equal(self.node, choice))
        {
            return Err(self.failure(|| choice_message(choices)));
        }
        if let (Some(format), Node::Str(text)) = (rules.format, self.node)
            && let Err(reason) = (format.check)(&text.to_str_lossy())
        {
            let message = || format!("{} is not valid {}: {reason}", quoted(text.as_bytes()), format.name);
            return Err(self.failure(message));
        }
        Ok(())
    }

    fn check_object(&mut self, map: &Map<Node>, rules: &'c ObjectRules) {
        let length = map.len() as i64;
        self.check_bounds("Properties", length, rules.minimum, rules.maximum);
        self.check_required(map, &rules.required, |missing| match missing {
            [one] => format!("missing property {}", quoted(one.as_bytes())),
            _ => format!("missing properties {}", quoted_list(missing)),
        });
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

    fn check_properties(&mut self, map: &Map<Node>, rules: &'c ObjectRules) {
        let mut refused: Vec<&Str> = Vec::new();
        for (index, (name, node)) in map.iter().enumerate() {
            if self.brief && !self.failures.is_empty() {
                return;
            }
            let mut evaluated = false;
            if let Some(&id) = rules.properties.get(name) {
                evaluated = true;
                self.check_inside(id, node, At::Key(self.at, name));
            }
            for (pattern, id) in &rules.patterns {
                if pattern.is_match(name.as_bytes()) {
                    evaluated = true;
                    self.check_inside(*id, node, At::Key(self.at, name));
                }
            }
            if !evaluated && let Some(additional) = rules.additional {
                evaluated = true;
                match additional {
                    Additional::Allowed(true) => {}
                    Additional::Allowed(false) => refused.push(name),
                    Additional::Schema(id) => self.check_inside(id, node, At::Key(self.at, name)),
                }
            }
            if evaluated && let Some(flags) = &mut self.unevaluated.properties {
                flags[index] = false;
            }
        }
        if !refused.is_empty() {
            self.fail(|| format!("additional properties {} not allowed", quoted_list(&refused)));
        }
    }

    /// A name of a property is validated as a string that is nowhere.
    fn check_name(&mut self, id: SchemaId, name: &Str) {
        if let Err(failure) = self.validator.validate_alone(id, &Node::Str(name.clone()), self.brief) {
            let message = format!("invalid propertyName {}", quoted(name.as_bytes()));
            let causes = failure.into_group();
            self.failures.push(Failure { message, causes, ..Failure::default() });
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

    fn check_bounds(&mut self, what: &str, found: i64, minimum: Option<i64>, maximum: Option<i64>) {
        if let Some(minimum) = minimum.filter(|&minimum| found < minimum) {
            self.fail(|| format!("min{what}: got {}, want {}", count(found), count(minimum)));
        }
        if let Some(maximum) = maximum.filter(|&maximum| found > maximum) {
            self.fail(|| format!("max{what}: got {}, want {}", count(found), count(maximum)));
        }
    }

    fn check_array(&mut self, list: &[Node], rules: &'c ArrayRules) {
        self.check_bounds("Items", list.len() as i64, rules.minimum, rules.maximum);
        if rules.unique
            && let Some((one, two)) = duplicates(list)
        {
            self.fail(|| format!("items at {} and {} are equal", count(one as i64), count(two as i64)));
        }
        for (index, (id, node)) in rules.first.iter().zip(list).enumerate() {
            self.check_inside(*id, node, At::Index(self.at, index));
        }
        let rest = &list[rules.first.len().min(list.len())..];
        match rules.rest {
            Some(Additional::Allowed(false)) if !rest.is_empty() => {
                self.fail(|| format!("last {} additionalItem(s) not allowed", count(rest.len() as i64)));
            }
            Some(Additional::Schema(id)) => {
                // Helm's library counts these from zero again, and so the messages do.
                for (index, node) in rest.iter().enumerate() {
                    self.check_inside(id, node, At::Index(self.at, index));
                }
            }
            _ => {}
        }
        if let Some(id) = rules.contains {
            self.check_contained(list, id, rules);
        }
    }

    fn check_contained(&mut self, list: &[Node], id: SchemaId, rules: &ArrayRules) {
        let mut causes = Vec::new();
        let mut matched: Vec<usize> = Vec::new();
        for (index, node) in list.iter().enumerate() {
            match self.inside(id, node, &At::Index(self.at, index)) {
                Err(failure) => causes.push(failure),
                Ok(_) => {
                    matched.push(index);
                    if self.schema.draft >= 2020
                        && let Some(flags) = &mut self.unevaluated.items
                    {
                        flags[index] = false;
                    }
                }
            }
        }
        let places = || matched.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let found = matched.len() as i64;
        match rules.minimum_contained {
            Some(wanted) if found < wanted => self.fail_with(causes, || {
                let wanted = count(wanted);
                if matched.is_empty() {
                    return format!("min {wanted} items required to match contains schema, but none matched");
                }
                let (found, places) = (count(found), places());
                format!("min {wanted} items required to match contains schema, but matched {found} items at {places}")
            }),
            None if matched.is_empty() => self.fail_with(causes, || "no items match contains schema".to_owned()),
            _ => {}
        }
        if let Some(wanted) = rules.maximum_contained.filter(|&wanted| found > wanted) {
            self.fail(|| {
                let (wanted, found, places) = (count(wanted), count(found), places());
                format!("max {wanted} items required to match contains schema, but matched {found} items at {places}")
            });
        }
    }

    fn check_text(&mut self, text: &Str, rules: &TextRules) {
        if rules.minimum.is_some() || rules.maximum.is_some() {
            let length = text.to_str_lossy().chars().count() as i64;
            self.check_bounds("Length", length, rules.minimum, rules.maximum);
        }
        if let Some(pattern) = rules.pattern.as_ref().filter(|pattern| !pattern.is_match(text.as_bytes())) {
            self.fail(|| {
                format!("{} does not match pattern {}", quoted(text.as_bytes()), quoted(pattern.source()))
            });
        }
    }

    fn check_number(&mut self, rules: &NumberRules) {
        let Some(number) = Decimal::of(self.node) else { return };
        let mut check = |name: &str, limit: &Option<Decimal>, fits: fn(&Decimal, &Decimal) -> bool| {
            if let Some(limit) = limit.as_ref().filter(|limit| !fits(&number, limit)) {
                self.fail(|| {
                    format!("{name}: got {}, want {}", amount(number.to_f64()), amount(limit.to_f64()))
                });
            }
        };
        check("minimum", &rules.minimum, |number, limit| number >= limit);
        check("maximum", &rules.maximum, |number, limit| number <= limit);
        check("exclusiveMinimum", &rules.above, |number, limit| number > limit);
        check("exclusiveMaximum", &rules.below, |number, limit| number < limit);
        check("multipleOf", &rules.unit, Decimal::is_multiple_of);
    }

    fn check_logic(&mut self, logic: &'c Logic) {
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

    fn check_unevaluated(&mut self) {
        if self.schema.draft < 2019 {
            return;
        }
        if let (Node::Map(map), Some(id)) =
            (self.node, self.schema.object.as_ref().and_then(|r| r.unevaluated))
        {
            for ((name, node), flag) in map.iter().zip(self.unevaluated.properties.take().unwrap_or_default())
            {
                if flag {
                    self.check_inside(id, node, At::Key(self.at, name));
                }
            }
        }
        if let (Node::List(list), Some(id)) =
            (self.node, self.schema.array.as_ref().and_then(|r| r.unevaluated))
        {
            for (index, flag) in self.unevaluated.items.take().unwrap_or_default().into_iter().enumerate() {
                if flag {
                    self.check_inside(id, &list[index], At::Index(self.at, index));
                }
            }
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
        let schema = &self.validator.compiled.schemas[id];
        let unevaluated = Unevaluated::of(self.node, schema, !self.unevaluated.is_empty());
        let rest = self.validator.enter(self.node, self.at, &scope, unevaluated, self.brief || brief)?;
        self.unevaluated.merge(&rest);
        Ok(())
    }

    fn check_self(&mut self, id: SchemaId) {
        let result = self.itself(id, "", false);
        self.failures.extend(result.err());
    }

    /// Validates a part of the value.
    fn inside(&mut self, id: SchemaId, node: &Node, at: &At<'_>) -> Outcome {
        let scope = Scope {
            schema: id,
            reference: "",
            value: self.scope.value + 1,
            depth: self.scope.depth + 1,
            parent: Some(self.scope),
        };
        let unevaluated = Unevaluated::of(node, &self.validator.compiled.schemas[id], false);
        self.validator.enter(node, at, &scope, unevaluated, self.brief)
    }

    fn check_inside(&mut self, id: SchemaId, node: &Node, at: At<'_>) {
        let result = self.inside(id, node, &at);
        self.failures.extend(result.err());
    }

    fn follow(&mut self, id: SchemaId, keyword: &'static str) -> Result<(), Failure> {
        self.itself(id, keyword, false).map_err(|failure| {
            let mut reference = self.failure(|| "validation failed".to_owned());
            reference.kind = FailureKind::Reference;
            reference.causes = failure.into_group();
            reference
        })
    }

    fn follow_dynamically(&mut self) {
        let Some(references) = self.schema.references.as_deref() else { return };
        let compiled = self.validator.compiled;
        let of = |id: SchemaId| compiled.schemas[id].references.as_deref();
        if let Some(mut id) = references.recursive {
            if of(id).is_some_and(|target| target.recursive_anchor) {
                let mut scope = Some(self.scope);
                while let Some(here) = scope {
                    if of(compiled.schemas[here.schema].resource).is_some_and(|outer| outer.recursive_anchor)
                    {
                        id = here.schema;
                    }
                    scope = here.parent;
                }
            }
            let result = self.follow(id, "$recursiveRef");
            self.failures.extend(result.err());
        }
        if let Some((mut id, anchor)) = references.dynamic.as_ref().map(|(id, anchor)| (*id, anchor)) {
            let named = |anchor: &&String| {
                of(id)
                    .and_then(|target| target.dynamic_anchor.as_ref())
                    .is_some_and(|own| *own == anchor.as_str())
            };
            if let Some(anchor) = anchor.as_ref().filter(named) {
                let mut scope = Some(self.scope);
                while let Some(here) = scope {
                    let anchors =
                        of(compiled.schemas[here.schema].resource).map(|outer| &outer.dynamic_anchors);
                    let found = anchors.and_then(|anchors| anchors.iter().find(|(name, _)| name == anchor));
                    id = found.map_or(id, |(_, found)| *found);
                    scope = here.parent;
                }
            }
            let result = self.follow(id, "$dynamicRef");
            self.failures.extend(result.err());
        }
    }

    /// A failure here. Its words are only made if someone will read them.
    fn failure(&self, message: impl FnOnce() -> String) -> Failure {
        if self.brief {
            return Failure::default();
        }
        Failure { at: self.at.pointer(), message: message(), ..Failure::default() }
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

fn choice_message(choices: &[Doc]) -> String {
    if choices.iter().any(|choice| matches!(choice, Doc::List(_) | Doc::Map(_))) {
        return "'enum' failed".to_owned();
    }
    let mut message =
        String::from(if choices.len() == 1 { "value must be " } else { "value must be one of " });
    for (index, choice) in choices.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(message, "{comma}{}", displayed(choice)).expect("writing to a String cannot fail");
    }
    message
}

fn same_type(node: &Node, doc: &Doc) -> bool {
    matches!(
        (node, doc),
        (Node::Nil, Doc::Nil)
            | (Node::Bool(_), Doc::Bool(_))
            | (Node::Int(_) | Node::Float(_), Doc::Number(_))
            | (Node::Str(_), Doc::Text(_))
            | (Node::List(_), Doc::List(_))
            | (Node::Map(_), Doc::Map(_))
    )
}

/// Whether a value is what a schema says. A number also equals a string that spells it, as in Helm.
fn equal(node: &Node, doc: &Doc) -> bool {
    match (node, doc) {
        (Node::Nil, Doc::Nil) => true,
        (Node::Bool(a), Doc::Bool(b)) => a == b,
        (Node::Str(a), Doc::Text(b)) => a == b,
        (Node::Int(_) | Node::Float(_), Doc::Number(text) | Doc::Text(text)) => {
            let wanted = text.as_str().and_then(Decimal::parse);
            wanted.is_some() && Decimal::of(node) == wanted
        }
        (Node::List(a), Doc::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Node::Map(a), Doc::Map(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|((key, a), (other, b))| key == other && equal(a, b))
        }
        _ => false,
    }
}

/// The first two equal items of a list. Integers and floats of the same value are equal.
fn duplicates(list: &[Node]) -> Option<(usize, usize)> {
    (1..list.len()).find_map(|two| (0..two).find(|&one| same(&list[two], &list[one])).map(|one| (one, two)))
}

fn same(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::Int(_) | Node::Float(_), Node::Int(_) | Node::Float(_)) => {
            let number = Decimal::of(a);
            number.is_some() && number == Decimal::of(b)
        }
        (Node::Int(_) | Node::Float(_), Node::Str(text)) => {
            let spelled = text.as_str().and_then(Decimal::parse);
            spelled.is_some() && Decimal::of(a) == spelled
        }
        (Node::List(a), Node::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Node::Map(a), Node::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (a, b) => a == b,
    }
}
