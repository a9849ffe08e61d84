//! The output of `install`, `upgrade`, `status` and `get all`.

use pintle::objects::HookEvent;
use pintle::release::{ReleaseVersion, StoredHook, helm};
use pintle_tree::{Map, Node};

use super::color::Paint;
use super::format::{Format, print_json, yaml};
use super::time;
use crate::connect;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::ui::Ui;

/// A release, and which parts of it to print.
pub(crate) struct Shown<'a> {
    /// The release.
    pub(crate) version: &'a ReleaseVersion,
    /// Whether to print values, hooks and objects.
    pub(crate) details: bool,
    /// Whether to print the chart.
    pub(crate) chart: bool,
    /// Whether to print the notes.
    pub(crate) notes: bool,
    /// The tables of objects in the cluster, by heading.
    pub(crate) resources: &'a str,
    /// Additional lines below the description.
    pub(crate) remarks: Vec<String>,
    /// Whether to print the version id, if there is one.
    pub(crate) id: bool,
}

impl<'a> Shown<'a> {
    /// The parts that `install` and `upgrade` print.
    pub(crate) fn of(version: &'a ReleaseVersion, invocation: &Invocation<'_>) -> Shown<'a> {
        let details = invocation.debug();
        let id = connect::keeps_ids(invocation.personality, invocation.environment);
        Shown { version, details, chart: false, notes: true, resources: "", remarks: Vec::new(), id }
    }

    /// Prints the release in a format.
    pub(crate) fn print(&self, format: Format, ui: &mut Ui) -> Result<(), Failure> {
        if format.is_data() {
            let text = helm::encode(self.version)
                .map_err(|error| Failure::run_time(format!("unable to write JSON output: {error}")))?;
            return print_json(ui, format, text);
        }
        self.print_text(ui)
    }

    fn print_text(&self, ui: &mut Ui) -> Result<(), Failure> {
        let head = self.head(ui.paint());
        ui.print(&head)?;
        if self.details {
            self.print_values(ui)?;
        }
        if self.details || self.version.info.description.eq_ignore_ascii_case("Dry run complete") {
            ui.print("HOOKS:\n")?;
            print_hooks(&self.version.hooks, ui)?;
            ui.print(&format!("MANIFEST:\n{}\n", self.version.manifest))?;
        }
        let notes = &self.version.info.notes;
        if self.notes && !notes.is_empty() {
            ui.print(&format!("NOTES:\n{}\n", notes.trim()))?;
        }
        Ok(())
    }

    /// The text output up to the tests.
    fn head(&self, paint: Paint) -> String {
        let version = self.version;
        let info = &version.info;
        let mut text = format!("NAME: {}\n", version.name);
        if info.last_deployed.is_some() {
            text.push_str(&format!("LAST DEPLOYED: {}\n", time::ansic(info.last_deployed.as_ref())));
        }
        text.push_str(&format!("NAMESPACE: {}\n", paint.namespace(&version.namespace)));
        text.push_str(&format!("STATUS: {}\n", paint.status(info.status, version.status_word())));
        text.push_str(&format!("REVISION: {}\n", version.number));
        if let Some(id) = version.id.as_ref().filter(|_| self.id) {
            text.push_str(&format!("VERSION ID: {id}\n"));
        }
        if self.chart {
            let chart = &version.chart.metadata;
            text.push_str(&format!("CHART: {}\nVERSION: {}\n", chart.name, chart.version));
            text.push_str(&format!("APP_VERSION: {}\n", chart.app_version));
        }
        text.push_str(&format!("DESCRIPTION: {}\n", info.description));
        for remark in &self.remarks {
            text.push_str(&format!("{remark}\n"));
        }
        if !self.resources.is_empty() {
            text.push_str(&format!("RESOURCES:\n{}\n", self.resources));
        }
        text.push_str(&tests(&version.hooks));
        text
    }

    fn print_values(&self, ui: &mut Ui) -> Result<(), Failure> {
        let user = match &self.version.config {
            Some(config) => yaml(config)?,
            None => yaml(&Node::Nil)?,
        };
        let computed = yaml(&computed_values(self.version, ui)?)?;
        for (title, values) in [("USER-SUPPLIED VALUES:\n", user), ("COMPUTED VALUES:\n", computed)] {
            ui.print(title)?;
            ui.out().write_all(&values)?;
            ui.print("\n")?;
        }
        Ok(())
    }
}

/// The values of a release merged with the defaults of its chart.
pub(crate) fn computed_values(version: &ReleaseVersion, ui: &mut Ui) -> Result<Map<Node>, Failure> {
    let mut log = Vec::new();
    let values = pintle::ops::computed_values(version, &mut log);
    for line in &log {
        ui.log(line);
    }
    Ok(values?)
}

/// Prints the rendered hooks.
pub(crate) fn print_hooks(hooks: &[StoredHook], ui: &mut Ui) -> Result<(), Failure> {
    for hook in hooks {
        ui.print(&format!("---\n# Source: {}\n{}\n", hook.path, hook.manifest))?;
    }
    Ok(())
}

/// The results of the tests that have been started.
fn tests(hooks: &[StoredHook]) -> String {
    let mut tests = hooks.iter().filter(|hook| hook.events.contains(&HookEvent::Test)).peekable();
    if tests.peek().is_none() {
        return "TEST SUITE: None\n".to_owned();
    }
    let started = tests.filter(|hook| hook.last_run.started.is_some());
    let lines = started.map(|hook| {
        let run = &hook.last_run;
        format!(
            "TEST SUITE:     {}\nLast Started:   {}\nLast Completed: {}\nPhase:          {}\n",
            hook.name,
            time::ansic(run.started.as_ref()),
            time::ansic(run.completed.as_ref()),
            run.phase.as_str(),
        )
    });
    lines.collect()
}
