//! A small in-memory registry with fault injection.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use pintle_registry::Digest;

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl RecordedRequest {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn is(&self, method: &str, part: &str) -> bool {
        self.method == method && self.path.contains(part)
    }
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) fault: Fault,
}

/// A fault in sending a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Closes the connection after so many bytes of the body.
    Cut(usize),
    /// Sends a body without end.
    Endless,
    /// Sends nothing.
    Silence,
}

impl Reply {
    pub(crate) fn new(status: u16) -> Reply {
        Reply { status, headers: Vec::new(), body: Vec::new(), fault: Fault::None }
    }

    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Reply {
        self.headers.push((name.into(), value.to_string()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Reply {
        self.body = body.into();
        self
    }

    pub(crate) fn fault(mut self, fault: Fault) -> Reply {
        self.fault = fault;
        self
    }
}

/// How the registry responds to a request.
pub(crate) enum Behavior {
    /// Correctly.
    Honest,
    /// With this response instead.
    Instead(Reply),
    /// With the correct response, modified.
    Changed(fn(Reply) -> Reply),
    /// Reads and keeps only so many bytes of the body, then closes the connection.
    StopReading(usize),
}

type Script = Box<dyn FnMut(&RecordedRequest) -> Behavior + Send>;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) blobs: BTreeMap<(String, String), Vec<u8>>,
    pub(crate) manifests: BTreeMap<(String, String), (String, Vec<u8>)>,
    uploads: BTreeMap<String, Vec<u8>>,
    count: usize,
}

pub(crate) struct Fake {
    pub(crate) host: String,
    pub(crate) log: Arc<Mutex<Vec<RecordedRequest>>>,
    pub(crate) state: Arc<Mutex<State>>,
}

impl Fake {
    pub(crate) fn honest() -> Fake {
        Fake::start(|_| Behavior::Honest)
    }

    pub(crate) fn start(script: impl FnMut(&RecordedRequest) -> Behavior + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let log = Arc::new(Mutex::new(Vec::new()));
        let state = Arc::new(Mutex::new(State::default()));
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Box::new(script)));
        let fake = Fake { host, log: log.clone(), state: state.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, state, script) = (log.clone(), state.clone(), script.clone());
                // A client that disconnects is expected.
                std::thread::spawn(move || serve(stream, &log, &state, &script).unwrap_or_default());
            }
        });
        fake
    }

    pub(crate) fn asked(&self) -> Vec<RecordedRequest> {
        self.log.lock().unwrap().clone()
    }

    /// How often something was requested.
    pub(crate) fn count(&self, method: &str, part: &str) -> usize {
        self.asked().iter().filter(|asked| asked.is(method, part)).count()
    }

    pub(crate) fn name(&self, rest: &str) -> String {
        format!("{}/{rest}", self.host)
    }
}

fn serve(
    stream: TcpStream,
    log: &Mutex<Vec<RecordedRequest>>,
    state: &Mutex<State>,
    script: &Mutex<Script>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, path) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut asked = RecordedRequest { method, path, headers, body: Vec::new() };
    if asked.method.is_empty() || !asked.path.starts_with('/') {
        return Ok(());
    }
    let twist = script.lock().unwrap()(&asked);
    log.lock().unwrap().push(asked.clone());
    let heard = if let Behavior::StopReading(heard) = twist { heard.min(length) } else { length };
    asked.body = vec![0; heard];
    reader.read_exact(&mut asked.body)?;
    let reply = match twist {
        Behavior::Instead(reply) => reply,
        Behavior::Honest => answer(&mut state.lock().unwrap(), &asked),
        Behavior::Changed(change) => change(answer(&mut state.lock().unwrap(), &asked)),
        Behavior::StopReading(_) => {
            answer(&mut state.lock().unwrap(), &asked);
            return stream.shutdown(std::net::Shutdown::Both);
        }
    };
    send(stream, &asked, &reply)
}

fn send(mut stream: TcpStream, asked: &RecordedRequest, reply: &Reply) -> std::io::Result<()> {
    if reply.fault == Fault::Silence {
        // Wait until the client disconnects.
        let mut rest = [0; 64];
        while stream.read(&mut rest)? > 0 {}
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let says_length = reply.headers.iter().any(|(name, _)| name == "content-length");
    if reply.fault != Fault::Endless && !says_length {
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if asked.method == "HEAD" {
        return Ok(());
    }
    match reply.fault {
        Fault::Cut(bytes) => {
            stream.write_all(&reply.body[..bytes.min(reply.body.len())])?;
            stream.flush()?;
            stream.shutdown(std::net::Shutdown::Both)
        }
        Fault::Endless => loop {
            stream.write_all(&[b'x'; 4096])?;
        },
        _ => stream.write_all(&reply.body),
    }
}

/// The correct response.
fn answer(state: &mut State, asked: &RecordedRequest) -> Reply {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let Some(path) = path.strip_prefix("/v2/") else { return Reply::new(404) };
    if path.is_empty() {
        return Reply::new(200);
    }
    for kind in ["/manifests/", "/blobs/uploads/", "/blobs/"] {
        if let Some((repository, rest)) = path.split_once(kind) {
            let repository = repository.to_owned();
            return match kind {
                "/manifests/" => manifests(state, asked, repository, rest),
                "/blobs/" => blobs(state, asked, repository, rest),
                _ => uploads(state, asked, repository, rest, query),
            };
        }
    }
    Reply::new(404)
}

fn manifests(state: &mut State, asked: &RecordedRequest, repository: String, reference: &str) -> Reply {
    if asked.method == "PUT" {
        let kind = asked.header("content-type").to_owned();
        let digest = Digest::of(&asked.body).to_string();
        for key in [reference.to_owned(), digest] {
            state.manifests.insert((repository.clone(), key), (kind.clone(), asked.body.clone()));
        }
        return Reply::new(201);
    }
    match state.manifests.get(&(repository, reference.to_owned())) {
        None => Reply::new(404),
        Some((kind, body)) => Reply::new(200)
            .with("content-type", kind)
            .with("docker-content-digest", Digest::of(body))
            .body(body.clone()),
    }
}

fn blobs(state: &mut State, asked: &RecordedRequest, repository: String, digest: &str) -> Reply {
    let Some(body) = state.blobs.get(&(repository, digest.to_owned())) else { return Reply::new(404) };
    let from = asked
        .header("range")
        .strip_prefix("bytes=")
        .and_then(|range| range.trim_end_matches('-').parse().ok());
    match from {
        None => Reply::new(200).body(body.clone()),
        Some(from) => Reply::new(206)
            .with("content-range", format!("bytes {from}-{}/{}", body.len() - 1, body.len()))
            .body(&body[from..]),
    }
}

fn uploads(state: &mut State, asked: &RecordedRequest, repository: String, id: &str, query: &str) -> Reply {
    let parameter = |name: &str| {
        let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
        found.map(|value| value.replace("%3A", ":").replace("%2F", "/"))
    };
    let place = |id: &str| format!("/v2/{repository}/blobs/uploads/{id}?state=x");
    if asked.method == "POST" {
        if let (Some(digest), Some(from)) = (parameter("mount"), parameter("from"))
            && let Some(body) = state.blobs.get(&(from, digest.clone())).cloned()
        {
            state.blobs.insert((repository, digest), body);
            return Reply::new(201);
        }
        state.count += 1;
        let id = format!("u{}", state.count);
        state.uploads.insert(id.clone(), Vec::new());
        return Reply::new(202).with("location", place(&id));
    }
    let Some(sofar) = state.uploads.get_mut(id) else { return Reply::new(404) };
    match asked.method.as_str() {
        "PATCH" => {
            let from = asked.header("content-range").split('-').next().and_then(|text| text.parse().ok());
            if from.unwrap_or(0) != sofar.len() {
                return Reply::new(416);
            }
            sofar.extend_from_slice(&asked.body);
            Reply::new(202).with("location", place(id))
        }
        "GET" => {
            let last = sofar.len().saturating_sub(1);
            Reply::new(204).with("location", place(id)).with("range", format!("0-{last}"))
        }
        "PUT" => {
            let digest = parameter("digest").unwrap_or_default();
            if Digest::of(sofar).to_string() != digest {
                return Reply::new(400).body(r#"{"errors":[{"code":"DIGEST_INVALID"}]}"#);
            }
            let body = state.uploads.remove(id).unwrap_or_default();
            state.blobs.insert((repository, digest), body);
            Reply::new(201)
        }
        _ => {
            state.uploads.remove(id);
            Reply::new(204)
        }
    }
}
