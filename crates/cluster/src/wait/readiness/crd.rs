//! CustomResourceDefinitions: established, or rejected because of their names.

use pintle_objects::Object;

use super::generic::because;
use super::{Malformed, Readiness, Status, conditions};

pub(super) fn readiness(object: &Object) -> Result<Readiness, Malformed> {
    for condition in conditions(object)? {
        let refused = match condition.kind {
            "NamesAccepted" => condition.status == "False",
            "Established" if condition.status == "True" => {
                return Ok(Readiness::verbatim(Status::Current, "CRD is established"));
            }
            "Established" => condition.status == "False" && condition.reason != "Installing",
            _ => false,
        };
        if refused {
            let detail = because("CRD is not established", condition.why());
            return Ok(Readiness::failed(condition.message, detail));
        }
    }
    Ok(Readiness::in_progress("Install in progress", "Waiting for the CRD to be established"))
}
