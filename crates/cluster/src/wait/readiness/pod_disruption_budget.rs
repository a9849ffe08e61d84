//! PodDisruptionBudgets: once the controller has observed the latest generation, the budget is computed.

use super::{Readiness, Status};

pub(super) fn readiness() -> Readiness {
    Readiness::verbatim(Status::Current, "AllowedDisruptions has been computed.")
}
