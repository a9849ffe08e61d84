//! A control plane as plain processes on the loopback address: needs no root and no namespaces, and runs no pods.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::components::{ClusterConfig, Component, log};
use super::state::Cluster;
use super::{keys, ready};

/// Starts all components and waits until objects can be made.
pub(super) fn up(cluster: &mut Cluster, kubernetes: &Path, context: &str) -> Result<()> {
    let config = ClusterConfig {
        home: cluster.folder.clone(),
        kubeall: kubernetes.join("kubeall"),
        address: "127.0.0.1".to_owned(),
        ports: free_ports()?,
        services: "10.96.0.0/16".to_owned(),
    };
    cluster.server = format!("https://127.0.0.1:{}", config.ports[0]);
    keys::write(&cluster.folder, context, &["127.0.0.1", "10.96.0.1"], &cluster.server, &cluster.server)?;
    start(cluster, &config.core())?;
    ready::server(cluster)?;
    start(cluster, &config.controllers())?;
    ready::controllers(cluster)
}

/// Free ports. All are bound until the last is found, so that no port is returned twice.
fn free_ports() -> Result<[u16; 5]> {
    let mut ports = [0; 5];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot find a free port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Starts processes that outlive this one and are not reached by the terminal's signals.
pub(super) fn start(cluster: &mut Cluster, components: &[Component]) -> Result<()> {
    for part in components {
        let (program, arguments) = part.command.split_first().context("a part has a program")?;
        let log = File::create(log(&cluster.folder, &part.name))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        let child = command.spawn().with_context(|| format!("cannot start {}", part.name))?;
        cluster.processes.push((part.name.clone(), child.id()));
        cluster.save()?;
    }
    Ok(())
}
