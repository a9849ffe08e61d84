//! Labels on release versions that say which request made them, and from what. They are part of the record, so that a
//! controller that was killed before it could write its status knows what it had done.

use std::collections::BTreeMap;

use pintle::release::{Status, Summary};
use sha2::{Digest as _, Sha256};

use crate::request::{HelmRequest, hex};

const UID: &str = "helm.sh/request-uid";
const NAMESPACE: &str = "helm.sh/request-namespace";
const NAME: &str = "helm.sh/request-name";
const DIGEST: &str = "helm.sh/request-digest";

/// The longest value of a label.
const MAX_VALUE: usize = 63;
/// How many hexadecimal digits of its hash a name ends with that is too long for a label.
const HASH: usize = 16;

/// The request that made a version, or an earlier version that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name. Of one that is too long for a label, the beginning and a hash.
    pub name: String,
}

/// The labels for a version that a request makes.
pub(crate) fn labels(request: &HelmRequest, number: u64, digest: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (UID.to_owned(), request.uid().to_owned()),
        (NAMESPACE.to_owned(), request.namespace().to_owned()),
        (NAME.to_owned(), name_label(request.name())),
        // Later versions copy the labels of earlier ones, whoever makes them. The number tells the copies apart.
        (DIGEST.to_owned(), format!("{number}.{digest}")),
    ])
}

/// A name as the value of a label.
fn name_label(name: &str) -> String {
    if name.len() <= MAX_VALUE {
        return name.to_owned();
    }
    let beginning: String = name.chars().take(MAX_VALUE - HASH - 1).collect();
    format!("{beginning}-{}", &hex(&Sha256::digest(name))[..HASH])
}

impl Owner {
    /// Whether the name may be the beginning and a hash of a longer one.
    pub(crate) fn is_shortened(&self) -> bool {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match self.name.as_bytes().split_last_chunk::<HASH>() {
            Some((rest, hash)) => {
                self.name.len() == MAX_VALUE && rest.ends_with(b"-") && hash.iter().all(is_digit)
            }
            None => false,
        }
    }
}

/// Whether the request with this uid installed or adopted a release with these versions, oldest first. The records alone decide
/// this: a status may be old, or written by someone else.
pub(crate) fn is_managed_by(history: &[Summary], uid: &str) -> bool {
    let Some(newest) = history.last().filter(|_| !uid.is_empty()) else { return false };
    // Each install begins anew, whatever had the name before it.
    let versions: Vec<&Summary> =
        history.iter().filter(|version| version.first_deployed == newest.first_deployed).collect();
    // A rollback by hand to a version from before the adoption has no labels, and leaves the release ours.
    if versions.iter().rev().find_map(|version| version.labels.get(UID)).is_none_or(|owner| owner != uid) {
        return false;
    }
    // A release that others installed is adopted once an upgrade of ours has succeeded.
    let has_succeeded = |version: &Summary| {
        matches!(
            version.status,
            Status::Deployed | Status::Superseded | Status::Uninstalling | Status::Uninstalled
        )
    };
    let is_ours = |version: &Summary| version.labels.get(UID).is_some_and(|owner| owner == uid);
    versions.first().is_some_and(|first| is_ours(first))
        || versions.iter().any(|version| is_ours(version) && has_succeeded(version))
}

/// The digest of chart and values if the request with this uid made the version.
pub(crate) fn digest(version: &Summary, uid: &str) -> Option<String> {
    let (number, digest) = version.labels.get(DIGEST)?.split_once('.')?;
    let is_ours = version.labels.get(UID).is_some_and(|other| other == uid);
    (is_ours && number == version.number.to_string()).then(|| digest.to_owned())
}

/// The request that manages a release.
pub fn owner(version: &Summary) -> Option<Owner> {
    owner_of(&version.labels)
}

/// The request that manages a release whose version has these labels.
pub fn owner_of(labels: &BTreeMap<String, String>) -> Option<Owner> {
    let label = |key: &str| labels.get(key).cloned();
    Some(Owner { uid: label(UID)?, namespace: label(NAMESPACE)?, name: label(NAME)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u64, first_deployed: i64, status: Status, uid: &str) -> Summary {
        let labels = match uid {
            "" => BTreeMap::new(),
            uid => BTreeMap::from([(UID.to_owned(), uid.to_owned())]),
        };
        let first_deployed = Some(pintle::release::Timestamp::from_unix(first_deployed, 0));
        Summary { number, first_deployed, status, labels, ..Summary::default() }
    }

    #[test]
    fn a_release_is_managed_by_the_request_that_installed_or_adopted_it() {
        use Status::{Deployed, Failed, PendingUpgrade, Superseded, Uninstalled};
        for (versions, expected) in [
            (vec![], false),
            // Installed, whether or not that succeeded, and upgraded by hand, with a copy of the labels or without.
            (vec![(1, Deployed, "me")], true),
            (vec![(1, Failed, "me")], true),
            (vec![(1, Superseded, "me"), (1, Deployed, "me")], true),
            (vec![(1, Superseded, "me"), (1, Deployed, "")], true),
            // Installed by hand; adopted, or not yet.
            (vec![(1, Deployed, "")], false),
            (vec![(1, Superseded, ""), (1, Deployed, "me")], true),
            (vec![(1, Deployed, ""), (1, Failed, "me")], false),
            (vec![(1, Deployed, ""), (1, PendingUpgrade, "me")], false),
            (vec![(1, Superseded, ""), (1, Superseded, "me"), (1, Failed, "me")], true),
            (vec![(1, Superseded, ""), (1, Failed, "me"), (1, Deployed, "")], false),
            (vec![(1, Superseded, ""), (1, Superseded, "me"), (1, Deployed, "")], true),
            // Another request has it, or has adopted it since.
            (vec![(1, Deployed, "other")], false),
            (vec![(1, Superseded, "me"), (1, Deployed, "other")], false),
            (vec![(1, Superseded, "other"), (1, Deployed, "me")], true),
            // Uninstalled with its history kept, and installed anew by hand or by the request.
            (vec![(1, Uninstalled, "me")], true),
            (vec![(1, Superseded, "me"), (2, Deployed, "")], false),
            (vec![(1, Superseded, ""), (2, Failed, "me")], true),
        ] {
            let history: Vec<Summary> = (1..)
                .zip(&versions)
                .map(|(number, (first, status, uid))| version(number, *first, *status, uid))
                .collect();
            assert_eq!(is_managed_by(&history, "me"), expected, "{versions:?}");
            assert!(!is_managed_by(&history, ""), "a request without a uid has nothing");
        }
    }

    #[test]
    fn a_name_that_is_too_long_for_a_label_still_names_its_request() {
        let label = |name: &str| {
            let mut request = HelmRequest::default();
            request.metadata.name = Some(name.to_owned());
            request.metadata.uid = Some("u".to_owned());
            request.metadata.namespace = Some("apps".to_owned());
            owner_of(&labels(&request, 1, "d")).expect("has an owner")
        };
        let (short, long) = ("a".repeat(63), "a".repeat(64));
        assert!(label(&short).name == short && !label(&short).is_shortened());
        let owner = label(&long);
        assert!(owner.name.len() == 63 && owner.is_shortened(), "{owner:?}");
        assert_ne!(owner, label(&"a".repeat(65)), "two long names do not share a label");
    }

    #[test]
    fn a_copy_of_the_labels_in_a_later_version_is_no_stamp() {
        let mut request = HelmRequest::default();
        request.metadata.uid = Some("u".to_owned());
        request.metadata.name = Some("web".to_owned());
        request.metadata.namespace = Some("apps".to_owned());
        let labels = labels(&request, 3, "abc");
        let mut version = Summary { number: 3, labels, ..Summary::default() };
        assert_eq!(digest(&version, "u").as_deref(), Some("abc"));
        assert_eq!(digest(&version, "other"), None);
        version.number = 4;
        assert_eq!(digest(&version, "u"), None);
        assert_eq!(owner(&version).map(|owner| owner.name), Some("web".to_owned()));
    }
}
