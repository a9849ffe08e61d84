//! What one request may cost the others: nothing. Requests that cannot be decoded, that compute without end, or that name
//! servers which never stop sending are their own problem.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle::cluster::Cluster;
use pintle_controller::{AddressRules, Health, Memory, Options};
use serde_json::json;

use crate::process::{start, start_on, until};
use crate::support::{ENDLESS, TEMPLATE, TestCluster, WAITING, WebServer, digest, serve};

const TEMPLATES: &[(&str, &str)] = &[("templates/all.yaml", TEMPLATE)];

/// Values that are nested so deep.
fn nested(depth: usize) -> String {
    format!("{}1{}", "{a: ".repeat(depth), "}".repeat(depth))
}

#[tokio::test]
async fn a_request_that_cannot_be_decoded_is_reported_and_does_not_stop_the_others() {
    let test = TestCluster::new().await;
    test.request("deep", &format!("values: {{b: {}}}", nested(130))).await;
    test.request("good", "values: {text: one}").await;
    let running = start(&test, "a", Options::default());
    until("the good one is ready", async || test.ready("good").await.0).await;
    until("the other one is reported", async || {
        let found = test.object("deep").await.unwrap();
        found["status"]["conditions"][0]["reason"] == "InvalidSpec"
    })
    .await;
    let status = &test.object("deep").await.unwrap()["status"];
    let conditions = status["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    assert_eq!(ready["status"], "False");
    let message = ready["message"].as_str().unwrap();
    assert!(message.starts_with("spec.values.b.a") && message.contains("nested"), "{message}");
    // It is reconciled again as soon as it is corrected, and changes of the other are still followed.
    test.patch("helm.sh/v3", "HelmRequest", "deep", &json!({"spec": {"values": null}})).await;
    until("the corrected one is ready", async || test.ready("deep").await.0).await;
    let changed = json!({"spec": {"values": {"text": "two"}}});
    test.patch("helm.sh/v3", "HelmRequest", "good", &changed).await;
    until("changes are followed", async || test.text("good").await.as_deref() == Some("two")).await;
    running.stop().await;
}

#[tokio::test]
async fn a_request_that_cannot_be_decoded_any_more_can_be_deleted_by_leaving_its_release() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}").await;
    let running = start(&test, "a", Options::default());
    until("it is ready", async || test.ready("web").await.0).await;
    test.request("web", &format!("values: {{b: {}}}", nested(130))).await;
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    until("the reason is reported", async || {
        let found = test.object("web").await.unwrap();
        found["status"]["lastError"]["message"].as_str().is_some_and(|text| text.contains("spec.values"))
    })
    .await;
    test.annotate("web", &[("helm.sh/deletion-policy", "orphan")]).await;
    until("it is gone", async || test.object("web").await.is_none()).await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"), "the release is still there");
    running.stop().await;
}

#[tokio::test]
async fn a_controller_that_cannot_read_requests_stops_at_once() {
    let test = TestCluster::new().await;
    let asked = Arc::new(tokio::sync::Notify::new());
    let (api, noticed) = (test.api.clone(), Arc::clone(&asked));
    let cluster = Cluster::from_service_fn(
        move |request| {
            let (api, noticed) = (api.clone(), Arc::clone(&noticed));
            async move {
                if !request.uri().path().ends_with("/helmrequests") {
                    return api.handle(request).await;
                }
                noticed.notify_one();
                std::future::pending().await
            }
        },
        "default",
    );
    // An hour: it must not wait for operations that do not run.
    let options = Options { cache: test.cache(), graceful_shutdown: HOUR, ..Options::default() };
    let stop = async move { asked.notified().await };
    let log = Arc::new(|_: &pintle_tree::LogLine| {});
    let run = pintle_controller::run(cluster, options, Health::default(), log, stop);
    tokio::time::timeout(LIMIT, run).await.expect("it ends").unwrap();
}

const HOUR: Duration = Duration::from_secs(3600);
/// A limit that only a broken controller reaches.
const LIMIT: Duration = Duration::from_secs(240);

#[tokio::test]
async fn a_controller_stops_although_an_operation_does_not_end() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}").await;
    let is_held = Arc::new(AtomicBool::new(false));
    let (api, held) = (test.api.clone(), Arc::clone(&is_held));
    let cluster = Cluster::from_service_fn(
        move |request| {
            let (api, held) = (api.clone(), Arc::clone(&held));
            async move {
                // The API server never answers the request that creates the object.
                if request.uri().path().ends_with("/configmaps/web") && *request.method() != "GET" {
                    held.store(true, Ordering::Relaxed);
                    std::future::pending::<()>().await;
                }
                api.handle(request).await
            }
        },
        "default",
    );
    let options = Options { cancel_timeout: Duration::from_millis(100), ..Options::default() };
    let running = start_on(cluster, &test, "a", options);
    until("the operation waits", async || is_held.load(Ordering::Relaxed)).await;
    running.stop().await;
}

#[tokio::test]
async fn one_namespace_cannot_take_all_workers() {
    let test = TestCluster::new().await;
    test.chart("1.0.0", &[("templates/all.yaml", WAITING)]).await;
    let archive = STANDARD.encode(test.archive("1.0.0", TEMPLATES));
    // Each of these keeps a worker, because the cluster does not answer when its pod is applied.
    for number in 0..4 {
        let spec = format!("releaseName: r{number}\ntimeout: 10h");
        test.request(&format!("slow{number}"), &spec).await;
    }
    let api = test.api.clone();
    let silent = move |request: http::Request<kube::client::Body>| {
        let api = api.clone();
        async move {
            if request.uri().path().starts_with("/api/v1/namespaces/default/pods")
                && request.method() != "GET"
            {
                return std::future::pending().await;
            }
            api.handle(request).await
        }
    };
    let cluster = pintle::cluster::Cluster::from_service_fn(silent, "default");
    let running = start_on(cluster, &test, "a", Options { concurrent: 4, ..Options::default() });
    until("two of them run", async || {
        let mut pending = 0;
        for number in 0..4 {
            pending += test.versions(&format!("r{number}")).await.len();
        }
        pending == 2
    })
    .await;
    test.apply(&format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: other}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web-chart, namespace: other}}\nbinaryData: {{chart.tgz: {archive}}}\n---\napiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: web, namespace: other}}\nspec: {{chart: {{archive: {{kind: ConfigMap, name: web-chart}}}}, values: {{text: one}}}}\n"
    ))
    .await;
    until("the other namespace is served", async || {
        let id = pintle::objects::ObjectId::new("helm.sh/v3", "HelmRequest", "other", "web");
        let found = test.cluster.get(&id).await.unwrap().unwrap();
        found.text(&["status", "phase"]) == "Ready"
    })
    .await;
    running.stop().await;
}

/// A template of about this many bytes of objects.
fn large(bytes: usize) -> String {
    format!(
        "{{{{ range until {} }}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{{{{ $.Release.Name }}}}-{{{{ . }}}}'}}\ndata: {{text: {{{{ repeat 20000 \"x\" }}}}}}\n{{{{ end }}}}\n",
        bytes / 20_000
    )
}

#[tokio::test]
async fn all_reconciliations_together_have_a_limit_of_memory() {
    let test = TestCluster::new().await;
    let (mut controller, _) = test.controller();
    // Of 64 MiB a namespace may have 32, which is enough for a mebibyte of objects; it begins with 8.
    controller.memory = Memory::new(64 << 20);
    let chart = async |name: &str, bytes: usize| {
        test.chart("1.0.0", &[("templates/all.yaml", &large(bytes))]).await;
        test.request(name, "values: {}").await;
        test.reconcile(&controller, name).await;
        test.ready(name).await
    };
    let (is_ready, _, message) = chart("small", 40_000).await;
    assert!(is_ready, "{message}");
    let (is_ready, _, message) = chart("growing", 700_000).await;
    assert!(is_ready, "{message}");
    assert_eq!(test.versions("growing").await.len(), 1, "the tries with too little leave nothing behind");
    let (is_ready, reason, message) = chart("large", 1_400_000).await;
    assert!(!is_ready && reason == "InstallFailed" && message.contains("render limit reached"), "{message}");
    // Values and the chart itself count, too.
    test.chart("1.0.0", &[("templates/all.yaml", TEMPLATE), ("files/a", &"x".repeat(9 << 20))]).await;
    test.request("archive", "values: {text: one}").await;
    test.reconcile(&controller, "archive").await;
    let (_, reason, message) = test.ready("archive").await;
    assert_eq!(reason, "MemoryLimitExceeded", "{message}");
    assert!(
        message.starts_with("the chart would take more memory") && message.contains("32 MiB"),
        "{message}"
    );
    test.chart("1.0.0", TEMPLATES).await;
    let values = format!("values: {{text: one, other: {}}}", "y".repeat(1_100_000));
    test.request("values", &values).await;
    test.reconcile(&controller, "values").await;
    let (_, reason, message) = test.ready("values").await;
    assert_eq!(reason, "MemoryLimitExceeded", "{message}");
    assert!(message.starts_with("the values would take"), "{message}");
    // What they had reserved is there for the next one.
    let (is_ready, _, message) = chart("last", 700_000).await;
    assert!(is_ready, "{message}");
}

#[tokio::test]
async fn one_namespace_cannot_have_all_memory() {
    let test = TestCluster::new().await;
    // Large enough to need all that a namespace may have, and never ready.
    let template = format!("{WAITING}\n---\n{}", large(700_000));
    test.chart("1.0.0", &[("templates/all.yaml", &template)]).await;
    let archive = STANDARD.encode(test.archive("1.0.0", TEMPLATES));
    for number in 0..4 {
        let spec = format!("releaseName: r{number}\ntimeout: 10h");
        test.request(&format!("slow{number}"), &spec).await;
    }
    let options = Options { concurrent: 8, memory: 64 << 20, ..Options::default() };
    let running = start(&test, "a", options);
    until("one of them waits for its release", async || {
        let mut pending = 0;
        for number in 0..4 {
            pending += test.versions(&format!("r{number}")).await.len();
        }
        pending >= 1
    })
    .await;
    test.apply(&format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: other}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web-chart, namespace: other}}\nbinaryData: {{chart.tgz: {archive}}}\n---\napiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: web, namespace: other}}\nspec: {{chart: {{archive: {{kind: ConfigMap, name: web-chart}}}}, values: {{text: one}}}}\n"
    ))
    .await;
    until("the other namespace is served", async || {
        let id = pintle::objects::ObjectId::new("helm.sh/v3", "HelmRequest", "other", "web");
        let found = test.cluster.get(&id).await.unwrap().unwrap();
        found.text(&["status", "phase"]) == "Ready"
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn an_expression_that_computes_without_end_is_the_fault_of_its_request() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let list: Vec<u32> = (0..100).collect();
    test.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gate, namespace: default}\n").await;
    let nested = (0..8).fold("true".to_owned(), |body, level| format!("{list:?}.all(x{level}, {body})"));
    let deep = format!("{}true{}", "(".repeat(2_040), ")".repeat(2_040));
    let growing = format!("['xxxxxxxxxxxxxxxx']{}.size() == 1", ".map(y, y+y)".repeat(30));
    for (name, expression) in [("nested", nested), ("deep", deep), ("growing", growing)] {
        let spec = format!(
            "dependsOn: [{{apiVersion: v1, kind: ConfigMap, name: gate, readyExpr: \"{expression}\"}}]"
        );
        test.request(name, &spec).await;
        test.reconcile(&controller, name).await;
        let (_, reason, message) = test.ready(name).await;
        assert_eq!(reason, "InvalidSpec", "{name}: {message}");
        assert_eq!(test.condition(name, "Stalled").await, "True", "{name}");
    }
}

#[tokio::test]
async fn a_registry_that_leads_in_circles_is_left() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    server.put("/v2/charts/web/tags/list", ENDLESS, r#"{"tags": ["1.0.0"]}"#);
    test.request_for("web", &format!("{{url: 'oci://{}/charts/web', version: 1.x}}", server.host), "").await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "ChartFailed");
    assert!(message.contains("leads back to one that was read before"), "{message}");
}

#[tokio::test]
async fn urls_of_requests_do_not_lead_to_this_machine() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller_with(AddressRules::parse("true").unwrap());
    let server = WebServer::start().await;
    let port = server.host.rsplit_once(':').unwrap().1.to_owned();
    server.put("/values.yaml", "application/yaml", "text: stolen\n");
    let stolen = digest(b"text: stolen\n");
    let mut number = 0;
    for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        for (chart, spec) in [
            (
                "",
                format!(
                    "valuesFrom: [{{kind: URL, url: 'http://{host}:{port}/values.yaml', digest: '{stolen}'}}]"
                ),
            ),
            (
                "",
                format!("valuesFrom: [{{kind: URL, url: 'oci://{host}:{port}/values', digest: '{stolen}'}}]"),
            ),
            (&*format!("{{url: 'http://{host}:{port}/web-1.0.0.tgz'}}"), String::new()),
            (&*format!("{{repository: 'http://{host}:{port}', name: web}}"), String::new()),
            (
                &*format!("{{url: 'oci://{host}:{port}/charts/web', version: 1.0.0, plainHTTP: true}}"),
                String::new(),
            ),
        ] {
            number += 1;
            let name = format!("r{number}");
            match chart {
                "" => test.request(&name, &spec).await,
                chart => test.request_for(&name, chart, &spec).await,
            }
            test.reconcile(&controller, &name).await;
            let (_, reason, message) = test.ready(&name).await;
            assert!(["ValuesFailed", "ChartFailed"].contains(&reason.as_str()), "{chart}{spec}: {reason}");
            if host == "127.0.0.1" {
                assert!(message.contains("which is not a public address"), "{chart}{spec}: {message}");
                assert!(message.contains("--allow-private-network"), "{message}");
            }
        }
    }
    assert_eq!(server.request_count(), 0, "nobody came");
}

#[tokio::test]
async fn redirects_are_checked_hop_by_hop() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller_with(AddressRules::parse("localhost").unwrap());
    let server = WebServer::start().await;
    let port = server.host.rsplit_once(':').unwrap().1.to_owned();
    server.put("/values.yaml", "application/yaml", "text: stolen\n");
    server.redirect("/moved", &format!("http://127.0.0.1:{port}/values.yaml"));
    server.put("/index.yaml", "application/yaml", format!(
        "apiVersion: v1\nentries: {{web: [{{apiVersion: v2, name: web, version: 1.0.0, urls: ['http://127.0.0.1:{port}/values.yaml']}}]}}\n"
    ));
    let stolen = digest(b"text: stolen\n");
    let spec = |path: &str| {
        format!("valuesFrom: [{{kind: URL, url: 'http://localhost:{port}/{path}', digest: '{stolen}'}}]")
    };
    test.request("good", &spec("values.yaml")).await;
    test.until_ready(&controller, "good").await;
    assert_eq!(test.text("good").await.as_deref(), Some("stolen"), "the host itself is allowed");
    let other =
        format!("{{kind: URL, url: 'http://localhost:{port}/moved', digest: 'sha256:{}'}}", "1".repeat(64));
    test.request("moved", &format!("valuesFrom: [{other}]")).await;
    test.reconcile(&controller, "moved").await;
    let message = test.ready("moved").await.2;
    assert!(message.contains("which is not a public address"), "{message}");
    let chart = format!("{{repository: 'http://localhost:{port}', name: web}}");
    test.request_for("index", &chart, "").await;
    test.reconcile(&controller, "index").await;
    let message = test.ready("index").await.2;
    assert!(message.contains("which is not a public address"), "{message}");
    assert_eq!(server.requests("/values.yaml"), 1, "only the allowed request came");
}

#[tokio::test]
async fn the_server_of_a_kubeconfig_is_checked_like_any_url() {
    let (test, other) = (TestCluster::new().await, TestCluster::new().await);
    let url = serve(&other.api).await;
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nclusters: [{{name: c, cluster: {{server: '{url}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
    );
    test.apply(&format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: config, namespace: default}}\ndata: {{value: {}}}\n",
        STANDARD.encode(config)
    ))
    .await;
    let (controller, _) = test.controller_with(AddressRules::default());
    test.request("web", "kubeConfig: {secretRef: {name: config}}\nvalues: {text: one}").await;
    test.reconcile(&controller, "web").await;
    let message = test.ready("web").await.2;
    assert!(message.contains("which is not a public address"), "{message}");
}

/// Requests are accepted, and nothing comes back.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_never_answers_holds_a_worker_for_seconds_only() {
    let test = TestCluster::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    test.apply(&crate::support::kubeconfig_secret("dead", &url)).await;
    let (controller, _) = test.controller();
    test.request("web", "kubeConfig: {secretRef: {name: dead}}\nvalues: {text: one}").await;
    let begin = tokio::time::Instant::now();
    test.reconcile(&controller, "web").await;
    assert!(begin.elapsed() <= std::time::Duration::from_secs(6), "{:?}", begin.elapsed());
    let (is_ready, reason, message) = test.ready("web").await;
    assert_eq!((is_ready, reason.as_str()), (false, "KubeConfigFailed"));
    assert!(message.contains("the cluster does not answer: no answer within 5 s"), "{message}");
    // The next one does not even ask.
    let begin = tokio::time::Instant::now();
    test.reconcile(&controller, "web").await;
    assert_eq!(begin.elapsed(), std::time::Duration::ZERO);
    drop(listener);
}

#[tokio::test]
async fn an_error_of_megabytes_is_cut_and_reported() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.chart("1.0.0", &[("templates/a.yaml", r#"{{ fail (repeat 2000000 "x") }}"#)]).await;
    test.request("web", "interval: 1m").await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "InstallFailed");
    assert!(message.contains("xxxx") && message.len() < 5_000, "{}", message.len());
    let error = test.read("web").await.unwrap().status.unwrap().last_error.unwrap();
    assert!(error.message.len() < 5_000, "{}", error.message.len());
}
