//! Adds the scripts of charts to the handlers of an operation: consent to permissions, loading, and access to the
//! cluster. For charts without scripts it only inspects file names.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
mod session;

use std::fmt;
use std::sync::{Arc, Mutex};

use pintle_chart::{Chart, ext};
use pintle_events::Event;
#[cfg(feature = "cluster")]
use pintle_lua::Permission;
use pintle_lua::{Limits, Listener, PermissionRequests, Permissions, Scripts, Services};

use super::script_log::ScriptLog;
use super::{Lifecycle, Shared};
use crate::{Error, Reporter, Result};
#[cfg(feature = "cluster")]
pub use cluster::ScriptCluster;
#[cfg(feature = "cluster")]
pub(crate) use session::ScriptContext;

/// How the scripts of charts are run.
#[derive(Clone)]
pub struct Scripting {
    /// Memory and time limits of the scripts of each chart.
    pub limits: Limits,
    /// What scripts can access. Operations on a cluster add it here.
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
#[cfg(feature = "embedded")]
struct UnrememberedConsent(Arc<dyn Consent>);

#[cfg(feature = "embedded")]
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
    #[cfg(feature = "embedded")]
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
    #[cfg(feature = "embedded")]
    pub(crate) fn without_remembered_consent(&self) -> Lifecycle {
        let Some(mut scripting) = self.program().0.scripting.clone() else { return self.clone() };
        scripting.consent = Arc::new(UnrememberedConsent(scripting.consent));
        self.with_scripting(scripting)
    }

    /// Returns the permissions that were granted to the scripts of the operation's chart, separated by commas.
    #[cfg(feature = "cluster")]
    pub(crate) fn granted_list(&self) -> String {
        self.0.granted.to_string()
    }

    /// Returns whether the scripts of the operation's chart may use the network.
    #[cfg(feature = "cluster")]
    pub(crate) fn may_use_network(&self) -> bool {
        self.0.granted.contains(Permission::Network)
    }

    /// Returns why the handlers of an event must not be called by an operation that changes nothing; `None` if they may.
    /// The permission `os` is no reason: it only reads.
    #[cfg(feature = "cluster")]
    pub(crate) fn effects(&self, event: Event) -> Option<String> {
        let has_effects = |permission: &Permission| *permission != Permission::Os;
        let used: Vec<&str> = self.0.granted.iter().filter(has_effects).map(Permission::as_str).collect();
        match () {
            () if !self.listens(event) => None,
            () if self.program().listens(event) => Some("they belong to the program".to_owned()),
            () if used.is_empty() => None,
            () => Some(format!("they may use {}", used.join(" and "))),
        }
    }

    /// Returns the handlers together with those of a chart's scripts, for an operation that may emit these events.
    /// Scripts without handlers of any of them are not loaded, and need no permissions.
    ///
    /// # Errors
    /// When a permission is not granted or a script cannot be loaded.
    pub(crate) fn with_scripts_of(&self, chart: &Chart, events: &[Event]) -> Result<Lifecycle> {
        self.load_scripts(chart, Some(events), false, |_, _| {})
    }

    /// `events` are those that the operation may emit; `None` if the permissions are asked for in any case.
    fn load_scripts(
        &self,
        chart: &Chart,
        events: Option<&[Event]>,
        remember: bool,
        set: impl FnOnce(&mut Scripting, &Permissions),
    ) -> Result<Lifecycle> {
        let program = self.program();
        if !self.runs_scripts_of(chart) {
            return Ok(program.clone());
        }
        let Some(mut scripting) = program.0.scripting.clone() else { return Ok(program.clone()) };
        if let Some(events) = events
            && !pintle_lua::requested_permissions(chart)?.all().is_empty()
            && !Scripts::listen_to(chart, &scripting.limits, events)
        {
            return Ok(program.clone());
        }
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
    #[cfg(feature = "cluster")]
    pub(crate) fn scripts_only(&self) -> Lifecycle {
        match self.program().0.scripting.clone() {
            Some(scripting) => Lifecycle::default().with_scripting(scripting),
            None => Lifecycle::default(),
        }
    }

    /// Returns whether the scripts of the operation's chart handle list events.
    #[cfg(feature = "cluster")]
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
        let one = program.with_scripts_of(&chart(script, ""), &[Event::PreRender]).expect("loads");
        let two = one.with_scripts_of(&chart(script, ""), &[Event::PreRender]).expect("loads");
        let mut context = Context::default();
        two.emit(Event::PreRender, &mut context).expect("runs");
        assert_eq!(context.all_values().get("n"), Some(&1.into()));
        assert!(program.is_empty() && !one.is_empty());
        assert!(two.with_scripts_of(&Chart::default(), &[]).expect("none to load").is_empty());
    }

    #[test]
    fn scripts_are_left_alone_unless_the_program_runs_them() {
        let broken = chart("this is no script", "");
        assert!(Lifecycle::default().with_scripts_of(&broken, &[]).is_ok());
        assert!(lifecycle("").with_scripts_of(&broken, &[]).is_err());
    }

    #[test]
    fn everything_that_is_asked_for_is_needed() {
        let mut web = chart("events.on('ready', function() end)", "lua: [network, os]");
        let error =
            lifecycle("network").with_scripts_of(&web, &[Event::Ready]).expect_err("os is not granted");
        assert_eq!(error.to_string(), "chart web asks for permissions that were not granted: os");
        let events = lifecycle("network,os").with_scripts_of(&web, &[Event::Ready]).expect("all is granted");
        assert_eq!(events.0.granted.to_string(), "network,os");
        let mut db = chart("", "lua: [filesystem, os]");
        db.metadata.name = "db".into();
        web.subcharts.push(db);
        let error =
            lifecycle("network").with_scripts_of(&web, &[Event::Ready]).expect_err("two are not granted");
        assert_eq!(
            error.to_string(),
            "chart web asks for permissions that were not granted: filesystem (chart web/db), os (chart web/db)"
        );
    }

    #[test]
    fn nothing_is_asked_for_scripts_without_a_handler_of_the_operation() {
        let asks = |script: &str, events: &[Event]| {
            lifecycle("").with_scripts_of(&chart(script, "lua: [network]"), events).is_err()
        };
        let render = "events.on('pre-render', function() http.get('http://x') end)";
        assert!(asks(render, &[Event::PreRender]));
        assert!(!asks(render, &[Event::PreDelete, Event::PostDelete]));
        // What is known only with permissions is not guessed.
        let conditional = "if permissions.network then events.on('pre-delete', print) end";
        assert!(asks(conditional, &[Event::PreDelete]) && !asks(conditional, &[Event::PreRender]));
        let at_load = "local x = http.get('http://x')\nevents.on('pre-render', print)";
        assert!(asks(at_load, &[Event::PreDelete]));
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn handlers_have_effects_if_they_may_write_or_belong_to_the_program() {
        let script = "events.on('pre-install', function() end)";
        let effects = |program: &Lifecycle, permissions: &str| {
            let events = program.with_scripts_of(&chart(script, permissions), &[Event::PreInstall]);
            events.expect("granted").effects(Event::PreInstall)
        };
        assert_eq!(effects(&lifecycle(""), ""), None);
        assert_eq!(effects(&lifecycle("os"), "lua: [os]"), None);
        let all = effects(&lifecycle("network,io,os"), "lua: [network, io, os]");
        assert_eq!(all.as_deref(), Some("they may use network and filesystem"));
        let program = lifecycle("");
        program.on_event(Event::PreInstall, |_| Ok(())).expect("a known event");
        assert_eq!(effects(&program, "").as_deref(), Some("they belong to the program"));
    }

    #[cfg(feature = "embedded")]
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
        events.load_scripts(&web, None, true, |_, _| {}).expect("granted");
        events.without_remembered_consent().load_scripts(&web, None, true, |_, _| {}).expect("granted");
        let back =
            super::super::record_metadata::chart(&super::super::record_metadata::stored(&web, None, None));
        events.with_scripts_of(&back, &[Event::Ready]).expect("granted");
        let digest = pintle_lua::scripts_digest(&web);
        let asked = noting.0.lock().expect("whole").clone();
        assert_eq!(asked, [(digest.clone(), true), (digest.clone(), false), (digest, false)]);
    }
}
