//! The stores in a cluster fulfil the contract of stores, on the embedded cluster. `crates/cluster/tests/stores.rs` runs the
//! same on a real one.

use std::sync::Arc;

use pintle::cluster::store::{HelmConfigMaps, HelmSecrets, NativeStore};
use pintle::embedded::{self, Embedded};
use pintle::release::Store;

#[path = "../../release/tests/contract.rs"]
mod contract;

#[tokio::test]
async fn every_store_in_a_cluster_fulfils_the_contract() {
    let api = Embedded::default().open().await.expect("it opens");
    let cluster = embedded::cluster(&api, "default");
    let stores: [Arc<dyn Store>; 3] = [
        Arc::new(HelmSecrets::new(cluster.clone())),
        Arc::new(HelmConfigMaps::new(cluster.clone())),
        Arc::new(NativeStore::new(cluster)),
    ];
    for store in stores {
        contract::check(&*store, "default").await;
    }
}
