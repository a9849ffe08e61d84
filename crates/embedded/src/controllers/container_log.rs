//! The simulated log of a container: the lines of its `simulate-log` annotation, spread evenly over the time it runs.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::Node;

use super::simulation::{Simulation, annotation};
use super::template::time;
use crate::api::meta::{at, list_at, meta, text_at};
use crate::store::{Store, key};

pub(crate) struct ContainerLog {
    /// Each line ends with its line break.
    pub(crate) lines: Vec<String>,
    /// When the first line was printed; `None` if the container has ended and all lines are there.
    since: Option<Duration>,
    /// The time between two lines.
    pause: Duration,
}

impl ContainerLog {
    /// The log of a container in the run that `state` describes. Init containers print only the log of an
    /// annotation with their name (`simulate-log.NAME`), because `simulate-log` is meant for the main containers.
    pub(crate) fn new(store: &Store, pod: &Node, container: &str, state: &Node) -> ContainerLog {
        let kinds = [("containers", false), ("initContainers", true)];
        let mut found = None;
        for (kind, prepares) in kinds {
            let list = list_at(pod, &["spec", kind]);
            let it = list.iter().find(|it| text_at(it, &["name"]) == container);
            // Names are unique across both lists.
            found = found.or(it.map(|it| (it, prepares)));
        }
        let Some((container, prepares)) = found else { return ContainerLog::none() };
        let mut text = annotation(pod, &format!("log.{}", text_at(container, &["name"]))).to_owned();
        if text.is_empty() && !prepares {
            annotation(pod, "log").clone_into(&mut text);
        }
        let variables = Environment { store, pod, container };
        let lines: Vec<String> = variables.expand(&text).lines().map(|line| format!("{line}\n")).collect();
        // The first line comes at the start and the last one at the end.
        let pauses = u32::try_from(lines.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let pause = if prepares { Duration::ZERO } else { Simulation::from_annotations(pod).duration };
        ContainerLog {
            lines,
            since: time(text_at(state, &["running", "startedAt"])),
            pause: pause.checked_div(pauses).unwrap_or_default(),
        }
    }

    fn none() -> ContainerLog {
        ContainerLog { lines: Vec::new(), since: None, pause: Duration::ZERO }
    }

    /// How many lines have been printed at `now`.
    pub(crate) fn lines_at(&self, now: Duration) -> usize {
        let is_due = |index: &usize| self.due_at(*index).is_none_or(|due| due <= now);
        (0..self.lines.len()).take_while(is_due).count()
    }

    /// When a line is printed; `None` if the whole log is already there.
    pub(crate) fn due_at(&self, index: usize) -> Option<Duration> {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        self.since.map(|since| since + self.pause.saturating_mul(index))
    }
}

/// The environment of a container, for `$(NAME)` in its log.
struct Environment<'a> {
    store: &'a Store,
    pod: &'a Node,
    container: &'a Node,
}

impl Environment<'_> {
    /// Replaces `$(NAME)` by the value of the variable; unset variables become empty.
    fn expand(&self, text: &str) -> String {
        let mut parts = text.split("$(");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match part.split_once(')') {
                Some((name, rest)) => {
                    filled.push_str(&self.value(name).unwrap_or_default());
                    filled.push_str(rest);
                }
                None => {
                    filled.push_str("$(");
                    filled.push_str(part);
                }
            }
        }
        filled
    }

    fn value(&self, name: &str) -> Option<String> {
        // Of duplicate names the last one counts, as for the kubelet.
        let own = list_at(self.container, &["env"]).iter().rev();
        let mut own = own.filter(|variable| text_at(variable, &["name"]) == name);
        if let Some(variable) = own.next() {
            return match at(variable, &["valueFrom"]) {
                Some(source) => self.value_from(source),
                None => Some(text_at(variable, &["value"]).to_owned()),
            };
        }
        list_at(self.container, &["envFrom"]).iter().rev().find_map(|source| {
            // A source without a prefix matches every name.
            let name = name.strip_prefix(text_at(source, &["prefix"]))?;
            self.entry("configmaps", at(source, &["configMapRef"]), name)
                .or_else(|| self.entry("secrets", at(source, &["secretRef"]), name))
        })
    }

    fn value_from(&self, source: &Node) -> Option<String> {
        let entry = |plural: &str, field: &str| {
            let reference = at(source, &[field]);
            self.entry(plural, reference, reference.map(|it| text_at(it, &["key"])).unwrap_or_default())
        };
        let path: Vec<&str> = text_at(source, &["fieldRef", "fieldPath"]).split('.').collect();
        let field = at(self.pod, &path).and_then(Node::as_str).map(str::to_owned);
        entry("configmaps", "configMapKeyRef").or_else(|| entry("secrets", "secretKeyRef")).or(field)
    }

    /// Reads a key of a ConfigMap or a Secret.
    fn entry(&self, plural: &str, reference: Option<&Node>, name: &str) -> Option<String> {
        let holder = key(plural, meta(self.pod, "namespace"), text_at(reference?, &["name"]));
        let object = self.store.get(&holder)?.node();
        let text = at(&object, &["data", name]).and_then(Node::as_str)?;
        if plural == "configmaps" {
            return Some(text.to_owned());
        }
        Some(String::from_utf8_lossy(&STANDARD.decode(text).ok()?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::HistoryWindow;

    fn container_log(annotations: &str, container: &str, state: &str) -> ContainerLog {
        let read = |text: &str| pintle_yaml::read(text.as_bytes()).unwrap();
        let pod = read(&format!(
            "metadata: {{name: one, annotations: {{{annotations}}}}}\nspec:\n  initContainers: [{{name: first}}]\n  \
             containers: [{{name: main, env: [{{name: A, value: b}}, {{name: ME, valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}}}]}}]\n"
        ));
        ContainerLog::new(&Store::in_memory(HistoryWindow::default()), &pod, container, &read(state))
    }

    #[test]
    fn containers_log_their_annotation_with_variables_expanded() {
        let both = "pintle.dev/simulate-log: '$(A) $(ME)$(NO) $(', pintle.dev/simulate-log.first: ready";
        assert_eq!(container_log(both, "main", "{}").lines, ["b one $(\n"]);
        assert_eq!(container_log(both, "first", "{}").lines, ["ready\n"]);
        assert!(container_log("pintle.dev/simulate-log: work", "first", "{}").lines.is_empty());
        assert!(container_log(both, "none", "{}").lines.is_empty());
    }

    #[test]
    fn lines_are_spread_over_the_duration() {
        let log = "pintle.dev/simulate-duration: 4s, pintle.dev/simulate-log: \"1\\n2\\n3\"";
        let running = container_log(log, "main", "running: {startedAt: '1970-01-01T00:01:40Z'}");
        let at = |second| running.lines_at(Duration::from_secs(second));
        assert_eq!([at(100), at(101), at(102), at(104)], [1, 1, 2, 3]);
        let ended = container_log(log, "main", "terminated: {startedAt: '1970-01-01T00:01:40Z'}");
        assert_eq!(ended.lines_at(Duration::ZERO), 3);
    }
}
