//! What a handler sees, with the rule of each event about what it may change.

use pintle_tree::{Map, Node, Str};

use crate::chart_path::ChartPath;
use crate::error::ContextError;
use crate::event::{ContextField, Event};
use crate::info::{
    CapabilityInfo, ChartInfo, Dependency, ReadinessInfo, ReleaseInfo, RenderedObject, SourceFile,
};

/// What the context holds for one chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartContext {
    /// Where the chart stands.
    pub path: ChartPath,
    /// What Chart.yaml says.
    pub facts: ChartInfo,
    /// The files that are no templates, and not below `ext/`.
    pub files: Vec<SourceFile>,
    /// The templates.
    pub templates: Vec<SourceFile>,
    /// The charts it needs.
    pub dependencies: Vec<Dependency>,
}

/// What the handlers of one event see and change.
///
/// A handler sees its own chart: that chart's facts, files and templates, and the values of that chart's scope. A
/// handler of the program sees the topmost chart. Objects, release and cluster are the same for all.
///
/// Who emits builds a context, lets the emitter pass it around, and reads `all_…` and `take_…` afterwards.
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

/// Whose turn it is.
#[derive(Clone, Debug)]
struct HandlerScope {
    event: Event,
    chart: ChartPath,
}

/// For those who emit.
impl Context {
    /// Adds a chart.
    #[must_use]
    pub fn with_chart(mut self, chart: ChartContext) -> Self {
        self.charts.push(chart);
        self
    }

    /// Sets the values of the topmost chart, which hold those of its subcharts.
    #[must_use]
    pub fn with_values(mut self, values: Map<Node>) -> Self {
        self.values = values;
        self
    }

    /// Sets what is known about the release.
    #[must_use]
    pub fn with_release(mut self, release: ReleaseInfo) -> Self {
        self.release = Some(release);
        self
    }

    /// Sets what is known about the cluster.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: CapabilityInfo) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Sets what an object that is waited for has come to.
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

    /// All charts, as they were added.
    pub fn all_charts(&self) -> &[ChartContext] {
        &self.charts
    }

    /// The values of the topmost chart.
    pub fn all_values(&self) -> &Map<Node> {
        &self.values
    }

    /// Whether a handler has had the values for changing them. Comparing them would take longer than most handlers.
    pub fn values_changed(&self) -> bool {
        self.values_changed
    }

    /// Takes the values of the topmost chart.
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

    /// Gives the next handler its turn.
    pub(crate) fn enter_handler(&mut self, event: Event, chart: &ChartPath) {
        self.turn = Some(HandlerScope { event, chart: chart.clone() });
    }

    /// Takes the turn back.
    pub(crate) fn leave_handler(&mut self) {
        self.turn = None;
    }
}

/// For handlers.
impl Context {
    /// The event that is handled.
    pub fn event(&self) -> Option<Event> {
        self.turn.as_ref().map(|turn| turn.event)
    }

    /// The path of the handler's chart.
    pub fn chart_path(&self) -> ChartPath {
        self.turn.as_ref().map(|turn| turn.chart.clone()).unwrap_or_default()
    }

    /// What Chart.yaml says; none at events that have no chart.
    pub fn chart(&self) -> Option<&ChartInfo> {
        self.part().map(|part| &part.facts)
    }

    /// What is known about the release, at events that have one.
    pub fn release(&self) -> Option<&ReleaseInfo> {
        self.release.as_ref()
    }

    /// What is known about the cluster, at events that have one.
    pub fn capabilities(&self) -> Option<&CapabilityInfo> {
        self.capabilities.as_ref()
    }

    /// What an object that is waited for has come to, at events that are about one.
    pub fn readiness(&self) -> Option<&ReadinessInfo> {
        self.readiness.as_ref()
    }

    /// The values of the chart's scope; none if something else than a map stands there.
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

    /// The values of the chart's scope, for changing them; made where there are none.
    ///
    /// # Errors
    /// When the event does not let values change.
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

    /// The files of the chart, for changing them.
    ///
    /// # Errors
    /// When the event does not let files change, or has no chart.
    pub fn files_mut(&mut self) -> Result<&mut Vec<SourceFile>, ContextError> {
        self.part_mut(ContextField::Files).map(|part| &mut part.files)
    }

    /// The templates of the chart, for changing them.
    ///
    /// # Errors
    /// When the event does not let templates change, or has no chart.
    pub fn templates_mut(&mut self) -> Result<&mut Vec<SourceFile>, ContextError> {
        self.part_mut(ContextField::Templates).map(|part| &mut part.templates)
    }

    /// The dependencies of the chart, for changing them.
    ///
    /// # Errors
    /// When the event does not let dependencies change, or has no chart.
    pub fn dependencies_mut(&mut self) -> Result<&mut Vec<Dependency>, ContextError> {
        self.part_mut(ContextField::Dependencies).map(|part| &mut part.dependencies)
    }

    /// The rendered objects, for changing them.
    ///
    /// # Errors
    /// When the event does not let objects change.
    pub fn objects_mut(&mut self) -> Result<&mut Vec<RenderedObject>, ContextError> {
        self.check(ContextField::Objects)?;
        Ok(&mut self.objects)
    }

    /// Outside of a turn nobody is there to be kept from anything.
    fn check(&self, part: ContextField) -> Result<(), ContextError> {
        match &self.turn {
            Some(turn) if !turn.event.may_change(part) => {
                Err(ContextError::ReadOnly { part, event: turn.event })
            }
            _ => Ok(()),
        }
    }

    /// The place of the handler's chart among the charts.
    fn place(&self) -> Option<usize> {
        match &self.turn {
            Some(turn) if !turn.chart.names().is_empty() => {
                self.charts.iter().position(|part| part.path == turn.chart)
            }
            _ => self.charts.iter().position(|part| part.path.names().len() == 1),
        }
    }

    fn part(&self) -> Option<&ChartContext> {
        self.place().map(|place| &self.charts[place])
    }

    fn part_mut(&mut self, part: ContextField) -> Result<&mut ChartContext, ContextError> {
        self.check(part)?;
        let place = self.place().ok_or(ContextError::NoChart { part })?;
        Ok(&mut self.charts[place])
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
