//! Content negotiation: format and representation of the response, and the format of the request body.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

use crate::status::{Status, StatusDetails};

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
}

/// The format of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFormat {
    Json,
    Yaml,
    Protobuf,
}

/// The representation of objects, from the parameter `as` of the media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// The objects themselves.
    Whole,
    /// `meta.k8s.io/v1 Table`, as `kubectl get` prints it.
    Table,
    /// `PartialObjectMetadata`, or a list of them.
    Metadata,
    /// Aggregated discovery.
    Discovery,
}

/// The negotiated media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Negotiated {
    pub(super) format: Format,
    pub(super) view: View,
}

impl Negotiated {
    /// JSON, without conversion.
    pub(super) const PLAIN: Negotiated = Negotiated { format: Format::Json, view: View::Whole };

    /// Parses `Accept` and takes the first media type that is supported.
    pub(super) fn parse(headers: &HeaderMap) -> Result<Negotiated, Status> {
        let Some(accept) = headers.get(ACCEPT) else { return Ok(Negotiated::PLAIN) };
        let accept = accept.to_str().unwrap_or_default();
        if accept.trim().is_empty() {
            return Ok(Negotiated::PLAIN);
        }
        accept.split(',').find_map(parse_media_type).ok_or_else(|| not_acceptable(accept.contains(";as=")))
    }
}

/// The real server answers unsupported media types and unsupported representations with different bodies.
fn not_acceptable(other_form: bool) -> Status {
    const KNOWN: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    if other_form {
        let message = format!("only the following media types are accepted: {KNOWN}");
        return Status::new(406, "NotAcceptable", message);
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {KNOWN}");
    Status::new(406, "NotAcceptable", message).with_details(StatusDetails::default())
}

fn parse_media_type(text: &str) -> Option<Negotiated> {
    let mut parts = text.split(';').map(str::trim);
    let format = match parts.next()?.to_ascii_lowercase().as_str() {
        "application/json" | "*/*" | "application/*" => Format::Json,
        "application/yaml" => Format::Yaml,
        _ => return None,
    };
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let parameter =
        |name: &str| parameters.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value);
    let view = match (parameter("as"), parameter("g"), parameter("v")) {
        ("", _, _) => View::Whole,
        ("Table", "meta.k8s.io", "v1") => View::Table,
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => View::Metadata,
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => View::Discovery,
        _ => return None,
    };
    Some(Negotiated { format, view })
}

/// The media type of a request body, without parameters.
pub(super) fn content_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The format of a request body; protobuf is accepted because Go clients send it.
pub(super) fn body_format(headers: &HeaderMap) -> Result<BodyFormat, Status> {
    match content_type(headers).as_str() {
        "" | "application/json" => Ok(BodyFormat::Json),
        "application/yaml" => Ok(BodyFormat::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(BodyFormat::Protobuf),
        _ => Err(unsupported("application/json, application/yaml, application/vnd.kubernetes.protobuf")),
    }
}

/// 415, with the media types that are supported.
pub(super) fn unsupported(accepted: &str) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    Status::new(415, "UnsupportedMediaType", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negotiate(accept: &str) -> Option<Negotiated> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Negotiated::parse(&headers).ok()
    }

    #[test]
    fn the_first_supported_media_type_is_negotiated() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(negotiate(table).unwrap().view, View::Table);
        assert_eq!(
            negotiate("application/vnd.kubernetes.protobuf,application/json"),
            Some(Negotiated::PLAIN)
        );
        assert_eq!(negotiate("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(negotiate("application/yaml").unwrap().format, Format::Yaml);
        assert_eq!(negotiate("*/*"), Some(Negotiated::PLAIN));
    }
}
