//! Which clusters of a set are next, as a pure function.

use std::time::Duration;

use super::{FailingCluster, StepStatus};

/// How many clusters that failed the status names.
const MAX_FAILING: usize = 20;

/// How far the request of a cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is none yet.
    Missing,
    /// It has something else than what is wanted now.
    Outdated,
    /// It has what is wanted, and works on it.
    Progressing,
    /// It has what is wanted, and is ready.
    Ready,
    /// It has what is wanted, and failed.
    Failed(String),
}

impl Progress {
    fn is_updated(&self) -> bool {
        !matches!(self, Progress::Missing | Progress::Outdated)
    }

    fn is_done(&self) -> bool {
        matches!(self, Progress::Ready | Progress::Failed(_))
    }
}

/// A cluster of a set.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub cluster: String,
    /// The index of its step.
    pub step: usize,
    /// How far its request is.
    pub progress: Progress,
    /// Whether its release works, by the last that its request said.
    pub available: bool,
}

/// A step of the roll-out, with numbers instead of percentages.
#[derive(Clone, Debug, Default)]
pub struct RolloutStep {
    /// Its name.
    pub name: String,
    /// How many clusters are changed at once.
    pub max_concurrent: usize,
    /// How long everything must have been done before the next step.
    pub bake_time: Duration,
    /// Whether an approval is needed and not there.
    pub awaits_approval: bool,
    /// Why the gate's expression does not hold, if it does not.
    pub refused: Option<String>,
    /// For how long all clusters have been done, if they were when this was looked at last.
    pub done_for: Option<Duration>,
}

/// Everything that decides.
#[derive(Clone, Debug, Default)]
pub struct Rollout {
    /// The steps.
    pub steps: Vec<RolloutStep>,
    /// The clusters.
    pub members: Vec<Member>,
    /// How many clusters may be unavailable.
    pub max_unavailable: Option<usize>,
    /// After how many failures it pauses.
    pub pause_after: usize,
    /// How many failures were accepted.
    pub tolerated: usize,
    /// Whether it is paused already: the reason.
    pub paused: Option<String>,
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The members to give what is wanted, by index.
    pub start: Vec<usize>,
    /// Why it does not go on by itself.
    pub paused: Option<String>,
    /// The step whose approval is awaited.
    pub awaits_approval: Option<String>,
    /// When to look again, although nothing changes.
    pub after: Option<Duration>,
    /// The steps in numbers, without times.
    pub steps: Vec<StepStatus>,
    /// Clusters that failed.
    pub failing: Vec<FailingCluster>,
    /// What it waits for, for people.
    pub message: String,
}

impl Rollout {
    /// Decides what is next.
    pub fn decide(&self) -> Decision {
        let mut decision = Decision { steps: self.count(), failing: self.failing(), ..Decision::default() };
        let failed =
            self.members.iter().filter(|member| matches!(member.progress, Progress::Failed(_))).count();
        decision.paused = self.paused.clone();
        if decision.paused.is_none() && failed >= self.pause_after + self.tolerated && failed > 0 {
            decision.paused = Some(format!("{failed} of {} clusters failed", self.members.len()));
        }
        for (index, step) in self.steps.iter().enumerate() {
            let members = || self.members.iter().enumerate().filter(|(_, member)| member.step == index);
            let status = &mut decision.steps[index];
            if members().all(|(_, member)| member.progress.is_done()) {
                let Some(wait) = gate(step) else {
                    status.state = "Done".to_owned();
                    continue;
                };
                // The gate of the last step holds nothing back.
                let is_last = self.steps.len() == index + 1;
                status.state = if is_last { "Done" } else { "Gated" }.to_owned();
                if !is_last {
                    (decision.after, decision.message) = (wait.0, wait.1);
                    decision.awaits_approval = step.awaits_approval.then(|| step.name.clone());
                    return decision;
                }
                continue;
            }
            status.state = "Progressing".to_owned();
            if let Some(reason) = &decision.paused {
                decision.message = format!("paused in step {}: {reason}", step.name);
                return decision;
            }
            decision.start = self.next_of(step, members());
            decision.message =
                format!("step {}: {} of {} clusters are done", step.name, status.ready, status.clusters);
            return decision;
        }
        decision.message = match failed {
            0 => "all clusters have it".to_owned(),
            failed => format!("{failed} of {} clusters failed", self.members.len()),
        };
        decision
    }

    /// The clusters of a step that may be changed now.
    fn next_of<'m>(
        &self,
        step: &RolloutStep,
        members: impl Iterator<Item = (usize, &'m Member)>,
    ) -> Vec<usize> {
        let members: Vec<_> = members.collect();
        let working =
            members.iter().filter(|(_, member)| matches!(member.progress, Progress::Progressing)).count();
        let mut room = step.max_concurrent.max(1).saturating_sub(working);
        let is_lost = |member: &&Member| member.progress != Progress::Missing && !member.available;
        let unavailable = self.members.iter().filter(is_lost).count();
        let mut may_fall = self.max_unavailable.map_or(usize::MAX, |most| most.saturating_sub(unavailable));
        let mut start = Vec::new();
        for (index, member) in members {
            let costs = usize::from(member.progress == Progress::Outdated && member.available);
            if room == 0 || member.progress.is_updated() || costs > may_fall {
                continue;
            }
            room -= 1;
            may_fall -= costs;
            start.push(index);
        }
        start
    }

    fn count(&self) -> Vec<StepStatus> {
        let mut steps: Vec<StepStatus> = self
            .steps
            .iter()
            .map(|step| StepStatus {
                name: step.name.clone(),
                state: "Waiting".to_owned(),
                ..StepStatus::default()
            })
            .collect();
        for member in &self.members {
            let Some(step) = steps.get_mut(member.step) else { continue };
            step.clusters += 1;
            step.updated += u32::from(member.progress.is_updated());
            step.ready += u32::from(member.progress == Progress::Ready);
            step.failed += u32::from(matches!(member.progress, Progress::Failed(_)));
        }
        steps
    }

    fn failing(&self) -> Vec<FailingCluster> {
        let failed = self.members.iter().filter_map(|member| match &member.progress {
            Progress::Failed(message) => {
                Some(FailingCluster { cluster: member.cluster.clone(), message: message.clone() })
            }
            _ => None,
        });
        failed.take(MAX_FAILING).collect()
    }
}

/// What the gate of a step that is done waits for: until when, and in words.
fn gate(step: &RolloutStep) -> Option<(Option<Duration>, String)> {
    let left = step.bake_time.saturating_sub(step.done_for.unwrap_or_default());
    if !left.is_zero() {
        return Some((
            Some(left),
            format!("step {} is done, and is watched for {} s more", step.name, left.as_secs()),
        ));
    }
    if let Some(reason) = &step.refused {
        return Some((Some(Duration::from_secs(30)), format!("step {} is done, but {reason}", step.name)));
    }
    step.awaits_approval.then(|| (None, format!("step {} is done and waits for an approval", step.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(step: usize, progress: Progress) -> Member {
        let available = matches!(progress, Progress::Ready | Progress::Outdated);
        Member { cluster: format!("c{step}"), step, progress, available }
    }

    fn step(name: &str, max_concurrent: usize) -> RolloutStep {
        RolloutStep { name: name.to_owned(), max_concurrent, ..RolloutStep::default() }
    }

    fn rollout(steps: Vec<RolloutStep>, members: Vec<Member>) -> Rollout {
        Rollout { steps, members, pause_after: 1, ..Rollout::default() }
    }

    use Progress::{Failed, Missing, Outdated, Progressing, Ready};

    #[test]
    fn steps_come_one_after_the_other_and_so_many_clusters_at_once() {
        let members = vec![member(0, Outdated), member(1, Outdated), member(1, Missing), member(1, Outdated)];
        let mut set = rollout(vec![step("canary", 1), step("rest", 2)], members);
        assert_eq!(set.decide().start, [0]);
        set.members[0] = member(0, Progressing);
        assert_eq!(set.decide().start, [0; 0], "the first step is not done");
        set.members[0] = member(0, Ready);
        assert_eq!(set.decide().start, [1, 2]);
        set.members[1] = member(1, Progressing);
        let decision = set.decide();
        assert_eq!(decision.start, [2], "one of two works already");
        assert_eq!(decision.steps[0].state, "Done");
        assert_eq!((decision.steps[1].clusters, decision.steps[1].updated), (3, 1));
    }

    #[test]
    fn only_so_many_clusters_are_unavailable_and_new_ones_do_not_count() {
        let members =
            vec![member(0, Outdated), member(0, Outdated), member(0, Missing), member(0, Progressing)];
        let mut set = rollout(vec![step("all", 10)], members);
        set.max_unavailable = Some(2);
        assert_eq!(set.decide().start, [0, 2]);
        set.members[1].available = false;
        assert_eq!(set.decide().start, [1, 2], "one that does not work already may be changed");
    }

    #[test]
    fn failures_pause_it_until_they_are_accepted() {
        let members = vec![member(0, Failed("no".to_owned())), member(0, Outdated), member(1, Outdated)];
        let mut set = rollout(vec![step("canary", 2), step("rest", 2)], members);
        let decision = set.decide();
        assert_eq!((decision.start.len(), decision.paused.as_deref()), (0, Some("1 of 3 clusters failed")));
        assert_eq!(decision.failing[0].message, "no");
        set.tolerated = 1;
        assert_eq!(set.decide().start, [1]);
        set.members[1] = member(0, Ready);
        assert_eq!(set.decide().start, [2], "a failure that was accepted does not hold the next step");
        set.pause_after = 2;
        (set.tolerated, set.members[2]) = (0, member(1, Failed("no".to_owned())));
        assert!(set.decide().paused.is_some());
    }

    #[test]
    fn a_gate_holds_the_next_step_back() {
        let members = vec![member(0, Ready), member(1, Outdated)];
        let mut set = rollout(vec![step("canary", 1), step("rest", 1)], members);
        set.steps[0].bake_time = Duration::from_secs(60);
        set.steps[0].done_for = Some(Duration::from_secs(20));
        let decision = set.decide();
        assert_eq!((decision.start.len(), decision.after), (0, Some(Duration::from_secs(40))));
        assert_eq!(decision.steps[0].state, "Gated");
        set.steps[0].done_for = Some(Duration::from_secs(60));
        set.steps[0].awaits_approval = true;
        assert_eq!(set.decide().awaits_approval.as_deref(), Some("canary"));
        set.steps[0].awaits_approval = false;
        set.steps[0].refused = Some("errors".to_owned());
        assert!(set.decide().message.ends_with("but errors"));
        set.steps[0].refused = None;
        assert_eq!(set.decide().start, [1]);
        set.members[1] = member(1, Ready);
        set.steps[1].awaits_approval = true;
        assert_eq!(set.decide().message, "all clusters have it", "nothing comes after the last step");
    }

    #[test]
    fn a_status_names_twenty_clusters_at_most() {
        let members = vec![member(0, Failed("no".to_owned())); 50];
        assert_eq!(rollout(vec![step("all", 1)], members).decide().failing.len(), 20);
    }
}
