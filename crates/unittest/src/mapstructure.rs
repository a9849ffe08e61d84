//! The parameters of assertions, decoded as the library mapstructure does: names in any case, types as they are.

use pintle_tree::number::format_value;
use pintle_tree::{Map, Node, Str};

/// Decodes the fields of one structure, and collects what is wrong.
pub(crate) struct Fields<'n> {
    map: Option<&'n Map<Node>>,
    /// What stands before the names of fields in errors.
    prefix: String,
    errors: Vec<String>,
}

impl<'n> Fields<'n> {
    /// Takes the parameters; null stands for no parameters.
    ///
    /// # Errors
    /// When they are not a map.
    pub(crate) fn new(node: &'n Node) -> Result<Self, String> {
        match node {
            Node::Nil => Ok(Fields { map: None, prefix: String::new(), errors: Vec::new() }),
            Node::Map(map) => Ok(Fields { map: Some(map), prefix: String::new(), errors: Vec::new() }),
            other => Err(no_map("", other)),
        }
    }

    fn get(&self, name: &str) -> Option<&'n Node> {
        let map = self.map?;
        let any_case =
            |(key, _): &(&'n Str, &'n Node)| key.as_str().is_some_and(|key| key.eq_ignore_ascii_case(name));
        map.get(name).or_else(|| map.iter().find(any_case).map(|(_, node)| node))
    }

    pub(crate) fn any(&mut self, name: &str) -> Node {
        self.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn str(&mut self, name: &str) -> String {
        match self.get(name) {
            None | Some(Node::Nil) => String::new(),
            Some(Node::Str(text)) => text.to_string(),
            Some(other) => self.wrong(name, "string", other),
        }
    }

    pub(crate) fn bool(&mut self, name: &str) -> bool {
        match self.get(name) {
            None | Some(Node::Nil) => false,
            Some(Node::Bool(value)) => *value,
            Some(other) => self.wrong(name, "bool", other),
        }
    }

    pub(crate) fn int(&mut self, name: &str) -> Option<i64> {
        match self.get(name) {
            None | Some(Node::Nil) => None,
            Some(Node::Int(value)) => Some(*value),
            Some(Node::Float(value)) => Some(*value as i64),
            Some(other) => self.wrong(name, "int", other),
        }
    }

    pub(crate) fn strings(&mut self, name: &str) -> Vec<String> {
        match self.get(name) {
            None | Some(Node::Nil) => Vec::new(),
            Some(Node::List(items)) => {
                let mut strings = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    match item {
                        Node::Str(text) => strings.push(text.to_string()),
                        Node::Nil => strings.push(String::new()),
                        other => strings.push(self.wrong(&format!("{name}[{index}]"), "string", other)),
                    }
                }
                strings
            }
            Some(other) => {
                let kind = kind(other);
                self.errors
                    .push(format!("'{}': source data must be an array or slice, got {kind}", title(name)));
                Vec::new()
            }
        }
    }

    /// The field `pattern` of a structure in a field.
    pub(crate) fn pattern(&mut self, name: &str) -> Option<String> {
        match self.get(name)? {
            Node::Nil => None,
            Node::Map(inner) => {
                let mut fields = Fields { map: Some(inner), prefix: title(name) + ".", errors: Vec::new() };
                let pattern = fields.str("pattern");
                self.errors.append(&mut fields.errors);
                Some(pattern)
            }
            other => {
                self.errors.push(no_map(&title(name), other));
                None
            }
        }
    }

    fn wrong<T: Default>(&mut self, name: &str, expected: &str, found: &Node) -> T {
        let (name, kind) = (title(name), kind(found));
        let value = go_value(found);
        self.errors.push(format!(
            "'{}{name}' expected type '{expected}', got unconvertible type '{kind}', value: '{value}'",
            self.prefix
        ));
        T::default()
    }

    /// Ends decoding.
    ///
    /// # Errors
    /// All fields that have the wrong type.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        if self.errors.is_empty() {
            return Ok(());
        }
        self.errors.sort();
        let lines: String = self.errors.iter().map(|error| format!("\n* {error}")).collect();
        Err(format!("{} error(s) decoding:\n{lines}", self.errors.len()))
    }
}

/// The error of a structure that is no map. Go names kinds here, not types.
fn no_map(name: &str, found: &Node) -> String {
    let kind = if let Node::List(_) = found { "slice" } else { kind(found) };
    format!("'{name}' expected a map, got '{kind}'")
}

/// The name of a field in the Go structure.
fn title(name: &str) -> String {
    if name == "apiVersion" {
        return "APIVersion".to_owned();
    }
    let mut characters = name.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + characters.as_str())
}

/// The value as Go's `%v` prints it.
fn go_value(node: &Node) -> String {
    let joined = |parts: Vec<String>| parts.join(" ");
    match node {
        Node::Nil => "<nil>".to_owned(),
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => value.to_string(),
        Node::Float(value) => format_value(*value),
        Node::Str(text) => text.to_string(),
        Node::List(items) => format!("[{}]", joined(items.iter().map(go_value).collect())),
        Node::Map(map) => {
            let entry = |(key, node): (&Str, &Node)| format!("{key}:{}", go_value(node));
            format!("map[{}]", joined(map.iter().map(entry).collect()))
        }
    }
}

/// Go's name of the type.
pub(crate) fn kind(node: &Node) -> &'static str {
    match node {
        Node::Nil => "",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int",
        Node::Float(_) => "float64",
        Node::Str(_) => "string",
        Node::List(_) => "[]interface {}",
        Node::Map(_) => "map[string]interface {}",
    }
}
