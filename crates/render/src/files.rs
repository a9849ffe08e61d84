//! `.Files`: the files of a chart that are not templates.

use std::any::Any;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pintle_chart::{Content, File};
use pintle_gotmpl::{CallError, CallResult, Encoded, Kind, List, ListType, Method, Object, Type, Value};
use pintle_tree::{Map, Node, Str};

use crate::glob::Glob;

/// The files of one chart, or those that match a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Files(Rc<Map<Content>>);

const METHODS: &[Method] = &[
    Method { name: "AsConfig", params: &[], variadic: None, result: Type::Str },
    Method { name: "AsSecrets", params: &[], variadic: None, result: Type::Str },
    Method { name: "Get", params: &[Type::Str], variadic: None, result: Type::Str },
    Method { name: "GetBytes", params: &[Type::Str], variadic: None, result: Type::Bytes },
    Method { name: "Glob", params: &[Type::Str], variadic: None, result: Type::Object("engine.files") },
    Method { name: "Lines", params: &[Type::Str], variadic: None, result: Type::Strings },
];

impl Files {
    /// Collects the files of a chart.
    pub(crate) fn new(files: &[File]) -> Self {
        Files(Rc::new(files.iter().map(|file| (file.name.as_str().into(), file.data.clone())).collect()))
    }

    fn get(&self, name: &[u8]) -> Str {
        self.0.get(name).map(Content::text).unwrap_or_default()
    }

    fn glob(&self, pattern: &[u8]) -> Files {
        // As in Helm, an invalid pattern matches all files.
        let glob = std::str::from_utf8(pattern).ok().and_then(Glob::compile);
        let wanted = |name: &Str| glob.as_ref().is_none_or(|glob| glob.matches(&name.to_str_lossy()));
        Files(Rc::new(
            self.0
                .iter()
                .filter(|(name, _)| wanted(name))
                .map(|(name, data)| (name.clone(), data.clone()))
                .collect(),
        ))
    }

    /// A YAML map from base name to the content as converted by `content`.
    fn as_yaml(&self, content: impl Fn(&Str) -> Str) -> Str {
        // Of files with the same base name the last path wins; in Helm it is a random one.
        let entries =
            self.0.iter().map(|(name, data)| (base_name(name), Node::Str(content(&data.text())))).collect();
        let mut text = pintle_yaml::write(&Node::Map(entries)).unwrap_or_default();
        // Helm's `toYAML` cuts the last line break.
        if text.last() == Some(&b'\n') {
            text.pop();
        }
        text.into()
    }

    fn lines(&self, name: &[u8]) -> Value {
        // A missing file and an empty one have no line; one with nothing but a line break has an empty line.
        let Some(data) = self.0.get(name).filter(|data| !data.is_empty()) else {
            return Value::List(List::of(ListType::Str, Vec::new()));
        };
        let text = data.strip_suffix(b"\n").unwrap_or(data);
        Value::strings(text.split(|&byte| byte == b'\n'))
    }
}

/// The last segment of a slash-separated path.
fn base_name(path: &Str) -> Str {
    let bytes = path.as_bytes();
    let start = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    Str::new(&bytes[start..])
}

impl Object for Files {
    fn type_name(&self) -> &'static str {
        "engine.files"
    }

    fn kind(&self) -> Kind {
        Kind::Map
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn call(&self, method: &str, arguments: &[Value]) -> CallResult {
        let name = arguments.first().and_then(Value::as_text).map_or(&b""[..], Str::as_bytes);
        Ok(match method {
            "Get" => Value::Str(self.get(name)),
            // Empty but not nil for a missing file, unlike `index .Files`.
            "GetBytes" => Value::Bytes(self.get(name)),
            "Glob" => Value::object(self.glob(name)),
            "AsConfig" => Value::Str(self.as_yaml(Str::clone)),
            "AsSecrets" => Value::Str(self.as_yaml(|data| BASE64.encode(data).into())),
            "Lines" => self.lines(name),
            _ => return Err(CallError::new(format!("no method {method}"))),
        })
    }

    fn cost(&self, method: Option<&str>, arguments: &[Value]) -> u64 {
        match method {
            // Every name is matched with every part of the pattern.
            Some("Glob") => {
                let parts = 1 + arguments.first().and_then(Value::as_text).map_or(0, Str::len) as u64 / 8;
                self.0.keys().map(|name| 1 + name.len() as u64 / 8 * parts).sum()
            }
            // Every content is read; the result is charged separately.
            Some("AsConfig" | "AsSecrets") => {
                self.0.iter().map(|(_, data)| 1 + data.size() as u64 / 64).sum()
            }
            Some(_) => 0,
            None => self.0.len() as u64 / 4,
        }
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.0.iter().map(|(name, data)| (Value::Str(name.clone()), Value::Bytes(data.text()))).collect()
    }

    /// A file that is not there is a nil `[]byte`, as every missing key of a Go map is the zero of its type.
    fn index(&self, key: &Str) -> Option<Value> {
        Some(self.0.get(key.as_bytes()).map_or_else(Value::nil_bytes, |data| Value::Bytes(data.text())))
    }

    fn is_true(&self) -> bool {
        !self.0.is_empty()
    }

    fn print(&self) -> String {
        let mut text = String::from("map[");
        for (index, (name, data)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            let bytes: Vec<String> = data.iter().map(u8::to_string).collect();
            text.push_str(&format!("{separator}{name}:[{}]", bytes.join(" ")));
        }
        text.push(']');
        text
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        let entries = self.0.iter().map(|(name, data)| (name.clone(), Value::Bytes(data.text()))).collect();
        Encoded::Value(Value::map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_has_no_lines() {
        let files = Files::new(&[
            File::new("empty", Vec::new()),
            File::new("break", b"\n".to_vec()),
            File::new("two", b"a\n\n".to_vec()),
        ]);
        let lines = |name: &str| match files.call("Lines", &[name.into()]).unwrap() {
            Value::List(list) => {
                list.items().iter().map(|line| line.as_text().unwrap().to_string()).collect()
            }
            other => vec![format!("{other:?}")],
        };
        assert_eq!(lines("empty"), Vec::<String>::new());
        assert_eq!(lines("none"), Vec::<String>::new());
        assert_eq!(lines("break"), [""]);
        assert_eq!(lines("two"), ["a", ""]);
    }
}
