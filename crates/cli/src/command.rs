//! The definition of a command: names, operands, flags and function. Parser, help, completion and reference page are
//! driven by these tables.

pub(crate) mod find;
pub(crate) mod suggest;

use pintle_tree::quote::quote;

use crate::failure::Failure;
use crate::flag::Flag;
use crate::flag::groups::GLOBAL;
use crate::invocation::Invocation;
use crate::personality::Personality;

/// The number of positional arguments that a command takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operands {
    /// Any number; the command checks them itself.
    Any,
    None,
    /// Exactly this many.
    Exactly(usize),
    /// At least this many.
    AtLeast(usize),
    /// At most this many.
    AtMost(usize),
}

/// How the shell completes the positional arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgCompletion {
    /// Files: the default of shells.
    Files,
    /// Nothing: the command takes no operands.
    Nothing,
    /// A file or directory for the first operand, and nothing after it.
    FirstFile,
    /// A file for the first operand, and then where it goes to.
    FileAndRemote,
    /// Arbitrary words, but no files.
    NoFiles,
    /// A chart for the first operand, and nothing after it.
    Chart,
    /// A chart and then an event that handlers listen to.
    ChartAndEvent,
    /// A name and then a chart.
    NameAndChart,
    /// A release for the first operand, and nothing after it.
    Release,
    /// Any number of releases.
    Releases,
    /// A release and then a chart.
    ReleaseAndChart,
    /// A release and then one of its versions.
    ReleaseAndVersion,
    /// A chart of a repository for the first operand, and nothing after it.
    RemoteChart,
    /// Any number of repositories.
    Repositories,
    /// Nothing for this many operands, then a note that no more are accepted.
    NothingUpTo(usize),
    /// A variable for the first operand.
    Variable,
    /// Any number of plugins.
    Plugins,
    /// A path of commands.
    Commands,
}

/// The function of a command.
pub(crate) type Run = fn(&mut Invocation<'_>) -> Result<(), Failure>;

/// A command. One with subcommands usually has no function of its own and prints its help.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// Aliases.
    pub(crate) aliases: &'static [&'static str],
    /// The operands, as the usage line shows them.
    pub(crate) operands_text: &'static str,
    /// The one-line summary in lists of commands; `{program}` is replaced by the name of the program.
    pub(crate) short: &'static str,
    /// The description in help; `{program}` is replaced by the name of the program.
    pub(crate) long: &'static str,
    pub(crate) operands: Operands,
    /// How the shell completes the operands.
    pub(crate) completion: ArgCompletion,
    /// Its flags, in groups.
    pub(crate) flags: &'static [&'static [Flag]],
    /// Groups of mutually exclusive flags.
    pub(crate) exclusive: &'static [&'static [&'static str]],
    /// Its subcommands, sorted by name.
    pub(crate) subcommands: &'static [&'static Command],
    /// Whether help and completion leave it out.
    pub(crate) hidden: bool,
    /// Whether the exit code 2 is an answer, so that all failures exit with 1.
    pub(crate) answers_by_exit_code: bool,
    /// Whether `HELM_DIFF_IGNORE_UNKNOWN_FLAGS` lets it ignore unknown flags.
    pub(crate) may_ignore_unknown_flags: bool,
    /// `None` for a command that only has subcommands.
    pub(crate) run: Option<Run>,
    /// The command under Helm's name, where that is another one.
    pub(crate) as_helm: Option<&'static Command>,
}

impl Command {
    /// The defaults, for `..Command::BLANK` in the tables.
    pub(crate) const BLANK: Command = Command {
        name: "",
        aliases: &[],
        operands_text: "",
        short: "",
        long: "",
        operands: Operands::Any,
        completion: ArgCompletion::Files,
        flags: &[],
        exclusive: &[],
        subcommands: &[],
        hidden: false,
        answers_by_exit_code: false,
        may_ignore_unknown_flags: false,
        run: None,
        as_helm: None,
    };

    /// This command, or its replacement under Helm's name.
    pub(crate) fn under(&'static self, personality: Personality) -> &'static Command {
        match (personality, self.as_helm) {
            (Personality::Helm, Some(command)) => command,
            _ => self,
        }
    }

    /// Whether `name` is the name or an alias.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// The flags of this command, without the global ones.
    pub(crate) fn own_flags(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        self.flags.iter().flat_map(|group| group.iter())
    }

    /// All flags, including the global ones, but without `--help`.
    pub(crate) fn all_flags(&self) -> Vec<&'static Flag> {
        let mut flags: Vec<&'static Flag> = self.own_flags().collect();
        flags.extend(GLOBAL.iter().filter(|flag| self.own_flags().all(|own| own.name != flag.name)));
        flags
    }

    /// The subcommands that are not hidden.
    pub(crate) fn shown_subcommands(
        &self,
        personality: Personality,
    ) -> impl Iterator<Item = &'static Command> + use<> {
        let commands = self.subcommands.iter().copied().map(move |command| command.under(personality));
        commands.filter(|command| !command.hidden)
    }
}

/// A command with the full path to it, such as `helm dependency list`.
#[derive(Clone)]
pub(crate) struct CommandPath {
    /// The command.
    pub(crate) command: &'static Command,
    /// The names from the program to the command, separated by blanks.
    pub(crate) path: String,
}

impl CommandPath {
    /// The name of the program.
    pub(crate) fn program(&self) -> &str {
        self.path.split(' ').next().unwrap_or_default()
    }

    /// The usage line: the path, the operands and `[flags]`.
    pub(crate) fn usage_line(&self) -> String {
        let operands = self.command.operands_text;
        let blank = if operands.is_empty() { "" } else { " " };
        let flags = if operands.contains("[flags]") { "" } else { " [flags]" };
        format!("{}{blank}{operands}{flags}", self.path)
    }

    /// Checks the number of operands.
    pub(crate) fn check_operands(&self, operands: &[String]) -> Result<(), Failure> {
        let plural = |count: usize| if count == 1 { "argument" } else { "arguments" };
        let complaint = match self.command.operands {
            Operands::None if !operands.is_empty() => "accepts no arguments".to_owned(),
            Operands::Exactly(count) if operands.len() != count => {
                format!("requires {count} {}", plural(count))
            }
            Operands::AtLeast(count) if operands.len() < count => {
                format!("requires at least {count} {}", plural(count))
            }
            Operands::AtMost(count) if operands.len() > count => {
                format!("accepts at most {count} {}", plural(count))
            }
            _ => return Ok(()),
        };
        Err(self.wrong_operands(&complaint, operands.len()))
    }

    /// The failure of a command with a wrong number of operands.
    pub(crate) fn wrong_operands(&self, complaint: &str, count: usize) -> Failure {
        let usage = self.usage_line();
        let text = format!("{} {complaint}\n\nUsage:  {usage}", quote(self.path.as_bytes()));
        Failure::usage(text)
            .with_pintle_text(format!("`{}` {complaint}, but {} given", self.path, were(count)))
            .hint(format!("usage: {usage}"))
    }

    /// Checks that at most one flag of each exclusive group is set.
    pub(crate) fn check_exclusive(&self, given: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
        let mut groups: Vec<&[&str]> = self.command.exclusive.to_vec();
        groups.sort_by_key(|group| group.join(" "));
        for group in groups {
            let mut set: Vec<&str> = group.iter().copied().filter(|name| given(name)).collect();
            if set.len() > 1 {
                set.sort_unstable();
                let text = format!(
                    "if any flags in the group [{}] are set none of the others can be; [{}] were all set",
                    group.join(" "),
                    set.join(" ")
                );
                return Err(Failure::usage(text)
                    .with_pintle_text(format!("--{} cannot be used together", set.join(" and --"))));
            }
        }
        Ok(())
    }
}

fn were(count: usize) -> String {
    match count {
        0 => "none were".to_owned(),
        1 => "1 was".to_owned(),
        count => format!("{count} were"),
    }
}
