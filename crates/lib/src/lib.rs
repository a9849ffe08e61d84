//! Pintle as a library: render, install and manage Helm charts.
//!
//! Every operation is a function of [`ops`] that takes a session, a request and a [`Reporter`]. The library never prints,
//! prompts, exits or reads the environment: paths, namespaces and versions come with the request, and the program decides
//! what to show. [`Session::offline`] is for operations without a cluster, `Session::new` for those with one.
//!
//! # Render a chart
//!
//! Needs no Cargo feature of this crate, and no cluster.
//!
//! ```
//! use pintle::ops::{CreateRequest, TemplateRequest, create, template};
//! use pintle::{Session, Silent};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let session = Session::offline();
//!     let folder = tempfile::tempdir()?;
//!     let chart = create(&session, &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
//!     let request = TemplateRequest { chart: chart.into(), name: "demo".into(), ..TemplateRequest::default() };
//!     let rendered = template(&session, &request, &mut Silent).await?;
//!     assert!(rendered.text.starts_with(b"---\n# Source: web/templates/"));
//!     Ok(())
//! }
//! ```
//!
//! # Install a chart and wait
//!
//! Here on the embedded cluster; for a real one, connect with `cluster::Cluster::connect`, and keep releases in it with a
//! store of `cluster::store`.
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```ignore")]
//! use std::sync::Arc;
//!
//! use pintle::ops::{CreateRequest, InstallRequest, create, install};
//! use pintle::release::{MemoryStore, Status};
//! use pintle::{DeployOptions, Session, Silent, WaitStrategy, embedded};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let folder = tempfile::tempdir()?;
//!     let chart = create(&Session::offline(), &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
//!     let api = embedded::Embedded::default().open().await?;
//!     let session = Session::new(embedded::cluster(&api, "default"), Arc::new(MemoryStore::new()));
//!     let request = InstallRequest {
//!         chart: chart.into(),
//!         name: "demo".into(),
//!         namespace: "default".into(),
//!         deploy: DeployOptions { wait: WaitStrategy::Watcher, ..DeployOptions::default() },
//!         ..InstallRequest::default()
//!     };
//!     let version = install(&session, &request, &mut Silent).await?;
//!     assert_eq!(version.info.status, Status::Deployed);
//!     Ok(())
//! }
//! ```
//!
//! # React to an event
//!
//! ```
//! use pintle::events::Event;
//! use pintle::ops::{CreateRequest, TemplateRequest, create, template};
//! use pintle::{Lifecycle, Session, Silent};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let events = Lifecycle::default();
//!     events.on_event(Event::PostRender, |context| {
//!         for rendered in context.objects_mut()? {
//!             rendered.object.set_label("team", "blue");
//!         }
//!         Ok(())
//!     })?;
//!     let session = Session::offline().with_events(events);
//!     let folder = tempfile::tempdir()?;
//!     let chart = create(&session, &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
//!     let request = TemplateRequest { chart: chart.into(), ..TemplateRequest::default() };
//!     let rendered = template(&session, &request, &mut Silent).await?;
//!     assert!(String::from_utf8_lossy(&rendered.text).contains("team: blue"));
//!     Ok(())
//! }
//! ```
//!
//! # Features
//!
//! All are on by default. Without any, the crate renders, lints, packages and creates charts, and builds neither C or C++
//! code nor a Kubernetes client or TLS.
//!
//! | feature | adds |
//! |---|---|
//! | `cluster` | operations on releases in a Kubernetes cluster |
//! | `embedded` | the embedded cluster and rehearsals |
//! | `images` | finding images in charts and pointing them at another registry |
//! | `lua` | scripts of charts; without it they are ignored |
//! | `preview` | what a change of a git repository means for the objects of its clusters |
//! | `registry` | charts and images in registries and repositories, and signatures |
//! | `sql` | releases in PostgreSQL |
//! | `docs` | READMEs of charts from the comments in their values |
//! | `unittest` | suites of helm-unittest |
//! | `upgrade-check` | what a new version of a chart means for values and objects |

mod chart_ref;
mod clock;
#[cfg(feature = "registry")]
pub mod cosign;
#[cfg(feature = "cluster")]
mod crds;
#[cfg(feature = "cluster")]
mod deploy;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
mod hook_problems;
mod input;
mod lifecycle;
pub mod lint;
#[cfg(feature = "cluster")]
mod live;
#[cfg(feature = "cluster")]
mod log_writers;
mod lookup_objects;
mod manifest;
#[cfg(feature = "cluster")]
mod object_selector;
pub mod ops;
mod options;
mod origins;
mod post_render;
pub mod prepare;
mod progress;
mod record_objects;
#[cfg(feature = "cluster")]
mod records;
#[cfg(feature = "embedded")]
pub mod rehearse;
#[cfg(feature = "registry")]
mod remote;
mod report;
mod schemas;
mod session;
mod source_map;
mod unread;

pub use chart_ref::{ChartRef, LocatedChart};
#[cfg(feature = "registry")]
pub use chart_ref::{ChartReference, KeyringFile, Verify};
pub use clock::{Clock, SystemClock};
#[cfg(feature = "registry")]
pub use error::RemoteError;
pub use error::{Error, ErrorKind, Result};
pub use input::ValuesLayer;
pub use lifecycle::Lifecycle;
#[cfg(all(feature = "lua", feature = "registry"))]
pub use lifecycle::network::Network;
#[cfg(all(feature = "cluster", feature = "lua"))]
pub use lifecycle::scripts::ScriptCluster;
#[cfg(feature = "lua")]
pub use lifecycle::scripts::{Consent, ConsentRequest, Granted, Scripting};
#[cfg(feature = "cluster")]
pub use log_writers::LogWriters;
pub use lookup_objects::LookupObjects;
#[cfg(feature = "cluster")]
pub use object_selector::{ObjectPatterns, ObjectSelector};
pub use options::{
    CrdPolicy, DeployOptions, DryRun, HookLogs, Method, MethodChoice, RenderOptions, TemplateLimits,
    WaitStrategy,
};
pub use post_render::{PostRenderOptions, PostRenderStrategy, PostRenderer};
#[cfg(feature = "registry")]
pub use progress::RemoteEvent;
#[cfg(feature = "cluster")]
pub use progress::{AppliedObject, ApplyMethod, ObjectChange, ObjectProgress, Stage};
pub use progress::{Message, MessageKind, Progress};
pub use record_objects::RecordObjects;
#[cfg(feature = "registry")]
pub use remote::Remote;
pub use report::{Reporter, Silent};
pub use schemas::SchemaLoader;
pub use session::{AnySession, OfflineSession, Session};
#[cfg(feature = "cluster")]
pub use session::{Cancel, LeaseHolder};

pub use pintle_chart as chart;
pub use pintle_check as check;
#[cfg(feature = "cluster")]
pub use pintle_cluster as cluster;
pub use pintle_diff as diff;
#[cfg(feature = "docs")]
pub use pintle_docs as docs;
pub use pintle_events as events;
#[cfg(feature = "preview")]
pub use pintle_gitops as gitops;
pub use pintle_hooks as hooks;
#[cfg(feature = "images")]
pub use pintle_images as images;
#[cfg(feature = "lua")]
pub use pintle_lua as lua;
pub use pintle_objects as objects;
#[cfg(feature = "cluster")]
pub use pintle_plan as plan;
#[cfg(feature = "registry")]
pub use pintle_provenance as provenance;
#[cfg(feature = "registry")]
pub use pintle_registry as registry;
pub use pintle_release as release;
pub use pintle_render as render;
#[cfg(feature = "registry")]
pub use pintle_repo as repo;
#[cfg(feature = "sql")]
pub use pintle_sql as sql;
pub use pintle_tree as tree;
#[cfg(feature = "unittest")]
pub use pintle_unittest as unittest;
#[cfg(feature = "upgrade-check")]
pub use pintle_upgrade as upgrade;
pub use pintle_values as values;
pub use pintle_yaml as yaml;
