//! The first process of a node: arranges the file system and the network that the components see, then starts them, restarts
//! those that exit, and reaps orphans.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, WaitOptions, wait};
use serde_json::Value;

use super::components::{Component, log};
use crate::shell::{output, print_line};

/// The state folder as seen inside: short, because paths of sockets must be.
pub(super) const HOME: &str = "/run/pintle";

/// The sysctls that the kubelet sets although they apply to the whole machine.
const SETTINGS: [&str; 6] = [
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
];

/// Runs the node whose state is in `folder`, until it is killed.
pub(super) fn run(folder: &Path) -> Result<()> {
    let plan: Value = serde_json::from_slice(&fs::read(folder.join("plan.json"))?)?;
    let text = |key: &str| plan[key].as_str().with_context(|| format!("the plan has no `{key}`"));
    arrange_files(folder, text("kubernetes")?, text("debian")?)?;
    arrange_network(text("address")?)?;
    let components = plan["components"].as_array().context("the plan has no components")?;
    let components: Option<Vec<Component>> = components.iter().map(Component::from_json).collect();
    supervise(components.context("the plan has components that cannot be read")?)
}

/// A view of the machine in which nothing can be written but the state folder.
fn arrange_files(folder: &Path, kubernetes: &str, debian: &str) -> Result<()> {
    mount(&["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])?;
    for (source, target) in
        [(&*folder.to_string_lossy(), HOME), (kubernetes, "/run/kubernetes"), (debian, "/run/debian")]
    {
        fs::create_dir_all(target)?;
        mount(&["--bind", source, target])?;
    }
    no_resolver()?;
    // Volumes of the host-path provisioner are in /tmp, some logs and the state of the network plugins in /var.
    for part in ["tmp", "var", "var-work"] {
        fs::create_dir_all(format!("{HOME}/{part}"))?;
    }
    Command::new("chmod").args(["1777", &format!("{HOME}/tmp")]).status()?;
    mount(&["--bind", &format!("{HOME}/tmp"), "/tmp"])?;
    let layers = format!("lowerdir=/var,upperdir={HOME}/var,workdir={HOME}/var-work");
    mount(&["-t", "overlay", "-o", &layers, "overlay", "/var"])?;
    own_devices()?;
    for setting in SETTINGS {
        keep_setting(setting)?;
    }
    mount(&["-o", "remount,bind,ro", "/"])?;
    // containerd passes mounts on only where the root is shared.
    mount(&["--make-rshared", "/"])?;
    Ok(std::env::set_current_dir("/")?)
}

/// Makes name lookups fail at once, so that pulling a missing image fails within a second.
fn no_resolver() -> Result<()> {
    let file = "/run/resolv.conf";
    fs::write(file, "nameserver 127.0.0.1\n")?;
    let path = Path::new("/etc/resolv.conf");
    if let Ok(target) = fs::read_link(path) {
        // On many machines this links into /run, which is empty here, so that there is no file to bind over.
        let target = Path::new("/etc").join(target);
        if !target.exists() {
            fs::create_dir_all(target.parent().context("a link leads to a file")?)?;
            return fs::copy(file, target).map(drop).context("cannot make resolv.conf");
        }
    }
    mount(&["--bind", file, "/etc/resolv.conf"])
}

/// Shows the network devices of this namespace in /sys, and the machine's control groups again below it.
fn own_devices() -> Result<()> {
    fs::create_dir_all("/run/cgroup")?;
    mount(&["--rbind", "/sys/fs/cgroup", "/run/cgroup"])?;
    mount(&["-t", "sysfs", "sysfs", "/sys"])?;
    mount(&["--rbind", "/run/cgroup", "/sys/fs/cgroup"])?;
    output(Command::new("umount").args(["--lazy", "/run/cgroup"])).map(drop)
}

/// Binds a copy over a sysctl, so that writes do not reach the machine.
fn keep_setting(name: &str) -> Result<()> {
    let setting = format!("/proc/sys/{name}");
    let copy = format!("/run/settings/{name}");
    fs::create_dir_all(Path::new(&copy).parent().context("a setting lies in a folder")?)?;
    fs::write(&copy, fs::read(&setting).with_context(|| format!("cannot read {setting}"))?)?;
    mount(&["--bind", &copy, &setting])
}

fn mount(arguments: &[&str]) -> Result<()> {
    output(Command::new("mount").args(arguments)).map(drop)
}

/// Waits for the machine's side of the network and gives it an address.
fn arrange_network(address: &str) -> Result<()> {
    fs::write("/proc/sys/kernel/hostname", "node1")?;
    let ip = |words: &str| output(Command::new("ip").args(words.split(' '))).map(drop);
    ip("link set lo up")?;
    let limit = Instant::now() + Duration::from_secs(10);
    while !Path::new("/sys/class/net/eth0").exists() {
        anyhow::ensure!(Instant::now() < limit, "the network does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
    ip(&format!("address add {address}/24 dev eth0"))?;
    ip("link set eth0 up")?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    // If the kernel has this sysctl, a pod can reach itself through a Service only if it is on.
    let _ = fs::write("/proc/sys/net/bridge/bridge-nf-call-iptables", "1");
    Ok(())
}

/// A component and its state.
struct Supervised {
    part: Component,
    process: Option<Pid>,
    /// Whether a component that exits by itself has done so.
    finished: bool,
    not_before: Instant,
}

fn supervise(components: Vec<Component>) -> Result<()> {
    let now = Instant::now();
    let fresh = |part| Supervised { part, process: None, finished: false, not_before: now };
    let mut components: Vec<Supervised> = components.into_iter().map(fresh).collect();
    loop {
        for supervised in &mut components {
            if supervised.may_start() {
                supervised.start()?;
            }
        }
        // A process that exits is either a component or an orphan of a container.
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(supervised) = components.iter_mut().find(|part| part.process == Some(pid)) {
                supervised.ended(status.exit_status())?;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Supervised {
    fn may_start(&self) -> bool {
        let is_done = |name: &String| Path::new(HOME).join("done").join(name).exists();
        self.process.is_none()
            && !self.finished
            && Instant::now() >= self.not_before
            && self.part.after.iter().all(is_done)
    }

    fn start(&mut self) -> Result<()> {
        let (program, arguments) = self.part.command.split_first().context("a part has a program")?;
        let path = log(Path::new(HOME), &self.part.name);
        let log = fs::File::options().create(true).append(true).open(path)?;
        let libraries = format!("/run/debian/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.env("PATH", "/run/debian/usr/bin:/run/debian/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LD_LIBRARY_PATH", libraries);
        let child = command.spawn().with_context(|| format!("cannot start {}", self.part.name))?;
        self.process = Some(Pid::from_child(&child));
        Ok(())
    }

    fn ended(&mut self, code: Option<i32>) -> Result<()> {
        self.process = None;
        self.finished = self.part.ends && code == Some(0);
        if self.finished {
            fs::write(Path::new(HOME).join("done").join(&self.part.name), "")?;
        } else {
            print_line(&format!("{} ended with {code:?}", self.part.name));
            let pause = if self.part.ends { 50 } else { 500 };
            self.not_before = Instant::now() + Duration::from_millis(pause);
        }
        Ok(())
    }
}
