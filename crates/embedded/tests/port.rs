//! The API on a port, and clients that take more than their part.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::net::SocketAddr;
use std::time::Duration;

use pintle_embedded::serve::{Limits, Settings, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support;

/// No test waits for longer.
const LONG: Duration = Duration::from_secs(60);
/// No limit of a test's own.
const NEVER: Duration = Duration::from_secs(3600);

/// Limits that no test reaches by itself.
fn wide() -> Limits {
    Limits { max_connections: 100, header_timeout: NEVER, body_timeout: NEVER, write_timeout: NEVER }
}

async fn start(limits: Limits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let api = support::cluster().await;
    tokio::spawn(async move {
        let settings = Settings { limits, ..Settings::default() };
        serve(api, listener, &settings, std::future::pending()).await
    });
    address
}

async fn say(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// All that comes until the end of the connection.
async fn hear(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // An end that is not a clean one is an end as well.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut text)).await.expect("it ends");
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads until `text` has come.
async fn hear_until(stream: &mut TcpStream, text: &str) -> String {
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains(text) {
        let read = tokio::time::timeout(LONG, stream.read_buf(&mut heard)).await.expect("it comes");
        assert_ne!(read.unwrap(), 0, "{}", String::from_utf8_lossy(&heard));
    }
    String::from_utf8_lossy(&heard).into_owned()
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const WATCH: &str = "GET /api/v1/configmaps?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn connections_on_which_nothing_is_asked_give_way_and_watches_stay() {
    let address = start(Limits { max_connections: 4, ..wide() }).await;
    let mut watch = say(address, WATCH).await;
    hear_until(&mut watch, "ADDED").await;
    let mut idle = Vec::new();
    for half in ["", "GET /", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "", "", "", "", ""] {
        idle.push(say(address, half).await);
    }
    assert!(hear(&mut say(address, HEALTH).await).await.ends_with("ok"));
    // Those that came first are gone, and the one that was busy all the time is not.
    assert_eq!(hear(&mut idle[0]).await, "");
    let body = r#"{"metadata":{"name":"news"}}"#;
    let post = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(hear(&mut say(address, &post).await).await.contains("201 Created"));
    hear_until(&mut watch, r#""name":"news""#).await;
}

#[tokio::test]
async fn whoever_comes_while_all_are_busy_has_its_turn_when_one_is_done() {
    let address = start(Limits { max_connections: 1, ..wide() }).await;
    let mut watch = say(address, WATCH).await;
    hear_until(&mut watch, "ADDED").await;
    let mut waiting = say(address, HEALTH).await;
    drop(watch);
    assert!(hear(&mut waiting).await.ends_with("ok"));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let address = start(Limits { body_timeout: Duration::from_millis(50), ..wide() }).await;
    let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/yaml\r\nContent-Length: 1000\r\n\r\nmetadata: {name: half}\n";
    let answer = hear(&mut say(address, head).await).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("did not arrive in time"), "{answer}");
    let there = "GET /api/v1/namespaces/default/configmaps/half HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(hear(&mut say(address, there).await).await.contains("404 Not Found"));
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_given_up_and_a_quiet_watch_is_not() {
    let write_timeout = Duration::from_millis(200);
    let address = start(Limits { write_timeout, max_connections: 1, ..wide() }).await;
    // A watch that is to last for longer than that ends as it should.
    let quiet = WATCH
        .replace("?watch=1", "?watch=1&timeoutSeconds=1")
        .replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let heard = hear(&mut say(address, &quiet).await).await;
    assert!(heard.contains("ADDED") && heard.ends_with("0\r\n\r\n"), "{heard}");
    // Asks for much, many times over, and reads nothing of it.
    let many = "GET /openapi/v3/api/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    let _greedy = say(address, &many).await;
    assert!(hear(&mut say(address, HEALTH).await).await.ends_with("ok"));
}
