//! `.Files`: the files of the chart's folder.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pintle_gotmpl::{CallError, CallResult, Encoded, Kind, List, ListType, Method, Object, Type, Value};
use pintle_render::Glob;
use pintle_tree::{Map, Node, Str};

/// The files below the folder of a chart.
pub trait ChartFiles {
    /// The paths of all files, each starting with the folder of the chart.
    fn paths(&self) -> Vec<String>;
    /// The content of a file; nothing if it cannot be read.
    fn read(&self, path: &str) -> Vec<u8>;
    /// A path below the folder of the chart, as [`ChartFiles::paths`] has it.
    fn join(&self, below: &str) -> String;
}

/// A chart without files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl ChartFiles for NoFiles {
    fn paths(&self) -> Vec<String> {
        Vec::new()
    }

    fn read(&self, _: &str) -> Vec<u8> {
        Vec::new()
    }

    fn join(&self, below: &str) -> String {
        below.to_owned()
    }
}

/// The files that a template sees. The list is made when it is first needed.
#[derive(Clone)]
pub(crate) struct Files {
    source: Rc<dyn ChartFiles>,
    /// The files that a pattern selects; all without one.
    selected: Option<Rc<[String]>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Files").field("selected", &self.selected).finish_non_exhaustive()
    }
}

impl Files {
    pub(crate) fn new(source: Rc<dyn ChartFiles>) -> Self {
        Files { source, selected: None }
    }

    fn paths(&self) -> Vec<String> {
        let mut paths = match &self.selected {
            Some(selected) => selected.to_vec(),
            None => self.source.paths(),
        };
        paths.sort();
        paths
    }

    fn content(&self, path: &str) -> Vec<u8> {
        if self.paths().iter().any(|known| known == path) { self.source.read(path) } else { Vec::new() }
    }

    fn glob(&self, pattern: &str) -> Files {
        let glob = Glob::compile(&self.source.join(pattern));
        let matches = |path: &String| glob.as_ref().is_some_and(|glob| glob.matches(path));
        Files {
            source: Rc::clone(&self.source),
            selected: Some(self.paths().into_iter().filter(matches).collect()),
        }
    }

    /// A YAML map from base names to contents.
    fn as_yaml(&self, convert: impl Fn(Vec<u8>) -> Str) -> Str {
        let paths = self.paths();
        if paths.is_empty() {
            return Str::EMPTY;
        }
        let mut entries = Map::new();
        for path in paths {
            let base = path.rsplit('/').next().unwrap_or_default();
            entries.insert(base.into(), Node::Str(convert(self.source.read(&path))));
        }
        let text = pintle_yaml::write_version_3(&Node::Map(entries));
        Str::new(text.strip_suffix(b"\n").unwrap_or(&text))
    }

    fn as_map(&self) -> Value {
        let entry = |path: String| {
            let file = FileEntry { path: path.clone(), source: Rc::clone(&self.source) };
            (Str::from(path), Value::object(file))
        };
        Value::map(self.paths().into_iter().map(entry).collect())
    }
}

const METHODS: &[Method] = &[
    Method { name: "AsConfig", params: &[], variadic: None, result: Type::Str },
    Method { name: "AsMap", params: &[], variadic: None, result: Type::Map },
    Method { name: "AsSecrets", params: &[], variadic: None, result: Type::Str },
    Method { name: "Get", params: &[Type::Str], variadic: None, result: Type::Str },
    Method { name: "GetBytes", params: &[Type::Str], variadic: None, result: Type::Bytes },
    Method { name: "Glob", params: &[Type::Str], variadic: None, result: Type::Object("document.files") },
    Method { name: "Lines", params: &[Type::Str], variadic: None, result: Type::Strings },
];

impl Object for Files {
    fn type_name(&self) -> &'static str {
        "document.files"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn call(&self, method: &str, arguments: &[Value]) -> CallResult {
        let name = arguments.first().and_then(Value::as_text).map(Str::to_str_lossy).unwrap_or_default();
        Ok(match method {
            "Get" => Value::Str(self.content(&self.source.join(&name)).into()),
            "GetBytes" => Value::Bytes(self.content(&self.source.join(&name)).into()),
            "Glob" => Value::object(self.glob(&name)),
            "AsConfig" => Value::Str(self.as_yaml(Str::from)),
            "AsSecrets" => Value::Str(self.as_yaml(|data| BASE64.encode(data).into())),
            "AsMap" => self.as_map(),
            // Unlike the others, this one takes the whole path, and does not drop the last line break.
            "Lines" if self.paths().iter().any(|path| *path == name) => {
                let data = self.source.read(&name);
                Value::strings(data.split(|&byte| byte == b'\n'))
            }
            "Lines" => Value::List(List::of(ListType::Str, Vec::new())),
            _ => return Err(CallError::new(format!("no method {method}"))),
        })
    }

    fn print(&self) -> String {
        "{}".to_owned()
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(Vec::new())
    }
}

/// A file of `.Files.AsMap`.
struct FileEntry {
    path: String,
    source: Rc<dyn ChartFiles>,
}

impl fmt::Debug for FileEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileEntry").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Object for FileEntry {
    fn type_name(&self) -> &'static str {
        "*document.fileEntry"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        (name == "Path").then(|| self.path.as_str().into())
    }

    fn methods(&self) -> &'static [Method] {
        &[Method { name: "GetData", params: &[], variadic: None, result: Type::Bytes }]
    }

    fn call(&self, _: &str, _: &[Value]) -> CallResult {
        Ok(Value::Bytes(self.source.read(&self.path).into()))
    }

    fn print(&self) -> String {
        format!("&{{{} []}}", self.path)
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(vec![("Path", self.path.as_str().into())])
    }
}
