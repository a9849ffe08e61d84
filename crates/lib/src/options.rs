//! How a release is rendered and deployed, in types that cannot express contradictory combinations.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "cluster")]
use pintle_cluster::wait::ReadinessRules;
#[cfg(feature = "images")]
use pintle_images::Policy;
#[cfg(feature = "cluster")]
use pintle_objects::Validation;
#[cfg(feature = "cluster")]
use pintle_plan::ConflictPolicy;
use pintle_values::{NullRules, SchemaCheck, ValuesLayer};

#[cfg(feature = "cluster")]
use crate::ops::SensitivePath;
use crate::post_render::PostRenderOptions;
use crate::prepare::PrepareOptions;
use crate::{RecordObjects, SchemaLoader};

/// What the templates of a chart may take: steps, bytes of output, and nested calls.
pub type TemplateLimits = pintle_render::Limits;

/// How a chart is rendered.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Skips `values.schema.json` (`--skip-schema-validation`).
    pub skip_schema: bool,
    /// Lets `getHostByName` resolve names (`--enable-dns`). Off by default, because it lets a chart send data out
    /// through DNS queries.
    pub dns: bool,
    /// Appends the notes of subcharts to those of the chart (`--render-subchart-notes`).
    pub subchart_notes: bool,
    /// Replaces Secrets by a comment in dry runs (`--hide-secret`).
    pub hide_secrets: bool,
    /// Skips the validation of documents before they are decoded (`--disable-openapi-validation`).
    pub disable_openapi: bool,
    /// Whether nulls in values follow the rules of Helm 3 or Helm 4.
    pub nulls: NullRules,
    /// Rewrites the images of rendered objects to other registries (`--rewrite-images`).
    #[cfg(feature = "images")]
    pub images: Option<Arc<Policy>>,
    /// Whether charts may contain objects that a release store would mistake for its own records.
    pub record_objects: RecordObjects,
    /// Programs that change the rendered objects (`--post-renderer`).
    pub post_render: PostRenderOptions,
    /// The work and the output that the templates of a chart may take for a release in a cluster.
    pub limits: TemplateLimits,
    /// The layers of the user's values, to warn of those that no template reads; empty to check nothing.
    pub unread: Arc<[ValuesLayer]>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions {
            skip_schema: false,
            dns: false,
            subchart_notes: false,
            hide_secrets: false,
            disable_openapi: false,
            nulls: NullRules::Helm4,
            #[cfg(feature = "images")]
            images: None,
            record_objects: RecordObjects::default(),
            post_render: PostRenderOptions::default(),
            limits: TemplateLimits::default(),
            unread: Arc::default(),
        }
    }
}

impl RenderOptions {
    /// The options for rendering with the schemas that a session can load.
    pub(crate) fn rules(&self, schemas: &SchemaLoader) -> PrepareOptions {
        let schema = if self.skip_schema { SchemaCheck::Skip } else { SchemaCheck::Check };
        PrepareOptions {
            nulls: self.nulls,
            schema,
            schemas: schemas.clone(),
            subchart_notes: self.subchart_notes,
            #[cfg(feature = "images")]
            images: self.images.clone(),
            record_objects: self.record_objects,
            post_render: self.post_render.clone(),
            unread: Arc::clone(&self.unread),
        }
    }

    /// Returns whether documents are validated strictly before they are decoded.
    #[cfg(feature = "cluster")]
    pub(crate) fn validation(&self) -> Validation {
        if self.disable_openapi { Validation::Ignore } else { Validation::Strict }
    }
}

/// Who merges the desired state into a live object (`--server-side`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Server-side apply: the API server merges and tracks which manager owns each field.
    #[default]
    ServerSide,
    /// Client-side apply: a three-way merge patch, as in Helm 3.
    ClientSide,
}

impl Method {
    /// Returns the value of Helm's `apply_method` field in release records.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::ServerSide => "ssa",
            Method::ClientSide => "csa",
        }
    }

    /// Parses the value of Helm's `apply_method` field. Records of Helm 3 have none and were applied client-side.
    #[cfg(feature = "cluster")]
    pub(crate) fn from_record(word: &str) -> Method {
        if word == "ssa" { Method::ServerSide } else { Method::ClientSide }
    }
}

/// Which [`Method`] an upgrade or rollback uses (`--server-side=auto|true|false`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MethodChoice {
    /// Keeps the method of the version that it starts from.
    #[default]
    Auto,
    /// Uses this method, whatever earlier versions used.
    Fixed(Method),
}

#[cfg(feature = "cluster")]
impl MethodChoice {
    pub(crate) fn resolve(self, earlier: &str) -> Method {
        match self {
            MethodChoice::Auto => Method::from_record(earlier),
            MethodChoice::Fixed(method) => method,
        }
    }
}

/// What to wait for (`--wait`). The names are those of Helm's `kube.WaitStrategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitStrategy {
    /// Waits until every object is ready by its kstatus conditions.
    Watcher,
    /// Waits for hooks only.
    #[default]
    HookOnly,
    /// Waits until every object is ready by the rules of Helm 3.
    Legacy,
}

/// When the logs of hooks are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookLogs {
    /// After the hook, if its `helm.sh/hook-output-log-policy` asks for it, as Helm does.
    #[default]
    AtEnd,
    /// While the hook runs, if it has an output-log policy.
    Stream,
    /// While the hook runs, with or without a policy.
    All,
    /// Never.
    Off,
}

/// How a release is applied to the cluster.
#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// What server-side apply does about fields that other managers own (`--conflicts`, `--force-conflicts`).
    #[cfg(feature = "cluster")]
    pub conflicts: ConflictPolicy,
    /// Objects, as `Kind/name`, that may be deleted and created again if an immutable field changes (`--recreate`).
    pub recreate: Vec<String>,
    /// Replaces objects instead of patching them (`--force-replace`).
    pub force_replace: bool,
    /// What to wait for after the objects are applied.
    pub wait: WaitStrategy,
    /// Also waits for Jobs to complete. Has no effect with [`WaitStrategy::HookOnly`].
    pub wait_for_jobs: bool,
    /// Applies objects in the order that the chart asks for, and waits between groups. False ignores these annotations, as
    /// Helm does.
    pub ordered: bool,
    /// Limit of each single wait, as in Helm: a release with hooks may take a multiple of it.
    pub timeout: Duration,
    /// Limit for a hook without one of its own (`--hook-timeout`). Without it, `timeout` is the limit.
    pub hook_timeout: Option<Duration>,
    /// Limit for the objects that a later stage of an ordered release depends on (`--readiness-timeout`). Without it, `timeout`
    /// is the limit.
    pub readiness_timeout: Option<Duration>,
    /// Readiness rules for some kinds, which take precedence over the built-in ones.
    #[cfg(feature = "cluster")]
    pub readiness_rules: Option<Arc<dyn ReadinessRules>>,
    /// Runs hooks. False is `--no-hooks`.
    pub hooks: bool,
    /// How many hooks of the same weight run at the same time. Helm runs one.
    pub hook_parallelism: usize,
    /// Sets the event and weight in the environment of every hook's containers, not only where annotations ask for
    /// it.
    pub hook_env: bool,
    /// When the logs of hooks are reported.
    pub logs: HookLogs,
    /// Also reports the logs of init containers. Helm leaves them out.
    pub init_logs: bool,
    /// Paths of objects whose values plans do not show (`--sensitive-path`).
    #[cfg(feature = "cluster")]
    pub sensitive_paths: Vec<SensitivePath>,
    /// Stops waiting as soon as it cannot succeed any more, for example when an image does not exist.
    pub fail_fast: bool,
}

impl Default for DeployOptions {
    fn default() -> Self {
        DeployOptions {
            #[cfg(feature = "cluster")]
            conflicts: ConflictPolicy::Fail,
            recreate: Vec::new(),
            force_replace: false,
            wait: WaitStrategy::HookOnly,
            wait_for_jobs: false,
            ordered: true,
            timeout: Duration::from_secs(300),
            hook_timeout: None,
            readiness_timeout: None,
            #[cfg(feature = "cluster")]
            readiness_rules: None,
            hooks: true,
            hook_parallelism: 1,
            hook_env: false,
            logs: HookLogs::AtEnd,
            init_logs: true,
            #[cfg(feature = "cluster")]
            sensitive_paths: Vec::new(),
            fail_fast: true,
        }
    }
}

#[cfg(feature = "cluster")]
impl DeployOptions {
    /// Waits at least for readiness if `wanted`: without waiting, a failure would go unnoticed and not be rolled back.
    /// Helm does the same for `--rollback-on-failure`.
    pub(crate) fn waiting_if(mut self, wanted: bool) -> DeployOptions {
        if wanted && self.wait == WaitStrategy::HookOnly {
            self.wait = WaitStrategy::Watcher;
        }
        self
    }
}

/// What to do about the CRDs in the `crds/` folders of a chart (`--crds`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrdPolicy {
    /// As Helm does: an install applies them, and an upgrade leaves them alone.
    #[default]
    Helm,
    /// They are left alone (`--skip-crds`).
    Skip,
    /// Missing ones are created.
    Create,
    /// Missing ones are created and others updated, unless that would lose a version in which objects are stored, or a
    /// field that objects have set.
    Update,
    /// As `Update`, without the check, and fields of other managers are taken over.
    Force,
}

#[cfg(feature = "cluster")]
impl CrdPolicy {
    /// The policy of an upgrade.
    pub(crate) fn in_upgrade(self) -> CrdPolicy {
        if self == CrdPolicy::Helm { CrdPolicy::Skip } else { self }
    }
}

/// Whether an operation runs or only shows what it would do (`--dry-run`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// The operation runs.
    #[default]
    None,
    /// Changes nothing, and `lookup` finds nothing.
    Client,
    /// Changes nothing, but `lookup` reads the cluster.
    Server,
}

impl DryRun {
    /// Returns whether nothing is changed.
    pub fn is_dry_run(self) -> bool {
        self != DryRun::None
    }
}
