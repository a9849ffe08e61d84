//! The record of a running cluster, by which another run of the task finds and stops it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::Level;
use super::api::Api;
use crate::shell::cache;

/// A cluster that was started.
pub(crate) struct Cluster {
    pub(crate) name: String,
    /// Holds everything that the cluster writes.
    pub(crate) folder: PathBuf,
    pub(crate) level: Level,
    /// The minor version of its Kubernetes, such as `1.37`.
    pub(crate) kubernetes: String,
    pub(crate) server: String,
    /// The second octet of its addresses; 0 if it has no network of its own.
    pub(super) subnet: u8,
    /// The processes to kill, in the order in which they were started.
    pub(super) processes: Vec<(String, u32)>,
}

impl Cluster {
    /// Creates the folders of a new cluster, with access for the owner only.
    pub(super) fn create(name: &str, level: Level, kubernetes: &str) -> Result<Cluster> {
        let folder = folder(name)?;
        for part in [
            "keys",
            "access",
            "log/pods",
            "settings/net.d",
            "images",
            "done",
            "kubelet/plugins",
            "containerd",
        ] {
            fs::create_dir_all(folder.join(part))
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        for private in [folder.clone(), folder.join("etcd")] {
            fs::create_dir_all(&private)?;
            fs::set_permissions(&private, fs::Permissions::from_mode(0o700))?;
        }
        let (name, kubernetes, server) = (name.to_owned(), kubernetes.to_owned(), String::new());
        Ok(Cluster { name, folder, level, kubernetes, server, subnet: 0, processes: Vec::new() })
    }

    /// The cluster of this name, if it was started and not taken down.
    pub(crate) fn load(name: &str) -> Result<Option<Cluster>> {
        let folder = folder(name)?;
        let Ok(text) = fs::read(folder.join("cluster.json")) else { return Ok(None) };
        let record: Value = serde_json::from_slice(&text)
            .with_context(|| format!("{} is damaged; stop its processes and remove it", folder.display()))?;
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let processes = record["processes"].as_array().into_iter().flatten().filter_map(|entry| {
            Some((entry[0].as_str()?.to_owned(), u32::try_from(entry[1].as_u64()?).ok()?))
        });
        Ok(Some(Cluster {
            name: name.to_owned(),
            level: Level::named(&text("level"))?,
            kubernetes: text("kubernetes"),
            server: text("server"),
            subnet: record["subnet"].as_u64().and_then(|number| u8::try_from(number).ok()).unwrap_or(0),
            processes: processes.collect(),
            folder,
        }))
    }

    /// The names of all clusters that were started.
    pub(crate) fn names() -> Result<Vec<String>> {
        let Ok(entries) = fs::read_dir(cache()?.join("clusters")) else { return Ok(Vec::new()) };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    /// Writes the record; to be called as soon as there is something to end.
    pub(super) fn save(&self) -> Result<()> {
        let processes: Vec<Value> = self.processes.iter().map(|(name, pid)| json!([name, pid])).collect();
        let record = json!({
            "level": self.level.name(),
            "kubernetes": self.kubernetes,
            "server": self.server,
            "subnet": self.subnet,
            "processes": processes,
        });
        let path = self.folder.join("cluster.json");
        fs::write(&path, record.to_string()).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// The response of its server at `path`; `None` on failure.
    pub(crate) fn read(&self, path: &str) -> Option<Value> {
        Api::new(&self.server, &self.folder).read(path)
    }

    /// The response of its server at `path` as a `Table`; `None` on failure.
    pub(crate) fn read_table(&self, path: &str) -> Option<Value> {
        Api::new(&self.server, &self.folder).read_table(path)
    }

    /// The CPU time that its processes have taken so far.
    pub(crate) fn cpu_time(&self) -> Duration {
        // The kernel reports times to user space in hundredths of a second (`USER_HZ`), whatever its own tick is.
        const TICK: Duration = Duration::from_millis(10);
        let ticks = |pid: u32| -> Option<u32> {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name of the program, in parentheses, may have any character. User and system time are the 12th and
            // 13th field after it.
            let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
            Some(fields.get(11)?.parse::<u32>().ok()? + fields.get(12)?.parse::<u32>().ok()?)
        };
        TICK * self.processes.iter().filter_map(|(_, pid)| ticks(*pid)).sum::<u32>()
    }

    /// The first process that has ended though it should not, or was never started.
    pub(super) fn ended(&self) -> Option<&str> {
        if self.processes.is_empty() {
            return Some("the start");
        }
        let ended = |(_, pid): &&(String, u32)| !is_ours(*pid, &self.folder);
        self.processes.iter().find(ended).map(|(name, _)| name.as_str())
    }

    /// Kills the recorded processes, the newest first, and waits until they are gone. With SIGKILL, because the data is deleted
    /// anyway.
    pub(super) fn kill(&self) -> Result<()> {
        for (name, pid) in self.processes.iter().rev() {
            let Some(process) = i32::try_from(*pid).ok().and_then(Pid::from_raw) else { continue };
            if is_ours(*pid, &self.folder) {
                kill_process(process, Signal::KILL).with_context(|| format!("cannot end {name} ({pid})"))?;
            }
        }
        let limit = Instant::now() + Duration::from_secs(10);
        while let Some((name, pid)) = self.processes.iter().find(|(_, pid)| is_ours(*pid, &self.folder)) {
            if Instant::now() > limit {
                bail!("{name} ({pid}) does not end");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Removes everything that it wrote. Retries, because processes that were just killed may still hold files.
    pub(super) fn remove(&self) -> Result<()> {
        let limit = Instant::now() + Duration::from_secs(5);
        while let Err(error) = fs::remove_dir_all(&self.folder) {
            if error.kind() == std::io::ErrorKind::NotFound {
                break;
            }
            if Instant::now() > limit {
                return Err(error).with_context(|| format!("cannot remove {}", self.folder.display()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// The folder of the cluster `name`, which becomes part of paths and of names in the cluster.
pub(super) fn folder(name: &str) -> Result<PathBuf> {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if name.is_empty() || name.len() > 30 || !name.chars().all(fits) {
        bail!("`{name}` is no name for a cluster; use up to 30 lower-case letters, digits and dashes");
    }
    Ok(cache()?.join("clusters").join(name))
}

/// Whether the process is alive and was started for the cluster in `folder`: PIDs are reused, but each of our processes has
/// the folder on its command line. One that is just being started has no command line yet, but an executable; a zombie has
/// neither.
fn is_ours(pid: u32, folder: &Path) -> bool {
    let Ok(words) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    if words.is_empty() {
        return fs::read_link(format!("/proc/{pid}/exe")).is_ok();
    }
    String::from_utf8_lossy(&words).contains(&*folder.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;

    use super::*;

    #[test]
    fn names_cannot_leave_the_folder_of_clusters() {
        for name in ["", "..", "a/b", "Abc", &"a".repeat(31)] {
            assert!(folder(name).is_err(), "{name}");
        }
        assert!(folder("run-12").is_ok());
    }

    #[test]
    fn a_process_of_somebody_else_is_not_ours() {
        assert!(!is_ours(std::process::id(), Path::new("/no/such/folder/of/clusters")));
        assert!(!is_ours(u32::MAX, Path::new("/")));
    }

    #[test]
    fn a_process_is_ours_from_its_first_moment_to_its_last() {
        let folder = Path::new("/no/such/folder/of/clusters");
        for _ in 0..50 {
            let mut child = std::process::Command::new("sleep").arg("60").arg0(folder).spawn().unwrap();
            assert!(is_ours(child.id(), folder));
            child.kill().unwrap();
            // A zombie: it has exited, but its parent has not waited for it.
            let limit = Instant::now() + Duration::from_secs(5);
            while is_ours(child.id(), folder) && Instant::now() < limit {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(!is_ours(child.id(), folder));
            child.wait().unwrap();
        }
    }
}
