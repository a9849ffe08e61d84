//! What is shown of releases.

use serde_json::{Value, json};

use crate::support::Running;

const SECRET: &str = "correct-horse-battery";

#[tokio::test(flavor = "multi_thread")]
async fn releases_of_all_namespaces_are_listed_filtered_and_paged() {
    let server = Running::start().await;
    for (namespace, name) in [("shop", "web"), ("shop", "db"), ("blog", "web")] {
        server.install(namespace, name, "").await;
    }
    let all = server.get("/api/v1/releases").await;
    assert_eq!(all["total"], 3);
    let first = &all["releases"][0];
    assert_eq!(
        (&first["name"], &first["chart"], &first["chartVersion"]),
        (&json!("db"), &json!("web"), &json!("1.2.3"))
    );
    assert_eq!(
        (&first["status"], &first["revision"], &first["store"]),
        (&json!("deployed"), &json!(1), &json!("native"))
    );
    assert_eq!(server.get("/api/v1/releases?namespace=shop").await["total"], 2);
    assert_eq!(server.get("/api/v1/releases?filter=WEB").await["total"], 2);
    assert_eq!(server.get("/api/v1/releases?status=failed,superseded").await["total"], 0);
    let page = server.get("/api/v1/releases?limit=2").await;
    let after = page["next"].as_str().unwrap().replace(' ', "%20");
    let rest = server.get(&format!("/api/v1/releases?limit=2&after={after}")).await;
    assert_eq!((rest["releases"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_releases_arrive_as_events() {
    let server = Running::start().await;
    server.install("shop", "web", "").await;
    let mut events = server.events("/api/v1/releases/watch").await;
    let (name, data) = events.next().await;
    assert_eq!((name.as_str(), &data["releases"][0]["name"]), ("batch", &json!("web")));
    assert_eq!(events.until("synced").await, json!({"total": 1}));
    server.install("shop", "db", "").await;
    loop {
        let release = events.until("applied").await;
        assert_eq!(release["name"], "db");
        if release["status"] == "deployed" {
            break;
        }
    }
    let gone = server
        .post("/api/v1/operations", &json!({"operation": "uninstall", "namespace": "shop", "name": "db"}))
        .await;
    assert_eq!(gone.status, 202, "{}", gone.body);
    assert_eq!(events.until("removed").await, json!({"namespace": "shop", "name": "db"}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_shown_with_what_it_consists_of() {
    let server = Running::start().await;
    server.install("shop", "web", "replicas: 2").await;
    let release = "/api/v1/releases/shop/web";
    let detail = server.get(release).await;
    assert_eq!(detail["chartMeta"]["description"], "A web server");
    assert_eq!(detail["notes"], "Release web has 2 replicas.\n");
    assert_eq!(detail["commands"]["values"], "pintle get values web --namespace shop --cluster embedded");
    assert_eq!(server.get(&format!("{release}/notes")).await["notes"], detail["notes"]);
    let revisions = server.get(&format!("{release}/revisions")).await;
    assert_eq!(revisions["revisions"][0]["revision"], 1);

    let objects = server.get(&format!("{release}/objects")).await;
    assert_eq!(objects["total"], 2);
    let deployment =
        objects["objects"].as_array().unwrap().iter().find(|object| object["kind"] == "Deployment").unwrap();
    assert_eq!(deployment["key"], "apps/v1/Deployment/shop/web");
    let set = &deployment["children"][0];
    assert_eq!((&set["kind"], set["children"].as_array().unwrap().len()), (&json!("ReplicaSet"), 2));
    assert_eq!(set["children"][0]["kind"], "Pod");
    let mut states = server.events(&format!("{release}/objects/watch")).await;
    assert_eq!(states.until("objects").await["total"], 2);

    let manifest = server.get(&format!("{release}/manifest")).await;
    let keys: Vec<&str> = manifest["documents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|document| document["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["v1/Secret/shop/web", "apps/v1/Deployment/shop/web"]);
    let images = server.get(&format!("{release}/images")).await;
    assert_eq!(images["images"][0]["full"], "docker.io/library/nginx:1.27");
    assert_eq!(images["images"][0]["uses"][0]["field"], "spec.template.spec.containers[0].image");
    let schema = server.get(&format!("{release}/schema")).await;
    assert_eq!((&schema["derived"], &schema["problem"]), (&json!(true), &Value::Null));
    assert!(schema["schema"]["properties"]["replicas"].is_object(), "{schema}");
    let live = server.get(&format!("{release}/object?key=apps/v1/Deployment/shop/web")).await;
    assert!(
        live["yaml"].as_str().unwrap().contains("replicas: 2")
            && !live["managers"].as_array().unwrap().is_empty()
    );
    let missing = server.page("GET", "/api/v1/releases/shop/none", &Value::Null).await;
    assert_eq!((missing.status, missing.kind().as_str()), (404, "not-found"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_sent_only_when_they_are_asked_for() {
    let server = Running::start().await;
    server.install("shop", "web", &format!("auth: {{password: {SECRET}}}")).await;
    let encoded = "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5";
    let release = "/api/v1/releases/shop/web";
    let paths = [
        "",
        "/values",
        "/values?all=true",
        "/manifest",
        "/hooks",
        "/objects",
        "/object?key=v1/Secret/shop/web",
        "/explain?value=",
        "/explain?value=auth.password",
        "/explain?line=templates/secret.yaml:8",
        "/explain/files",
        "/explain/reaches?value=auth.password",
        "/compare?from=1&to=1&full=true",
        "/compare?to=live",
        "/schema",
        "/revisions",
    ];
    for path in paths {
        let answer = server.page("GET", &format!("{release}{path}"), &Value::Null).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(!answer.body.contains(SECRET) && !answer.body.contains(encoded), "{path}: {}", answer.body);
    }
    let plan = json!({"operation": "upgrade", "namespace": "shop", "name": "web",
        "values": format!("auth: {{password: {SECRET}-2}}\nreplicas: 2\n")});
    let planned = server.post("/api/v1/plans", &plan).await;
    assert_eq!(planned.status, 200, "{}", planned.body);
    let objects = planned.json()["objects"].to_string();
    assert!(!objects.contains(SECRET) && !objects.contains(encoded), "{objects}");
    for path in ["/values?reveal=true", "/manifest?reveal=true"] {
        let answer = server.page("GET", &format!("{release}{path}"), &Value::Null).await;
        assert!(answer.body.contains(SECRET), "{path}: {}", answer.body);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_explained_by_its_template_and_its_values() {
    let server = Running::start().await;
    server.install("shop", "web", "replicas: 2").await;
    let release = "/api/v1/releases/shop/web";
    let files = server.get(&format!("{release}/explain/files")).await;
    let file = files["files"].as_array().unwrap().iter().find(|file| file["kind"] == "Deployment").unwrap();
    let text = file["text"].as_str().unwrap();
    let at = text.lines().position(|line| line.contains("replicas: 2")).unwrap();
    let line = file["line"].as_u64().unwrap() + at as u64;
    let explained =
        server.get(&format!("{release}/explain?line={}:{line}", file["file"].as_str().unwrap())).await;
    assert_eq!(explained["text"].as_str().unwrap().trim(), "replicas: 2");
    assert_eq!(
        explained["templates"][0]["text"].as_str().unwrap().trim(),
        "replicas: {{ .Values.replicas }}"
    );
    let value = &explained["values"][0];
    assert_eq!(
        (&value["path"], &value["value"], &value["origin"]["layer"]),
        (&json!("replicas"), &json!(2), &json!("user"))
    );
    assert_eq!(value["overridden"][0]["layer"], "default");
    let reached = server.get(&format!("{release}/explain/reaches?value=replicas")).await;
    assert_eq!(reached["lines"], json!([{"file": file["file"], "line": line, "text": "  replicas: 2"}]));
    let body = json!({"operation": "upgrade", "namespace": "shop", "name": "web", "values": "replicas: 5", "value": "replicas"});
    let edited = server.post("/api/v1/explain", &body).await;
    assert_eq!(edited.status, 200, "{}", edited.body);
    assert_eq!(edited.json()["values"][0]["value"], 5);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_compared_and_drift_names_who_changed_what() {
    let server = Running::start().await;
    server.install("shop", "web", "replicas: 2").await;
    let upgrade = json!({"operation": "upgrade", "namespace": "shop", "name": "web", "values": "replicas: 3", "wait": false});
    let started = server.post("/api/v1/operations", &upgrade).await;
    assert_eq!(started.status, 202, "{}", started.body);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    let mut events = server.events(&format!("/api/v1/operations/{id}/events")).await;
    assert_eq!(events.until("end").await["state"], "succeeded");
    let compared = server.get("/api/v1/releases/shop/web/compare?from=1&to=2").await;
    assert_eq!(compared["summary"], json!({"added": 0, "removed": 0, "changed": 1, "unchanged": 1}));
    let changed =
        compared["objects"].as_array().unwrap().iter().find(|object| object["change"] == "changed").unwrap();
    assert_eq!(changed["fields"][0]["path"], "spec.replicas");
    let lines = changed["lines"].as_array().unwrap();
    assert!(lines.contains(&json!({"op": "+", "text": "  replicas: 3"})), "{changed}");
    assert!(
        compared["values"]["lines"].as_array().unwrap().contains(&json!({"op": "-", "text": "replicas: 2"}))
    );
    let live = server.get("/api/v1/releases/shop/web/compare?to=live").await;
    assert_eq!((&live["to"]["live"], &live["objects"]), (&json!(true), &json!([])));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_so() {
    let server = Running::start().await;
    assert_eq!(server.get("/api/v1/requests").await, json!({"installed": false, "requests": []}));
    let none = server.page("GET", "/api/v1/requests/shop/web", &Value::Null).await;
    assert_eq!(none.status, 404);
    for path in ["/api/v1/charts?query=x", "/api/v1/repositories", "/api/v1/outdated"] {
        let answer = server.page("GET", path, &Value::Null).await;
        assert_eq!(answer.status, 400, "{path}: this server has no repositories: {}", answer.body);
    }
    let namespaces = server.get("/api/v1/namespaces").await;
    assert!(
        namespaces["complete"] == true
            && namespaces["namespaces"].as_array().unwrap().contains(&json!("default"))
    );
    assert_eq!(server.get("/api/v1/contexts").await["current"], "embedded");
    let unknown = server.page("GET", "/api/v1/releases?context=other", &Value::Null).await;
    assert_eq!(unknown.status, 404);
    let chart = server.chart();
    let shown = server.get(&format!("/api/v1/chart?path={}", chart.display())).await;
    assert_eq!((&shown["name"], &shown["version"]), (&json!("web"), &json!("1.2.3")));
    assert!(shown["values"].as_str().unwrap().contains("replicas: 1"));
    server.stop().await;
}
