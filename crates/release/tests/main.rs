//! The store in memory fulfils the contract of stores.

mod contract;

use futures::FutureExt as _;
use pintle_release::MemoryStore;

#[test]
fn the_store_in_memory_fulfils_the_contract() {
    // Futures of this store are ready at once.
    contract::check(&MemoryStore::new(), "default").now_or_never().expect("never waits");
}
