//! The state shared by all host functions of one chart or plugin.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mlua::Table;
use pintle_events::ChartPath;

use crate::bridge::Frame;
use crate::budget::Budget;
use crate::limits::{Limits, Meter};
use crate::permission::Permissions;
use crate::plugin::PluginHost;
use crate::registration::Registrations;
use crate::require::ModuleResolver;
use crate::services::Services;

/// The state shared by all host functions of one chart.
pub(crate) struct Host {
    /// The chart that the state belongs to.
    pub(crate) chart: ChartPath,
    pub(crate) limits: Limits,
    pub(crate) meter: Meter,
    pub(crate) services: Services,
    /// The permissions that were requested and granted.
    pub(crate) granted: Permissions,
    /// The permissions that the script is told to have although it does not, when it is only asked for its handlers.
    pub(crate) assumed: Permissions,
    pub(crate) resolver: ModuleResolver,
    /// Set for the state of a plugin.
    pub(crate) plugin: Option<PluginHost>,
    pub(crate) handles: OnceLock<Handles>,
    frame: Mutex<Frame>,
    registrations: Mutex<Registrations>,
}

/// Lua tables and functions that the host uses.
#[derive(Clone)]
pub(crate) struct Handles {
    /// Context tables, keyed to their id until they are filled, then to false.
    pub(crate) pending: Table,
    /// The content of read-only tables.
    pub(crate) shadow: Table,
    /// The context fields accessed so far.
    pub(crate) roots: Table,
    /// The original content of writable tables, for change detection.
    pub(crate) copies: Table,
    /// Returns the tables that differ from their original content.
    pub(crate) changed: mlua::Function,
    /// The metatable of tables that are filled on first access.
    pub(crate) lazy: Table,
    /// The metatable of read-only tables.
    pub(crate) read_only: Table,
    /// The metatable that marks lists.
    pub(crate) list: Table,
    /// The `ctx` argument of handlers.
    pub(crate) context: Table,
    /// Wraps a host function so that failures are raised at the caller.
    pub(crate) checked: mlua::Function,
}

impl Host {
    pub(crate) fn new(
        chart: ChartPath,
        limits: Limits,
        services: Services,
        granted: Permissions,
        resolver: ModuleResolver,
        budget: Arc<Budget>,
    ) -> Self {
        // The engine treats a limit of zero as unlimited.
        let limits = Limits { memory: limits.memory.max(1), ..limits };
        let meter = Meter::new(limits, services.cancelled.clone(), budget);
        Host {
            chart,
            limits,
            meter,
            services,
            granted,
            assumed: Permissions::none(),
            resolver,
            plugin: None,
            handles: OnceLock::new(),
            frame: Mutex::default(),
            registrations: Mutex::default(),
        }
    }

    pub(crate) fn handles(&self) -> &Handles {
        self.handles.get().expect("the sandbox sets the handles before it lets a script run")
    }

    pub(crate) fn frame(&self) -> MutexGuard<'_, Frame> {
        // A panic in a host function must not make every later handler panic.
        self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn registrations(&self) -> MutexGuard<'_, Registrations> {
        self.registrations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
