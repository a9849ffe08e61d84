//! What the functions of one chart's state share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mlua::Table;
use pintle_events::ChartPath;

use crate::bridge::Frame;
use crate::budget::Budget;
use crate::limits::{Limits, Meter};
use crate::permission::Permissions;
use crate::registration::Registrations;
use crate::require::ModuleResolver;
use crate::services::Services;

/// What the functions of one chart's state share.
pub(crate) struct Host {
    /// Whose state it is.
    pub(crate) chart: ChartPath,
    pub(crate) limits: Limits,
    pub(crate) meter: Meter,
    pub(crate) services: Services,
    /// What the chart asked for and was granted.
    pub(crate) granted: Permissions,
    pub(crate) resolver: ModuleResolver,
    pub(crate) handles: OnceLock<Handles>,
    frame: Mutex<Frame>,
    registrations: Mutex<Registrations>,
}

/// Tables of the state that the host works with.
#[derive(Clone)]
pub(crate) struct Handles {
    /// The tables of the context, with their numbers while they are not filled, and false after.
    pub(crate) pending: Table,
    /// What read-only tables hold.
    pub(crate) shadow: Table,
    /// The parts of the context that were looked at.
    pub(crate) roots: Table,
    /// What tables that may change were filled with.
    pub(crate) copies: Table,
    /// Gives the tables that are not what they were filled with.
    pub(crate) changed: mlua::Function,
    /// The metatable of tables that are to be filled.
    pub(crate) lazy: Table,
    /// The metatable of read-only tables.
    pub(crate) read_only: Table,
    /// The metatable that marks lists.
    pub(crate) list: Table,
    /// What handlers are given.
    pub(crate) context: Table,
    /// Raises what a function of the host said.
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
        // No memory at all would mean no limit to the engine.
        let limits = Limits { memory: limits.memory.max(1), ..limits };
        let meter = Meter::new(limits, services.cancelled.clone(), budget);
        Host {
            chart,
            limits,
            meter,
            services,
            granted,
            resolver,
            handles: OnceLock::new(),
            frame: Mutex::default(),
            registrations: Mutex::default(),
        }
    }

    pub(crate) fn handles(&self) -> &Handles {
        self.handles.get().expect("the sandbox sets the handles before it lets a script run")
    }

    pub(crate) fn frame(&self) -> MutexGuard<'_, Frame> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn registrations(&self) -> MutexGuard<'_, Registrations> {
        self.registrations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
