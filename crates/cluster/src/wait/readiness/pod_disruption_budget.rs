//! Disruption budgets: once the controller has seen the latest change, it has computed the budget too.

use super::Readiness;

pub(super) fn readiness() -> Readiness {
    Readiness::current("AllowedDisruptions has been computed.", "its budget is computed")
}
