//! The mapping of releases and release versions to custom resources.

use std::collections::BTreeMap;

use pintle_objects::{Object, ObjectId};
use pintle_release::helm::{self, TimestampLabel};
use pintle_release::{HookPhase, Lease, ReleaseVersion, Status, Summary, Timestamp, VersionId};
use pintle_tree::{Map, Node};

use super::api;
use super::content::{self, ChartRef};
use crate::crds;

/// How many objects a version lists in its spec; custom resources must stay well below etcd's size limit.
const MAX_LISTED_OBJECTS: usize = 2_000;

/// Where the payload of a version is, as its `spec.payload` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PayloadRef {
    pub(super) secrets: Vec<String>,
    pub(super) size: usize,
    pub(super) digest: String,
    /// The chart, if it is not in these Secrets.
    pub(super) chart: Option<ChartRef>,
}

fn api_version() -> String {
    format!("{}/{}", crds::GROUP, crds::VERSION)
}

/// The object name of a version.
pub(super) fn version_name(release: &str, id: VersionId) -> String {
    format!("{release}-{id}")
}

/// The label selector of the versions of a release, or of those with the given numbers.
pub(super) fn selector(release: &str, numbers: &[u64]) -> String {
    let mut selector = format!("{},name={release}", helm::OWNER_SELECTOR);
    if !numbers.is_empty() {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        selector.push_str(&format!(",version in ({})", numbers.join(",")));
    }
    selector
}

/// Whether a version belongs to a release that points to `pointer`. A version with a higher number, or with the
/// number of another one, was written by a writer that lost the race or was killed before it moved the pointer.
pub(super) fn belongs_to_release(version: &Summary, pointer: Option<(VersionId, u64)>) -> bool {
    pointer.is_some_and(|(current, number)| {
        // Numbers below the pointer were current once. What lost against them was deleted when the pointer moved.
        version.number < number || (version.number == number && version.id == Some(current))
    })
}

/// An entry of `metadata.ownerReferences`.
pub(super) fn owner_reference(owner: &Object) -> Map<Node> {
    Map::from_entries(vec![
        ("apiVersion".into(), owner.api_version().into()),
        ("kind".into(), owner.kind().into()),
        ("name".into(), owner.name().into()),
        ("uid".into(), owner.uid().into()),
    ])
}

/// Sets the owner reference of an object.
pub(super) fn set_owner(object: &mut Object, owner: &Object) {
    let owners = Node::List(vec![Node::Map(owner_reference(owner))]);
    object.metadata_mut().insert("ownerReferences".into(), owners);
}

/// Whether a version was written for this release. `kubectl delete --cascade=orphan` of a release leaves versions without an owner,
/// which are nothing to a later release of that name.
pub(super) fn is_owned_by(version: &Object, release: &Object) -> bool {
    let owners = version.at(&["metadata", "ownerReferences"]).and_then(Node::as_list).unwrap_or_default();
    owners.iter().any(|owner| owner.get("uid").and_then(Node::as_str) == Some(release.uid()))
}

/// A release that points to no version yet.
pub(super) fn new_release(version: &ReleaseVersion) -> Object {
    let mut object =
        Object::from_id(&ObjectId::new(&api_version(), "Release", &version.namespace, &version.name));
    object.body_mut().insert("spec".into(), Node::Map(spec(version)));
    object
}

/// Points a release to a version.
pub(super) fn set_pointer(release: &mut Object, version: &ReleaseVersion, id: VersionId) {
    release.metadata_mut().insert("labels".into(), labels(version));
    release.body_mut().insert("spec".into(), Node::Map(spec(version)));
    let mut status: Map<Node> = mirror(version).into_iter().map(|(key, value)| (key.into(), value)).collect();
    status.insert("current".into(), id.to_string().into());
    status.insert("number".into(), number(version.number));
    release.body_mut().insert("status".into(), Node::Map(status));
}

/// The status fields that a release copies from its current version, for `kubectl get`.
pub(super) fn mirror(version: &ReleaseVersion) -> Vec<(&'static str, Node)> {
    let mut fields = vec![
        ("status", version.status_word().into()),
        ("description", version.info.description.as_str().into()),
    ];
    let times =
        [("firstDeployed", version.info.first_deployed), ("lastDeployed", version.info.last_deployed)];
    fields.extend(times.into_iter().filter_map(|(key, moment)| Some((key, moment?.to_string().into()))));
    fields
}

/// The id and number of the version that a release points to.
pub(super) fn pointer(release: &Object) -> Option<(VersionId, u64)> {
    let id = VersionId::parse(release.text(&["status", "current"]))?;
    Some((id, number_at(release, &["status", "number"])))
}

/// The `ReleaseVersion` object of a version, without owner.
pub(super) fn new_version(
    version: &ReleaseVersion,
    id: VersionId,
    lease: Option<&Lease>,
    note: &PayloadRef,
) -> Object {
    let name = version_name(&version.name, id);
    let mut object =
        Object::from_id(&ObjectId::new(&api_version(), "ReleaseVersion", &version.namespace, &name));
    object.metadata_mut().insert("labels".into(), labels(version));
    if let Some(chart) = &note.chart {
        // By this, a sweeper finds who refers to the chart.
        object.set_label(content::LABEL, chart.label());
    }
    let mut spec = spec(version);
    spec.insert("release".into(), version.name.as_str().into());
    spec.insert("number".into(), number(version.number));
    let mut payload = payload_node(note);
    if let Node::Map(payload) = &mut payload {
        payload.retain(|_, value| !value.is_nil());
    }
    spec.insert("payload".into(), payload);
    list_objects(&mut spec, &version.manifest);
    object.body_mut().insert("spec".into(), Node::Map(spec));
    let mut status = status(version, lease);
    // Nulls remove fields in a merge patch; in a new object they would be rejected by the schema.
    status.retain(|_, value| !value.is_nil());
    object.body_mut().insert("status".into(), Node::Map(status));
    object
}

/// The merge patch for a status change; `Nil` removes a field.
pub(super) fn update_patch(
    version: &ReleaseVersion,
    lease: Option<&Lease>,
    note: Option<&PayloadRef>,
) -> Map<Node> {
    let mut patch = Map::new();
    patch.insert("status".into(), Node::Map(status(version, lease)));
    let metadata = Map::from_entries(vec![("labels".into(), labels(version))]);
    patch.insert("metadata".into(), Node::Map(metadata));
    let mut spec = spec(version);
    if let Some(note) = note {
        spec.insert("payload".into(), payload_node(note));
        list_objects(&mut spec, &version.manifest);
    }
    patch.insert("spec".into(), Node::Map(spec));
    patch
}

/// Converts a merge patch of [`update_patch`] to the operations of a JSON patch, which `test` operations can precede. The
/// fields of `metadata` and `spec` are set one by one, because others may have set further ones.
pub(super) fn patch_operations(patch: &Map<Node>) -> Vec<Node> {
    let mut operations = Vec::new();
    for (section, value) in patch.iter().filter_map(|(key, value)| Some((key.as_str()?, value.as_map()?))) {
        match section {
            "status" => {
                let mut status = value.clone();
                status.retain(|_, value| !value.is_nil());
                // `add` replaces a member that exists (RFC 6902), and unlike `replace` it works where there is none.
                operations.push(api::json_patch_op("add", "/status", Node::Map(status)));
            }
            _ => {
                let (at, fields) = match value.get("labels").and_then(Node::as_map) {
                    Some(labels) if section == "metadata" => ("/metadata/labels", labels),
                    _ => ("/spec", value),
                };
                operations.extend(fields.iter().filter_map(|(key, value)| {
                    let key = key.as_str()?.replace('~', "~0").replace('/', "~1");
                    let mut value = value.clone();
                    if let Node::Map(fields) = &mut value {
                        fields.retain(|_, value| !value.is_nil());
                    }
                    Some(api::json_patch_op("add", &format!("{at}/{key}"), value))
                }));
            }
        }
    }
    operations
}

/// Makes a merge patch conditional on a resource version.
pub(super) fn set_precondition(patch: &mut Map<Node>, resource_version: &str) {
    if let Some(Node::Map(metadata)) = patch.get_mut("metadata") {
        metadata.insert("resourceVersion".into(), resource_version.into());
    }
}

/// The merge patch that sets or removes a lease and changes nothing else, conditional on a resource version.
pub(super) fn lease_patch(lease: Option<&Lease>, resource_version: &str) -> Map<Node> {
    let lease = lease.map_or(Node::Nil, |lease| Node::Map(lease_node(lease)));
    let mut patch = Map::from_entries(vec![
        ("metadata".into(), Node::Map(Map::new())),
        ("status".into(), Node::Map(Map::from_entries(vec![("lease".into(), lease)]))),
    ]);
    set_precondition(&mut patch, resource_version);
    patch
}

/// The merge patch that restores the status of an earlier read, conditional on a resource version.
pub(super) fn revert_patch(seen: &Summary, resource_version: &str) -> Map<Node> {
    let lease = seen.lease.as_ref().map_or(Node::Nil, |lease| Node::Map(lease_node(lease)));
    let status = Map::from_entries(vec![
        ("lease".into(), lease),
        ("deleted".into(), Node::Nil),
        ("description".into(), seen.description.as_str().into()),
        ("status".into(), seen.status_word.as_str().into()),
    ]);
    let labels = Map::from_entries(vec![("status".into(), seen.status_word.as_str().into())]);
    let metadata = Map::from_entries(vec![("labels".into(), Node::Map(labels))]);
    let mut patch = Map::from_entries(vec![
        ("metadata".into(), Node::Map(metadata)),
        ("status".into(), Node::Map(status)),
    ]);
    set_precondition(&mut patch, resource_version);
    patch
}

fn payload_node(note: &PayloadRef) -> Node {
    let secrets = note.secrets.iter().map(|name| Node::from(name.as_str())).collect();
    let chart = note.chart.as_ref().map_or(Node::Nil, |chart| {
        let secrets = chart.secrets.iter().map(|name| Node::from(name.as_str())).collect();
        Node::Map(Map::from_entries(vec![
            ("at".into(), number(chart.at as u64)),
            ("digest".into(), chart.digest.as_str().into()),
            ("secrets".into(), Node::List(secrets)),
        ]))
    });
    Node::Map(Map::from_entries(vec![
        ("chart".into(), chart),
        ("digest".into(), note.digest.as_str().into()),
        ("secrets".into(), Node::List(secrets)),
        ("size".into(), number(note.size as u64)),
    ]))
}

/// The merge patch that replaces the payload of a version, conditional on a resource version.
pub(super) fn payload_patch(note: &PayloadRef, resource_version: &str) -> Map<Node> {
    let spec = Map::from_entries(vec![("payload".into(), payload_node(note))]);
    let mut patch =
        Map::from_entries(vec![("metadata".into(), Node::Map(Map::new())), ("spec".into(), Node::Map(spec))]);
    set_precondition(&mut patch, resource_version);
    patch
}

/// The payload reference of a version.
pub(super) fn payload_ref(object: &Object) -> PayloadRef {
    let names = |path: &[&str]| -> Vec<String> {
        let names = object.at(path).and_then(Node::as_list).unwrap_or_default();
        names.iter().filter_map(Node::as_str).map(str::to_owned).collect()
    };
    let chart = object.at(&["spec", "payload", "chart"]).map(|_| ChartRef {
        secrets: names(&["spec", "payload", "chart", "secrets"]),
        digest: object.text(&["spec", "payload", "chart", "digest"]).to_owned(),
        at: usize::try_from(number_at(object, &["spec", "payload", "chart", "at"])).unwrap_or(usize::MAX),
    });
    PayloadRef {
        secrets: names(&["spec", "payload", "secrets"]),
        chart,
        size: usize::try_from(number_at(object, &["spec", "payload", "size"])).unwrap_or(usize::MAX),
        digest: object.text(&["spec", "payload", "digest"]).to_owned(),
    }
}

/// The labels that Helm's stores set too, except the timestamps, so that the same selectors work everywhere.
fn labels(version: &ReleaseVersion) -> Node {
    let mut labels = helm::labels(version, TimestampLabel::Created(Timestamp::ZERO));
    if !version.labels.contains_key("createdAt") {
        labels.remove("createdAt");
    }
    api::texts(&labels)
}

fn spec(version: &ReleaseVersion) -> Map<Node> {
    let metadata = &version.chart.metadata;
    let chart = Map::from_entries(vec![
        ("appVersion".into(), metadata.app_version.as_str().into()),
        ("name".into(), metadata.name.as_str().into()),
        ("version".into(), metadata.version.as_str().into()),
    ]);
    let mut spec = Map::new();
    spec.insert("applyMethod".into(), version.apply_method.as_str().into());
    spec.insert("chart".into(), Node::Map(chart));
    spec.insert("labels".into(), api::texts(&version.labels));
    spec
}

/// Lists the objects of a manifest. An invalid manifest yields none, since the manifest itself is in the payload.
fn list_objects(spec: &mut Map<Node>, manifest: &str) {
    let objects = Object::read_manifest(manifest.as_bytes(), "manifest").unwrap_or_default();
    let names =
        objects.iter().take(MAX_LISTED_OBJECTS).map(|object| object.id().to_string().into()).collect();
    spec.insert("objects".into(), Node::List(names));
    if let Some(more) = objects.len().checked_sub(MAX_LISTED_OBJECTS).filter(|more| *more > 0) {
        spec.insert("moreObjects".into(), number(more as u64));
    }
}

fn status(version: &ReleaseVersion, lease: Option<&Lease>) -> Map<Node> {
    let info = &version.info;
    let moment = |moment: Option<Timestamp>| moment.map_or(Node::Nil, |moment| moment.to_string().into());
    let hooks = version.hooks.iter().map(|hook| {
        let mut run = Map::new();
        run.insert("name".into(), hook.name.as_str().into());
        run.insert("phase".into(), hook.last_run.phase.as_str().into());
        for (key, time) in [("started", hook.last_run.started), ("completed", hook.last_run.completed)] {
            if let Some(time) = time {
                run.insert(key.into(), time.to_string().into());
            }
        }
        Node::Map(run)
    });
    Map::from_entries(vec![
        ("lease".into(), lease.map_or(Node::Nil, |lease| Node::Map(lease_node(lease)))),
        ("deleted".into(), moment(info.deleted)),
        ("description".into(), info.description.as_str().into()),
        ("firstDeployed".into(), moment(info.first_deployed)),
        ("hooks".into(), Node::List(hooks.collect())),
        ("lastDeployed".into(), moment(info.last_deployed)),
        ("rollbackTo".into(), info.rollback_revision.map_or(Node::Nil, number)),
        ("status".into(), version.status_word().into()),
    ])
}

/// A lease as in `status.lease`, with the field names of Kubernetes' `LeaseSpec`.
pub(super) fn lease_node(lease: &Lease) -> Map<Node> {
    Map::from_entries(vec![
        ("holderIdentity".into(), lease.holder.as_str().into()),
        ("leaseDurationSeconds".into(), Node::Int(lease.seconds.into())),
        ("renewTime".into(), lease.renewed.to_string().into()),
        ("acquireTime".into(), lease.since.to_string().into()),
    ])
}

fn lease(object: &Object) -> Option<Lease> {
    let text = |key| object.text(&["status", "lease", key]);
    let seconds = object.int(&["status", "lease", "leaseDurationSeconds"])?;
    Some(Lease {
        holder: text("holderIdentity").to_owned(),
        since: Timestamp::parse(text("acquireTime")).ok()?,
        renewed: Timestamp::parse(text("renewTime")).ok()?,
        seconds: u32::try_from(seconds).ok()?,
    })
}

fn number(number: u64) -> Node {
    Node::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn number_at(object: &Object, path: &[&str]) -> u64 {
    object.int(path).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

fn moment_at(object: &Object, path: &[&str]) -> Option<Timestamp> {
    Timestamp::parse(object.text(path)).ok()
}

/// What a version contains without its payload.
pub(super) fn version_summary(object: &Object) -> Summary {
    let release = object.text(&["spec", "release"]);
    let id = object
        .name()
        .strip_prefix(release)
        .and_then(|rest| rest.strip_prefix('-'))
        .and_then(VersionId::parse);
    Summary {
        name: release.to_owned(),
        number: number_at(object, &["spec", "number"]),
        id,
        lease: lease(object),
        state: object.resource_version().to_owned(),
        ..summary(object)
    }
}

/// Whether an object is being deleted.
pub(super) fn is_terminating(object: &Object) -> bool {
    !object.text(&["metadata", "deletionTimestamp"]).is_empty()
}

/// Whether a release is being uninstalled.
pub(super) fn is_uninstalling(release: &Object) -> bool {
    summary(release).status == Status::Uninstalling
}

/// The summary of a release's current version; `None` when it has none.
pub(super) fn release_summary(object: &Object) -> Option<Summary> {
    let (id, number) = pointer(object)?;
    Some(Summary { name: object.name().to_owned(), number, id: Some(id), ..summary(object) })
}

/// The fields that both kinds have in common.
fn summary(object: &Object) -> Summary {
    let word = object.text(&["status", "status"]);
    let text = |path: &[&str]| object.text(path).to_owned();
    Summary {
        namespace: object.namespace().to_owned(),
        status: Status::parse(word).unwrap_or_default(),
        status_word: word.to_owned(),
        chart_name: text(&["spec", "chart", "name"]),
        chart_version: text(&["spec", "chart", "version"]),
        app_version: text(&["spec", "chart", "appVersion"]),
        first_deployed: moment_at(object, &["status", "firstDeployed"]),
        last_deployed: moment_at(object, &["status", "lastDeployed"]),
        description: text(&["status", "description"]),
        rollback_revision: object
            .int(&["status", "rollbackTo"])
            .and_then(|number| u64::try_from(number).ok())
            .filter(|number| *number != 0),
        labels: user_labels(object),
        apply_method: text(&["spec", "applyMethod"]),
        ..Summary::default()
    }
}

fn user_labels(object: &Object) -> BTreeMap<String, String> {
    api::text_map(object.at(&["spec", "labels"]))
}

/// Adds what the object contains to a version that was read from its payload.
pub(super) fn fill_from_object(version: &mut ReleaseVersion, object: &Object) {
    let summary = version_summary(object);
    version.name = summary.name;
    version.namespace = summary.namespace;
    version.number = summary.number;
    version.id = summary.id;
    version.labels = summary.labels;
    version.apply_method = summary.apply_method;
    let info = &mut version.info;
    info.status = summary.status;
    info.description = summary.description;
    info.first_deployed = summary.first_deployed;
    info.last_deployed = summary.last_deployed;
    info.deleted = moment_at(object, &["status", "deleted"]);
    info.rollback_revision = summary.rollback_revision;
    if Status::parse(&summary.status_word).is_none() {
        version.preserved.get_or_insert_default().status = Some(summary.status_word);
    }
    let runs = object.at(&["status", "hooks"]).and_then(Node::as_list).unwrap_or_default();
    for (hook, run) in version.hooks.iter_mut().zip(runs) {
        let text = |key| run.get(key).and_then(Node::as_str).unwrap_or_default();
        hook.last_run.started = Timestamp::parse(text("started")).ok();
        hook.last_run.completed = Timestamp::parse(text("completed")).ok();
        hook.last_run.phase = HookPhase::parse(text("phase"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_release::StoredHook;

    fn version() -> ReleaseVersion {
        let mut version = ReleaseVersion {
            name: "web-app".into(),
            namespace: "ns".into(),
            number: 4,
            manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n".into(),
            hooks: vec![StoredHook { name: "h".into(), ..StoredHook::default() }],
            apply_method: "ssa".into(),
            labels: [("team".to_owned(), "a".to_owned())].into(),
            ..ReleaseVersion::default()
        };
        version.info.status = Status::PendingUpgrade;
        version.info.last_deployed = Some(Timestamp::from_unix(5, 7));
        version.info.rollback_revision = Some(2);
        version.hooks[0].last_run.phase = HookPhase::Running;
        version.chart.metadata.name = "app".into();
        version
    }

    #[test]
    fn a_version_survives_as_a_resource() {
        let id = VersionId::new(1_700_000_000_000, 9);
        let lease = Lease::new("me", Timestamp::from_unix(3, 0), 30);
        let chart = ChartRef { secrets: vec!["c".into()], digest: "sha256:1".into(), at: 7 };
        let note =
            PayloadRef { secrets: vec!["a".into()], size: 5, digest: "sha256:0".into(), chart: Some(chart) };
        let object = new_version(&version(), id, Some(&lease), &note);
        assert_eq!(payload_ref(&object), note);
        assert_eq!(object.name(), format!("web-app-{id}"));
        let summary = version_summary(&object);
        assert_eq!((summary.id, summary.number, summary.lease), (Some(id), 4, Some(lease)));
        assert_eq!(object.at(&["spec", "objects"]), Some(&Node::List(vec!["ConfigMap/ns/a".into()])));
        let mut read = ReleaseVersion {
            manifest: version().manifest,
            hooks: vec![StoredHook { name: "h".into(), ..StoredHook::default() }],
            chart: version().chart,
            ..ReleaseVersion::default()
        };
        fill_from_object(&mut read, &object);
        assert_eq!(read, ReleaseVersion { id: Some(id), ..version() });
    }

    #[test]
    fn a_release_points_to_its_current_version() {
        let id = VersionId::new(1_700_000_000_000, 9);
        let mut release = new_release(&version());
        assert_eq!(release_summary(&release), None);
        set_pointer(&mut release, &version(), id);
        assert_eq!(pointer(&release), Some((id, 4)));
        let summary = release_summary(&release).expect("points to one");
        assert_eq!((summary.status, summary.chart_name.as_str()), (Status::PendingUpgrade, "app"));
        assert_eq!(release.label("version"), Some("4"));
        assert_eq!(release.label("createdAt"), None);
    }

    #[test]
    fn what_a_release_never_pointed_to_is_no_part_of_it() {
        let id = |random| VersionId::new(1_700_000_000_000, random);
        let version = |number, random| Summary { number, id: Some(id(random)), ..Summary::default() };
        let pointer = Some((id(5), 4));
        assert!(belongs_to_release(&version(3, 1), pointer) && belongs_to_release(&version(4, 5), pointer));
        assert!(!belongs_to_release(&version(4, 6), pointer) && !belongs_to_release(&version(5, 7), pointer));
        assert!(!belongs_to_release(&version(1, 1), None));
    }

    #[test]
    fn a_change_under_a_lease_sets_what_the_merge_patch_sets() {
        let mut version = version();
        version.labels = [("example.com/team~a".to_owned(), "a".to_owned())].into();
        let operations = patch_operations(&update_patch(&version, None, None));
        let text = |operation: &Node, key: &str| {
            operation.get(key).and_then(Node::as_str).unwrap_or_default().to_owned()
        };
        let paths: Vec<String> = operations.iter().map(|operation| text(operation, "path")).collect();
        for expected in
            ["/metadata/labels/example.com~1team~0a", "/metadata/labels/status", "/spec/chart", "/status"]
        {
            assert!(paths.iter().any(|path| path == expected), "{expected} in {paths:?}");
        }
        assert!(operations.iter().all(|operation| text(operation, "op") == "add"));
        let status =
            operations.iter().find(|operation| text(operation, "path") == "/status").expect("is set");
        assert!(status.get("value").is_some_and(|status| status.get("lease").is_none()), "it is released");
    }

    #[test]
    fn a_change_takes_away_what_is_no_longer_there() {
        let patch = update_patch(&version(), None, None);
        let status = patch.get("status").expect("has a status");
        assert_eq!(status.get("lease"), Some(&Node::Nil));
        assert!(patch.get("spec").expect("has a spec").get("payload").is_none());
    }
}
