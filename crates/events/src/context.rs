//! The context of handlers, which enforces what each event allows them to change.

use pintle_tree::{Map, Node, Str};

use crate::chart_path::ChartPath;
use crate::error::ContextError;
use crate::event::{ContextField, Event};
use crate::info::{
    CapabilityInfo, ChartInfo, Dependency, ReadinessInfo, ReleaseInfo, RenderedObject, SourceFile,
};

/// The context of one chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartContext {
    /// The path of the chart.
    pub path: ChartPath,
    /// The contents of Chart.yaml.
    pub facts: ChartInfo,
    /// The files that are not templates, except those in `ext/`.
    pub files: Vec<SourceFile>,
    /// The templates.
    pub templates: Vec<SourceFile>,
    /// Its dependencies.
    pub dependencies: Vec<Dependency>,
}

/// What the handlers of an event can read and change.
///
/// A handler sees its own chart: that chart's metadata, files and templates, and the values in its scope. A handler
/// of the program sees the top-level chart. Objects, release and capabilities are the same for all.
///
/// The caller builds a context, passes it to the emitter, and reads it back with `all_…` and `take_…`.
#[derive(Clone, Debug, Default)]
pub struct Context {
    charts: Vec<ChartContext>,
    values: Map<Node>,
    release: Option<ReleaseInfo>,
    capabilities: Option<CapabilityInfo>,
    readiness: Option<ReadinessInfo>,
    objects: Vec<RenderedObject>,
    values_changed: bool,
    turn: Option<HandlerScope>,
}

/// The handler that is being called.
#[derive(Clone, Debug)]
struct HandlerScope {
    event: Event,
    chart: ChartPath,
}

/// For callers of the emitter.
impl Context {
    /// Adds a chart.
    #[must_use]
    pub fn with_chart(mut self, chart: ChartContext) -> Self {
        self.charts.push(chart);
        self
    }

    /// Sets the values of the top-level chart, which contain those of its subcharts.
    #[must_use]
    pub fn with_values(mut self, values: Map<Node>) -> Self {
        self.values = values;
        self
    }

    /// Sets the release.
    #[must_use]
    pub fn with_release(mut self, release: ReleaseInfo) -> Self {
        self.release = Some(release);
        self
    }

    /// Sets the capabilities.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: CapabilityInfo) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Sets the status of an object that is waited for.
    #[must_use]
    pub fn with_readiness(mut self, readiness: ReadinessInfo) -> Self {
        self.readiness = Some(readiness);
        self
    }

    /// Sets the rendered objects.
    #[must_use]
    pub fn with_objects(mut self, objects: Vec<RenderedObject>) -> Self {
        self.objects = objects;
        self
    }

    /// All charts, in the order in which they were added.
    pub fn all_charts(&self) -> &[ChartContext] {
        &self.charts
    }

    /// The values of the top-level chart.
    pub fn all_values(&self) -> &Map<Node> {
        &self.values
    }

    /// Whether a handler had mutable access to the values. Comparing them would take longer than most handlers.
    pub fn values_changed(&self) -> bool {
        self.values_changed
    }

    /// Takes the values of the top-level chart.
    pub fn take_values(&mut self) -> Map<Node> {
        std::mem::take(&mut self.values)
    }

    /// Takes the rendered objects.
    pub fn take_objects(&mut self) -> Vec<RenderedObject> {
        std::mem::take(&mut self.objects)
    }

    /// Takes the charts.
    pub fn take_charts(&mut self) -> Vec<ChartContext> {
        std::mem::take(&mut self.charts)
    }

    /// Sets the handler that is called next.
    pub(crate) fn enter_handler(&mut self, event: Event, chart: &ChartPath) {
        self.turn = Some(HandlerScope { event, chart: chart.clone() });
    }

    /// Ends the call of a handler.
    pub(crate) fn leave_handler(&mut self) {
        self.turn = None;
    }
}

/// For handlers.
impl Context {
    /// The event being handled.
    pub fn event(&self) -> Option<Event> {
        self.turn.as_ref().map(|turn| turn.event)
    }

    /// The path of the handler's chart.
    pub fn chart_path(&self) -> ChartPath {
        self.turn.as_ref().map(|turn| turn.chart.clone()).unwrap_or_default()
    }

    /// The contents of Chart.yaml; `None` at events without a chart.
    pub fn chart(&self) -> Option<&ChartInfo> {
        self.part().map(|part| &part.facts)
    }

    /// The release; `None` at events without one.
    pub fn release(&self) -> Option<&ReleaseInfo> {
        self.release.as_ref()
    }

    /// What is known of the cluster; without one, what charts are rendered with by default.
    pub fn capabilities(&self) -> Option<&CapabilityInfo> {
        self.capabilities.as_ref()
    }

    /// The status of an object; `None` at events that are not about one.
    pub fn readiness(&self) -> Option<&ReadinessInfo> {
        self.readiness.as_ref()
    }

    /// The values in the chart's scope; `None` if they are not a map.
    pub fn values(&self) -> Option<&Map<Node>> {
        let scope = self.turn.as_ref().map(|turn| turn.chart.below_top()).unwrap_or_default();
        scope.iter().try_fold(&self.values, |map, name| map.get(name)?.as_map())
    }

    /// The files of the chart.
    pub fn files(&self) -> &[SourceFile] {
        self.part().map(|part| part.files.as_slice()).unwrap_or_default()
    }

    /// The templates of the chart.
    pub fn templates(&self) -> &[SourceFile] {
        self.part().map(|part| part.templates.as_slice()).unwrap_or_default()
    }

    /// The dependencies of the chart.
    pub fn dependencies(&self) -> &[Dependency] {
        self.part().map(|part| part.dependencies.as_slice()).unwrap_or_default()
    }

    /// The rendered objects of all charts.
    pub fn objects(&self) -> &[RenderedObject] {
        &self.objects
    }

    /// Mutable values in the chart's scope; created if missing.
    ///
    /// # Errors
    /// When the event does not allow it.
    pub fn values_mut(&mut self) -> Result<&mut Map<Node>, ContextError> {
        self.check(ContextField::Values)?;
        self.values_changed = true;
        let scope = self.turn.as_ref().map(|turn| turn.chart.below_top()).unwrap_or_default();
        let mut values = &mut self.values;
        for name in scope {
            let node = values.entry_or_insert_with(&Str::from(name), Node::empty_map);
            if node.as_map().is_none() {
                *node = Node::empty_map();
            }
            values = node.as_map_mut().expect("it was just made a map");
        }
        Ok(values)
    }

    /// The files of the chart, mutable.
    ///
    /// # Errors
    /// When the event does not allow it, or has no chart.
    pub fn files_mut(&mut self) -> Result<&mut Vec<SourceFile>, ContextError> {
        self.part_mut(ContextField::Files).map(|part| &mut part.files)
    }

    /// The templates of the chart, mutable.
    ///
    /// # Errors
    /// When the event does not allow it, or has no chart.
    pub fn templates_mut(&mut self) -> Result<&mut Vec<SourceFile>, ContextError> {
        self.part_mut(ContextField::Templates).map(|part| &mut part.templates)
    }

    /// The dependencies of the chart, mutable.
    ///
    /// # Errors
    /// When the event does not allow it, or has no chart.
    pub fn dependencies_mut(&mut self) -> Result<&mut Vec<Dependency>, ContextError> {
        self.part_mut(ContextField::Dependencies).map(|part| &mut part.dependencies)
    }

    /// The rendered objects, mutable.
    ///
    /// # Errors
    /// When the event does not allow it.
    pub fn objects_mut(&mut self) -> Result<&mut Vec<RenderedObject>, ContextError> {
        self.check(ContextField::Objects)?;
        Ok(&mut self.objects)
    }

    /// Outside of a handler call everything may change.
    fn check(&self, part: ContextField) -> Result<(), ContextError> {
        match &self.turn {
            Some(turn) if !turn.event.may_change(part) => {
                Err(ContextError::ReadOnly { part, event: turn.event })
            }
            _ => Ok(()),
        }
    }

    /// The index of the handler's chart.
    fn chart_index(&self) -> Option<usize> {
        match &self.turn {
            Some(turn) if !turn.chart.names().is_empty() => {
                self.charts.iter().position(|part| part.path == turn.chart)
            }
            _ => self.charts.iter().position(|part| part.path.names().len() == 1),
        }
    }

    fn part(&self) -> Option<&ChartContext> {
        self.chart_index().map(|chart_index| &self.charts[chart_index])
    }

    fn part_mut(&mut self, part: ContextField) -> Result<&mut ChartContext, ContextError> {
        self.check(part)?;
        let chart_index = self.chart_index().ok_or(ContextError::NoChart { part })?;
        Ok(&mut self.charts[chart_index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        let top = ChartPath::top("web");
        let chart = |path: &ChartPath, name: &str| ChartContext {
            path: path.clone(),
            facts: ChartInfo { name: name.into(), ..ChartInfo::default() },
            ..ChartContext::default()
        };
        Context::default().with_chart(chart(&top.child("db"), "postgres")).with_chart(chart(&top, "web"))
    }

    #[test]
    fn a_handler_sees_its_own_chart_and_the_program_sees_the_topmost() {
        let mut context = context();
        for (path, name) in [
            (ChartPath::top("web").child("db"), "postgres"),
            (ChartPath::top("web"), "web"),
            (ChartPath::program(), "web"),
        ] {
            context.enter_handler(Event::PreRender, &path);
            assert_eq!(context.chart().map(|chart| chart.name.as_str()), Some(name));
        }
    }

    #[test]
    fn a_subchart_changes_the_values_of_its_own_scope() {
        let mut context = context();
        let db = ChartPath::top("web").child("db");
        context.enter_handler(Event::PreRender, &db);
        assert!(context.values().is_none());
        context.values_mut().expect("values may change").insert("size".into(), 1.into());
        assert_eq!(context.all_values().get("db").and_then(|db| db.get("size")), Some(&Node::Int(1)));
        context.enter_handler(Event::PreRender, &ChartPath::top("web"));
        context.values_mut().expect("values may change").insert("db".into(), "text".into());
        context.enter_handler(Event::PreRender, &db);
        assert!(context.values_mut().expect("values may change").is_empty());
    }

    #[test]
    fn each_event_opens_only_its_parts() {
        let mut context = context();
        for entry in crate::TABLE {
            context.enter_handler(entry.event, &ChartPath::top("web"));
            let opened: Vec<ContextField> = [
                context.values_mut().is_ok().then_some(ContextField::Values),
                context.files_mut().is_ok().then_some(ContextField::Files),
                context.templates_mut().is_ok().then_some(ContextField::Templates),
                context.dependencies_mut().is_ok().then_some(ContextField::Dependencies),
                context.objects_mut().is_ok().then_some(ContextField::Objects),
            ]
            .into_iter()
            .flatten()
            .collect();
            assert_eq!(opened, entry.may_change, "{}", entry.name);
        }
        context.enter_handler(Event::PostInstall, &ChartPath::top("web"));
        let error = context.objects_mut().expect_err("nothing may change any more");
        assert_eq!(error.to_string(), "`objects` is read-only in `post-install`");
    }

    #[test]
    fn an_event_without_chart_has_no_templates() {
        let mut context = Context::default();
        context.enter_handler(Event::PreRender, &ChartPath::top("web"));
        assert!(context.chart().is_none() && context.templates().is_empty());
        assert_eq!(context.templates_mut(), Err(ContextError::NoChart { part: ContextField::Templates }));
    }
}
