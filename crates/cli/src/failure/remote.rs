//! Failures of operations on repositories and registries.

use std::io::ErrorKind;

use pintle::RemoteError;
use pintle_tree::quote::quote;
use pintle_tree::redact::redacted;

use super::{Failure, FailureKind, reason, signature_hint};
use crate::chart_reference::PATHS;

/// How the charts that others depend on are named.
pub(crate) const DEPENDENCIES: &str = "give REPOSITORY/NAME, oci://HOST/PATH/NAME, or NAME with --repo URL";

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        let failure = Failure::new(class(&error), error.to_string());
        match &error {
            RemoteError::Repo(error) => error.clone().into(),
            RemoteError::Signature(error) => match signature_hint(error) {
                Some(hint) => failure.hint(hint),
                None => failure,
            },
            RemoteError::During { .. } => {
                let RemoteError::During { doing, cause } = error else { return failure };
                Failure::from(*cause).during(&doing)
            }
            RemoteError::NoChartAtPath { reference, source } => {
                let shown = redacted(reference);
                let own = match source.kind() {
                    ErrorKind::NotFound | ErrorKind::InvalidInput => {
                        format!("there is no chart at `{shown}`")
                    }
                    _ => format!("cannot look at `{shown}`: {}", reason(source)),
                };
                failure.with_pintle_text(own).hint(PATHS)
            }
            // Helm does not print the cause.
            RemoteError::NoProvenance { cause, .. } => {
                let own = redacted(&format!("{error}: {cause}")).into_owned();
                failure.with_pintle_text(own)
            }
            RemoteError::DependencyNotAdded { .. } => {
                let RemoteError::DependencyNotAdded { cause, .. } = error else { return failure };
                Failure::from(pintle::Error::from(*cause))
            }
            RemoteError::NoRepositoryNamed { .. } => failure.hint(DEPENDENCIES),
            RemoteError::NoSuchDependency { known, .. } => {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                failure.hint(format!("its dependencies: {known}"))
            }
            RemoteError::NoRepositoryOf { .. } => {
                failure.hint("a chart that is kept in charts/ is upgraded there")
            }
            RemoteError::RegistryHost { .. } => failure.hint("a registry is HOST or HOST:PORT"),
            RemoteError::ArchiveIsFolder => failure.hint("`pintle package` creates one"),
            RemoteError::UnpackedChart => failure.hint("`package --sign` makes an archive that can"),
            RemoteError::CosignOfFile { path } => {
                let chart = path.display();
                Failure::usage(format!("--verify=cosign is for charts of registries, and {chart} is a file"))
                    .hint("without =cosign, --verify looks for a provenance file")
            }
            RemoteError::RepositoryExists { .. } => failure.hint("--force-update replaces it"),
            RemoteError::SearchWords => failure.hint("give oci://HOST/PATH/CHART and nothing else"),
            RemoteError::VersionRange { range, reason } => {
                let range = quote(range.as_bytes());
                failure.with_pintle_text(format!("{range} is not a version range: {reason}"))
            }
            _ => failure,
        }
    }
}

fn class(error: &RemoteError) -> FailureKind {
    match error {
        RemoteError::UpdatesFailed { .. } | RemoteError::NoProvenance { .. } | RemoteError::Signature(_) => {
            FailureKind::RunTime
        }
        _ => FailureKind::BadInput,
    }
}
