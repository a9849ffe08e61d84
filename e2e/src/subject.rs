//! A release that tests do bad things to, and what can be said about it from outside.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Program, Ran, TestEnv};

/// How long what goes by itself may take to go.
const LIMIT: Duration = Duration::from_secs(180);

/// Where the program keeps releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// In objects of its own kinds.
    Native,
    /// In Secrets, as Helm does.
    Secrets,
}

/// A release, and the program that works on it.
#[derive(Clone, Debug)]
pub struct Subject<'b> {
    /// Where it is.
    pub env: &'b TestEnv,
    /// Where its records are.
    pub store: Store,
    /// Its name.
    pub name: String,
}

/// The files of the chart that is installed: four objects and their hooks, of which some have the value `word` in their
/// names and all have it as an annotation.
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

/// Writes the chart `chart` into the folder of a test.
pub fn write_chart(env: &TestEnv) {
    for (path, text) in CHART {
        env.write(&format!("chart/{path}"), text);
    }
}

impl<'b> Subject<'b> {
    /// A release of that name, which need not exist.
    pub fn new(env: &'b TestEnv, store: Store, name: &str) -> Subject<'b> {
        Subject { env, store, name: name.to_owned() }
    }

    /// A command of the program.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.env.command(Program::Pintle);
        if self.store == Store::Secrets {
            command.env("HELM_DRIVER", "secret");
        }
        command.args(words);
        command
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.command(words).output().expect("the program can be run").into()
    }

    /// Brings the release to a word, whatever it was before.
    pub fn upgrade(&self, word: &str) -> Ran {
        self.run(&["upgrade", "--install", &self.name, "chart", "--set", &format!("word={word}")])
    }

    /// Rolls the release back to a revision.
    pub fn rollback(&self, revision: u64) -> Ran {
        self.run(&["rollback", &self.name, &revision.to_string()])
    }

    /// Takes the release away.
    pub fn uninstall(&self) -> Ran {
        self.run(&["uninstall", &self.name])
    }

    /// Revisions and their states, oldest first; none when there is no such release.
    ///
    /// # Panics
    /// When the program says something else.
    #[track_caller]
    pub fn history(&self) -> Vec<(u64, String)> {
        let ran = self.run(&["history", &self.name, "--output", "json"]);
        if ran.code != Some(0) && ran.stderr.contains("not found") {
            return Vec::new();
        }
        let list: Value = serde_json::from_str(&ran.succeeded().stdout).expect("history is JSON");
        let entries = list.as_array().expect("history is a list").iter();
        let text = |entry: &Value| entry["status"].as_str().unwrap_or_default().to_owned();
        entries.map(|entry| (entry["revision"].as_u64().unwrap_or_default(), text(entry))).collect()
    }

    /// The state and description of the release; `None` when there is none.
    ///
    /// # Panics
    /// When the program says something else.
    #[track_caller]
    pub fn status(&self) -> Option<(String, String)> {
        let ran = self.run(&["status", &self.name, "--output", "json"]);
        if ran.code != Some(0) && ran.stderr.contains("not found") {
            return None;
        }
        let status: Value = serde_json::from_str(&ran.succeeded().stdout).expect("status is JSON");
        let text = |key: &str| status["info"][key].as_str().unwrap_or_default().to_owned();
        Some((text("status"), text("description")))
    }

    /// The objects of the newest version, each with its kind, name and word.
    ///
    /// # Panics
    /// When there is no such release.
    #[track_caller]
    pub fn wanted(&self) -> BTreeSet<String> {
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

    /// The objects in the cluster that are marked as those of the release, each with its kind, name and word.
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

    /// Asserts that the release is deployed, that only its newest version says so, and that the cluster has exactly
    /// what that version wants.
    ///
    /// # Panics
    /// When it is not so.
    #[track_caller]
    pub fn is_sound(&self) {
        let history = self.history();
        let deployed: Vec<_> = history.iter().filter(|(_, status)| status == "deployed").collect();
        assert_eq!(deployed, history.last().into_iter().collect::<Vec<_>>(), "{history:?}");
        let open = |status: &str| status.starts_with("pending") || status == "uninstalling";
        assert!(!history.iter().any(|(_, status)| open(status)), "{history:?}");
        assert_eq!(self.live(), self.wanted(), "live and wanted objects of {} differ", self.name);
    }
}

/// What is in a namespace beside what Kubernetes itself puts there.
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
        // Clusters without our kinds have none of their objects.
        let list = env.api().read(&env.path(version, plural, ""));
        let items = list.as_ref().and_then(|list| list["items"].as_array()).into_iter().flatten();
        let names = items.filter_map(|item| item["metadata"]["name"].as_str());
        found.extend(names.filter(|name| *name != "kube-root-ca.crt").map(|name| format!("{plural}/{name}")));
    }
    found
}

impl TestEnv {
    /// Waits until nothing is left in the namespace; what belongs to something that is gone goes by itself.
    ///
    /// # Panics
    /// When something is left after minutes.
    #[track_caller]
    pub fn is_empty(&self) {
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
