//! Serves an empty cluster on a port: `serve [ADDRESS [FILE]]`. Prints a kubeconfig.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::path::Path;
use std::sync::Arc;

use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Options, SystemClock, serve};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let store = match arguments.next() {
        Some(file) => Store::in_file(Path::new(&file), HistoryWindow::default())?,
        None => Store::in_memory(HistoryWindow::default()),
    };
    let options = Options { catalog: ApiCatalog::newest(), store, clock: Arc::new(SystemClock), seed: 1 };
    let api = Api::start(options).await?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("{}", serve::kubeconfig(listener.local_addr()?, None));
    serve::serve(api, listener, &serve::Settings::default(), std::future::pending()).await?;
    Ok(())
}
