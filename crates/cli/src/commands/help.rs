//! `help`: shows the help of a command.

use crate::command::find::find_topic;
use crate::command::{ArgCompletion, Command};
use crate::commands::ROOT;
use crate::failure::Failure;
use crate::help;
use crate::invocation::Invocation;
use crate::plugins;

/// `help [command]`
pub(crate) static COMMAND: Command = Command {
    name: "help",
    operands_text: "[command]",
    short: "show help for a command",
    long: "Show what a command does and how to use it, such as `{program} help dependency build`.",
    completion: ArgCompletion::Commands,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let personality = invocation.personality;
    match find_topic(personality, &invocation.flags.operands) {
        Some(command_path) => {
            let text = help::help(&command_path, personality, invocation.environment);
            invocation.ui.print(&text)
        }
        None => {
            if let Ok(Some(found)) = plugins::command::find(
                personality,
                &invocation.flags.operands,
                invocation.environment,
                invocation.ui,
            ) {
                let command_path = found.command_path(personality);
                let text = help::help(&command_path, personality, invocation.environment);
                return invocation.ui.print(&text);
            }
            let topic = help::unknown_topic(&invocation.flags.operands, &ROOT, personality);
            invocation.ui.note(&topic);
            Ok(())
        }
    }
}
