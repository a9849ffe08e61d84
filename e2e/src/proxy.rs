//! A way to the API server on which things go wrong: requests are counted, held, refused or lost, as a test says.
//!
//! Programs reach it by plain HTTP and without credentials; towards the server it is who the kubeconfig says. It reads
//! requests of known length only, which is what programs for Kubernetes send.

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

/// How long the proxy waits for anything: far longer than it takes on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(180);

/// A request as a rule sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The how many-th request it is, from 1.
    pub request: usize,
    /// The how many-th write it is, from 1; 0 when it is none.
    pub write: usize,
    /// The method.
    pub method: String,
    /// Path and parameters.
    pub path: String,
}

impl Seen {
    /// Whether the request asks for changes as they happen.
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=true")
    }
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes through.
    Pass,
    /// It stays here, and so does every later one.
    HoldBefore,
    /// The server gets it; its answer stays here, and so does every later request.
    HoldAfter,
    /// The connection breaks before the server gets it.
    Lose,
    /// The server gets it, and the connection breaks before the answer.
    LoseAnswer,
    /// The server does not get it, and this is the answer: a code, further header lines, and a body.
    Answer(u16, &'static str, String),
}

impl Fate {
    /// A refusal as the server words it.
    pub fn refusal(code: u16, reason: &str, header: &'static str) -> Fate {
        let body = format!(
            r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"made to fail by a test","reason":"{reason}","code":{code}}}"#
        );
        Fate::Answer(code, header, body)
    }

    /// A watch that begins, and says that it is too late.
    pub fn expired_watch() -> Fate {
        let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}"#;
        Fate::Answer(200, "", format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n"))
    }
}

type Rule = Box<dyn FnMut(&Seen) -> Fate + Send>;

/// What all connections share.
struct Desk {
    rule: Rule,
    seen: Vec<Seen>,
    writes: usize,
    /// Writes that the server is working on.
    at_work: usize,
    /// Whether every further request is held.
    closing: bool,
    /// The request that is held, if one is.
    held: Option<Seen>,
    /// The connections that are open, or were.
    clients: Vec<TcpStream>,
    /// How often everything was cut off. Connections of an earlier time are of no use any more.
    age: usize,
    /// How often what was held was released.
    releases: usize,
    open: bool,
}

/// What the rule has decided about a request.
struct Decision {
    fate: Fate,
    seen: Seen,
    /// How often there was a release before the request came.
    releases: usize,
}

/// The connections' view of the proxy.
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
    upstream: Upstream,
}

/// A way to the API server on which things go wrong.
pub struct Proxy {
    address: SocketAddr,
    folder: TempDir,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Opens a way on which nothing goes wrong yet.
    ///
    /// # Panics
    /// When no port can be had, or the kubeconfig has no usable certificates.
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
        let desk = Desk {
            rule: Box::new(|_| Fate::Pass),
            seen: Vec::new(),
            writes: 0,
            at_work: 0,
            closing: false,
            held: None,
            clients: Vec::new(),
            age: 0,
            releases: 0,
            open: true,
        };
        let upstream = Upstream::new(&cluster.server, cluster.keys.path());
        let shared = Arc::new(Shared { desk: Mutex::new(desk), changed: Condvar::new(), upstream });
        let listening = Arc::clone(&shared);
        std::thread::spawn(move || listen(&listener, &listening));
        Proxy { address, folder, shared }
    }

    /// The file by which programs come this way.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The folder of that file.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// From now on `rule` says what becomes of requests, and counting begins anew.
    pub fn rule(&self, rule: impl FnMut(&Seen) -> Fate + Send + 'static) {
        let mut desk = self.shared.desk();
        (desk.rule, desk.writes) = (Box::new(rule), 0);
        (desk.closing, desk.held) = (false, None);
        desk.seen.clear();
    }

    /// The requests since the last rule.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.desk().seen.clone()
    }

    /// How many writes there were since the last rule.
    pub fn writes(&self) -> usize {
        self.shared.desk().writes
    }

    /// Waits until a request is held, and gives it; `None` when `is_over` says that there will be none.
    ///
    /// # Panics
    /// When neither happens within minutes.
    pub fn held(&self, mut is_over: impl FnMut() -> bool) -> Option<Seen> {
        let limit = Instant::now() + LIMIT;
        let mut desk = self.shared.desk();
        loop {
            if let Some(held) = &desk.held {
                return Some(held.clone());
            }
            if is_over() {
                return None;
            }
            assert!(Instant::now() < limit, "no request was held: {:?}", desk.seen);
            let pause = Duration::from_millis(20);
            desk = self.shared.changed.wait_timeout(desk, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets everything that is held go on, and everything that comes from now on pass.
    pub fn release(&self) {
        let mut desk = self.shared.desk();
        desk.rule = Box::new(|_| Fate::Pass);
        (desk.closing, desk.held) = (false, None);
        desk.releases += 1;
        drop(desk);
        self.shared.changed.notify_all();
    }

    /// Breaks every connection, with whatever was held on it, and returns once the server is done with what it got.
    ///
    /// # Panics
    /// When the server is not done within minutes.
    pub fn cut(&self) {
        let mut desk = self.shared.desk();
        desk.age += 1;
        for client in desk.clients.drain(..) {
            // One that is closed already needs no closing.
            let _ = client.shutdown(Shutdown::Both);
        }
        self.shared.changed.notify_all();
        let limit = Instant::now() + LIMIT;
        while desk.at_work > 0 {
            assert!(Instant::now() < limit, "the server is still at work");
            let pause = Duration::from_millis(50);
            desk = self.shared.changed.wait_timeout(desk, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut desk = self.shared.desk();
        (desk.open, desk.age) = (false, desk.age + 1);
        drop(desk);
        self.shared.changed.notify_all();
        // Whoever listens wakes up and sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if !shared.desk().open {
            return;
        }
        let Ok(client) = client else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // Connections break in these tests; nobody needs to hear of it.
            let _ = shared.serve(&client);
            let _ = client.shutdown(Shutdown::Both);
        });
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one connection until it ends.
    fn serve(&self, mut client: &TcpStream) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        let copy = client.try_clone()?;
        let mut desk = self.desk();
        desk.clients.push(copy);
        let age = desk.age;
        drop(desk);
        let mut reader = std::io::BufReader::new(client);
        while let Some(request) = Request::read(&mut reader)? {
            let Some(Decision { fate, seen, releases }) = self.decide(&request, age) else { return Ok(()) };
            match fate {
                Fate::Pass => self.pass(&request, &mut client)?,
                Fate::HoldBefore => {
                    if !self.hold(age, releases, request.is_write()) {
                        return Ok(());
                    }
                    self.pass(&request, &mut client)?;
                }
                Fate::HoldAfter => {
                    let mut answer = Vec::new();
                    let answered = self.pass(&request, &mut answer);
                    self.desk().held = Some(seen);
                    self.changed.notify_all();
                    answered?;
                    if !self.hold(age, releases, false) {
                        return Ok(());
                    }
                    client.write_all(&answer)?;
                }
                Fate::Lose => return Ok(()),
                Fate::LoseAnswer => return self.pass(&request, &mut std::io::sink()),
                Fate::Answer(code, header, body) => {
                    client.write_all(message::answer(code, header, &body).as_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Counts a request and asks the rule about it. `None` when the connection is of an earlier time.
    fn decide(&self, request: &Request, age: usize) -> Option<Decision> {
        let mut desk = self.desk();
        if desk.age != age || !desk.open {
            return None;
        }
        if request.is_write() && !desk.closing {
            desk.writes += 1;
        }
        let seen = Seen {
            request: desk.seen.len() + 1,
            write: if request.is_write() { desk.writes } else { 0 },
            method: request.method.clone(),
            path: request.path.clone(),
        };
        let releases = desk.releases;
        if desk.closing {
            return Some(Decision { fate: Fate::HoldBefore, seen, releases });
        }
        let fate = (desk.rule)(&seen);
        desk.closing = matches!(fate, Fate::HoldBefore | Fate::HoldAfter);
        desk.seen.push(seen.clone());
        if fate == Fate::HoldBefore {
            desk.held = Some(seen.clone());
            self.changed.notify_all();
        } else if request.is_write() && !matches!(fate, Fate::Lose | Fate::Answer(..)) {
            // Counted before anything else can be decided, so that nobody believes the server to be idle.
            desk.at_work += 1;
        }
        Some(Decision { fate, seen, releases })
    }

    /// Takes a request to the server and its answer back.
    fn pass(&self, request: &Request, client: &mut dyn std::io::Write) -> std::io::Result<()> {
        let passed = self.upstream.exchange(request, client);
        if request.is_write() {
            self.desk().at_work -= 1;
            self.changed.notify_all();
        }
        passed
    }

    /// Holds a connection until everything is released or cut off, and reports whether it was released.
    fn hold(&self, age: usize, releases: usize, is_write: bool) -> bool {
        let mut desk = self.desk();
        while desk.age == age && desk.releases == releases {
            desk = self.changed.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
        let is_released = desk.age == age;
        if is_released && is_write {
            desk.at_work += 1;
        }
        is_released
    }
}
