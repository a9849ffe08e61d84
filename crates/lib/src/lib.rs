//! Pintle as a library: render, install and manage Helm charts.
//!
//! Every operation is a function of [`ops`] that takes a session, a request and a [`Reporter`]. The library never prints,
//! prompts, exits or reads the environment: paths, namespaces and versions come with the request, and the program decides
//! what to show.
//!
//! Start with [`ops::template()`] on a [`Session::offline`]. It runs the first half of the flow, from a chart to sorted
//! objects, which is in [`prepare`]. Operations on a cluster take a [`Session::new`].
//!
//! ```
//! use pintle::ops::{CreateRequest, TemplateRequest, create, template};
//! use pintle::{Session, Silent};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = Session::offline();
//! let folder = tempfile::tempdir()?;
//! let chart = create(&session, &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
//! let request = TemplateRequest { chart, name: "demo".into(), ..TemplateRequest::default() };
//! let rendered = template(&session, &request, &mut Silent).await?;
//! assert!(rendered.text.starts_with(b"---\n# Source: web/templates/"));
//! # Ok(())
//! # }
//! ```

mod clock;
mod crds;
mod deploy;
pub mod embedded;
mod error;
mod input;
mod lifecycle;
pub mod lint;
mod live;
pub mod ops;
mod options;
pub mod prepare;
mod record_objects;
mod records;
pub mod rehearse;
mod report;
mod session;

pub use clock::{Clock, SystemClock};
pub use error::{Error, ErrorKind, Result};
pub use lifecycle::Lifecycle;
pub use lifecycle::network::Network;
pub use lifecycle::scripts::{Consent, ConsentRequest, Granted, Scripting};
pub use options::{DeployOptions, DryRun, HookLogs, Method, MethodChoice, RenderOptions, WaitStrategy};
pub use record_objects::RecordObjects;
pub use report::{ObjectProgress, Reporter, Silent};
pub use session::{AnySession, Cancel, LeaseHolder, OfflineSession, Session};

pub use pintle_chart as chart;
pub use pintle_cluster as cluster;
pub use pintle_events as events;
pub use pintle_hooks as hooks;
pub use pintle_images as images;
pub use pintle_lua as lua;
pub use pintle_objects as objects;
pub use pintle_provenance as provenance;
pub use pintle_registry as registry;
pub use pintle_release as release;
pub use pintle_render as render;
pub use pintle_repo as repo;
pub use pintle_tree as tree;
pub use pintle_values as values;
