//! Data for programs: JSON in one line, and YAML made of that JSON, as Helm prints both.

use pintle_tree::{Node, Sink, Walk, json};

use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::ui::Ui;

/// The shape of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One line of JSON.
    Json,
    /// YAML with sorted keys.
    Yaml,
}

impl Format {
    /// What `--output` asks for.
    pub(crate) fn of(flags: &Parsed) -> Format {
        match flags.text("output") {
            "json" => Format::Json,
            "yaml" => Format::Yaml,
            _ => Format::Table,
        }
    }

    /// Whether a program is going to read the output.
    pub(crate) fn is_data(self) -> bool {
        self != Format::Table
    }
}

/// Prints data that is not a table.
pub(crate) fn print_data(ui: &mut Ui, format: Format, data: &impl Walk) -> Result<(), Failure> {
    let text = json::write(data)
        .map_err(|error| Failure::run_time(format!("unable to write JSON output: {error}")))?;
    print_json(ui, format, text)
}

/// Prints data that is JSON already.
pub(crate) fn print_json(ui: &mut Ui, format: Format, mut text: Vec<u8>) -> Result<(), Failure> {
    if format == Format::Yaml {
        text = yaml_of(&text)?;
    } else {
        text.push(b'\n');
    }
    Ok(ui.out().write_all(&text)?)
}

/// YAML with the content of a JSON text.
pub(crate) fn yaml_of(text: &[u8]) -> Result<Vec<u8>, Failure> {
    let failed = |reason: String| Failure::run_time(format!("unable to write YAML output: {reason}"));
    let tree = json::read_exact(text).map_err(|error| failed(error.to_string()))?;
    pintle_yaml::write(&tree).map_err(|error| failed(error.to_string()))
}

/// Values as YAML; no values at all are `null`.
pub(crate) fn yaml(values: &impl Walk) -> Result<Vec<u8>, Failure> {
    pintle_yaml::write(values)
        .map_err(|error| Failure::run_time(format!("unable to write YAML output: {error}")))
}

/// A structure whose fields keep their order in JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Vec<(&'static str, Field)>);

/// The value of a field.
#[derive(Clone, Debug)]
pub(crate) enum Field {
    /// A piece of data.
    Data(Node),
    /// A structure in the structure.
    Record(Record),
    /// Further structures.
    Records(Vec<Record>),
}

impl Record {
    /// Adds a field.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Node>) -> Record {
        self.0.push((name, Field::Data(value.into())));
        self
    }

    /// Adds a field unless there is nothing in it.
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl Into<Node>>) -> Record {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Puts a list of structures in the place of a field.
    pub(crate) fn replacing(mut self, name: &'static str, records: Vec<Record>) -> Record {
        if let Some((_, field)) = self.0.iter_mut().find(|(other, _)| *other == name) {
            *field = Field::Records(records);
        }
        self
    }

    /// Adds a structure.
    pub(crate) fn with_record(mut self, name: &'static str, record: Record) -> Record {
        self.0.push((name, Field::Record(record)));
        self
    }

    /// Adds a list of structures unless there are none.
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

/// A list of structures.
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
            Record::default().with("name", "a<b").with("chart", 3_i64).with_some("gone", None::<i64>);
        let text = json::write(&record).unwrap();
        assert_eq!(text, br#"{"name":"a\u003cb","chart":3}"#);
        assert_eq!(yaml_of(&text).unwrap(), b"chart: 3\nname: a<b\n");
        assert_eq!(json::write(&Records(&[])).unwrap(), b"[]");
    }
}
