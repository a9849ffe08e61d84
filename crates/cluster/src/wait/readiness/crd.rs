//! CustomResourceDefinitions: established, or rejected because of their names.

use pintle_objects::Object;

use super::generic::because;
use super::{Malformed, Readiness, conditions};

pub(super) fn readiness(object: &Object) -> Result<Readiness, Malformed> {
    for condition in conditions(object)? {
        let refused = match condition.kind {
            "NamesAccepted" => condition.status == "False",
            "Established" if condition.status == "True" => {
                return Ok(Readiness::current("CRD is established", "the cluster serves it"));
            }
            "Established" => condition.status == "False" && condition.reason != "Installing",
            _ => false,
        };
        if refused {
            let detail = because("the cluster refuses to serve it", condition.why());
            return Ok(Readiness::failed(condition.message, detail));
        }
    }
    Ok(Readiness::in_progress("Install in progress", "the cluster does not serve it yet"))
}
