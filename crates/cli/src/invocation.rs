//! The context of one run of a command.

use std::path::PathBuf;

use crate::command::CommandPath;
use crate::env::Environment;
use crate::flag::names;
use crate::flag::parsed::Parsed;
use crate::personality::Personality;
use crate::ui::Ui;

/// What a command receives.
pub(crate) struct Invocation<'a> {
    /// The name under which the program was called.
    pub(crate) personality: Personality,
    /// `argv[0]`.
    pub(crate) called_as: &'a str,
    pub(crate) command_path: CommandPath,
    /// The parsed flags and operands.
    pub(crate) flags: Parsed,
    /// The environment.
    pub(crate) environment: &'a Environment,
    /// The folder or archive of the chart, once it was found.
    pub(crate) chart_path: Option<PathBuf>,
    /// The output streams.
    pub(crate) ui: &'a mut Ui,
}

impl Invocation<'_> {
    /// The operand at a position; empty if there is none, which the command's table excludes.
    pub(crate) fn operand(&self, at: usize) -> &str {
        self.flags.operands.get(at).map_or("", String::as_str)
    }

    /// Whether verbose output is enabled, by the flag or the environment.
    pub(crate) fn debug(&self) -> bool {
        use crate::env::Setting;
        self.flags.switch(names::DEBUG).unwrap_or_else(|| self.environment.setting(Setting::Debug) == "true")
    }
}
