//! Plans: what is created, updated, adopted, deleted and kept, and that unchanged objects need no request.

use pintle_objects::{Object, ObjectId};
use pintle_plan::patch::MergeKeys;
use pintle_plan::{
    Action, Adoption, Change, DeletionRule, MergeBase, Method, PlanInput, RetainedObject, Snapshot, Step,
    batches, ownership, plan, removal,
};

use crate::recorded::cases;

const OPENAPI: &[u8] = include_bytes!("../data/openapi.json");
const CLIENT: Method = Method::ClientSide { custom_three_way: false };
const DELETION: DeletionRule = DeletionRule::ByLivePolicy;
const OWN: Adoption<'_> = Adoption::Marked { release: "web", namespace: "shop" };

fn object(api_version: &str, kind: &str, name: &str) -> Object {
    let mut object = Object::from_id(&ObjectId::new(api_version, kind, "shop", name));
    ownership::set(&mut object, "web", "shop");
    object
}

fn foreign(api_version: &str, kind: &str, name: &str) -> Object {
    Object::from_id(&ObjectId::new(api_version, kind, "shop", name))
}

fn actions(steps: &[Step<'_>]) -> Vec<(String, Action)> {
    steps.iter().map(|step| (step.id.name.clone(), step.action)).collect()
}

/// The desired objects of the recorded cases, each under its own name.
fn many() -> Vec<Object> {
    let recorded = cases(include_bytes!("../data/strategic.json"));
    let good =
        recorded.into_iter().filter(|case| case.error.is_none() && !case.name.contains("finalizers not"));
    good.enumerate()
        .map(|(index, case)| {
            let mut object = case.modified;
            let name = format!("{}-{index}", object.name());
            object.metadata_mut().insert("name".into(), name.into());
            ownership::set(&mut object, "web", "shop");
            object
        })
        .collect()
}

#[test]
fn a_plan_of_what_is_already_there_changes_nothing() {
    let objects = many();
    let live: Snapshot = objects.iter().cloned().collect();
    let keys = MergeKeys::parse(OPENAPI).expect("the extract is JSON");
    for adoption in [OWN, Adoption::Any, Adoption::Unchecked] {
        let plan = plan(&PlanInput {
            desired: &objects,
            previous: &objects,
            live: &live,
            adoption,
            deletion: DELETION,
        })
        .expect("a plan");
        assert!(!plan.changes_membership() && plan.removals.is_empty());
        assert_eq!(plan.steps.len(), objects.len());
        for step in plan.steps.iter().filter(|step| !step.id.name.contains("reordered")) {
            assert_eq!(step.action, Action::Update { base: MergeBase::Previous });
            assert_eq!(step.changes(), [], "{}", step.id);
            let change = Change::for_step(step, CLIENT, &keys).expect("a patch");
            let finalizers =
                step.desired.and_then(|desired| desired.at(&["metadata", "finalizers"])).is_some();
            assert!(change == Change::Unchanged || finalizers, "{}: {change:?}", step.id);
        }
    }
}

#[test]
fn objects_are_created_updated_and_removed() {
    let desired = [
        object("v1", "ConfigMap", "new"),
        object("v1", "ConfigMap", "stays"),
        object("v1", "Secret", "lost"),
    ];
    let mut kept = object("v1", "ConfigMap", "kept");
    kept.set_annotation("helm.sh/resource-policy", "keep");
    let mut loud = object("v1", "ConfigMap", "loud");
    loud.set_annotation("helm.sh/resource-policy", "KEEP");
    let previous = ["stays", "old", "kept", "loud", "gone"].map(|name| object("v1", "ConfigMap", name));
    let mut live: Snapshot = [previous[0].clone(), previous[1].clone(), kept, loud].into_iter().collect();
    let plan = plan(&PlanInput {
        desired: &desired,
        previous: &previous,
        live: &live,
        adoption: OWN,
        deletion: DELETION,
    })
    .expect("a plan");
    let update = Action::Update { base: MergeBase::Previous };
    assert_eq!(
        actions(&plan.steps),
        [("new".into(), Action::Create), ("stays".into(), update), ("lost".into(), Action::Create)]
    );
    assert_eq!(
        actions(&plan.removals),
        [
            ("old".into(), Action::Delete),
            ("kept".into(), Action::Keep),
            ("loud".into(), Action::Delete),
            ("gone".into(), Action::Forget)
        ]
    );
    assert!(plan.changes_membership());
    assert!(live.remove(&previous[0].id()).is_some() && live.len() == 3);
}

#[test]
fn an_object_in_another_version_is_the_same_object() {
    let (old, new) = (object("apps/v1beta1", "Deployment", "a"), object("apps/v1", "Deployment", "a"));
    let live: Snapshot = [new.clone()].into_iter().collect();
    let (desired, previous) = ([new], [old]);
    let plan = plan(&PlanInput {
        desired: &desired,
        previous: &previous,
        live: &live,
        adoption: OWN,
        deletion: DELETION,
    })
    .expect("a plan");
    assert_eq!(actions(&plan.steps), [("a".into(), Action::Update { base: MergeBase::Previous })]);
    assert!(plan.removals.is_empty());
}

#[test]
fn objects_of_others_are_refused_taken_or_left_to_the_rollback() {
    let desired = [object("v1", "ConfigMap", "a")];
    let live: Snapshot = [foreign("v1", "ConfigMap", "a")].into_iter().collect();
    let with = |adoption| {
        plan(&PlanInput { desired: &desired, previous: &[], live: &live, adoption, deletion: DELETION })
    };
    let error = with(OWN).expect_err("it is somebody else's").to_string();
    assert!(error.starts_with(
        "ConfigMap \"a\" in namespace \"shop\" exists and cannot be imported into the current release: invalid ownership \
         metadata; label validation error: missing key"
    ));
    let action = |adoption| with(adoption).expect("a plan").steps[0].action;
    assert_eq!(action(Adoption::Any), Action::Adopt);
    assert_eq!(action(Adoption::Unchecked), Action::Update { base: MergeBase::Live });
}

#[test]
fn a_marked_object_that_is_new_to_the_manifest_is_adopted() {
    let desired = [object("v1", "ConfigMap", "a")];
    let live: Snapshot = [object("v1", "ConfigMap", "a")].into_iter().collect();
    let plan =
        plan(&PlanInput { desired: &desired, previous: &[], live: &live, adoption: OWN, deletion: DELETION })
            .expect("a plan");
    assert_eq!(plan.steps[0].action, Action::Adopt);
}

#[test]
fn made_up_names_are_always_new_and_exclude_given_ones() {
    let mut unnamed = foreign("v1", "Pod", "");
    unnamed.metadata_mut().insert("generateName".into(), "a-".into());
    let desired = [unnamed.clone()];
    let live: Snapshot = [foreign("v1", "Pod", "")].into_iter().collect();
    let made =
        plan(&PlanInput { desired: &desired, previous: &[], live: &live, adoption: OWN, deletion: DELETION })
            .expect("a plan");
    assert_eq!(made.steps[0].action, Action::Create);
    unnamed.metadata_mut().insert("name".into(), "a".into());
    let desired = [unnamed];
    let error =
        plan(&PlanInput { desired: &desired, previous: &[], live: &live, adoption: OWN, deletion: DELETION });
    assert_eq!(
        error.expect_err("two names").to_string(),
        "metadata.name and metadata.generateName cannot both be set"
    );
}

#[test]
fn batches_are_runs_of_one_kind() {
    let desired = [("Secret", "a"), ("Secret", "b"), ("ConfigMap", "c"), ("Secret", "d")]
        .map(|(kind, name)| object("v1", kind, name));
    let live = Snapshot::default();
    let plan =
        plan(&PlanInput { desired: &desired, previous: &[], live: &live, adoption: OWN, deletion: DELETION })
            .expect("a plan");
    assert_eq!(batches(&plan.steps).map(<[_]>::len).collect::<Vec<_>>(), [2, 1, 1]);
}

#[test]
fn the_method_decides_what_is_sent() {
    let mut wanted = object("example.com/v1", "Widget", "w");
    wanted.body_mut().insert("spec".into(), 1.into());
    let mut drifted = wanted.clone();
    drifted.body_mut().insert("spec".into(), 2.into());
    let (desired, live) = ([wanted], [drifted].into_iter().collect::<Snapshot>());
    let plan = plan(&PlanInput {
        desired: &desired,
        previous: &desired,
        live: &live,
        adoption: OWN,
        deletion: DELETION,
    })
    .expect("a plan");
    let keys = MergeKeys::default();
    let change = |method| Change::for_step(&plan.steps[0], method, &keys).expect("a patch");
    assert_eq!(change(Method::ServerSide), Change::Apply);
    assert_eq!(change(Method::Replace), Change::Replace);
    // Helm ignores live changes of custom resources, unless it adopts them.
    assert_eq!(change(CLIENT), Change::Unchanged);
    assert!(
        matches!(change(Method::ClientSide { custom_three_way: true }), Change::Merge(patch) if patch.len() == 1)
    );
    assert_eq!(plan.steps[0].changes()[0].path, "spec");
}

#[test]
fn the_changes_of_a_step_leave_out_what_the_cluster_filled_in() {
    let with = |spec: &str| {
        let mut object = object("example.com/v1", "Widget", "w");
        let text = format!("{{\"spec\":{spec}}}");
        let spec = Object::read_json(text.as_bytes()).expect("good JSON").into_body();
        object.body_mut().insert("spec".into(), spec.get("spec").expect("just written").clone());
        object
    };
    let (desired, previous) =
        ([with(r#"{"a":2,"b":{"x":1}}"#)], [with(r#"{"a":1,"b":{"x":1,"y":1},"c":1,"d":1}"#)]);
    let live: Snapshot = [with(r#"{"a":1,"b":{"x":1,"y":1},"c":3,"filled":{"in":1}}"#)].into_iter().collect();
    let plan = plan(&PlanInput {
        desired: &desired,
        previous: &previous,
        live: &live,
        adoption: OWN,
        deletion: DELETION,
    })
    .expect("a plan");
    let paths: Vec<String> = plan.steps[0].changes().into_iter().map(|change| change.path).collect();
    assert_eq!(paths, ["spec.a", "spec.b.y", "spec.c"]);
}

#[test]
fn uninstalling_goes_by_kind_and_heeds_the_policy_of_the_manifest() {
    let document = |kind: &str, name: &str, policy: &str| {
        let annotations = if policy.is_empty() {
            String::new()
        } else {
            format!("  annotations: {{helm.sh/resource-policy: {policy}}}\n")
        };
        format!("---\n# Source: x\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n{annotations}")
    };
    let manifest = [
        document("ConfigMap", "a", ""),
        document("PersistentVolumeClaim", "data", "\" Keep \""),
        document("Service", "b", ""),
        document("ConfigMap", "c", "delete"),
        document("ConfigMap", "d", ""),
    ]
    .concat();
    let removal = removal(&manifest).expect("a good manifest");
    let live = Snapshot::default();
    let plan = plan(&PlanInput {
        desired: &[],
        previous: &removal.delete,
        live: &live,
        adoption: Adoption::Unchecked,
        deletion: DeletionRule::All,
    })
    .expect("a plan");
    assert!(plan.removals.iter().all(|step| step.action == Action::Delete), "{:?}", plan.removals);
    let ids: Vec<String> = plan.removals.iter().map(|step| step.id.to_string()).collect();
    assert_eq!(ids, ["Service/b", "ConfigMap/a", "ConfigMap/d"]);
    let kept = RetainedObject { kind: "PersistentVolumeClaim".into(), name: "data".into() };
    assert_eq!(removal.keep, [kept]);
}

#[test]
fn a_manifest_that_is_no_yaml_cannot_be_removed() {
    assert!(removal("a: [\n").expect_err("no YAML").to_string().starts_with("corrupted release record."));
}
