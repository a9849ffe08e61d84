//! The lifecycle of a release: `cargo run -p pintle --example release -- KUBECONFIG CHART`.
//!
//! Installs a chart, upgrades it with other values, rolls it back and uninstalls it, with the records in memory. A
//! server would keep them in the cluster (`pintle::cluster::store`), and use one reporter per request.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use pintle::ValuesLayer;
use pintle::cluster::{Cluster, Settings};
use pintle::ops::{
    InstallRequest, RollbackRequest, UninstallRequest, UpgradeRequest, install, rollback, uninstall, upgrade,
};
use pintle::release::MemoryStore;
use pintle::{LeaseHolder, Session, Silent};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let kubeconfig = arguments.next().context("name a kubeconfig file")?;
    let chart = arguments.next().context("name a chart")?;
    let settings = Settings { kubeconfig: vec![kubeconfig.into()], ..Settings::default() };
    let cluster = Cluster::connect(&settings).await?;
    let session =
        Session::new(cluster, Arc::new(MemoryStore::new())).with_holder(LeaseHolder::new("release example"));
    let target = InstallRequest {
        chart: chart.into(),
        name: "demo".to_owned(),
        namespace: session.cluster.default_namespace().to_owned(),
        ..InstallRequest::default()
    };
    run(&session, target).await
}

async fn run(session: &Session, target: InstallRequest) -> Result<()> {
    let (name, namespace) = (target.name.clone(), target.namespace.clone());
    let mut watch = Instant::now();
    let mut print = |what: &str, number: u64| {
        println!("{what}: version {number}, {:?}", watch.elapsed());
        watch = Instant::now();
    };
    print("installed", install(session, &target, &mut Silent).await?.number);
    let values = vec![ValuesLayer::Set("tag=two".to_owned())];
    let next = UpgradeRequest { target: InstallRequest { values, ..target }, ..UpgradeRequest::default() };
    print("upgraded", upgrade(session, &next, &mut Silent).await?.version.number);
    let back =
        RollbackRequest { name: name.clone(), namespace: namespace.clone(), ..RollbackRequest::default() };
    print("rolled back", rollback(session, &back, &mut Silent).await?.number);
    let end = UninstallRequest { name, namespace, ..UninstallRequest::default() };
    if let Some(gone) = uninstall(session, &end, &mut Silent).await? {
        print("uninstalled", gone.version.number);
    }
    Ok(())
}
