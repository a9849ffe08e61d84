//! The scripts of a chart tree: one state per chart, all handlers on one emitter.

use std::sync::Arc;

use pintle_chart::{Chart, ext};
use pintle_events::{ChartPath, Emitter, Event, Registration};

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::limits::Limits;
use crate::permission::{self, Permissions};
use crate::registration::Registered;
use crate::require::{self, ModuleResolver};
use crate::script::Script;
use crate::services::Services;

/// The loaded scripts of a chart and its subcharts, children first.
#[derive(Default)]
pub struct Scripts {
    scripts: Vec<Arc<Script>>,
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.scripts.iter().map(|script| &script.host().chart)).finish()
    }
}

/// The inputs for loading all charts of a tree.
struct Loader<'a> {
    granted: &'a Permissions,
    limits: &'a Limits,
    services: &'a Services,
    /// The budget they share.
    budget: Arc<Budget>,
    /// The libraries chosen for the tree.
    chosen: Vec<&'a Chart>,
    scripts: Vec<Arc<Script>>,
    /// Whether scripts are told that they have the permissions that they request.
    assumes: bool,
}

impl Scripts {
    /// Loads `ext/lua/chart.lua` of a chart and its subcharts. A chart without scripts gets no state.
    ///
    /// A chart gets those of its own requested permissions that are granted.
    ///
    /// # Errors
    /// When a script fails to load, or an `ext/permissions.yaml` is invalid.
    pub fn load(
        chart: &Chart,
        granted: &Permissions,
        limits: &Limits,
        services: &Services,
    ) -> Result<Scripts> {
        Scripts::load_tree(chart, granted, limits, services, false)
    }

    /// Returns whether the scripts of a chart register handlers of any of these events. They are loaded without permissions
    /// and services for that; scripts that cannot be loaded so are taken to have some.
    pub fn listen_to(chart: &Chart, limits: &Limits, events: &[Event]) -> bool {
        let loaded = Scripts::load_tree(chart, &Permissions::none(), limits, &Services::default(), true);
        let is_one = |entry: &Registered| match entry {
            Registered::Handler { event, .. } => events.contains(event),
            // These concern handlers of subcharts, which register themselves.
            Registered::Off { .. } | Registered::Wrap { .. } => false,
        };
        loaded.map_or(true, |loaded| {
            loaded.scripts.iter().any(|script| script.host().registrations().entries.iter().any(is_one))
        })
    }

    fn load_tree(
        chart: &Chart,
        granted: &Permissions,
        limits: &Limits,
        services: &Services,
        assumes: bool,
    ) -> Result<Scripts> {
        if !ext::has_scripts(chart) {
            return Ok(Scripts::default());
        }
        let chosen = require::chosen_libraries(chart);
        let budget = Arc::new(Budget::new(limits));
        let mut loader = Loader { granted, limits, services, budget, chosen, scripts: Vec::new(), assumes };
        loader.add(chart, &mut Vec::new(), ChartPath::top(chart.name()))?;
        Ok(Scripts { scripts: loader.scripts })
    }

    /// Whether no chart has scripts.
    pub fn is_empty(&self) -> bool {
        self.scripts.is_empty()
    }

    /// The charts that have scripts, children first.
    pub fn charts(&self) -> impl Iterator<Item = &ChartPath> {
        self.scripts.iter().map(|script| &script.host().chart)
    }

    /// Registers all handlers. The emitter keeps the states alive.
    ///
    /// # Errors
    /// When the emitter rejects a handler, which loading has already ruled out.
    pub fn register(self, emitter: &mut Emitter) -> Result<()> {
        for script in self.scripts {
            let registered = std::mem::take(&mut script.host().registrations().entries);
            for entry in registered {
                register(&script, entry, emitter)?;
            }
        }
        Ok(())
    }
}

impl<'a> Loader<'a> {
    /// Loads subcharts first, then the chart itself.
    fn add(&mut self, chart: &'a Chart, above: &mut Vec<&'a Chart>, path: ChartPath) -> Result<()> {
        above.push(chart);
        let all: Vec<&Chart> = require::below(chart, &self.chosen).collect();
        for below in all {
            if ext::has_scripts(below) {
                self.add(below, above, path.child(below.name()))?;
            }
        }
        above.pop();
        if ext::main_script(chart).is_none() {
            return Ok(());
        }
        // What a chart does not request itself it does not get, even if another chart of the tree has it.
        let requested = permission::requested_by(chart, &path)?;
        let granted = requested.and(self.granted);
        let resolver = ModuleResolver::new(chart, above, &self.chosen);
        let mut host = Host::new(
            path.clone(),
            *self.limits,
            self.services.clone(),
            granted,
            resolver,
            Arc::clone(&self.budget),
        );
        if self.assumes {
            host.assumed = requested;
        }
        let script = Script::load(host).map_err(|source| Error::Load { chart: path, source })?;
        self.scripts.push(Arc::new(script));
        Ok(())
    }
}

fn register(script: &Arc<Script>, entry: Registered, emitter: &mut Emitter) -> Result<()> {
    let chart = &script.host().chart;
    let owner = Arc::clone(script);
    match entry {
        Registered::Handler { event, weight, function, location } => {
            let registration = Registration {
                event: event.as_str(),
                weight,
                chart: chart.clone(),
                location: location.clone(),
            };
            emitter.on(registration, Box::new(move |context| owner.handle(&function, &location, context)))?;
        }
        Registered::Off { chart, event } => {
            emitter.below(chart).off(event.as_str())?;
        }
        Registered::Wrap { chart, event, function, location } => {
            let wrapper: pintle_events::Wrapper =
                Box::new(move |context, next| owner.wrap(&function, &location, context, next));
            emitter.below(chart).wrap(event.as_str(), wrapper)?;
        }
    }
    Ok(())
}
