//! What pages of others, other machines and other users try.

use pintle_ui::{Authentication, Server};
use serde_json::{Value, json};

use crate::support::{Running, session, settings};

/// Everything of the interface that a hostile page could want.
const WANTED: [(&str, &str); 4] = [
    ("GET", "/api/v1/releases"),
    ("GET", "/api/v1/releases/watch"),
    ("POST", "/api/v1/operations"),
    ("POST", "/api/v1/logout"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_gets_nothing_though_the_browser_sends_the_cookie() {
    let server = Running::start().await;
    for (method, path) in WANTED {
        for site in ["cross-site", "same-site"] {
            let headers = [
                ("Cookie", server.cookie.as_str()),
                ("Sec-Fetch-Site", site),
                ("Sec-Fetch-Mode", "cors"),
                ("Origin", "https://evil.example"),
                ("Content-Type", "application/json"),
            ];
            let answer = server.send(method, path, &headers, "{}").await;
            assert_eq!(
                (answer.status, answer.kind().as_str()),
                (403, "cross-site"),
                "{method} {path} {site}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    // The question that browsers ask before such a request.
    let asks = [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")];
    let answer = server.send("OPTIONS", "/api/v1/operations", &asks, "").await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_fetch_metadata_is_told_by_its_origin() {
    let server = Running::start().await;
    let cookie = ("Cookie", server.cookie.as_str());
    let json = ("Content-Type", "application/json");
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"] {
        let answer = server.send("POST", "/api/v1/logout", &[cookie, json, ("Origin", origin)], "{}").await;
        assert_eq!((answer.status, answer.kind().as_str()), (403, "cross-site"), "{origin}");
    }
    let answer = server.send("POST", "/api/v1/logout", &[cookie, json], "{}").await;
    assert_eq!(answer.status, 403, "neither header is there");
    let own = format!("http://{}", server.host());
    let answer = server.send("POST", "/api/v1/logout", &[cookie, json, ("Origin", &own)], "{}").await;
    assert_eq!(answer.status, 204);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_images_frames_and_web_sockets_reach_nothing() {
    let server = Running::start().await;
    let cookie = ("Cookie", server.cookie.as_str());
    let own = format!("http://{}", server.host());
    for kind in ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"] {
        let form = [
            cookie,
            ("Content-Type", kind),
            ("Origin", "https://evil.example"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"),
        ];
        let answer = server.send("POST", "/api/v1/operations", &form, "operation=uninstall").await;
        assert_eq!((answer.status, answer.kind().as_str()), (403, "cross-site"));
        // Even from our own origin such a body is no request.
        let form =
            [cookie, ("Content-Type", kind), ("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
        let answer = server.send("POST", "/api/v1/operations", &form, "{}").await;
        assert_eq!(answer.status, 415);
    }
    let image = [
        cookie,
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "image"),
    ];
    assert_eq!(server.send("GET", "/api/v1/releases", &image, "").await.status, 403);
    assert_eq!(server.send("GET", "/assets/app.js", &image, "").await.status, 403);
    let frame = [
        cookie,
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "iframe"),
    ];
    assert_eq!(server.send("GET", "/", &frame, "").await.status, 403);
    // A link leads to the page, and never to data.
    let link = [
        cookie,
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    assert_eq!(server.send("GET", "/releases/shop/web", &link, "").await.status, 200);
    assert_eq!(server.send("GET", "/api/v1/releases", &link, "").await.status, 403);
    let socket = [
        cookie,
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ("Origin", own.as_str()),
    ];
    assert_eq!(server.send("GET", "/api/v1/releases/watch", &socket, "").await.status, 400);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_rebound_to_this_machine_is_refused() {
    let server = Running::with(|settings| settings.hosts.push("ui.example.com".to_owned())).await;
    let port = server.address.port();
    let cookie = ("Cookie", server.cookie.as_str());
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        &format!("127.0.0.1.evil.example:{port}"),
        "127.0.0.1:1",
        "localhost",
        "",
        "127.0.0.1:0x50",
        "ui.example.com.evil.example",
    ] {
        let answer = server.send("GET", "/api/v1/releases", &[cookie, ("Host", host)], "").await;
        assert_eq!((answer.status, answer.kind().as_str()), (403, "wrong-host"), "{host:?}");
        let answer = server.send("GET", &format!("/?t={}", server.token), &[("Host", host)], "").await;
        assert_eq!(answer.status, 403, "{host:?}");
    }
    let twice = [cookie, ("Host", "evil.example"), ("Host", &server.host())];
    assert_eq!(server.send("GET", "/api/v1/releases", &twice, "").await.status, 403);
    for host in [format!("localhost:{port}"), format!("[::1]:{port}"), "ui.example.com".to_owned()] {
        assert_eq!(
            server.send("GET", "/api/v1/session", &[cookie, ("Host", &host)], "").await.status,
            200,
            "{host}"
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_answered_without_a_session_and_a_link_works_once() {
    let server = Running::start().await;
    for (method, path, _) in pintle_ui::routes().filter(|(_, path, _)| *path != "/api/v1/login") {
        let path = path.replace("{}", "x");
        let own = format!("http://{}", server.host());
        let headers = [("Content-Type", "application/json"), ("Origin", own.as_str())];
        for cookie in ["", "pintle-ui=x", &format!("pintle-ui-{}=", server.address.port())] {
            let headers = [&headers[..], &[("Cookie", cookie)]].concat();
            let answer = server.send(method, &path, &headers, "").await;
            assert_eq!((answer.status, answer.kind().as_str()), (401, "not-signed-in"), "{method} {path}");
        }
    }
    let again = server.send("GET", &format!("/?t={}", server.token), &[], "").await;
    assert_eq!(again.status, 401, "{}", again.body);
    assert!(again.header("set-cookie").is_none() && again.body.contains("used already"));
    let wrong = server.send("GET", "/?t=0000", &[], "").await;
    assert!(wrong.status == 401 && wrong.header("set-cookie").is_none());
    // Signed out is signed out.
    assert_eq!(server.post("/api/v1/logout", &json!({})).await.status, 204);
    let answer = server.page("GET", "/api/v1/releases", &Value::Null).await;
    assert_eq!(answer.status, 401);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_is_for_this_site_only_and_out_of_reach_of_scripts() {
    let session = session().await;
    let server = Server::bind(([127, 0, 0, 1], 0).into(), settings(&session)).await.unwrap();
    let url = server.url();
    let (address, port) = (server.address(), server.address().port());
    let served = tokio::spawn(server.serve(std::future::pending()));
    let mut running = Running::of(session, |_| {}).await;
    running.address = address;
    let path = url.split_once(&port.to_string()).unwrap().1;
    // What a browser loads ahead does not use the link up.
    let ahead = running.send("GET", path, &[("Sec-Purpose", "prefetch")], "").await;
    assert!(ahead.status == 503 && ahead.header("set-cookie").is_none());
    assert_eq!(running.send("HEAD", path, &[], "").await.status, 503);
    let opened = running.send("GET", path, &[], "").await;
    let cookie = opened.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Domain") && !opened.body.contains("script"), "{}", opened.body);
    served.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_the_headers_that_keep_pages_apart() {
    let server = Running::start().await;
    for path in ["/", "/assets/app.js", "/api/v1/session", "/api/v1/none", "/assets/none"] {
        let answer = server.page("GET", path, &Value::Null).await;
        let policy = answer.header("content-security-policy").unwrap();
        for part in
            ["default-src 'none'", "frame-ancestors 'none'", "script-src 'self';", "style-src 'self';"]
        {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let data = server.page("GET", "/api/v1/session", &Value::Null).await;
    assert_eq!(data.header("cache-control"), Some("no-store"));
    assert_eq!(data.header("content-type"), Some("application/json"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_lead_to_no_files() {
    let server = Running::start().await;
    for path in [
        "/assets/../index.html",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets//etc/passwd",
        "/assets/",
        "/assets/app.js%00.css",
    ] {
        let answer = server.page("GET", path, &Value::Null).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
    for path in ["/../../etc/passwd", "/..%2f..%2fetc/passwd"] {
        let answer = server.page("GET", path, &Value::Null).await;
        assert!(answer.body.contains("<!doctype html>") && !answer.body.contains("root:"), "{path}");
    }
    assert_eq!(server.page("POST", "/", &json!({})).await.status, 405);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_write_changes_nothing() {
    let server = Running::with(|settings| settings.write = false).await;
    server.install("shop", "web", "").await;
    let writes: Vec<_> = pintle_ui::routes().filter(|(_, _, writes)| *writes).collect();
    assert!(writes.len() >= 5);
    for (method, path, _) in writes {
        let answer = server
            .page(
                method,
                &path.replace("{}", "x"),
                &json!({"operation": "uninstall", "namespace": "shop",
            "name": "web"}),
            )
            .await;
        assert_eq!((answer.status, answer.kind().as_str()), (403, "read-only"), "{method} {path}");
    }
    let permissions = server.get("/api/v1/permissions?namespace=shop").await;
    assert_eq!(permissions["actions"]["upgrade"]["allowed"], false);
    assert_eq!(permissions["actions"]["logs"]["allowed"], true);
    assert_eq!(server.get("/api/v1/releases").await["total"], 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_machines_are_served_only_with_tokens_and_encryption() {
    let session = session().await;
    let anywhere = ([0, 0, 0, 0], 0).into();
    let refusal = |authentication: Authentication| {
        let mut settings = settings(&session);
        settings.authentication = authentication;
        async move { Server::bind(anywhere, settings).await.expect_err("refused").to_string() }
    };
    assert!(refusal(Authentication::Link).await.contains("--auth"));
    let tokens = Authentication::Tokens(vec![("0123456789abcdef".to_owned(), "anna".to_owned())]);
    assert!(refusal(tokens).await.contains("--tls-cert"));
    let header = Authentication::Header("X-Forwarded-User".to_owned());
    assert!(refusal(header).await.contains("any user"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_sign_users_in_who_may_not_use_the_disk_or_the_network_of_the_server() {
    let token = "0123456789abcdef0123";
    let mut server = Running::with(|settings| {
        settings.authentication = Authentication::Tokens(vec![(token.to_owned(), "anna".to_owned())]);
        settings.local_charts = false;
    })
    .await;
    let own = format!("http://{}", server.host());
    let headers =
        [("Content-Type", "application/json"), ("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    let wrong = server.send("POST", "/api/v1/login", &headers, "{\"token\":\"wrong\"}").await;
    assert!(wrong.status == 401 && wrong.header("set-cookie").is_none());
    let right = server.send("POST", "/api/v1/login", &headers, &json!({"token": token}).to_string()).await;
    assert_eq!(right.status, 204);
    server.cookie = right.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(server.get("/api/v1/session").await["user"], "anna");
    let bearer = format!("Bearer {token}");
    assert_eq!(server.send("GET", "/api/v1/session", &[("Authorization", &bearer)], "").await.status, 200);
    for chart in [
        json!({"path": "/etc"}),
        json!({"reference": "oci://127.0.0.1:1/x"}),
        json!({"reference": "../x"}),
        json!({"reference": "x", "repository": "http://127.0.0.1:1"}),
    ] {
        let body = json!({"operation": "install", "namespace": "a", "name": "b", "chart": chart});
        let answer = server.post("/api/v1/plans", &body).await;
        assert!(matches!(answer.status, 400 | 403), "{chart}: {} {}", answer.status, answer.body);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_names_the_user_and_without_it_nobody_is_signed_in() {
    let server = Running::with(|settings| {
        settings.authentication = Authentication::Header("X-Forwarded-User".to_owned())
    })
    .await;
    let user = ("X-Forwarded-User", "anna");
    let answer = server.send("GET", "/api/v1/session", &[user], "").await;
    assert_eq!((answer.status, &answer.json()["user"]), (200, &json!("anna")));
    assert_eq!(server.send("GET", "/api/v1/session", &[], "").await.status, 401);
    assert_eq!(
        server.send("GET", "/api/v1/session", &[user, ("X-Forwarded-User", "root")], "").await.status,
        401
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_streams_and_nonsense_are_limited() {
    let server = Running::with(|settings| {
        settings.limits.body = 1000;
        settings.limits.streams = 1;
    })
    .await;
    let large = server.post("/api/v1/plans", &json!({"values": "x".repeat(2000)})).await;
    assert_eq!((large.status, large.kind().as_str()), (413, "too-large"));
    let deep: Value =
        serde_json::from_str(&format!("{{\"a\":{}{}}}", "[".repeat(80), "]".repeat(80))).unwrap();
    assert_eq!(server.post("/api/v1/plans", &deep).await.status, 400);
    for body in [json!({"operation": "format"}), json!({"operation": 3}), json!({"operation": "upgrade"})] {
        assert_eq!(server.post("/api/v1/plans", &body).await.status, 400, "{body}");
    }
    let mut first = server.events("/api/v1/releases/watch").await;
    first.until("synced").await;
    let second = server.page("GET", "/api/v1/releases/watch", &Value::Null).await;
    assert_eq!((second.status, second.kind().as_str()), (429, "too-many"));
    for path in [
        "/api/v1/releases?limit=x",
        "/api/v1/releases?status=none",
        "/api/v1/releases?selector=!!",
        "/api/v1/releases/a/b?revision=x",
        "/api/v1/releases/a/B",
        "/api/v1/releases/a/b/object?key=x",
    ] {
        let answer = server.page("GET", path, &Value::Null).await;
        assert!(matches!(answer.status, 400 | 404), "{path}: {} {}", answer.status, answer.body);
        assert!(!answer.json()["error"]["message"].as_str().unwrap().is_empty());
    }
    server.stop().await;
}
