//! PodDisruptionBudgets: once the controller has observed the latest generation, the budget is computed.

use super::Readiness;

pub(super) fn readiness() -> Readiness {
    Readiness::current("AllowedDisruptions has been computed.", "its budget is computed")
}
