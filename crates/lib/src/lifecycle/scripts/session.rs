//! Sessions with the scripts of a chart.

use std::sync::Arc;
use std::time::Duration;

use pintle_chart::Chart;
use pintle_events::Event;
use pintle_lua::Permission;
use pintle_release::ReleaseVersion;
use tokio::runtime::Handle;

use super::cluster::ScriptCluster;
use crate::lifecycle::secrets::SecretAccess;
use crate::lifecycle::{record_metadata, spawn_blocking};
use crate::{Result, Session};

/// What the scripts of a chart need to know about the operation.
pub(crate) struct ScriptContext<'a> {
    /// The name of the release.
    pub(crate) release: &'a str,
    /// The namespace of the release.
    pub(crate) namespace: &'a str,
    /// Whether consent given now also applies to later operations on the release.
    pub(crate) remember: bool,
    /// How long handlers may postpone readiness.
    pub(crate) wait: Duration,
    /// The events that the operation may emit; `None` if permissions are asked for in any case.
    pub(crate) events: Option<&'static [Event]>,
}

impl Session {
    /// Returns the session with the handlers of a chart's scripts.
    ///
    /// # Errors
    /// When a permission is not granted or a script cannot be loaded.
    pub(crate) async fn with_chart_scripts(
        &self,
        chart: &Chart,
        context: ScriptContext<'_>,
    ) -> Result<Session> {
        if !self.events.runs_scripts_of(chart) {
            return Ok(Session { events: self.events.program().clone(), ..self.clone() });
        }
        let (events, chart, emitted) = (self.events.clone(), chart.clone(), context.events);
        let (remember, wait) = (context.remember, context.wait);
        let (cluster, cancel) = (self.cluster.clone(), self.cancel.clone());
        let (release, namespace) = (context.release.to_owned(), context.namespace.to_owned());
        let handle = Handle::current();
        let load = move || {
            events.load_scripts(&chart, emitted, remember, |scripting, granted| {
                let guard =
                    SecretAccess { release, namespace, network: granted.contains(Permission::Network) };
                let stop = cancel.clone();
                scripting.limits.wait = wait;
                scripting.services.cancelled = Arc::new(move || stop.is_cancelled());
                scripting.services.cluster =
                    Some(Arc::new(ScriptCluster::for_chart(cluster, handle, cancel, guard)));
            })
        };
        let events = spawn_blocking(Event::ChartLoaded, load).await?;
        Ok(Session { events, ..self.clone() })
    }

    /// Returns the session with the scripts of the chart that is stored in a version. Anyone who can write the record
    /// can put scripts there, so consent is asked for as for any chart.
    ///
    /// # Errors
    /// As [`Session::with_chart_scripts`].
    pub(crate) async fn with_stored_scripts(
        &self,
        version: &ReleaseVersion,
        wait: Duration,
        events: &'static [Event],
    ) -> Result<Session> {
        let (release, namespace) = (version.name.as_str(), version.namespace.as_str());
        let context = ScriptContext { release, namespace, remember: true, wait, events: Some(events) };
        self.with_chart_scripts(&record_metadata::chart(&version.chart), context).await
    }
}
