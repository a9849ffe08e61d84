//! What is sent, what is retried, and how errors are mapped.

use crate::support;

use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use futures::FutureExt;
use pintle_cluster::apply::{Applied, ApplyOptions};
use pintle_cluster::store::NativeStore;
use pintle_cluster::{
    Cluster, Detail, Error, ListParams, PatchType, Preconditions, PropagationPolicy, Settings, WatchEvent,
    WriteParams,
};
use pintle_objects::{Object, ObjectId};
use pintle_plan::managed_fields::Managers;
use pintle_plan::{Action, Step};
use pintle_release::Store as _;
use support::{StubResponse, cluster, discovery, ok, paths, refusal};

fn config_map(name: &str) -> Object {
    Object::from_id(&ObjectId::new("v1", "ConfigMap", "n", name))
}

#[tokio::test]
async fn a_busy_server_is_asked_again_until_it_answers() {
    let (cluster, log) = cluster(|_, times| match times {
        1 | 2 => StubResponse(429, Some(("retry-after", "0")), String::new()),
        _ => ok("{}"),
    });
    assert!(cluster.create(&config_map("a"), &WriteParams::default()).await.is_ok());
    assert_eq!(paths(&log), ["POST /api/v1/namespaces/n/configmaps?fieldManager=helm"; 3]);
}

#[tokio::test]
async fn a_long_pause_that_the_server_asks_for_is_reported() {
    let (cluster, log) = cluster(|_, _| StubResponse(429, Some(("retry-after", "20")), String::new()));
    let pauses = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noticed = std::sync::Arc::clone(&pauses);
    let cluster = cluster.with_wait_notice(move |_, pause| noticed.lock().unwrap().push(pause.as_secs()));
    let id = ObjectId::new("v1", "Secret", "n", "a");
    let asked = cluster.get(&id);
    let is_late = tokio::time::timeout(std::time::Duration::from_millis(200), asked).await.is_err();
    assert!(is_late && log.lock().unwrap().len() == 1, "it waits");
    assert_eq!(*pauses.lock().unwrap(), [20]);
}

#[tokio::test]
async fn etcd_leader_changes_are_retried_and_other_server_errors_are_returned() {
    let (cluster, log) = cluster(|seen, times| match (seen.path.contains("/b"), times) {
        (true, _) => refusal(500, "InternalError", "something else"),
        (_, 1) => refusal(500, "InternalError", "etcdserver: leader changed"),
        _ => ok("{}"),
    });
    let id = |name| ObjectId::new("v1", "ConfigMap", "n", name);
    let patch = async |id: &ObjectId| cluster.patch(id, PatchType::Json, "[]", &WriteParams::default()).await;
    assert!(patch(&id("a")).await.is_ok());
    assert_eq!(log.lock().unwrap().len(), 2);
    assert_eq!(patch(&id("b")).await.expect_err("refused").to_string(), "something else");
    assert_eq!(log.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_broken_connection_is_tried_again_only_when_that_is_safe() {
    let (cluster, log) =
        cluster(|_, times| if times == 1 { StubResponse(0, None, String::new()) } else { ok("{}") });
    assert!(cluster.get(&ObjectId::new("v1", "Secret", "n", "a")).await.expect("second try").is_some());
    assert!(cluster.apply(&config_map("a"), true, &WriteParams::strict()).await.is_ok());
    let error = cluster.create(&config_map("a"), &WriteParams::default()).await.expect_err("not repeated");
    assert!(error.is_transport(), "{error:?}");
    let mut guarded = config_map("g");
    guarded.metadata_mut().insert("resourceVersion".into(), "7".into());
    assert!(cluster.replace(&guarded, &WriteParams::default()).await.is_err());
    assert_eq!(log.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn applying_sends_the_whole_object_under_helms_name() {
    let (cluster, log) = cluster(|_, _| StubResponse(201, None, r#"{"kind":"ConfigMap"}"#.into()));
    let write = WriteParams { dry_run: true, ..WriteParams::strict() };
    let written = cluster.apply(&config_map("a"), false, &write).await.expect("good");
    assert!(written.created && written.object().expect("an object").kind() == "ConfigMap");
    let seen = log.lock().unwrap()[0].clone();
    assert_eq!(
        seen.path,
        "/api/v1/namespaces/n/configmaps/a?dryRun=All&fieldManager=helm&fieldValidation=Strict&force=false"
    );
    assert_eq!((seen.method.as_str(), seen.content_type.as_str()), ("PATCH", "application/apply-patch+yaml"));
    assert_eq!(seen.body, config_map("a").to_json());
}

#[tokio::test]
async fn field_conflicts_have_helms_message_and_quota_conflicts_are_retried() {
    let quota = "Operation cannot be fulfilled on resourcequotas \\\"q\\\": the object has been modified; please apply";
    let (cluster, log) = cluster(move |seen, times| match (seen.path.contains("/quota?"), times) {
        (true, 1) => refusal(409, "Conflict", quota),
        (true, _) => ok("{}"),
        (false, _) => {
            refusal(409, "Conflict", "Apply failed with 1 conflict: conflict with \\\"kubectl\\\": .data.a")
        }
    });
    assert!(cluster.apply_object(&config_map("quota"), false, &WriteParams::strict()).await.is_ok());
    let error =
        cluster.apply_object(&config_map("a"), false, &WriteParams::strict()).await.expect_err("conflict");
    assert!(error.is_conflict());
    assert_eq!(
        error.to_string(),
        "conflict occurred while applying object n/a /v1, Kind=ConfigMap: Apply failed with 1 conflict: conflict with \"kubectl\": .data.a"
    );
    assert_eq!(log.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn deleting_says_whether_the_object_was_there() {
    let (cluster, log) = cluster(|seen, _| match seen.path.ends_with("/a") {
        true => ok(r#"{"kind":"Status","status":"Success"}"#),
        false => refusal(404, "NotFound", "gone"),
    });
    let preconditions = Preconditions { uid: "u".into(), ..Preconditions::default() };
    let id = |name| ObjectId::new("v1", "ConfigMap", "n", name);
    assert!(cluster.delete(&id("a"), PropagationPolicy::Foreground, &preconditions).await.expect("good"));
    assert!(
        !cluster
            .delete(&id("b"), PropagationPolicy::Background, &Preconditions::default())
            .await
            .expect("good")
    );
    let body = String::from_utf8(log.lock().unwrap()[0].body.clone()).unwrap();
    assert_eq!(
        body,
        r#"{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"},"propagationPolicy":"Foreground"}"#
    );
}

#[tokio::test]
async fn versions_are_listed_only_for_a_release_that_exists() {
    let (cluster, log) = cluster(|seen, _| match seen.path.as_str() {
        path if path.ends_with("/releases/gone") => refusal(404, "NotFound", "gone"),
        path if path.ends_with("/releases/there") => {
            ok(r#"{"kind":"Release","metadata":{"name":"there","namespace":"n"}}"#)
        }
        _ => ok(r#"{"kind":"ReleaseVersionList","items":[]}"#),
    });
    let store = NativeStore::new(cluster).with_histories(Arc::default());
    assert!(store.history("n", "gone").await.expect("good").is_empty());
    assert_eq!(paths(&log), ["GET /apis/helm.sh/v3/namespaces/n/releases/gone"]);
    assert!(store.history("n", "there").await.expect("good").is_empty());
    let listed = paths(&log)[2].clone();
    assert!(
        listed.starts_with("GET /apis/helm.sh/v3/namespaces/n/releaseversions?labelSelector="),
        "{listed}"
    );
}

#[tokio::test]
async fn a_dry_run_of_a_deletion_sends_nothing() {
    let (cluster, log) = cluster(|_, _| ok("{}"));
    let live = config_map("a");
    let step =
        Step { id: live.id(), action: Action::Delete, desired: None, previous: None, live: Some(&live) };
    let dry_run = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
    assert!(matches!(cluster.execute(&step, &dry_run).await, Ok(Applied::Deleted)));
    let gone = Step { live: None, ..step };
    assert!(matches!(cluster.execute(&gone, &dry_run).await, Ok(Applied::NotFound)));
    assert!(paths(&log).is_empty());
}

#[tokio::test]
async fn facts_are_what_the_server_serves_without_what_does_not_answer() {
    let (cluster, log) = cluster(|seen, _| match seen.path.as_str() {
        "/version?timeout=32s" => ok(r#"{"major":"1","minor":"36+","gitVersion":"v1.36.3"}"#),
        path => discovery(path).unwrap_or_else(|| refusal(404, "NotFound", "no")),
    });
    let facts = cluster.capabilities().await.expect("good");
    assert_eq!(facts.version.minor, "36+");
    assert_eq!(
        facts.api_versions,
        ["apps/v1", "apps/v1/Deployment", "v1", "v1/Node", "v1/NodeProxyOptions", "v1/Service"]
    );
    assert_eq!(facts.unavailable_groups, ["gone.io/v1"]);
    assert!(!cluster.resource("v1", "Node").await.expect("known").namespaced);
    assert_eq!(log.lock().unwrap().len(), 3);
    for _ in 0..2 {
        let mut object =
            Object::read_json(br#"{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"x"}}"#)
                .unwrap();
        let error = cluster.scope(&mut object, "n").await.expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "resource mapping not found for name: \"x\" namespace: \"\" from \"\": no matches for kind \"Foo\" in version \"example.com/v1\"\nensure CRDs are installed first"
        );
    }
    assert_eq!(log.lock().unwrap().len(), 5, "an unknown kind is looked up once more and no oftener");
}

#[tokio::test]
async fn an_old_server_is_asked_group_by_group() {
    let (cluster, _) = cluster(|seen, _| match seen.path.as_str() {
        "/api" => ok(r#"{"kind":"APIVersions","versions":["v1"]}"#),
        "/api/v1" => ok(r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[
            {"name":"services","namespaced":true,"kind":"Service"},{"name":"services/status","kind":"Service"}]}"#),
        "/apis" => ok(
            r#"{"kind":"APIGroupList","groups":[{"name":"a.io","versions":[{"groupVersion":"a.io/v1","version":"v1"}]}]}"#,
        ),
        "/apis/a.io/v1" => ok(r#"{"resources":[{"name":"things","namespaced":false,"kind":"Thing"}]}"#),
        _ => refusal(404, "NotFound", "no"),
    });
    let thing = cluster.resource("a.io/v1", "Thing").await.expect("known");
    assert_eq!((thing.plural.as_str(), thing.namespaced), ("things", false));
    let mut object =
        Object::read_json(br#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}"#).unwrap();
    cluster.scope(&mut object, "n").await.expect("known");
    assert_eq!(object.namespace(), "n");
}

#[tokio::test]
async fn lists_are_read_page_by_page_and_begun_again_when_they_expire() {
    let (cluster, log) = cluster(|seen, times| match (seen.path.contains("continue"), times) {
        (false, _) => {
            ok(r#"{"metadata":{"continue":"c","resourceVersion":"1"},"items":[{"metadata":{"name":"a"}}]}"#)
        }
        (true, 1) => refusal(410, "Expired", "too old"),
        _ => ok(r#"{"metadata":{},"items":[{"metadata":{"name":"b"}}]}"#),
    });
    let secrets = cluster.resource("v1", "Secret").await.expect("known");
    let found = cluster.list(&secrets, "n", &ListParams::labels("a in (b,c)")).await.expect("good");
    let ids: Vec<String> = found.iter().map(|object| object.id().to_string()).collect();
    assert_eq!(ids, ["Secret/a", "Secret/b"]);
    let first = "GET /api/v1/namespaces/n/secrets?labelSelector=a%20in%20%28b%2Cc%29&limit=500";
    assert_eq!(paths(&log)[0], first);
    assert_eq!(log.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_watch_returns_events_and_expiry() {
    let (cluster, _) = cluster(|_, _| {
        ok("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}}\n\n\
            {\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n\
            {\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"old\"}}")
    });
    let pods = cluster.resource("v1", "Pod").await.expect("known");
    let mut watching = cluster.watch(&pods, "n", &ListParams::default(), "1").await.expect("open");
    assert!(matches!(watching.next().await, Ok(Some(WatchEvent::Added(pod))) if pod.name() == "a"));
    assert!(matches!(watching.next().await, Ok(Some(WatchEvent::Bookmark(at))) if at == "9"));
    assert!(watching.next().await.expect_err("too old").is_expired());
    assert!(matches!(watching.next().await, Ok(None)));
}

#[tokio::test]
async fn looking_up_a_missing_object_is_no_error_but_an_unknown_version_is() {
    let (cluster, _) = cluster(|seen, _| match seen.path.as_str() {
        "/api/v1/namespaces/n/services" => ok(
            r#"{"kind":"ServiceList","apiVersion":"v1","items":[{"metadata":{"name":"a"},"spec":{"n":3}}]}"#,
        ),
        path => discovery(path).unwrap_or_else(|| refusal(404, "NotFound", "no")),
    });
    let list = cluster.lookup("v1", "Service", "n", "").await.expect("a list");
    let list = Object::new(list);
    let item = &list.at(&["items"]).unwrap().as_list().unwrap()[0];
    assert_eq!(item.get("kind").unwrap().as_str(), Some("Service"));
    assert_eq!(item.get("spec").unwrap().get("n"), Some(&pintle_tree::Node::Int(3)));
    assert!(cluster.lookup("v1", "Service", "n", "x").await.expect("nothing").is_empty());
    assert!(cluster.lookup("v1", "Nonsense", "n", "x").await.expect("nothing").is_empty());
    let root = cluster.lookup("v1", "Nonsense", "n", "").await.expect("what is at the root");
    assert!(root.contains_key("items"));
    let error = cluster.lookup("", "", "", "").await.expect_err("nothing asked");
    assert_eq!(
        error.to_string(),
        "unable to get apiresource from unstructured: /, Kind=: groupVersion shouldn't be empty"
    );
    let error = cluster.lookup("example.com/v1", "Foo", "n", "x").await.expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "unable to get apiresource from unstructured: example.com/v1, Kind=Foo: the server could not find the requested resource"
    );
}

#[tokio::test]
async fn a_connection_sends_user_agent_token_and_impersonation() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a request");
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        while !text.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut buffer).expect("more");
            text.extend_from_slice(&buffer[..count]);
        }
        let body = r#"{"gitVersion":"v1.36.3"}"#;
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("sent");
        String::from_utf8(text).expect("text").to_lowercase()
    });
    let settings = Settings {
        server: format!("http://{address}"),
        token: "secret".into(),
        as_user: "jane".into(),
        as_groups: vec!["devs".into(), "ops".into()],
        user_agent: "Helm/4.2.4".into(),
        ..Settings::default()
    };
    let cluster = Cluster::connect(&settings).await.expect("made");
    assert_eq!(cluster.version().await.expect("reached").git_version, "v1.36.3");
    let seen = server.join().expect("no panic");
    for header in [
        "impersonate-user: jane",
        "impersonate-group: devs",
        "impersonate-group: ops",
        "user-agent: helm/4.2.4",
    ] {
        assert!(seen.contains(header), "{seen}");
    }
    assert!(!seen.contains("secret"), "tokens do not travel in the open");
    assert_eq!(cluster.default_namespace(), "default");
}

#[tokio::test]
async fn a_server_that_does_not_exist_is_unreachable_with_helms_message() {
    let settings = Settings { server: "https://127.0.0.1:1".into(), ..Settings::default() };
    let error = Cluster::connect(&settings).await.expect("made").check_reachable().await.expect_err("nobody");
    assert!(matches!(error, Error::Unreachable(_)));
    assert_eq!(
        error.to_string(),
        "kubernetes cluster unreachable: Get \"https://127.0.0.1:1/version\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
}

#[test]
fn everything_can_be_sent_to_other_threads() {
    fn send<T: Send>(_: T) {}
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let _guard = runtime.enter();
    let (cluster, _) = cluster(|_, _| ok("{}"));
    let (object, write) = (config_map("a"), WriteParams::default());
    send(cluster.apply_object(&object, true, &write));
    send(cluster.create_object(&object, &write));
    send(cluster.replace_object(&object, None, &write));
    send(cluster.upgrade_field_manager(&object, Managers::Current, &write));
    let id = object.id();
    send(cluster.snapshot([&id], Detail::Full));
    send(cluster.lookup("v1", "Pod", "", ""));
    let objects = [object.clone()];
    send(pintle_cluster::apply::run_in_batches(
        &objects,
        |object: &Object| object.kind(),
        |object: &Object| cluster.apply_object(object, true, &write).boxed(),
    ));
}
