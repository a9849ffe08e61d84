//! The scripts of charts among the handlers of an operation: consent to what they ask for, loading, and what they may
//! reach of the cluster. A chart without scripts costs a look at the names of its files.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pintle_chart::{Chart, ext};
use pintle_cluster::Cluster;
use pintle_events::Event;
use pintle_lua::{Asked, Discover, Limits, Listener, Permission, Permissions, Scripts, Services};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};
use tokio::runtime::Handle;

use super::said::Said;
use super::secrets::{self, Guard};
use super::{Lifecycle, Shared, aside, kept};
use crate::{Cancel, Error, Reporter, Result, Session};

/// How the scripts of charts are run.
#[derive(Clone)]
pub struct Scripting {
    /// What each chart's scripts may use up.
    pub limits: Limits,
    /// What they may reach. The cluster of a [`Session`] is put in here by its operations.
    pub services: Services,
    /// Who decides on the permissions that charts ask for.
    pub consent: Arc<dyn Consent>,
}

impl Scripting {
    /// The usual limits, no services but those given, and someone who decides.
    pub fn new(services: Services, consent: impl Consent + 'static) -> Scripting {
        Scripting { limits: Limits::default(), services, consent: Arc::new(consent) }
    }
}

impl fmt::Debug for Scripting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Scripting").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Decides on the permissions that the scripts of charts ask for.
pub trait Consent: Send + Sync {
    /// Asks for permissions that were not granted before: `asked` says which charts want them, and `new` what they are
    /// in all. What it gives back is granted; if something of `new` is not in it, nothing is run.
    ///
    /// # Errors
    /// Why nobody can be asked, and what could be done about it.
    fn ask(&self, chart: &str, asked: &Asked, new: &Permissions) -> Result<Permissions>;
}

/// Grants these permissions and no others.
#[derive(Clone, Debug, Default)]
pub struct Granted(pub Permissions);

impl Consent for Granted {
    fn ask(&self, _chart: &str, _asked: &Asked, new: &Permissions) -> Result<Permissions> {
        Ok(new.and(&self.0))
    }
}

impl Lifecycle {
    /// The same handlers, for operations that run the scripts of their charts, too. What scripts say goes to the listener of
    /// the services, or else to the reporter of the operation when it ends.
    #[must_use]
    pub fn with_scripting(&self, mut scripting: Scripting) -> Lifecycle {
        let emitter = Mutex::new(self.program().emitter().clone());
        let said = scripting.services.listener.is_none().then(Arc::<Said>::default);
        if let Some(said) = &said {
            scripting.services.listener = Some(Arc::clone(said) as Arc<dyn Listener>);
        }
        Lifecycle::of(Shared { emitter, scripting: Some(scripting), said, ..Shared::default() })
    }

    /// Passes on what scripts said so far.
    pub(crate) fn report(&self, reporter: &mut dyn Reporter) {
        if let Some(said) = &self.program().0.said {
            said.report(reporter);
        }
    }

    /// The same handlers, with someone else who hears what scripts say. He is given who heard it so far.
    pub(crate) fn heard_by<L: Listener + 'static>(
        &self,
        listener: impl FnOnce(Option<Arc<dyn Listener>>) -> L,
    ) -> Lifecycle {
        let Some(mut scripting) = self.program().0.scripting.clone() else { return self.clone() };
        let before = scripting.services.listener.take();
        scripting.services.listener = Some(Arc::new(listener(before)));
        self.with_scripting(scripting)
    }

    /// What the scripts of the operation's chart may do.
    pub(crate) fn granted(&self) -> &Permissions {
        &self.0.granted
    }

    /// The handlers together with those of a chart's scripts. `before` was granted earlier, and is not asked for again.
    ///
    /// # Errors
    /// A permission that is not granted, or a script that cannot be loaded.
    pub(crate) fn with_scripts_of(&self, chart: &Chart, before: &Asked) -> Result<Lifecycle> {
        self.scripted(chart, before, |_, _| {})
    }

    fn scripted(
        &self,
        chart: &Chart,
        before: &Asked,
        set: impl FnOnce(&mut Scripting, &Permissions),
    ) -> Result<Lifecycle> {
        let program = self.program();
        if !self.runs_scripts_of(chart) {
            return Ok(program.clone());
        }
        let Some(mut scripting) = program.0.scripting.clone() else { return Ok(program.clone()) };
        let granted = settle(chart, before, &*scripting.consent)?;
        set(&mut scripting, &granted);
        let scripts = Scripts::load(chart, &granted, &scripting.limits, &scripting.services)?;
        let mut emitter = program.emitter().clone();
        scripts.register(&mut emitter)?;
        Ok(Lifecycle::of(Shared {
            emitter: Mutex::new(emitter),
            scripting: Some(scripting),
            program: Some(program.clone()),
            granted,
            ..Shared::default()
        }))
    }

    /// Whether a chart brings scripts, and they are to be run.
    fn runs_scripts_of(&self, chart: &Chart) -> bool {
        self.program().0.scripting.is_some() && ext::has_scripts(chart)
    }

    /// Whether the scripts of charts are run, if they have any.
    pub(crate) fn may_run_scripts(&self) -> bool {
        self.program().0.scripting.is_some()
    }

    /// The handlers without those of a chart.
    fn program(&self) -> &Lifecycle {
        self.0.program.as_ref().unwrap_or(self)
    }
}

/// What a chart may do: everything that it asks for, or else nothing is run.
fn settle(chart: &Chart, before: &Asked, consent: &dyn Consent) -> Result<Permissions> {
    let all = pintle_lua::asked(chart)?;
    let asked = all.without(before);
    let new = asked.all();
    if !new.is_empty() {
        let granted = consent.ask(chart.name(), &asked, &new)?;
        let missing = new.without(&granted);
        if !missing.is_empty() {
            return Err(Error::PermissionsRefused { chart: chart.name().to_owned(), missing });
        }
    }
    Ok(all.all())
}

/// What the scripts of an operation's chart are told of it.
pub(crate) struct Setting<'a> {
    /// The name of the release.
    pub(crate) release: &'a str,
    /// The namespace of the release.
    pub(crate) namespace: &'a str,
    /// What was granted earlier, and is not asked for again.
    pub(crate) before: Asked,
    /// How long handlers may say that it is not time yet.
    pub(crate) wait: Duration,
}

impl Session {
    /// The session with the handlers of a chart's scripts.
    ///
    /// # Errors
    /// A permission that is not granted, or a script that cannot be loaded.
    pub(crate) async fn scripted(&self, chart: &Chart, setting: Setting<'_>) -> Result<Session> {
        if !self.events.runs_scripts_of(chart) {
            return Ok(Session { events: self.events.program().clone(), ..self.clone() });
        }
        let (events, chart, before, wait) =
            (self.events.clone(), chart.clone(), setting.before, setting.wait);
        let (cluster, cancel) = (self.cluster.clone(), self.cancel.clone());
        let (release, namespace) = (setting.release.to_owned(), setting.namespace.to_owned());
        let handle = Handle::current();
        let load = move || {
            events.scripted(&chart, &before, |scripting, granted| {
                let guard = Guard { release, namespace, network: granted.contains(Permission::Network) };
                let stop = cancel.clone();
                scripting.limits.wait = wait;
                scripting.services.cancelled = Arc::new(move || stop.is_cancelled());
                scripting.services.cluster = Some(Arc::new(LiveCluster { cluster, handle, cancel, guard }));
            })
        };
        let events = aside(Event::ChartLoaded, load).await?;
        Ok(Session { events, ..self.clone() })
    }

    /// The session with the handlers of the chart that a version was made of. What was granted then is granted now.
    ///
    /// # Errors
    /// As [`Session::scripted`].
    pub(crate) async fn scripted_as_stored(
        &self,
        version: &ReleaseVersion,
        wait: Duration,
    ) -> Result<Session> {
        let (release, namespace) = (version.name.as_str(), version.namespace.as_str());
        let before = kept::granted_to_charts(version);
        self.scripted(&kept::chart(&version.chart), Setting { release, namespace, before, wait }).await
    }
}

/// How long the cluster may take for an answer to a script.
const PATIENCE: Duration = Duration::from_secs(10);

/// The cluster as scripts see it. Handlers run on threads where waiting for an answer is allowed.
struct LiveCluster {
    cluster: Cluster,
    handle: Handle,
    cancel: Cancel,
    guard: Guard,
}

impl LiveCluster {
    /// Waits for an answer, but not for ever, and not when the user has had enough.
    fn wait<T>(&self, answer: impl Future<Output = T>) -> std::result::Result<T, String> {
        self.handle.block_on(async {
            tokio::select! {
                answer = tokio::time::timeout(PATIENCE, answer) => {
                    answer.map_err(|_| format!("the cluster gave no answer within {PATIENCE:?}"))
                }
                () = self.cancel.cancelled() => Err("the operation was cancelled".to_owned()),
            }
        })
    }

    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Map<Node>, String> {
        self.wait(self.cluster.lookup(api_version, kind, namespace, name))?.map_err(|error| error.to_string())
    }
}

impl Discover for LiveCluster {
    fn has_kind(&self, api_version: &str, kind: &str) -> std::result::Result<bool, String> {
        match self.wait(self.cluster.resource(api_version, kind))? {
            Ok(_) => Ok(true),
            Err(pintle_cluster::Error::NoSuchKind { .. }) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn read(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Option<Node>, String> {
        if name.is_empty() {
            return Err("the name of the object is missing".to_owned());
        }
        let namespace = if namespace.is_empty() { &self.guard.namespace } else { namespace };
        let found = self.lookup(api_version, kind, namespace, name)?;
        if found.is_empty() {
            return Ok(None);
        }
        if let Some(guarded) = secrets::guarded(api_version, kind) {
            self.guard.check_for_script(guarded, &found)?;
        }
        Ok(Some(Node::Map(found)))
    }

    fn storage_classes(&self) -> std::result::Result<Vec<Node>, String> {
        let mut found = self.lookup("storage.k8s.io/v1", "StorageClass", "", "")?;
        match found.remove("items") {
            Some(Node::List(classes)) => Ok(classes),
            _ => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_chart::File;
    use pintle_events::Context;

    fn chart(script: &str, permissions: &str) -> Chart {
        let mut chart = Chart {
            files: vec![
                File::new("ext/lua/chart.lua", script.as_bytes()),
                File::new("ext/permissions.yaml", permissions.as_bytes()),
            ],
            ..Chart::default()
        };
        chart.metadata.name = "web".into();
        chart
    }

    fn lifecycle(granted: &str) -> Lifecycle {
        let granted = Granted(Permissions::parse(granted).expect("known"));
        Lifecycle::default().with_scripting(Scripting::new(Services::default(), granted))
    }

    #[test]
    fn scripts_of_one_operation_do_not_reach_the_next() {
        let script = "events.on('pre-render', function(ctx) ctx.values.n = (ctx.values.n or 0) + 1 end)";
        let program = lifecycle("");
        let none = Asked::default();
        let one = program.with_scripts_of(&chart(script, ""), &none).expect("loads");
        let two = one.with_scripts_of(&chart(script, ""), &none).expect("loads");
        let mut context = Context::default();
        two.emit(Event::PreRender, &mut context).expect("runs");
        assert_eq!(context.all_values().get("n"), Some(&1.into()));
        assert!(program.is_empty() && !one.is_empty());
        assert!(two.with_scripts_of(&Chart::default(), &none).expect("none to load").is_empty());
    }

    #[test]
    fn scripts_are_left_alone_unless_the_program_runs_them() {
        let broken = chart("this is no script", "");
        assert!(Lifecycle::default().with_scripts_of(&broken, &Asked::default()).is_ok());
        assert!(lifecycle("").with_scripts_of(&broken, &Asked::default()).is_err());
    }

    #[test]
    fn only_what_is_new_is_asked_for_and_everything_is_needed() {
        let chart = chart("events.on('ready', function() end)", "lua: [network, os]");
        let refused = lifecycle("network").with_scripts_of(&chart, &Asked::default());
        let text = refused.expect_err("os is not granted").to_string();
        assert_eq!(text, "chart web asks for permissions that were not granted: os");
        let before = pintle_lua::asked(&chart).expect("good").and(&Permissions::parse("os").expect("known"));
        let events = lifecycle("network").with_scripts_of(&chart, &before).expect("all is granted");
        assert_eq!(events.granted().to_string(), "network,os");
    }
}
