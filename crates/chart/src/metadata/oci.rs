//! Metadata as OCI registries store it: the config blob of a chart's manifest, and the manifest's annotations.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, json};

use super::Metadata;
use crate::dependency::write_list;
use crate::error::{Error, Result};

impl Metadata {
    /// The metadata as JSON, with Helm's fields in the order in which Helm writes them: the digest of the text is part of
    /// the manifest.
    ///
    /// # Errors
    /// When a number cannot be represented in JSON.
    pub fn to_oci_config(&self) -> Result<Vec<u8>> {
        let text = |text: &str| (!text.is_empty()).then(|| Node::from(text));
        let texts = |list: &[String]| {
            let list: Vec<Node> = list.iter().map(|text| Node::from(text.as_str())).collect();
            (!list.is_empty()).then_some(Node::List(list))
        };
        let annotations: Map<Node> =
            self.annotations.iter().map(|(key, value)| (key.into(), Node::from(value.as_str()))).collect();
        let mut out = Vec::new();
        let mut add = |name: &str, value: Option<Vec<u8>>| {
            if let Some(value) = value {
                out.push(if out.is_empty() { b'{' } else { b',' });
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend(value);
            }
        };
        // The order of the fields of Go's struct; a map would be written in the order of its keys.
        add("name", written(text(&self.name))?);
        add("home", written(text(&self.home))?);
        add("sources", written(texts(&self.sources))?);
        add("version", written(text(&self.version))?);
        add("description", written(text(&self.description))?);
        add("keywords", written(texts(&self.keywords))?);
        add("maintainers", self.maintainers_in_order()?);
        add("icon", written(text(&self.icon))?);
        add("apiVersion", written(text(&self.api_version))?);
        add("condition", written(text(&self.condition))?);
        add("tags", written(text(&self.tags))?);
        add("appVersion", written(text(&self.app_version))?);
        add("deprecated", written(self.deprecated.then_some(Node::Bool(true)))?);
        add("annotations", written((!annotations.is_empty()).then_some(Node::Map(annotations)))?);
        add("kubeVersion", written(text(&self.kube_version))?);
        if !self.dependencies.is_empty() {
            let mut list = Vec::new();
            write_list(&self.dependencies, &mut list)?;
            add("dependencies", Some(list));
        }
        add("type", written(text(&self.kind))?);
        if out.is_empty() {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(out)
    }

    fn maintainers_in_order(&self) -> Result<Option<Vec<u8>>> {
        if self.maintainers.is_empty() {
            return Ok(None);
        }
        let mut list = Vec::new();
        for maintainer in &self.maintainers {
            list.push(if list.is_empty() { b'[' } else { b',' });
            let mut fields = Vec::new();
            for (name, value) in
                [("name", &maintainer.name), ("email", &maintainer.email), ("url", &maintainer.url)]
            {
                if !value.is_empty() {
                    let value = written(Some(Node::from(value.as_str())))?.unwrap_or_default();
                    fields.push([format!("\"{name}\":").as_bytes(), &value].concat());
                }
            }
            list.push(b'{');
            list.extend(fields.join(&b','));
            list.push(b'}');
        }
        list.push(b']');
        Ok(Some(list))
    }

    /// The annotations of the manifest: those derived from the metadata, and the chart's own annotations, which cannot
    /// override title and version. `created` is an RFC 3339 time.
    pub fn oci_annotations(&self, created: &str) -> BTreeMap<String, String> {
        let people: Vec<String> = self
            .maintainers
            .iter()
            .map(|person| match person.email.as_str() {
                "" => person.name.clone(),
                email => format!("{} ({email})", person.name),
            })
            .collect();
        let source = self.sources.first().map_or("", String::as_str);
        let mut annotations = BTreeMap::new();
        for (key, value) in [
            ("description", self.description.as_str()),
            ("title", &self.name),
            ("version", &self.version),
            ("url", &self.home),
            ("created", created),
            ("source", source),
            ("authors", &people.join(", ")),
        ] {
            if !value.trim().is_empty() {
                annotations.insert(format!("org.opencontainers.image.{key}"), value.to_owned());
            }
        }
        // Helm does not let the chart's annotations override these two.
        let fixed = ["org.opencontainers.image.title", "org.opencontainers.image.version"];
        let own = self.annotations.iter().filter(|(key, _)| !fixed.contains(&key.as_str()));
        annotations.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        annotations
    }
}

fn written(value: Option<Node>) -> Result<Option<Vec<u8>>> {
    value.map(|value| json::write(&value).map_err(|error| Error::message(error.to_string()))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Dependency, Maintainer};

    fn chart() -> Metadata {
        Metadata {
            api_version: "v2".into(),
            name: "web".into(),
            version: "1.0.0".into(),
            description: "a <b> & c".into(),
            home: "https://example.com".into(),
            sources: vec!["https://s".into(), "https://t".into()],
            maintainers: vec![
                Maintainer { name: "A".into(), email: "a@b".into(), url: String::new() },
                Maintainer { name: "B".into(), url: "u".into(), email: String::new() },
            ],
            annotations: [
                ("x".to_owned(), "y".to_owned()),
                ("org.opencontainers.image.title".to_owned(), "other".to_owned()),
                ("org.opencontainers.image.url".to_owned(), "https://own".to_owned()),
            ]
            .into(),
            dependencies: vec![Dependency {
                name: "d".into(),
                version: ">1".into(),
                ..Dependency::default()
            }],
            kind: "application".into(),
            deprecated: true,
            ..Metadata::default()
        }
    }

    #[test]
    fn the_configuration_has_helms_order_of_fields() {
        let text = String::from_utf8(chart().to_oci_config().unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"name":"web","home":"https://example.com","sources":["https://s","https://t"],"version":"1.0.0","description":"a \u003cb\u003e \u0026 c","maintainers":[{"name":"A","email":"a@b"},{"name":"B","url":"u"}],"apiVersion":"v2","deprecated":true,"annotations":{"org.opencontainers.image.title":"other","org.opencontainers.image.url":"https://own","x":"y"},"dependencies":[{"name":"d","version":"\u003e1","repository":""}],"type":"application"}"#
        );
        assert_eq!(Metadata::default().to_oci_config().unwrap(), b"{}");
    }

    #[test]
    fn annotations_of_the_chart_win_but_for_its_name_and_version() {
        let found = chart().oci_annotations("2026-01-02T03:04:05Z");
        let of = |key: &str| found.get(&format!("org.opencontainers.image.{key}")).map(String::as_str);
        assert_eq!(of("title"), Some("web"));
        assert_eq!(of("url"), Some("https://own"));
        assert_eq!(of("authors"), Some("A (a@b), B"));
        assert_eq!(of("source"), Some("https://s"));
        assert_eq!(of("created"), Some("2026-01-02T03:04:05Z"));
        assert_eq!(found.get("x").map(String::as_str), Some("y"));
    }
}
