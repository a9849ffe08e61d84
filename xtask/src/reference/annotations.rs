//! The page of annotations and labels, and the check that the sources read no others.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell::root;

/// A table of the page.
struct Table {
    title: &'static str,
    about: &'static str,
    rows: &'static [(&'static str, &'static str)],
}

const TABLES: &[Table] = &[
    Table {
        title: "Hooks",
        about: "On objects of a chart. [Hooks](../guide/hooks.md) has examples.",
        rows: &[
            ("helm.sh/hook", "makes the object a hook: a list of events, such as `pre-install,pre-upgrade`"),
            ("helm.sh/hook-weight", "the order among the hooks of an event: one number, or one per event"),
            ("helm.sh/hook-weights", "the order by event: `pre-install=-5,post-install=5`"),
            (
                "helm.sh/hook-delete-policy",
                "when the object is deleted: `before-hook-creation`, `hook-succeeded`, `hook-failed`",
            ),
            ("helm.sh/hook-output-log-policy", "when the log is shown: `hook-succeeded`, `hook-failed`"),
            ("helm.sh/hook-policy", "`unmanaged` lets the object outlive its release"),
            ("helm.sh/hook-timeout", "how long the hook may take, such as `10m`"),
            (
                "helm.sh/hook-env",
                "anything but `true` leaves out the environment variables with event and weight",
            ),
            (
                "helm.sh/hook-name-suffix",
                "anything but `true` keeps the name when a hook of several events is split",
            ),
        ],
    },
    Table {
        title: "Objects",
        about: "On any object of a chart.",
        rows: &[
            (
                "helm.sh/resource-policy",
                "`keep` leaves the object in the cluster when the release no longer has it",
            ),
            (
                "helm.sh/recreate-policy",
                "what happens when a field cannot be changed in place: `recreate`, `orphan` or `never`",
            ),
            (
                "helm.sh/conflict-policy",
                "fields that others manage: `take`, `yield`, or `spec.replicas=yield, data=take`",
            ),
            (
                "helm.sh/drift-detection",
                "`disabled` leaves the object out of drift detection; also as a label",
            ),
            ("helm.sh/resource-group", "the group of objects that are applied together"),
            (
                "helm.sh/depends-on/resource-groups",
                "groups that have to be ready before the group of this object",
            ),
            (
                "helm.sh/depends-on/subcharts",
                "in Chart.yaml: subcharts that have to be ready before this one",
            ),
            ("helm.sh/readiness-success", "expressions of which one must hold for the object to be ready"),
            ("helm.sh/readiness-failure", "expressions of which none may hold"),
            ("helm.sh/chart", "a label by convention: name and version of the chart; it has no effect"),
            (
                "pintle.dev/simulate-*",
                "how a workload behaves on the embedded cluster ([list](../guide/embedded.md))",
            ),
        ],
    },
    Table {
        title: "HelmRequests",
        about: "For [the controller](../guide/controller.md).",
        rows: &[
            (
                "helm.sh/reconcile-requested-at",
                "asks for a reconciliation; any value that differs from the last one",
            ),
            (
                "helm.sh/force-requested-at",
                "asks for one upgrade even if nothing changed; with the value of `reconcile-requested-at`",
            ),
            (
                "helm.sh/reset-requested-at",
                "asks to forget failures; with the value of `reconcile-requested-at`",
            ),
            ("helm.sh/approve", "approves the plan with this digest"),
            ("helm.sh/deletion-policy", "`orphan` leaves the release as it is when the request is deleted"),
            ("helm.sh/watch", "a label of ConfigMaps and Secrets whose changes are noticed at once"),
            (
                "helm.sh/cluster",
                "a label of Secrets with kubeconfigs, and of requests of a set: the name of the cluster",
            ),
            (
                "helm.sh/approve-step",
                "on a HelmRequestSet: approves what follows a step; the value of `status.approvalNeeded`",
            ),
            (
                "helm.sh/resume-requested-at",
                "on a HelmRequestSet: goes on in spite of failures; any value that differs from the last one",
            ),
            (
                "helm.sh/retry-requested-at",
                "on a HelmRequestSet: tries clusters that failed again; any value that differs from the last one",
            ),
        ],
    },
    Table {
        title: "Written by Pintle",
        about: "On records and on objects of the controller. Changing them by hand has no good effect.",
        rows: &[
            (
                "helm.sh/release",
                "the release of an object that an Application lists, and the owner of pieces of records",
            ),
            ("helm.sh/request", "the finalizer of a HelmRequest"),
            ("helm.sh/request-uid", "the request that a version was made for"),
            ("helm.sh/request-namespace", "its namespace"),
            ("helm.sh/request-name", "its name"),
            (
                "helm.sh/request-digest",
                "the digest of the chart and values that a version or plan was made from",
            ),
            ("helm.sh/target-namespace", "the namespace of a release whose records are in another one"),
            ("helm.sh/request-set", "the set that a request belongs to"),
            ("helm.sh/set-digest", "the digest of what the set of a request wants"),
            (
                "helm.sh/ring",
                "a label of the Leases of replicas that share requests, with the name of the ring",
            ),
            ("helm.sh/ring-table", "which replica owns which slot"),
            ("helm.sh/ring-coordinator", "the replica that writes the table"),
            ("helm.sh/ring-ack", "what a replica says about the table"),
            (
                "helm.sh/chart-content",
                "the digest of a chart that versions share, on them and on the Secrets that have it",
            ),
            (
                "helm.sh/unreferenced",
                "on such a Secret: no version was found that needs it; the next search deletes it",
            ),
            ("helm.sh/plan", "the type of Secrets with plans that wait for approval"),
            ("pintle.dev/chart-url", "where the chart of a version came from"),
            ("pintle.dev/chart-repository", "the repository that it came from"),
            ("pintle.dev/chart-digest", "the digest of its archive"),
            ("pintle.dev/chart-source.yaml", "the same as a file of the chart in Helm's records"),
            (
                "pintle.dev/rendered-values.yaml",
                "a file of the chart in Helm's records: the values that it was rendered with",
            ),
            (
                "pintle.dev/subchart-order.json",
                "a file of the chart in Helm's records: which subchart waits for which",
            ),
            ("helm.sh/release.v1", "the type of Secrets with Helm's records"),
            ("helm.sh/release-payload.v3", "the type of Secrets with pieces of large records"),
            ("pintle.dev/lease-holder", "who operates on a release"),
            ("pintle.dev/lease-acquire-time", "since when"),
            ("pintle.dev/lease-renew-time", "when the lease was last renewed"),
            ("pintle.dev/lease-duration-seconds", "how long it holds without a renewal"),
            ("pintle.dev/successor", "the version that follows; only one writer can set it"),
            ("pintle.dev/moved-to", "the store that has the release now"),
            ("pintle.dev/permissions", "the permissions that scripts of the version had"),
            ("pintle.dev/handles-list-events", "scripts of the version handle list events"),
            ("pintle.dev/hears-of-lists", "the same, in older records"),
            ("pintle.dev/embedded", "marks objects that the embedded cluster made by itself"),
        ],
    },
];

/// The page.
///
/// # Errors
/// When the sources name an annotation that no table has.
pub(super) fn page() -> Result<String> {
    let missing = missing()?;
    if !missing.is_empty() {
        bail!("not in the tables of xtask/src/reference/annotations.rs: {}", missing.join(", "));
    }
    let mut page = String::from("# Annotations and labels\n");
    for table in TABLES {
        page.push_str(&format!("\n## {}\n\n{}\n\n| name | meaning |\n|---|---|\n", table.title, table.about));
        for (name, meaning) in table.rows {
            page.push_str(&format!("| `{name}` | {} |\n", meaning.replace('|', "\\|")));
        }
    }
    Ok(page)
}

/// The names in string literals of the sources that are in no table.
fn missing() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let folder = entry?.path().join("src");
        if folder.is_dir() {
            walk(&folder, &mut found)?;
        }
    }
    found.sort();
    found.dedup();
    let known = |name: &String| {
        TABLES.iter().flat_map(|table| table.rows).any(|(known, _)| match known.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => known == name,
        })
    };
    Ok(found.into_iter().filter(|name| !known(name)).collect())
}

fn walk(folder: &Path, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" {
                walk(&path, found)?;
            }
        } else if name.ends_with(".rs") && !name.contains("tests") {
            names_in(&fs::read_to_string(&path)?, found);
        }
    }
    Ok(())
}

/// Literals that are a name and nothing else. Prefixes and versions of API groups are none.
fn names_in(text: &str, found: &mut Vec<String>) {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    for prefix in ["\"helm.sh/", "\"pintle.dev/"] {
        for rest in code.split(prefix).skip(1) {
            let Some((name, _)) = rest.split_once('"') else { continue };
            let is_version = name.starts_with('v') && name[1..].starts_with(|c: char| c.is_ascii_digit());
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '/' | '.'));
            let is_prefix = name.is_empty() || name.ends_with(['-', '/']);
            if is_name && !is_prefix && !is_version {
                found.push(format!("{}{name}", &prefix[1..]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_versions_and_prefixes_are_none() {
        let mut found = Vec::new();
        names_in(r#"a("helm.sh/hook") b("helm.sh/v3") c("pintle.dev/") d("helm.sh/x: y")"#, &mut found);
        assert_eq!(found, ["helm.sh/hook"]);
    }

    #[test]
    fn the_sources_read_nothing_that_no_table_has() {
        assert_eq!(missing().expect("the sources are read"), Vec::<String>::new());
    }
}
