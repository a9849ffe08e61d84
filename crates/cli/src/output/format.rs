//! Machine-readable output: JSON on one line, and YAML converted from that JSON, as Helm prints both.

use pintle_tree::{Node, Sink, Walk, json};

use crate::failure::Failure;
use crate::flag::names;
use crate::flag::parsed::Parsed;
use crate::ui::Ui;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A table or text for humans.
    Table,
    /// One line of JSON.
    Json,
    /// YAML with sorted keys.
    Yaml,
}

impl Format {
    /// The format of `--output`.
    pub(crate) fn from_flags(flags: &Parsed) -> Format {
        match flags.text(names::OUTPUT) {
            "json" => Format::Json,
            "yaml" => Format::Yaml,
            _ => Format::Table,
        }
    }

    /// Whether the output is machine-readable.
    pub(crate) fn is_data(self) -> bool {
        self != Format::Table
    }
}

/// Prints machine-readable data.
pub(crate) fn print_data(ui: &mut Ui, format: Format, data: &impl Walk) -> Result<(), Failure> {
    let text = json::write(data)
        .map_err(|error| Failure::run_time(format!("unable to write JSON output: {error}")))?;
    print_json(ui, format, text)
}

/// Prints data that is encoded as JSON already.
pub(crate) fn print_json(ui: &mut Ui, format: Format, mut text: Vec<u8>) -> Result<(), Failure> {
    if format == Format::Yaml {
        text = yaml_of(&text)?;
    } else {
        text.push(b'\n');
    }
    Ok(ui.out().write_all(&text)?)
}

/// Converts JSON to YAML.
pub(crate) fn yaml_of(text: &[u8]) -> Result<Vec<u8>, Failure> {
    let failed = |reason: String| Failure::run_time(format!("unable to write YAML output: {reason}"));
    let tree = json::read_exact(text).map_err(|error| failed(error.to_string()))?;
    pintle_yaml::write(&tree).map_err(|error| failed(error.to_string()))
}

/// Values as YAML; no values are printed as `null`.
pub(crate) fn yaml(values: &impl Walk) -> Result<Vec<u8>, Failure> {
    pintle_yaml::write(values)
        .map_err(|error| Failure::run_time(format!("unable to write YAML output: {error}")))
}

/// A struct whose fields keep their order in JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Vec<(&'static str, Field)>);

/// The value of a field.
#[derive(Clone, Debug)]
pub(crate) enum Field {
    /// A value.
    Data(Node),
    /// A nested struct.
    Record(Record),
    /// A list of structs.
    Records(Vec<Record>),
}

impl Record {
    /// Adds a field.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Node>) -> Record {
        self.0.push((name, Field::Data(value.into())));
        self
    }

    /// Adds a field if it has a value (Go's `omitempty`).
    pub(crate) fn with_option(self, name: &'static str, value: Option<impl Into<Node>>) -> Record {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Replaces a field by a list of structs.
    pub(crate) fn replacing(mut self, name: &'static str, records: Vec<Record>) -> Record {
        if let Some((_, field)) = self.0.iter_mut().find(|(other, _)| *other == name) {
            *field = Field::Records(records);
        }
        self
    }

    /// Adds a nested struct.
    pub(crate) fn with_record(mut self, name: &'static str, record: Record) -> Record {
        self.0.push((name, Field::Record(record)));
        self
    }

    /// Adds a list of structs unless it is empty.
    pub(crate) fn with_records(mut self, name: &'static str, records: Vec<Record>) -> Record {
        if !records.is_empty() {
            self.0.push((name, Field::Records(records)));
        }
        self
    }
}

impl Walk for Record {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.begin_fields(self.0.len())?;
        for (name, field) in &self.0 {
            sink.key(name.as_bytes())?;
            match field {
                Field::Data(node) => node.walk(sink)?,
                Field::Record(record) => record.walk(sink)?,
                Field::Records(records) => Records(records).walk(sink)?,
            }
        }
        sink.end_map()
    }
}

/// A list of structs.
pub(crate) struct Records<'a>(pub(crate) &'a [Record]);

impl Walk for Records<'_> {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.begin_list(self.0.len())?;
        for record in self.0 {
            record.walk(sink)?;
        }
        sink.end_list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_in_json_and_are_sorted_in_yaml() {
        let record =
            Record::default().with("name", "a<b").with("chart", 3_i64).with_option("gone", None::<i64>);
        let text = json::write(&record).unwrap();
        assert_eq!(text, br#"{"name":"a\u003cb","chart":3}"#);
        assert_eq!(yaml_of(&text).unwrap(), b"chart: 3\nname: a<b\n");
        assert_eq!(json::write(&Records(&[])).unwrap(), b"[]");
    }
}
