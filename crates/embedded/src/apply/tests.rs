//! Sequences of applies and updates, and the managed fields after them.

use pintle_tree::{Node, json};

use super::*;
use crate::schema::{ApiCatalog, Shape};

fn node(text: &str) -> Node {
    json::read_exact(text.as_bytes()).unwrap()
}

fn schema(group: &str, version: &str, kind: &str) -> Schema<'static> {
    let table = ApiCatalog::newest();
    table.schema(table.kind(group, version, kind).unwrap()).unwrap()
}

fn field_manager<'a>(manager: &'a str, api_version: &'a str, reset: &'a FieldSet) -> FieldManager<'a> {
    FieldManager {
        name: manager,
        api_version,
        subresource: "",
        now: "2026-01-01T00:00:00Z",
        reset_fields: reset,
    }
}

fn config_map(data: &str) -> Node {
    node(&format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c"}},"data":{data}}}"#))
}

fn apply_config_map(live: &Node, data: &str, manager: &str, force: bool) -> Result<Applied, Status> {
    let nothing = FieldSet::default();
    let created = live.get("data").is_none();
    apply(
        schema("", "v1", "ConfigMap"),
        live,
        &config_map(data),
        &field_manager(manager, "v1", &nothing),
        force,
        created,
    )
}

fn owners(object: &Node) -> String {
    let entries =
        object.get("metadata").unwrap().get("managedFields").and_then(Node::as_list).unwrap_or_default();
    let one = |entry: &Node| {
        let fields = String::from_utf8(json::write_raw(entry.get("fieldsV1").unwrap()).unwrap()).unwrap();
        let text = |key: &str| entry.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        format!("{} {} {fields}", text("manager"), text("operation"))
    };
    entries.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn empty() -> Node {
    node(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#)
}

#[test]
fn an_applier_owns_what_it_applies_and_no_more() {
    let first = apply_config_map(&empty(), r#"{"a":"1"}"#, "m1", false).unwrap();
    assert_eq!(owners(&first.object), r#"m1 Apply {"f:data":{"f:a":{}}}"#);
    let again = apply_config_map(&first.object, r#"{"a":"1"}"#, "m1", false).unwrap();
    assert!(!again.changed && again.object == first.object);
}

#[test]
fn another_managers_field_conflicts_unless_equal_or_forced() {
    let first = apply_config_map(&empty(), r#"{"a":"1"}"#, "m1", false).unwrap().object;
    let refused = apply_config_map(&first, r#"{"a":"2","b":"3"}"#, "m2", false).unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (409, r#"Apply failed with 1 conflict: conflict with "m1": .data.a"#)
    );
    let shared = apply_config_map(&first, r#"{"a":"1","b":"3"}"#, "m2", false).unwrap().object;
    assert_eq!(
        owners(&shared),
        "m1 Apply {\"f:data\":{\"f:a\":{}}}\nm2 Apply {\"f:data\":{\"f:a\":{},\"f:b\":{}}}"
    );
    let forced = apply_config_map(&shared, r#"{"a":"5"}"#, "m1", true).unwrap().object;
    assert_eq!(owners(&forced), "m1 Apply {\"f:data\":{\"f:a\":{}}}\nm2 Apply {\"f:data\":{\"f:b\":{}}}");
    let given_up = apply_config_map(&forced, "{}", "m2", false).unwrap().object;
    assert_eq!(given_up.get("data"), Some(&node(r#"{"a":"5"}"#)));
    assert_eq!(owners(&given_up), "m1 Apply {\"f:data\":{\"f:a\":{}}}\nm2 Apply {\"f:data\":{}}");
}

fn deployment(containers: &str, more: &str) -> Node {
    node(&format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"s"}},"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},
           "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":{containers}}}}}{more}}}}}"#
    ))
}

fn apply_deployment(live: &Node, applied: &Node, manager: &str) -> Result<Applied, Status> {
    let status = FieldSet::from_paths(&[&["status"]]);
    let created = live.get("spec").is_none();
    apply(
        schema("apps", "v1", "Deployment"),
        live,
        applied,
        &field_manager(manager, "apps/v1", &status),
        false,
        created,
    )
}

#[test]
fn list_elements_are_identified_by_keys_with_defaults() {
    let blank = node(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"s"}}"#);
    let mine = deployment(
        r#"[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]}]"#,
        "",
    );
    let mut live = apply_deployment(&blank, &mine, "m1").unwrap().object;
    assert!(owners(&live).contains(
        r#""f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}"#
    ));
    let existing = deployment(
        r#"[{"name":"c","ports":[{"containerPort":80,"protocol":"TCP","name":"x"}]},{"name":"d","image":"k"}]"#,
        r#","replicas":3"#,
    );
    live = apply_deployment(&live, &existing, "m2").unwrap().object;
    let containers = |live: &Node| {
        live.get("spec")
            .unwrap()
            .get("template")
            .unwrap()
            .get("spec")
            .unwrap()
            .get("containers")
            .unwrap()
            .clone()
    };
    assert_eq!(containers(&live).as_list().unwrap().len(), 2);
    live = apply_deployment(&live, &deployment(r#"[{"name":"d","image":"k2"}]"#, ""), "m2").unwrap().object;
    assert_eq!(live.get("spec").unwrap().get("replicas"), None);
    assert_eq!(
        containers(&live),
        node(
            r#"[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]},{"name":"d","image":"k2"}]"#
        )
    );
    let both = deployment(
        r#"[{"name":"d","image":"k3"},{"name":"c","image":"zz","env":[{"name":"A","value":"9"},{"name":"B"}]}]"#,
        r#","replicas":9"#,
    );
    let refused = apply_deployment(&live, &both, "m3").unwrap_err();
    assert_eq!(
        refused.message,
        "Apply failed with 3 conflicts: conflicts with \"m1\":\n- .spec.template.spec.containers[name=\"c\"].image\n- \
         .spec.template.spec.containers[name=\"c\"].env[name=\"A\"].value\nconflicts with \"m2\":\n- \
         .spec.template.spec.containers[name=\"d\"].image"
    );
}

#[test]
fn invalid_configurations_are_rejected_with_the_servers_messages() {
    let blank = node(r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"s"}}"#);
    let problem = |applied: Node| {
        let status = apply_deployment(&blank, &applied, "m").unwrap_err();
        assert_eq!(status.code, 500);
        let start = "failed to create typed patch object (/s; apps/v1, Kind=Deployment): ";
        status.message.strip_prefix(start).unwrap().to_owned()
    };
    let cases = [
        (deployment("[]", r#","bar":1"#), ".spec.bar: field not declared in schema"),
        (
            deployment(r#"[{"name":"c"},{"name":"c"}]"#, ""),
            r#".spec.template.spec.containers: duplicate entries for key [name="c"]"#,
        ),
        (
            deployment("[null]", ""),
            ".spec.template.spec.containers: element 0: associative list with keys may not have a null element",
        ),
        (
            deployment("[1]", ""),
            ".spec.template.spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
        (
            deployment("[]", r#","replicas":"1""#),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (deployment("[]", r#","paused":"1""#), ".spec.paused: expected boolean, got &{1}"),
        (
            deployment(r#"[{"name":"c","image":1}]"#, ""),
            r#".spec.template.spec.containers[name="c"].image: expected string, got &value.valueUnstructured{Value:1}"#,
        ),
        (deployment("[]", r#","strategy":[1]"#), ".spec.strategy: expected map, got &{[1]}"),
    ];
    for (applied, text) in cases {
        assert_eq!(problem(applied), text);
    }
}

#[test]
fn updates_own_what_they_change_and_others_lose_it() {
    let status = FieldSet::from_paths(&[&["status"]]);
    let blank = node(
        r#"{"spec":{"selector":null,"strategy":{},"template":{"metadata":{},"spec":{"containers":null}}},"status":{},"metadata":{}}"#,
    );
    let mut live = deployment(r#"[{"name":"c","image":"i","resources":{}}]"#, "");
    update_managed_fields(
        schema("apps", "v1", "Deployment"),
        &blank,
        &mut live,
        &field_manager("h", "apps/v1", &status),
        true,
    );
    assert_eq!(
        owners(&live),
        r#"h Update {"f:spec":{"f:selector":{},"f:template":{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{}}}}}}}"#
    );
    let mut new = deployment(r#"[{"name":"c","image":"j","resources":{}}]"#, r#","replicas":1"#);
    update_managed_fields(
        schema("apps", "v1", "Deployment"),
        &live,
        &mut new,
        &field_manager("g", "apps/v1", &status),
        false,
    );
    let lines = owners(&new);
    assert!(lines.starts_with(r#"g Update {"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}}}}"#), "{lines}");
    assert!(!lines.split_once('\n').unwrap().1.contains("f:image"));
}

#[test]
fn cleared_managed_fields_return_with_the_first_apply() {
    let nothing = FieldSet::default();
    let live = apply_config_map(&empty(), r#"{"a":"1"}"#, "m1", false).unwrap().object;
    let mut bare = config_map(r#"{"a":"2"}"#);
    if let Some(Node::Map(metadata)) = bare.as_map_mut().unwrap().get_mut("metadata") {
        metadata.insert("managedFields".into(), node("[{}]"));
    }
    update_managed_fields(
        schema("", "v1", "ConfigMap"),
        &live,
        &mut bare,
        &field_manager("u", "v1", &nothing),
        false,
    );
    assert_eq!(owners(&bare), "");
    let refused = apply_config_map(&bare, r#"{"a":"3"}"#, "m1", false).unwrap_err();
    assert!(refused.message.contains(r#"conflict with "before-first-apply" using v1: .data.a"#), "{refused}");
}

#[test]
fn kubectl_takes_over_fields_of_client_side_apply() {
    let nothing = FieldSet::default();
    let mut live = config_map(r#"{"a":"1"}"#);
    let annotations = r#"{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\"}}"},"name":"c"}"#;
    live.as_map_mut().unwrap().insert("metadata".into(), node(annotations));
    update_managed_fields(
        schema("", "v1", "ConfigMap"),
        &empty(),
        &mut live,
        &field_manager("kubectl-client-side-apply", "v1", &nothing),
        true,
    );
    assert!(apply_config_map(&live, r#"{"a":"2"}"#, "other", false).is_err());
    let changed = apply_config_map(&live, r#"{"a":"2"}"#, "kubectl", false).unwrap().object;
    let annotation = changed.get("metadata").unwrap().get("annotations").unwrap().get(LAST_APPLIED).unwrap();
    assert!(annotation.as_str().unwrap().contains(r#""a":"2""#));
}

#[test]
fn more_than_ten_updaters_are_merged() {
    let nothing = FieldSet::default();
    let mut live = config_map("{}");
    update_managed_fields(
        schema("", "v1", "ConfigMap"),
        &empty(),
        &mut live,
        &field_manager("m00", "v1", &nothing),
        true,
    );
    for number in 1..14 {
        let mut new = live.clone();
        let data =
            (0..number).map(|at| (Str::from(format!("k{at}")), Node::from("x"))).collect::<Map<Node>>();
        new.as_map_mut().unwrap().insert("data".into(), Node::Map(data));
        let (name, now) = (format!("m{number:02}"), format!("2026-01-01T00:00:{number:02}Z"));
        let field_manager = FieldManager { now: &now, ..field_manager(&name, "v1", &nothing) };
        update_managed_fields(schema("", "v1", "ConfigMap"), &live, &mut new, &field_manager, false);
        live = new;
    }
    let lines = owners(&live);
    assert_eq!(lines.lines().count(), 10, "{lines}");
    assert!(lines.starts_with("ancient-changes Update"));
}

/// The schema of a custom resource without validation.
fn free() -> Shape {
    Shape::parse(&node(r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#)).unwrap()
}

#[test]
fn objects_of_maximal_depth_are_applied_and_tracked() {
    let shape = free();
    let schema = Schema::new(&shape, ApiCatalog::newest().definitions());
    let (depth, nothing) = (9_000, FieldSet::default());
    let deep = |leaf: &str| node(&format!("{}{leaf}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)));
    let first =
        apply(schema, &Node::empty_map(), &deep("1"), &field_manager("m", "a/v1", &nothing), false, true)
            .unwrap();
    let other = apply(schema, &first.object, &deep("2"), &field_manager("n", "a/v1", &nothing), false, false);
    assert_eq!(other.unwrap_err().code, 409);
    let mut changed = first.object.clone();
    changed.as_map_mut().unwrap().insert("a".into(), deep("3"));
    update_managed_fields(schema, &first.object, &mut changed, &field_manager("u", "a/v1", &nothing), false);
    assert!(owners(&changed).contains("u Update"));
}

#[test]
fn managed_fields_of_maximal_depth_are_kept() {
    let shape = free();
    let schema = Schema::new(&shape, ApiCatalog::newest().definitions());
    let fields = format!("{}{{}}{}", r#"{"f:a":"#.repeat(4_000), "}".repeat(4_000));
    let text = format!(
        r#"{{"metadata":{{"managedFields":[{{"manager":"m","operation":"Update","apiVersion":"a/v1","fieldsType":"FieldsV1","fieldsV1":{fields}}}]}}}}"#
    );
    let (live, nothing) = (node(&text), FieldSet::default());
    let mut new = live.clone();
    new.as_map_mut().unwrap().insert("x".into(), Node::Int(1));
    update_managed_fields(schema, &live, &mut new, &field_manager("u", "a/v1", &nothing), false);
    assert_eq!(owners(&new).lines().count(), 2);
}

#[test]
fn long_lists_and_wide_maps_are_not_quadratic() {
    // With this many elements, quadratic time would mean hours.
    let finalizers: Vec<String> = (0..40_000).map(|at| format!("\"a.io/{at}\"")).collect();
    let object = |extra: &str| {
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","finalizers":[{}{extra}]}}}}"#,
            finalizers.join(",")
        );
        node(&text)
    };
    let nothing = FieldSet::default();
    let schema = schema("", "v1", "ConfigMap");
    let start = std::time::Instant::now();
    let live = apply(schema, &empty(), &object(""), &field_manager("m", "v1", &nothing), false, true)
        .unwrap()
        .object;
    let more =
        apply(schema, &live, &object(r#","b.io/x""#), &field_manager("m", "v1", &nothing), false, false)
            .unwrap();
    assert!(more.changed);
    assert!(start.elapsed().as_secs() < 200, "{:?}", start.elapsed());
}
