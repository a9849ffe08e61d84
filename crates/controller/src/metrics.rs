//! Metrics in the text format of Prometheus. Labels have a low cardinality: none identifies a request.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The upper bounds of the buckets for durations, in seconds.
const BUCKETS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

/// The metrics of the controller.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Reconciliations by outcome.
    reconciliations: Mutex<BTreeMap<&'static str, Histogram>>,
    /// Actions by name and outcome.
    actions: Mutex<BTreeMap<(&'static str, &'static str), Histogram>>,
    /// Running reconciliations.
    active: AtomicI64,
    /// Known requests.
    requests: AtomicU64,
    /// Turns for which nothing was read.
    settled: AtomicU64,
    /// Whether this process is the leader.
    leader: AtomicU64,
    /// How many reconciliations wait for a worker, how many ever did, and how long.
    queue: Mutex<(i64, u64, Histogram)>,
    /// The ring, if the replicas share the requests.
    ring: Mutex<Option<RingStatus>>,
}

/// A reconciliation that waits for a worker, until it is dropped.
pub(crate) struct Queued {
    metrics: Arc<Metrics>,
    since: Instant,
}

impl Drop for Queued {
    fn drop(&mut self) {
        let mut queue = self.metrics.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.0 -= 1;
        queue.2.observe(self.since.elapsed());
    }
}

/// What a replica knows about the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingStatus {
    /// The slots that it owns.
    pub(crate) slots: usize,
    /// The epoch of the table that it follows.
    pub(crate) epoch: u64,
    /// The replicas in that table.
    pub(crate) replicas: usize,
    /// The slots that it gained or lost so far.
    pub(crate) moves: u64,
    /// The slots in which nobody begins anything now.
    pub(crate) unowned: usize,
    /// For how long slots had no owner, added up.
    pub(crate) unowned_seconds: f64,
    /// Whether it writes the table.
    pub(crate) coordinates: bool,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn observe(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        self.count += 1;
        self.sum += seconds;
        for (count, limit) in self.buckets.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= limit);
        }
    }

    fn add(&mut self, other: &Histogram) {
        self.count += other.count;
        self.sum += other.sum;
        for (count, more) in self.buckets.iter_mut().zip(other.buckets) {
            *count += more;
        }
    }

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        for (count, limit) in self.buckets.iter().zip(BUCKETS) {
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{limit}\"}} {count}");
        }
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum{{{labels}}} {}", self.sum);
        let _ = writeln!(out, "{name}_count{{{labels}}} {}", self.count);
    }
}

impl Metrics {
    /// Notes the beginning of a reconciliation.
    pub(crate) fn begin(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes a turn of a request for which nothing was to be done, and nothing to be read to know that.
    pub(crate) fn settled(&self) {
        self.settled.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes the end of a reconciliation.
    pub(crate) fn end(&self, outcome: &'static str, took: Duration) {
        self.active.fetch_sub(1, Ordering::Relaxed);
        let mut all = self.reconciliations.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(outcome).or_default().observe(took);
    }

    /// Notes an action.
    pub(crate) fn action(&self, action: &'static str, outcome: &'static str, took: Duration) {
        let mut all = self.actions.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((action, outcome)).or_default().observe(took);
    }

    /// Notes that a reconciliation waits for a worker.
    pub(crate) fn enqueue(self: &Arc<Self>) -> Queued {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        (queue.0, queue.1) = (queue.0 + 1, queue.1 + 1);
        Queued { metrics: Arc::clone(self), since: Instant::now() }
    }

    /// The same numbers by the names that dashboards for controllers expect.
    fn render_by_usual_names(&self, out: &mut String) {
        const CONTROLLER: &str = "controller=\"helmrequest\"";
        const QUEUE: &str = "name=\"helmrequest\"";
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let (mut all, mut errors) = (Histogram::default(), 0);
        let name = "controller_runtime_reconcile_total";
        head(out, name, "counter", "Reconciliations by result.");
        for (outcome, histogram) in &*self.reconciliations.lock().unwrap_or_else(PoisonError::into_inner) {
            let result = match *outcome {
                "ready" => "success",
                "error" => "error",
                _ => "requeue_after",
            };
            let _ = writeln!(out, "{name}{{{CONTROLLER},result=\"{result}\"}} {}", histogram.count);
            errors += if result == "error" { histogram.count } else { 0 };
            all.add(histogram);
        }
        let name = "controller_runtime_reconcile_errors_total";
        head(out, name, "counter", "Reconciliations that ended with an error.");
        let _ = writeln!(out, "{name}{{{CONTROLLER}}} {errors}");
        let name = "controller_runtime_reconcile_time_seconds";
        head(out, name, "histogram", "How long reconciliations took.");
        all.write(name, CONTROLLER, out);
        let name = "controller_runtime_active_workers";
        head(out, name, "gauge", "Reconciliations that run now.");
        let _ = writeln!(out, "{name}{{{CONTROLLER}}} {}", self.active.load(Ordering::Relaxed));
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        head(out, "workqueue_depth", "gauge", "Reconciliations that wait for a worker.");
        let _ = writeln!(out, "workqueue_depth{{{QUEUE}}} {}", queue.0);
        head(out, "workqueue_adds_total", "counter", "Reconciliations that were queued.");
        let _ = writeln!(out, "workqueue_adds_total{{{QUEUE}}} {}", queue.1);
        let name = "workqueue_queue_duration_seconds";
        head(out, name, "histogram", "How long reconciliations waited for a worker.");
        queue.2.write(name, QUEUE, out);
        let name = "workqueue_work_duration_seconds";
        head(out, name, "histogram", "How long reconciliations took.");
        all.write(name, QUEUE, out);
        let name = "leader_election_master_status";
        head(out, name, "gauge", "1 if this process is the leader.");
        let leads = self.leader.load(Ordering::Relaxed);
        let _ = writeln!(out, "{name}{{name=\"pintle-controller\"}} {leads}");
    }

    /// Sets the number of known requests.
    pub(crate) fn set_requests(&self, count: usize) {
        self.requests.store(count as u64, Ordering::Relaxed);
    }

    /// Sets whether this process is the leader.
    pub(crate) fn set_leader(&self, is_leader: bool) {
        self.leader.store(u64::from(is_leader), Ordering::Relaxed);
    }

    /// Sets what is known about the ring.
    pub(crate) fn set_ring(&self, status: RingStatus) {
        *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    fn render_ring(&self, out: &mut String) {
        let Some(ring) = *self.ring.lock().unwrap_or_else(PoisonError::into_inner) else { return };
        let coordinates = f64::from(u8::from(ring.coordinates));
        for (name, kind, help, value) in [
            ("slots", "gauge", "Slots of requests that this replica owns.", ring.slots as f64),
            ("epoch", "gauge", "The epoch of the table that this replica follows.", ring.epoch as f64),
            ("replicas", "gauge", "Replicas in the table.", ring.replicas as f64),
            ("moves_total", "counter", "Slots that this replica gained or lost.", ring.moves as f64),
            ("unowned_slots", "gauge", "Slots in which nobody begins anything now.", ring.unowned as f64),
            (
                "unowned_slot_seconds_total",
                "counter",
                "For how long slots had no owner, added up.",
                ring.unowned_seconds,
            ),
            ("coordinator", "gauge", "1 if this replica writes the table.", coordinates),
        ] {
            let _ = writeln!(out, "# HELP pintle_ring_{name} {help}\n# TYPE pintle_ring_{name} {kind}");
            let _ = writeln!(out, "pintle_ring_{name} {value}");
        }
    }

    /// The text that Prometheus reads.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let name = "pintle_reconcile_duration_seconds";
        head(&mut out, name, "histogram", "How long reconciliations took, by outcome.");
        for (outcome, histogram) in &*self.reconciliations.lock().unwrap_or_else(PoisonError::into_inner) {
            histogram.write(name, &format!("outcome=\"{outcome}\""), &mut out);
        }
        let name = "pintle_action_duration_seconds";
        head(&mut out, name, "histogram", "How long actions on releases took, by action and outcome.");
        for ((action, outcome), histogram) in &*self.actions.lock().unwrap_or_else(PoisonError::into_inner) {
            histogram.write(name, &format!("action=\"{action}\",outcome=\"{outcome}\""), &mut out);
        }
        for (name, help, value) in [
            (
                "pintle_active_reconciliations",
                "Reconciliations that run now.",
                self.active.load(Ordering::Relaxed),
            ),
            ("pintle_requests", "Known HelmRequests.", self.requests.load(Ordering::Relaxed) as i64),
            ("pintle_leader", "1 if this process is the leader.", self.leader.load(Ordering::Relaxed) as i64),
        ] {
            head(&mut out, name, "gauge", help);
            let _ = writeln!(out, "{name} {value}");
        }
        let name = "pintle_settled_turns_total";
        head(&mut out, name, "counter", "Turns of requests for which nothing was to be done or read.");
        let _ = writeln!(out, "{name} {}", self.settled.load(Ordering::Relaxed));
        self.render_ring(&mut out);
        self.render_by_usual_names(&mut out);
        crate::process_metrics::render(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_in_the_format_of_prometheus() {
        let metrics = Arc::new(Metrics::default());
        drop(metrics.enqueue());
        let _waits = metrics.enqueue();
        metrics.begin();
        metrics.end("ready", Duration::from_millis(80));
        metrics.action("install", "success", Duration::from_secs(3));
        metrics.set_leader(true);
        let text = metrics.render();
        for line in [
            "# TYPE pintle_reconcile_duration_seconds histogram",
            "pintle_reconcile_duration_seconds_bucket{outcome=\"ready\",le=\"0.05\"} 0",
            "pintle_reconcile_duration_seconds_bucket{outcome=\"ready\",le=\"0.1\"} 1",
            "pintle_reconcile_duration_seconds_count{outcome=\"ready\"} 1",
            "pintle_action_duration_seconds_sum{action=\"install\",outcome=\"success\"} 3",
            "pintle_active_reconciliations 0",
            "pintle_leader 1",
            "controller_runtime_reconcile_total{controller=\"helmrequest\",result=\"success\"} 1",
            "controller_runtime_reconcile_time_seconds_count{controller=\"helmrequest\"} 1",
            "workqueue_depth{name=\"helmrequest\"} 1",
            "workqueue_adds_total{name=\"helmrequest\"} 2",
            "workqueue_queue_duration_seconds_count{name=\"helmrequest\"} 1",
            "leader_election_master_status{name=\"pintle-controller\"} 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
    }
}
