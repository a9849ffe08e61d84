//! PersistentVolumeClaims: bound or not.

use pintle_objects::Object;
use pintle_tree::Node;

use super::Readiness;

pub(super) fn readiness(object: &Object) -> Readiness {
    match object.at(&["status", "phase"]).and_then(Node::as_str).unwrap_or("unknown") {
        "Bound" => Readiness::current("PVC is Bound", "it has its volume"),
        phase => Readiness::in_progress(
            format!("PVC is not Bound. phase: {phase}"),
            format!("it has no volume yet (phase {phase})"),
        ),
    }
}
