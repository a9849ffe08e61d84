//! Schemas that are parsed once, for values that are validated many times.

use std::collections::BTreeMap;

use pintle_chart::Chart;
use pintle_tree::{LogLine, Node, Str};

use super::budget::Budget;
use super::document::Doc;
use super::lazy::Lazy;
use super::{check_chart, read_schema, texts, to_result, validate};
use crate::{Error, ReadSource, Result};

/// The schemas of a chart and its subcharts.
#[derive(Debug, Default)]
pub struct ParsedSchemas {
    documents: BTreeMap<SchemaKey, Doc>,
}

/// The text of a schema and its name in messages.
type SchemaKey = (Str, &'static str);

impl ParsedSchemas {
    /// Parses the schemas of a chart tree. Those that are malformed are reported when they are used.
    pub fn parse(chart: &Chart) -> Self {
        let mut parsed = ParsedSchemas::default();
        parsed.add(chart);
        parsed
    }

    fn add(&mut self, chart: &Chart) {
        for (text, url) in texts(chart) {
            if let Ok(document) = read_schema(text, url) {
                self.documents.insert((text.clone(), url), document);
            }
        }
        chart.subcharts.iter().for_each(|subchart| self.add(subchart));
    }
}

/// Validates values against parsed schemas, and caches what it compiles. It is neither `Send` nor `Sync`.
pub struct SchemaCache<'d> {
    compiled: BTreeMap<&'d SchemaKey, Lazy<'d>>,
}

impl<'d> SchemaCache<'d> {
    /// Returns a cache over parsed schemas. Those that refer to other files are compiled whenever they are used, because
    /// the files may have changed.
    pub fn new(schemas: &'d ParsedSchemas) -> Self {
        let lazy = |(key, document): (&'d SchemaKey, &'d Doc)| {
            Lazy::new(document, key.1, &Budget::new()).map(|lazy| (key, lazy))
        };
        SchemaCache { compiled: schemas.documents.iter().filter_map(lazy).collect() }
    }

    /// Like [`super::check`], for a chart whose schemas may have been parsed.
    ///
    /// # Errors
    /// Lists all violations, chart by chart.
    pub fn check(
        &self,
        chart: &Chart,
        values: &Node,
        read: &mut ReadSource<'_>,
        log: &mut Vec<LogLine>,
    ) -> Result<()> {
        let mut text = String::new();
        check_chart(chart, values, self, read, log, &Budget::new(), &mut text);
        if text.is_empty() { Ok(()) } else { Err(Error::Schema(text)) }
    }

    /// Validates values against a schema; `None` if it is not cached.
    pub(super) fn validate(
        &self,
        schema: (&Str, &'static str),
        values: &Node,
        budget: &Budget,
    ) -> Option<std::result::Result<(), String>> {
        let (_, lazy) = self.compiled.iter().find(|(key, _)| (&key.0, key.1) == schema)?;
        Some(to_result(validate::failures(lazy, values, budget)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsed_schemas_give_the_messages_of_fresh_ones() {
        let subchart =
            Chart { schema_yaml: Some("properties: {a: {type: string}}".into()), ..Chart::default() };
        let mut chart = Chart {
            schema: Some(r#"{"properties":{"n":{"minimum":5}},"required":["m"]}"#.into()),
            subcharts: vec![subchart],
            ..Chart::default()
        };
        chart.metadata.name = "p".to_owned();
        chart.subcharts[0].metadata.name = "sub".to_owned();
        let schemas = ParsedSchemas::parse(&chart);
        let cache = SchemaCache::new(&schemas);
        for values in [r#"{"n":5,"m":1,"sub":{"a":"x"}}"#, r#"{"n":1,"sub":{"a":1}}"#, r#"{"m":2,"sub":3}"#] {
            let values = pintle_tree::json::read(values.as_bytes()).unwrap();
            let mut read = |path: &str| Err(path.to_owned());
            let fresh = super::super::check(&chart, &values, &mut read, &mut Vec::new());
            let parsed = cache.check(&chart, &values, &mut read, &mut Vec::new());
            assert_eq!(
                parsed.map_err(|error| error.to_string()),
                fresh.map_err(|error| error.to_string()),
                "{values:?}"
            );
        }
        assert_eq!(cache.compiled.len(), 2);
    }
}
