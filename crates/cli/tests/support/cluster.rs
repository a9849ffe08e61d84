//! A cluster for tests: the API in this process, on a port.

use std::sync::{Arc, mpsc};

use pintle_embedded::schema::Table;
use pintle_embedded::serve::{Settings, serve};
use pintle_embedded::store::{Store, Window};
use pintle_embedded::{Api, Options, SystemClock};

/// Starts a cluster and gives the flag that leads to it. It ends with the test.
pub(crate) fn start() -> String {
    let (told, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let table = Table::of("1.36").expect("a version that is there");
            let store = Store::in_memory(Window::default());
            let options = Options { table, store, clock: Arc::new(SystemClock), seed: 1 };
            let api = Api::start(options).await.expect("it starts");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            told.send(listener.local_addr().expect("it has an address")).expect("the test waits for it");
            serve(api, listener, &Settings::default(), std::future::pending()).await.expect("it goes on");
        });
    });
    format!("--kube-apiserver http://{}", address.recv().expect("the cluster starts"))
}
