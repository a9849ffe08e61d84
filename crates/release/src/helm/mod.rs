//! Helm's storage format, byte for byte: the JSON of a release, its encoding in a Secret or ConfigMap, and its
//! labels.

mod decode;
mod encode;
mod go_json;
mod labels;
mod marker;
mod outline;
mod pack;
mod summary;

pub use decode::{decode, decode_list, decode_without_files};
pub use encode::encode;
pub use labels::{
    ACQUIRE_TIME, LEASE_DURATION_SECONDS, LEASE_HOLDER, RENEW_TIME, SUCCESSOR, TimestampLabel,
    check_user_labels, labels, lease_annotations, lease_from_annotations, user_labels,
};
pub use marker::{MOVED_TO, marker, marker_name};
pub use pack::{MAX_UNPACKED, pack, pack_bytes, unpack, unpack_bytes};
pub use summary::summarize;

/// The type of Secrets that hold releases.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";
/// The data key of the release in Secrets and ConfigMaps.
pub const DATA_KEY: &str = "release";
/// The label selector of all releases.
pub const OWNER_SELECTOR: &str = "owner=helm";

/// Why a record cannot be decoded, with the message of Helm's decoder, or cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Error { message: message.into() }
    }
}

impl From<pintle_tree::json::Error> for Error {
    fn from(error: pintle_tree::json::Error) -> Self {
        Error::new(error.to_string())
    }
}

/// The name of the Secret or ConfigMap of a version; other stores use it as key.
pub fn object_name(name: &str, number: u64) -> String {
    format!("sh.helm.release.v1.{name}.v{number}")
}
