//! Proof by rendering: a value in its new place does what it did in the old one, and nothing else.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Segment, ValuePath};

use crate::facts::Effect;
use crate::side::{Render, Side};
use crate::value_tree::set_at;

/// The word that is put into values to see where they end up.
const MARK: &str = "xmarkx";

/// The names of switches.
const SWITCHES: [&str; 3] = ["enabled", "create", "enable"];

/// One chart with values to start from; renders are kept.
pub(crate) struct Prober<'a> {
    side: &'a Side<'a>,
    base: Map<Node>,
    renders: RefCell<BTreeMap<Vec<ValuePath>, Option<Render>>>,
}

/// What a value does.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// The value that was set: that of the user, or one that differs from the default.
    pub(crate) value: Node,
    /// The switches that had to be on.
    pub(crate) switches: Vec<ValuePath>,
    pub(crate) effect: Effect,
}

/// How two effects agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Agreement {
    /// The same fields get the same values, and nothing else changes.
    pub(crate) equal: bool,
    /// How much of the fields and values is equal, from 0 to 1.
    pub(crate) share: f64,
}

impl<'a> Prober<'a> {
    pub(crate) fn new(side: &'a Side<'a>, base: Map<Node>) -> Self {
        Prober { side, base, renders: RefCell::default() }
    }

    /// What a value of the user does in this chart: as it is, or else another value, or else with the switches around it on.
    pub(crate) fn probe(&self, path: &ValuePath, value: &Node) -> Option<Probe> {
        let other = marked(value);
        let switches = self.switches(path);
        let mut attempts = vec![(value, Vec::new()), (&other, Vec::new())];
        if !switches.is_empty() {
            attempts.extend([(value, switches.clone()), (&other, switches)]);
        }
        for (value, switches) in attempts {
            if let Some(effect) = self.effect(&[path], value, &switches)
                && !effect.is_empty()
            {
                return Some(Probe { value: value.clone(), switches, effect });
            }
        }
        None
    }

    /// What one value does in the new place, or in several.
    pub(crate) fn like(&self, probe: &Probe, paths: &[&ValuePath]) -> Effect {
        let plain = match probe.switches.is_empty() {
            true => self.effect(paths, &probe.value, &[]).filter(|effect| !effect.is_empty()),
            false => None,
        };
        let switches: Vec<ValuePath> = paths.iter().flat_map(|path| self.switches(path)).collect();
        plain.or_else(|| self.effect(paths, &probe.value, &switches)).unwrap_or_default()
    }

    /// The difference that a value makes.
    fn effect(&self, paths: &[&ValuePath], value: &Node, switches: &[ValuePath]) -> Option<Effect> {
        let mut renders = self.renders.borrow_mut();
        let base = renders
            .entry(switches.to_vec())
            .or_insert_with(|| self.side.render(&self.switched(switches)).ok());
        let before = base.as_ref()?;
        let mut values = self.switched(switches);
        for path in paths {
            set_at(&mut values, path.segments(), value.clone());
        }
        let after = self.side.render(&values).ok()?;
        Some(Effect::between(before, &after))
    }

    fn switched(&self, switches: &[ValuePath]) -> Map<Node> {
        let mut values = self.base.clone();
        for path in switches {
            set_at(&mut values, path.segments(), Node::Bool(true));
        }
        values
    }

    /// The switches around a value that are off, and the conditions of its subchart.
    fn switches(&self, path: &ValuePath) -> Vec<ValuePath> {
        let mut found = conditions(self.side.chart, path);
        for depth in 0..path.segments().len() {
            let above = ValuePath::from(path.segments()[..depth].to_vec());
            found.extend(SWITCHES.iter().map(|name| above.key(*name)));
        }
        found.retain(|switch| {
            let set = switch.find(&self.base).or_else(|| self.side.default_at(switch));
            switch != path && set.and_then(Node::as_bool) == Some(false)
        });
        found.sort();
        found.dedup();
        found
    }
}

/// The conditions of the subcharts that a value belongs to.
fn conditions(chart: &Chart, path: &ValuePath) -> Vec<ValuePath> {
    let mut found = Vec::new();
    let (mut chart, mut at) = (chart, ValuePath::root());
    for segment in path.segments() {
        let Segment::Key(key) = segment else { break };
        let dependency = chart.metadata.dependencies.iter().find(|dependency| {
            let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
            *key == name.as_str()
        });
        let Some(dependency) = dependency else { break };
        for condition in dependency.condition.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            found.push(condition.split('.').fold(at.clone(), |path, key| path.key(key)));
        }
        let Some(next) = chart.subcharts.iter().find(|subchart| subchart.name() == dependency.name) else {
            break;
        };
        at = at.key(key.clone());
        chart = next;
    }
    found
}

/// Compares what a value did with what it does.
pub(crate) fn agreement(old: &Effect, new: &Effect) -> Agreement {
    let both = old.added.intersection(&new.added).count();
    let any = old.added.union(&new.added).count();
    // What the value replaces is a default, which may differ between the charts; only its place counts.
    let gone = |effect: &Effect| -> Vec<(String, String)> {
        let mut places: Vec<_> =
            effect.removed.iter().map(|fact| (fact.object.clone(), fact.field.clone())).collect();
        places.dedup();
        places
    };
    let (before, after) = (gone(old), gone(new));
    let removed = before.iter().filter(|place| after.contains(place)).count();
    let all = before.len() + after.len() - removed;
    let total = any + all;
    let share = if total == 0 { 0.0 } else { (both + removed) as f64 / total as f64 };
    Agreement { equal: total > 0 && both + removed == total, share }
}

/// How much of what one value adds another one adds next to it: the same text in the same part of the same objects, under another
/// name, from 0 to 1. A chart that calls the key of a Secret something else still sets it.
pub(crate) fn near(old: &Effect, new: &Effect) -> f64 {
    let parts = |effect: &Effect| -> BTreeSet<(String, String, String)> {
        let telling = effect.added.iter().filter(|fact| fact.value.len() > 3);
        let part = |field: &str| field.rsplit_once('.').map_or("", |(part, _)| part).to_owned();
        telling.map(|fact| (fact.object.clone(), part(&fact.field), fact.value.clone())).collect()
    };
    let (before, after) = (parts(old), parts(new));
    if before.is_empty() {
        return 0.0;
    }
    before.intersection(&after).count() as f64 / before.union(&after).count() as f64
}

/// Another value of the same type.
fn marked(value: &Node) -> Node {
    match value {
        Node::Nil => MARK.into(),
        Node::Bool(value) => Node::Bool(!value),
        Node::Int(value) => Node::Int(value.wrapping_add(1)),
        Node::Float(value) => Node::Float(value + 1.0),
        Node::Str(text) if text.as_bytes().is_empty() => MARK.into(),
        Node::Str(text) => format!("{}{MARK}", text.to_str_lossy()).into(),
        Node::List(items) => {
            let mut items = items.clone();
            let another = items.first().map_or_else(|| MARK.into(), marked);
            items.push(another);
            Node::List(items)
        }
        Node::Map(map) => {
            let mut map = map.clone();
            map.insert(MARK.into(), MARK.into());
            Node::Map(map)
        }
    }
}
