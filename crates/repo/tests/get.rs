//! Fetching from misbehaving servers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pintle_registry::address::AddressCheck;
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
fn a_getter_may_take_less_than_a_request_allows() {
    let url = server(answer("", &[b'x'; 1001]));
    let getter = Getter::new(Proxies::default(), TIMEOUT, "test").with_max_bytes(1000);
    let request = Request { url: &url, home: &url, limit: 5000, ..Request::default() };
    let error = getter.get_bytes(&request).expect_err("it is too much").to_string();
    assert!(error.contains("larger than 1000 bytes"), "{error}");
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

/// What a server says about a file that was changed at `modified`, in an answer of `date`.
fn validators(modified: &str, date: &str) -> (String, String) {
    let head = format!("{modified}{date}etag: \"5f-3\"\r\n");
    let url = server(answer(&head, b"index"));
    let getter = Getter::new(Proxies::default(), TIMEOUT, "test");
    let request = Request { url: &url, home: &url, limit: 1000, ..Request::default() };
    let (response, _) = getter.get_bytes(&request).expect("an answer");
    (response.validators.etag, response.validators.last_modified)
}

#[test]
fn a_file_that_may_change_within_the_same_second_is_fetched_again() {
    let at = |name: &str, second: u32| format!("{name}: Wed, 18 Nov 2026 10:00:{second:02} GMT\r\n");
    let nothing = (String::new(), String::new());
    assert_eq!(validators(&at("last-modified", 7), &at("date", 7)), nothing);
    assert_eq!(validators(&at("last-modified", 7), &at("date", 8)), nothing);
    assert_eq!(validators(&at("last-modified", 7), ""), nothing, "the clock of the server is not known");
    let (etag, modified) = validators(&at("last-modified", 7), &at("date", 9));
    assert_eq!((etag.as_str(), modified.as_str()), ("\"5f-3\"", "Wed, 18 Nov 2026 10:00:07 GMT"));
    assert_eq!(validators("", &at("date", 9)).0, "\"5f-3\"", "a tag that rests on no time");
}

#[test]
fn an_address_that_is_not_allowed_is_not_asked_also_after_a_redirect() {
    let target = server(answer("", b"secret"));
    let port = target.rsplit_once(':').expect("a port").1;
    let moved = format!("HTTP/1.1 302 F\r\nlocation: http://127.0.0.1:{port}\r\ncontent-length: 0\r\n\r\n");
    let first = server(moved.into_bytes()).replace("127.0.0.1", "localhost");
    let get = |url: &str, allowed: &'static str| {
        let check = AddressCheck::new(move |host, _| host == allowed);
        let getter = Getter::new(Proxies::default(), TIMEOUT, "test").with_addresses(check);
        let request = Request { url, home: url, limit: 1000, ..Request::default() };
        getter.get_bytes(&request).map(|(_, bytes)| bytes).map_err(|error| error.to_string())
    };
    assert_eq!(get(&target, "127.0.0.1"), Ok(b"secret".to_vec()));
    for (url, allowed) in [(&target, "localhost"), (&first, "127.0.0.1"), (&first, "localhost")] {
        let error = get(url, allowed).expect_err("it is not allowed");
        assert!(error.contains("which is not a public address"), "{error}");
    }
}
