//! The operations, one file each: a request in, a result out.

mod create;
mod dependency;
mod lint;
mod locate;
mod package;
mod schema;
mod show;
mod template;

pub use create::{CreateRequest, create};
pub use dependency::{build, list, update};
pub use lint::{LintRequest, Linted, lint, subchart_folders};
pub use package::{PackageRequest, package};
pub use schema::{DeriveRequest, check_schema, derive_schema};
pub use show::{Shown, show};
pub use template::{Layout, TemplateRequest, Templated, template};
