//! `HelmRequestSet`: one chart for many clusters, as one owned `HelmRequest` for each, rolled out in steps.
//!
//! History, approvals, drift and commands are those of requests. [`rollout`] decides which clusters are next, as a pure
//! function of what their requests say, so that nothing is lost when the controller is killed. Everything but the status of the
//! set is read and written with the rights of its service account.

mod clusters;
mod reconcile;
pub mod rollout;
mod run;

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::request::{Condition, SecretKeyReference};

pub use reconcile::SetReconciler;
pub(crate) use run::run_sets;

/// The label of a request with the name of its set.
pub const SET_LABEL: &str = "helm.sh/request-set";
/// The label of a request with the name of its cluster.
pub const CLUSTER_LABEL: &str = "helm.sh/cluster";
/// The annotation of a request with the digest of what its set wants.
pub const DIGEST_ANNOTATION: &str = "helm.sh/set-digest";
/// Asks to go on after a pause; any value that differs from the last one handled.
pub const RESUME_ANNOTATION: &str = "helm.sh/resume-requested-at";
/// Asks to try the clusters that failed again; any value that differs from the last one handled.
pub const RETRY_ANNOTATION: &str = "helm.sh/retry-requested-at";
/// Approves that the roll-out goes on after a step: the revision and the name of the step, as in `status.approvalNeeded`.
pub const APPROVE_STEP_ANNOTATION: &str = "helm.sh/approve-step";

/// What the watch keeps of a set.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SetHead {
    #[serde(deserialize_with = "crate::request::metadata")]
    metadata: ObjectMeta,
}

impl kube::Resource for SetHead {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "HelmRequestSet".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        pintle::cluster::crds::GROUP.into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        pintle::cluster::crds::VERSION.into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "helmrequestsets".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A release of one chart in many clusters.
#[derive(Clone, Debug, Deserialize)]
pub struct HelmRequestSet {
    /// The metadata, without `managedFields`.
    #[serde(deserialize_with = "crate::request::metadata")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: SetSpec,
    /// What the controller found and did.
    #[serde(default)]
    pub status: Option<SetStatus>,
}

/// The spec of a set.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetSpec {
    /// The service account that is impersonated: it lists the Secrets of clusters, and writes the requests.
    pub service_account_name: Option<String>,
    /// Whether nothing is changed.
    pub suspend: bool,
    /// Where the clusters come from.
    pub clusters: ClusterSources,
    /// The request for each cluster.
    pub template: Template,
    /// Values for some clusters, merged over those of the template in order.
    pub values: Vec<ValuesForClusters>,
    /// The steps of a roll-out. Clusters that no step selects come last.
    pub steps: Vec<Step>,
    /// How many clusters may be unavailable because of this set: a number or a percentage.
    pub max_unavailable: Option<Limit>,
    /// After how many failed clusters the roll-out pauses: a number or a percentage; 1 by default.
    pub pause_after: Option<Limit>,
    /// What happens to the release when its cluster is not selected any more.
    pub on_removal: OnRemoval,
}

/// Where clusters come from.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSources {
    /// Clusters of Cluster API in the namespace of the set, by the labels of their `Cluster`s.
    #[serde(rename = "clusterAPI")]
    pub cluster_api: Option<Selected>,
    /// Secrets with kubeconfigs in the namespace of the set, which have the label `helm.sh/cluster` with the name of the cluster.
    pub secrets: Option<Selected>,
    /// Clusters by name.
    pub list: Vec<ListedCluster>,
}

/// What a selector selects.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selected {
    /// The selector; all if it is empty.
    pub selector: LabelSelector,
}

/// A cluster by name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListedCluster {
    /// Its name.
    pub name: String,
    /// Labels for selectors.
    pub labels: BTreeMap<String, String>,
    /// The Secret with its kubeconfig; the cluster of the set without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretKeyReference>,
}

/// The request for each cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Template {
    /// Labels and annotations of the requests.
    pub metadata: TemplateMetadata,
    /// The spec of the requests, without `kubeConfig`.
    pub spec: Map<String, Value>,
}

/// Labels and annotations of requests.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateMetadata {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Values for some clusters.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValuesForClusters {
    /// Which clusters, by label; all if it is not set.
    pub selector: Option<LabelSelector>,
    /// Which clusters, by an expression over `cluster.name` and `cluster.labels`.
    pub when: Option<String>,
    /// The values.
    pub values: Map<String, Value>,
}

/// A step of a roll-out.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Which clusters; all that are left if it is not set.
    pub selector: Option<LabelSelector>,
    /// How many clusters are changed at once: a number or a percentage of the step; all if it is not set.
    pub max_concurrent: Option<Limit>,
    /// What must hold before the next step begins, besides that all clusters are ready.
    pub gate: Gate,
}

/// What must hold before the next step begins.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gate {
    /// How long everything must have been ready.
    pub bake_time: Option<String>,
    /// Whether somebody must approve.
    pub approval: bool,
    /// An expression that must hold for each request of the step, with its `metadata`, `spec` and `status`.
    pub expression: Option<String>,
}

/// A number, or a percentage such as `25%`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Limit {
    /// A number.
    Count(u32),
    /// A percentage.
    Percent(String),
}

/// What happens to the release when its cluster is not selected any more.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum OnRemoval {
    /// It is uninstalled.
    #[default]
    Uninstall,
    /// It is left as it is.
    Orphan,
}

/// The status of a set. There is no entry for each cluster: with thousands, it would not fit.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetStatus {
    /// The generation that was handled.
    pub observed_generation: i64,
    /// What is rolled out: a digest of template, values and steps.
    pub revision: String,
    /// How many clusters there are.
    pub clusters: u32,
    /// How many have what is wanted, ready or not.
    pub updated: u32,
    /// How many have it, and are ready.
    pub ready: u32,
    /// How many have it, and failed.
    pub failed: u32,
    /// The steps, in order.
    pub steps: Vec<StepStatus>,
    /// Why the roll-out does not go on by itself.
    pub paused: Option<String>,
    /// What to set the annotation `helm.sh/approve-step` to, while an approval is needed.
    pub approval_needed: Option<String>,
    /// At most 20 clusters that failed, with the reason.
    pub failing: Vec<FailingCluster>,
    /// How many failures were accepted by going on.
    pub tolerated_failures: u32,
    /// The last request to go on that was handled.
    pub last_handled_resume_at: String,
    /// The last request to try again that was handled.
    pub last_handled_retry_at: String,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// A step, in numbers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepStatus {
    /// Its name.
    pub name: String,
    /// How many clusters it has.
    pub clusters: u32,
    /// How many have what is wanted, ready or not.
    pub updated: u32,
    /// How many have it, and are ready.
    pub ready: u32,
    /// How many have it, and failed.
    pub failed: u32,
    /// `Waiting`, `Progressing`, `Gated` or `Done`.
    pub state: String,
    /// Since when all of its clusters are done.
    pub done_at: Option<String>,
}

/// A cluster that failed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailingCluster {
    /// Its name.
    pub cluster: String,
    /// Why.
    pub message: String,
}

impl HelmRequestSet {
    /// The name of the set.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The namespace of the set, and of its requests.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// An annotation; empty when it is not set.
    pub fn annotation(&self, key: &str) -> &str {
        self.metadata.annotations.as_ref().and_then(|all| all.get(key)).map_or("", String::as_str)
    }
}

impl Limit {
    /// The number of so many; at least 1, so that a roll-out goes on.
    ///
    /// # Errors
    /// When it is no percentage.
    pub fn of(&self, total: usize) -> Result<usize, String> {
        match self {
            Limit::Count(count) => Ok((*count as usize).max(1)),
            Limit::Percent(text) => {
                let percent = text.strip_suffix('%').and_then(|text| text.parse::<usize>().ok());
                let percent = percent.filter(|percent| *percent <= 100);
                let percent = percent.ok_or_else(|| format!("`{text}` is no percentage such as 25%"))?;
                Ok((total * percent / 100).max(1))
            }
        }
    }
}
