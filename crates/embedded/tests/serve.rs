//! The API on a port, with clients that exceed the limits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::net::SocketAddr;
use std::time::Duration;

use pintle_embedded::serve::{Limits, Settings, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support;

/// The limit of all waits in tests.
const LONG: Duration = Duration::from_secs(60);
/// A limit that no test reaches.
const NEVER: Duration = Duration::from_secs(3600);

fn no_limits() -> Limits {
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

async fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Reads until the connection is closed.
async fn read_all(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A reset counts as closed.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut text)).await.expect("it ends");
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads until `text` has been received.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains(text) {
        let read = tokio::time::timeout(LONG, stream.read_buf(&mut received)).await.expect("it comes");
        assert_ne!(read.unwrap(), 0, "{}", String::from_utf8_lossy(&received));
    }
    String::from_utf8_lossy(&received).into_owned()
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const WATCH: &str = "GET /api/v1/configmaps?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn idle_connections_are_closed_for_new_ones_and_watches_stay() {
    let address = start(Limits { max_connections: 4, ..no_limits() }).await;
    let mut watch = send(address, WATCH).await;
    read_until(&mut watch, "ADDED").await;
    let mut idle = Vec::new();
    for half in ["", "GET /", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "", "", "", "", ""] {
        idle.push(send(address, half).await);
    }
    assert!(read_all(&mut send(address, HEALTH).await).await.ends_with("ok"));
    // The connections that were opened first are closed; the busy one is not.
    assert_eq!(read_all(&mut idle[0]).await, "");
    let body = r#"{"metadata":{"name":"news"}}"#;
    let post = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(read_all(&mut send(address, &post).await).await.contains("201 Created"));
    read_until(&mut watch, r#""name":"news""#).await;
}

#[tokio::test]
async fn new_clients_wait_while_all_connections_are_busy() {
    let address = start(Limits { max_connections: 1, ..no_limits() }).await;
    let mut watch = send(address, WATCH).await;
    read_until(&mut watch, "ADDED").await;
    let mut waiting = send(address, HEALTH).await;
    drop(watch);
    assert!(read_all(&mut waiting).await.ends_with("ok"));
}

#[tokio::test]
async fn a_body_that_does_not_arrive_times_out() {
    let address = start(Limits { body_timeout: Duration::from_millis(50), ..no_limits() }).await;
    let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/yaml\r\nContent-Length: 1000\r\n\r\nmetadata: {name: half}\n";
    let answer = read_all(&mut send(address, head).await).await;
    assert!(
        answer.starts_with("HTTP/1.1 408 ") && answer.contains("timed out reading the request body"),
        "{answer}"
    );
    let there = "GET /api/v1/namespaces/default/configmaps/half HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(read_all(&mut send(address, there).await).await.contains("404 Not Found"));
}

#[tokio::test]
async fn an_unread_response_times_out_and_an_idle_watch_does_not() {
    let write_timeout = Duration::from_millis(200);
    let address = start(Limits { write_timeout, max_connections: 1, ..no_limits() }).await;
    // A watch that lasts longer than the write timeout ends regularly.
    let quiet = WATCH
        .replace("?watch=1", "?watch=1&timeoutSeconds=1")
        .replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let received = read_all(&mut send(address, &quiet).await).await;
    assert!(received.contains("ADDED") && received.ends_with("0\r\n\r\n"), "{received}");
    // Sends many requests for a large document and reads nothing.
    let many = "GET /openapi/v3/api/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    let _greedy = send(address, &many).await;
    assert!(read_all(&mut send(address, HEALTH).await).await.ends_with("ok"));
}
