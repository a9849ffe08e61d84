//! Follows the logs of a hook while it runs, each container from its start to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{LogRange, LogSink, LogSource, container_names, hook_pods, open};
use crate::cluster::Cluster;
use crate::wait::{ReflectorEvent, WatchTarget, container_statuses, is_controlled_by, reflect};

/// How long reading the remaining logs may take once the hook has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The delay before a log that is not available yet is requested again, and how often.
const RETRY: (Duration, u32) = (Duration::from_millis(200), 10);
/// How many log lines are buffered before readers wait.
const CHANNEL_CAPACITY: usize = 256;

/// One run of a container; restarted containers have several. The number is the restart count.
type Instance = (LogSource, i64);

/// What the task that reads a log reports.
enum LogEvent {
    Line(usize, Bytes),
    End(usize),
}

/// Follows the logs of a hook.
#[derive(Debug)]
pub struct HookLogs<'c> {
    cluster: &'c Cluster,
    hook: ObjectId,
}

impl<'c> HookLogs<'c> {
    /// Prepares to follow a hook. The namespace of its id must be set.
    pub fn new(cluster: &'c Cluster, hook: &ObjectId) -> Self {
        HookLogs { cluster, hook: hook.clone() }
    }

    /// Sends the hook's log lines to `sink` while `waiting` runs, and returns its result after the remaining lines
    /// have been sent. Errors of logs never fail the hook.
    pub async fn during<T>(&self, waiting: impl Future<Output = T>, sink: LogSink<'_>) -> T {
        let Some(selection) = super::pod_list_params(&self.hook) else { return waiting.await };
        let mut state = LogFollower::new(self.cluster);
        // The uid of this job tells its pods from those of an earlier job of the same name, which carry the same
        // label.
        if self.hook.kind == "Job" {
            state.job = self.cluster.get(&self.hook).await.ok().flatten();
        }
        let (sender, mut events) = mpsc::channel(CHANNEL_CAPACITY);
        let group = WatchTarget {
            kind: "Pod".into(),
            api_version: "v1".into(),
            names: if selection.labels.is_empty() {
                [self.hook.name.clone()].into()
            } else {
                BTreeSet::new()
            },
            labels: selection.labels,
            ..WatchTarget::for_object(&self.hook)
        };
        let mut follower = JoinSet::new();
        follower.spawn(reflect(self.cluster.clone(), group, 0, sender));
        tokio::pin!(waiting);
        let result = loop {
            tokio::select! {
                Some(event) = state.events.recv() => state.forward(event, sink),
                Some((_, received)) = events.recv() => state.handle(received),
                result = &mut waiting => break result,
            }
        };
        drop(follower);
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, self.drain(&mut state, sink)).await;
        result
    }

    /// Reads the logs of ended containers to the end, including those that were too short-lived to be seen running.
    async fn drain(&self, state: &mut LogFollower, sink: LogSink<'_>) {
        let pods = hook_pods(self.cluster, &self.hook).await.unwrap_or_default();
        pods.into_iter().for_each(|pod| state.update_pod(pod));
        // Containers that still run, such as sidecars, would keep their logs open until the timeout.
        while state.open.values().any(|instance| state.has_ended(instance)) {
            let Some(event) = state.events.recv().await else { return };
            state.forward(event, sink);
        }
    }
}

struct LogFollower {
    cluster: Cluster,
    /// The latest state of each pod.
    pods: BTreeMap<String, Object>,
    /// The runs that are or were followed, so that none is read twice.
    known: BTreeSet<Instance>,
    /// The runs that are being followed, by task number.
    open: BTreeMap<usize, Instance>,
    next: usize,
    tasks: JoinSet<()>,
    sender: mpsc::Sender<LogEvent>,
    events: mpsc::Receiver<LogEvent>,
    /// The job that must own the pods, if it is known.
    job: Option<Object>,
}

impl LogFollower {
    fn new(cluster: &Cluster) -> Self {
        let (sender, events) = mpsc::channel(CHANNEL_CAPACITY);
        LogFollower {
            cluster: cluster.clone(),
            pods: BTreeMap::new(),
            known: BTreeSet::new(),
            open: BTreeMap::new(),
            next: 0,
            tasks: JoinSet::new(),
            sender,
            events,
            job: None,
        }
    }

    fn handle(&mut self, events: ReflectorEvent) {
        match events {
            ReflectorEvent::Updated(pod) => self.update_pod(*pod),
            ReflectorEvent::Replaced(pods) => pods.into_iter().for_each(|pod| self.update_pod(pod)),
            ReflectorEvent::Deleted(_) | ReflectorEvent::Failed(_) => {}
        }
    }

    fn update_pod(&mut self, pod: Object) {
        // A pod that is already terminating when first seen belongs to an earlier run of the hook.
        let known = self.pods.contains_key(pod.name());
        let terminating = pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|moment| !moment.is_nil());
        let unrelated = self.job.as_ref().is_some_and(|job| !is_controlled_by(&pod, job));
        if unrelated || (terminating && !known) {
            return;
        }
        let name = pod.name().to_owned();
        self.pods.insert(name.clone(), pod);
        self.start(&name);
    }

    /// Starts to follow the containers of a pod that have started and are not yet followed.
    fn start(&mut self, name: &str) {
        let Some(pod) = self.pods.get(name) else { return };
        let init_containers = container_names(pod, "initContainers");
        let sidecars = sidecars(pod);
        let mut due = Vec::new();
        for (container, run) in started(pod) {
            let source = LogSource::new(pod.namespace(), pod.name(), &container);
            // Logs of init containers come first, so the others wait until those are complete.
            let is_preparing = |instance: &Instance| {
                instance.0.pod == name
                    && instance.0.container != container
                    && init_containers.contains(&instance.0.container)
                    && !sidecars.contains(&instance.0.container)
            };
            let busy = self.open.values().chain(&due).any(is_preparing);
            if !self.known.contains(&(source.clone(), run)) && !busy {
                due.push((source, run));
            }
        }
        for instance in due {
            self.spawn(instance);
        }
    }

    fn spawn(&mut self, instance: Instance) {
        let number = self.next;
        self.next += 1;
        self.known.insert(instance.clone());
        let source = instance.0.clone();
        self.open.insert(number, instance);
        let (cluster, sender) = (self.cluster.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            read(&cluster, &source, number, &sender).await;
            // A closed channel means that the caller is gone.
            let _ = sender.send(LogEvent::End(number)).await;
        });
    }

    fn forward(&mut self, event: LogEvent, sink: LogSink<'_>) {
        match event {
            LogEvent::Line(number, line) => {
                if let Some((source, _)) = self.open.get(&number) {
                    sink(source, &line);
                }
            }
            LogEvent::End(number) => {
                if let Some((source, _)) = self.open.remove(&number) {
                    self.start(&source.pod);
                }
            }
        }
    }

    /// Whether a run has ended, so that its log ends soon too.
    fn has_ended(&self, (source, run): &Instance) -> bool {
        let Some(pod) = self.pods.get(&source.pod) else { return true };
        let status = container_statuses(pod).find(|status| text(status, "name") == source.container);
        status.is_none_or(|status| restarts(status) > *run || in_state(status, "running").is_none())
    }
}

/// Sends the lines of a log until it ends.
async fn read(cluster: &Cluster, source: &LogSource, number: usize, sender: &mpsc::Sender<LogEvent>) {
    let range = LogRange { follow: true, ..LogRange::default() };
    for _ in 0..RETRY.1 {
        let Ok(mut log) = open(cluster, source, range).await else {
            tokio::time::sleep(RETRY.0).await;
            continue;
        };
        while let Ok(Some(line)) = log.next().await {
            let mut with_newline = Vec::with_capacity(line.len() + 1);
            with_newline.extend_from_slice(&line);
            with_newline.push(b'\n');
            if sender.send(LogEvent::Line(number, with_newline.into())).await.is_err() {
                return;
            }
        }
        return;
    }
}

/// The containers of a pod that have started at least once, with their restart counts, in the order in which their
/// logs are shown.
fn started(pod: &Object) -> Vec<(String, i64)> {
    let mut found = Vec::new();
    for container in super::containers(pod) {
        let Some(status) = container_statuses(pod).find(|status| text(status, "name") == container) else {
            continue;
        };
        let has_run = in_state(status, "running").is_some()
            || in_state(status, "terminated").is_some()
            // Between two runs a container waits (`CrashLoopBackOff`), and its last log can still be read.
            || status.get("lastState").is_some_and(|state| state.get("terminated").is_some());
        if has_run {
            found.push((container, restarts(status)));
        }
    }
    found
}

/// Native sidecars: init containers that keep running beside the main containers.
fn sidecars(pod: &Object) -> Vec<String> {
    let list = pod.at(&["spec", "initContainers"]).and_then(Node::as_list).unwrap_or_default();
    list.iter()
        .filter(|container| text(container, "restartPolicy") == "Always")
        .map(|container| text(container, "name").to_owned())
        .collect()
}

fn in_state<'n>(status: &'n Node, state: &str) -> Option<&'n Node> {
    status.get("state")?.get(state)
}

fn restarts(status: &Node) -> i64 {
    match status.get("restartCount") {
        Some(Node::Int(restarts)) => *restarts,
        _ => 0,
    }
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::mock_server::{Reply, cluster, events, list, one};

    fn pod(state: &str, restarts: i64) -> String {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","namespace":"n","resourceVersion":"6","ownerReferences":[{{"uid":"ju","controller":true}}]}},"spec":{{"initContainers":[{{"name":"first"}}],"containers":[{{"name":"main"}}]}},"status":{{"initContainerStatuses":[{{"name":"first","state":{{"terminated":{{}}}}}}],"containerStatuses":[{{"name":"main","restartCount":{restarts},"state":{{{state}}}}}]}}}}"#
        )
    }

    #[tokio::test]
    async fn every_run_of_every_container_is_followed_and_init_containers_first() {
        let (cluster, _) = cluster(|request, times| match (request, times) {
            ("get jobs/j", _) => {
                one(r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","uid":"ju"}}"#)
            }
            ("list pods", 1) => list(&[&pod(r#""running":{}"#, 0)]),
            ("list pods", _) => list(&[&pod(r#""terminated":{}"#, 1)]),
            ("watch pods", 1) => events(&[
                ("MODIFIED", &pod(r#""waiting":{}},"lastState":{"terminated":{}"#, 0)),
                (
                    "ADDED",
                    &pod(r#""running":{}"#, 0).replace("\"p\"", "\"unrelated\"").replace("ju", "other"),
                ),
            ]),
            ("log p/first", _) => Reply::Body(200, "prepared\n".into()),
            ("log p/main", times) => Reply::Body(200, format!("run {times}\nrest")),
            _ => Reply::Hang,
        });
        let mut received = Vec::new();
        let first_run_heard = tokio::sync::Notify::new();
        let mut sink = |source: &LogSource, bytes: &[u8]| {
            received.push(format!("{}/{} {}", source.pod, source.container, String::from_utf8_lossy(bytes)));
            if received.len() == 3 {
                first_run_heard.notify_one();
            }
        };
        let hook = ObjectId::new("batch/v1", "Job", "n", "j");
        let waiting = tokio::time::timeout(Duration::from_secs(120), first_run_heard.notified());
        let ended = HookLogs::new(&cluster, &hook).during(waiting, &mut sink).await;
        assert!(ended.is_ok(), "only {received:?} was received");
        assert_eq!(
            received,
            ["p/first prepared\n", "p/main run 1\n", "p/main rest\n", "p/main run 2\n", "p/main rest\n"]
        );
    }

    #[tokio::test]
    async fn hooks_without_pods_are_just_waited_for() {
        let (cluster, requests) = cluster(|_, _| Reply::Hang);
        let hook = ObjectId::new("v1", "ConfigMap", "n", "c");
        let answer = HookLogs::new(&cluster, &hook).during(async { 7 }, &mut |_, _| {}).await;
        assert_eq!((answer, requests.lock().unwrap().len()), (7, 0));
    }

    #[test]
    fn lasting_init_containers_do_not_hold_up_the_others() {
        let text = "apiVersion: v1\nkind: Pod\nspec: {initContainers: [{name: a, restartPolicy: Always}, {name: b}]}\n";
        let pod = &Object::read_manifest(text.as_bytes(), "test").expect("good")[0];
        assert_eq!(sidecars(pod), ["a"]);
    }
}
