//! The two clusters, and the programs that are run on them.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pintle_testkit::{real_helm, real_helm3};
use tempfile::TempDir;

use super::scenario::Scenario;

/// The timeout of a command.
const LIMIT: &str = "600";

/// The programs of scenarios.
pub(crate) struct Tools {
    programs: Vec<(&'static str, PathBuf)>,
    pub(crate) kubectl_version: String,
}

impl Tools {
    /// Finds the programs of a scenario, or returns which one is missing.
    pub(crate) fn find(scenario: &Scenario) -> Result<Tools, String> {
        let mut programs = vec![("pintle", PathBuf::from(env!("CARGO_BIN_EXE_pintle")))];
        let is_used = |name: &str| {
            scenario.steps.iter().any(|step| {
                step.command
                    .split(['|', '(', ';', '&'])
                    .any(|part| part.split_whitespace().any(|word| word == name))
            })
        };
        // Every scenario gets its namespace by kubectl.
        let kubectl = on_the_path("kubectl").ok_or("there is no kubectl")?;
        programs.push(("kubectl", kubectl.clone()));
        for (name, found) in [("helm", real_helm()), ("helm3", real_helm3())] {
            if is_used(name) {
                programs.push((name, found.ok_or_else(|| format!("there is no real {name}"))?));
            }
        }
        Ok(Tools { programs, kubectl_version: kubectl_version(&kubectl)? })
    }
}

fn on_the_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The minor version of kubectl, on which its output may depend.
fn kubectl_version(kubectl: &Path) -> Result<String, String> {
    let output = Command::new(kubectl).args(["version", "--client"]).output();
    let output = output.map_err(|error| format!("kubectl cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().find_map(|line| line.strip_prefix("Client Version: v"));
    let numbers: Vec<&str> = version.unwrap_or_default().split('.').take(2).collect();
    Ok(format!("v{}", numbers.join(".")))
}

/// A cluster.
pub(crate) enum Side {
    Real(PathBuf),
    Embedded,
}

impl Side {
    /// The real cluster. Only clusters that were created for tests are used.
    pub(crate) fn real(kubeconfig: &Path) -> Side {
        let text = std::fs::read_to_string(kubeconfig).expect("the kubeconfig can be read");
        assert!(text.contains("current-context: pintle-e2e"), "that cluster is not for tests");
        Side::Real(kubeconfig.to_owned())
    }

    pub(crate) fn embedded() -> Side {
        Side::Embedded
    }

    /// A directory with the files of a scenario, and its namespace.
    pub(crate) fn stage(&self, scenario: &Scenario, tools: &Tools) -> Stage {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let config = folder.path().join("kubeconfig");
        let server = match self {
            Side::Real(path) => {
                std::fs::copy(path, &config).expect("the kubeconfig can be copied");
                None
            }
            Side::Embedded => Some(Server::start(&config, &[])),
        };
        let programs = folder.path().join(".bin");
        std::fs::create_dir(&programs).expect("a folder can be made");
        for (name, path) in &tools.programs {
            std::os::unix::fs::symlink(path, programs.join(name)).expect("links can be made");
        }
        for (name, text) in &scenario.files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders can be made");
            std::fs::write(path, text).expect("files can be written");
        }
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/charts");
        std::os::unix::fs::symlink(examples, folder.path().join("charts")).expect("links can be made");
        let stage = Stage { folder, namespace: scenario.namespace.clone(), _server: server };
        stage.prepare();
        stage
    }
}

/// `pintle cluster serve`, until it is dropped.
pub(crate) struct Server(Child);

impl Server {
    pub(crate) fn start(kubeconfig: &Path, flags: &[&str]) -> Server {
        let mut server = Command::new(env!("CARGO_BIN_EXE_pintle"))
            .args(["cluster", "serve", "--write-kubeconfig"])
            .arg(kubeconfig)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        let output = server.stdout.take().expect("it prints");
        BufReader::new(output).read_line(&mut line).expect("it says where it is");
        assert!(line.starts_with("export KUBECONFIG="), "{line}");
        Server(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The environment of a scenario.
pub(crate) struct Stage {
    folder: TempDir,
    namespace: String,
    _server: Option<Server>,
}

impl Stage {
    fn prepare(&self) {
        let ns = &self.namespace;
        let must = |line: &str| {
            let (code, said) = self.run(line);
            assert_eq!(code, 0, "{line}: {said}");
        };
        must(&format!("kubectl delete namespace {ns} --ignore-not-found --timeout=300s"));
        must(&format!("kubectl create namespace {ns}"));
        must(&format!("kubectl config set-context --current --namespace={ns}"));
        // Pods cannot be created without it.
        must("for i in $(seq 180); do kubectl get serviceaccount default && exit; sleep 1; done; exit 1");
    }

    /// Runs a line; returns its exit code and output.
    pub(crate) fn run(&self, line: &str) -> (i32, String) {
        let here = self.folder.path();
        let mut path = std::ffi::OsString::from(here.join(".bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let output = Command::new("timeout")
            .args([LIMIT, "sh", "-c", line])
            .current_dir(here)
            .env_clear()
            .env("PATH", path)
            .env("HOME", here)
            .env("TZ", "UTC")
            .env("KUBECONFIG", here.join("kubeconfig"))
            .env("HELM_NAMESPACE", &self.namespace)
            .stdin(Stdio::null())
            .output()
            .expect("the shell runs");
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), said.replace(&*here.to_string_lossy(), "{here}"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A failed cleanup must not hide the result of the scenario.
        let _ = self.run(&format!("kubectl delete namespace {} --wait=false", self.namespace));
    }
}
