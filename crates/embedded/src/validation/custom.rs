//! Validation of custom resources against their OpenAPI schema, with the server's messages. CEL rules
//! (`x-kubernetes-validations`) are kept and not evaluated.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use base64::Engine as _;
use pintle_regex::{Error as RegexError, Regex};
use pintle_time::{Duration, GoTime, RFC3339_NANO, Zone};
use pintle_tree::{Map, Node, Str, with_stack};

use crate::go_format::go_value;
use crate::schema::{Limits, ListType, Schema, Shape, Type};
use crate::status::StatusCause;

/// The field of errors without a field, as the server prints it.
const NO_FIELD: &str = "<nil>";

/// Validates a custom resource. With `old`, values that have not changed are not validated (ratcheting), so that an
/// object stays writable when its schema becomes stricter.
pub(super) fn validate(schema: Schema<'_>, object: &Node, old: Option<&Node>) -> Vec<StatusCause> {
    let mut checker = SchemaValidator { causes: Vec::new(), budget: Rc::default() };
    checker.fields(schema, object, old, "");
    let mut twice = Vec::new();
    find_duplicates(schema, object, old, "", &mut twice);
    twice.into_iter().for_each(|cause| checker.push(cause));
    let mut causes = checker.causes;
    if checker.budget.borrow().is_exhausted() {
        causes.push(StatusCause::invalid(NO_FIELD, &"".into(), "validation takes too many steps"));
    }
    causes
}

/// What is left of the limits on one validation: definition and object may come from a hostile chart.
struct Budget {
    /// Steps of about a tenth of a microsecond.
    steps: u64,
    /// Bytes of messages; more than fits on any screen is not shown.
    messages: usize,
    /// The patterns that were compiled, once each.
    patterns: BTreeMap<Str, Option<Rc<Regex>>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { steps: 20_000_000, messages: 1 << 20, patterns: BTreeMap::new() }
    }
}

impl Budget {
    /// Consumes steps and returns whether enough were left; if not, none are left.
    fn spend(&mut self, steps: u64) -> bool {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }

    fn is_exhausted(&self) -> bool {
        self.steps == 0
    }

    /// The compiled pattern; `None` for one that does not compile, which the server ignores.
    fn pattern(&mut self, text: &Str) -> Option<Rc<Regex>> {
        if let Some(known) = self.patterns.get(text) {
            return known.clone();
        }
        let compiled = Regex::compile(&**text);
        self.spend(compiled.as_ref().map_or_else(RegexError::compile_cost, Regex::compile_cost));
        let compiled = compiled.ok().map(Rc::new);
        self.patterns.insert(text.clone(), compiled.clone());
        compiled
    }
}

struct SchemaValidator {
    causes: Vec<StatusCause>,
    budget: Rc<RefCell<Budget>>,
}

impl SchemaValidator {
    fn push(&mut self, cause: StatusCause) {
        if self.has_room() {
            let mut budget = self.budget.borrow_mut();
            budget.messages = budget.messages.saturating_sub(cause.message.len() + cause.field.len());
            self.causes.push(cause);
        }
    }

    /// Whether one more message is kept. The first always is: without any, the value would be valid.
    fn has_room(&self) -> bool {
        self.causes.is_empty() || self.budget.borrow().messages > 0
    }

    fn add(&mut self, reason: &'static str, field: &str, message: String) {
        self.push(StatusCause { reason, message, field: field.to_owned() });
    }

    fn invalid(&mut self, field: &str, value: &Node, detail: &str) {
        self.push(StatusCause::invalid(field, value, &format!("{field} in body {detail}")));
    }

    fn without_field(&mut self, detail: String) {
        self.push(StatusCause::invalid(NO_FIELD, &"".into(), &detail));
    }

    fn spend(&self, steps: u64) -> bool {
        self.budget.borrow_mut().spend(steps)
    }

    fn wrong_type(&mut self, field: &str, shown: &str, wanted: &str) {
        let message =
            format!("Invalid value: {shown:?}: {field} in body must be of type {wanted}: {shown:?}");
        self.add("FieldValueTypeInvalid", field, message);
    }

    fn value(&mut self, schema: Schema<'_>, value: &Node, old: Option<&Node>, field: &str) {
        // Ratcheting works value by value: an unchanged subtree is skipped with all that is below it.
        if old == Some(value) || (value.is_nil() && schema.is_nullable()) {
            return;
        }
        let shape = schema.shape();
        // The cost grows with the length of the field path, and `enum` values are compared one by one.
        if !self.spend(1 + (field.len() / 16 + shape.one_of_values.len()) as u64) {
            return;
        }
        if !self.is_of_type(shape, value, field) {
            return;
        }
        if let Some(limits) = &shape.limits {
            self.alternatives(schema, limits, value, field);
            self.limits(limits, value, field);
        }
        self.format(shape, value, field);
        let is_other = !shape.one_of_values.is_empty() && !shape.one_of_values.contains(value);
        if is_other && self.has_room() {
            let words: Vec<String> = shape.one_of_values.iter().map(go_value).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.push(StatusCause::not_supported(field, value, &words));
        }
        with_stack(|| self.below(schema, value, old, field));
    }

    fn below(&mut self, schema: Schema<'_>, value: &Node, old: Option<&Node>, field: &str) {
        match value {
            Node::Map(_) => self.fields(schema, value, old, field),
            Node::List(list) => {
                let Some(items) = schema.items() else { return };
                let before = CorrelatedList::new(schema, old);
                for (at, item) in list.iter().enumerate() {
                    self.value(items, item, before.find(schema, item, at), &format!("{field}[{at}]"));
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, schema: Schema<'_>, value: &Node, old: Option<&Node>, field: &str) {
        let Some(map) = value.as_map() else { return };
        let child_path =
            |name: &str| if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") };
        let shape = schema.shape();
        let embedded: &[&str] = if shape.embedded { &["apiVersion", "kind"] } else { &[] };
        let required = shape.required.iter().map(|name| name.to_string());
        for name in required.chain(embedded.iter().map(|name| (*name).to_owned())) {
            if map.get(&name).is_none() {
                self.push(StatusCause::required(child_path(&name), ""));
            }
        }
        for (name, value) in map.iter() {
            // `metadata` is validated for all kinds alike.
            if field.is_empty() && matches!(name.as_str(), Some("metadata" | "apiVersion" | "kind")) {
                continue;
            }
            if let Some(child) = schema.child(name) {
                let old = old.and_then(|old| old.get(name));
                self.value(child, value, old, &child_path(&name.to_str_lossy()));
            }
        }
    }

    fn is_of_type(&mut self, shape: &Shape, value: &Node, field: &str) -> bool {
        let (wanted, fits) = match (shape.kind, value) {
            (Type::Any | Type::Quantity, _) => return true,
            (Type::Boolean, value) => ("boolean", matches!(value, Node::Bool(_))),
            (Type::Integer, value) => ("integer", is_whole(value)),
            (Type::Number, value) => ("number", matches!(value, Node::Int(_) | Node::Float(_))),
            (Type::String, value) => ("string", matches!(value, Node::Str(_))),
            (Type::IntOrString, value) => {
                ("integer,string", is_whole(value) || matches!(value, Node::Str(_)))
            }
            (Type::List, value) => ("array", matches!(value, Node::List(_))),
            (Type::Object, value) => ("object", matches!(value, Node::Map(_))),
        };
        if !fits {
            self.wrong_type(field, type_name(value), wanted);
            if shape.kind == Type::Integer && matches!(value, Node::Float(_)) {
                self.without_field(format!(
                    "Checked value must be of type integer (default format) in {field}"
                ));
            }
        }
        fits
    }

    fn limits(&mut self, limits: &Limits, value: &Node, field: &str) {
        match value {
            Node::Int(number) => self.number(limits, value, *number as f64, field),
            Node::Float(number) => self.number(limits, value, *number, field),
            Node::Str(text) => self.text(limits, value, text, field),
            Node::List(list) => self.count(list.len(), limits.min_items, limits.max_items, "items", field),
            Node::Map(map) => {
                self.count(map.len(), limits.min_properties, limits.max_properties, "properties", field);
            }
            _ => {}
        }
    }

    fn number(&mut self, limits: &Limits, value: &Node, number: f64, field: &str) {
        let spell = |bound: f64| go_value(&Node::Float(bound));
        if let Some(factor) = limits.multiple_of.filter(|factor| *factor != 0.0)
            && (number / factor).fract() != 0.0
        {
            self.invalid(field, value, &format!("should be a multiple of {}", spell(factor)));
        }
        if let Some(most) = limits.maximum {
            let beyond = if limits.exclusive_maximum { number >= most } else { number > most };
            let word = if limits.exclusive_maximum { "less than" } else { "less than or equal to" };
            if beyond {
                self.invalid(field, value, &format!("should be {word} {}", spell(most)));
            }
        }
        if let Some(least) = limits.minimum {
            let beyond = if limits.exclusive_minimum { number <= least } else { number < least };
            let word = if limits.exclusive_minimum { "greater than" } else { "greater than or equal to" };
            if beyond {
                self.invalid(field, value, &format!("should be {word} {}", spell(least)));
            }
        }
    }

    fn text(&mut self, limits: &Limits, value: &Node, text: &Str, field: &str) {
        let length = text.to_str_lossy().chars().count() as u64;
        if let Some(most) = limits.max_length.filter(|most| length > *most) {
            // The server counts characters and says bytes.
            self.add("FieldValueTooLong", field, format!("Too long: may not be more than {most} bytes"));
        }
        if let Some(least) = limits.min_length.filter(|least| length < *least) {
            self.invalid(field, value, &format!("should be at least {least} chars long"));
        }
        let Some(pattern) = &limits.pattern else { return };
        let compiled = self.budget.borrow_mut().pattern(pattern);
        if compiled.is_some_and(|regex| self.spend(regex.cost(text.len() as u64)) && !regex.is_match(text)) {
            self.invalid(field, value, &format!("should match '{pattern}'"));
        }
    }

    fn count(&mut self, count: usize, least: Option<u64>, most: Option<u64>, unit: &str, field: &str) {
        let count = count as u64;
        if let Some(least) = least.filter(|least| count < *least) {
            let number = Node::Int(i64::try_from(count).unwrap_or(i64::MAX));
            self.invalid(field, &number, &format!("should have at least {least} {unit}"));
        }
        if let Some(most) = most.filter(|most| count > *most) {
            self.add(
                "FieldValueTooMany",
                field,
                format!("Too many: {count}: must have at most {most} items"),
            );
        }
    }

    fn alternatives(&mut self, schema: Schema<'_>, limits: &Limits, value: &Node, field: &str) {
        let budget = Rc::clone(&self.budget);
        let errors = |shape: &Shape| -> Vec<StatusCause> {
            // One budget for all alternatives: nested `anyOf` would otherwise multiply the work that a definition may
            // cause.
            let mut checker = SchemaValidator { causes: Vec::new(), budget: Rc::clone(&budget) };
            with_stack(|| checker.value(schema.with_shape(shape), value, None, field));
            checker.causes
        };
        // Each alternative once, however deep they are nested.
        let each = |shapes: &[Shape]| shapes.iter().map(&errors).collect::<Vec<_>>();
        let any = each(&limits.any_of);
        if !any.is_empty() && any.iter().all(|faults| !faults.is_empty()) {
            self.without_field(format!("\"{field}\" must validate at least one schema (anyOf)"));
            self.causes.extend(any.into_iter().next().unwrap_or_default());
        }
        let one = each(&limits.one_of);
        if !one.is_empty() {
            let valid = one.iter().filter(|faults| faults.is_empty()).count();
            let start = format!("\"{field}\" must validate one and only one schema (oneOf).");
            if valid == 0 {
                self.without_field(format!("{start} Found none valid"));
                self.causes.extend(one.into_iter().next().unwrap_or_default());
            } else if valid > 1 {
                self.without_field(format!("{start} Found {valid} valid alternatives"));
            }
        }
        let all: Vec<StatusCause> = limits.all_of.iter().flat_map(&errors).collect();
        if !all.is_empty() {
            self.causes.extend(all);
            self.without_field(format!("\"{field}\" must validate all the schemas (allOf)"));
        }
        if limits.not.as_ref().is_some_and(|shape| errors(shape).is_empty()) {
            self.without_field(format!("\"{field}\" must not validate the schema (not)"));
        }
    }

    fn format(&mut self, shape: &Shape, value: &Node, field: &str) {
        let Some(format) = shape.format.as_ref().and_then(Str::as_str) else { return };
        match value {
            Node::Str(text) if !is_format(format, &text.to_str_lossy()) => {
                self.wrong_type(field, &text.to_str_lossy(), format);
            }
            Node::Int(number) if format == "int32" && i32::try_from(*number).is_err() => {
                self.without_field(format!(
                    "Checked value must be of type integer with format int32 in {field}"
                ));
            }
            _ => {}
        }
    }
}

/// The elements of the old list, to find the one that corresponds to a new element.
struct CorrelatedList<'n> {
    list: &'n [Node],
    keys: BTreeMap<String, usize>,
}

impl<'n> CorrelatedList<'n> {
    fn new(schema: Schema<'_>, old: Option<&'n Node>) -> CorrelatedList<'n> {
        let list = old.and_then(Node::as_list).unwrap_or_default();
        let keys =
            list.iter().enumerate().filter_map(|(at, item)| Some((key_of(schema, item)?, at))).collect();
        CorrelatedList { list, keys }
    }

    /// Elements without a key correspond by index.
    fn find(&self, schema: Schema<'_>, item: &Node, at: usize) -> Option<&'n Node> {
        match key_of(schema, item) {
            Some(key) => self.keys.get(&key).and_then(|at| self.list.get(*at)),
            None => self.list.get(at),
        }
    }
}

/// The key of an element, as the server shows it in errors.
fn key_of(schema: Schema<'_>, item: &Node) -> Option<String> {
    let shown = |node: &Node| {
        pintle_tree::json::write_raw(node).map(|text| String::from_utf8_lossy(&text).into_owned()).ok()
    };
    match schema.list() {
        ListType::Set => shown(item),
        ListType::Map(keys) => {
            let map = item.as_map()?;
            let own = keys.iter().filter_map(|key| Some((key.clone(), map.get(key)?.clone())));
            shown(&Node::Map(own.collect::<Map<Node>>()))
        }
        ListType::Atomic => None,
    }
}

/// Reports duplicates in lists of type `set` and `map`.
fn find_duplicates(
    schema: Schema<'_>,
    value: &Node,
    old: Option<&Node>,
    field: &str,
    found: &mut Vec<StatusCause>,
) {
    if old == Some(value) {
        return;
    }
    match value {
        Node::List(list) => {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            let items = schema.items();
            for (at, item) in list.iter().enumerate() {
                let child_path = format!("{field}[{at}]");
                if let Some(key) = key_of(schema, item)
                    && !seen.insert(key.clone())
                {
                    let message = format!("Duplicate value: {key}");
                    found.push(StatusCause {
                        reason: "FieldValueDuplicate",
                        message,
                        field: child_path.clone(),
                    });
                }
                if let Some(items) = items {
                    with_stack(|| find_duplicates(items, item, None, &child_path, found));
                }
            }
        }
        Node::Map(map) => {
            for (name, value) in map.iter().filter(|(name, _)| !field.is_empty() || *name != "metadata") {
                let Some(child) = schema.child(name) else { continue };
                let child_path = if field.is_empty() { name.to_string() } else { format!("{field}.{name}") };
                with_stack(|| {
                    find_duplicates(child, value, old.and_then(|old| old.get(name)), &child_path, found)
                });
            }
        }
        _ => {}
    }
}

fn is_whole(value: &Node) -> bool {
    matches!(value, Node::Int(_)) || matches!(value, Node::Float(number) if number.fract() == 0.0)
}

fn type_name(value: &Node) -> &'static str {
    match value {
        Node::Nil => "null",
        Node::Bool(_) => "boolean",
        Node::Int(_) => "integer",
        Node::Float(_) => "number",
        Node::Str(_) => "string",
        Node::List(_) => "array",
        Node::Map(_) => "object",
    }
}

/// Whether a string has a format. Unknown formats are not validated, as JSON Schema demands.
fn is_format(format: &str, text: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match format {
        "date-time" | "datetime" => GoTime::parse(RFC3339_NANO, text, &Zone::utc()).is_ok(),
        "date" => GoTime::parse("2006-01-02", text, &Zone::utc()).is_ok(),
        "duration" => Duration::parse(text).is_ok(),
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "cidr" => text.split_once('/').is_some_and(|(address, bits)| {
            address.parse::<std::net::IpAddr>().is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= 128)
        }),
        "byte" => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        "uuid" => {
            let plain: String = text.chars().filter(|letter| *letter != '-').collect();
            plain.len() == 32 && is_hex(&plain)
        }
        "email" => text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace) && !host.contains('@')
        }),
        "uri" => {
            let scheme = text.split_once(':').map(|(scheme, _)| scheme);
            text.starts_with('/')
                || scheme.is_some_and(|scheme| {
                    scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
                        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
                })
        }
        "hostname" => {
            let is_part = |part: &str| {
                !part.is_empty()
                    && part.len() < 64
                    && !part.starts_with('-')
                    && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            text.len() < 256 && text.split('.').all(is_part)
        }
        "mac" => {
            let parts: Vec<&str> = text.split([':', '-']).collect();
            parts.len() == 6 && parts.iter().all(|part| part.len() == 2 && is_hex(part))
        }
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && is_hex(digits)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use pintle_tree::json;

    use super::*;
    use crate::schema::ApiCatalog;

    fn errors(schema: &str, value: &str) -> Vec<String> {
        let read = |text: &str| json::read_exact(text.as_bytes()).unwrap();
        let shape =
            Shape::parse(&read(&format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#))).unwrap();
        let schema = Schema::new(&shape, ApiCatalog::newest().definitions());
        let object = read(&format!(r#"{{"a":{value}}}"#));
        validate(schema, &object, None).iter().map(StatusCause::to_message).collect()
    }

    #[test]
    fn every_rule_has_the_message_of_the_server() {
        let cases = [
            (
                r#"{"type":"integer","minimum":1}"#,
                "0",
                "a: Invalid value: 0: a in body should be greater than or equal to 1",
            ),
            (
                r#"{"type":"string"}"#,
                "5",
                r#"a: Invalid value: "integer": a in body must be of type string: "integer""#,
            ),
            (
                r#"{"type":"string","pattern":"^[a-z]+$"}"#,
                "\"A\"",
                r#"a: Invalid value: "A": a in body should match '^[a-z]+$'"#,
            ),
            (
                r#"{"type":"string","enum":["x"]}"#,
                "\"y\"",
                r#"a: Unsupported value: "y": supported values: "x""#,
            ),
            (
                r#"{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}"#,
                r#"["x","x"]"#,
                r#"a[1]: Duplicate value: "x""#,
            ),
            (
                r#"{"type":"object","not":{"required":["b"]},"properties":{"b":{"type":"string"}}}"#,
                r#"{"b":"x"}"#,
                r#"<nil>: Invalid value: "": "a" must not validate the schema (not)"#,
            ),
        ];
        for (schema, value, wanted) in cases {
            assert_eq!(errors(schema, value), [wanted]);
        }
    }

    #[test]
    fn hostile_definitions_and_objects_have_a_limit() {
        let too_many = |causes: &[String]| causes.iter().any(|text| text.contains("too many steps"));
        let size = |causes: &[String]| causes.iter().map(String::len).sum::<usize>();
        // Alternatives in alternatives, each of which fails.
        let nested =
            (0..60).fold(r#"{"minimum":1}"#.to_owned(), |inner, _| format!(r#"{{"anyOf":[{inner}]}}"#));
        let causes = errors(&nested.replacen('{', r#"{"type":"integer","#, 1), "0");
        assert_eq!(causes.len(), 61);
        // A long `enum`, and as many values that are not in it.
        let words: Vec<String> = (0..20_000).map(|word| format!("\"w{word}\"")).collect();
        let schema =
            format!(r#"{{"type":"array","items":{{"type":"string","enum":[{}]}}}}"#, words.join(","));
        let values = vec!["\"x\""; 20_000].join(",");
        let causes = errors(&schema, &format!("[{values}]"));
        assert!(too_many(&causes) && size(&causes) < 2 << 20, "{} bytes", size(&causes));
        // A pattern with many simultaneous matching states.
        let schema = r#"{"type":"string","pattern":"^(a|b)*a(a|b){500}c$"}"#;
        assert!(too_many(&errors(schema, &format!("\"{}\"", "ab".repeat(1 << 20)))));
        // Matching a pattern against many values stays within the limit: it is compiled once.
        let schema =
            r#"{"type":"array","items":{"type":"string","pattern":"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"}}"#;
        let values = vec!["\"abc-def\""; 5_000].join(",");
        assert!(errors(schema, &format!("[{values}]")).is_empty());
    }

    #[test]
    fn unchanged_values_are_not_validated_again() {
        let shape = Shape::parse(&json::read_exact(br#"{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"type":"string"}}}"#).unwrap()).unwrap();
        let schema = Schema::new(&shape, ApiCatalog::newest().definitions());
        let (old, new) =
            (json::read_exact(br#"{"a":0}"#).unwrap(), json::read_exact(br#"{"a":0,"b":"x"}"#).unwrap());
        assert!(validate(schema, &new, Some(&old)).is_empty());
        assert_eq!(validate(schema, &new, None).len(), 1);
    }
}
