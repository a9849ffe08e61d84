//! The program `pintle-controller`: flags, signals, logs as JSON lines, and the controller in between.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use pintle::Clock as _;
use pintle::cluster::{Cluster, Settings};
use pintle_controller::args::{Args, HELP};
use pintle_controller::{Health, LeaderElection, Log, Options};
use pintle_tree::{LogLevel, LogLine};
use tokio::sync::watch;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = match args.first().map(String::as_str) {
        Some("--help" | "-h") => HELP.to_owned(),
        Some("--version") => format!("pintle-controller {}\n", env!("CARGO_PKG_VERSION")),
        _ => return start(args),
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn start(args: Vec<String>) -> ExitCode {
    let log: Log = Arc::new(log_line);
    let args = match Args::parse(args) {
        Ok(args) => args,
        Err(error) => {
            log(&LogLine { level: LogLevel::Error, message: error.into(), attributes: Vec::new() });
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start");
    let ran = runtime.and_then(|runtime| {
        let stopped = watch_signals(args.options.graceful_shutdown, &log)?;
        let ran = runtime.block_on(run(args, stopped, &log));
        // Work that cannot be cancelled, such as a DNS lookup, must not keep the process.
        runtime.shutdown_background();
        ran
    });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&LogLine {
                level: LogLevel::Error,
                message: format!("{error:#}").into(),
                attributes: Vec::new(),
            });
            ExitCode::FAILURE
        }
    }
}

async fn run(mut args: Args, mut stopped: watch::Receiver<bool>, log: &Log) -> Result<()> {
    let settings = Settings {
        kubeconfig: if args.kubeconfig.is_empty() {
            Vec::new()
        } else {
            vec![args.kubeconfig.clone().into()]
        },
        explicit_kubeconfig: !args.kubeconfig.is_empty(),
        user_agent: concat!("pintle-controller/", env!("CARGO_PKG_VERSION")).to_owned(),
        ..Settings::default()
    };
    let cluster = Cluster::connect(&settings).await?;
    // A restarted container has the same pod name, but is another process.
    let unique = pintle::SystemClock.random() as u32;
    args.options.identity = format!("{}_{unique:08x}", args.options.identity);
    args.options.election = args.leader_elect.then(|| {
        let name = Options::lease_name(&args.options.selector);
        LeaderElection::new(&args.lease_namespace, name, &args.options.identity)
    });
    if let Some(memory) = args.memory.or_else(memory_of_container) {
        args.options.memory = memory;
    }
    let health = Health::default();
    let listener = tokio::net::TcpListener::bind(&args.metrics_address).await;
    let listener = listener.with_context(|| format!("cannot listen at {}", args.metrics_address))?;
    tokio::spawn(pintle_controller::serve(listener, health.clone()));
    let stop = async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    pintle_controller::run(cluster, args.options, health, Arc::clone(log), stop).await?;
    Ok(())
}

/// Five eighths of the memory limit of this container, if it has one. The rest is for what all reconciliations share: watches, caches
/// and the program itself.
fn memory_of_container() -> Option<u64> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = files.iter().find_map(|file| std::fs::read_to_string(file).ok())?;
    // Without a limit, it is `max`, or more than any machine has.
    let limit: u64 = limit.trim().parse().ok().filter(|limit| *limit < 1 << 50)?;
    Some((limit / 8 * 5).max(pintle_controller::args::MIN_MEMORY))
}

/// How much longer than its graceful shutdown the process may take: to record what was cancelled, and to give up the lease.
const EXIT_MARGIN: Duration = Duration::from_secs(25);

/// Tells when the process is asked to stop, and ends it if it does not stop in time. On a thread of its own, because the
/// controller's may be busy. A second signal ends the process at once.
#[allow(clippy::exit, reason = "the last resort, after everything else had its time")]
fn watch_signals(grace: Duration, log: &Log) -> Result<watch::Receiver<bool>> {
    let (stop, stopped) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = Arc::clone(log);
    let wait = async move {
        let mut signals = Signals::new()?;
        signals.next().await;
        let _ = stop.send(true);
        tokio::select! {
            () = signals.next() => {}
            () = tokio::time::sleep(grace.saturating_add(EXIT_MARGIN)) => {}
        }
        log(&LogLine::warn("stopped before everything had ended", Vec::new()));
        std::process::exit(1)
    };
    let watch = move || {
        let ended: std::io::Result<()> = runtime.block_on(wait);
        ended
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).context("cannot start")?;
    Ok(stopped)
}

/// The signals that ask the process to stop.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    #[cfg(not(unix))]
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Writes a line of the log as JSON to stderr.
fn log_line(line: &LogLine) {
    let mut entry = serde_json::Map::new();
    entry.insert("time".to_owned(), pintle::SystemClock.now().to_string().into());
    entry.insert("level".to_owned(), line.level.as_str().to_lowercase().into());
    entry.insert("msg".to_owned(), line.message.as_ref().into());
    for (key, value) in &line.attributes {
        entry.insert((*key).to_owned(), value.as_str().into());
    }
    let _ = writeln!(std::io::stderr().lock(), "{}", serde_json::Value::Object(entry));
}
