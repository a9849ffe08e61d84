//! Lists the releases of a cluster, with Helm's own: `cargo run -p pintle --example list -- KUBECONFIG`.
#![allow(clippy::print_stdout)]

use std::sync::Arc;

use pintle::cluster::store::{HelmSecrets, NativeStore};
use pintle::cluster::{Cluster, Settings};
use pintle::ops::{ListRequest, list};
use pintle::{Error, Session, Silent};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let kubeconfig = std::env::args().nth(1).map(Into::into).into_iter().collect();
    let cluster = Cluster::connect(&Settings { kubeconfig, ..Settings::default() }).await?;
    releases(cluster).await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}

pub(crate) async fn releases(cluster: Cluster) -> Result<Vec<String>, Error> {
    let session = Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster.clone())))
        .with_other_stores(vec![Arc::new(HelmSecrets::new(cluster))]);
    let found = list(&session, &ListRequest::default(), &mut Silent).await?;
    Ok(found.iter().map(|release| format!("{}/{}", release.namespace, release.name)).collect())
}
