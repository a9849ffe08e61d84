//! Small Go templates that are not part of charts: names of releases, `version --template` and `get all --template`.

mod go;
mod release;

use std::any::Any;
use std::rc::Rc;

use pintle::diff::Summary;
use pintle::release::ReleaseVersion;
use pintle_gotmpl::{
    Args, CallResult, Encoded, Exec, Function, Functions, Limits, List, Object, Set, Type, Value,
};

use crate::commands::diff::TemplateEntry;

/// Renders a release name. All template functions are available, and there is no data.
///
/// # Errors
///
/// Go's error text.
pub(crate) fn name(template: &str) -> Result<String, String> {
    let mut functions = Functions::new();
    for function in pintle_sprig::functions() {
        functions.add(function);
    }
    let text = execute("name-template", template, functions, &Value::Nil)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Renders the template of `version --template`.
///
/// # Errors
///
/// Go's error text.
pub(crate) fn build(template: &str, fields: &'static [(&str, &str)]) -> Result<Vec<u8>, String> {
    execute("_", template, Functions::new(), &Value::Object(Rc::new(BuildInfo(fields))))
}

/// Renders the template of `get all --template`. `by_number` says that the version was selected by its number.
///
/// # Errors
///
/// Go's error text.
pub(crate) fn release(template: &str, version: &ReleaseVersion, by_number: bool) -> Result<Vec<u8>, String> {
    execute("_", template, Functions::new(), &release::data(version, by_number))
}

/// Renders the template of `diff --output template`. As in helm-diff, an error while it runs leaves what was written
/// before it.
///
/// # Errors
///
/// Go's text about a template that does not parse.
pub(crate) fn diff(name: &str, template: &str, entries: Vec<Rc<Summary>>) -> Result<Vec<u8>, String> {
    let mut functions = Functions::new();
    functions.add(Function::pure("last", &[Type::Int, Type::Any], None, Type::Bool, last));
    let mut set = Set::new(functions);
    set.parse(name, template).map_err(|error| error.to_string())?;
    let entries = entries.into_iter().map(|entry| Value::Object(Rc::new(TemplateEntry(entry))));
    let data = Value::List(List::new(entries.collect()));
    let mut out = Vec::new();
    // helm-diff ignores the error too.
    let _ = Exec::new(&set, Limits::default()).execute(name, &data, &mut out);
    Ok(out)
}

/// Renders an additional command of `ct`: `{{ .Path }}` is the directory of the chart.
///
/// # Errors
///
/// Go's error text.
pub(crate) fn chart_command(template: &str, path: &str, name: &str, version: &str) -> Result<String, String> {
    let yaml =
        Value::map([("Name".into(), name.into()), ("Version".into(), version.into())].into_iter().collect());
    let chart = Value::object(TestedChart { path: path.to_owned(), yaml });
    let text = execute("command", template, Functions::new(), &chart)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The chart of an additional command of chart-testing. An unknown field is an error.
#[derive(Debug)]
struct TestedChart {
    path: String,
    yaml: Value,
}

impl Object for TestedChart {
    fn type_name(&self) -> &'static str {
        "*chart.Chart"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Path" => Some(self.path.as_str().into()),
            "Yaml" => Some(self.yaml.clone()),
            _ => None,
        }
    }

    fn print(&self) -> String {
        self.path.clone()
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(vec![("Path", self.path.as_str().into()), ("Yaml", self.yaml.clone())])
    }
}

/// Whether an index is that of the last item.
fn last(arguments: Args<'_>) -> CallResult {
    let index = usize::try_from(arguments.int(0)).ok();
    match arguments.list(1) {
        Some(list) => Ok(Value::from(index.is_some_and(|index| index + 1 == list.items().len()))),
        None => Err("the second argument of last is not a list".into()),
    }
}

fn execute(name: &str, template: &str, functions: Functions, data: &Value) -> Result<Vec<u8>, String> {
    let mut set = Set::new(functions);
    set.parse(name, template).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    Exec::new(&set, Limits::default()).execute(name, data, &mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

/// Helm's `BuildInfo`.
#[derive(Debug)]
struct BuildInfo(&'static [(&'static str, &'static str)]);

impl Object for BuildInfo {
    fn type_name(&self) -> &'static str {
        "version.BuildInfo"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| Value::from(*value))
    }

    fn print(&self) -> String {
        let values: Vec<&str> = self.0.iter().map(|(_, value)| *value).collect();
        format!("{{{}}}", values.join(" "))
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(self.0.iter().map(|(name, value)| (*name, Value::from(*value))).collect())
    }
}
