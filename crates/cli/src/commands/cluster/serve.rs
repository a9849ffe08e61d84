//! `cluster serve`: the embedded cluster on a port.

use std::net::SocketAddr;
use std::path::Path;

use pintle::embedded::Pace;
use pintle::embedded::serve::{self, Identity, Settings};
use rand::RngCore as _;
use rand::rngs::OsRng;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{self, Signals};
use crate::failure::{Failure, reason};
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
    let address = address(flags.text(names::ADDRESS))?;
    let file = flags.text(names::WRITE_KUBECONFIG).to_owned();
    let insecure = flags.on(names::INSECURE);
    let runtime = connect::runtime()?;
    runtime.block_on(async {
        let api = cluster.open().await?;
        let failed = |error: std::io::Error| {
            Failure::run_time(format!("cannot listen at {address}: {}", reason(&error)))
        };
        let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let identity = if insecure { None } else { Some(identity(local)?) };
        let text = serve::kubeconfig(local, identity.as_ref());
        let settings = Settings { identity, ..Settings::default() };
        if file.is_empty() {
            invocation.ui.print(&text)?;
        } else {
            crate::private_file::write(Path::new(&file), text.as_bytes())
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
            served = serve::serve(api.clone(), listener, &settings, end) => served.map_err(failed),
            () = api.run_controllers() => Ok(()),
        }
    })
}

/// Generates a certificate for the address, and a token.
fn identity(address: SocketAddr) -> Result<Identity, Failure> {
    let failed = |why: String| Failure::run_time(format!("cannot create a certificate: {why}"));
    let made = pintle_sprig::server_certificate(&[address.ip()]).map_err(failed)?;
    let mut token = [0; 32];
    OsRng.try_fill_bytes(&mut token).map_err(|error| failed(error.to_string()))?;
    let token = token.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    Ok(Identity { certificate: made.certificate, key: made.key, token })
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let refused = |why: String| Err(Failure::usage(why).hint("use an address such as 127.0.0.1:6443"));
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        Ok(_) => refused(format!("`{text}` is not a loopback address")),
        Err(_) => match text.rsplit_once(':') {
            Some((_, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                refused(format!("`{text}` is not an address with a port between 0 and 65535"))
            }
            _ => refused(format!("`{text}` is not an address with a port")),
        },
    }
}
