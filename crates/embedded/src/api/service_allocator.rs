//! Allocation of cluster IPs and node ports. Keeps an index of those in use, so that creating a service does not read
//! all others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use pintle_tree::{Node, Str};

use super::meta::{at, list_at};
use crate::store::{Object, Store};

const SERVICES: &str = "services/";

/// The allocations, brought up to date with the store on each call.
#[derive(Default)]
pub(super) struct ServiceAllocator(Mutex<Allocations>);

#[derive(Default)]
struct Allocations {
    /// The revision up to which services are indexed; `None` before the first call.
    synced_revision: Option<u64>,
    /// The keys of the services that use an address or a port.
    /// Several, as clients can set a `clusterIP` that is in use.
    owners: BTreeMap<Str, BTreeSet<Str>>,
}

impl ServiceAllocator {
    /// Returns the first of `count` numbers that is free in the format of `format`. Starts at the store revision, so
    /// that a released number is not reused at once.
    pub(super) fn allocate(&self, store: &Store, count: u64, format: impl Fn(u64) -> String) -> u64 {
        let mut allocations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        allocations.catch_up(store);
        let start = store.revision();
        let mut numbers = (0..count).map(|step| (start + step) % count);
        let is_free = |number: &u64| !allocations.owners.contains_key(&Str::from(format(*number)));
        // With none free the first is handed out again rather than an error returned; a simulated network
        // does not route.
        numbers.find(is_free).unwrap_or(0)
    }
}

impl Allocations {
    fn catch_up(&mut self, store: &Store) {
        let updates =
            self.synced_revision.and_then(|synced_revision| store.changes(SERVICES, synced_revision).ok());
        // Release before adding: an update may move an address between services.
        if let Some((events, revision)) = updates {
            for event in &events {
                event.previous.iter().for_each(|previous| self.release(previous));
                if !event.removed {
                    self.add(&event.object);
                }
            }
            self.synced_revision = Some(revision);
        // The first call, or the events have left the history window.
        } else if let Ok(listing) = store.list(SERVICES, None, usize::MAX, None, &|_| true) {
            self.owners.clear();
            listing.objects.iter().for_each(|service| self.add(service));
            self.synced_revision = Some(listing.revision);
        }
    }

    fn add(&mut self, service: &Object) {
        for name in allocated(&service.node()) {
            self.owners.entry(name).or_default().insert(service.key.clone());
        }
    }

    fn release(&mut self, service: &Object) {
        for name in allocated(&service.node()) {
            if let Some(keys) = self.owners.get_mut(&name) {
                keys.remove(&service.key);
                if keys.is_empty() {
                    self.owners.remove(&name);
                }
            }
        }
    }
}

/// The cluster IP and the node ports of a service, as strings.
fn allocated(service: &Node) -> Vec<Str> {
    let mut found = Vec::new();
    found.extend(at(service, &["spec", "clusterIP"]).and_then(Node::as_text).cloned());
    let ports = list_at(service, &["spec", "ports"]).iter().filter_map(|port| port.get("nodePort"));
    for port in ports.chain(at(service, &["spec", "healthCheckNodePort"])) {
        if let Node::Int(number) = port {
            found.push(Str::from(number.to_string()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{HistoryWindow, Precondition, key};

    fn service(port: i64) -> Node {
        let text = format!(r#"{{"spec":{{"clusterIP":"a","ports":[{{"nodePort":{port}}}]}}}}"#);
        pintle_tree::json::read_exact(text.as_bytes()).unwrap()
    }

    #[tokio::test]
    async fn addresses_and_ports_are_released_with_their_service() {
        // With a window of one event the index has to be rebuilt from a list.
        for events in [1, 100] {
            let store = Store::in_memory(HistoryWindow { events, bytes: usize::MAX });
            let allocated = ServiceAllocator::default();
            let allocate = || allocated.allocate(&store, 3, |number| number.to_string());
            assert_eq!(allocate(), 0);
            for (name, port) in [("a", 1), ("b", 2), ("c", 1)] {
                store.put(key("services", "x", name), Precondition::Absent, service(port)).await.unwrap();
            }
            assert_eq!(allocate(), 0, "the only one that is left");
            store.put(key("services", "x", "b"), Precondition::Present, service(0)).await.unwrap();
            assert_eq!(allocate(), 2);
            store.remove(key("services", "x", "b"), Precondition::Present).await.unwrap();
            store.remove(key("services", "x", "a"), Precondition::Present).await.unwrap();
            assert_eq!(allocate(), 0, "one is still taken by c");
        }
    }
}
