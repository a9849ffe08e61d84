//! `cluster serve`: the embedded cluster on a port.

use pintle::embedded::Pace;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{self, Signals};
use crate::embedded::server::{self, Server};
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::{embedded, request};

/// `cluster serve`
pub(crate) static COMMAND: Command = Command {
    name: "serve",
    short: "serve the embedded cluster on a port",
    long: "\
Serve the embedded cluster on a loopback address, print a kubeconfig for it, and run until stopped. The
kubeconfig has a certificate and a token, which are generated at each start and give full access.
With --insecure the API is served as plain HTTP without authentication, for clients that support neither; whoever can
reach the port has full access then. Requests of web pages are always rejected.

    {program} cluster serve --cluster embedded:web.db --write-kubeconfig web.yaml",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::ADDRESS, "the address to listen on; port 0 picks a free one")
        .or("127.0.0.1:0")
        .completes(FlagCompletion::Nothing),
    Flag::switch(names::INSECURE, "serve plain HTTP without authentication"),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to emulate")
        .completes(FlagCompletion::KubeVersions),
    Flag::text(names::PACE, "the pace of simulated workloads: fast or real")
        .or("fast")
        .completes(FlagCompletion::Words(&["fast", "real"])),
    Flag::text(names::WRITE_KUBECONFIG, "write the kubeconfig to this file instead of stdout"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let mut cluster = embedded::from_flags(flags, invocation.environment)?.unwrap_or_default();
    cluster.kube_version = request::kube_version(invocation)?
        .map(|version| format!("{}.{}", version.major, version.minor))
        .unwrap_or_default();
    cluster.pace = match flags.text(names::PACE) {
        "fast" => Pace::Fast,
        "real" => Pace::Real,
        other => return Err(Failure::usage(format!("invalid pace `{other}`")).hint("use fast or real")),
    };
    let address = server::address(flags.text(names::ADDRESS))?;
    let file = flags.text(names::WRITE_KUBECONFIG).to_owned();
    let insecure = flags.on(names::INSECURE);
    let runtime = connect::runtime()?;
    runtime.block_on(async {
        let api = cluster.open().await?;
        let server = Server::bind(address, insecure).await?;
        if file.is_empty() {
            invocation.ui.print(&server.kubeconfig)?;
        } else {
            server.write_kubeconfig(&file)?;
            invocation.ui.print(&format!("export KUBECONFIG={file}\n"))?;
        }
        invocation.ui.flush()?;
        server.serve(&api, Signals::received()).await
    })
}
