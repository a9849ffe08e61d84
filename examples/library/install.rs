//! Installs a chart and waits until it is ready: `cargo run -p pintle --example install -- CHART`.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::sync::Arc;

use pintle::ops::{InstallRequest, install};
use pintle::release::{MemoryStore, ReleaseVersion};
use pintle::{DeployOptions, Error, Session, Silent, WaitStrategy, embedded};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let chart = std::env::args().nth(1).unwrap_or_else(|| "examples/charts/web".to_owned());
    let api = embedded::Embedded::default().open().await?;
    let session = Session::new(embedded::cluster(&api, "default"), Arc::new(MemoryStore::new()));
    println!("{}", installed(&session, chart.into()).await?.info.status.as_str());
    Ok(())
}

pub(crate) async fn installed(session: &Session, chart: PathBuf) -> Result<ReleaseVersion, Error> {
    let deploy = DeployOptions { wait: WaitStrategy::Watcher, ..DeployOptions::default() };
    let (name, namespace) = ("demo".to_owned(), "default".to_owned());
    let request =
        InstallRequest { chart: chart.into(), name, namespace, deploy, ..InstallRequest::default() };
    install(session, &request, &mut Silent).await
}
