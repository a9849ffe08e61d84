//! What a real cluster says about a release, by kubectl: events, descriptions of pods, and logs, in chart-testing's frames.

use std::process::{Command, Stdio};

use super::Testing;
use crate::failure::Failure;

impl Testing<'_, '_> {
    /// Prints events of a namespace, and everything about its pods, or about those that a selector chooses.
    pub(super) fn print_details(&mut self, namespace: &str, selector: &str) -> Result<(), Failure> {
        let line = "=".repeat(120);
        self.print(&format!("{line}\n"))?;
        let events = ["get", "events", "--output", "wide", "--namespace", namespace];
        let events = [&events[..], &["--sort-by", "lastTimestamp"]].concat();
        self.print_detail(&format!("Events of namespace {namespace}"), ".", &events)?;
        let names = "jsonpath={.items[*].metadata.name}";
        let Some(pods) = self.pods(&["--namespace", namespace, "--selector", selector, "--output", names])?
        else {
            return Ok(());
        };
        for pod in &pods {
            self.print_pod(namespace, pod)?;
        }
        self.print(&format!("{line}\n"))
    }

    fn print_pod(&mut self, namespace: &str, pod: &str) -> Result<(), Failure> {
        let describe = ["describe", "pod", pod, "--namespace", namespace];
        self.print_detail(&format!("Description of pod {pod}"), "~", &describe)?;
        if !self.config.print_logs {
            return Ok(());
        }
        for (what, field) in [("init container", "initContainers"), ("container", "containers")] {
            let names = format!("jsonpath={{.spec.{field}[*].name}}");
            let containers = self.pods(&[pod, "--namespace", namespace, "--output", &names])?;
            for container in containers.into_iter().flatten() {
                let logs = ["logs", pod, "--namespace", namespace, "--container", &container];
                self.print_detail(&format!("Logs of {what} {pod}"), "-", &logs)?;
            }
        }
        Ok(())
    }

    /// The output of kubectl, in a frame.
    fn print_detail(&mut self, title: &str, delimiter: &str, arguments: &[&str]) -> Result<(), Failure> {
        let line = delimiter.repeat(120);
        let (begin, end) = match self.config.github_groups {
            true => (format!("::group::{title}\n"), "::endgroup::\n".to_owned()),
            false => (format!("{line}\n==> {title}\n{line}\n"), format!("{line}\n<== {title}\n{line}\n")),
        };
        self.print(&begin)?;
        match self.kubectl(arguments)? {
            true => self.print(&end),
            false => self.print("Error printing details: failed waiting for process: exit status 1\n"),
        }
    }

    /// The words that `kubectl get pods` prints; `None` if it fails.
    fn pods(&mut self, arguments: &[&str]) -> Result<Option<Vec<String>>, Failure> {
        let words = [&["get", "pods", "--no-headers"], arguments].concat();
        let output = self.kubectl_command(&words)?.stderr(Stdio::inherit()).output();
        match output {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                Ok(Some(text.split_whitespace().map(str::to_owned).collect()))
            }
            Ok(_) => {
                self.print("Error printing logs: failed running process: exit status 1\n")?;
                Ok(None)
            }
            Err(error) => {
                self.invocation.ui.warn(&format!("kubectl: {error}"));
                Ok(None)
            }
        }
    }

    /// Runs kubectl; false if it fails.
    pub(super) fn kubectl(&mut self, arguments: &[&str]) -> Result<bool, Failure> {
        match self.kubectl_command(arguments)?.status() {
            Ok(status) => Ok(status.success()),
            Err(error) => {
                self.invocation.ui.warn(&format!("kubectl: {error}"));
                Ok(false)
            }
        }
    }

    fn kubectl_command(&mut self, arguments: &[&str]) -> Result<Command, Failure> {
        let timeout = format!("--request-timeout={}", self.config.kubectl_timeout);
        self.show_call("kubectl", &[&[timeout.as_str()], arguments].concat())?;
        self.invocation.ui.flush()?;
        let mut command = Command::new("kubectl");
        command.arg(timeout).args(arguments);
        Ok(command)
    }
}
