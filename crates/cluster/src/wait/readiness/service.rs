//! Services: ready once they have the address that their type requires.

use pintle_objects::Object;

use super::Readiness;

pub(super) fn readiness(object: &Object) -> Readiness {
    let balanced = object.text(&["spec", "type"]) == "LoadBalancer";
    if balanced && object.text(&["spec", "clusterIP"]).is_empty() {
        return Readiness::in_progress(
            "ClusterIP not set. Service type: LoadBalancer",
            "it has no address inside the cluster yet",
        );
    }
    Readiness::current("Service is ready", "it has its address")
}
