//! A cluster with a node that runs pods, seen from the machine: one process namespace that holds all of it, so that
//! ending its first process ends everything.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::components::{ClusterConfig, log};
use super::init::HOME;
use super::state::Cluster;
use super::{build, debian, images, keys, ready};
use crate::shell::{output, root};

const IMAGES: [&str; 3] = ["pause", "busybox", "httpd"];

/// The namespaces of a node; its first process is the command that follows.
pub(super) const UNSHARE: [&str; 8] =
    ["unshare", "--fork", "--mount", "--pid", "--net", "--uts", "--ipc", "--mount-proc"];

/// Starts the node and waits until it takes pods.
pub(super) fn up(cluster: &mut Cluster, kubernetes: &Path, context: &str) -> Result<()> {
    let debian = debian::unpacked()?;
    images::write_all(&debian, &build::pause()?, &cluster.folder.join("images"))?;
    reserve(cluster)?;
    install_defaults(cluster, context)?;
    write_plan(cluster, kubernetes, &debian)?;
    start(cluster)?;
    connect(cluster)?;
    ready::server(cluster)?;
    fs::write(cluster.folder.join("done/api"), "")?;
    ready::controllers(cluster)?;
    ready::node(cluster)
}

/// Removes what ending the first process leaves behind.
pub(super) fn clean(subnet: u8) -> Result<()> {
    let link = link(subnet);
    if Path::new("/sys/class/net").join(&link).exists() {
        // Errors are ignored: the link may be disappearing together with its peer.
        let _ = output(Command::new("ip").args(["link", "delete", &link]));
    }
    hierarchies()?.iter().try_for_each(|hierarchy| remove_cgroup(&hierarchy.join(&link)))
}

fn link(subnet: u8) -> String {
    format!("pintle{subnet}")
}

/// Reserves a number for the cluster's addresses. Its cgroup is the lock: only one process can create it.
fn reserve(cluster: &mut Cluster) -> Result<()> {
    let hierarchies = hierarchies()?;
    let (first, others) = hierarchies.split_first().context("this machine has no control groups")?;
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
    for number in 90..=250 {
        if is_routed(&routes, number) || fs::create_dir(first.join(link(number))).is_err() {
            continue;
        }
        cluster.subnet = number;
        cluster.save()?;
        for hierarchy in others {
            // Some machines show one hierarchy by two names.
            fs::create_dir_all(hierarchy.join(link(number)))?;
        }
        return Ok(());
    }
    bail!("all networks 10.90 to 10.250 are in use, or no control groups can be made")
}

/// Tells whether the machine's table of routes has a network whose addresses begin with 10 and `number`.
fn is_routed(routes: &str, number: u8) -> bool {
    // The table shows addresses as little-endian words: 10.90.0.0 is 00005A0A.
    let begins = format!("{number:02X}0A");
    routes.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|address| address.ends_with(&begins))
}

/// Writes keys and settings.
fn install_defaults(cluster: &mut Cluster, context: &str) -> Result<()> {
    let (folder, number) = (cluster.folder.clone(), cluster.subnet);
    cluster.server = format!("https://10.{number}.0.2:6443");
    let addresses = ["127.0.0.1", &format!("10.{number}.0.2"), &format!("10.{number}.2.1")];
    keys::write(&folder, context, &addresses, &cluster.server, "https://127.0.0.1:6443")?;
    for (source, target) in [
        ("containerd.toml", "settings/containerd.toml"),
        ("kubelet.yaml", "settings/kubelet.yaml"),
        ("kube-proxy.yaml", "settings/kube-proxy.yaml"),
        ("pods.conflist", "settings/net.d/pods.conflist"),
    ] {
        let path = root().join("testbed/node").join(source);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(folder.join(target), text.replace("@N@", &number.to_string()))?;
    }
    Ok(())
}

/// Writes what the first process has to do.
fn write_plan(cluster: &Cluster, kubernetes: &Path, debian: &Path) -> Result<()> {
    let number = cluster.subnet;
    let config = ClusterConfig {
        home: HOME.into(),
        kubeall: "/run/kubernetes/kubeall".into(),
        address: format!("10.{number}.0.2"),
        ports: [6443, 2379, 2380, 10257, 10259],
        services: format!("10.{number}.2.0/24"),
    };
    let components = [config.core(), config.controllers(), config.runtime(&IMAGES)].concat();
    let components: Vec<Value> = components.iter().map(super::components::Component::to_json).collect();
    let plan = json!({
        "kubernetes": kubernetes.to_string_lossy(),
        "debian": debian.to_string_lossy(),
        "address": config.address,
        "components": components,
    });
    Ok(fs::write(cluster.folder.join("plan.json"), plan.to_string())?)
}

/// Starts the first process of the node: this program again, in namespaces of its own.
fn start(cluster: &mut Cluster) -> Result<()> {
    let [unshare, namespaces @ ..] = UNSHARE;
    let log = fs::File::create(log(&cluster.folder, "node"))?;
    let mut command = Command::new(unshare);
    command.args(namespaces).arg(std::env::current_exe()?).args(["cluster", "node-init"]);
    command.arg(&cluster.folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
    let parent = command.spawn().context("cannot start unshare")?.id();
    let limit = Instant::now() + Duration::from_secs(5);
    let child = loop {
        if let Some(child) = child_of(parent) {
            break child;
        }
        if Instant::now() > limit {
            bail!("unshare starts nothing");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    cluster.processes.push(("node".to_owned(), child));
    cluster.save()
}

fn child_of(parent: u32) -> Option<u32> {
    let wanted = format!("\nPPid:\t{parent}\n");
    fs::read_dir("/proc").ok()?.find_map(|entry| {
        let path = entry.ok()?.path();
        let pid = path.file_name()?.to_str()?.parse().ok()?;
        fs::read_to_string(path.join("status")).ok()?.contains(&wanted).then_some(pid)
    })
}

/// Joins the node's network to the machine's: tests reach the server, pods and Services; nothing leaves the machine.
fn connect(cluster: &Cluster) -> Result<()> {
    let (number, link) = (cluster.subnet, link(cluster.subnet));
    let (_, pid) = cluster.processes.first().context("the node was started")?;
    let ip = |words: &str| output(Command::new("ip").args(words.split(' '))).map(drop);
    ip(&format!("link add {link} type veth peer name eth0 netns {pid}"))?;
    ip(&format!("address add 10.{number}.0.1/24 dev {link}"))?;
    ip(&format!("link set {link} up"))?;
    ip(&format!("route add 10.{number}.1.0/24 via 10.{number}.0.2"))?;
    ip(&format!("route add 10.{number}.2.0/24 via 10.{number}.0.2"))
}

/// The cgroup hierarchies: one in v2, many in v1.
fn hierarchies() -> Result<Vec<PathBuf>> {
    let root = Path::new("/sys/fs/cgroup");
    if root.join("cgroup.controllers").is_file() {
        for controller in ["cpuset", "cpu", "io", "memory", "pids"] {
            // Fails for controllers that are missing or already enabled.
            let _ = fs::write(root.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        return Ok(vec![root.to_owned()]);
    }
    let entries = fs::read_dir(root).context("this machine has no control groups")?;
    let folders = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut folders: Vec<PathBuf> = folders.filter(|folder| folder.join("cgroup.procs").is_file()).collect();
    folders.sort();
    Ok(folders)
}

/// Removes a cgroup and those below it. They are empty once the kernel has removed the last process.
fn remove_cgroup(folder: &Path) -> Result<()> {
    let limit = Instant::now() + Duration::from_secs(5);
    while folder.is_dir() {
        remove_below(folder);
        if Instant::now() > limit {
            bail!("{} cannot be removed", folder.display());
        }
        if folder.is_dir() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn remove_below(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_found_in_the_table_of_routes() {
        let routes = "Iface\tDestination\tGateway\neth0\t00000000\t010011AC\npintle90\t00015A0A\t02005A0A\n";
        assert!(is_routed(routes, 90));
        assert!(!is_routed(routes, 91));
    }
}
