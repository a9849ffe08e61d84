//! The data of templates: structs with the fields of helm-docs.

use std::any::Any;
use std::rc::Rc;

use pintle_gotmpl::{Encoded, List, ListType, Object, Value};

use crate::files::{ChartFiles, Files};
use crate::info::{ChartInfo, Dependency, Maintainer};
use crate::model::Sections;
use crate::rows::Row;
use crate::template::Options;

/// The name of the section of rows without one.
const OTHER: &str = "Other Values";

/// A struct of Go. A field that it does not have is an error, unlike a missing key of a map.
#[derive(Debug)]
struct Record {
    type_name: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Object for Record {
    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn print(&self) -> String {
        let fields = self
            .fields
            .iter()
            .map(|(_, value)| pintle_gotmpl::print::to_str(value).to_str_lossy().into_owned());
        format!("{{{}}}", fields.collect::<Vec<_>>().join(" "))
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(self.fields.clone())
    }
}

fn record(type_name: &'static str, fields: Vec<(&'static str, Value)>) -> Value {
    Value::object(Record { type_name, fields })
}

/// The context of templates.
pub(crate) fn context(
    info: &ChartInfo,
    rows: &[Row],
    sections: &Sections,
    options: &Options,
    files: Rc<dyn ChartFiles>,
) -> Value {
    let metadata = metadata(info);
    let requirements = vec![("Dependencies", optional(info.dependencies.as_deref(), dependency))];
    let mut chart = metadata.clone();
    chart.extend(requirements.clone());
    chart.push(("ChartMeta", record("helm.ChartMeta", metadata)));
    chart.push(("ChartRequirements", record("helm.ChartRequirements", requirements)));
    chart.push(("ChartDirectory", info.directory.as_str().into()));
    let mut fields = chart.clone();
    fields.push(("ChartDocumentationInfo", record("helm.ChartDocumentationInfo", chart)));
    fields.push(("HelmDocsVersion", options.helm_docs_version.as_str().into()));
    fields.push(("Values", list(rows.iter().map(row))));
    fields.push(("Sections", sections_value(sections)));
    fields.push(("Files", Value::object(Files::new(files))));
    fields.push(("SkipVersionFooter", Value::Bool(options.skip_version_footer)));
    record("document.chartTemplateData", fields)
}

/// A slice; nil if it is empty, as Go decodes a missing field.
fn list(items: impl Iterator<Item = Value>) -> Value {
    let items: Vec<Value> = items.collect();
    Value::List(if items.is_empty() { List::nil(ListType::Any) } else { List::new(items) })
}

/// A slice; nil only if the file does not mention it.
fn optional<T>(items: Option<&[T]>, value: impl Fn(&T) -> Value) -> Value {
    Value::List(match items {
        Some(items) => List::new(items.iter().map(value).collect::<Vec<_>>()),
        None => List::nil(ListType::Any),
    })
}

fn metadata(info: &ChartInfo) -> Vec<(&'static str, Value)> {
    let metadata = &info.metadata;
    vec![
        ("ApiVersion", metadata.api_version.as_str().into()),
        ("AppVersion", metadata.app_version.as_str().into()),
        ("KubeVersion", metadata.kube_version.as_str().into()),
        ("Name", metadata.name.as_str().into()),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Description", metadata.description.as_str().into()),
        ("Version", metadata.version.as_str().into()),
        ("Home", metadata.home.as_str().into()),
        ("Type", metadata.kind.as_str().into()),
        ("Sources", optional(metadata.sources.as_deref(), |source| source.as_str().into())),
        ("Engine", metadata.engine.as_str().into()),
        ("Maintainers", optional(metadata.maintainers.as_deref(), maintainer)),
    ]
}

fn maintainer(maintainer: &Maintainer) -> Value {
    let fields = vec![
        ("Email", maintainer.email.as_str().into()),
        ("Name", maintainer.name.as_str().into()),
        ("Url", maintainer.url.as_str().into()),
    ];
    record("helm.ChartMetaMaintainer", fields)
}

fn dependency(dependency: &Dependency) -> Value {
    let fields = vec![
        ("Name", dependency.name.as_str().into()),
        ("Version", dependency.version.as_str().into()),
        ("Repository", dependency.repository.as_str().into()),
        ("Alias", dependency.alias.as_str().into()),
    ];
    record("helm.ChartRequirementsItem", fields)
}

fn sections_value(sections: &Sections) -> Value {
    let section = |name: &str, rows: &[Row]| {
        let fields = vec![("SectionName", name.into()), ("SectionItems", list(rows.iter().map(row)))];
        record("document.section", fields)
    };
    let named = sections.named.iter().map(|(name, rows)| section(name, rows));
    let fields = vec![("DefaultSection", section(OTHER, &sections.default)), ("Sections", list(named))];
    record("document.sections", fields)
}

fn row(row: &Row) -> Value {
    let number = |number: usize| Value::int(i64::try_from(number).unwrap_or(i64::MAX));
    let fields = vec![
        ("Key", row.key.as_str().into()),
        ("Type", row.value_type.as_str().into()),
        ("NotationType", row.notation_type.as_str().into()),
        ("AutoDefault", row.auto_default.as_str().into()),
        ("Default", row.default.as_str().into()),
        ("AutoDescription", row.auto_description.as_str().into()),
        ("Description", row.description.as_str().into()),
        ("Section", row.section.as_str().into()),
        ("Column", number(row.column)),
        ("LineNumber", number(row.line)),
        ("Dependency", row.dependency.as_str().into()),
        ("IsGlobal", Value::Bool(row.is_global)),
    ];
    record("document.valueRow", fields)
}
