//! JSONPath in the dialect of kubectl.
//!
//! A template ([`render`]) is text with expressions in braces: `{.image.repository}:{.image.tag}`,
//! `{range .list[*]}{.name} {end}`. A [`Query`] is a single expression.

mod evaluate;
mod parse;

use crate::{Map, Node};

/// Parses `template` and evaluates it on `root`. An expression that does not match the data gives an empty result: Helm
/// ignores the error of `Execute`.
///
/// # Errors
///
/// A template that does not parse.
pub fn render(template: &str, root: &Map<Node>) -> Result<Vec<u8>, String> {
    let parts = parse::parse(template)?;
    Ok(evaluate::evaluate(&parts, root).unwrap_or_default())
}

/// A single expression, such as `{.conditions[?(@.type=="Ready")].status}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Query(Vec<Step>);

impl Query {
    /// Parses the expression at the beginning of a text. Returns what follows its closing brace, too.
    ///
    /// # Errors
    ///
    /// kubectl's text about what is wrong.
    pub fn parse_prefix(text: &str) -> Result<(Query, &str), String> {
        let inside = text.strip_prefix('{').ok_or("no expression in braces")?;
        let (steps, rest) = parse::expression_in_braces(inside)?;
        match steps.first() {
            None => Err("an expression without a path".to_owned()),
            Some(Step::Word(word)) => Err(format!("`{word}` is no path: it begins with a dot")),
            Some(_) => Ok((Query(steps), rest)),
        }
    }

    /// Returns the nodes that the expression finds; none if it does not fit the data.
    pub fn find<'a>(&'a self, root: &'a Map<Node>) -> Vec<&'a Node> {
        evaluate::find(&self.0, root)
    }
}

/// A node of a template.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// Text between expressions.
    Text(String),
    /// An expression.
    Expression(Vec<Step>),
    /// A `range`: the nodes are repeated for every result of the expression.
    Range(Vec<Step>, Vec<Part>),
}

/// A step of an expression, applied to the results of the step before it.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A quoted text.
    Text(String),
    /// The value of a key.
    Field(String),
    /// A slice of a list.
    Slice(Slice),
    /// The list entries that match a filter.
    Filter(Vec<Step>, String, Vec<Step>),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// All entries.
    Wildcard,
    /// Recursive descent: the value and everything below it.
    Recursive,
    /// A union: the results of several expressions.
    Union(Vec<Vec<Step>>),
    /// `range` or `end`.
    Word(String),
}

/// `[from:to:step]`; kubectl parses `[3]` as `[3:4]` with a derived end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    step: Option<i64>,
    derived: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    const VALUES: &str = r#"{
        "image": {"repository": "nginx", "tag": "", "ports": [80, 443]},
        "users": [{"name": "ann", "age": 41}, {"name": "bob", "age": 30, "admin": true}],
        "a.b": "dotted"
    }"#;

    fn values() -> Map<Node> {
        json::read(VALUES.as_bytes()).unwrap().as_map().unwrap().clone()
    }

    fn show(template: &str) -> String {
        String::from_utf8(render(template, &values()).unwrap()).unwrap()
    }

    #[test]
    fn expressions_find_what_kubectl_finds() {
        for (template, want) in [
            ("{.image.repository}", "nginx"),
            ("{$.image.repository}:{.image.tag}!", "nginx:!"),
            ("{.image}", "{\"ports\":[80,443],\"repository\":\"nginx\",\"tag\":\"\"}"),
            ("{.image.ports[0]} {.image.ports[-1]}", "80 443"),
            ("{.image.ports[*]}", "80 443"),
            ("{.image['repository','tag']}", "nginx "),
            ("{.a\\.b}", "dotted"),
            ("{['a\\.b']}", "dotted"),
            ("{.users[*].name}", "ann bob"),
            ("{..name}", "ann bob"),
            ("{.users[?(@.name==\"bob\")].age}", "30"),
            ("{.users[?(@.admin)].name}", "bob"),
            ("{.users[?(@.age>40.5)].name}", "ann"),
            ("{range .users[*]}{.name}={.age}{\"\\n\"}{end}.", "ann=41\nbob=30\n."),
            ("{.users[0:2:2].name}", "ann"),
            ("plain", "plain"),
            ("{.nothing}", ""),
            ("{.image.ports[7]}", ""),
            ("{end}", ""),
            ("{range .users[*]}{.name}", ""),
            ("{range .users[*]}x", "xxx"),
            ("{range .users[*]}{range .nothing[*]}a{end}{\"b\"}", ""),
            ("{range .users[*]}{range $.image.ports[*]}{.}{end}{\"b\"}", ""),
            ("{range .users[*]}{range .name}a{end}{\"b\"}", "ababb"),
        ] {
            assert_eq!(show(template), want, "{template}");
        }
    }

    #[test]
    fn results_that_multiply_have_a_limit() {
        assert_eq!(show("{.image['tag','repository']['x','y']}"), "");
        assert_eq!(show("{['image','image']['repository','repository']}"), "nginx nginx nginx nginx");
        let root = json::read(br#"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}}"#).unwrap();
        let root = root.as_map().unwrap();
        let unions = format!("{{{}}}", format!("['{}a']", "a','".repeat(20)).repeat(8));
        let (query, _) = Query::parse_prefix(&unions).unwrap();
        assert!(query.find(root).is_empty(), "21 to the power of 8");
        let (query, _) = Query::parse_prefix("{..a..a..a..a}").unwrap();
        assert!(!query.find(root).is_empty());
        let deep = format!("{}1{}", r#"{"a":"#.repeat(9_000), "}".repeat(9_000));
        let root = json::read(deep.as_bytes()).unwrap();
        let (query, _) = Query::parse_prefix("{..a}").unwrap();
        assert_eq!(query.find(root.as_map().unwrap()).len(), 9_000);
    }

    #[test]
    fn templates_that_do_not_parse_say_why() {
        let root = Map::new();
        for (template, want) in [
            ("{", "unclosed action"),
            ("{.a", "unclosed action"),
            ("{.a[", "unterminated array"),
            ("{.a[x]}", "invalid array index x"),
            ("{\"x}", "unterminated quoted string"),
            ("{.a[?(@.b", "unterminated filter"),
            ("{....a}", "invalid multiple recursive descent"),
            ("{#}", "unrecognized character in action: U+0023 '#'"),
        ] {
            assert_eq!(render(template, &root).unwrap_err(), want, "{template}");
        }
    }

    #[test]
    fn a_query_ends_at_its_brace_and_finds_nodes() {
        let (query, rest) = Query::parse_prefix("{.users[?(@.name==\"bob\")].age} >= 30").unwrap();
        assert_eq!((query.find(&values()).len(), rest), (1, " >= 30"));
        let (query, _) = Query::parse_prefix("{.users[*].name}").unwrap();
        assert_eq!(query.find(&values()), [&Node::from("ann"), &Node::from("bob")]);
        let (query, _) = Query::parse_prefix("{.nothing.here}").unwrap();
        assert!(query.find(&values()).is_empty());
        for text in [".a == 1", "{} == 1", "{a} == 1", "{.a == 1"] {
            assert!(Query::parse_prefix(text).is_err(), "{text}");
        }
    }
}
