//! `upgrade-check`: what a new version of a chart means for the values of a user and for the objects of a release.

use std::path::{Path, PathBuf};

use pintle_chart::{MAX_TEXT, read_limited, write_atomic};
use pintle_render::{Capabilities, KubeVersion, Release, Target};
use pintle_tree::{Map, Node};
use pintle_upgrade::{Rename, Report, migrate};
use pintle_values::NullRules;

use super::{ChartInput, locate};
use crate::{Error, OfflineSession, Reporter, Result};

/// What to compare.
#[derive(Clone, Debug, Default)]
pub struct UpgradeCheckRequest {
    /// The chart that is upgraded from, and the user's values.
    pub from: ChartInput,
    /// The chart that is upgraded to, a folder or an archive.
    pub chart: PathBuf,
    /// The Kubernetes version to render for.
    pub kube_version: Option<KubeVersion>,
    /// API versions in addition to the built-in ones.
    pub api_versions: Vec<String>,
    /// Skips `values.schema.json`.
    pub skip_schema: bool,
    /// Whether nulls in values follow the rules of Helm 3 or Helm 4.
    pub nulls: NullRules,
    /// Leaves out what the README, the changelog and other texts of the new chart say.
    pub skip_documents: bool,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct UpgradeChecked {
    /// What was found.
    pub report: Report,
    /// The user's values after the renames that were proven.
    pub values: Map<Node>,
}

/// Compares two versions of a chart for the values of a user. Nothing is changed, and no script of a chart runs.
///
/// # Errors
/// When the new chart cannot be read, values cannot be computed, or the old chart does not render.
pub fn upgrade_check(
    session: &OfflineSession,
    request: &UpgradeCheckRequest,
    reporter: &mut dyn Reporter,
) -> Result<UpgradeChecked> {
    let new = locate::load(&request.chart, reporter)?;
    let old = &request.from.chart;
    if new.is_library() || old.is_library() {
        return Err(Error::NotInstallable { kind: "library".to_owned() });
    }
    let target = target(request);
    let schemas = &session.schemas;
    let report = pintle_upgrade::check(&pintle_upgrade::Request {
        old,
        new: &new,
        user: &request.from.user_values,
        target: &target,
        nulls: request.nulls,
        documents: !request.skip_documents,
        schemas: !request.skip_schema,
        load_schema: &|location| schemas.load(location),
    })
    .map_err(|error| Error::UpgradeCheck(Box::new(error)))?;
    let values = pintle_upgrade::migrated(&request.from.user_values, &report.moves);
    Ok(UpgradeChecked { report, values })
}

fn target(request: &UpgradeCheckRequest) -> Target {
    let mut capabilities = Capabilities::default().with_api_versions(&request.api_versions);
    if let Some(version) = &request.kube_version {
        capabilities.kube_version = version.clone();
    }
    let release = Release {
        name: request.from.name.clone(),
        namespace: request.from.namespace.clone(),
        revision: 2,
        is_upgrade: true,
    };
    Target::offline(release, capabilities)
}

/// Moves values within values files, and returns the files that changed. All files are edited before the first is written.
///
/// # Errors
/// When a file cannot be read, edited or written.
pub fn write_renames(files: &[PathBuf], moves: &[Rename]) -> Result<Vec<PathBuf>> {
    let failed =
        |action: &'static str, path: &Path, source| Error::File { action, path: path.to_owned(), source };
    let mut edited = Vec::new();
    for path in files {
        let text = read_limited(path, MAX_TEXT).map_err(|source| failed("read", path, source))?;
        let text =
            migrate(&text, moves).map_err(|error| Error::Input(format!("{}: {error}", path.display())))?;
        edited.extend(text.map(|text| (path.clone(), text)));
    }
    for (path, text) in &edited {
        write_atomic(path, text).map_err(|source| failed("write", path, source))?;
    }
    Ok(edited.into_iter().map(|(path, _)| path).collect())
}
