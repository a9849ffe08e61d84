//! Enables and disables subcharts, and applies aliases (Helm's `ProcessDependencies`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use pintle_chart::Chart;
use pintle_chart::metadata::Dependency;
use pintle_semver::{Constraint, Version};
use pintle_tree::{Map, Node};

use crate::coalesce::{Coalescer, Mode};
use crate::scope::{FieldPath, Scope};
use crate::table::{Item, Table};
use crate::{Error, LogLine, NullRules, Result, imports};

/// Checks that every listed dependency is present in `charts/`.
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

/// Enables and disables subcharts by tags and conditions, applies aliases, and processes `import-values`.
///
/// # Errors
/// When the values of a subchart are not a map.
pub fn process_dependencies(
    chart: Chart,
    user: &Map<Node>,
    rules: NullRules,
    log: &mut Vec<LogLine>,
) -> Result<Chart> {
    let plan = plan(&chart, user, rules, log)?;
    apply(plan, chart, rules, log)
}

fn plan(chart: &Chart, user: &Map<Node>, rules: NullRules, log: &mut Vec<LogLine>) -> Result<Option<Plan>> {
    if !lists_dependencies(chart) {
        return Ok(None);
    }
    let mut processor = DependencyProcessor { log, rules, changed: BTreeMap::new(), charts: 0 };
    processor.plan(chart, chart.name(), &Table::over(user), "").map(Some)
}

fn apply(plan: Option<Plan>, chart: Chart, rules: NullRules, log: &mut Vec<LogLine>) -> Result<Chart> {
    let mut chart = match plan {
        Some(plan) => plan.apply(chart),
        None => chart,
    };
    imports::import_values(&mut chart, rules, log)?;
    Ok(chart)
}

/// The maximum number of cached outcomes. Each is a whole chart.
const MAX_OUTCOMES: usize = 16;

/// Processes the dependencies of one chart for many sets of values. Values only decide which subcharts are enabled, so
/// each combination of enabled subcharts is processed once and shared.
pub struct DependencyCache {
    chart: Arc<Chart>,
    rules: NullRules,
    processed: Mutex<Vec<(Option<Plan>, Arc<Chart>)>>,
}

impl DependencyCache {
    /// Returns a cache for a chart whose dependencies have not been processed.
    pub fn new(chart: Chart, rules: NullRules) -> Self {
        DependencyCache { chart: Arc::new(chart), rules, processed: Mutex::default() }
    }

    /// The chart as it was given.
    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    /// Like [`process_dependencies`]. Warnings about imports are logged only if the outcome is not cached yet.
    ///
    /// # Errors
    /// When the values of a subchart are not a map.
    pub fn process(&self, user: &Map<Node>, log: &mut Vec<LogLine>) -> Result<Arc<Chart>> {
        let plan = plan(&self.chart, user, self.rules, log)?;
        if plan.is_none() && !self.chart.subcharts.iter().any(imports::has_dependencies) {
            return Ok(Arc::clone(&self.chart));
        }
        if let Some((_, chart)) = self.processed().iter().find(|(known, _)| *known == plan) {
            return Ok(Arc::clone(chart));
        }
        // Another thread may compute the same chart concurrently, which is wasteful but correct.
        let chart = Arc::new(apply(plan.clone(), (*self.chart).clone(), self.rules, log)?);
        let mut processed = self.processed();
        if processed.len() >= MAX_OUTCOMES {
            processed.clear();
        }
        processed.push((plan, Arc::clone(&chart)));
        Ok(chart)
    }

    fn processed(&self) -> MutexGuard<'_, Vec<(Option<Plan>, Arc<Chart>)>> {
        self.processed.lock().unwrap_or_else(|error| error.into_inner())
    }
}

/// The decisions for one chart. They are made before anything is changed, because they need the values of the whole
/// tree.
#[derive(Clone, Debug, PartialEq)]
struct Plan {
    dependencies: Vec<Dependency>,
    subcharts: Vec<Keep>,
}

/// A subchart that is enabled.
#[derive(Clone, Debug, PartialEq)]
struct Keep {
    /// The index of the subchart.
    index: usize,
    /// Its name or alias.
    name: String,
    /// Whether it is listed as a dependency. If so it is a copy; otherwise it is modified in place.
    listed: bool,
    plan: Option<Plan>,
}

impl Plan {
    fn apply(self, mut chart: Chart) -> Chart {
        // Helm appends to a nil slice, so a list that became empty is nil afterwards.
        chart.metadata.declares_dependencies = !self.dependencies.is_empty();
        chart.metadata.dependencies = self.dependencies;
        let mut sources: Vec<Option<Chart>> = chart.subcharts.into_iter().map(Some).collect();
        // A chart used under several aliases is cloned for all but the last of them.
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

/// Drops the imports of charts below a copy. Helm's copies share the metadata of unlisted subcharts, and importing
/// consumes the entries, so only the first copy imports.
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
    /// The remaining dependencies of charts that were modified in place, by address. A chart below one with several
    /// aliases is processed several times, and Helm continues from what the previous pass left.
    changed: BTreeMap<usize, Vec<Dependency>>,
    /// The number of subcharts so far.
    charts: usize,
}

/// The maximum number of subcharts, including nested ones. A chart can be listed under many aliases, and the cost
/// grows with the square of their number.
const MAX_CHARTS: usize = 4096;

impl DependencyProcessor<'_> {
    /// Plans a chart, known as `name`, and everything below it. `path` is the path of its values, with a trailing
    /// dot.
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
                // From here on the dependency is known by its alias: tags, conditions and `disabled` below
                // compare this name.
                dependency.name.clone_from(&dependency.alias);
            }
            dependency.enabled = true;
        }
        let subscopes =
            subcharts.iter().map(|keep| Scope::named(&chart.subcharts[keep.index], &keep.name)).collect();
        let scope = Scope { name: name.into(), values: &chart.values, subscopes };
        // Helm passes the values of the top chart down unchanged, so keys of a subchart are looked up next to its
        // parents'.
        let values = values.copied();
        let mut coalescing = Coalescer { log: self.log, rules: self.rules, mode: Mode::Coalesce };
        coalescing.scope(&scope, &values, &FieldPath::Top)?;

        // Tags first: a condition that resolves to a boolean overrides them.
        self.apply_tags(&mut dependencies, &values);
        self.apply_conditions(&mut dependencies, &values, path);
        let disabled: Vec<String> =
            dependencies.iter().filter(|entry| !entry.enabled).map(|entry| entry.name.clone()).collect();
        // By name, as in Helm: disabling one of two dependencies of the same name removes both.
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
            // One true tag is enough, whatever the others say; without any tag in the values the chart is
            // enabled.
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
                        // Only the first condition that is a boolean counts; paths that are missing or no
                        // boolean are passed over.
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

/// Whether a chart has a list of dependencies, even an empty one. Charts below one without are left as they are.
pub(crate) fn lists_dependencies(chart: &Chart) -> bool {
    chart.metadata.declares_dependencies || !chart.metadata.dependencies.is_empty()
}

fn address(chart: &Chart) -> usize {
    std::ptr::from_ref(chart).addr()
}

/// The candidate subcharts: unlisted ones first, then one for each dependency whose chart is present.
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

/// Whether a dependency refers to this chart. An invalid constraint or version matches nothing.
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

    #[test]
    fn charts_are_shared_by_values_that_enable_the_same_subcharts() {
        let map = |text: &str| pintle_tree::json::read_map(text.as_bytes()).unwrap();
        let mut sub = Chart { values: map(r#"{"size":1}"#), ..Chart::default() };
        sub.metadata.name = "sub".to_owned();
        sub.metadata.version = "1.0.0".to_owned();
        let mut parent = Chart { subcharts: vec![sub], ..Chart::default() };
        parent.metadata.name = "p".to_owned();
        parent.metadata.dependencies = vec![Dependency {
            name: "sub".to_owned(),
            version: "1.0.0".to_owned(),
            condition: "on".to_owned(),
            ..Dependency::default()
        }];
        let cache = DependencyCache::new(parent.clone(), NullRules::Helm4);
        let process = |user: &str| cache.process(&map(user), &mut Vec::new()).unwrap();
        let (first, second, off) =
            (process(r#"{"on":true,"a":1}"#), process(r#"{"sub":{"size":2}}"#), process(r#"{"on":false}"#));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(off.subcharts.is_empty() && !first.subcharts.is_empty());
        for user in [r#"{"on":true}"#, r#"{"on":false}"#] {
            let alone = process_dependencies(parent.clone(), &map(user), NullRules::Helm4, &mut Vec::new());
            assert_eq!(process(user).values, alone.unwrap().values, "{user}");
        }
    }

    #[test]
    fn a_chart_without_dependencies_is_not_copied() {
        let cache = DependencyCache::new(Chart::default(), NullRules::Helm4);
        let chart = cache.process(&Map::new(), &mut Vec::new()).unwrap();
        assert!(std::ptr::eq(&*chart, cache.chart()));
    }
}
