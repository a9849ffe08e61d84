//! `ui`: releases in a browser.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use pintle::{OfflineSession, Session};
use pintle_ui::{Authentication, Clusters, Context, Contexts, Limits, Server, Settings, Tls, Viewer};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{Connection, Connector, Signals};
use crate::env::Home;
use crate::failure::{Failure, hint, reason};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::scripts::SCRIPTS;
use crate::{private_file, read, remote, scripts};

/// The size limit of files that flags name.
const FILE_LIMIT: u64 = 1 << 20;

/// The shortest token that is accepted.
const MIN_TOKEN: usize = 16;

/// `ui`
pub(crate) static COMMAND: Command = Command {
    name: "ui",
    short: "show releases in a browser, and change them",
    long: "\
Serve a view of the releases of the cluster to a browser on this machine, and open it. The view shows what the commands
of {program} show, and each change names the command that does the same. It runs until stopped; operations that run then are
cancelled, and recorded as failed.

    {program} ui
    {program} ui --write

The address that is printed can be opened once. Only requests of the page itself are answered, with the rights of the user of
the kubeconfig; without --write they change nothing. Other machines can reach it only with --bind, --auth FILE, --tls-cert and
--tls-key: the file has a token and the name of its user in each line. With --auth header:NAME, a proxy on this machine
authenticates users, and requests to the cluster are sent as the user that it names.

Scripts of charts run with the permissions that were granted before, or by --accept-perms; nobody is asked.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OWN, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::WRITE, "let the view change releases"),
    Flag::text(names::BIND, "the address to listen on").or("127.0.0.1").completes(FlagCompletion::Nothing),
    Flag::text(names::PORT, "the port; 0 picks a free one").or("0").completes(FlagCompletion::Nothing),
    Flag::switch(names::NO_BROWSER, "open no browser"),
    Flag::text(names::AUTH, "who may look: a file with tokens, or header:NAME for users that a proxy names"),
    Flag::text(names::TLS_CERT, "serve HTTPS with the certificates of this file"),
    Flag::text(names::TLS_KEY, "the private key of --tls-cert"),
    Flag::list(names::HOST, "another name under which browsers reach the view")
        .completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let address = address(invocation)?;
    let authentication = authentication(invocation)?;
    let tls = tls(invocation)?;
    let mut connection = Connection::open(invocation)?;
    let events = scripts::lifecycle_without_asking(invocation)?;
    connection.session.events = events.clone();
    let clusters = Arc::new(ContextClusters {
        contexts: contexts(invocation, &connection),
        flags: cluster_flags(invocation),
        connector: Connector::new(invocation, &connection)?,
    });
    let remote = remote::remote(invocation, remote::TIMEOUT);
    let settings = Settings {
        clusters,
        remote: Some(remote),
        offline: OfflineSession { events, ..scripts::offline_session(invocation)? },
        write: invocation.flags.on(names::WRITE),
        local_charts: matches!(authentication, Authentication::Link),
        authentication,
        hosts: invocation.flags.list(names::HOST).to_vec(),
        tls,
        program: invocation.personality.program().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hints: Arc::new(hint),
        limits: Limits::default(),
    };
    let opens = !invocation.flags.on(names::NO_BROWSER);
    let outcome = connection.try_run(serve(invocation, address, settings, opens, &connection));
    connection.shutdown();
    outcome
}

async fn serve(
    invocation: &mut Invocation<'_>,
    address: SocketAddr,
    settings: Settings,
    opens: bool,
    connection: &Connection,
) -> Result<(), Failure> {
    let server = Server::bind(address, settings).await.map_err(|error| cannot_listen(address, &error))?;
    let url = server.url();
    // Before the address is printed: whoever reads it may stop the program at once.
    let signals = Signals::new();
    let is_write = invocation.flags.on(names::WRITE);
    invocation.ui.print(&format!("{url}\n"))?;
    invocation.ui.flush()?;
    let rights = if is_write { "it can change releases" } else { "it changes nothing without --write" };
    invocation.ui.note(&format!("serving the view; {rights}; Ctrl-C stops it"));
    if opens {
        open_browser(invocation, &url);
    }
    let served = server.serve(async move {
        match signals {
            Ok(mut signals) => signals.next().await,
            Err(_) => std::future::pending().await,
        }
    });
    let served = match &connection.embedded {
        None => served.await,
        Some(api) => tokio::select! {
            served = served => served,
            () = api.run_controllers() => Ok(()),
        },
    };
    served.map_err(|error| cannot_listen(address, &error))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied if !address.ip().is_loopback() => {
            Failure::usage(error.to_string()).hint("without --bind only this machine reaches the view")
        }
        std::io::ErrorKind::AddrInUse => Failure::run_time(format!("port {} is in use", address.port()))
            .hint("choose another one with --port, or leave it out for a free one"),
        _ => Failure::run_time(format!("cannot serve {address}: {}", reason(error))),
    }
}

fn address(invocation: &Invocation<'_>) -> Result<SocketAddr, Failure> {
    let (host, port) = (invocation.flags.text(names::BIND), invocation.flags.text(names::PORT));
    let ip: IpAddr = match host {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        host => host.parse().map_err(|_| {
            Failure::usage(format!("--bind is `{host}`")).hint("use an IP address such as 127.0.0.1")
        })?,
    };
    let port: u16 = port.parse().map_err(|_| {
        Failure::usage(format!("--port is `{port}`")).hint("use a number between 0 and 65535")
    })?;
    Ok(SocketAddr::new(ip, port))
}

fn file(flag: &str, path: &str) -> Result<Vec<u8>, Failure> {
    read::file(path, FILE_LIMIT)
        .map_err(|error| Failure::usage(format!("cannot read `{path}` of {flag}: {}", reason(&error))))
}

fn tls(invocation: &Invocation<'_>) -> Result<Option<Tls>, Failure> {
    match (invocation.flags.text(names::TLS_CERT), invocation.flags.text(names::TLS_KEY)) {
        ("", "") => Ok(None),
        (certificate, key) if !certificate.is_empty() && !key.is_empty() => {
            let (certificate, key) = (file("--tls-cert", certificate)?, file("--tls-key", key)?);
            Ok(Some(Tls { certificate, key }))
        }
        _ => Err(Failure::usage("--tls-cert and --tls-key belong together")),
    }
}

fn authentication(invocation: &Invocation<'_>) -> Result<Authentication, Failure> {
    match invocation.flags.text(names::AUTH) {
        "" => Ok(Authentication::Link),
        text => match text.strip_prefix("header:") {
            Some(name) if is_header(name) => Ok(Authentication::Header(name.to_owned())),
            Some(name) => Err(Failure::usage(format!("`{name}` is no name of a header"))),
            None => tokens(text, &file("--auth", text)?).map(Authentication::Tokens),
        },
    }
}

fn is_header(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The tokens of a file: in each line a token, and the name of its user after a blank or a comma.
fn tokens(path: &str, text: &[u8]) -> Result<Vec<(String, String)>, Failure> {
    let text = String::from_utf8_lossy(text);
    let mut tokens = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (token, user) = line.split_once([' ', '\t', ',']).unwrap_or((line, "user"));
        if token.len() < MIN_TOKEN {
            let at = index + 1;
            let text = format!("the token in line {at} of `{path}` has fewer than {MIN_TOKEN} characters");
            return Err(Failure::usage(text).hint("make one with `openssl rand -hex 32`"));
        }
        tokens.push((token.to_owned(), user.trim().to_owned()));
    }
    if tokens.is_empty() {
        return Err(Failure::usage(format!("`{path}` of --auth has no token"))
            .hint("each line has a token and the name of its user"));
    }
    Ok(tokens)
}

/// The clusters of the kubeconfig, or the embedded one.
struct ContextClusters {
    contexts: Contexts,
    /// The flags that chose the cluster.
    flags: Vec<String>,
    connector: Connector,
}

impl Clusters for ContextClusters {
    fn contexts(&self) -> Contexts {
        self.contexts.clone()
    }

    fn connect(
        &self,
        context: &str,
        viewer: Option<&Viewer>,
    ) -> futures::future::BoxFuture<'static, pintle::Result<Session>> {
        let name = Some(context).filter(|name| *name != self.contexts.current).map(str::to_owned);
        let viewer = viewer.map(|viewer| (viewer.name.clone(), viewer.groups.clone()));
        let connector = self.connector.clone();
        Box::pin(async move { connector.connect(name, viewer).await })
    }

    fn flags(&self, context: &str) -> Vec<String> {
        if context == self.contexts.current {
            return self.flags.clone();
        }
        vec!["--kube-context".to_owned(), context.to_owned()]
    }
}

fn contexts(invocation: &Invocation<'_>, connection: &Connection) -> Contexts {
    let namespace = connection.namespace.clone();
    let flags = &invocation.flags;
    let one = |name: &str| {
        let context = Context { name: name.to_owned(), namespace: namespace.clone(), ..Context::default() };
        Contexts { current: name.to_owned(), namespace: namespace.clone(), all: vec![context] }
    };
    let cluster = flags.text_or_setting(names::CLUSTER, invocation.environment);
    if !cluster.is_empty() {
        return one(&cluster);
    }
    let known = crate::kubeconfig::all_contexts(flags.text(names::KUBECONFIG), invocation.environment);
    let all: Vec<Context> = known
        .into_iter()
        .map(|(name, cluster, user, namespace)| Context { name, cluster, user, namespace })
        .collect();
    let current = crate::kubeconfig::current_context(flags, invocation.environment);
    match current {
        Some(current) => Contexts { current: current.name, namespace, all },
        // In a pod, or with an address on the command line.
        None => one("default"),
    }
}

fn cluster_flags(invocation: &Invocation<'_>) -> Vec<String> {
    let flags = &invocation.flags;
    let given = [
        ("--cluster", flags.text(names::CLUSTER)),
        ("--kubeconfig", flags.text(names::KUBECONFIG)),
        ("--kube-context", flags.text(names::KUBE_CONTEXT)),
    ];
    let given = given.into_iter().filter(|(_, value)| !value.is_empty());
    given.flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]).collect()
}

/// Opens the page in the browser of the user. The address is in a file that only the user can read: everybody on this machine
/// can read the arguments of programs.
fn open_browser(invocation: &mut Invocation<'_>, url: &str) {
    let folder = invocation.environment.home(Home::Cache, "ui");
    let path = Path::new(&folder).join("open.html");
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>Pintle</title>"
    );
    let written = std::fs::create_dir_all(&folder).and_then(|()| private_file::write(&path, page.as_bytes()));
    let opened = written.and_then(|()| start_browser(&path));
    if opened.is_err() {
        invocation.ui.note("no browser could be opened; open the address in one");
    }
}

fn start_browser(page: &Path) -> std::io::Result<()> {
    let mut command = match std::env::consts::OS {
        "macos" => std::process::Command::new("open"),
        "windows" => std::process::Command::new("explorer"),
        _ => std::process::Command::new("xdg-open"),
    };
    let null = std::process::Stdio::null;
    let mut child = command.arg(page).stdin(null()).stdout(null()).stderr(null()).spawn()?;
    // It is waited for, so that no zombie stays; the browser itself is another process mostly.
    std::thread::spawn(move || child.wait());
    let _ = std::io::stderr().flush();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_with_their_users_and_short_ones_refused() {
        let read = tokens("file", b"# people\n0123456789abcdef anna\n\nfedcba9876543210\n").expect("tokens");
        let pair = |token: &str, user: &str| (token.to_owned(), user.to_owned());
        assert_eq!(read, [pair("0123456789abcdef", "anna"), pair("fedcba9876543210", "user")]);
        assert!(tokens("file", b"short anna\n").is_err());
        assert!(tokens("file", b"# nothing\n").is_err());
    }

    #[test]
    fn only_names_of_headers_are_taken() {
        assert!(is_header("X-Forwarded-User"));
        assert!(!is_header("") && !is_header("a b") && !is_header("a:b"));
    }
}
