//! PersistentVolumeClaims: bound or not.

use pintle_objects::Object;
use pintle_tree::Node;

use super::{Readiness, Status};

pub(super) fn readiness(object: &Object) -> Readiness {
    match object.at(&["status", "phase"]).and_then(Node::as_str).unwrap_or("unknown") {
        "Bound" => Readiness::verbatim(Status::Current, "PVC is Bound"),
        phase => Readiness::verbatim(Status::InProgress, format!("PVC is not Bound. phase: {phase}")),
    }
}
