//! The table of lifecycle events: their names, when they are emitted, and what handlers may change.

use std::fmt;

use crate::error::{Error, Result};

/// A field of the context that handlers may change at some events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextField {
    /// The values.
    Values,
    /// The files that are not templates.
    Files,
    /// The templates.
    Templates,
    /// The dependencies.
    Dependencies,
    /// The rendered objects.
    Objects,
}

impl ContextField {
    /// The name of the field in the context.
    pub fn as_str(self) -> &'static str {
        match self {
            ContextField::Values => "values",
            ContextField::Files => "files",
            ContextField::Templates => "templates",
            ContextField::Dependencies => "dependencies",
            ContextField::Objects => "objects",
        }
    }
}

/// One entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The event.
    pub event: Event,
    /// Its name.
    pub name: &'static str,
    /// Whether it is a core event, which has a built-in implementation and takes no handlers.
    pub core: bool,
    /// When it is emitted.
    pub when: &'static str,
    /// What handlers may change. Everything else is read-only.
    pub may_change: &'static [ContextField],
}

/// The chart's contents and values.
const SOURCES: &[ContextField] = &[ContextField::Values, ContextField::Files, ContextField::Templates];
const DEPENDENCIES: &[ContextField] = &[ContextField::Dependencies];
const OBJECTS: &[ContextField] = &[ContextField::Objects];
const NOTHING: &[ContextField] = &[];

/// Generates the enum and the table from one list, so that they cannot diverge.
macro_rules! events {
    ($($variant:ident $name:literal $core:literal $may_change:ident $when:literal;)*) => {
        /// A lifecycle event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Event {
            $(#[doc = $when] $variant,)*
        }

        /// Every event: core events first, then in the order in which operations emit them.
        pub const TABLE: &[Entry] = &[
            $(Entry { event: Event::$variant, name: $name, core: $core, when: $when, may_change: $may_change },)*
        ];
    };
}

events! {
    ReadChart "read-chart" true NOTHING "A chart is read from a folder or an archive.";
    WriteChart "write-chart" true NOTHING "A chart is written to a folder or an archive.";
    Render "render" true NOTHING "Templates become objects.";
    Validate "validate" true NOTHING "Objects are checked before they are sent.";
    Install "install" true NOTHING "Objects of a new release are sent to the cluster.";
    Upgrade "upgrade" true NOTHING "Objects of a release are brought to a new version.";
    Delete "delete" true NOTHING "A release is uninstalled.";
    List "list" true NOTHING "Releases are listed.";

    ChartLoaded "chart-loaded" false SOURCES
        "After a chart, its Chart.yaml and its scripts are loaded.";
    PreCreate "pre-create" false NOTHING
        "Before a new chart is made. There is no chart yet.";
    PostCreate "post-create" false SOURCES
        "After a new chart is made, before it is written.";
    PreDependencyBuild "pre-dependency-build" false DEPENDENCIES
        "Before dependencies are resolved and fetched.";
    PostDependencyBuild "post-dependency-build" false NOTHING
        "After dependencies are resolved. Nothing of it is written to the chart.";
    PreRender "pre-render" false SOURCES
        "After values are merged, before templates are rendered. There are no objects yet.";
    PostRender "post-render" false OBJECTS
        "After templates are rendered to objects.";
    PreValidate "pre-validate" false OBJECTS
        "Before objects are checked.";
    PostValidate "post-validate" false NOTHING
        "After objects are checked.";
    PostTemplate "post-template" false OBJECTS
        "After rendering for `template`, before its output is written.";
    PreLint "pre-lint" false NOTHING
        "After rendering for `lint`, before findings are reported.";
    PrePackage "pre-package" false SOURCES
        "Before a chart is packed. Changes go into the package, never into the folder.";
    PreInstall "pre-install" false OBJECTS
        "Before the objects of a new release are sent to the cluster.";
    PostInstall "post-install" false NOTHING
        "After the objects of a new release are sent to the cluster.";
    PreUpgrade "pre-upgrade" false OBJECTS
        "Before a release is brought to a new version.";
    PostUpgrade "post-upgrade" false NOTHING
        "After a release is brought to a new version.";
    PreRollback "pre-rollback" false NOTHING
        "Before a stored version is deployed again, with its stored objects.";
    PostRollback "post-rollback" false NOTHING
        "After a stored version is deployed again.";
    PreDelete "pre-delete" false NOTHING
        "Before a release is uninstalled. There is no chart.";
    PostDelete "post-delete" false NOTHING
        "After a release is uninstalled. There is no chart.";
    PreList "pre-list" false NOTHING
        "Before releases are listed. There is no chart.";
    PostList "post-list" false NOTHING
        "After releases are listed. There is no chart.";
    PreTest "pre-test" false OBJECTS
        "Before the tests of a release run.";
    PostTest "post-test" false NOTHING
        "After the tests of a release ran, whatever their outcome.";
    FailedTest "failed-test" false NOTHING
        "After a test failed.";
    Wait "wait" false NOTHING
        "When waiting for objects begins, if waiting was asked for.";
    Watch "watch" false NOTHING
        "While objects are waited for, each time the readiness of one changes.";
    Ready "ready" false NOTHING
        "When all objects are ready, if waiting was asked for.";
}

impl Event {
    /// The entry in the table.
    pub fn entry(self) -> &'static Entry {
        // The macro generates variants and entries in the same order.
        &TABLE[self as usize]
    }

    /// The name of the event.
    pub fn as_str(self) -> &'static str {
        self.entry().name
    }

    /// Whether the event takes no handlers.
    pub fn is_core(self) -> bool {
        self.entry().core
    }

    /// Whether handlers of the event may change a field of the context.
    pub fn may_change(self, part: ContextField) -> bool {
        self.entry().may_change.contains(&part)
    }

    /// Whether the context has a chart, with its files, templates and dependencies.
    pub fn has_chart(self) -> bool {
        let without =
            [Event::PreCreate, Event::PreDelete, Event::PostDelete, Event::PreList, Event::PostList];
        !without.contains(&self)
    }

    /// Whether the context has a release. Charts are also loaded for other reasons than to make one.
    pub fn has_release(self) -> bool {
        let without = [
            Event::ChartLoaded,
            Event::PreCreate,
            Event::PostCreate,
            Event::PreDependencyBuild,
            Event::PostDependencyBuild,
            Event::PrePackage,
        ];
        !without.contains(&self)
    }

    /// Whether the context has the readiness of an object.
    pub fn has_readiness(self) -> bool {
        self == Event::Watch
    }

    /// The event with a name, if it takes handlers.
    ///
    /// # Errors
    /// When there is no such event, or when it is a core event.
    pub fn for_handlers(name: &str) -> Result<Event> {
        match TABLE.iter().find(|entry| entry.name == name) {
            None => Err(Error::UnknownEvent { name: name.to_owned() }),
            Some(entry) if entry.core => Err(Error::CoreEvent { event: entry.event }),
            Some(entry) => Ok(entry.event),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The names of all events that take handlers.
pub(crate) fn known_names() -> Vec<&'static str> {
    TABLE.iter().filter(|entry| !entry.core).map(|entry| entry.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_is_found_by_its_event_and_its_name() {
        let names: BTreeSet<&str> = TABLE.iter().map(|entry| entry.name).collect();
        assert_eq!((names.len(), TABLE.len()), (36, 36));
        for entry in TABLE {
            assert_eq!(entry.event.entry(), entry);
            assert_eq!(Event::for_handlers(entry.name).is_err(), entry.core, "{}", entry.name);
            assert!(!entry.core || entry.may_change.is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_likely_one_or_all() {
        let error = Event::for_handlers("pre-instal").expect_err("no such event").to_string();
        assert_eq!(error, "there is no event `pre-instal`; did you mean `pre-install`?");
        let error = Event::for_handlers("boom").expect_err("no such event").to_string();
        assert!(
            error.starts_with("there is no event `boom`; the events are chart-loaded, pre-create, "),
            "{error}"
        );
        assert!(error.ends_with("failed-test, wait, watch, ready"), "{error}");
        assert_eq!(
            Event::for_handlers("render").expect_err("a core event").to_string(),
            "`render` is a core event and takes no handlers; `pre-render` and `post-render` do"
        );
        assert_eq!(
            Event::for_handlers("read-chart").expect_err("a core event").to_string(),
            "`read-chart` is a core event and takes no handlers"
        );
    }
}
