//! A cluster for tests: the embedded API server in this process, on a port.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, mpsc};

use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::serve::{Settings, serve};
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Options, SystemClock};

/// Starts a cluster and returns the flag to select it. It ends with the test.
pub(crate) fn start() -> String {
    let (printed, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let table = ApiCatalog::for_version("1.37").expect("a version that is there");
            let store = Store::in_memory(HistoryWindow::default());
            let options = Options { catalog: table, store, clock: Arc::new(SystemClock), seed: 1 };
            let api = Api::start(options).await.expect("it starts");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            printed.send(listener.local_addr().expect("it has an address")).expect("the test waits for it");
            serve(api, listener, &Settings::default(), std::future::pending()).await.expect("it goes on");
        });
    });
    format!("--kube-apiserver http://{}", address.recv().expect("the cluster starts"))
}

/// The response to a GET of a path.
pub(crate) fn read(flag: &str, path: &str) -> String {
    let host = flag.rsplit('/').next().expect("the flag ends in an address");
    let mut stream = TcpStream::connect(host).expect("the cluster is there");
    // HTTP/1.0 responses are not chunked.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").expect("it can be asked");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}

/// Sends a request to the cluster, and returns the response.
pub(crate) fn request(cluster: &str, line: &str, body: &str) -> Vec<u8> {
    let address = cluster.rsplit_once("http://").expect("an address").1;
    let mut stream = std::net::TcpStream::connect(address).expect("the cluster listens");
    let head = format!("Host: {address}\r\nConnection: close\r\nContent-Type: application/json");
    let request = format!("{line} HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).expect("it takes requests");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    answer
}
