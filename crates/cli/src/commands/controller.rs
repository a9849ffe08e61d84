//! `controller run`: the controller in this process, for trying it.

use std::path::PathBuf;
use std::sync::Arc;

use pintle::cluster::{ListParams, crds};
use pintle::embedded::Api;
use pintle_controller::{AddressRules, Health, Log, Options};
use pintle_tree::LogLine;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{Connection, Signals, proxies};
use crate::embedded::server::{self, Server};
use crate::env::Home;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, Kind, names};
use crate::invocation::Invocation;
use crate::output::grid::counted;

/// `controller`
pub(crate) static COMMAND: Command = Command {
    name: "controller",
    short: "run the controller of HelmRequests",
    long: "\
The controller keeps the releases that HelmRequests describe. In a cluster it runs as `pintle-controller`, which the chart in
`deploy/chart` installs.",
    subcommands: &[&RUN],
    ..Command::BLANK
};

static RUN: Command = Command {
    name: "run",
    short: "run the controller in the foreground",
    long: "\
Run the controller with your own rights until it is stopped, to try it from your machine. Missing CRDs are installed. It takes
part in no leader election: do not run it beside another controller that watches the same requests.

An embedded cluster belongs to the process that has it open. With --write-kubeconfig it is served meanwhile, so that other
commands and kubectl can use it.

    {program} controller run --cluster embedded:web.db --write-kubeconfig web.yaml
    {program} controller run --namespace apps --as deployer",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::ALL_NAMESPACES, "watch the requests of all namespaces").short('A'),
    Flag::text(names::SELECTOR, "labels that requests must have: a=x,b!=y")
        .short('l')
        .completes(FlagCompletion::Nothing),
    Flag::of(names::CONCURRENT, Kind::Int, "4", "how many requests are reconciled at once"),
    Flag::text(names::AS, "the service account for requests that name none; your own rights by default")
        .completes(FlagCompletion::Nothing),
    Flag::switch(
        names::ALLOW_PRIVATE_NETWORK,
        "let the URLs of requests lead to private addresses and to this machine",
    ),
    Flag::switch(
        names::WATCH_VALUES,
        "follow changes of ConfigMaps and Secrets with the label helm.sh/watch=true",
    ),
    Flag::text(
        names::WRITE_KUBECONFIG,
        "serve the embedded cluster on a port of this machine, and write a kubeconfig for it to this file",
    ),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open_or_create(invocation, pintle::DryRun::None)?;
    let flags = &invocation.flags;
    let concurrent = u16::try_from(flags.int(names::CONCURRENT, invocation.environment)).unwrap_or(u16::MAX);
    let proxies = proxies(invocation.environment);
    let options = Options {
        namespace: if flags.on(names::ALL_NAMESPACES) { String::new() } else { connection.namespace.clone() },
        selector: flags.text(names::SELECTOR).to_owned(),
        concurrent: concurrent.max(1),
        default_service_account: flags.text(names::AS).to_owned(),
        watch_values: flags.on(names::WATCH_VALUES),
        cache: PathBuf::from(invocation.environment.home(Home::Cache, "controller")),
        proxies: pintle::repo::Proxies { http: proxies.http, https: proxies.https, none: proxies.none },
        addresses: match flags.on(names::ALLOW_PRIVATE_NETWORK) {
            true => AddressRules::any(),
            false => AddressRules::default(),
        },
        holder: Some(connection.session.holder.clone()),
        ..Options::default()
    };
    let cluster = connection.session.cluster.clone();
    connection.run(async { Ok(crds::install_for_controller(&cluster).await?) })?;
    let scope = connection.try_run(async { watched(&cluster, &options).await });
    invocation.ui.note(&scope);
    let log: Log = Arc::new(|line: &LogLine| {
        let attributes: String =
            line.attributes.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        let _ = crate::ui::eprint_line(&format!(
            "{}: {}{attributes}",
            line.level.as_str().to_lowercase(),
            line.message
        ));
    });
    let server = bind_server(invocation, &connection)?;
    let controller = pintle_controller::run(cluster, options, Health::default(), log, Signals::received());
    connection.try_run(async {
        tokio::select! {
            ran = controller => ran.map_err(|error| Failure::run_time(error.to_string())),
            served = serve(server, connection.embedded.as_ref()) => served,
        }
    })
}

/// Which requests are reconciled, how many there are, and whether there are others that are not.
async fn watched(cluster: &pintle::cluster::Cluster, options: &Options) -> String {
    let namespace = options.namespace.as_str();
    let selected = match options.selector.as_str() {
        "" => String::new(),
        selector => format!(" with the labels {selector}"),
    };
    let scope = match namespace {
        "" => format!("watching the requests{selected} of all namespaces"),
        namespace => format!("watching the requests{selected} of namespace {namespace}"),
    };
    let count = async |namespace: &str, selector: &str| {
        let params = ListParams { labels: selector.to_owned(), metadata_only: true, ..ListParams::default() };
        cluster.list(&crds::helm_requests(), namespace, &params).await.ok().map(|found| found.len())
    };
    let Some(here) = count(namespace, &options.selector).await else { return format!("info: {scope}") };
    let found = counted(here, "request");
    // Who may not list the others watches this namespace only.
    let others = count("", "").await.unwrap_or(here).saturating_sub(here);
    match (others, namespace) {
        (0, _) => format!("info: {scope}: {found} so far"),
        (_, "") => {
            format!("info: {scope}: {found} so far; {} without these labels", counted(others, "request"))
        }
        _ => format!(
            "info: {scope}: {found} so far; {} in other namespaces or without these labels: `--all-namespaces` watches all",
            counted(others, "request")
        ),
    }
}

/// The port of an embedded cluster that other programs are to use.
fn bind_server(invocation: &mut Invocation<'_>, connection: &Connection) -> Result<Option<Server>, Failure> {
    let file = invocation.flags.text(names::WRITE_KUBECONFIG).to_owned();
    match (&connection.embedded, file.as_str()) {
        (None, "") => Ok(None),
        (None, _) => Err(Failure::usage("--write-kubeconfig is for an embedded cluster")
            .hint("choose one with `--cluster embedded:FILE`; a real cluster has a kubeconfig already")),
        (Some(_), "") => {
            invocation.ui.note("no other program can use this cluster; --write-kubeconfig FILE serves it");
            Ok(None)
        }
        (Some(_), file) => {
            let server = connection.try_run(Server::bind(server::address("127.0.0.1:0")?, false))?;
            server.write_kubeconfig(file)?;
            invocation.ui.print(&format!("export KUBECONFIG={file}\n"))?;
            invocation.ui.flush()?;
            Ok(Some(server))
        }
    }
}

/// Serves the cluster, if it is to be served, and never ends otherwise.
async fn serve(server: Option<Server>, api: Option<&Api>) -> Result<(), Failure> {
    match (server, api) {
        (Some(server), Some(api)) => server.serve(api, std::future::pending()).await,
        _ => std::future::pending().await,
    }
}
