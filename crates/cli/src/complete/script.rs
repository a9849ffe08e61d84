//! The completion scripts of shells.

#[derive(Clone, Copy, Debug)]
pub(crate) enum Shell {
    /// GNU bash.
    Bash,
    /// zsh.
    Zsh,
    /// fish.
    Fish,
    /// PowerShell.
    Pwsh,
}

/// The script for a shell.
pub(crate) fn script(shell: Shell, program: &str, described: bool) -> String {
    let text = match shell {
        Shell::Bash => include_str!("script/completion.bash"),
        Shell::Zsh => include_str!("script/completion.zsh"),
        Shell::Fish => include_str!("script/completion.fish"),
        Shell::Pwsh => include_str!("script/completion.ps1"),
    };
    let request = if described { "__complete" } else { "__completeNoDesc" };
    text.replace("@PROGRAM@", program).replace("@REQUEST@", request)
}
