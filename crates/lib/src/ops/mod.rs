//! The operations, one file each: a request in, a result out.

#[cfg(feature = "cluster")]
mod access;
#[cfg(feature = "cluster")]
mod adopt;
#[cfg(feature = "registry")]
mod attach;
mod chart_input;
#[cfg(feature = "embedded")]
mod check;
#[cfg(feature = "cluster")]
mod compare;
mod create;
pub mod dependency;
#[cfg(feature = "cluster")]
mod diff;
#[cfg(feature = "docs")]
mod docs;
#[cfg(feature = "cluster")]
mod documents;
#[cfg(feature = "cluster")]
mod drift;
mod explain;
#[cfg(feature = "cluster")]
mod get;
#[cfg(feature = "cluster")]
mod hidden;
#[cfg(feature = "cluster")]
mod history;
mod hook_plan;
#[cfg(all(feature = "images", feature = "registry"))]
mod image_copy;
#[cfg(all(feature = "images", feature = "registry"))]
mod image_list;
#[cfg(all(feature = "images", feature = "registry"))]
mod image_lock;
#[cfg(feature = "images")]
pub mod images;
#[cfg(feature = "images")]
mod images_unverified;
#[cfg(feature = "cluster")]
mod init;
#[cfg(feature = "cluster")]
mod install;
mod lint;
#[cfg(feature = "cluster")]
mod list;
mod locate;
#[cfg(feature = "cluster")]
mod logs;
mod name;
#[cfg(feature = "cluster")]
mod objects;
#[cfg(feature = "registry")]
mod oci;
#[cfg(feature = "cluster")]
mod owned;
mod package;
#[cfg(feature = "cluster")]
mod page;
#[cfg(feature = "cluster")]
mod plan;
#[cfg(feature = "preview")]
mod preview;
#[cfg(feature = "registry")]
mod provenance;
#[cfg(feature = "registry")]
mod remote;
#[cfg(feature = "cluster")]
mod rollback;
mod schema;
#[cfg(feature = "lua")]
mod scripts;
mod show;
#[cfg(feature = "cluster")]
mod start;
#[cfg(feature = "cluster")]
mod status;
mod template;
#[cfg(feature = "cluster")]
mod template_on_cluster;
#[cfg(feature = "cluster")]
mod test;
#[cfg(feature = "cluster")]
mod uninstall;
#[cfg(feature = "unittest")]
mod unittest;
#[cfg(feature = "cluster")]
mod unlock;
#[cfg(feature = "cluster")]
mod upgrade;
#[cfg(feature = "upgrade-check")]
mod upgrade_check;
#[cfg(feature = "cluster")]
mod watch;

#[cfg(feature = "cluster")]
pub use crate::deploy::{KeptObjects, NotOwnedObject, UnverifiedObject};
#[cfg(feature = "cluster")]
pub use access::{AccessAnswer, AccessQuestion, access, namespaces};
#[cfg(feature = "cluster")]
pub use adopt::{AdoptRequest, Adopted, adopt};
#[cfg(feature = "registry")]
pub use attach::{AttachRequest, Attached, Attachments, attach_to_chart};
pub use chart_input::ChartInput;
#[cfg(feature = "embedded")]
pub use check::{CheckRequest, CheckSubject, Checked, LoadedChart, Unfixed, check, check_loaded};
#[cfg(feature = "cluster")]
pub use compare::{ComparedObject, compare};
pub use create::{CreateFromRequest, CreateRequest, CreatedFrom, SourceManifest, create, create_from};
#[cfg(feature = "cluster")]
pub use diff::{
    DiffError, DiffRendering, DiffUpgradeRequest, DiffedManifests, ReusedValues, TakenOver, diff_upgrade,
    render_for_diff,
};
#[cfg(feature = "docs")]
pub use docs::{DocsRequest, Documented, DocumentedChart, document};
#[cfg(feature = "cluster")]
pub use documents::{RecordedDocument, recorded_documents};
#[cfg(feature = "cluster")]
pub use drift::{
    DRIFT_DETECTION, DriftIgnoreRule, DriftRequest, DriftedField, DriftedObject, ReleaseDrift, drift,
};
#[cfg(feature = "cluster")]
pub use explain::explain_release;
pub use explain::{
    ExplainedCondition, ExplainedDocument, ExplainedLine, ExplainedValue, Explanation, RenderedLine,
    ValueReader, explain_chart,
};
#[cfg(feature = "cluster")]
pub use get::{computed_values, exists, get};
#[cfg(feature = "cluster")]
pub use hidden::{HIDDEN, HiddenTexts, hide_lines, hide_object, restore_hidden};
#[cfg(feature = "cluster")]
pub use history::{history, versions};
pub use hook_plan::{PlannedHook, hooks_of_chart, hooks_of_release};
#[cfg(all(feature = "images", feature = "registry"))]
pub use image_copy::{CopyDestination, CopyImagesRequest, CopyPlan, full_name, plan_image_copy};
#[cfg(all(feature = "images", feature = "registry"))]
pub use image_list::{ImageUse, ListedImage, list_images, resolve_images};
#[cfg(all(feature = "images", feature = "registry"))]
pub use image_lock::{ImageLock, LockedImage};
#[cfg(feature = "cluster")]
pub use init::init;
#[cfg(feature = "embedded")]
pub(crate) use install::load as load_for_install;
#[cfg(feature = "cluster")]
pub use install::{InstallRequest, install};
pub use lint::{LintRequest, Linted, lint, subchart_folders};
#[cfg(feature = "cluster")]
pub use list::{ListRequest, list};
#[cfg(feature = "embedded")]
pub(crate) use locate::{fetched as fetched_chart, load as load_chart};
#[cfg(feature = "cluster")]
pub use logs::{LogsRequest, logs};
#[cfg(feature = "cluster")]
pub use objects::{ObjectEvent, ObjectStatus, PodStatus, objects};
#[cfg(feature = "registry")]
pub use oci::{FetchedChart, PushRequest, fetch_oci_chart, push_oci_chart};
#[cfg(feature = "cluster")]
pub use owned::{OwnedObject, owned_objects};
pub use package::{PackageRequest, package};
#[cfg(feature = "cluster")]
pub use page::{PageRequest, ReleasePage, list_page};
pub use pintle_chart::create::{Generation, Scaffold};
#[cfg(feature = "cluster")]
pub use plan::{
    AppliedPlan, DeferredHandlers, Operation, PlanFile, PlanKey, PlanRequest, Planned, PlannedAction,
    PlannedChange, PlannedObject, PlannedRelease, ReleasePlan, SavedPlan, SensitivePath, StaleReason,
    apply_plan, plan, plan_all,
};
#[cfg(feature = "preview")]
pub use preview::{
    AppChange, AppStatus, Cause, CauseKind, ChartFetcher, CheckFinding, Danger, DangerKind, FetchedArchive,
    FieldChange, ObjectChange, ObjectChangeKind, PreviewReport, PreviewRequest, RemoteCharts, UpgradeNote,
    host_of, preview, preview_list,
};
#[cfg(feature = "registry")]
pub use provenance::text_to_sign;
#[cfg(feature = "registry")]
pub use remote::*;
#[cfg(feature = "cluster")]
pub use rollback::{MAX_DESCRIPTION_LENGTH, RollbackRequest, check_rollback_description, rollback};
pub use schema::{DeriveRequest, check_schema, derive_schema};
#[cfg(feature = "lua")]
pub use scripts::{TriedEvent, TryEventRequest, check_scripts, permissions, try_event};
pub use show::{Shown, show};
#[cfg(feature = "cluster")]
pub use start::{ProgressSender, Running, start};
#[cfg(all(feature = "cluster", feature = "lua"))]
pub use status::granted_permissions;
#[cfg(feature = "cluster")]
pub use status::{ResourceView, StatusReport, status, stored_labels};
pub use template::{Layout, TemplateRequest, Templated, shown_only, template};
#[cfg(feature = "cluster")]
pub use test::{PodLog, TestRequest, Tested, test};
#[cfg(feature = "cluster")]
pub use uninstall::{HistoryPrecondition, UninstallRequest, Uninstalled, uninstall};
#[cfg(feature = "unittest")]
pub use unittest::{TestedChart, UnittestHost, UnittestRequest, unittest};
#[cfg(feature = "cluster")]
pub use unlock::{LockStatus, lock_status, unlock};
#[cfg(feature = "cluster")]
pub use upgrade::{UpgradeRequest, Upgraded, ValuesPolicy, upgrade};
#[cfg(feature = "upgrade-check")]
pub use upgrade_check::{UpgradeCheckRequest, UpgradeChecked, upgrade_check, write_renames};
#[cfg(feature = "cluster")]
pub use watch::{ReleaseChange, WatchRequest, watch};

#[cfg(feature = "cluster")]
use std::collections::BTreeMap;

#[cfg(feature = "cluster")]
use crate::{Error, Result};

/// Labels that stores set on every record.
#[cfg(feature = "cluster")]
const RESERVED_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// Fails if the user supplied a label that stores set themselves.
#[cfg(feature = "cluster")]
fn check_labels(labels: &BTreeMap<String, String>) -> Result<()> {
    if RESERVED_LABELS.iter().any(|reserved| labels.contains_key(*reserved)) {
        return Err(Error::ReservedLabel { reserved: RESERVED_LABELS.join(" ") });
    }
    Ok(())
}
