//! The groups of commands in the help of `pintle`.

/// A title and its commands, in the order in which they are usually needed.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["create", "install", "upgrade", "list", "uninstall", "help"]),
    (
        "Charts",
        &[
            "search",
            "repo",
            "pull",
            "show",
            "values",
            "dependency",
            "outdated",
            "images",
            "package",
            "push",
            "cm-push",
            "registry",
            "verify",
            "cache",
        ],
    ),
    ("Releases", &["status", "history", "get", "rollback", "test", "drift", "adopt", "unlock", "ui"]),
    ("See before", &["template", "plan", "apply", "diff", "upgrade-check", "preview", "rehearse", "hooks"]),
    ("Chart authors", &["lint", "check", "lsp", "unittest", "ct", "schema", "docs", "lua", "post-render"]),
    ("Clusters", &["cluster", "init", "controller", "request"]),
    ("Administration", &["doctor", "plugin", "completion", "env", "self", "version"]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::ROOT;
    use crate::personality::Personality;

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let once: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(grouped.len(), once.len(), "a command is in two groups");
        let shown: BTreeSet<&str> =
            ROOT.shown_subcommands(Personality::Pintle).map(|command| command.name).collect();
        assert_eq!(once, shown);
    }
}
