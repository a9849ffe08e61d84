//! Decodes requests one at a time, so that one that cannot be decoded is that request's problem.
//!
//! The API server accepts more than these types do: values that are nested deeper than the decoder recurses, and numbers
//! that no integer holds. The watch decodes only the [`RequestHead`], which cannot fail for such reasons.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{HelmRequest, HelmRequestSpec, HelmRequestStatus};

/// How many parts of a path to a field an error shows.
const MAX_PATH: usize = 4;

/// What the watch keeps of a request.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RequestHead {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
    #[serde(default)]
    status: Option<HeadStatus>,
}

/// What the watch keeps of a status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadStatus {
    observed_generation: Scalar,
    last_handled_reconcile_at: Scalar,
    settled: Scalar,
}

impl RequestHead {
    /// See `settled` of the status.
    pub(crate) fn settled(&self) -> &str {
        self.status.as_ref().map_or("", |status| status.settled.text())
    }

    /// Whether the status says that the request was handled as it is.
    pub(crate) fn is_handled(&self) -> bool {
        let asked = self.metadata.annotations.as_ref().and_then(|all| all.get(super::RECONCILE_ANNOTATION));
        self.status.as_ref().is_some_and(|status| {
            matches!(status.observed_generation, Scalar::Int(seen) if Some(seen) == self.metadata.generation)
                && asked.map_or("", String::as_str) == status.last_handled_reconcile_at.text()
        })
    }
}

/// A text or a number. Anything else is skipped, so that a status that somebody else wrote does not stop the watch.
#[derive(Clone, Debug, Default)]
enum Scalar {
    Text(Box<str>),
    Int(i64),
    #[default]
    Other,
}

impl Scalar {
    fn text(&self) -> &str {
        match self {
            Scalar::Text(text) => text,
            Scalar::Int(_) | Scalar::Other => "",
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(i64::try_from(number).map_or(Scalar::Other, Scalar::Int))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scalar, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

impl kube::Resource for RequestHead {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        HelmRequest::kind(&())
    }

    fn group(_: &()) -> Cow<'_, str> {
        HelmRequest::group(&())
    }

    fn version(_: &()) -> Cow<'_, str> {
        HelmRequest::version(&())
    }

    fn plural(_: &()) -> Cow<'_, str> {
        HelmRequest::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The metadata that the controller uses. Unknown fields are skipped without recursion; `managedFields` are as deep as the
/// object itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<std::collections::BTreeMap<String, String>>,
    annotations: Option<std::collections::BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
}

/// Reads metadata without `managedFields`.
pub(crate) fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let read = Metadata::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: read.name,
        namespace: read.namespace,
        uid: read.uid,
        resource_version: read.resource_version,
        generation: read.generation,
        creation_timestamp: read.creation_timestamp,
        deletion_timestamp: read.deletion_timestamp,
        labels: read.labels,
        annotations: read.annotations,
        finalizers: read.finalizers,
        ..ObjectMeta::default()
    })
}

/// A request whose spec cannot be decoded.
#[derive(Debug)]
pub(crate) struct Undecodable {
    /// The request with an empty spec, to write its status.
    pub(crate) request: HelmRequest,
    /// Which field is wrong, and why.
    pub(crate) reason: String,
}

#[derive(Deserialize)]
struct WithStatus {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
    #[serde(default)]
    status: Option<HelmRequestStatus>,
}

#[derive(Deserialize)]
struct WithSpec {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
    spec: HelmRequestSpec,
}

impl HelmRequest {
    /// Decodes a request. A status that cannot be decoded is left out: it is only a copy of what records say.
    ///
    /// # Errors
    /// The request with the reason. The outer error is for an answer that is no object at all.
    pub(crate) fn decode(body: &[u8]) -> Result<Result<HelmRequest, Box<Undecodable>>, serde_json::Error> {
        let error = match serde_json::from_slice::<HelmRequest>(body) {
            Ok(request) => return Ok(Ok(request)),
            Err(error) => error,
        };
        if let Ok(WithSpec { metadata, spec }) = serde_json::from_slice(body) {
            return Ok(Ok(HelmRequest { metadata, spec, status: None }));
        }
        let (metadata, status) = match serde_json::from_slice::<WithStatus>(body) {
            Ok(read) => (read.metadata, read.status),
            Err(_) => (serde_json::from_slice::<RequestHead>(body)?.metadata, None),
        };
        let request = HelmRequest { metadata, spec: HelmRequestSpec::default(), status };
        let reason = describe(body, &error);
        Ok(Err(Box::new(Undecodable { request, reason })))
    }
}

/// An error with the path of the field.
fn describe(body: &[u8], error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The position is in JSON that nobody wrote.
    let text = text.split(" at line ").next().unwrap_or_default();
    let text = match text {
        "recursion limit exceeded" => "it is nested more than 120 levels deep",
        text => text,
    };
    let lines = body.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let mut path = path_at(&body[..body.len().min(before + error.column())]);
    if path.len() > MAX_PATH {
        path.truncate(MAX_PATH);
        path.push("…".to_owned());
    }
    match path.is_empty() {
        true => format!("the request cannot be decoded: {text}"),
        false => format!("{}: {text}", path.join(".")),
    }
}

/// The path of the value at the end of a part of a JSON text.
fn path_at(text: &[u8]) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    // For each open bracket, whether it is a list.
    let mut open: Vec<bool> = Vec::new();
    let mut last = String::new();
    let mut index = 0;
    while index < text.len() {
        match text[index] {
            b'"' => {
                let end = string_end(text, index);
                last = String::from_utf8_lossy(&text[index + 1..end.max(index + 1)]).into_owned();
                index = end;
            }
            b':' if open.last() == Some(&false) => {
                path.truncate(open.len() - 1);
                path.push(std::mem::take(&mut last));
            }
            b'{' => open.push(false),
            b'[' => {
                open.push(true);
                path.push("0".to_owned());
            }
            b',' if open.last() == Some(&true) => {
                let next = path.last().and_then(|at| at.parse::<usize>().ok()).unwrap_or_default() + 1;
                path.truncate(open.len() - 1);
                path.push(next.to_string());
            }
            b'}' | b']' => {
                open.pop();
                path.truncate(open.len());
            }
            _ => {}
        }
        index += 1;
    }
    path
}

/// The index of the closing quote of a string, or of the end.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut index = start + 1;
    while index < text.len() && text[index] != b'"' {
        index += if text[index] == b'\\' { 2 } else { 1 };
    }
    index.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undecodable(spec: &str) -> Undecodable {
        let body = format!(
            r#"{{"apiVersion":"helm.sh/v3","kind":"HelmRequest","metadata":{{"name":"web","namespace":"apps","generation":3}},"spec":{spec},"status":{{"failures":2}}}}"#
        );
        *HelmRequest::decode(body.as_bytes()).expect("an object").expect_err("a spec that is wrong")
    }

    fn nested(depth: usize) -> String {
        format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
    }

    #[test]
    fn a_spec_that_cannot_be_decoded_leaves_the_rest_of_the_request() {
        let wrong = undecodable(r#"{"chart":{"url":"x"},"maxHistory":18446744073709552000}"#);
        assert!(wrong.reason.starts_with("spec.maxHistory: "), "{}", wrong.reason);
        assert_eq!((wrong.request.name(), wrong.request.generation()), ("web", 3));
        assert_eq!(wrong.request.status.expect("a status").failures, 2);
        let wrong =
            undecodable(r#"{"valuesFrom":[{"kind":"Secret","name":"a"},{"kind":"Moon","name":"b"}]}"#);
        assert!(wrong.reason.starts_with("spec.valuesFrom.1.kind: "), "{}", wrong.reason);
    }

    #[test]
    fn depth_is_a_reason_and_not_a_failure_of_the_watch() {
        let wrong = undecodable(&format!(r#"{{"values":{}}}"#, nested(130)));
        assert_eq!(wrong.reason, "spec.values.a.a.…: it is nested more than 120 levels deep");
        let deep = nested(5_000);
        let body = format!(
            r#"{{"metadata":{{"name":"web","managedFields":[{{"fieldsV1":{deep}}}]}},"spec":{{"values":{deep}}},"status":{deep}}}"#
        );
        let head: RequestHead = serde_json::from_str(&body).expect("the depth does not matter");
        assert_eq!(head.metadata.name.as_deref(), Some("web"));
        let wrong = HelmRequest::decode(body.as_bytes()).expect("an object").expect_err("it is too deep");
        assert_eq!(wrong.request.name(), "web");
        let junk = r#"{"metadata":{"name":"web"},"spec":{"suspend":true},"status":{"failures":"many"}}"#;
        let request = HelmRequest::decode(junk.as_bytes()).expect("an object").expect("a good spec");
        assert!(request.spec.suspend && request.status.is_none());
        let shallow =
            format!(r#"{{"metadata":{{"managedFields":[{deep}]}},"spec":{{"values":{}}}}}"#, nested(100));
        let request = HelmRequest::decode(shallow.as_bytes()).expect("an object");
        assert!(request.is_ok(), "managed fields do not count: {request:?}");
    }
}
