//! The objects that hold Helm's records: Secrets or ConfigMaps, with what each of them can hold.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pintle_objects::Object;
use pintle_release::StoreError;
use pintle_release::helm;
use pintle_tree::{Map, Node};

/// How many bytes an object may hold. The server knows no other number.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;
/// How long a request may be; Helm's clients send records without a second base64, so that theirs are shorter.
const MAX_REQUEST_BYTES: usize = 3 << 20;

/// The kind of object that holds a release.
pub trait RecordKind: Send + Sync + 'static {
    /// What Helm calls the driver, which is also the kind.
    const KIND: &'static str;
    /// The word for the kind in addresses.
    const PLURAL: &'static str;

    /// What the server calls the part of the object that is too large.
    const LARGE_PART: &'static str;

    /// What Helm says before a failure: of Secrets what was being done, of ConfigMaps nothing.
    fn error_prefix(action: &str) -> &str;

    /// Puts a packed release into an object.
    fn fill(body: &mut Map<Node>, packed: String);

    /// The packed release of an object.
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
        // What is base64 already is base64 once more, because a Secret's data always is.
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

/// What is being done to a record, in Helm's words.
#[derive(Clone, Copy)]
pub(super) struct Action {
    pub(super) verb: &'static str,
    pub(super) failure: &'static str,
}

pub(super) const CREATE: Action = Action { verb: "create", failure: "create: failed to create" };
pub(super) const UPDATE: Action = Action { verb: "update", failure: "update: failed to update" };

/// The refusal of a record that does not fit into its object, in the words of the server.
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
