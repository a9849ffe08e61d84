//! Pintle as a library: charts in, objects out.
//!
//! Every operation is a function of [`ops`] that takes a request, and reports through a [`Reporter`]. It never prints,
//! prompts, exits or reads the environment: paths, namespaces and versions come in with the request, and what a
//! program shows is the program's own business.
//!
//! Enter at [`ops::template`]: it runs the first half of the flow, from a chart to sorted objects, which [`prepare`]
//! holds in one place.
//!
//! ```
//! use pintle::ops::{CreateRequest, TemplateRequest, create, template};
//! use pintle::Silent;
//!
//! let folder = tempfile::tempdir()?;
//! let chart = create(&CreateRequest::new(folder.path(), "web"), &mut Silent)?;
//! let request = TemplateRequest { chart, name: "demo".into(), ..TemplateRequest::default() };
//! let rendered = template(&request, &mut Silent)?;
//! assert!(rendered.text.starts_with(b"---\n# Source: web/templates/"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

pub use error::{Error, Result};
pub use lifecycle::Lifecycle;
pub use lifecycle::network::Network;
pub use lifecycle::scripts::{Consent, ConsentRequest, Granted, Scripting};
pub use options::{DeployOptions, DryRun, HookLogs, Method, MethodChoice, RenderOptions, WaitStrategy};
pub use record_objects::RecordObjects;
pub use report::{ObjectProgress, Reporter, Silent};
pub use session::{Cancel, Clock, LeaseHolder, Session};

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
