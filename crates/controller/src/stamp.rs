//! Labels on release versions that say which request made them, and from what. They are part of the record, so that a
//! controller that was killed before it could write its status knows what it had done.

use std::collections::BTreeMap;

use pintle::release::Summary;

use crate::request::HelmRequest;

const UID: &str = "helm.sh/request-uid";
const NAMESPACE: &str = "helm.sh/request-namespace";
const NAME: &str = "helm.sh/request-name";
const DIGEST: &str = "helm.sh/request-digest";

/// The longest value of a label.
const MAX_VALUE: usize = 63;

/// The request that made a version, or an earlier version that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The labels for a version that a request makes.
pub(crate) fn labels(request: &HelmRequest, number: u64, digest: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([
        (UID.to_owned(), request.uid().to_owned()),
        (NAMESPACE.to_owned(), request.namespace().to_owned()),
        // Later versions copy the labels of earlier ones, whoever makes them. The number tells the copies apart.
        (DIGEST.to_owned(), format!("{number}.{digest}")),
    ]);
    if request.name().len() <= MAX_VALUE {
        labels.insert(NAME.to_owned(), request.name().to_owned());
    }
    labels
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
