//! The marker that a release leaves in Helm's storage when it is moved to another store.
//!
//! Helm does not know other stores, so to it the name would be free: `helm upgrade --install` would become a second owner
//! of the objects. The marker is a record that Helm finds as the newest revision, with a status in which it refuses to
//! install and upgrade. It is found by its labels only: its key is not that of a revision, so Helm can neither roll back to
//! it nor purge it. It has no objects, and a `pre-delete` hook of an unknown kind, so that `helm uninstall` stops before it
//! reports a running application as uninstalled; the path of the hook, which Helm prints, says where the release is.

use crate::{HookEvent, Info, ReleaseVersion, Status, StoredHook, Summary};

/// The label of a marker; its value is the `HELM_DRIVER` of the store that has the release now.
pub const MOVED_TO: &str = "pintle.dev/moved-to";

/// The hook of a marker. No cluster serves the kind.
const HOOK: &str = "apiVersion: pintle.dev/v1\nkind: MovedRelease\nmetadata:\n  name: moved\n";

/// The name of the Secret or ConfigMap of a marker; other stores use it as key. Names of records end in a number.
pub fn marker_name(name: &str) -> String {
    format!("sh.helm.release.v1.{name}.moved")
}

/// The record of a marker for a release whose newest version was `last`. `from` and `to` are the `HELM_DRIVER`s of the store
/// that the marker is in and of the one that has the release now.
pub fn marker(last: &Summary, from: &str, to: &str) -> ReleaseVersion {
    let place = match to {
        "native" => "a Release object of Pintle".to_owned(),
        driver => format!("HELM_DRIVER={driver}"),
    };
    let description = format!("moved to {place}; to bring it back: pintle adopt {} --to {from}", last.name);
    let mut version = ReleaseVersion {
        name: last.name.clone(),
        namespace: last.namespace.clone(),
        number: last.number.saturating_add(1),
        info: Info {
            first_deployed: last.first_deployed,
            last_deployed: last.last_deployed,
            status: Status::PendingUpgrade,
            description: description.clone(),
            ..Info::default()
        },
        hooks: vec![StoredHook {
            name: "moved".to_owned(),
            kind: "MovedRelease".to_owned(),
            path: format!("({description})"),
            manifest: HOOK.to_owned(),
            events: vec![HookEvent::PreDelete],
            ..StoredHook::default()
        }],
        labels: [(MOVED_TO.to_owned(), to.to_owned())].into(),
        ..ReleaseVersion::default()
    };
    let metadata = &mut version.chart.metadata;
    metadata.api_version = "v2".to_owned();
    metadata.name.clone_from(&last.chart_name);
    metadata.version.clone_from(&last.chart_version);
    metadata.app_version.clone_from(&last.app_version);
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_pending_has_no_objects_and_says_how_to_bring_the_release_back() {
        let last = Summary { name: "web".into(), number: 3, chart_name: "app".into(), ..Summary::default() };
        let marker = marker(&last, "secret", "native");
        assert_eq!((marker.number, marker.info.status), (4, Status::PendingUpgrade));
        assert_eq!((marker.manifest.as_str(), marker.chart.metadata.name.as_str()), ("", "app"));
        assert_eq!(
            marker.info.description,
            "moved to a Release object of Pintle; to bring it back: pintle adopt web --to secret"
        );
        assert_eq!(marker.labels.get(MOVED_TO).map(String::as_str), Some("native"));
        assert_ne!(marker_name("web"), super::super::object_name("web", 4));
    }
}
