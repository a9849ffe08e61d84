//! Changes of live objects by others: found, reported, undone.

use pintle::{Session, ops};

use super::Reconciliation;
use crate::conditions::DRIFTED;
use crate::error::{Error, Result};
use crate::request::{DriftMode, DriftedObject};

/// How many objects the status lists, and how many fields of each.
const MAX_OBJECTS: usize = 100;
const MAX_FIELDS: usize = 50;

impl Reconciliation<'_> {
    /// Compares live objects with the release, as far as the request wants it.
    pub(super) async fn detect_drift(&mut self, session: &Session) -> Result<bool> {
        if self.request.spec.drift_detection.mode == DriftMode::Disabled {
            self.status.drift.clear();
            self.status.remove_condition(DRIFTED);
            return Ok(false);
        }
        let drift = Box::pin(ops::drift(session, &self.drift_request(false)?)).await?;
        self.status.drift = drift.objects.iter().take(MAX_OBJECTS).map(describe_drift).collect();
        let names: Vec<&str> = self.status.drift.iter().map(|drifted| drifted.object.as_str()).collect();
        let text = match names.as_slice() {
            [] => "no object was changed".to_owned(),
            names => format!("changed by others: {}", names.join(", ")),
        };
        let is_drifted = !drift.objects.is_empty();
        let reason = if is_drifted { "DriftDetected" } else { "NoDriftDetected" };
        self.condition(DRIFTED, is_drifted, reason, &text);
        Ok(is_drifted)
    }

    fn drift_request(&self, correct: bool) -> Result<ops::DriftRequest> {
        let mut ignore = Vec::new();
        for rule in &self.request.spec.drift_detection.ignore {
            let target = rule.target.clone().unwrap_or_default().selector().map_err(Error::InvalidSpec)?;
            ignore.push(ops::DriftIgnoreRule { paths: rule.paths.clone(), target });
        }
        Ok(ops::DriftRequest {
            name: self.request.release_name(),
            namespace: self.request.release_namespace().to_owned(),
            ignore,
            correct,
        })
    }

    pub(super) async fn correct_drift(&mut self, session: &Session) -> Result<String> {
        let corrected = Box::pin(ops::drift(session, &self.drift_request(true)?)).await?;
        let failed = corrected.objects.iter().find_map(|object| Some((object, object.problem.as_ref()?)));
        if let Some((object, problem)) = failed {
            let text = format!("cannot correct {} {}: {problem}", object.id.kind, object.id.name);
            return Err(pintle::Error::Input(text).into());
        }
        self.status.drift.clear();
        Ok(format!("undid changes of {} objects", corrected.objects.len()))
    }
}

fn describe_drift(drifted: &ops::DriftedObject) -> DriftedObject {
    let id = &drifted.id;
    DriftedObject {
        object: match id.namespace.as_str() {
            "" => format!("{}/{}", id.kind, id.name),
            namespace => format!("{}/{namespace}/{}", id.kind, id.name),
        },
        fields: drifted.fields.iter().take(MAX_FIELDS).map(ops::DriftedField::pointer).collect(),
        managers: drifted.managers(),
    }
}
