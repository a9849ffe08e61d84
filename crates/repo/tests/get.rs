//! Fetching from misbehaving servers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pintle_repo::{Getter, Proxies, Request};

/// Answers every request with these bytes, and sends nothing more. Returns the URL.
fn server(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                // The connection stays open until the client closes it, so a client that expects more has to time out.
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                    let _ = stream.write_all(&answer);
                }
            });
        }
    });
    format!("http://{address}/x")
}

fn get(url: &str, limit: u64, timeout: Duration) -> Result<Vec<u8>, String> {
    let getter = Getter::new(Proxies::default(), timeout, "test");
    let request = Request { url, home: url, compressed: true, limit, ..Request::default() };
    getter.get_bytes(&request).map(|(_, bytes)| bytes).map_err(|error| error.to_string())
}

const TIMEOUT: Duration = Duration::from_secs(120);

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 200 OK\r\n{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

#[test]
fn more_than_the_limit_is_not_taken() {
    let url = server(answer("", &[b'x'; 1001]));
    let error = get(&url, 1000, TIMEOUT).expect_err("it is too much");
    assert_eq!(
        error,
        format!("failed to fetch {url} : it is larger than 1000 bytes, which is the most that is taken")
    );
    assert_eq!(get(&url, 1001, TIMEOUT).map(|bytes| bytes.len()), Ok(1001));
}

#[test]
fn a_little_that_unpacks_to_much_is_cut_off_at_the_limit() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![0; 32 << 20]).expect("it fits into memory");
    let bomb = encoder.finish().expect("it fits into memory");
    let url = server(answer("content-encoding: gzip\r\n", &bomb));
    let error = get(&url, 1 << 20, TIMEOUT).expect_err("it is too much");
    assert!(error.contains("larger than 1048576 bytes"), "{error}");
}

#[test]
fn damaged_compression_is_an_error() {
    let url =
        server(answer("content-encoding: gzip\r\n", b"no gzip at all, but long enough to be looked at"));
    assert!(get(&url, 1000, TIMEOUT).is_err());
}

#[test]
fn a_server_that_says_nothing_or_stops_is_given_up_in_time() {
    let short = Duration::from_millis(300);
    let url = server(Vec::new());
    let error = get(&url, 1000, short).expect_err("it says nothing");
    assert_eq!(
        error,
        format!("Get \"{url}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
    );
    let url = server(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome".to_vec());
    let error = get(&url, 1000, short).expect_err("it stops");
    assert_eq!(
        error,
        "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    );
}

#[test]
fn redirects_end_and_lead_only_to_servers() {
    let moved =
        |to: &str| format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes();
    let url = server(moved("/again"));
    let error = get(&url, 1000, TIMEOUT).expect_err("it has no end");
    assert!(error.ends_with("/again\": stopped after 10 redirects"), "{error}");
    let error = get(&server(moved("file:///etc/passwd")), 1000, TIMEOUT).expect_err("it is no server");
    assert!(error.ends_with("unsupported protocol scheme \"file\""), "{error}");
}

#[test]
fn what_is_no_answer_is_an_error() {
    let error = get(&server(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec()), 1000, TIMEOUT).expect_err("no answer");
    assert!(error.contains("malformed HTTP response"), "{error}");
}
