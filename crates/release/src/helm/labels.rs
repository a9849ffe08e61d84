//! The labels of stored releases, and the annotations that hold a lease, which Helm ignores.

use std::collections::BTreeMap;

use super::Error;
use crate::{Lease, ReleaseVersion, Timestamp};

/// Helm's system labels, which users may not set.
const SYSTEM_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// The annotation with the identity of the lease holder.
pub const LEASE_HOLDER: &str = "pintle.dev/lease-holder";
/// The annotation with the time at which the lease was acquired.
pub const ACQUIRE_TIME: &str = "pintle.dev/lease-acquire-time";
/// The annotation with the time of the last renewal.
pub const RENEW_TIME: &str = "pintle.dev/lease-renew-time";
/// The annotation with the lease duration.
pub const LEASE_DURATION_SECONDS: &str = "pintle.dev/lease-duration-seconds";

/// The annotation that a writer sets on a version before adding the next one; see the optimistic lock of the
/// cluster's Helm store.
pub const SUCCESSOR: &str = "pintle.dev/successor";

/// The timestamp label of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampLabel {
    /// `createdAt`, for a new record.
    Created(Timestamp),
    /// `modifiedAt`, for an updated record.
    Modified(Timestamp),
}

/// The labels of a stored version: the user's, the timestamp, and Helm's own, which take precedence.
pub fn labels(version: &ReleaseVersion, label_time: TimestampLabel) -> BTreeMap<String, String> {
    let (key, timestamp) = match label_time {
        TimestampLabel::Created(timestamp) => ("createdAt", timestamp),
        TimestampLabel::Modified(timestamp) => ("modifiedAt", timestamp),
    };
    let mut labels = BTreeMap::from([(key.to_owned(), timestamp.unix().to_string())]);
    labels.extend(version.labels.clone());
    // Last, so that a user's label cannot pretend to be one of Helm's.
    labels.extend([
        ("name".to_owned(), version.name.clone()),
        ("owner".to_owned(), "helm".to_owned()),
        ("status".to_owned(), version.status_word().to_owned()),
        ("version".to_owned(), version.number.to_string()),
    ]);
    labels
}

/// The labels without Helm's own.
pub fn user_labels(labels: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    labels.into_iter().filter(|(key, _)| !SYSTEM_LABELS.contains(&key.as_str())).collect()
}

/// Rejects user labels that are Helm's own.
///
/// # Errors
/// Helm's message, which lists the system labels.
pub fn check_user_labels<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    if keys.into_iter().any(|key| SYSTEM_LABELS.contains(&key)) {
        let system = SYSTEM_LABELS.join(" ");
        let text = "user supplied labels contains system reserved label name. System labels: ";
        return Err(Error::new(format!("{text}[{system}]")));
    }
    Ok(())
}

/// The annotations of a lease.
pub fn lease_annotations(lease: &Lease) -> [(&'static str, String); 4] {
    [
        (LEASE_HOLDER, lease.holder.clone()),
        (ACQUIRE_TIME, lease.since.to_string()),
        (RENEW_TIME, lease.renewed.to_string()),
        (LEASE_DURATION_SECONDS, lease.seconds.to_string()),
    ]
}

/// Reads a lease from annotations, looked up by `annotation`; `None` when one of them is missing or invalid.
pub fn lease_from_annotations<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Lease> {
    Some(Lease {
        holder: annotation(LEASE_HOLDER)?.to_owned(),
        since: Timestamp::parse(annotation(ACQUIRE_TIME)?).ok()?,
        renewed: Timestamp::parse(annotation(RENEW_TIME)?).ok()?,
        seconds: annotation(LEASE_DURATION_SECONDS)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_labels_win_over_the_user_s_and_times_lose() {
        let version = ReleaseVersion {
            name: "web".into(),
            number: 3,
            labels: [("owner", "me"), ("createdAt", "5"), ("team", "a")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..ReleaseVersion::default()
        };
        let labels = labels(&version, TimestampLabel::Created(Timestamp::from_unix(9, 0)));
        let shown: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(shown.join(" "), "createdAt=5 name=web owner=helm status=unknown team=a version=3");
        assert_eq!(user_labels(labels).into_keys().collect::<Vec<_>>(), ["team"]);
    }

    #[test]
    fn reserved_labels_are_refused_by_name() {
        assert!(check_user_labels(["team"]).is_ok());
        assert_eq!(
            check_user_labels(["team", "status"]).expect_err("reserved").to_string(),
            "user supplied labels contains system reserved label name. System labels: \
             [name owner status version createdAt modifiedAt]"
        );
    }

    #[test]
    fn leases_survive_as_annotations() {
        let lease = Lease::new("a@b:1", Timestamp::from_unix(7, 5), 30);
        let annotations = BTreeMap::from(lease_annotations(&lease));
        assert_eq!(lease_from_annotations(|key| annotations.get(key).map(String::as_str)), Some(lease));
        assert_eq!(lease_from_annotations(|_| None), None);
    }
}
