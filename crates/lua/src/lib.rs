//! Sandboxed scripts of charts and plugins in Luau.
//!
//! A chart may ship `ext/lua/chart.lua`, whose handlers respond to lifecycle events. Each chart runs in its own Luau
//! state with an allow-list of globals, a memory limit, a step limit and a deadline that no `pcall` can suppress.
//! Handlers get a lazily converted view of the operation; whatever they do not touch is returned unchanged.
//!
//! This crate knows no cluster, network, environment or terminal: these come in as [`Services`], behind permissions
//! that the chart requests and the user grants. It decides nothing about operations; handlers are registered on the
//! same emitter as those written in Rust.
//!
//! A plugin is one script with a function `main`, which [`LoadedPlugin`] calls in a sandbox of the same kind.
//!
//! Start with [`Scripts::load`]; [`requested_permissions`] returns what charts ask for, and [`check`] lints scripts
//! without running them.
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
mod plugin;
mod registration;
mod require;
mod sandbox;
mod script;
mod scripts;
mod services;
mod streams;
mod strings;

pub use address::is_public;
pub use check::{Finding, check};
pub use digest::scripts_digest;
pub use error::{Error, Failure, Result};
pub use limits::{Cancelled, Limits};
pub use permission::{Permission, PermissionRequests, Permissions, requested_permissions};
pub use plugin::{LoadedPlugin, PluginArguments, PluginScripts};
pub use scripts::Scripts;
pub use services::{ClusterReader, Fetch, FetchRequest, FetchResponse, Level, Listener, Services, System};
pub use streams::{Stream, Streams};

/// Type definitions of the script API, for editors with luau-lsp.
pub const TYPE_DEFINITIONS: &str = include_str!("../types/pintle.d.luau");
