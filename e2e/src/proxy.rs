//! A fault-injection proxy in front of the API server: it counts, holds, rejects or drops requests, as a test says.
//!
//! Clients use plain HTTP without credentials; towards the server it uses the credentials of the kubeconfig. It supports
//! only requests with a `Content-Length`, which is what Kubernetes clients send.

mod forward;
mod message;

use std::fs;
use std::io::Write as _;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Cluster;
use forward::Upstream;
use message::Request;

/// The timeout for any wait; generous for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A request, as passed to a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxiedRequest {
    /// The number of the request since the rule was set, from 1.
    pub request: usize,
    /// The number of the write, from 1; 0 for a read.
    pub write: usize,
    /// The HTTP method.
    pub method: String,
    /// The path with the query.
    pub path: String,
}

impl ProxiedRequest {
    /// Whether this is a watch.
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=true")
    }
}

/// What the proxy does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Forward it.
    Pass,
    /// Hold it, and every later request.
    HoldBefore,
    /// Forward it, but hold the response and every later request.
    HoldAfter,
    /// Close the connection without forwarding it.
    Drop,
    /// Forward it, and close the connection before the response.
    DropResponse,
    /// Do not forward it; respond with a status code, additional header lines, and a body.
    Response(u16, &'static str, String),
}

impl Action {
    /// An error response with a Kubernetes `Status` object.
    pub fn status_error(code: u16, reason: &str, header: &'static str) -> Action {
        let body = format!(
            r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"made to fail by a test","reason":"{reason}","code":{code}}}"#
        );
        Action::Response(code, header, body)
    }

    /// A watch that ends at once with `410 Gone`.
    pub fn expired_watch() -> Action {
        let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}"#;
        Action::Response(200, "", format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n"))
    }
}

type Rule = Box<dyn FnMut(&ProxiedRequest) -> Action + Send>;

/// The state that all connections share.
struct ProxyState {
    rule: Rule,
    seen: Vec<ProxiedRequest>,
    writes: usize,
    /// Writes that were forwarded and have no response yet.
    in_flight_writes: usize,
    /// Whether every further request is held.
    closing: bool,
    /// The request that is held, if one is.
    held: Option<ProxiedRequest>,
    /// All connections, including closed ones.
    clients: Vec<TcpStream>,
    /// The number of calls of [`Proxy::cut`]. Connections of an earlier generation are closed.
    generation: usize,
    /// The number of calls of [`Proxy::release`].
    releases: usize,
    open: bool,
}

/// The decision of the rule about a request.
struct Decision {
    action: Action,
    seen: ProxiedRequest,
    /// The number of releases when the request arrived.
    releases: usize,
}

/// Shared by the connection threads.
struct Shared {
    state: Mutex<ProxyState>,
    changed: Condvar,
    upstream: Upstream,
}

/// A fault-injection proxy, stopped on drop.
pub struct Proxy {
    address: SocketAddr,
    folder: TempDir,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Starts a proxy that forwards everything.
    ///
    /// # Panics
    /// If no port is free, or the kubeconfig has no usable certificates.
    pub fn new(cluster: &Cluster) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        let folder = TempDir::new().expect("a folder can be made");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: pintle-e2e-proxy\n\
             contexts: [{{name: pintle-e2e-proxy, context: {{cluster: proxy, user: nobody}}}}]\n\
             clusters: [{{name: proxy, cluster: {{server: 'http://{address}'}}}}]\n\
             users: [{{name: nobody, user: {{}}}}]\n"
        );
        fs::write(folder.path().join("kubeconfig"), text).expect("a file can be written");
        let state = ProxyState {
            rule: Box::new(|_| Action::Pass),
            seen: Vec::new(),
            writes: 0,
            in_flight_writes: 0,
            closing: false,
            held: None,
            clients: Vec::new(),
            generation: 0,
            releases: 0,
            open: true,
        };
        let upstream = Upstream::new(&cluster.server, cluster.keys.path());
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), upstream });
        let listening = Arc::clone(&shared);
        std::thread::spawn(move || listen(&listener, &listening));
        Proxy { address, folder, shared }
    }

    /// The kubeconfig for clients of the proxy.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The folder of that file.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sets the rule for further requests and resets the counters.
    pub fn rule(&self, rule: impl FnMut(&ProxiedRequest) -> Action + Send + 'static) {
        let mut state = self.shared.state();
        (state.rule, state.writes) = (Box::new(rule), 0);
        (state.closing, state.held) = (false, None);
        state.seen.clear();
    }

    /// The requests since the last rule.
    pub fn seen(&self) -> Vec<ProxiedRequest> {
        self.shared.state().seen.clone()
    }

    /// How many writes there were since the last rule.
    pub fn writes(&self) -> usize {
        self.shared.state().writes
    }

    /// Waits until a request is held, and returns it; `None` once `is_over` returns true.
    ///
    /// # Panics
    /// If neither happens within minutes.
    pub fn held(&self, mut is_over: impl FnMut() -> bool) -> Option<ProxiedRequest> {
        let limit = Instant::now() + TIMEOUT;
        let mut state = self.shared.state();
        loop {
            if let Some(held) = &state.held {
                return Some(held.clone());
            }
            if is_over() {
                return None;
            }
            assert!(Instant::now() < limit, "no request was held: {:?}", state.seen);
            let pause = Duration::from_millis(20);
            state = self.shared.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Forwards everything that is held, and every further request.
    pub fn release(&self) {
        let mut state = self.shared.state();
        state.rule = Box::new(|_| Action::Pass);
        (state.closing, state.held) = (false, None);
        state.releases += 1;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Closes every connection and drops what is held; returns once the server has answered what was forwarded.
    ///
    /// # Panics
    /// If it has not within minutes.
    pub fn cut(&self) {
        let mut state = self.shared.state();
        state.generation += 1;
        for client in state.clients.drain(..) {
            // Fails for connections that are already closed.
            let _ = client.shutdown(Shutdown::Both);
        }
        self.shared.changed.notify_all();
        let limit = Instant::now() + TIMEOUT;
        while state.in_flight_writes > 0 {
            assert!(Instant::now() < limit, "the server is still at work");
            let pause = Duration::from_millis(50);
            state = self.shared.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        (state.open, state.generation) = (false, state.generation + 1);
        drop(state);
        self.shared.changed.notify_all();
        // Wake the listener, so that it notices the end.
        let _ = TcpStream::connect(self.address);
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if !shared.state().open {
            return;
        }
        let Ok(client) = client else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // Broken connections are expected here.
            let _ = shared.serve(&client);
            let _ = client.shutdown(Shutdown::Both);
        });
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one connection.
    fn serve(&self, mut client: &TcpStream) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        let copy = client.try_clone()?;
        let mut state = self.state();
        state.clients.push(copy);
        let generation = state.generation;
        drop(state);
        let mut reader = std::io::BufReader::new(client);
        while let Some(request) = Request::read(&mut reader)? {
            let Some(Decision { action, seen, releases }) = self.decide(&request, generation) else {
                return Ok(());
            };
            match action {
                Action::Pass => self.pass(&request, &mut client)?,
                Action::HoldBefore => {
                    if !self.hold(generation, releases, request.is_write()) {
                        return Ok(());
                    }
                    self.pass(&request, &mut client)?;
                }
                Action::HoldAfter => {
                    let mut answer = Vec::new();
                    let answered = self.pass(&request, &mut answer);
                    self.state().held = Some(seen);
                    self.changed.notify_all();
                    answered?;
                    if !self.hold(generation, releases, false) {
                        return Ok(());
                    }
                    client.write_all(&answer)?;
                }
                Action::Drop => return Ok(()),
                Action::DropResponse => return self.pass(&request, &mut std::io::sink()),
                Action::Response(code, header, body) => {
                    client.write_all(message::answer(code, header, &body).as_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Counts a request and applies the rule. `None` if the connection is of an earlier generation.
    fn decide(&self, request: &Request, generation: usize) -> Option<Decision> {
        let mut state = self.state();
        if state.generation != generation || !state.open {
            return None;
        }
        if request.is_write() && !state.closing {
            state.writes += 1;
        }
        let seen = ProxiedRequest {
            request: state.seen.len() + 1,
            write: if request.is_write() { state.writes } else { 0 },
            method: request.method.clone(),
            path: request.path.clone(),
        };
        let releases = state.releases;
        if state.closing {
            return Some(Decision { action: Action::HoldBefore, seen, releases });
        }
        let action = (state.rule)(&seen);
        state.closing = matches!(action, Action::HoldBefore | Action::HoldAfter);
        state.seen.push(seen.clone());
        if action == Action::HoldBefore {
            state.held = Some(seen.clone());
            self.changed.notify_all();
        } else if request.is_write() && !matches!(action, Action::Drop | Action::Response(..)) {
            // Count under the same lock as the decision, so that `cut` does not take the server for idle.
            state.in_flight_writes += 1;
        }
        Some(Decision { action, seen, releases })
    }

    /// Forwards a request and its response.
    fn pass(&self, request: &Request, client: &mut dyn std::io::Write) -> std::io::Result<()> {
        let passed = self.upstream.exchange(request, client);
        if request.is_write() {
            self.state().in_flight_writes -= 1;
            self.changed.notify_all();
        }
        passed
    }

    /// Blocks until `release` or `cut`, and returns whether it was a release.
    fn hold(&self, generation: usize, releases: usize, is_write: bool) -> bool {
        let mut state = self.state();
        while state.generation == generation && state.releases == releases {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_released = state.generation == generation;
        if is_released && is_write {
            state.in_flight_writes += 1;
        }
        is_released
    }
}
