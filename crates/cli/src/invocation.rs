//! One run of one command: everything that a command may look at or print to.

use crate::command::CommandPath;
use crate::env::Environment;
use crate::flag::parsed::Parsed;
use crate::personality::Personality;
use crate::ui::Ui;

/// What a command gets.
pub(crate) struct Invocation<'a> {
    /// Who we are.
    pub(crate) personality: Personality,
    /// The first word of the command line, as typed.
    pub(crate) called_as: &'a str,
    /// The command and the way to it.
    pub(crate) place: CommandPath,
    /// Its flags and operands.
    pub(crate) flags: Parsed,
    /// The environment.
    pub(crate) environment: &'a Environment,
    /// Where to print.
    pub(crate) ui: &'a mut Ui,
}

impl Invocation<'_> {
    /// The first operand, of commands that have checked that there is one.
    pub(crate) fn operand(&self, at: usize) -> &str {
        self.flags.operands.get(at).map_or("", String::as_str)
    }

    /// Whether to tell more about what is going on.
    pub(crate) fn debug(&self) -> bool {
        use crate::env::Setting;
        self.flags.switch("debug").unwrap_or_else(|| self.environment.setting(Setting::Debug) == "true")
    }
}
