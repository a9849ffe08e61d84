//! How a release is rendered and delivered, in types that leave out the combinations that make no sense.

use std::sync::Arc;
use std::time::Duration;

use pintle_images::Policy;
use pintle_objects::Validation;
use pintle_values::{NullRules, SchemaCheck};

use crate::RecordObjects;
use crate::prepare::PrepareOptions;

/// How a chart is rendered.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Whether schemas are left alone.
    pub skip_schema: bool,
    /// Whether templates may ask the name service.
    pub dns: bool,
    /// Whether the notes of subcharts count.
    pub subchart_notes: bool,
    /// Whether Secrets are replaced by a remark.
    pub hide_secrets: bool,
    /// Whether the cluster is not asked to check field names.
    pub disable_openapi: bool,
    /// Which generation's rules hold for nulls.
    pub nulls: NullRules,
    /// Where images go that rendered objects name (`--rewrite-images`).
    pub images: Option<Arc<Policy>>,
    /// What becomes of objects that look like records of releases.
    pub record_objects: RecordObjects,
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
            images: None,
            record_objects: RecordObjects::default(),
        }
    }
}

impl RenderOptions {
    pub(crate) fn rules(&self) -> PrepareOptions {
        let schema = if self.skip_schema { SchemaCheck::Skip } else { SchemaCheck::Check };
        PrepareOptions {
            nulls: self.nulls,
            schema,
            subchart_notes: self.subchart_notes,
            images: self.images.clone(),
            record_objects: self.record_objects,
        }
    }

    /// Whether documents are validated before they are decoded.
    pub(crate) fn validation(&self) -> Validation {
        if self.disable_openapi { Validation::Ignore } else { Validation::Strict }
    }
}

/// Who merges the wanted state into an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The cluster, field by field.
    #[default]
    ServerSide,
    /// This program, by a three-way patch.
    ClientSide,
}

impl Method {
    /// The word for it in release records.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::ServerSide => "ssa",
            Method::ClientSide => "csa",
        }
    }

    /// What a release record says; nothing means the way of old.
    pub(crate) fn from_record(word: &str) -> Method {
        if word == "ssa" { Method::ServerSide } else { Method::ClientSide }
    }
}

/// Who is to merge, where an earlier version may have decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MethodChoice {
    /// As the earlier version had it.
    #[default]
    Auto,
    /// As given.
    Fixed(Method),
}

impl MethodChoice {
    pub(crate) fn resolve(self, earlier: &str) -> Method {
        match self {
            MethodChoice::Auto => Method::from_record(earlier),
            MethodChoice::Fixed(method) => method,
        }
    }
}

/// What to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitStrategy {
    /// Until every object is ready, by what the objects tell of themselves.
    Watcher,
    /// For hooks alone.
    #[default]
    HookOnly,
    /// Until every object is ready, by the rules of Helm 3.
    Legacy,
}

/// When the logs of hooks are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookLogs {
    /// When the hook has ended, if its policy says so.
    #[default]
    AtEnd,
    /// While the hook runs, if it has a policy.
    Stream,
    /// While the hook runs, whatever its policy says.
    All,
    /// Never.
    Off,
}

/// How a release reaches the cluster.
#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// Whether fields are taken from other managers.
    pub force_conflicts: bool,
    /// Whether objects are replaced instead of merged.
    pub force_replace: bool,
    /// What to wait for.
    pub wait: WaitStrategy,
    /// Whether to wait for Jobs to complete, too.
    pub wait_for_jobs: bool,
    /// How long each wait may take.
    pub timeout: Duration,
    /// Whether hooks run.
    pub hooks: bool,
    /// How many hooks of one weight run together.
    pub hook_parallelism: usize,
    /// Whether every hook is told its event and weight.
    pub hook_env: bool,
    /// When the logs of hooks are shown.
    pub logs: HookLogs,
    /// Whether the logs of init containers are shown, too. Helm leaves them out.
    pub init_logs: bool,
    /// Whether waiting ends as soon as it cannot succeed any more.
    pub fail_fast: bool,
}

impl Default for DeployOptions {
    fn default() -> Self {
        DeployOptions {
            force_conflicts: false,
            force_replace: false,
            wait: WaitStrategy::HookOnly,
            wait_for_jobs: false,
            timeout: Duration::from_secs(300),
            hooks: true,
            hook_parallelism: 1,
            hook_env: false,
            logs: HookLogs::AtEnd,
            init_logs: true,
            fail_fast: true,
        }
    }
}

impl DeployOptions {
    /// Undoing a failure needs to notice it, so that it implies waiting.
    pub(crate) fn waiting_if(mut self, wanted: bool) -> DeployOptions {
        if wanted && self.wait == WaitStrategy::HookOnly {
            self.wait = WaitStrategy::Watcher;
        }
        self
    }
}

/// Whether anything is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// The operation runs.
    #[default]
    None,
    /// Nothing is done, and the cluster is not asked about what a chart wants to know.
    Client,
    /// Nothing is done, and the cluster is asked.
    Server,
}

impl DryRun {
    /// Whether nothing is done.
    pub fn is_dry_run(self) -> bool {
        self != DryRun::None
    }
}
