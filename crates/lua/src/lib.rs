//! Chart scripts, locked in.
//!
//! A chart may ship `ext/lua/chart.lua`, whose handlers answer lifecycle events. Each chart's scripts run in a Luau state
//! of their own with a list of allowed globals, a memory limit, a step limit and a deadline that no `pcall` can swallow.
//! What handlers see of an operation is given to them lazily, and what they did not touch comes back as it was.
//!
//! The room knows no cluster, no network, no environment and no terminal: these come in as [`Services`], behind
//! permissions that the chart asked for and the user granted. It decides nothing about operations; its handlers register
//! on the same emitter as those that are written in Rust.
//!
//! Enter at [`Scripts::load`], at [`asked`] for permissions, and at [`check`] for a look without running anything.
//!
//! ```
//! use pintle_chart::{File, load_files};
//! use pintle_events::{Context, Emitter, Event};
//! use pintle_lua::{Limits, Permissions, Scripts, Services};
//!
//! let chart = load_files(vec![
//!     File::new("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n".as_bytes()),
//!     File::new(
//!         "ext/lua/chart.lua",
//!         "events.on('pre-render', function(ctx) ctx.values.replicas = 3 end)".as_bytes(),
//!     ),
//! ])?;
//! let scripts = Scripts::load(&chart, &Permissions::none(), &Limits::default(), &Services::default())?;
//! let mut emitter = Emitter::new();
//! scripts.register(&mut emitter)?;
//! let mut context = Context::default();
//! emitter.emit(Event::PreRender, &mut context)?;
//! assert_eq!(context.all_values().get("replicas"), Some(&3.into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod bridge;
mod budget;
mod call;
mod check;
mod digest;
mod error;
mod host;
mod limits;
mod modules;
mod permission;
mod registration;
mod require;
mod sandbox;
mod script;
mod scripts;
mod services;
mod strings;

pub use address::is_public;
pub use check::{Finding, check};
pub use digest::scripts_digest;
pub use error::{Error, Failure, Result};
pub use limits::{Cancelled, Limits};
pub use permission::{Permission, PermissionRequests, Permissions, requested_permissions};
pub use scripts::Scripts;
pub use services::{ClusterReader, Fetch, FetchRequest, FetchResponse, Level, Listener, Services, System};

/// The types of everything that scripts can use, for editors with luau-lsp.
pub const TYPE_DEFINITIONS: &str = include_str!("../types/pintle.d.luau");
