//! Two versions of a small chart, and what their comparison says.

use std::collections::BTreeMap;

use pintle_chart::{Chart, File, load_files};
use pintle_render::{Capabilities, Release, Target};
use pintle_upgrade::{Finding, FindingKind, Rename, Report, Request, Verdict, check, migrate};
use pintle_values::NullRules;

/// Two versions of a chart under test.
#[derive(Clone, Default)]
pub(crate) struct TestEnv {
    both: BTreeMap<String, String>,
    old: BTreeMap<String, String>,
    new: BTreeMap<String, String>,
    user: String,
    skip_documents: bool,
}

impl TestEnv {
    /// A file of both versions.
    pub(crate) fn both(mut self, name: &str, text: &str) -> Self {
        self.both.insert(name.to_owned(), text.to_owned());
        self
    }

    /// A file of the old version.
    pub(crate) fn before(mut self, name: &str, text: &str) -> Self {
        self.old.insert(name.to_owned(), text.to_owned());
        self
    }

    /// A file of the new version.
    pub(crate) fn after(mut self, name: &str, text: &str) -> Self {
        self.new.insert(name.to_owned(), text.to_owned());
        self
    }

    /// The values of the user.
    pub(crate) fn user(mut self, text: &str) -> Self {
        self.user = text.to_owned();
        self
    }

    /// Without what texts say.
    pub(crate) fn without_documents(mut self) -> Self {
        self.skip_documents = true;
        self
    }

    fn chart(&self, version: &str, own: &BTreeMap<String, String>) -> Chart {
        let mut files = self.both.clone();
        files.extend(own.clone());
        files
            .entry("Chart.yaml".to_owned())
            .or_insert_with(|| format!("apiVersion: v2\nname: web\nversion: {version}\n"));
        let files = files.into_iter().map(|(name, text)| File::new(name, text)).collect();
        load_files(files).expect("a good chart")
    }

    /// Compares the versions.
    pub(crate) fn check(&self) -> Report {
        let (old, new) = (self.chart("1.0.0", &self.old), self.chart("2.0.0", &self.new));
        let user = pintle_yaml::read_map(self.user.as_bytes()).expect("good values");
        let release = Release { name: "rel".into(), namespace: "ns".into(), revision: 2, is_upgrade: true };
        check(&Request {
            old: &old,
            new: &new,
            user: &user,
            target: &Target::offline(release, Capabilities::default()),
            nulls: NullRules::Helm4,
            documents: !self.skip_documents,
            schemas: true,
            load_schema: &|_| Err("nothing is loaded".to_owned()),
        })
        .expect("charts that can be compared")
    }

    /// The user's values after --write, which a second check must have nothing more to say about.
    pub(crate) fn written(&self) -> String {
        let report = self.check();
        let text = migrate(self.user.as_bytes(), &report.moves).expect("text that can be edited");
        let text = String::from_utf8(text.expect("values that move")).expect("UTF-8");
        let second = self.clone().user(&text).check();
        assert!(second.moves.is_empty(), "{:?}", second.moves);
        let is_value = |finding: &&Finding| {
            matches!(
                finding.kind,
                FindingKind::UnreadValue | FindingKind::ChangedMeaning | FindingKind::ChangedType
            )
        };
        let left: Vec<&Finding> = second
            .findings
            .iter()
            .filter(is_value)
            .filter(|finding| finding.severity.name() != "info")
            .collect();
        assert!(left.is_empty(), "{left:?}");
        text
    }
}

/// The findings of a kind.
pub(crate) fn of_kind(report: &Report, kind: FindingKind) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.kind == kind).collect()
}

/// The first guess for a value.
pub(crate) fn guess<'r>(report: &'r Report, from: &str) -> Option<&'r Rename> {
    let mut renames = report.findings.iter().flat_map(|finding| &finding.renames);
    renames.find(|rename| rename.from.to_string() == from)
}

/// Asserts that a value moved, and that this is proven.
pub(crate) fn assert_proven(report: &Report, from: &str, to: &str) {
    let rename = guess(report, from).unwrap_or_else(|| panic!("no guess for {from}: {:#?}", report.findings));
    assert_eq!((rename.to.to_string().as_str(), rename.verdict), (to, Verdict::Proven), "{rename:?}");
}

/// A Deployment with the given lines in its spec, container and pod.
pub(crate) fn deployment(spec: &str, container: &str, pod: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n{spec}  selector:\n    matchLabels: {{app: web}}\n  \
         template:\n    metadata:\n      labels: {{app: web}}\n    spec:\n{pod}      containers:\n      - name: web\n        image: nginx:1.25\n{container}"
    )
}
