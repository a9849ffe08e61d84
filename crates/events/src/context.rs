//! What a handler sees, with the rule of each event about what it may change.

use pintle_tree::{Map, Node, Str};

use crate::chart_path::ChartPath;
use crate::error::Refused;
use crate::event::{Event, Part};
use crate::facts::{
    CapabilityFacts, ChartFacts, Dependency, ReadinessFacts, ReleaseFacts, RenderedObject, SourceFile,
};

/// What the context holds for one chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartPart {
    /// Where the chart stands.
    pub path: ChartPath,
    /// What Chart.yaml says.
    pub facts: ChartFacts,
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
    charts: Vec<ChartPart>,
    values: Map<Node>,
    release: Option<ReleaseFacts>,
    capabilities: Option<CapabilityFacts>,
    readiness: Option<ReadinessFacts>,
    objects: Vec<RenderedObject>,
    values_changed: bool,
    turn: Option<Turn>,
}

/// Whose turn it is.
#[derive(Clone, Debug)]
struct Turn {
    event: Event,
    chart: ChartPath,
}

/// For those who emit.
impl Context {
    /// Adds a chart.
    #[must_use]
    pub fn with_chart(mut self, chart: ChartPart) -> Self {
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
    pub fn with_release(mut self, release: ReleaseFacts) -> Self {
        self.release = Some(release);
        self
    }

    /// Sets what is known about the cluster.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: CapabilityFacts) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Sets what an object that is waited for has come to.
    #[must_use]
    pub fn with_readiness(mut self, readiness: ReadinessFacts) -> Self {
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
    pub fn all_charts(&self) -> &[ChartPart] {
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
    pub fn take_charts(&mut self) -> Vec<ChartPart> {
        std::mem::take(&mut self.charts)
    }

    /// Gives the next handler its turn.
    pub(crate) fn give_turn(&mut self, event: Event, chart: &ChartPath) {
        self.turn = Some(Turn { event, chart: chart.clone() });
    }

    /// Takes the turn back.
    pub(crate) fn end_turn(&mut self) {
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
    pub fn chart(&self) -> Option<&ChartFacts> {
        self.part().map(|part| &part.facts)
    }

    /// What is known about the release, at events that have one.
    pub fn release(&self) -> Option<&ReleaseFacts> {
        self.release.as_ref()
    }

    /// What is known about the cluster, at events that have one.
    pub fn capabilities(&self) -> Option<&CapabilityFacts> {
        self.capabilities.as_ref()
    }

    /// What an object that is waited for has come to, at events that are about one.
    pub fn readiness(&self) -> Option<&ReadinessFacts> {
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
    pub fn values_mut(&mut self) -> Result<&mut Map<Node>, Refused> {
        self.check(Part::Values)?;
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
    pub fn files_mut(&mut self) -> Result<&mut Vec<SourceFile>, Refused> {
        self.part_mut(Part::Files).map(|part| &mut part.files)
    }

    /// The templates of the chart, for changing them.
    ///
    /// # Errors
    /// When the event does not let templates change, or has no chart.
    pub fn templates_mut(&mut self) -> Result<&mut Vec<SourceFile>, Refused> {
        self.part_mut(Part::Templates).map(|part| &mut part.templates)
    }

    /// The dependencies of the chart, for changing them.
    ///
    /// # Errors
    /// When the event does not let dependencies change, or has no chart.
    pub fn dependencies_mut(&mut self) -> Result<&mut Vec<Dependency>, Refused> {
        self.part_mut(Part::Dependencies).map(|part| &mut part.dependencies)
    }

    /// The rendered objects, for changing them.
    ///
    /// # Errors
    /// When the event does not let objects change.
    pub fn objects_mut(&mut self) -> Result<&mut Vec<RenderedObject>, Refused> {
        self.check(Part::Objects)?;
        Ok(&mut self.objects)
    }

    /// Outside of a turn nobody is there to be kept from anything.
    fn check(&self, part: Part) -> Result<(), Refused> {
        match &self.turn {
            Some(turn) if !turn.event.may_change(part) => Err(Refused::ReadOnly { part, event: turn.event }),
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

    fn part(&self) -> Option<&ChartPart> {
        self.place().map(|place| &self.charts[place])
    }

    fn part_mut(&mut self, part: Part) -> Result<&mut ChartPart, Refused> {
        self.check(part)?;
        let place = self.place().ok_or(Refused::NoChart { part })?;
        Ok(&mut self.charts[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        let top = ChartPath::top("web");
        let chart = |path: &ChartPath, name: &str| ChartPart {
            path: path.clone(),
            facts: ChartFacts { name: name.into(), ..ChartFacts::default() },
            ..ChartPart::default()
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
            context.give_turn(Event::PreRender, &path);
            assert_eq!(context.chart().map(|chart| chart.name.as_str()), Some(name));
        }
    }

    #[test]
    fn a_subchart_changes_the_values_of_its_own_scope() {
        let mut context = context();
        let db = ChartPath::top("web").child("db");
        context.give_turn(Event::PreRender, &db);
        assert!(context.values().is_none());
        context.values_mut().expect("values may change").insert("size".into(), 1.into());
        assert_eq!(context.all_values().get("db").and_then(|db| db.get("size")), Some(&Node::Int(1)));
        context.give_turn(Event::PreRender, &ChartPath::top("web"));
        context.values_mut().expect("values may change").insert("db".into(), "text".into());
        context.give_turn(Event::PreRender, &db);
        assert!(context.values_mut().expect("values may change").is_empty());
    }

    #[test]
    fn each_event_opens_only_its_parts() {
        let mut context = context();
        for entry in crate::TABLE {
            context.give_turn(entry.event, &ChartPath::top("web"));
            let opened: Vec<Part> = [
                context.values_mut().is_ok().then_some(Part::Values),
                context.files_mut().is_ok().then_some(Part::Files),
                context.templates_mut().is_ok().then_some(Part::Templates),
                context.dependencies_mut().is_ok().then_some(Part::Dependencies),
                context.objects_mut().is_ok().then_some(Part::Objects),
            ]
            .into_iter()
            .flatten()
            .collect();
            assert_eq!(opened, entry.may_change, "{}", entry.name);
        }
        context.give_turn(Event::PostInstall, &ChartPath::top("web"));
        let error = context.objects_mut().expect_err("nothing may change any more");
        assert_eq!(error.to_string(), "`objects` is read-only in `post-install`");
    }

    #[test]
    fn an_event_without_chart_has_no_templates() {
        let mut context = Context::default();
        context.give_turn(Event::PreRender, &ChartPath::top("web"));
        assert!(context.chart().is_none() && context.templates().is_empty());
        assert_eq!(context.templates_mut(), Err(Refused::NoChart { part: Part::Templates }));
    }
}
