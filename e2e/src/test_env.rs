//! A place for one test: a namespace, a folder, and what happens in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pintle_testkit::skip;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::gate::{Lock, Pass};
use crate::served::Served;
use crate::{Api, Cluster, Level, Program, Ran};

/// How long the cluster may take for anything.
const LIMIT: Duration = Duration::from_secs(180);

/// A place for one test. Its namespace and folder go when it is dropped.
#[derive(Debug)]
pub struct TestEnv {
    namespace: String,
    folder: TempDir,
    cluster: &'static Cluster,
    /// The process behind the cluster, if it is there for this test alone.
    served: Option<Served>,
    /// The way in, where other tests are on the cluster.
    _pass: Option<Pass>,
}

impl TestEnv {
    /// A place for `test`, or `None` and a line that says why not.
    ///
    /// # Panics
    /// When there is a cluster but no namespace can be had.
    pub fn new(test: &str) -> Option<TestEnv> {
        let Some(cluster) = Cluster::named() else {
            skip(&format!("no test cluster for {test}"));
            return None;
        };
        Some(TestEnv::on(test, cluster, Pass::to_share(&cluster.locks(), test)))
    }

    /// As [`TestEnv::new`], for a test that changes something of the whole cluster: nobody else is on it.
    ///
    /// # Panics
    /// As [`TestEnv::new`].
    pub fn alone(test: &str) -> Option<TestEnv> {
        match Cluster::named() {
            Some(cluster) if cluster.level != Level::Embedded => {
                Some(TestEnv::on(test, cluster, Pass::to_be_alone(&cluster.locks())))
            }
            // Another one costs less than to wait until the others are done.
            Some(_) => Some(TestEnv::embedded(test)),
            None => TestEnv::new(test),
        }
    }

    /// A place for `test` on our own API, which is started for it, whatever cluster the other tests have.
    ///
    /// # Panics
    /// When it does not start.
    pub fn embedded(test: &str) -> TestEnv {
        let folder = TempDir::new().expect("a folder can be made");
        let (served, cluster) = Served::start(folder.path());
        // Programs and requests refer to it as long as the test lasts, and the process ends soon after.
        let cluster = Box::leak(Box::new(cluster));
        TestEnv { namespace: namespace(test), folder, cluster, served: Some(served), _pass: None }.prepared()
    }

    fn on(test: &str, cluster: &'static Cluster, pass: Pass) -> TestEnv {
        let folder = TempDir::new().expect("a folder can be made");
        TestEnv { namespace: namespace(test), folder, cluster, served: None, _pass: Some(pass) }.prepared()
    }

    /// Makes the namespace.
    fn prepared(self) -> TestEnv {
        let env = self;
        fs::create_dir(env.folder.path().join("home")).expect("a folder can be made");
        env.api().create(
            "/api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": env.namespace}}),
        );
        // Without it no pod can be made.
        env.wait_for("v1", "serviceaccounts", "default", |account| account.is_some());
        env
    }

    /// As [`TestEnv::new`], where pods go through their states.
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

    /// The folder of the test, in which programs run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The cluster of the test.
    pub fn cluster(&self) -> &Cluster {
        self.cluster
    }

    /// Waits until no other test has the locks of these names: for something that two would fight for.
    pub fn lock(&self, names: impl IntoIterator<Item = String>) -> Vec<Lock> {
        Lock::all(&self.cluster.locks(), names)
    }

    /// The server itself.
    pub fn api(&self) -> Api {
        Api(self.cluster)
    }

    /// Writes a file into the folder.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let whole = self.folder.path().join(path);
        fs::create_dir_all(whole.parent().expect("a file lies in a folder")).expect("a folder can be made");
        fs::write(&whole, text).expect("a file can be written");
        whole
    }

    /// A command of `program` that knows the cluster and the namespace, and nothing else of this machine.
    ///
    /// # Panics
    /// When the program is not there.
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

    /// The program by another name.
    fn called_helm(&self, program: &Path) -> PathBuf {
        let link = self.folder.path().join("home/helm");
        if !link.exists() {
            std::os::unix::fs::symlink(program, &link).expect("a link can be made");
        }
        link
    }

    /// Runs `program` to its end.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn run(&self, program: Program, arguments: &[&str]) -> Ran {
        let output = self.command(program).args(arguments).output();
        output.unwrap_or_else(|error| panic!("cannot run {program:?}: {error}")).into()
    }

    /// The path of an object in the namespace, or with an empty name of all of its kind:
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

    /// Waits until an object, or its absence, is as wanted, and gives it.
    ///
    /// # Panics
    /// When it is not so after minutes.
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
            // Everything goes with the process.
            return;
        }
        let path = format!("/api/v1/namespaces/{}", self.namespace);
        let body = r#"{"propagationPolicy":"Background"}"#;
        // What a test found must not be hidden behind a failure to clean up, and the cluster goes soon anyway.
        let _ = self.api().try_send("DELETE", &path, "application/json", body);
    }
}

/// A name that no other test, and no other run on the same cluster, has.
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
    fn namespaces_have_names_that_kubernetes_takes_and_no_two_are_equal() {
        let name = namespace("A_test with: a Very_long_name_that_goes_on_and_on_and_on");
        assert!(name.starts_with("e2e-a-test-with--a-very-long-name") && name.len() <= 63, "{name}");
        assert_ne!(namespace("same"), namespace("same"));
    }
}
