//! A release under test for failure scenarios, with checks that do not trust the program under test.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{CommandResult, Program, TestEnv};

/// The timeout for garbage collection.
const LIMIT: Duration = Duration::from_secs(180);

/// The storage driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Pintle's own kinds.
    Native,
    /// Helm's Secrets.
    Secrets,
}

/// A release in a namespace of its own, and its storage driver.
#[derive(Clone, Debug)]
pub struct TestRelease<'b> {
    /// The namespace and cluster.
    pub env: &'b TestEnv,
    /// The storage driver.
    pub store: Store,
    /// The release name.
    pub name: String,
}

/// The files of the test chart: four objects and hooks. All have the value `word` as an annotation, some also in their names,
/// so that an upgrade changes, adds and removes objects.
const CHART: [(&str, &str); 9] = [
    ("Chart.yaml", include_str!("../charts/subject/Chart.yaml")),
    ("values.yaml", include_str!("../charts/subject/values.yaml")),
    ("templates/settings.yaml", include_str!("../charts/subject/templates/settings.yaml")),
    ("templates/only.yaml", include_str!("../charts/subject/templates/only.yaml")),
    ("templates/key.yaml", include_str!("../charts/subject/templates/key.yaml")),
    ("templates/web.yaml", include_str!("../charts/subject/templates/web.yaml")),
    ("templates/before.yaml", include_str!("../charts/subject/templates/before.yaml")),
    ("templates/after.yaml", include_str!("../charts/subject/templates/after.yaml")),
    ("templates/slow.yaml", include_str!("../charts/subject/templates/slow.yaml")),
];

/// Writes the test chart to `chart` in the folder of a test.
pub fn write_chart(env: &TestEnv) {
    for (path, text) in CHART {
        env.write(&format!("chart/{path}"), text);
    }
}

impl<'b> TestRelease<'b> {
    /// Refers to a release, which need not exist.
    pub fn new(env: &'b TestEnv, store: Store, name: &str) -> TestRelease<'b> {
        TestRelease { env, store, name: name.to_owned() }
    }

    /// Builds a command for this driver and namespace.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.env.command(Program::Pintle);
        if self.store == Store::Secrets {
            command.env("HELM_DRIVER", "secret");
        }
        command.args(words);
        command
    }

    /// Runs a command.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(&self, words: &[&str]) -> CommandResult {
        self.command(words).output().expect("the program can be run").into()
    }

    /// Installs or upgrades the release with this `word`.
    pub fn upgrade(&self, word: &str) -> CommandResult {
        self.run(&["upgrade", "--install", &self.name, "chart", "--set", &format!("word={word}")])
    }

    /// Rolls the release back to a revision.
    pub fn rollback(&self, revision: u64) -> CommandResult {
        self.run(&["rollback", &self.name, &revision.to_string()])
    }

    /// Uninstalls the release.
    pub fn uninstall(&self) -> CommandResult {
        self.run(&["uninstall", &self.name])
    }

    /// The revisions with their statuses, oldest first; empty if there is no release.
    ///
    /// # Panics
    /// On unexpected output.
    #[track_caller]
    pub fn history(&self) -> Vec<(u64, String)> {
        let ran = self.run(&["history", &self.name, "--output", "json"]);
        if ran.code != Some(0) && is_missing(&ran.stderr) {
            return Vec::new();
        }
        let list: Value = serde_json::from_str(&ran.succeeded().stdout).expect("history is JSON");
        let entries = list.as_array().expect("history is a list").iter();
        let text = |entry: &Value| entry["status"].as_str().unwrap_or_default().to_owned();
        entries.map(|entry| (entry["revision"].as_u64().unwrap_or_default(), text(entry))).collect()
    }

    /// The status and description of the release; `None` if there is none.
    ///
    /// # Panics
    /// On unexpected output.
    #[track_caller]
    pub fn status(&self) -> Option<(String, String)> {
        let ran = self.run(&["status", &self.name, "--output", "json"]);
        if ran.code != Some(0) && is_missing(&ran.stderr) {
            return None;
        }
        let status: Value = serde_json::from_str(&ran.succeeded().stdout).expect("status is JSON");
        let text = |key: &str| status["info"][key].as_str().unwrap_or_default().to_owned();
        Some((text("status"), text("description")))
    }

    /// The objects in the manifest of the newest revision, as kind, name and word.
    ///
    /// # Panics
    /// If there is no release.
    #[track_caller]
    pub fn desired(&self) -> BTreeSet<String> {
        let manifest = self.run(&["get", "manifest", &self.name]).succeeded().stdout;
        let documents = manifest.split("---\n").filter(|document| document.contains("kind:"));
        let line = |document: &str, start: &str| {
            let found = document.lines().find_map(|line| line.strip_prefix(start).map(str::to_owned));
            found.unwrap_or_else(|| panic!("no {start:?} in {document}"))
        };
        documents
            .map(|document| {
                let (kind, name) = (line(document, "kind: "), line(document, "  name: "));
                format!("{kind} {name} {}", line(document, "    word: "))
            })
            .collect()
    }

    /// The objects in the cluster with the labels of the release, as kind, name and word.
    pub fn live(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (version, plural, kind) in [
            ("v1", "configmaps", "ConfigMap"),
            ("v1", "secrets", "Secret"),
            ("apps/v1", "deployments", "Deployment"),
        ] {
            for object in self.env.objects(version, plural) {
                let annotation =
                    |key: &str| object["metadata"]["annotations"][key].as_str().unwrap_or_default();
                if annotation("meta.helm.sh/release-name") == self.name {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    found.insert(format!("{kind} {name} {}", annotation("word")));
                }
            }
        }
        found
    }

    /// Asserts that exactly the newest revision is deployed and that the cluster has exactly its objects.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn assert_consistent(&self) {
        let history = self.history();
        let deployed: Vec<_> = history.iter().filter(|(_, status)| status == "deployed").collect();
        assert_eq!(deployed, history.last().into_iter().collect::<Vec<_>>(), "{history:?}");
        let open = |status: &str| status.starts_with("pending") || status == "uninstalling";
        assert!(!history.iter().any(|(_, status)| open(status)), "{history:?}");
        assert_eq!(self.live(), self.desired(), "live and desired objects of {} differ", self.name);
    }
}

/// The objects in a namespace except those that Kubernetes creates.
fn contents(env: &TestEnv) -> Vec<String> {
    let mut found = Vec::new();
    let kinds = [
        ("v1", "configmaps"),
        ("v1", "secrets"),
        ("apps/v1", "deployments"),
        ("helm.sh/v3", "releases"),
        ("helm.sh/v3", "releaseversions"),
    ];
    for (version, plural) in kinds {
        // The CRDs may not be installed.
        let list = env.api().read(&env.path(version, plural, ""));
        let items = list.as_ref().and_then(|list| list["items"].as_array()).into_iter().flatten();
        let names = items.filter_map(|item| item["metadata"]["name"].as_str());
        found.extend(names.filter(|name| *name != "kube-root-ca.crt").map(|name| format!("{plural}/{name}")));
    }
    found
}

impl TestEnv {
    /// Waits until the namespace is empty; dependents are garbage-collected with a delay.
    ///
    /// # Panics
    /// If something is left after minutes.
    #[track_caller]
    pub fn assert_empty(&self) {
        let limit = Instant::now() + LIMIT;
        loop {
            let found = contents(self);
            if found.is_empty() {
                return;
            }
            assert!(Instant::now() < limit, "left behind: {found:#?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Whether an error says that there is no such release, in the words of `helm` or of `pintle`.
fn is_missing(error: &str) -> bool {
    ["not found", "there is no release"].iter().any(|text| error.contains(text))
}
