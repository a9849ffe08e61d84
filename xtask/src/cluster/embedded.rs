//! The embedded API as a cluster: `pintle cluster serve`. The tests of `e2e/` must pass on it as on a real Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::components::Component;
use super::state::Cluster;
use super::{plain, ready};
use crate::shell::{cargo, program as built, run};

/// The name of the part, and of its log.
const COMPONENT: &str = "pintle";

/// The program under test; `PINTLE_E2E_PROGRAM` names another one.
pub(crate) fn program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PINTLE_E2E_PROGRAM") {
        return Ok(path.into());
    }
    run(&mut cargo(&["build", "--quiet", "--package", "pintle-cli"]))?;
    built("debug/pintle")
}

/// Starts the program and waits until it reports its address.
pub(super) fn up(cluster: &mut Cluster, program: &Path, context: &str) -> Result<()> {
    let served = cluster.folder.join("served");
    let kubernetes = cluster.kubernetes.clone();
    // Without TLS, because tests use curl and a proxy.
    let words = [
        "cluster",
        "serve",
        "--insecure",
        "--pace",
        "real",
        "--kube-version",
        &kubernetes,
        "--write-kubeconfig",
    ];
    let words = words.into_iter().map(ToOwned::to_owned);
    let command =
        [program.display().to_string()].into_iter().chain(words).chain([served.display().to_string()]);
    plain::start(cluster, &[Component::new(COMPONENT, command)])?;
    ready::wait(cluster, "our own API", COMPONENT, || address(&served).is_some())?;
    cluster.server = address(&served).context("the kubeconfig names no server")?;
    cluster.save()?;
    fs::write(cluster.kubeconfig(), kubeconfig(context, &cluster.server))?;
    Ok(())
}

/// The address of the API; `None` until the kubeconfig is written completely.
fn address(served: &Path) -> Option<String> {
    let text = fs::read_to_string(served).ok().filter(|text| text.contains("\ncurrent-context: "))?;
    text.lines().find_map(|line| line.trim().strip_prefix("server: ").map(ToOwned::to_owned))
}

/// As the one that was served, with a context that tests may write to.
fn kubeconfig(context: &str, server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {context}\n\
         contexts:\n- name: {context}\n  context: {{cluster: {context}, user: {context}}}\n\
         clusters:\n- name: {context}\n  cluster:\n    server: {server}\n\
         users:\n- name: {context}\n  user: {{}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_when_all_of_the_file_is_there() {
        let folder = std::env::temp_dir().join(format!("pintle-served-{}", std::process::id()));
        let head = "clusters:\n- cluster:\n    server: http://127.0.0.1:7\n";
        for (text, found) in [
            (head.to_owned(), None),
            (format!("{head}current-context: pintle\n"), Some("http://127.0.0.1:7")),
        ] {
            fs::write(&folder, text).unwrap();
            assert_eq!(address(&folder).as_deref(), found);
        }
        fs::remove_file(&folder).unwrap();
        assert_eq!(address(&folder), None);
    }
}
