//! Network access for scripts with the `network` permission.

use std::sync::Arc;

use pintle_lua::{Cancelled, Fetch, FetchRequest, FetchResponse, is_public};
use pintle_registry::fetch::{Fetcher, HttpRequest, NOT_PUBLIC};

/// Sends the HTTP requests of scripts, to public addresses only or also to private ones.
#[derive(Clone)]
pub struct Network {
    fetcher: Fetcher,
    /// What to do about an address that is refused.
    advice: Option<String>,
}

impl Network {
    /// Allows public addresses only, so that a script cannot reach cloud metadata or internal services.
    pub fn public() -> Network {
        Network { fetcher: Fetcher::new(Arc::new(is_public)), advice: None }
    }

    /// Also allows loopback and private addresses.
    pub fn with_private_addresses() -> Network {
        Network { fetcher: Fetcher::new(Arc::new(|_| true)), advice: None }
    }

    /// Adds this to the error about an address that is not public.
    #[must_use]
    pub fn with_advice(self, advice: impl Into<String>) -> Network {
        Network { advice: Some(advice.into()), ..self }
    }
}

impl Fetch for Network {
    fn fetch(&self, request: &FetchRequest, cancelled: &Cancelled) -> Result<FetchResponse, String> {
        let sent = HttpRequest {
            method: request.method.clone(),
            url: request.url.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            timeout: request.timeout,
            max_bytes: request.max_bytes,
        };
        let received =
            self.fetcher.fetch_cancellable(&sent, &**cancelled).map_err(|reason| match &self.advice {
                Some(advice) if reason.contains(NOT_PUBLIC) => format!("{reason}; {advice}"),
                _ => reason,
            })?;
        Ok(FetchResponse { status: received.status, headers: received.headers, body: received.body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    /// A server on loopback that counts its connections and answers with `first`, then `again` repeatedly.
    fn server(first: &'static str, again: &'static str) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it has an address").port();
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || {
                    let _ = stream.read(&mut [0; 4096]);
                    let mut open = stream.write_all(first.as_bytes()).is_ok();
                    while open && !again.is_empty() {
                        open = stream.write_all(again.as_bytes()).is_ok();
                        std::thread::sleep(Duration::from_millis(2));
                    }
                });
            }
        });
        (port, visits)
    }

    fn request(url: String) -> FetchRequest {
        FetchRequest {
            method: "GET".into(),
            url,
            headers: BTreeMap::new(),
            body: Vec::new(),
            timeout: Duration::from_secs(120),
            max_bytes: 10_000,
        }
    }

    fn nobody() -> Cancelled {
        Arc::new(|| false)
    }

    #[test]
    fn no_way_of_writing_an_address_leads_to_this_machine() {
        let (port, visits) = server("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nESCAPED", "");
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "0",
            "0.0.0.0",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[0:0:0:0:0:ffff:7f00:0001]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "example.com@127.0.0.1",
            "example.com:80@127.0.0.1",
            "user:password@localhost",
        ] {
            let outcome = Network::public().fetch(&request(format!("http://{host}:{port}/")), &nobody());
            assert!(outcome.is_err(), "{host}: {outcome:?}");
        }
        assert_eq!(visits.load(Ordering::Relaxed), 0);
        let there = Network::with_private_addresses()
            .fetch(&request(format!("http://user:password@127.0.0.1:{port}/")), &nobody());
        assert_eq!(there.map(|answer| answer.body), Ok(b"ESCAPED".to_vec()));
    }

    #[test]
    fn redirects_do_not_lead_where_requests_may_not_go() {
        // As if a public server redirected: the first address is allowed, the target of the redirect is not.
        let allowed = |address: std::net::IpAddr| address.to_string() == "127.0.0.1";
        let network = Network { fetcher: Fetcher::new(Arc::new(allowed)), advice: None };
        for answer in [
            "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/meta-data/\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 301 StaleReason\r\nlocation: http://[::1]:1/\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 307 Again\r\nlocation: //10.0.0.1/\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 308 Again\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 303 Other\r\nlocation: http://[::ffff:10.0.0.1]/\r\ncontent-length: 0\r\n\r\n",
        ] {
            let (port, _) = server(answer, "");
            let outcome = network.fetch(&request(format!("http://127.0.0.1:{port}/")), &nobody());
            assert!(outcome.is_err(), "{answer}: {outcome:?}");
        }
    }

    #[test]
    fn answers_that_never_end_do_end() {
        let chunk = "3e8\r\n".to_owned() + &"x".repeat(1000) + "\r\n";
        let chunk: &'static str = chunk.leak();
        let (port, _) = server("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", chunk);
        let url = |port| format!("http://127.0.0.1:{port}/");
        let network = Network::with_private_addresses();
        let outcome = network.fetch(&request(url(port)), &nobody());
        assert_eq!(outcome, Err("the answer is longer than 10000 bytes".to_owned()));
        // A huge content length, and endless headers.
        let (port, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n", chunk);
        assert!(network.fetch(&request(url(port)), &nobody()).is_err());
        let header: &'static str = ("x: ".to_owned() + &"y".repeat(4000) + "\r\n").leak();
        let (port, _) = server("HTTP/1.1 200 OK\r\n", header);
        assert!(network.fetch(&request(url(port)), &nobody()).is_err());
        // A server that sends a byte now and then must not extend the deadline.
        let (port, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", "x");
        let short = FetchRequest { timeout: Duration::from_millis(300), ..request(url(port)) };
        assert_eq!(network.fetch(&short, &nobody()), Err("no answer within 300ms".to_owned()));
    }

    #[test]
    fn what_is_packed_stays_packed() {
        let packed = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\u{1f}abc";
        let (port, _) = server(packed, "");
        let answer = Network::with_private_addresses()
            .fetch(&request(format!("http://127.0.0.1:{port}/")), &nobody())
            .expect("an answer");
        assert_eq!(answer.body, b"\x1fabc");
    }

    #[test]
    fn a_user_who_has_had_enough_does_not_wait_for_the_network() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", silent.local_addr().expect("it has an address"));
        let enough = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&enough);
        let cancelled: Cancelled = Arc::new(move || asked.load(Ordering::Relaxed));
        let server = std::thread::spawn(move || {
            // The request is sent, and no answer arrives.
            let client = silent.accept();
            enough.store(true, Ordering::Relaxed);
            client
        });
        let outcome = Network::with_private_addresses().fetch(&request(url), &cancelled);
        assert_eq!(outcome, Err("the operation was cancelled".to_owned()));
        server.join().expect("it does not panic").expect("somebody came");
    }
}
