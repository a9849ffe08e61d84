//! `completion`: completion scripts for shells.

use crate::command::{ArgCompletion, Command, Operands};
use crate::complete::script::{Shell, script};
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;

/// `completion`
pub(crate) static COMMAND: Command = Command {
    name: "completion",
    short: "print a completion script for a shell",
    long: "Print a script that makes a shell complete commands, flags and their values.",
    subcommands: &[&BASH, &FISH, &POWERSHELL, &ZSH],
    ..Command::BLANK
};

static FLAGS: &[&[Flag]] = &[&[Flag::switch(names::NO_DESCRIPTIONS, "disable completion descriptions")]];

const SHELL: Command =
    Command { operands: Operands::None, completion: ArgCompletion::Nothing, flags: FLAGS, ..Command::BLANK };

static BASH: Command = Command {
    name: "bash",
    short: "print the completion script for bash",
    long: "\
Print the completion script for bash.

For this session:

    source <({program} completion bash)

For every session, on Linux:

    {program} completion bash > /etc/bash_completion.d/{program}

On macOS, with Homebrew's bash-completion:

    {program} completion bash > $(brew --prefix)/etc/bash_completion.d/{program}",
    run: Some(|invocation| print(invocation, Shell::Bash)),
    ..SHELL
};

static ZSH: Command = Command {
    name: "zsh",
    short: "print the completion script for zsh",
    long: "\
Print the completion script for zsh.

For this session (after `autoload -U compinit; compinit`):

    source <({program} completion zsh)

For every session:

    {program} completion zsh > \"${fpath[1]}/_{program}\"",
    run: Some(|invocation| print(invocation, Shell::Zsh)),
    ..SHELL
};

static FISH: Command = Command {
    name: "fish",
    short: "print the completion script for fish",
    long: "\
Print the completion script for fish.

For this session:

    {program} completion fish | source

For every session:

    {program} completion fish > ~/.config/fish/completions/{program}.fish",
    run: Some(|invocation| print(invocation, Shell::Fish)),
    ..SHELL
};

static POWERSHELL: Command = Command {
    name: "powershell",
    short: "print the completion script for PowerShell",
    long: "\
Print the completion script for PowerShell.

For this session:

    {program} completion powershell | Out-String | Invoke-Expression

For every session, add the same line to your profile.",
    run: Some(|invocation| print(invocation, Shell::Pwsh)),
    ..SHELL
};

fn print(invocation: &mut Invocation<'_>, shell: Shell) -> Result<(), Failure> {
    let described = !invocation.flags.on(names::NO_DESCRIPTIONS);
    let text = script(shell, invocation.personality.program(), invocation.called_as, described);
    invocation.ui.print(&text)
}
