//! The kinds that hold Helm's records: Secrets and ConfigMaps, with their limits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pintle_objects::Object;
use pintle_release::StoreError;
use pintle_release::helm;
use pintle_tree::{Map, Node};

/// The API server's size limit for the data of a Secret or ConfigMap.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;
/// The API server's limit for a request. Go clients send protobuf without the second base64, so theirs are smaller.
const MAX_REQUEST_BYTES: usize = 3 << 20;

/// A kind that holds release records.
pub trait RecordKind: Send + Sync + 'static {
    /// The name of Helm's driver, which is also the kind.
    const KIND: &'static str;
    /// The plural resource name.
    const PLURAL: &'static str;

    /// The field that the server names when the object is too large.
    const LARGE_PART: &'static str;

    /// Helm's error prefix: the operation for Secrets, nothing for ConfigMaps.
    fn error_prefix(action: &str) -> &str;

    /// Stores an encoded release in an object.
    fn fill(body: &mut Map<Node>, packed: String);

    /// The encoded release of an object.
    fn packed(object: &Object) -> Option<Vec<u8>>;
}

/// Releases in Secrets.
#[derive(Debug)]
pub enum Secrets {}

/// Releases in ConfigMaps.
#[derive(Debug)]
pub enum ConfigMaps {}

impl RecordKind for Secrets {
    const KIND: &'static str = "Secret";
    const PLURAL: &'static str = "secrets";
    const LARGE_PART: &'static str = "data";

    fn error_prefix(action: &str) -> &str {
        action
    }

    fn fill(body: &mut Map<Node>, packed: String) {
        body.insert("type".into(), helm::SECRET_TYPE.into());
        // Helm's records are base64 already; the data of a Secret is base64 once more.
        body.insert("data".into(), data(BASE64.encode(packed)));
    }

    fn packed(object: &Object) -> Option<Vec<u8>> {
        BASE64.decode(text(object)?).ok()
    }
}

impl RecordKind for ConfigMaps {
    const KIND: &'static str = "ConfigMap";
    const PLURAL: &'static str = "configmaps";
    const LARGE_PART: &'static str = "[]";

    fn error_prefix(_: &str) -> &str {
        ""
    }

    fn fill(body: &mut Map<Node>, packed: String) {
        body.insert("data".into(), data(packed));
    }

    fn packed(object: &Object) -> Option<Vec<u8>> {
        text(object).map(<[u8]>::to_vec)
    }
}

fn data(text: String) -> Node {
    Node::Map(Map::from_entries(vec![(helm::DATA_KEY.into(), text.into())]))
}

fn text(object: &Object) -> Option<&[u8]> {
    object.at(&["data", helm::DATA_KEY]).and_then(Node::as_text).map(|text| text.as_bytes())
}

/// An operation on a record, as Helm's errors name it.
#[derive(Clone, Copy)]
pub(super) struct Action {
    pub(super) verb: &'static str,
    pub(super) failure: &'static str,
}

pub(super) const CREATE: Action = Action { verb: "create", failure: "create: failed to create" };
pub(super) const UPDATE: Action = Action { verb: "update", failure: "update: failed to update" };

/// The error for a record that exceeds the limits, with the server's message.
pub(super) fn too_large<H: RecordKind>(name: &str, size: usize, action: Action) -> StoreError {
    let reason = match size < MAX_REQUEST_BYTES - MAX_RECORD_BYTES / 512 {
        true => format!(
            "{} {name:?} is invalid: {}: Too long: may not be more than {MAX_RECORD_BYTES} bytes",
            H::KIND,
            H::LARGE_PART
        ),
        false => format!("Request entity too large: limit is {MAX_REQUEST_BYTES}"),
    };
    StoreError::TooLarge { action: H::error_prefix(action.failure), reason, size, kind: H::KIND }
}
