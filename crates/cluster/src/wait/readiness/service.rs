//! Services: ready once they have the address that their type requires.

use pintle_objects::Object;

use super::{Readiness, Status};

pub(super) fn readiness(object: &Object) -> Readiness {
    let balanced = object.text(&["spec", "type"]) == "LoadBalancer";
    if balanced && object.text(&["spec", "clusterIP"]).is_empty() {
        return Readiness::in_progress(
            "ClusterIP not set. Service type: LoadBalancer",
            "Waiting for a cluster IP",
        );
    }
    Readiness::verbatim(Status::Current, "Service is ready")
}
