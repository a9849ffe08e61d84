//! Plans and operations.

use serde_json::{Value, json};

use crate::support::Running;

fn upgrade(values: &str) -> Value {
    json!({"operation": "upgrade", "namespace": "shop", "name": "web", "values": values, "wait": false})
}

/// Follows an operation to its end.
async fn end(server: &Running, started: &Value) -> Value {
    let id = started["id"].as_str().unwrap();
    let mut events = server.events(&format!("/api/v1/operations/{id}/events")).await;
    events.until("end").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_shown_and_applied_as_it_was_shown() {
    let server = Running::start().await;
    server.install("shop", "web", "replicas: 1\nauth: {password: correct-horse-battery}").await;
    // The page edits what it was shown, with the password hidden.
    let shown = server.get("/api/v1/releases/shop/web/values").await;
    assert_eq!(shown["hidden"], json!(["auth.password"]));
    let edited = shown["yaml"].as_str().unwrap().replace("replicas: 1", "replicas: 4");
    let planned = server.post("/api/v1/plans", &upgrade(&edited)).await;
    assert_eq!(planned.status, 200, "{}", planned.body);
    let plan = planned.json();
    assert_eq!((&plan["from"], &plan["to"], &plan["hasChanges"]), (&json!(1), &json!(2), &json!(true)));
    assert_eq!((&plan["summary"]["update"], &plan["summary"]["unchanged"]), (&json!(1), &json!(1)));
    let deployment =
        plan["objects"].as_array().unwrap().iter().find(|object| object["action"] == "update").unwrap();
    assert_eq!(deployment["changes"], json!([{"path": "spec.replicas", "before": 1, "after": 4}]));
    let command = plan["command"].as_str().unwrap();
    assert!(
        command.starts_with("pintle upgrade web web --values values.yaml")
            && command.ends_with("--cluster embedded"),
        "{command}"
    );
    assert_eq!(plan["valuesFile"], edited);
    let started = server.post("/api/v1/operations", &json!({"plan": plan["plan"]})).await;
    assert_eq!(started.status, 202, "{}", started.body);
    let ended = end(&server, &started.json()).await;
    assert_eq!((&ended["state"], &ended["result"]["revision"]), (&json!("succeeded"), &json!(2)), "{ended}");
    let values = server.get("/api/v1/releases/shop/web/values?reveal=true").await;
    assert_eq!(
        (&values["values"]["auth"]["password"], &values["values"]["replicas"]),
        (&json!("correct-horse-battery"), &json!(4))
    );
    let again = server.post("/api/v1/operations", &json!({"plan": plan["plan"]})).await;
    assert_eq!((again.status, again.kind().as_str()), (409, "stale-plan"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_the_cluster_has_left_behind_is_not_applied() {
    let server = Running::start().await;
    server.install("shop", "web", "").await;
    let plan = server.post("/api/v1/plans", &upgrade("replicas: 2")).await.json();
    let other = server.post("/api/v1/operations", &upgrade("replicas: 7")).await.json();
    assert_eq!(end(&server, &other).await["state"], "succeeded");
    let started = server.post("/api/v1/operations", &json!({"plan": plan["plan"]})).await;
    let ended = end(&server, &started.json()).await;
    assert_eq!(
        (&ended["state"], &ended["error"]["kind"]),
        (&json!("failed"), &json!("stale-plan")),
        "{ended}"
    );
    assert!(ended["error"]["message"].as_str().unwrap().contains("release web"), "{ended}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_goes_on_without_its_window_and_can_be_followed_again() {
    let server = Running::start().await;
    server.install("shop", "web", "").await;
    let started = server.post("/api/v1/operations", &upgrade("replicas: 2")).await.json();
    let id = started["id"].as_str().unwrap().to_owned();
    // The first window closes after one event.
    drop(server.events(&format!("/api/v1/operations/{id}/events")).await);
    let ended = end(&server, &started).await;
    assert_eq!(ended["state"], "succeeded");
    // Another one sees all of it, from the beginning.
    let mut events = server.events(&format!("/api/v1/operations/{id}/events")).await;
    let mut names = Vec::new();
    loop {
        let (name, _) = events.next().await;
        names.push(name);
        if names.last().is_some_and(|name| name == "end") {
            break;
        }
    }
    assert!(names.contains(&"stage".to_owned()) && names.contains(&"applied".to_owned()), "{names:?}");
    let listed = server.get("/api/v1/operations").await;
    assert_eq!(
        (&listed["operations"][0]["id"], &listed["operations"][0]["state"]),
        (&json!(id), &json!("succeeded"))
    );
    assert_eq!(server.get(&format!("/api/v1/operations/{id}")).await["operation"], "upgrade");
    let unknown = server.page("GET", "/api/v1/operations/o-none", &Value::Null).await;
    assert_eq!(unknown.status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_are_installed_rolled_back_and_uninstalled() {
    let server = Running::start().await;
    let path = server.chart();
    let install = json!({"operation": "install", "namespace": "shop", "name": "web", "createNamespace": true,
        "chart": {"path": path}, "values": "replicas: 1", "wait": false});
    let plan = server.post("/api/v1/plans", &install).await;
    assert_eq!(plan.status, 200, "{}", plan.body);
    assert_eq!(plan.json()["summary"]["create"], 3, "the namespace, too");
    let started = server.post("/api/v1/operations", &json!({"plan": plan.json()["plan"]})).await.json();
    let ended = end(&server, &started).await;
    assert_eq!(ended["result"]["notes"], "Release web has 1 replicas.\n", "{ended}");
    let started = server.post("/api/v1/operations", &upgrade("replicas: 2")).await.json();
    assert_eq!(end(&server, &started).await["result"]["revision"], 2);

    let back =
        json!({"operation": "rollback", "namespace": "shop", "name": "web", "revision": 1, "wait": false});
    let plan = server.post("/api/v1/plans", &back).await.json();
    assert_eq!((&plan["operation"], &plan["to"]), (&json!("rollback"), &json!(3)));
    assert_eq!(plan["command"], "pintle rollback web 1 --namespace shop --cluster embedded");
    let started = server.post("/api/v1/operations", &json!({"plan": plan["plan"]})).await.json();
    assert_eq!(end(&server, &started).await["state"], "succeeded");
    assert_eq!(
        server.get("/api/v1/releases/shop/web/revisions").await["revisions"].as_array().unwrap().len(),
        3
    );

    let gone = json!({"operation": "uninstall", "namespace": "shop", "name": "web"});
    let plan = server.post("/api/v1/plans", &gone).await.json();
    assert_eq!(plan["summary"]["delete"], 2, "{plan}");
    let started = server.post("/api/v1/operations", &json!({"plan": plan["plan"]})).await.json();
    assert_eq!(end(&server, &started).await["state"], "succeeded");
    assert_eq!(server.get("/api/v1/releases").await["total"], 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_fails_says_why_and_cannot_be_applied() {
    let server = Running::start().await;
    server.install("shop", "web", "").await;
    let refused = server.post("/api/v1/plans", &upgrade("replicas: [")).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("values.yaml"), "{}", refused.body);
    let hidden = server.post("/api/v1/plans", &upgrade("new: (hidden)")).await;
    assert_eq!(hidden.status, 422, "{}", hidden.body);
    let failing = server.post("/api/v1/plans", &upgrade("replicas: many")).await;
    let plan = failing.json();
    assert_eq!((failing.status, &plan["plan"]), (200, &Value::Null), "{plan}");
    assert!(!plan["problems"].as_array().unwrap().is_empty(), "{plan}");
    let unread = server.post("/api/v1/plans", &upgrade("replicaz: 2")).await.json();
    assert!(unread["unread"].to_string().contains("replicaz"), "{unread}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_windows_do_not_change_one_release_at_once() {
    let server = Running::start().await;
    server.install("shop", "web", "").await;
    // Its image never becomes ready where there is none, so that the first one waits.
    let slow = json!({"operation": "upgrade", "namespace": "shop", "name": "web", "values": "image: does/not:exist-error",
        "wait": true, "timeoutSeconds": 600});
    let first = server.post("/api/v1/operations", &slow).await.json();
    let second = server.post("/api/v1/operations", &upgrade("replicas: 2")).await;
    if second.status == 423 {
        assert!(
            second.json()["error"]["message"].as_str().unwrap().contains("running already"),
            "{}",
            second.body
        );
    } else {
        // The first one has ended already, which then is no conflict.
        assert_ne!(end(&server, &first).await["state"], "running");
    }
    let id = first["id"].as_str().unwrap();
    assert_eq!(server.post(&format!("/api/v1/operations/{id}/cancel"), &json!({})).await.status, 202);
    let ended = end(&server, &first).await;
    assert_ne!(ended["state"], "running", "{ended}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_rehearsed_on_a_cluster_of_its_own() {
    let server = Running::with(|settings| settings.write = false).await;
    server.install("shop", "web", "replicas: 1").await;
    let started = server.post("/api/v1/rehearsals", &upgrade("replicas: 2")).await;
    assert_eq!(started.status, 202, "{}", started.body);
    let ended = end(&server, &started.json()).await;
    assert_eq!((&ended["operation"], &ended["state"]), (&json!("rehearse"), &json!("succeeded")), "{ended}");
    let stages = ended["result"]["report"]["stages"].as_array().unwrap();
    assert!(stages.iter().any(|stage| stage["name"] == "upgrade"), "{ended}");
    assert_eq!(server.get("/api/v1/releases/shop/web").await["revision"], 1);
    server.stop().await;
}
