//! The operations, one file each: a request in, a result out.

mod adopt;
mod chart_input;
mod create;
pub mod dependency;
mod get;
mod history;
mod hook_plan;
mod image_copy;
mod image_list;
mod image_lock;
pub mod images;
mod images_unverified;
mod init;
mod install;
mod lint;
mod list;
mod locate;
mod name;
mod oci;
mod package;
mod provenance;
mod rollback;
mod schema;
mod scripts;
mod show;
mod status;
mod template;
mod test;
mod uninstall;
mod unlock;
mod upgrade;

pub use adopt::adopt;
pub use chart_input::ChartInput;
pub use create::{CreateRequest, create};
pub use get::{computed_values, exists, get};
pub use history::history;
pub use hook_plan::{PlannedHook, plan_hooks, planned_hooks};
pub use image_copy::{CopyDestination, CopyImagesRequest, CopyPlan, full_name, plan_image_copy};
pub use image_list::{ImageUse, ListedImage, list_images, resolve_images};
pub use image_lock::{ImageLock, LockedImage};
pub use init::init;
pub(crate) use install::load as load_for_install;
pub use install::{InstallRequest, install};
pub use lint::{LintRequest, Linted, lint, subchart_folders};
pub use list::{ListRequest, list};
pub(crate) use locate::load as load_chart;
pub use oci::{FetchedChart, PushRequest, fetch_oci_chart, push_oci_chart};
pub use package::{PackageRequest, package};
pub use pintle_chart::create::Generation;
pub use provenance::text_to_sign;
pub use rollback::{RollbackRequest, rollback};
pub use schema::{DeriveRequest, check_schema, derive_schema};
pub use scripts::{TriedEvent, TryEventRequest, check_scripts, permissions, try_event};
pub use show::{Shown, show};
pub use status::{ResourceView, StatusReport, granted_permissions, status, stored_labels};
pub use template::{Layout, TemplateRequest, Templated, shown_only, template};
pub use test::{PodLog, TestRequest, Tested, test};
pub use uninstall::{UninstallRequest, Uninstalled, uninstall};
pub use unlock::{Unlocked, unlock};
pub use upgrade::{UpgradeRequest, Upgraded, ValuesPolicy, upgrade};

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Labels that stores set on every record.
const RESERVED_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// Fails if the user supplied a label that stores set themselves.
fn check_labels(labels: &BTreeMap<String, String>) -> Result<()> {
    if RESERVED_LABELS.iter().any(|reserved| labels.contains_key(*reserved)) {
        return Err(Error::ReservedLabel { reserved: RESERVED_LABELS.join(" ") });
    }
    Ok(())
}
