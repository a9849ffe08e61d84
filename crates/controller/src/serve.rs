//! Health, readiness and metrics over HTTP. Three fixed answers need no HTTP library: the request line is read, bounded in
//! size and time, and the connection is closed after the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::metrics::Metrics;

/// The largest request head.
const MAX_HEAD: usize = 8 << 10;
/// How long a client may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How many clients are answered at once.
const MAX_CLIENTS: usize = 16;

/// The state that the endpoints report.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// Whether the watch on requests has begun, or another process is the leader.
    pub ready: Arc<AtomicBool>,
}

/// Answers requests for `/healthz`, `/readyz` and `/metrics` until it is dropped.
pub async fn serve(listener: TcpListener, health: Health) {
    let slots = Arc::new(tokio::sync::Semaphore::new(MAX_CLIENTS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let health = health.clone();
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(TIMEOUT, answer(stream, &health)).await;
                    drop(slot);
                });
            }
            // `EMFILE` is temporary, and a broken listener must not cause a busy loop.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: TcpStream, health: &Health) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut chunk).await?;
        if read == 0 || head.len() + read > MAX_HEAD {
            return Ok(());
        }
        head.extend_from_slice(&chunk[..read]);
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let (status, body) = respond(&String::from_utf8_lossy(line), health);
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

fn respond(line: &str, health: &Health) -> (&'static str, String) {
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "GET" {
        return ("405 Method Not Allowed", String::new());
    }
    match target.split('?').next().unwrap_or_default() {
        "/healthz" => ("200 OK", "ok\n".to_owned()),
        "/readyz" if health.ready.load(Ordering::Relaxed) => ("200 OK", "ok\n".to_owned()),
        "/readyz" => ("503 Service Unavailable", "the watch on requests has not begun\n".to_owned()),
        "/metrics" => ("200 OK", health.metrics.render()),
        _ => ("404 Not Found", String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_and_metrics_are_answered() {
        let health = Health::default();
        assert_eq!(respond("GET /healthz HTTP/1.1", &health).0, "200 OK");
        assert_eq!(respond("GET /readyz HTTP/1.1", &health).0, "503 Service Unavailable");
        health.ready.store(true, Ordering::Relaxed);
        assert_eq!(respond("GET /readyz?verbose HTTP/1.1", &health).0, "200 OK");
        assert!(respond("GET /metrics HTTP/1.1", &health).1.contains("pintle_leader 0"));
        assert_eq!(respond("POST /metrics HTTP/1.1", &health).0, "405 Method Not Allowed");
        assert_eq!(respond("GET /secrets HTTP/1.1", &health).0, "404 Not Found");
    }
}
