//! The environment of one test: a namespace and a working folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pintle_testkit::skip;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster_lock::{ClusterAccess, Lock};
use crate::embedded_server::EmbeddedServer;
use crate::{Api, Cluster, CommandResult, Level, Program};

/// The timeout for any condition on the cluster.
const LIMIT: Duration = Duration::from_secs(180);

/// The environment of one test. Its namespace and folder are deleted on drop.
#[derive(Debug)]
pub struct TestEnv {
    namespace: String,
    folder: TempDir,
    cluster: &'static Cluster,
    /// The embedded server, if the test has its own.
    served: Option<EmbeddedServer>,
    /// The lock on the shared cluster.
    _pass: Option<ClusterAccess>,
}

impl TestEnv {
    /// Creates the environment of `test`; `None` if there is no cluster, after printing that the test is skipped.
    ///
    /// # Panics
    /// If the namespace cannot be created.
    pub fn new(test: &str) -> Option<TestEnv> {
        let Some(cluster) = Cluster::named() else {
            skip(&format!("no test cluster for {test}"));
            return None;
        };
        Some(TestEnv::on(test, cluster, ClusterAccess::shared(&cluster.locks(), test)))
    }

    /// As [`TestEnv::new`], for a test that changes cluster-wide state: no other test runs at the same time.
    ///
    /// # Panics
    /// As [`TestEnv::new`].
    pub fn exclusive(test: &str) -> Option<TestEnv> {
        match Cluster::named() {
            Some(cluster) if cluster.level != Level::Embedded => {
                Some(TestEnv::on(test, cluster, ClusterAccess::exclusive(&cluster.locks())))
            }
            // Starting another embedded server is faster than waiting for all other tests.
            Some(_) => Some(TestEnv::embedded(test)),
            None => TestEnv::new(test),
        }
    }

    /// Creates an environment on an embedded server of its own, whatever the shared cluster is.
    ///
    /// # Panics
    /// If the server does not start.
    pub fn embedded(test: &str) -> TestEnv {
        let folder = TempDir::new().expect("a folder can be made");
        let (served, cluster) = EmbeddedServer::start(folder.path());
        // Leaked, because `Api` needs a static reference; the process is short-lived.
        let cluster = Box::leak(Box::new(cluster));
        TestEnv { namespace: namespace(test), folder, cluster, served: Some(served), _pass: None }.prepared()
    }

    fn on(test: &str, cluster: &'static Cluster, pass: ClusterAccess) -> TestEnv {
        let folder = TempDir::new().expect("a folder can be made");
        TestEnv { namespace: namespace(test), folder, cluster, served: None, _pass: Some(pass) }.prepared()
    }

    /// Creates the namespace.
    fn prepared(self) -> TestEnv {
        let env = self;
        fs::create_dir(env.folder.path().join("home")).expect("a folder can be made");
        env.api().create(
            "/api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": env.namespace}}),
        );
        // Pods cannot be created before the default service account exists.
        env.wait_for("v1", "serviceaccounts", "default", |account| account.is_some());
        env
    }

    /// As [`TestEnv::new`], but skipped where pods stay pending.
    ///
    /// # Panics
    /// As [`TestEnv::new`].
    pub fn with_pods(test: &str) -> Option<TestEnv> {
        if Cluster::named().is_some_and(|cluster| cluster.level == Level::ControlPlane) {
            skip(&format!("{test} needs running pods"));
            return None;
        }
        TestEnv::new(test)
    }

    /// The namespace of the test.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The working folder of the programs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The cluster of the test.
    pub fn cluster(&self) -> &Cluster {
        self.cluster
    }

    /// Acquires named locks, for resources that tests cannot share, such as a CRD.
    pub fn lock(&self, names: impl IntoIterator<Item = String>) -> Vec<Lock> {
        Lock::all(&self.cluster.locks(), names)
    }

    /// Direct access to the API server.
    pub fn api(&self) -> Api {
        Api(self.cluster)
    }

    /// Writes a file below the folder and returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let whole = self.folder.path().join(path);
        fs::create_dir_all(whole.parent().expect("a file lies in a folder")).expect("a folder can be made");
        fs::write(&whole, text).expect("a file can be written");
        whole
    }

    /// Builds a command with a clean environment, apart from the cluster and the namespace.
    ///
    /// # Panics
    /// If the program is missing.
    pub fn command(&self, program: Program) -> Command {
        let mut path = program.path();
        if program == Program::PintleAsHelm {
            path = self.called_helm(&path);
        }
        let mut command = Command::new(path);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TZ", "UTC");
        command.env("HOME", self.folder.path().join("home"));
        command.env("KUBECONFIG", &self.cluster.kubeconfig).env("HELM_NAMESPACE", &self.namespace);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// A link to the program with the name `helm`.
    fn called_helm(&self, program: &Path) -> PathBuf {
        let link = self.folder.path().join("home/helm");
        if !link.exists() {
            std::os::unix::fs::symlink(program, &link).expect("a link can be made");
        }
        link
    }

    /// Runs `program` and returns its result.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(&self, program: Program, arguments: &[&str]) -> CommandResult {
        let output = self.command(program).args(arguments).output();
        output.unwrap_or_else(|error| panic!("cannot run {program:?}: {error}")).into()
    }

    /// The API path of an object in the namespace, or of the list with an empty name:
    /// `path("apps/v1", "deployments", "web")`.
    pub fn path(&self, version: &str, plural: &str, name: &str) -> String {
        let root = if version.contains('/') { "apis" } else { "api" };
        let path = format!("/{root}/{version}/namespaces/{}/{plural}", self.namespace);
        if name.is_empty() { path } else { format!("{path}/{name}") }
    }

    /// An object in the namespace.
    pub fn object(&self, version: &str, plural: &str, name: &str) -> Option<Value> {
        self.api().read(&self.path(version, plural, name))
    }

    /// All objects of a kind in the namespace.
    pub fn objects(&self, version: &str, plural: &str) -> Vec<Value> {
        self.api().list(&self.path(version, plural, ""))
    }

    /// Waits until an object (or its absence) satisfies a condition, and returns it.
    ///
    /// # Panics
    /// If it does not within minutes.
    #[track_caller]
    pub fn wait_for(
        &self,
        version: &str,
        plural: &str,
        name: &str,
        mut wanted: impl FnMut(Option<&Value>) -> bool,
    ) -> Option<Value> {
        let limit = Instant::now() + LIMIT;
        loop {
            let object = self.object(version, plural, name);
            if wanted(object.as_ref()) {
                return object;
            }
            assert!(Instant::now() < limit, "{plural} {name} is not as wanted after {LIMIT:?}: {object:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if self.served.is_some() {
            // The namespace ends with the process.
            return;
        }
        let path = format!("/api/v1/namespaces/{}", self.namespace);
        let body = r#"{"propagationPolicy":"Background"}"#;
        // A failed cleanup must not hide the failure of the test; the cluster is deleted soon anyway.
        let _ = self.api().try_send("DELETE", &path, "application/json", body);
    }
}

/// A namespace name that is unique over tests and over runs on one cluster.
fn namespace(test: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let words: String =
        test.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let words: String = words.to_ascii_lowercase().chars().take(40).collect();
    format!("e2e-{}-{}-{count}", words.trim_matches('-'), std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespace_names_are_valid_and_unique() {
        let name = namespace("A_test with: a Very_long_name_that_goes_on_and_on_and_on");
        assert!(name.starts_with("e2e-a-test-with--a-very-long-name") && name.len() <= 63, "{name}");
        assert_ne!(namespace("same"), namespace("same"));
    }
}
