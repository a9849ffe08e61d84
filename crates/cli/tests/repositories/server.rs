//! A static HTTP server on loopback, which behaves in different ways below different paths.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::TestEnv;
use crate::support::archive::{gzip, tar};

/// A received request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The path, with its query.
    pub(crate) path: String,
    /// The headers, with names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
}

/// A server with its address. It goes on until the tests end.
pub(crate) struct Server {
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// Files by their paths.
pub(crate) type Files = Arc<BTreeMap<String, Vec<u8>>>;

impl Server {
    /// Serves files over HTTP.
    pub(crate) fn plain(files: &Files) -> Server {
        Server::start(files, None)
    }

    /// Serves files over HTTPS with the certificate that is in a folder.
    pub(crate) fn tls(files: &Files, env: &TestEnv) -> Server {
        Server::with_tls(files, env, false)
    }

    /// The same, requiring client certificates of the same CA.
    pub(crate) fn mutual(files: &Files, env: &TestEnv) -> Server {
        Server::with_tls(files, env, true)
    }

    fn with_tls(files: &Files, env: &TestEnv, of_clients: bool) -> Server {
        Server::start(files, Some(tls_config(env, of_clients)))
    }

    /// A server that requires client certificates. Its first, third, … connection is reset without a TLS alert while the
    /// request is being sent, as happens to a client that sends faster than the server rejects it.
    pub(crate) fn losing_alerts(env: &TestEnv) -> Server {
        let (silent, strict) = (tls_config(env, false), tls_config(env, true));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has an address").to_string();
        std::thread::spawn(move || {
            let configs = [silent, strict].into_iter().cycle();
            for (mut stream, config) in listener.incoming().flatten().zip(configs) {
                let Ok(mut session) = rustls::ServerConnection::new(config) else { return };
                while session.is_handshaking() && session.complete_io(&mut stream).is_ok() {}
                let _ = match session.process_new_packets().map(|state| state.plaintext_bytes_to_read()) {
                    // The request is left unread, so that closing the connection resets it.
                    Ok(0) => stream.peek(&mut [0]).map(|_| ()),
                    Ok(_) => Ok(()),
                    // Closing with unread input would reset the connection, and the alert just sent would be lost.
                    Err(_) => std::io::copy(&mut stream, &mut std::io::sink()).map(|_| ()),
                };
            }
        });
        Server { address, asked: Arc::default() }
    }

    fn start(files: &Files, tls: Option<Arc<rustls::ServerConfig>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has an address").to_string();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (log, files) = (Arc::clone(&asked), Arc::clone(files));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, files, tls) = (Arc::clone(&log), Arc::clone(&files), tls.clone());
                std::thread::spawn(move || {
                    let mut stream = stream;
                    match tls {
                        None => serve(&mut stream, &files, &log),
                        Some(config) => {
                            let Ok(mut session) = rustls::ServerConnection::new(config) else { return };
                            let mut secure = rustls::Stream::new(&mut session, &mut stream);
                            serve(&mut secure, &files, &log);
                            secure.conn.send_close_notify();
                            let _ = secure.flush();
                        }
                    }
                });
            }
        });
        Server { address, asked }
    }

    /// The requests since the last call.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().expect("nobody panicked"))
    }
}

/// The TLS configuration with the certificate of the environment; `of_clients` requires client certificates of the same CA.
fn tls_config(env: &TestEnv, of_clients: bool) -> Arc<rustls::ServerConfig> {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let file = |name: &str| env.path().join(name);
    let chain = CertificateDer::pem_file_iter(file("server.pem")).expect("good certificates");
    let chain = chain.collect::<Result<_, _>>().expect("good certificates");
    let key = PrivateKeyDer::from_pem_file(file("server.key")).expect("good certificates");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions().expect("good certificates");
    let config = match of_clients {
        false => config.with_no_client_auth(),
        true => {
            let mut roots = rustls::RootCertStore::empty();
            let authority = CertificateDer::from_pem_file(file("ca.pem")).expect("good certificates");
            roots.add(authority).expect("good certificates");
            let verifier =
                rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().expect("good certificates"))
        }
    };
    let config = config.with_single_cert(chain, key).expect("good certificates");
    Arc::new(config)
}

fn serve(stream: &mut (impl Read + Write), files: &Files, log: &Mutex<Vec<Asked>>) {
    let Some(asked) = head(stream) else { return };
    // The upload is read to its end; otherwise the connection is reset before the client reads the response.
    let length = asked.headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let _ = std::io::copy(&mut Read::by_ref(stream).take(length), &mut std::io::sink());
    let stalls = ["/stall/", "/drip/"].iter().find(|path| asked.path.starts_with(**path)).copied();
    let answer = match stalls {
        Some("/stall/") => Vec::new(),
        Some(_) => b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\napiVersion: v1\n".to_vec(),
        None => answer(&asked, files),
    };
    log.lock().expect("nobody panicked").push(asked);
    let _ = stream.write_all(&answer);
    let _ = stream.flush();
    if stalls.is_some() {
        // Until the client gives up.
        let _ = stream.read(&mut [0]);
    }
}

fn head(stream: &mut impl Read) -> Option<Asked> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 || text.len() > 64 << 10 {
            return None;
        }
        text.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut lines = text.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Some(Asked { path, headers })
}

/// `me:secret`.
pub(crate) const LOGIN: &str = "Basic bWU6c2VjcmV0";

fn answer(asked: &Asked, files: &Files) -> Vec<u8> {
    let path = asked.path.split('?').next().unwrap_or_default();
    let (first, rest) = path.trim_start_matches('/').split_once('/').unwrap_or(("", ""));
    let file = || files.get(path.trim_start_matches('/')).or_else(|| files.get(rest));
    match first {
        "auth" if asked.headers.get("authorization").is_none_or(|login| login != LOGIN) => {
            reply("401 Unauthorized", &[("www-authenticate", "Basic realm=x")], b"no\n")
        }
        "moved" => reply("302 Found", &[("location", &format!("/charts/{rest}"))], b""),
        "away" => match path.split('/').nth(2) {
            Some(port) => {
                let rest = rest.split_once('/').map_or("", |(_, rest)| rest);
                reply("302 Found", &[("location", &format!("http://127.0.0.1:{port}/auth/{rest}"))], b"")
            }
            None => reply("404 Not Found", &[], b""),
        },
        "loop" => reply("301 Moved Permanently", &[("location", path)], b""),
        "nowhere" => reply("302 Found", &[], b""),
        "teapot" => reply("418 I'm a teapot", &[], b""),
        "custom" => reply("404 Gone Fishing", &[], b""),
        "error" => reply("500 Internal Server Error", &[], b"oops\n"),
        "status" => reply(&rest.split('/').next().unwrap_or_default().replace('_', " "), &[], b"x\n"),
        "permanent" => reply("308 Permanent Redirect", &[("location", &format!("/charts/{rest}"))], b""),
        "other-scheme" => reply("302 Found", &[("location", "ftp://127.0.0.1/x")], b""),
        "garbage" => b"hello\r\n\r\n".to_vec(),
        "bad-status" => b"HTTP/1.1 abc Odd\r\n\r\n".to_vec(),
        "bad-header" => b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n".to_vec(),
        "bad-length" => b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n".to_vec(),
        "bad-chunk" => b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc".to_vec(),
        "cut-chunk" => b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\napiVersion".to_vec(),
        "chunked" => chunked(file().map_or(b"", |bytes| bytes)),
        "unbounded" => {
            [&b"HTTP/1.1 200 OK\r\n\r\n"[..], file().map_or(&b""[..], |bytes| &bytes[..])].concat()
        }
        "cut" => {
            b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\nconnection: close\r\n\r\napiVersion: v1\n".to_vec()
        }
        "silent" => Vec::new(),
        "etag" if asked.headers.get("if-none-match").is_some_and(|tag| tag == "\"one\"") => {
            reply("304 Not Modified", &[("etag", "\"one\"")], b"")
        }
        "gzip" if asked.headers.get("accept-encoding").is_some_and(|names| names.contains("gzip")) => {
            match file() {
                Some(bytes) => reply("200 OK", &[("content-encoding", "gzip")], &zipped(bytes)),
                None => reply("404 Not Found", &[], b""),
            }
        }
        _ => match file() {
            Some(bytes) if first == "etag" => reply("200 OK", &[("etag", "\"one\"")], bytes),
            Some(bytes) => reply("200 OK", &[], bytes),
            None => reply("404 Not Found", &[], b"404 page not found\n"),
        },
    }
}

/// In pieces, without a length.
fn chunked(bytes: &[u8]) -> Vec<u8> {
    let mut answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n".to_vec();
    for chunk in bytes.chunks(1000).chain([&b""[..]]) {
        answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        answer.extend_from_slice(chunk);
        answer.extend_from_slice(b"\r\n");
    }
    answer
}

fn reply(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        answer.push_str(&format!("{name}: {value}\r\n"));
    }
    answer.push_str("\r\n");
    let mut answer = answer.into_bytes();
    answer.extend_from_slice(body);
    answer
}

/// The bytes as gzip with stored (uncompressed) blocks: enough to test that the client decompresses.
fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut chunks = bytes.chunks(65_535).peekable();
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).expect("a chunk is short");
        out.push(u8::from(chunks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(chunk);
    }
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    out.extend_from_slice(&(!sum).to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out
}

/// Packs charts into archives with the program itself, and lists them in indexes of many kinds. Gives the files to serve;
/// the archives are also in the folder `archives` of the environment.
pub(crate) fn files(env: &TestEnv) -> Files {
    let mut charts = String::new();
    for (name, version, more) in [
        ("web", "1.0.0", "appVersion: \"1.25\"\ndescription: A Web server\nkeywords: [http, Proxy]\n"),
        ("web", "1.1.0", "appVersion: \"1.26\"\ndescription: A web server for all\nkeywords: [http]\n"),
        ("web", "2.0.0-rc.1", "description: The next web server\n"),
        ("db", "0.3.0", "description: A database with a description that is longer than fifty characters\n"),
        ("only-pre", "0.1.0-alpha", "description: not ready\n"),
        ("lib", "1.0.0", "type: library\ndescription: shared\ndeprecated: true\n"),
    ] {
        let chart = format!("src/{name}-{version}");
        env.write(
            &format!("{chart}/Chart.yaml"),
            &format!("apiVersion: v2\nname: {name}\nversion: {version}\n{more}"),
        )
        .write(&format!("{chart}/values.yaml"), "# how to greet\ngreeting: hello\n")
        .write(&format!("{chart}/README.md"), "# A chart\n");
        if name != "lib" {
            env.write(
                &format!("{chart}/templates/config.yaml"),
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {greeting: {{ .Values.greeting }}}\n",
            );
        }
        charts.push_str(&format!("{chart} "));
    }
    let run = |line: &str| {
        let printed = env.called("helm", line, &[("SOURCE_DATE_EPOCH", "1700000000")]);
        assert!(printed.starts_with("exit 0"), "{printed}");
    };
    run(&format!("package {charts}-d archives"));
    run("repo index archives");
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(env.path().join("archives")).expect("it is there").flatten() {
        let name = entry.file_name().into_string().expect("a plain name");
        files.insert(name, std::fs::read(entry.path()).expect("it can be read"));
    }
    let index = String::from_utf8(files["index.yaml"].clone()).expect("it is text");
    let mut put = |path: &str, text: String| files.insert(path.to_owned(), text.into_bytes());
    put("values.yaml", "greeting: from afar\n".to_owned());
    put("schema.json", r#"{"properties":{"greeting":{"type":"string"}}}"#.to_owned());
    put("bad-values.yaml", "greeting: [\n".to_owned());
    put("web-1.1.0.tgz.prov", "no signature\n".to_owned());
    let one = |fields: &str| {
        format!("apiVersion: v1\nentries:\n  web:\n  - {{name: web, version: 1.0.0, {fields}}}\n")
    };
    put("empty/index.yaml", String::new());
    put("broken/index.yaml", "apiVersion: v1\nentries: [\n".to_owned());
    put("html/index.yaml", "<!DOCTYPE html>\n<html><body>Hello</body></html>\n".to_owned());
    put("noapi/index.yaml", index.replace("apiVersion: v1\nentries", "entries"));
    put("unknown/index.yaml", one("bogus: 1"));
    put("unknown-top/index.yaml", "apiVersion: v1\nfoo: bar\nentries: {}\n".to_owned());
    put("repeated/index.yaml", "apiVersion: v1\nentries: {}\napiVersion: v1\n".to_owned());
    put("wrong-type/index.yaml", one("urls: x"));
    put("wrong-entries/index.yaml", "apiVersion: v1\nentries: [1]\n".to_owned());
    put("wrong-list/index.yaml", "apiVersion: v1\nentries: {web: {a: 1}}\n".to_owned());
    put("wrong-item/index.yaml", "apiVersion: v1\nentries: {web: [5]}\n".to_owned());
    put("wrong-time/index.yaml", one("created: yesterday"));
    put("no-list/index.yaml", "apiVersion: v1\nentries: {web: null}\n".to_owned());
    put("nothing/index.yaml", "apiVersion: v1\nentries: {}\n".to_owned());
    put("nourls/index.yaml", one("description: none"));
    put("odd-url/index.yaml", one("urls: ['a:b:c%zz']"));
    put("odd-scheme/index.yaml", one("urls: ['ftp://h/x.tgz']"));
    put("lost/index.yaml", one("urls: [gone-1.0.0.tgz]"));
    put("numbers/index.yaml", "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.10, appVersion: 1e6, urls: [web-1.0.0.tgz]}\n".to_owned());
    put("number-digest/index.yaml", one("digest: 123, urls: [1]"));
    for (name, fields) in [
        ("number-annotation", "annotations: {a: 1}"),
        ("number-maintainer", "maintainers: [{name: 5}]"),
        ("number-dependency", "dependencies: [{name: 5}]"),
        ("unknown-dependency", "dependencies: [{name: a, bogus: 5}]"),
        ("number-keyword", "keywords: [1]"),
        ("text-deprecated", "deprecated: x"),
        ("bool-description", "description: true"),
        ("number-maintainers", "maintainers: 5"),
        ("text-tags", "dependencies: [{name: a, tags: x}]"),
        ("number-removed", "removed: 1"),
        ("null-maintainer", "maintainers: [null]"),
        ("twice", "dependencies: [{name: a}, {name: a}]"),
        ("odd-type", "type: nonsense"),
    ] {
        put(&format!("{name}/index.yaml"), one(fields));
    }
    put("chartmuseum/index.yaml", format!("{index}serverInfo: {{contextPath: /x}}\n"));
    put("null-entry/index.yaml", "apiVersion: v1\nentries:\n  web:\n  - null\n  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n".to_owned());
    put("bad-version/index.yaml", "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: one}\n  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n".to_owned());
    put("no-name/index.yaml", "apiVersion: v1\nentries:\n  web:\n  - {version: 1.0.0}\n".to_owned());
    put("json/index.yaml", JSON.to_owned());
    put("json-wrong/index.yaml", JSON.replace("\"1.0.0\"", "1"));
    put("slash/index.yaml", one("urls: [/charts/web-1.0.0.tgz]"));
    for (name, text) in odd_indexes() {
        files.insert(format!("{name}/index.yaml"), text);
    }
    for (name, text) in HUB {
        files.insert(format!("{name}/api/chartsvc/v1/charts/search"), text.as_bytes().to_vec());
    }
    let mut bad = String::from("apiVersion: v1\nentries:\n");
    for (name, bytes) in bad_archives() {
        let file = format!("{name}-1.0.0.tgz");
        std::fs::write(env.path().join(&file), &bytes).expect("it can be written");
        bad.push_str(&format!("  {name}:\n  - {{name: {name}, version: 1.0.0, urls: [{file}]}}\n"));
        files.insert(file, bytes);
    }
    files.insert("bad/index.yaml".to_owned(), bad.into_bytes());
    Arc::new(files)
}

/// Answers of hubs.
const HUB: [(&str, &str); 4] = [
    (
        "hub",
        r#"{"data":[{"id":"a/web","artifactHub":{"packageUrl":"https://hub.example.com/packages/helm/a/web"},
"attributes":{"description":"A web server with a description that is longer than fifty characters","repo":{"name":"a",
"url":"https://a.example.com"}},"relationships":{"latestChartVersion":{"data":{"version":"1.0.0","app_version":"2"}}}},
{"id":"b/db","attributes":{"description":"","repo":{}},"relationships":{}}]}"#,
    ),
    ("hub-empty", r#"{"data":[]}"#),
    ("hub-text", "hello"),
    ("hub-odd", r#"{"data":{"a":1}}"#),
];

/// Indexes that are written in odd ways, or are none.
fn odd_indexes() -> Vec<(&'static str, Vec<u8>)> {
    let entry = "name: web, version: 1.0.0, urls: [web-1.0.0.tgz]";
    let index = |entries: &str| format!("apiVersion: v1\nentries:\n{entries}");
    let one = |entry: &str| index(&format!("  web:\n  - {{{entry}}}\n"));
    let with = |more: &str| one(&format!("{entry}, {more}"));
    let json = |entry: &str| format!(r#"{{"apiVersion":"v1","entries":{{"web":[{entry}]}}}}"#);
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let texts = [
        ("many", MANY.to_owned()),
        ("list", "- a\n- b\n".to_owned()),
        ("text", "hello world\n".to_owned()),
        ("number", "5\n".to_owned()),
        ("null", "null\n".to_owned()),
        ("tabs", "apiVersion: v1\nentries:\n\tweb: []\n".to_owned()),
        ("mark", format!("\u{feff}{}", one(entry))),
        ("documents", format!("{}---\napiVersion: v2\n", one(entry))),
        ("anchor", index("  web: &a\n  - *b\n")),
        ("merge-key", index("  web:\n  - &a {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n  - {<<: *a, version: 0.9.0}\n")),
        ("upper", "APIVersion: v1\nEntries: {}\n".to_owned()),
        ("json-cut", r#"{"apiVersion":"v1","entries":{"web":["#.to_owned()),
        ("json-more", format!("{} x", json(""))),
        ("json-empty", "{}".to_owned()),
        ("json-list", "[]".to_owned()),
        ("json-noapi", r#"{"entries":{}}"#.to_owned()),
        ("json-twice", r#"{"apiVersion":"v1","entries":{"web":[]},"entries":{"web":[{"name":"web","version":"1.0.0","version":"1.1.0","urls":["web-1.1.0.tgz"]}]}}"#.to_owned()),
        ("json-case", r#"{"APIVERSION":"v1","Entries":{"web":[{"Name":"web","VERSION":"1.0.0","Urls":["web-1.0.0.tgz"]}]}}"#.to_owned()),
        ("json-null", json("null")),
        ("json-time", json(r#"{"name":"web","version":"1.0.0","created":"2020-01-02T03:04:05Z","urls":null}"#)),
        ("json-type", json(r#"{"name":"web","version":"1.0.0","urls":"x"}"#)),
        ("twice-chart", index(&format!("  web:\n  - {{{entry}}}\n  web: []\n"))),
        ("twice-field", one("name: web, name: web, version: 1.0.0")),
        ("number-version", one("name: web, version: 1.0, urls: [x]")),
        ("number-name", one("name: 5, version: 1.0.0, urls: [x]")),
        ("map-version", one("name: web, version: {a: b}")),
        ("list-urls", one("name: web, version: 1.0.0, urls: [[a]]")),
        ("number-created", with("created: 5")),
        ("date-created", with("created: 2020-01-02")),
        ("number-public", format!("{}publicKeys: 5\n", one(entry))),
        ("public-keys", format!("{}publicKeys: [a]\nannotations: {{a: b}}\n", one(entry))),
        ("other-name", one("name: other, version: 1.0.0, urls: [web-1.0.0.tgz]")),
        ("spaces", index(&format!("  'web server':\n  - {{{}}}\n", entry.replace("name: web", "name: web server")))),
        ("slash-name", index(&format!("  sub/web:\n  - {{{}}}\n", entry.replace("name: web", "name: sub/web")))),
        ("legacy", with("checksum: x, engine: gotpl, tillerVersion: '>2', url: y")),
        ("same-version", index(&format!("  web:\n  - {{{entry}, description: first}}\n  - {{{entry}, description: second}}\n"))),
        ("empty-version", one("name: web, version: '', urls: [web-1.0.0.tgz]")),
        ("generated", format!("{}generated: 2020-01-02T03:04:05Z\n", one(entry))),
        ("odd-generated", format!("{}generated: now\n", one(entry))),
        ("api-v2", one(entry).replace("apiVersion: v1", "apiVersion: v2")),
    ];
    let mut all: Vec<_> = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    all.push(("binary", vec![0, 1, 2, 255, 254]));
    all.push(("utf16", utf16(&format!("\u{feff}{}", one(entry)))));
    all
}

/// Versions that sort in odd ways, and texts that are hard to print.
const MANY: &str = r#"apiVersion: v1
entries:
  web:
  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}
  - {name: web, version: 1.10.0, urls: [web-1.0.0.tgz]}
  - {name: web, version: 1.9.0, urls: [web-1.0.0.tgz]}
  - {name: web, version: v2.0.0, urls: [web-1.0.0.tgz]}
  - {name: web, version: 1.0.0-alpha, urls: [web-1.0.0.tgz]}
  - {name: web, version: 1.0.0-alpha.10, urls: [web-1.0.0.tgz]}
  - {name: web, version: 1.0.0-alpha.9, urls: [web-1.0.0.tgz]}
  - {name: web, version: "3", urls: [web-1.0.0.tgz]}
  - {name: web, version: "2.5", urls: [web-1.0.0.tgz]}
  odd:
  - {name: odd, version: 0.0.0, urls: [web-1.0.0.tgz]}
  zero:
  - {name: zero, version: 0.0.0-0, urls: [web-1.0.0.tgz]}
  wide:
  - {name: wide, version: 1.0.0, description: "日本語の説明がここにある 日本語の説明がここにある 日本語の説明がここにある", urls: [x]}
  quote:
  - {name: quote, version: 1.0.0, appVersion: "1.0", description: "say \"quote\" <b> & 'more'\ttab\nnext line", urls: [x]}
"#;

/// Archives that are no charts, or try to get out of their folder.
fn bad_archives() -> Vec<(&'static str, Vec<u8>)> {
    let chart = |text: &'static str| ("web/Chart.yaml", b'0', text.as_bytes());
    let good = chart("apiVersion: v2\nname: web\nversion: 1.0.0\n");
    let packed = |entries: &[(&str, u8, &[u8])]| gzip(&tar(entries));
    let whole = packed(&[good, ("web/templates/a.yaml", b'0', b"a: 1\n")]);
    let large = vec![b'#'; 6 << 20];
    vec![
        ("text", b"hello\n".to_vec()),
        ("nothing", Vec::new()),
        ("cut", whole[..whole.len() / 2].to_vec()),
        ("no-tar", gzip(b"hello\n")),
        ("no-entries", packed(&[])),
        ("no-chart", packed(&[("web/values.yaml", b'0', b"a: 1\n")])),
        ("flat", packed(&[("Chart.yaml", b'0', b"apiVersion: v2\nname: web\nversion: 1.0.0\n")])),
        ("odd-chart", packed(&[chart("a: [\n")])),
        ("empty-chart", packed(&[chart("")])),
        ("no-version", packed(&[chart("apiVersion: v2\nname: web\n")])),
        ("no-api", packed(&[chart("name: web\nversion: 1.0.0\n")])),
        ("odd-version", packed(&[chart("apiVersion: v2\nname: web\nversion: one\n")])),
        ("odd-name", packed(&[chart("apiVersion: v2\nname: ../web\nversion: 1.0.0\n")])),
        ("dot-name", packed(&[chart("apiVersion: v2\nname: ..\nversion: 1.0.0\n")])),
        ("odd-api", packed(&[chart("apiVersion: v9\nname: web\nversion: 1.0.0\n")])),
        ("parent", packed(&[good, ("web/../../x", b'0', b"x")])),
        ("parent-only", packed(&[good, ("../x", b'0', b"x")])),
        ("absolute", packed(&[good, ("/etc/x", b'0', b"x")])),
        ("backslash", packed(&[good, ("web\\..\\..\\x", b'0', b"x")])),
        ("drive", packed(&[good, ("c:/x", b'0', b"x")])),
        ("soft-link", packed(&[good, ("web/templates/b.yaml", b'2', b"")])),
        ("hard-link", packed(&[good, ("web/templates/b.yaml", b'1', b"")])),
        ("device", packed(&[good, ("web/templates/b.yaml", b'3', b"")])),
        ("folder", packed(&[good, ("web/templates/", b'5', b"")])),
        ("large", packed(&[good, ("web/large", b'0', &large)])),
        ("two-roots", packed(&[good, ("other/templates/a.yaml", b'0', b"a: 1\n")])),
        ("odd-values", packed(&[good, ("web/values.yaml", b'0', b"a: [\n")])),
        ("list-values", packed(&[good, ("web/values.yaml", b'0', b"- a\n")])),
        ("odd-requirements", packed(&[good, ("web/requirements.yaml", b'0', b"a: [\n")])),
        ("odd-lock", packed(&[good, ("web/Chart.lock", b'0', b"a: [\n")])),
        ("odd-subchart", packed(&[good, ("web/charts/x-1.tgz", b'0', b"no")])),
        ("empty-subchart", packed(&[good, ("web/charts/x/values.yaml", b'0', b"a: 1\n")])),
        ("mark", packed(&[chart("\u{feff}apiVersion: v2\nname: web\nversion: 1.0.0\n")])),
        ("twice", packed(&[good, good])),
        ("more", [whole.clone(), b"more".to_vec()].concat()),
    ]
}

const JSON: &str = r#"{"apiVersion":"v1","unknown":true,"entries":{"web":[{"name":"web","version":"1.0.0",
"description":"in JSON","urls":["web-1.0.0.tgz"],"odd":[1,2]}]}}"#;
