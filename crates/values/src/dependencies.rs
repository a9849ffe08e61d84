//! Which subcharts are switched on, and under which names.

use std::collections::BTreeMap;

use pintle_chart::Chart;
use pintle_chart::metadata::Dependency;
use pintle_semver::{Constraint, Version};
use pintle_tree::{Map, Node};

use crate::coalesce::{Coalescer, Mode};
use crate::scope::{FieldPath, Scope};
use crate::table::{Item, Table};
use crate::{Error, LogLine, NullRules, Result, imports};

/// Checks that every chart that `chart` lists as a dependency is there.
///
/// # Errors
/// Names those that are missing.
pub fn missing_dependencies(chart: &Chart) -> Result<()> {
    let missing: Vec<_> = chart
        .metadata
        .dependencies
        .iter()
        .map(|dependency| dependency.name.as_str())
        .filter(|name| !chart.subcharts.iter().any(|subchart| subchart.name() == *name))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(Error::MissingDependencies(missing.join(", "))) }
}

/// Switches subcharts on and off by tags and conditions, gives them their aliases, and moves imported values up.
///
/// # Errors
/// The values of a subchart are no map.
pub fn process_dependencies(
    mut chart: Chart,
    user: &Map<Node>,
    rules: NullRules,
    log: &mut Vec<LogLine>,
) -> Result<Chart> {
    if lists_dependencies(&chart) {
        let mut switching = DependencyProcessor { log, rules, changed: BTreeMap::new(), charts: 0 };
        let plan = switching.plan(&chart, chart.name(), &Table::over(user), "")?;
        chart = plan.apply(chart);
    }
    imports::import_values(&mut chart, rules, log)?;
    Ok(chart)
}

/// What to do with a chart that lists dependencies. It is made before anything is changed, because the decisions need
/// the values of the whole tree.
struct Plan {
    dependencies: Vec<Dependency>,
    subcharts: Vec<Keep>,
}

/// A subchart that stays.
struct Keep {
    /// Which of the subcharts it is.
    index: usize,
    /// The name it gets.
    name: String,
    /// Whether a dependency speaks of it. If so it is a copy; otherwise it is changed in place.
    listed: bool,
    plan: Option<Plan>,
}

impl Plan {
    fn apply(self, mut chart: Chart) -> Chart {
        chart.metadata.declares_dependencies = !self.dependencies.is_empty();
        chart.metadata.dependencies = self.dependencies;
        let mut sources: Vec<Option<Chart>> = chart.subcharts.into_iter().map(Some).collect();
        // A chart that is used under several names is copied for all but the last of them.
        let mut uses = vec![0usize; sources.len()];
        for keep in &self.subcharts {
            uses[keep.index] += 1;
        }
        let mut first_use = vec![true; sources.len()];
        chart.subcharts = self
            .subcharts
            .into_iter()
            .filter_map(|mut keep| {
                uses[keep.index] -= 1;
                let source = &mut sources[keep.index];
                let mut subchart = if uses[keep.index] == 0 { source.take() } else { source.clone() }?;
                if !std::mem::take(&mut first_use[keep.index]) {
                    consume_imports(&mut subchart, keep.plan.as_mut());
                }
                subchart.metadata.name = keep.name;
                Some(match keep.plan {
                    Some(plan) => plan.apply(subchart),
                    None => subchart,
                })
            })
            .collect();
        chart
    }
}

/// Drops the imports of charts below a copy. Helm's copies share the metadata of charts that no dependency speaks of,
/// and importing uses the entries up, so that only the first copy imports.
fn consume_imports(copy: &mut Chart, mut plan: Option<&mut Plan>) {
    for (index, subchart) in copy.subcharts.iter_mut().enumerate() {
        let keep = plan.as_mut().and_then(|plan| plan.subcharts.iter_mut().find(|keep| keep.index == index));
        let (listed, mut plan) = keep.map_or((false, None), |keep| (keep.listed, keep.plan.as_mut()));
        if !listed {
            let dependencies = match &mut plan {
                Some(plan) => &mut plan.dependencies,
                None => &mut subchart.metadata.dependencies,
            };
            dependencies.iter_mut().for_each(|dependency| dependency.import_values.clear());
        }
        consume_imports(subchart, plan);
    }
}

struct DependencyProcessor<'l> {
    log: &'l mut Vec<LogLine>,
    rules: NullRules,
    /// The dependencies that are left of charts that were changed in place, by address. A chart below one that is used
    /// under several names is processed several times, and Helm then goes on from what the time before has left.
    changed: BTreeMap<usize, Vec<Dependency>>,
    /// How many subcharts there are so far.
    charts: usize,
}

/// How many subcharts a chart may have, with those below them. A chart can be there under many names, and each name costs
/// time with every other.
const MAX_CHARTS: usize = 4096;

impl DependencyProcessor<'_> {
    /// Decides for a chart, known as `name`, and all below it. `path` is where its values are, with a dot at its end.
    fn plan<'a>(&mut self, chart: &'a Chart, name: &str, values: &Table<'a>, path: &str) -> Result<Plan> {
        let left = self.changed.get(&address(chart)).unwrap_or(&chart.metadata.dependencies);
        let mut dependencies = left.clone();
        self.charts = self.charts.saturating_add(dependencies.len().max(chart.subcharts.len()));
        if self.charts > MAX_CHARTS {
            return Err(Error::TooManyCharts { chart: name.to_owned(), limit: MAX_CHARTS });
        }
        let mut subcharts = candidates(chart, &dependencies);
        for dependency in &mut dependencies {
            if !dependency.alias.is_empty() {
                dependency.name.clone_from(&dependency.alias);
            }
            dependency.enabled = true;
        }
        let subscopes =
            subcharts.iter().map(|keep| Scope::named(&chart.subcharts[keep.index], &keep.name)).collect();
        let scope = Scope { name: name.into(), values: &chart.values, subscopes };
        // Helm hands the values of the top chart down unchanged, so keys of a subchart meet keys of its parents here.
        let values = values.copied();
        let mut coalescing = Coalescer { log: self.log, rules: self.rules, mode: Mode::Coalesce };
        coalescing.scope(&scope, &values, &FieldPath::Top)?;

        self.apply_tags(&mut dependencies, &values);
        self.apply_conditions(&mut dependencies, &values, path);
        let disabled: Vec<String> =
            dependencies.iter().filter(|entry| !entry.enabled).map(|entry| entry.name.clone()).collect();
        subcharts.retain(|keep| !disabled.contains(&keep.name));
        dependencies.retain(|dependency| !disabled.contains(&dependency.name));

        for keep in &mut subcharts {
            let subchart = &chart.subcharts[keep.index];
            let left = self.changed.get(&address(subchart));
            if left.map_or_else(|| lists_dependencies(subchart), |left| !left.is_empty()) {
                let path = format!("{path}{}.", keep.name);
                let plan = self.plan(subchart, &keep.name, &values, &path)?;
                if !keep.listed {
                    self.changed.insert(address(subchart), plan.dependencies.clone());
                }
                keep.plan = Some(plan);
            }
        }
        Ok(Plan { dependencies, subcharts })
    }

    fn apply_tags(&mut self, dependencies: &mut [Dependency], values: &Table<'_>) {
        let Ok(tags) = values.table_at("tags") else { return };
        for dependency in dependencies {
            let (mut on, mut off) = (false, false);
            for tag in &dependency.tags {
                match tags.get(tag).as_ref().map(Item::as_node) {
                    None => {}
                    Some(Some(Node::Bool(value))) => {
                        on |= value;
                        off |= !value;
                    }
                    Some(_) => self.warn_no_bool("tag", tag, &dependency.name),
                }
            }
            dependency.enabled = on || !off;
        }
    }

    fn apply_conditions(&mut self, dependencies: &mut [Dependency], values: &Table<'_>, path: &str) {
        for dependency in dependencies {
            for condition in dependency.condition.trim().split(',').filter(|condition| !condition.is_empty())
            {
                match values.value_at(&format!("{path}{condition}")) {
                    None => {}
                    Some(Node::Bool(value)) => {
                        dependency.enabled = value;
                        break;
                    }
                    Some(_) => self.warn_no_bool("path", condition, &dependency.name),
                }
            }
        }
    }

    fn warn_no_bool(&mut self, what: &'static str, which: &str, chart: &str) {
        let attributes = vec![(what, which.to_owned()), ("chart", chart.to_owned())];
        self.log.push(LogLine::warn("returned non-bool value", attributes));
    }
}

/// Whether a chart has a list of dependencies, be it empty. Charts below one that has none are left as they are.
pub(crate) fn lists_dependencies(chart: &Chart) -> bool {
    chart.metadata.declares_dependencies || !chart.metadata.dependencies.is_empty()
}

fn address(chart: &Chart) -> usize {
    std::ptr::from_ref(chart).addr()
}

/// The subcharts that may stay: those that no dependency speaks of, then one for each dependency that finds its chart.
fn candidates(chart: &Chart, dependencies: &[Dependency]) -> Vec<Keep> {
    let unlisted = chart
        .subcharts
        .iter()
        .enumerate()
        .filter(|(_, subchart)| !dependencies.iter().any(|dependency| matches(dependency, subchart)));
    let listed = dependencies.iter().filter_map(|dependency| {
        let index = chart.subcharts.iter().position(|subchart| matches(dependency, subchart))?;
        let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        Some(Keep { index, name: name.clone(), listed: true, plan: None })
    });
    let unlisted = unlisted.map(|(index, subchart)| Keep {
        index,
        name: subchart.name().to_owned(),
        listed: false,
        plan: None,
    });
    unlisted.chain(listed).collect()
}

/// Whether a dependency means this chart. A range or version that cannot be read means no chart at all.
fn matches(dependency: &Dependency, subchart: &Chart) -> bool {
    dependency.name == subchart.name()
        && match (Version::parse(&subchart.metadata.version), Constraint::parse(&dependency.version)) {
            (Ok(version), Ok(range)) => range.check(&version),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subchart_under_thousands_of_names_is_refused() {
        let named = |name: &str| {
            let mut chart = Chart::default();
            chart.metadata.name = name.to_owned();
            chart.metadata.version = "1.0.0".to_owned();
            chart
        };
        let aliased = |count: usize| {
            let mut chart = named("p");
            chart.subcharts.push(named("sub"));
            chart.metadata.dependencies = (0..count)
                .map(|index| Dependency {
                    name: "sub".to_owned(),
                    version: "1.0.0".to_owned(),
                    alias: format!("a{index}"),
                    ..Dependency::default()
                })
                .collect();
            process_dependencies(chart, &Map::new(), NullRules::Helm4, &mut Vec::new())
        };
        assert_eq!(aliased(100).expect("not too many").subcharts.len(), 100);
        let error = aliased(MAX_CHARTS + 1).expect_err("too many");
        assert_eq!(error.to_string(), "chart p has more than 4096 subcharts");
    }
}
