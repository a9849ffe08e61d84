//! Decoding of request bodies: JSON, YAML or protobuf to an object of the requested kind, with defaults applied.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pintle_tree::{Node, json};

use super::meta::{map_at, meta, set, unset};
use super::negotiation::{self, BodyFormat};
use super::query::FieldValidation;
use super::{Api, Call};
use crate::decoding::{self, BuiltIn};
use crate::defaulting;
use crate::status::{Status, StatusCause};

impl Api {
    /// Decodes the body of a request.
    pub(super) fn decode_body(&self, call: &Call<'_>, validation: FieldValidation) -> Result<Node, Status> {
        // Duplicate keys in YAML are found by a strict second read: `read_exact` keeps the last one, as
        // sigs.k8s.io/yaml does for `Warn` and `Ignore`.
        let mut twice = None;
        let text = match negotiation::body_format(call.headers)? {
            BodyFormat::Json => call.body.clone(),
            BodyFormat::Yaml => {
                twice = pintle_yaml::read_strict(call.body).err().map(|error| error.to_string());
                yaml_to_json(call)?
            }
            BodyFormat::Protobuf => {
                let tree = decoding::decode_protobuf(call.body)
                    .map_err(|error| Status::bad_request(error.to_string()))?;
                json::write_raw(&tree).map_err(|error| Status::bad_request(error.to_string()))?.into()
            }
        };
        let (version, kind) = self.check_kind(call, &text)?;
        let decoding::Decoded { object, mut strict } = self.decode_strict(call, &text, &version, &kind)?;
        // In front: the real server reports what the conversion from YAML finds before what the decoder
        // finds.
        strict.splice(
            0..0,
            twice.map(|problem| problem.trim_start_matches("error converting YAML to JSON: ").to_owned()),
        );
        self.apply_field_validation(call, object, strict, validation)
    }

    /// Reads `apiVersion` and `kind`, which built-in kinds may omit and which must match the URL.
    fn check_kind(&self, call: &Call<'_>, text: &Bytes) -> Result<(String, String), Status> {
        let resource = call.served.resource();
        let (api_version, kind) = (resource.api_version(), resource.kind.to_string());
        let unrecognized = |why: String| {
            let body = format_body(text);
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {why} ({body})"
            ))
        };
        let tree =
            json::read_exact(text).map_err(|error| unrecognized(error.kubernetes_text().to_owned()))?;
        let Node::Map(map) = &tree else {
            let problem = format!(
                r#"json: cannot unmarshal {} into Go value of type struct {{ APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }}"#,
                tree.json_type()
            );
            return Err(unrecognized(problem));
        };
        for key in ["apiVersion", "kind"] {
            if let Some(other) = map.get(key).filter(|word| !matches!(word, Node::Str(_) | Node::Nil)) {
                let found = other.json_type();
                let problem =
                    format!("json: cannot unmarshal {found} into Go struct field .{key} of type string");
                return Err(unrecognized(problem));
            }
        }
        let word = |key: &str| map.get(key).and_then(Node::as_str).unwrap_or_default();
        let (sent_version, sent_kind) = (word("apiVersion"), word("kind"));
        if call.served.is_custom() {
            check_custom_kind(call, text, sent_version, sent_kind, &tree)?;
        }
        let fits = |sent: &str, own: &str| sent.is_empty() || sent == own;
        if fits(sent_version, &api_version) && fits(sent_kind, &kind) {
            return Ok((api_version, kind));
        }
        Err(Status::bad_request(self.other_kind(call, sent_version, sent_kind)))
    }

    /// The server's message about a body of another kind than the URL's.
    fn other_kind(&self, call: &Call<'_>, version: &str, kind: &str) -> String {
        let resource = call.served.resource();
        let (group, number) = version.split_once('/').unwrap_or(("", version));
        if self.0.catalog.kind(group, number, kind).is_none() {
            return format!(
                "{kind} in version {number:?} cannot be handled as a {}: no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"",
                resource.kind
            );
        }
        // The target of the conversion is the internal type, which Go names after its package.
        let package = match resource.group.as_str().unwrap_or_default() {
            "" => "core",
            group => group.split('.').next().unwrap_or_default(),
        };
        format!(
            "{kind} in version {number:?} cannot be handled as a {own}: converting ({number}.{kind}) to ({package}.{own}): unknown conversion",
            own = resource.kind
        )
    }

    /// Decodes an object and applies field validation.
    pub(super) fn decode(
        &self,
        call: &Call<'_>,
        text: &[u8],
        validation: FieldValidation,
        version: &str,
        kind: &str,
    ) -> Result<Node, Status> {
        let decoding::Decoded { object, strict } = self.decode_strict(call, text, version, kind)?;
        self.apply_field_validation(call, object, strict, validation)
    }

    /// Decodes an object and returns the strict decoding errors with it.
    pub(super) fn decode_strict(
        &self,
        call: &Call<'_>,
        text: &[u8],
        version: &str,
        kind: &str,
    ) -> Result<decoding::Decoded, Status> {
        let schema = call.served.schema(self.0.catalog);
        match BuiltIn::find(version, kind, schema).filter(|_| !call.served.is_custom()) {
            Some(built_in) => built_in.decode(text).map_err(|error| {
                let number = version.rsplit('/').next().unwrap_or_default();
                Status::bad_request(format!(
                    "{kind} in version {number:?} cannot be handled as a {kind}: {error}"
                ))
            }),
            None => super::custom_resources::read(schema, text),
        }
    }

    /// Rejects or warns about unknown and duplicate fields, then applies defaults.
    pub(super) fn apply_field_validation(
        &self,
        call: &Call<'_>,
        mut object: Node,
        strict: Vec<String>,
        validation: FieldValidation,
    ) -> Result<Node, Status> {
        let resource = call.served.resource();
        if validation == FieldValidation::Strict && !strict.is_empty() {
            let errors = strict.join(", ");
            let (kind, version) = (&resource.kind, &resource.version);
            return Err(Status::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {kind}: strict decoding error: {errors}",
                version.to_str_lossy()
            )));
        }
        if validation == FieldValidation::Warn {
            // Duplicate keys in YAML are reported one by one.
            let lines = |problem: &String| match problem.strip_prefix("yaml: unmarshal errors:\n") {
                Some(lines) => lines.lines().map(|line| line.trim().to_owned()).collect(),
                None => vec![problem.clone()],
            };
            strict.iter().flat_map(lines).for_each(|problem| call.warn(problem));
        }
        set(&mut object, &["apiVersion"], resource.api_version());
        set(&mut object, &["kind"], resource.kind.clone());
        if call.served.is("", "Secret") {
            encode_string_data(&mut object);
        }
        defaulting::apply_defaults(call.served.kind(self.0.catalog), &mut object);
        Ok(object)
    }
}

/// Decodes a body without regard to its kind.
pub(super) fn decode_untyped(call: &Call<'_>) -> Result<Node, Status> {
    match negotiation::body_format(call.headers)? {
        BodyFormat::Json => json::read_exact(call.body).map_err(|error| {
            let reason = error.kubernetes_text();
            Status::bad_request(format!("couldn't get version/kind; json parse error: {reason}"))
        }),
        BodyFormat::Yaml => {
            pintle_yaml::read_exact(call.body).map_err(|error| Status::bad_request(error.to_string()))
        }
        BodyFormat::Protobuf => {
            decoding::decode_protobuf(call.body).map_err(|error| Status::bad_request(error.to_string()))
        }
    }
}

/// Custom resources must set `apiVersion` and `kind`.
fn check_custom_kind(
    call: &Call<'_>,
    text: &[u8],
    version: &str,
    kind: &str,
    tree: &Node,
) -> Result<(), Status> {
    let resource = call.served.resource();
    for (word, name) in [(kind, "Kind"), (version, "apiVersion")] {
        if word.is_empty() {
            return Err(Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): Object '{name}' is missing in '{}' ({})",
                resource.kind,
                String::from_utf8_lossy(text),
                format_body(text)
            )));
        }
    }
    let own = resource.api_version();
    if version != own {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({own})"
        )));
    }
    if resource.kind != *kind {
        let cause = StatusCause::invalid("kind", &kind.into(), &format!("must be {}", resource.kind));
        return Err(Status::invalid(&resource.group.to_str_lossy(), kind, meta(tree, "name"), vec![cause]));
    }
    Ok(())
}

/// Merges `stringData` of a Secret into `data`.
pub(super) fn encode_string_data(object: &mut Node) {
    let Some(Node::Map(texts)) = unset(object, &["stringData"]) else { return };
    let data = map_at(object, &["data"]);
    for (key, text) in texts {
        let encoded = STANDARD.encode(text.as_text().map(|text| text.as_bytes()).unwrap_or_default());
        data.insert(key, encoded.into());
    }
}

fn yaml_to_json(call: &Call<'_>) -> Result<Bytes, Status> {
    let kind = &call.served.resource().kind;
    let tree = pintle_yaml::read_exact(call.body).map_err(|error| {
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): error parsing YAML: {error}"
        ))
    })?;
    let text = json::write_raw(&tree).map_err(|error| Status::bad_request(error.to_string()))?;
    Ok(text.into())
}

/// A body as in the server's errors: truncated, and in hex if it is not text.
fn format_body(text: &[u8]) -> String {
    // As `summarizeData` of the real server, which also takes whatever does not begin like JSON for binary.
    const MOST: usize = 30;
    if text.is_empty() {
        return "<empty>".to_owned();
    }
    let more = if text.len() > MOST { " ..." } else { "" };
    let text = &text[..text.len().min(MOST)];
    if text.first() == Some(&b'{') {
        return format!("{}{more}", String::from_utf8_lossy(text));
    }
    let digits: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits}{more}")
}
