//! The completion scripts of shells.

use crate::personality::base_name;

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

/// The script for a shell. It registers the program, and the name under which the program was called if that is another
/// one, so that a renamed binary is completed, too.
pub(crate) fn script(shell: Shell, program: &str, called_as: &str, described: bool) -> String {
    let text = match shell {
        Shell::Bash => include_str!("script/completion.bash"),
        Shell::Zsh => include_str!("script/completion.zsh"),
        Shell::Fish => include_str!("script/completion.fish"),
        Shell::Pwsh => include_str!("script/completion.ps1"),
    };
    let request = if described { "__complete" } else { "__completeNoDesc" };
    let name = Some(base_name(called_as)).filter(|name| !name.is_empty() && *name != program);
    let mut text = text.replace("@REQUEST@", request);
    if let Some(name) = name {
        text = with_name(shell, &text, name);
    }
    text.replace("@PROGRAM@", program)
}

/// Registers another name of the program. Helm does so for bash and zsh.
fn with_name(shell: Shell, text: &str, name: &str) -> String {
    const COMMENT: &str = "\n# The name under which the program was called.\n";
    let word = quoted(shell, name);
    match shell {
        Shell::Bash => format!("{text}{COMMENT}complete -o default -F __start_@PROGRAM@ {word}\n"),
        // `compinit` reads the first line of a file in fpath, in which there are no quotes.
        Shell::Zsh if word == name => text
            .replacen("#compdef @PROGRAM@\n", &format!("#compdef @PROGRAM@ {word}\n"), 1)
            .replacen("compdef _@PROGRAM@ @PROGRAM@\n", &format!("compdef _@PROGRAM@ @PROGRAM@ {word}\n"), 1)
            .replacen("== _@PROGRAM@ ]]", &format!("== (_@PROGRAM@|_{word}) ]]"), 1),
        Shell::Zsh => format!("{text}{COMMENT}compdef _@PROGRAM@ {word}\n"),
        Shell::Fish => {
            format!(
                "{text}{COMMENT}complete -c {word} -e\ncomplete -c {word} -f -a '(__@PROGRAM@_choices)'\n"
            )
        }
        Shell::Pwsh => format!(
            "{text}{COMMENT}Register-ArgumentCompleter -Native -CommandName {word} -ScriptBlock \
             ${{__@PROGRAM@CompleterBlock}}\n"
        ),
    }
}

/// A name as a word of the shell. Plain names stay as they are, as in the scripts of Helm; a file name can have any
/// characters, and must not become code.
fn quoted(shell: Shell, name: &str) -> String {
    let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter));
    match shell {
        Shell::Bash | Shell::Zsh | Shell::Fish if is_plain => name.to_owned(),
        Shell::Bash | Shell::Zsh => format!("'{}'", name.replace('\'', r"'\''")),
        Shell::Fish => format!("'{}'", name.replace('\\', r"\\").replace('\'', r"\'")),
        Shell::Pwsh => format!("'{}'", name.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_of_the_shell_and_never_code() {
        let name = "my helm'; touch x #\\";
        assert_eq!(quoted(Shell::Bash, name), r"'my helm'\''; touch x #\'");
        assert_eq!(quoted(Shell::Fish, name), r"'my helm\'; touch x #\\'");
        assert_eq!(quoted(Shell::Pwsh, name), r"'my helm''; touch x #\'");
        assert_eq!(quoted(Shell::Zsh, "helm-4.2_x"), "helm-4.2_x");
    }

    #[test]
    fn only_another_name_is_registered_again() {
        for (shell, line) in [
            (Shell::Bash, "\ncomplete -o default -F __start_helm myhelm\n"),
            (Shell::Zsh, "\ncompdef _helm helm myhelm\n"),
            (Shell::Fish, "\ncomplete -c myhelm -f -a '(__helm_choices)'\n"),
            (Shell::Pwsh, " -CommandName 'myhelm' -ScriptBlock ${__helmCompleterBlock}\n"),
        ] {
            assert!(!script(shell, "helm", "/usr/bin/helm", true).contains("myhelm"), "{shell:?}");
            assert!(script(shell, "helm", "/opt/myhelm", true).contains(line), "{shell:?}");
        }
        assert!(script(Shell::Zsh, "helm", "myhelm", true).starts_with("#compdef helm myhelm\n"));
        let odd = script(Shell::Zsh, "helm", "my helm", true);
        assert!(odd.starts_with("#compdef helm\n") && odd.ends_with("\ncompdef _helm 'my helm'\n"));
    }
}
