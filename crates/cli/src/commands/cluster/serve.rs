//! `cluster serve`: the cluster in the box on a port.

use std::net::SocketAddr;

use pintle::embedded::{Pace, serve};

use crate::command::{Command, OperandOffer, Operands};
use crate::connect::{self, Signals};
use crate::failure::{Failure, reason};
use crate::flag::{Flag, Offer};
use crate::invocation::Invocation;
use crate::{boxed, request};

/// `cluster serve`
pub(crate) static COMMAND: Command = Command {
    name: "serve",
    short: "put the cluster in the box on a port",
    long: "\
Puts the cluster in the box on a port of this machine, prints a kubeconfig that leads there, and goes on until it is
stopped. Whoever can reach the port may do everything, so that only addresses of this machine are taken.

    {program} cluster serve --cluster embedded:web.db --write-kubeconfig web.yaml",
    operands: Operands::None,
    offer: OperandOffer::Nothing,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text("address", "the address to listen at; port 0 takes any that is free")
        .or("127.0.0.1:0")
        .offer(Offer::Nothing),
    Flag::text("kube-version", "the Kubernetes version to be like").offer(Offer::KubeVersions),
    Flag::text("pace", "how fast workloads move: fast, or real to take their time")
        .or("fast")
        .offer(Offer::Words(&["fast", "real"])),
    Flag::text("write-kubeconfig", "write the kubeconfig to this file instead of printing it"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let mut embedded = boxed::chosen(flags, invocation.environment)?.unwrap_or_default();
    embedded.kube_version = request::kube_version(invocation)?
        .map(|version| format!("{}.{}", version.major, version.minor))
        .unwrap_or_default();
    embedded.pace = match flags.text("pace") {
        "fast" => Pace::Fast,
        "real" => Pace::Real,
        other => return Err(Failure::usage(format!("`{other}` is no pace")).hint("it is fast or real")),
    };
    let address = address(flags.text("address"))?;
    let file = flags.text("write-kubeconfig").to_owned();
    let runtime = connect::runtime()?;
    runtime.block_on(async {
        let api = embedded.open().await?;
        let failed = |error: std::io::Error| {
            Failure::run_time(format!("cannot listen at {address}: {}", reason(&error)))
        };
        let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
        let text = serve::kubeconfig(listener.local_addr().map_err(failed)?);
        if file.is_empty() {
            invocation.ui.print(&text)?;
        } else {
            std::fs::write(&file, text)
                .map_err(|error| Failure::run_time(format!("cannot write `{file}`: {}", reason(&error))))?;
            invocation.ui.print(&format!("export KUBECONFIG={file}\n"))?;
        }
        invocation.ui.flush()?;
        let end = async {
            match Signals::new() {
                Ok(mut signals) => signals.next().await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            served = serve::serve(api.clone(), listener, end) => served.map_err(failed),
            () = api.keep_moving() => Ok(()),
        }
    })
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let address: Option<SocketAddr> = text.parse().ok();
    address.filter(|address| address.ip().is_loopback()).ok_or_else(|| {
        Failure::usage(format!("`{text}` is no address of this machine alone"))
            .hint("give a loopback address and a port, as in 127.0.0.1:6443")
    })
}
