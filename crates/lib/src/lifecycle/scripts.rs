//! Adds the scripts of charts to the handlers of an operation: consent to permissions, loading, and access to the
//! cluster. For charts without scripts it only inspects file names.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pintle_chart::{Chart, ext};
use pintle_cluster::Cluster;
use pintle_events::Event;
use pintle_lua::{
    ClusterReader, Limits, Listener, Permission, PermissionRequests, Permissions, Scripts, Services,
};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};
use tokio::runtime::Handle;

use super::script_log::ScriptLog;
use super::secrets::{self, SecretAccess};
use super::{Lifecycle, Shared, record_extras, spawn_blocking};
use crate::{Cancel, Error, Reporter, Result, Session};

/// How the scripts of charts are run.
#[derive(Clone)]
pub struct Scripting {
    /// Memory and time limits of the scripts of each chart.
    pub limits: Limits,
    /// What scripts can access. Operations on a [`Session`] add its cluster here.
    pub services: Services,
    /// Decides on the permissions that charts request.
    pub consent: Arc<dyn Consent>,
}

impl Scripting {
    /// Uses the default limits.
    pub fn new(services: Services, consent: impl Consent + 'static) -> Scripting {
        Scripting { limits: Limits::default(), services, consent: Arc::new(consent) }
    }
}

impl fmt::Debug for Scripting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Scripting").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Decides on the permissions that the scripts of charts request.
pub trait Consent: Send + Sync {
    /// Returns the granted permissions. If any requested one is missing, the scripts are not run and the operation
    /// fails.
    ///
    /// An implementation that remembers answers must key them by the digest and the permissions of the request.
    /// Neither the name of a chart nor the record of a release is proof of an earlier answer: others can write both.
    ///
    /// # Errors
    /// When the user cannot be asked, with advice on how to answer in advance.
    fn ask(&self, request: &ConsentRequest<'_>) -> Result<Permissions>;
}

/// The permissions that the scripts of a chart request.
#[derive(Clone, Copy, Debug)]
pub struct ConsentRequest<'a> {
    /// The name of the root chart.
    pub chart: &'a str,
    /// The digest of the scripts that are about to run.
    pub digest: &'a str,
    /// Which chart of the tree requests which permission.
    pub asked: &'a PermissionRequests,
    /// All requested permissions.
    pub permissions: &'a Permissions,
    /// Whether the answer is for a release, whose later operations run the same scripts.
    pub remember: bool,
}

/// Grants these permissions and no others, without asking.
#[derive(Clone, Debug, Default)]
pub struct Granted(pub Permissions);

impl Consent for Granted {
    fn ask(&self, request: &ConsentRequest<'_>) -> Result<Permissions> {
        Ok(request.permissions.and(&self.0))
    }
}

/// Forwards requests with `remember` cleared.
struct UnrememberedConsent(Arc<dyn Consent>);

impl Consent for UnrememberedConsent {
    fn ask(&self, request: &ConsentRequest<'_>) -> Result<Permissions> {
        self.0.ask(&ConsentRequest { remember: false, ..*request })
    }
}

impl Lifecycle {
    /// Returns the same handlers for operations that also run the scripts of their charts. Script logs go to the
    /// listener of the services, or else to the operation's reporter when it ends.
    #[must_use]
    pub fn with_scripting(&self, mut scripting: Scripting) -> Lifecycle {
        let emitter = Mutex::new(self.program().emitter().clone());
        let script_log = scripting.services.listener.is_none().then(Arc::<ScriptLog>::default);
        if let Some(script_log) = &script_log {
            scripting.services.listener = Some(Arc::clone(script_log) as Arc<dyn Listener>);
        }
        Lifecycle::of(Shared { emitter, scripting: Some(scripting), script_log, ..Shared::default() })
    }

    /// Reports what scripts have logged so far.
    pub(crate) fn report(&self, reporter: &mut dyn Reporter) {
        if let Some(script_log) = &self.program().0.script_log {
            script_log.report(reporter);
        }
    }

    /// Returns the same handlers with another listener for script logs. `listener` receives the previous one.
    pub(crate) fn with_script_listener<L: Listener + 'static>(
        &self,
        listener: impl FnOnce(Option<Arc<dyn Listener>>) -> L,
    ) -> Lifecycle {
        let Some(mut scripting) = self.program().0.scripting.clone() else { return self.clone() };
        let before = scripting.services.listener.take();
        scripting.services.listener = Some(Arc::new(listener(before)));
        self.with_scripting(scripting)
    }

    /// Returns the same handlers for operations on a temporary release, for which answers need not be remembered.
    pub(crate) fn without_remembered_consent(&self) -> Lifecycle {
        let Some(mut scripting) = self.program().0.scripting.clone() else { return self.clone() };
        scripting.consent = Arc::new(UnrememberedConsent(scripting.consent));
        self.with_scripting(scripting)
    }

    /// Returns the permissions that were granted to the scripts of the operation's chart.
    pub(crate) fn granted(&self) -> &Permissions {
        &self.0.granted
    }

    /// Returns the handlers together with those of a chart's scripts.
    ///
    /// # Errors
    /// When a permission is not granted or a script cannot be loaded.
    pub(crate) fn with_scripts_of(&self, chart: &Chart) -> Result<Lifecycle> {
        self.load_scripts(chart, false, |_, _| {})
    }

    fn load_scripts(
        &self,
        chart: &Chart,
        remember: bool,
        set: impl FnOnce(&mut Scripting, &Permissions),
    ) -> Result<Lifecycle> {
        let program = self.program();
        if !self.runs_scripts_of(chart) {
            return Ok(program.clone());
        }
        let Some(mut scripting) = program.0.scripting.clone() else { return Ok(program.clone()) };
        let granted = resolve_permissions(chart, remember, &*scripting.consent)?;
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

    /// Returns the handlers of scripts without those of the program.
    pub(crate) fn scripts_only(&self) -> Lifecycle {
        match self.program().0.scripting.clone() {
            Some(scripting) => Lifecycle::default().with_scripting(scripting),
            None => Lifecycle::default(),
        }
    }

    /// Returns whether the scripts of the operation's chart handle list events.
    pub(crate) fn listens_to_list_events(&self) -> bool {
        let hears = |event| self.listens(event);
        self.0.program.is_some() && (hears(Event::PreList) || hears(Event::PostList))
    }

    /// Returns whether a chart has scripts and they are to be run.
    fn runs_scripts_of(&self, chart: &Chart) -> bool {
        self.program().0.scripting.is_some() && ext::has_scripts(chart)
    }

    /// Returns whether scripts of charts are run at all.
    pub(crate) fn may_run_scripts(&self) -> bool {
        self.program().0.scripting.is_some()
    }

    /// Returns the handlers without those of a chart.
    fn program(&self) -> &Lifecycle {
        self.0.program.as_ref().unwrap_or(self)
    }
}

/// Asks for the permissions of a chart. Grants are all or nothing: scripts that get fewer permissions than they
/// declare would fail halfway.
fn resolve_permissions(chart: &Chart, remember: bool, consent: &dyn Consent) -> Result<Permissions> {
    let asked = pintle_lua::requested_permissions(chart)?;
    let permissions = asked.all();
    if permissions.is_empty() {
        return Ok(permissions);
    }
    let digest = pintle_lua::scripts_digest(chart);
    let request = ConsentRequest {
        chart: chart.name(),
        digest: &digest,
        asked: &asked,
        permissions: &permissions,
        remember,
    };
    let granted = consent.ask(&request)?;
    let missing = permissions.without(&granted);
    if missing.is_empty() {
        return Ok(permissions);
    }
    Err(Error::PermissionsRefused { chart: chart.name().to_owned(), asked: Box::new(asked), missing })
}

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
        let (events, chart, remember, wait) =
            (self.events.clone(), chart.clone(), context.remember, context.wait);
        let (cluster, cancel) = (self.cluster.clone(), self.cancel.clone());
        let (release, namespace) = (context.release.to_owned(), context.namespace.to_owned());
        let handle = Handle::current();
        let load = move || {
            events.load_scripts(&chart, remember, |scripting, granted| {
                let guard =
                    SecretAccess { release, namespace, network: granted.contains(Permission::Network) };
                let stop = cancel.clone();
                scripting.limits.wait = wait;
                scripting.services.cancelled = Arc::new(move || stop.is_cancelled());
                scripting.services.cluster = Some(Arc::new(LiveCluster { cluster, handle, cancel, guard }));
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
    ) -> Result<Session> {
        let (release, namespace) = (version.name.as_str(), version.namespace.as_str());
        let context = ScriptContext { release, namespace, remember: true, wait };
        self.with_chart_scripts(&record_extras::chart(&version.chart), context).await
    }
}

/// Limit for each request of a script to the cluster.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Cluster access for scripts. Handlers run on blocking threads, where `block_on` is allowed.
struct LiveCluster {
    cluster: Cluster,
    handle: Handle,
    cancel: Cancel,
    guard: SecretAccess,
}

impl LiveCluster {
    /// Waits for an answer until the limit or until the operation is cancelled.
    fn wait<T>(&self, answer: impl Future<Output = T>) -> std::result::Result<T, String> {
        self.handle.block_on(async {
            tokio::select! {
                answer = tokio::time::timeout(ANSWER_TIMEOUT, answer) => {
                    answer.map_err(|_| format!("the cluster gave no answer within {ANSWER_TIMEOUT:?}"))
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

impl ClusterReader for LiveCluster {
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
        if let Some(guarded) = secrets::protected_kind(api_version, kind) {
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
        let one = program.with_scripts_of(&chart(script, "")).expect("loads");
        let two = one.with_scripts_of(&chart(script, "")).expect("loads");
        let mut context = Context::default();
        two.emit(Event::PreRender, &mut context).expect("runs");
        assert_eq!(context.all_values().get("n"), Some(&1.into()));
        assert!(program.is_empty() && !one.is_empty());
        assert!(two.with_scripts_of(&Chart::default()).expect("none to load").is_empty());
    }

    #[test]
    fn scripts_are_left_alone_unless_the_program_runs_them() {
        let broken = chart("this is no script", "");
        assert!(Lifecycle::default().with_scripts_of(&broken).is_ok());
        assert!(lifecycle("").with_scripts_of(&broken).is_err());
    }

    #[test]
    fn everything_that_is_asked_for_is_needed() {
        let mut web = chart("events.on('ready', function() end)", "lua: [network, os]");
        let error = lifecycle("network").with_scripts_of(&web).expect_err("os is not granted");
        assert_eq!(error.to_string(), "chart web asks for permissions that were not granted: os");
        let hint = error.hint().expect("there is one");
        assert!(hint.contains("`--accept-perms network,os`"), "the flag says all there is to say: {hint}");
        let events = lifecycle("network,os").with_scripts_of(&web).expect("all is granted");
        assert_eq!(events.granted().to_string(), "network,os");
        let mut db = chart("", "lua: [filesystem, os]");
        db.metadata.name = "db".into();
        web.subcharts.push(db);
        let error = lifecycle("network").with_scripts_of(&web).expect_err("two are not granted");
        assert_eq!(
            error.to_string(),
            "chart web asks for permissions that were not granted: filesystem (chart web/db), os (chart web/db)"
        );
    }

    #[test]
    fn a_request_names_the_scripts_by_their_digest_and_a_rehearsal_is_not_remembered() {
        #[derive(Clone, Default)]
        struct RecordingConsent(Arc<Mutex<Vec<(String, bool)>>>);
        impl Consent for RecordingConsent {
            fn ask(&self, request: &ConsentRequest<'_>) -> Result<Permissions> {
                self.0.lock().expect("whole").push((request.digest.to_owned(), request.remember));
                Ok(request.permissions.clone())
            }
        }
        let web = chart("events.on('ready', function() end)", "lua: [os]");
        let noting = RecordingConsent::default();
        let events = Lifecycle::default().with_scripting(Scripting::new(Services::default(), noting.clone()));
        events.load_scripts(&web, true, |_, _| {}).expect("granted");
        events.without_remembered_consent().load_scripts(&web, true, |_, _| {}).expect("granted");
        let back = record_extras::chart(&record_extras::stored(&web, None));
        events.with_scripts_of(&back).expect("granted");
        let digest = pintle_lua::scripts_digest(&web);
        let asked = noting.0.lock().expect("whole").clone();
        assert_eq!(asked, [(digest.clone(), true), (digest.clone(), false), (digest, false)]);
    }
}
