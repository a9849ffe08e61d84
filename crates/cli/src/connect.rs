//! Connects to the cluster: builds a session from flags and environment, and the async runtime, which only commands
//! with a cluster start.

use std::io::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pintle::cluster::{Cluster, Proxies, Settings, store};
use pintle::embedded::{Api, Embedded};
use pintle::release::{MemoryStore, Store, StoreError};
use pintle::{Cancel, DryRun, Session};
use pintle_tree::LogLine;
use pintle_tree::quote::quote;
use tokio::runtime::Runtime;

use crate::clock::SystemClock;
use crate::commands::images::access::wait_text;
use crate::env::{Environment, Setting};
use crate::exit;
use crate::failure::{Failure, FailureKind, reason};
use crate::flag::parsed::Parsed;
use crate::flag::value::Value;
use crate::flag::{Name, names};
use crate::invocation::Invocation;
use crate::output::terminal::SanitizedWriter;
use crate::personality::Personality;
use crate::{embedded, kubeconfig, lease_holder, read, request, schemas, scripts, ui};

/// How long an operation may take to record its state after the second Ctrl-C.
const CANCEL_GRACE_PERIOD: Duration = Duration::from_secs(3);

/// The variable with the connection string of the database of releases, as in Helm.
const SQL_CONNECTION_STRING: &str = "HELM_DRIVER_SQL_CONNECTION_STRING";

/// A session and the runtime of its operations.
pub(crate) struct Connection {
    pub(crate) session: Session,
    /// The namespace to work in.
    pub(crate) namespace: String,
    /// Whether there is a cluster, and not only release records in memory.
    pub(crate) has_cluster: bool,
    /// The embedded cluster, if it is one.
    pub(crate) embedded: Option<Api>,
    /// Whether versions are listed in the order of the server, which sorts the objects that store them by name.
    pub(crate) lists_by_name: bool,
    personality: Personality,
    runtime: Runtime,
}

impl Connection {
    /// Builds a session from flags and environment. No request is sent yet.
    pub(crate) fn open(invocation: &mut Invocation<'_>) -> Result<Connection, Failure> {
        let chosen = embedded::from_flags(&invocation.flags, invocation.environment)?;
        let chosen = chosen.map(|chosen| embedded::without_creating(chosen, invocation.ui));
        Connection::connect(invocation, chosen)
    }

    /// Like [`Connection::open`], for operations that may be the first on a cluster: the file of an embedded cluster is
    /// created if it does not exist, unless this is a dry run.
    pub(crate) fn open_or_create(
        invocation: &mut Invocation<'_>,
        dry_run: DryRun,
    ) -> Result<Connection, Failure> {
        if dry_run.is_dry_run() {
            return Connection::open(invocation);
        }
        let chosen = embedded::from_flags(&invocation.flags, invocation.environment)?;
        Connection::connect(invocation, chosen)
    }

    fn connect(invocation: &mut Invocation<'_>, chosen: Option<Embedded>) -> Result<Connection, Failure> {
        let namespace = kubeconfig::namespace(&invocation.flags, invocation.environment);
        let driver = Driver::from_environment(invocation)?;
        let runtime = runtime()?;
        let api = chosen.map(|chosen| runtime.block_on(chosen.open())).transpose()?;
        let cluster = match &api {
            Some(api) => {
                let _inside = runtime.enter();
                pintle::embedded::cluster(api, &namespace)
            }
            None => {
                let settings = settings(&invocation.flags, invocation.environment, namespace.clone());
                let cluster = driver.cluster(&settings, invocation.personality);
                runtime.block_on(cluster).map_err(pintle::Error::from)?
            }
        };
        let stores = runtime.block_on(driver.stores(&cluster, invocation.environment));
        let Stores { store, others, guarded } = stores.map_err(|text| refuse(invocation, text))?;
        let session = Session {
            cluster,
            store,
            other_stores: others,
            excluded_stores: guarded,
            clock: Arc::new(SystemClock),
            holder: lease_holder::this_process(invocation.environment),
            lease_duration: lease_duration(&invocation.flags),
            cancel: Cancel::default(),
            events: scripts::lifecycle(invocation)?,
            schemas: schemas::loader(invocation),
            record_objects: request::record_objects(invocation),
        };
        let personality = invocation.personality;
        Ok(Connection {
            session,
            namespace,
            has_cluster: driver != Driver::Memory,
            embedded: api,
            lists_by_name: matches!(driver, Driver::Secrets | Driver::ConfigMaps),
            personality,
            runtime,
        })
    }

    /// Every store that a release may be in, for commands that move releases between them. A database is one of them if its
    /// connection string is set, and has to be for the store `wanted`.
    pub(crate) fn every_store(
        &self,
        invocation: &mut Invocation<'_>,
        wanted: &str,
    ) -> Result<Vec<Arc<dyn Store>>, Failure> {
        let cluster = &self.session.cluster;
        let mut stores: Vec<Arc<dyn Store>> = vec![
            Arc::new(store::NativeStore::new(cluster.clone())),
            Arc::new(store::HelmSecrets::new(cluster.clone())),
            Arc::new(store::HelmConfigMaps::new(cluster.clone())),
        ];
        let address = invocation.environment.variable(SQL_CONNECTION_STRING).unwrap_or_default();
        if wanted == "sql" && address.is_empty() {
            return Err(Failure::usage(format!("a database needs {SQL_CONNECTION_STRING}")));
        }
        if !address.is_empty() {
            let connected = self.runtime.block_on(sql(&address));
            stores.push(connected.map_err(|text| refuse(invocation, text))?);
        }
        Ok(stores)
    }

    /// Runs an operation to completion.
    pub(crate) fn run<T>(&self, operation: impl Future<Output = pintle::Result<T>>) -> Result<T, Failure> {
        Ok(self.try_run(operation)?)
    }

    /// Like [`Connection::run`], but returns the library's error.
    pub(crate) fn try_run<T>(&self, operation: impl Future<Output = T>) -> T {
        let outcome = self.runtime.block_on(operation);
        for text in self.session.cluster.take_warnings() {
            ui::print_server_warning(self.personality, &text);
        }
        outcome
    }

    /// Shuts the runtime down without waiting for running tasks.
    pub(crate) fn shutdown(self) {
        self.runtime.shutdown_background();
    }

    /// From now on the first Ctrl-C cancels the operation, which records its state and prints `cancel_message`. A
    /// rollback of the failed operation continues after the first; the second stops it, and exits after a grace period
    /// to record that.
    ///
    /// Without a message Helm installs no handler, and the signal kills the process, which its caller sees in the wait
    /// status. So do we under its name. The next command takes over what was interrupted, as after any killed client.
    pub(crate) fn cancel_on_signals(&self, cancel_message: Option<String>) {
        if self.personality == Personality::Helm && cancel_message.is_none() {
            return;
        }
        let cancel = self.session.cancel.clone();
        self.runtime.spawn(async move {
            let Ok(mut signals) = Signals::new() else { return };
            signals.next().await;
            if scripts::is_asking() {
                exit::cancelled();
            }
            if let Some(cancel_message) = cancel_message {
                let _ = writeln!(SanitizedWriter::new(std::io::stdout().lock()), "{cancel_message}");
            }
            cancel.cancel();
            signals.next().await;
            if cancel.is_rolling_back() {
                cancel.cancel();
                let _ = tokio::time::timeout(CANCEL_GRACE_PERIOD, signals.next()).await;
            }
            exit::cancelled()
        });
    }
}

pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::run_time(format!("cannot start threads: {error}")))
}

fn lease_duration(flags: &Parsed) -> Duration {
    if flags.declares(names::LEASE) { flags.duration(names::LEASE) } else { Duration::from_secs(30) }
}

/// The connection settings from flags and environment.
pub(crate) fn settings(flags: &Parsed, environment: &Environment, namespace: String) -> Settings {
    let text = |name: Name<String>| flags.text_or_setting(name, environment);
    let as_groups = match flags.list(names::KUBE_AS_GROUP) {
        [] => environment.groups(),
        groups => groups.to_vec(),
    };
    let qps = match flags.number(names::QPS) {
        Some(Value::Float32(number)) => *number,
        _ => environment.qps(),
    };
    let insecure = flags
        .switch(names::KUBE_INSECURE_SKIP_TLS_VERIFY)
        .unwrap_or_else(|| environment.setting(Setting::KubeInsecure) == "true");
    Settings {
        kubeconfig: kubeconfig::files(flags.text(names::KUBECONFIG), environment),
        explicit_kubeconfig: !flags.text(names::KUBECONFIG).is_empty(),
        context: text(names::KUBE_CONTEXT),
        server: text(names::KUBE_APISERVER),
        token: text(names::KUBE_TOKEN),
        ca_file: text(names::KUBE_CA_FILE),
        tls_server_name: text(names::KUBE_TLS_SERVER_NAME),
        insecure,
        as_user: text(names::KUBE_AS_USER),
        as_groups,
        namespace,
        qps,
        burst: u32::try_from(flags.int(names::BURST_LIMIT, environment)).unwrap_or(0),
        user_agent: concat!("pintle/", env!("CARGO_PKG_VERSION")).to_owned(),
        proxies: proxies(environment),
    }
}

/// The proxies of the environment; upper-case variables take precedence.
pub(crate) fn proxies(environment: &Environment) -> Proxies {
    let set = |name: &str| environment.variable(name).filter(|text| !text.is_empty());
    let either = |name: &str| set(name).or_else(|| set(&name.to_lowercase())).unwrap_or_default();
    Proxies { https: either("HTTPS_PROXY"), http: either("HTTP_PROXY"), none: either("NO_PROXY") }
}

/// Opens sessions with other clusters of the kubeconfig, or as other users, while a connection exists.
#[derive(Clone)]
pub(crate) struct Connector {
    settings: Settings,
    driver: Driver,
    personality: Personality,
    environment: Environment,
    /// The session of the connection.
    own: Session,
}

impl Connector {
    pub(crate) fn new(
        invocation: &mut Invocation<'_>,
        connection: &Connection,
    ) -> Result<Connector, Failure> {
        Ok(Connector {
            settings: settings(&invocation.flags, invocation.environment, connection.namespace.clone()),
            driver: Driver::from_environment(invocation)?,
            personality: invocation.personality,
            environment: invocation.environment.clone(),
            own: connection.session.clone(),
        })
    }

    /// Connects to a context, or to the cluster of the connection, as its user or as another one.
    pub(crate) async fn connect(
        &self,
        context: Option<String>,
        user: Option<(String, Vec<String>)>,
    ) -> pintle::Result<Session> {
        let mut cluster = match context {
            None if user.is_none() => return Ok(self.own.clone()),
            None => self.own.cluster.clone(),
            Some(context) => {
                let settings = Settings { context, ..self.settings.clone() };
                self.driver.cluster(&settings, self.personality).await?
            }
        };
        if let Some((name, groups)) = user {
            cluster = cluster.impersonate(&name, &groups)?;
        }
        let stores = self.driver.stores(&cluster, &self.environment).await;
        let Stores { store, others, guarded } = stores.map_err(pintle::Error::Input)?;
        Ok(Session { cluster, store, other_stores: others, excluded_stores: guarded, ..self.own.clone() })
    }
}

/// The storage driver of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    /// `native`: custom resources.
    Native,
    /// `secret`: Helm's default.
    Secrets,
    /// `configmap`, in Helm's format.
    ConfigMaps,
    /// `sql`: PostgreSQL, with Helm's tables.
    Sql,
    /// `memory`: read from files that are never written, as Helm does for its tests.
    Memory,
}

/// Whether the driver stores version ids. Helm's drivers do not, and under its name the output has Helm's columns.
pub(crate) fn keeps_ids(personality: Personality, environment: &Environment) -> bool {
    let driver = environment.variable("HELM_DRIVER").unwrap_or_default();
    personality == Personality::Pintle && matches!(driver.as_str(), "" | "native")
}

/// Runs an operation that needs no runtime, which takes milliseconds to start: one without a cluster, or one that waits for
/// its own threads.
pub(crate) fn run_offline<T>(operation: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut operation = pin!(operation);
    loop {
        match operation.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The store to write to, the stores whose releases are listed too, and those that are only checked for name conflicts.
struct Stores {
    store: Arc<dyn Store>,
    others: Vec<Arc<dyn Store>>,
    guarded: Vec<Arc<dyn Store>>,
}

impl Driver {
    /// The driver of `HELM_DRIVER`. The default is Helm's Secrets under its name, and custom resources otherwise.
    fn from_environment(invocation: &mut Invocation<'_>) -> Result<Driver, Failure> {
        let word = invocation.environment.variable("HELM_DRIVER").unwrap_or_default();
        Ok(match (word.as_str(), invocation.personality) {
            ("", Personality::Pintle) | ("native", _) => Driver::Native,
            ("" | "secret" | "secrets", _) => Driver::Secrets,
            ("configmap" | "configmaps", _) => Driver::ConfigMaps,
            ("sql", _) => Driver::Sql,
            ("memory", _) => Driver::Memory,
            (other, _) => {
                let text = format!("unknown driver {}", quote(other.as_bytes()));
                return Err(refuse(invocation, text)
                    .with_pintle_text(format!("`HELM_DRIVER` names an unknown storage driver: `{other}`"))
                    .hint("the drivers are native, secret, configmap, sql and memory"));
            }
        })
    }

    /// The cluster of the driver. With the memory driver Helm changes nothing in the cluster and reports success; under
    /// our own name this is an error.
    async fn cluster(
        self,
        settings: &Settings,
        personality: Personality,
    ) -> Result<Cluster, pintle::cluster::Error> {
        let offline = || Cluster::offline(settings.namespace.clone());
        match (self, personality) {
            (Driver::Memory, Personality::Pintle) => Ok(offline()),
            (Driver::Memory, Personality::Helm) => {
                Ok(Cluster::connect(settings).await.unwrap_or_else(|_| offline()).discarding_writes())
            }
            (_, Personality::Helm) => Cluster::connect_lazily(settings).await,
            // Helm's client waits without a word.
            (_, Personality::Pintle) => {
                let cluster = Cluster::connect_lazily(settings).await?.with_wait_notice(|server, pause| {
                    let _ = crate::ui::eprint_line(&wait_text(server, pause));
                });
                Ok(cluster.with_silence_notice(|server| {
                    // Once, however many connections a command opens.
                    static TOLD: std::sync::Once = std::sync::Once::new();
                    let text =
                        format!("info: {server} has not answered for 2 seconds; waiting (Ctrl-C stops)");
                    TOLD.call_once(|| {
                        let _ = crate::ui::eprint_line(&text);
                    });
                }))
            }
        }
    }

    async fn stores(self, cluster: &Cluster, environment: &Environment) -> Result<Stores, String> {
        let native = || -> Arc<dyn Store> { Arc::new(store::NativeStore::new(cluster.clone())) };
        let secrets = || -> Arc<dyn Store> { Arc::new(store::HelmSecrets::new(cluster.clone())) };
        let config_maps = || -> Arc<dyn Store> { Arc::new(store::HelmConfigMaps::new(cluster.clone())) };
        let of = |store, others, guarded| Stores { store, others, guarded };
        Ok(match self {
            Driver::Native => of(native(), vec![secrets()], vec![config_maps()]),
            Driver::Secrets => of(secrets(), Vec::new(), vec![native(), config_maps()]),
            Driver::ConfigMaps => of(config_maps(), Vec::new(), vec![native(), secrets()]),
            Driver::Sql => {
                let address = environment.variable(SQL_CONNECTION_STRING).unwrap_or_default();
                of(sql(&address).await?, Vec::new(), vec![native(), secrets(), config_maps()])
            }
            Driver::Memory => of(Arc::new(memory(environment)?), Vec::new(), Vec::new()),
        })
    }
}

async fn sql(address: &str) -> Result<Arc<dyn Store>, String> {
    let store = pintle::sql::SqlStore::connect(address).await;
    Ok(Arc::new(store.map_err(|error| format!("unable to instantiate SQL driver: {error}"))?))
}

fn memory(environment: &Environment) -> Result<MemoryStore, String> {
    let store = MemoryStore::new();
    for path in environment.variable("HELM_MEMORY_DRIVER_DATA").unwrap_or_default().split(':') {
        let text = read::file(path, read::MAX_STREAM).map_err(|error| {
            // Helm's text has no blank here.
            format!("Unable to read memory driver dataopen {path}: {}", reason(&error))
        })?;
        store.add_data(&text).map_err(|error| match error {
            StoreError::Unreadable { source, .. } => {
                format!("Unable to unmarshal memory driver data: {source}")
            }
            other => other.to_string(),
        })?;
    }
    Ok(store)
}

/// The error of a store that cannot be used. Helm logs it and exits, instead of returning it.
fn refuse(invocation: &mut Invocation<'_>, text: String) -> Failure {
    match invocation.personality {
        Personality::Pintle => Failure::usage(text),
        Personality::Helm => {
            invocation.ui.note(&LogLine::info(text.clone()).to_string());
            Failure::new(FailureKind::AlreadyReported, text)
        }
    }
}

/// The signals that cancel an operation.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Installs the handlers.
    pub(crate) fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        crate::plugins::process::handle_signals_elsewhere();
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

impl Signals {
    /// Waits for the first signal, or for ever if no handler can be installed.
    pub(crate) async fn received() {
        match Signals::new() {
            Ok(mut signals) => signals.next().await,
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// Installs the handlers.
    pub(crate) fn new() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        // Without a handler the default action ends the process, which is all that is left to do.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
