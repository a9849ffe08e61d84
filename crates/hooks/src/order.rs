//! The order in which the hooks of one event run.

use pintle_objects::HookEvent;

use crate::hook::Hook;

/// The hooks that run at `event`, in order: by weight, then by name, then as given, which is the order of kinds. A
/// hook that lists the event twice runs twice, as in Helm.
pub fn in_order(hooks: &[Hook], event: HookEvent) -> Vec<&Hook> {
    indices_in_order(hooks, event).into_iter().map(|index| &hooks[index]).collect()
}

/// The same as indices of `hooks`, for callers with parallel data.
pub fn indices_in_order(hooks: &[Hook], event: HookEvent) -> Vec<usize> {
    let mut due: Vec<(i64, usize)> = Vec::new();
    for (index, hook) in hooks.iter().enumerate() {
        let weights = hook.events.iter().filter(|weighted| weighted.event == event);
        due.extend(weights.map(|weighted| (weighted.weight, index)));
    }
    // Stable: hooks of the same weight and name stay in the order of kinds. Names are compared as bytes, as
    // in Go.
    due.sort_by(|left, right| {
        let name = |index: usize| hooks[index].name.as_bytes();
        left.0.cmp(&right.0).then_with(|| name(left.1).cmp(name(right.1)))
    });
    due.into_iter().map(|(_, index)| index).collect()
}

/// The same in groups of equal weight, which may run concurrently.
pub fn batches(hooks: &[Hook], event: HookEvent) -> Vec<Vec<&Hook>> {
    let mut batches: Vec<Vec<&Hook>> = Vec::new();
    for hook in in_order(hooks, event) {
        match batches.last_mut() {
            Some(batch) if batch[0].weight(event) == hook.weight(event) => batch.push(hook),
            _ => batches.push(vec![hook]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::{Source, read};

    fn hook(name: &str, kind: &str, weight: i64, events: &[HookEvent]) -> Hook {
        let manifest = format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n");
        read(&Source { name, kind, weight, events, manifest: manifest.as_bytes(), ..Source::default() })
            .expect("a plain hook")
    }

    fn names(hooks: &[&Hook]) -> String {
        hooks.iter().map(|hook| format!("{}/{}", hook.kind, hook.name)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn weight_goes_before_name_and_name_before_kind() {
        let events = [HookEvent::Test];
        let hooks = [
            hook("b", "ConfigMap", 0, &events),
            hook("c", "ConfigMap", -1, &events),
            hook("a", "Job", 0, &events),
            hook("b", "Job", 0, &events),
            hook("a", "Pod", 0, &[HookEvent::PreInstall]),
        ];
        assert_eq!(names(&in_order(&hooks, HookEvent::Test)), "ConfigMap/c Job/a ConfigMap/b Job/b");
        let sizes: Vec<usize> = batches(&hooks, HookEvent::Test).iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, 3]);
    }

    #[test]
    fn an_event_named_twice_without_additions_runs_twice() {
        let hooks = [hook("a", "Job", 0, &[HookEvent::Test, HookEvent::Test])];
        assert_eq!(names(&in_order(&hooks, HookEvent::Test)), "Job/a Job/a");
    }

    #[test]
    fn order_is_the_same_however_the_hooks_are_given() {
        let mut hooks: Vec<Hook> = (0..30)
            .map(|index| hook(&format!("h{}", index * 7 % 30), "Job", index * 11 % 4, &[HookEvent::Test]))
            .collect();
        let expected = names(&in_order(&hooks, HookEvent::Test));
        for turn in 0..30 {
            hooks.rotate_left(1);
            hooks.swap(turn, 29 - turn);
            assert_eq!(names(&in_order(&hooks, HookEvent::Test)), expected);
        }
    }
}
