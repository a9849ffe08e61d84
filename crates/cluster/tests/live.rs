//! Against an API server: `PINTLE_E2E_KUBECONFIG` names its configuration, whose context must be `pintle-e2e…`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use futures::FutureExt;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently, run_in_batches};
use pintle_cluster::{Cluster, Detail, ListParams, Preconditions, PropagationPolicy, Settings, WriteParams};
use pintle_objects::{Object, ObjectId};
use pintle_plan::{Adoption, DeletionRule, Method, PlanInput, Snapshot, plan};

/// Connects to the test cluster and creates a namespace; `None` when there is no test cluster.
async fn testbed(test: &str) -> Option<(Cluster, String)> {
    let Some(path) = std::env::var_os("PINTLE_E2E_KUBECONFIG") else {
        pintle_testkit::skip(&format!("{test} needs PINTLE_E2E_KUBECONFIG"));
        return None;
    };
    let text = std::fs::read_to_string(&path).expect("a readable configuration");
    assert!(text.contains("current-context: pintle-e2e"), "only test clusters may be written to");
    let settings =
        Settings { kubeconfig: vec![path.into()], user_agent: "pintle-test".into(), ..Settings::default() };
    let cluster = Cluster::connect(&settings).await.expect("a configuration");
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let namespace = format!("live-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let object = Object::from_id(&ObjectId::new("v1", "Namespace", "", &namespace));
    cluster.create(&object, &WriteParams::default()).await.expect("a namespace");
    Some((cluster, namespace))
}

fn object(text: &str) -> Object {
    Object::read_manifest(text.as_bytes(), "test").expect("YAML").remove(0)
}

fn config_maps(namespace: &str, count: usize, value: &str) -> Vec<Object> {
    (0..count)
        .map(|number| {
            object(&format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}, namespace: {namespace}}}\ndata: {{a: '{value}'}}\n"
            ))
        })
        .collect()
}

async fn execute(
    cluster: &Cluster,
    old: &[Object],
    new: &[Object],
    apply_options: &ApplyOptions,
) -> Vec<Applied> {
    let ids: Vec<ObjectId> = old.iter().chain(new).map(Object::id).collect();
    loop {
        let live = cluster.snapshot(&ids, Detail::Full).await.expect("readable");
        let (adoption, deletion) = (Adoption::Unchecked, DeletionRule::ByLivePolicy);
        let input = PlanInput { desired: new, previous: old, live: &live, adoption, deletion };
        let plan = plan(&input).expect("a plan");
        let steps: Vec<_> = plan.steps.into_iter().chain(plan.removals).collect();
        let done = cluster.execute_all(&steps, apply_options).await;
        // Controllers of the cluster write to objects too, and may do so between the read and the write.
        if done.iter().any(|done| done.as_ref().is_err_and(is_conflict)) {
            continue;
        }
        return done.into_iter().map(|done| done.expect("done")).collect();
    }
}

fn is_conflict(error: &pintle_cluster::Error) -> bool {
    error.to_string().contains("the object has been modified")
}

#[tokio::test]
async fn discovery_returns_the_served_kinds() {
    let Some((cluster, _)) = testbed("discovery_returns_the_served_kinds").await else { return };
    let facts = cluster.capabilities().await.expect("facts");
    assert!(facts.version.git_version.starts_with("v1."));
    for known in
        ["v1", "v1/Pod", "apps/v1/Deployment", "apps/v1/Scale", "autoscaling/v2", "v1/PodAttachOptions"]
    {
        assert!(facts.api_versions.iter().any(|one| one == known), "{known}");
    }
    assert!(
        !cluster.resource("rbac.authorization.k8s.io/v1", "ClusterRole").await.expect("known").namespaced
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_are_carried_out_by_either_way_of_applying_and_end_alike() {
    let Some((cluster, namespace)) = testbed("plans_are_carried_out").await else { return };
    let deployment = |image: &str, extra: &str| {
        object(&format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: {namespace}}}\nspec:\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      containers:\n      - {{name: one, image: '{image}'}}\n{extra}"
        ))
    };
    let two = "      - {name: two, image: 'x:1'}\n";
    let client =
        ApplyOptions { method: Method::ClientSide { custom_three_way: false }, ..ApplyOptions::default() };
    let (old, new) = ([deployment("x:1", two)], [deployment("x:2", "")]);
    assert!(
        matches!(&execute(&cluster, &[], &old, &client).await[..], [Applied::Written(one)] if one.created)
    );
    execute(&cluster, &old, &new, &client).await;
    let live = cluster.get(&new[0].id()).await.expect("readable").expect("there");
    let containers = |object: &Object| {
        let list = object
            .at(&["spec", "template", "spec", "containers"])
            .and_then(|node| node.as_list().map(<[_]>::to_vec));
        list.unwrap_or_default()
            .iter()
            .map(|one| one.get("image").and_then(|image| image.as_str()).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(containers(&live), ["x:2"]);
    assert!(matches!(execute(&cluster, &new, &new, &client).await[..], [Applied::Unchanged]));

    // Fields owned by client-side apply are removed by server-side apply once their manager is upgraded.
    execute(&cluster, &new, &old, &client).await;
    let server = ApplyOptions { upgrade_field_manager: true, ..ApplyOptions::default() };
    execute(&cluster, &old, &new, &server).await;
    let live = cluster.get(&new[0].id()).await.expect("readable").expect("there");
    assert_eq!(containers(&live), ["x:2"]);

    let replace = ApplyOptions { method: Method::Replace, ..ApplyOptions::default() };
    execute(&cluster, &new, &old, &replace).await;
    let live = cluster.get(&new[0].id()).await.expect("readable").expect("there");
    assert_eq!(containers(&live), ["x:2", "x:1"].map(|_| "x:1"));
    assert!(matches!(execute(&cluster, &old, &[], &server).await[..], [Applied::Deleted]));
}

#[tokio::test]
async fn an_object_that_was_written_since_it_was_read_is_replaced() {
    let Some((cluster, namespace)) = testbed("replacement").await else { return };
    let map = config_maps(&namespace, 1, "1").remove(0);
    cluster.create_object(&map, &WriteParams::strict()).await.expect("created");
    let read = cluster.get(&map.id()).await.expect("readable").expect("there");
    let other = WriteParams { field_manager: "other", ..WriteParams::default() };
    cluster.apply(&config_maps(&namespace, 1, "2").remove(0), true, &other).await.expect("applied");
    let wanted = config_maps(&namespace, 1, "3").remove(0);
    cluster.replace_object(&wanted, Some(&read), &WriteParams::strict()).await.expect("replaced");
    let live = cluster.get(&map.id()).await.expect("readable").expect("there");
    assert_eq!(live.at(&["data", "a"]).and_then(|value| value.as_str()), Some("3"));
    // A version that the manifest itself names is not exchanged for a newer one.
    let mut pinned = wanted.clone();
    pinned.metadata_mut().insert("resourceVersion".into(), read.resource_version().to_owned().into());
    let error = cluster.replace_object(&pinned, None, &WriteParams::strict()).await.expect_err("too old");
    assert!(error.is_conflict(), "{error}");
}

#[tokio::test]
async fn a_field_conflict_has_helms_message() {
    let Some((cluster, namespace)) = testbed("a_conflict_over_fields").await else { return };
    let map = config_maps(&namespace, 1, "1").remove(0);
    let other = WriteParams { field_manager: "other", ..WriteParams::default() };
    cluster.apply(&map, false, &other).await.expect("applied");
    let changed = config_maps(&namespace, 1, "2").remove(0);
    let error = cluster.apply_object(&changed, false, &WriteParams::strict()).await.expect_err("conflict");
    assert_eq!(
        error.to_string(),
        format!(
            "conflict occurred while applying object {namespace}/c0 /v1, Kind=ConfigMap: Apply failed with 1 conflict: conflict with \"other\": .data.a"
        )
    );
    let strange = object(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: s, namespace: {namespace}}}\nstrange: 1\n"
    ));
    let error =
        cluster.apply_object(&strange, false, &WriteParams::strict()).await.expect_err("unknown field");
    assert!(error.to_string().starts_with("server-side apply failed for object "), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_objects_come_and_go_quickly() {
    let Some((cluster, namespace)) = testbed("many_objects_come_and_go").await else { return };
    let objects = config_maps(&namespace, 500, "1");
    let write = WriteParams::strict();
    let clock = Instant::now();
    let written = run_in_batches(
        &objects,
        |object| object.kind(),
        |object| cluster.apply_object(object, false, &write).boxed(),
    )
    .await;
    assert!(written.iter().all(|one| one.as_ref().is_ok_and(|one| one.created)));
    eprintln!("500 applies: {:?}", clock.elapsed());
    let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
    let clock = Instant::now();
    let read = run_concurrently(&ids, |id| cluster.get(id).boxed()).await;
    assert!(read.iter().all(|one| matches!(one, Ok(Some(_)))));
    eprintln!("500 reads one by one: {:?}", clock.elapsed());
    let clock = Instant::now();
    let live: Snapshot = cluster.snapshot(&ids, Detail::Full).await.expect("readable");
    assert_eq!(live.len(), 500);
    eprintln!("500 reads as a snapshot: {:?}", clock.elapsed());
    let clock = Instant::now();
    let gone =
        run_concurrently(&ids, |id| cluster.delete_object(id, PropagationPolicy::Background).boxed()).await;
    assert!(gone.iter().all(|one| matches!(one, Ok(true))));
    eprintln!("500 deletions: {:?}", clock.elapsed());
    let maps = cluster.resource("v1", "ConfigMap").await.expect("known");
    let left = cluster.list(&maps, &namespace, &ListParams::default()).await.expect("readable");
    assert!(left.iter().all(|object| !object.name().starts_with('c')));
    assert!(
        !cluster
            .delete(&ids[0], PropagationPolicy::Background, &Preconditions::default())
            .await
            .expect("gone")
    );
}

#[tokio::test]
async fn a_server_that_speaks_no_http_is_unreachable_with_helms_message() {
    pintle_testkit::needs_real!("goes to a server that speaks TLS");
    let Some((cluster, _)) = testbed("a_server_that_cannot_be_talked_to").await else { return };
    let server = cluster.address().to_owned();
    let reach = async |settings: Settings| {
        let cluster = Cluster::connect(&settings).await.expect("a configuration");
        cluster.check_reachable().await.map(|_| ()).expect_err("unreachable").to_string()
    };
    let stranger =
        Settings { server: server.clone(), insecure: true, token: "bad".into(), ..Settings::default() };
    assert_eq!(
        reach(stranger.clone()).await,
        "kubernetes cluster unreachable: the server has asked for the client to provide credentials"
    );
    assert_eq!(
        reach(Settings { insecure: false, ..stranger.clone() }).await,
        format!(
            "kubernetes cluster unreachable: Get \"{server}/version\": tls: failed to verify certificate: x509: certificate signed by unknown authority"
        )
    );
    let plain = Settings { server: server.replace("https:", "http:"), ..Settings::default() };
    assert_eq!(
        reach(plain).await,
        "kubernetes cluster unreachable: the server rejected our request for an unknown reason"
    );
    let kubeconfig = vec![std::env::var_os("PINTLE_E2E_KUBECONFIG").expect("set").into()];
    let name = Settings { kubeconfig, tls_server_name: "elsewhere".into(), ..Settings::default() };
    let text = reach(name).await;
    let certificate = "tls: failed to verify certificate: x509: certificate is valid for ";
    assert!(text.contains(certificate) && text.ends_with(", not elsewhere"), "{text}");
}
