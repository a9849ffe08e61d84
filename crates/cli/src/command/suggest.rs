//! Suggestions for mistyped commands.

use pintle_tree::suggest::distance;

use crate::commands::{ROOT, UNSUPPORTED};

/// Commands that are at most two edits away (cobra's `SuggestionsMinimumDistance`), or that begin with what was typed,
/// in Helm's order. Unsupported commands are suggested too: the error that they give is better than `unknown command`.
pub(crate) fn suggestions(typed: &str) -> Vec<&'static str> {
    let typed = typed.to_lowercase();
    let likely = |name: &&str| distance(&typed, name) <= 2 || name.starts_with(&typed);
    let shown = ROOT.shown_subcommands().map(|command| command.name).filter(|name| *name != "help");
    let mut names: Vec<&'static str> =
        shown.chain(UNSUPPORTED.iter().map(|(name, _)| *name)).filter(likely).collect();
    names.sort_by_key(|name| HELMS_ORDER.iter().position(|other| other == name).unwrap_or(HELMS_ORDER.len()));
    names
}

/// The order in which Helm registers its commands.
const HELMS_ORDER: &[&str] = &[
    "create",
    "dependency",
    "pull",
    "show",
    "lint",
    "package",
    "repo",
    "search",
    "verify",
    "get",
    "history",
    "install",
    "list",
    "test",
    "rollback",
    "status",
    "template",
    "uninstall",
    "upgrade",
    "completion",
    "env",
    "plugin",
    "version",
    "registry",
    "push",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_and_longer_names_are_suggested_in_helms_order() {
        assert_eq!(suggestions("temp"), ["test", "template"]);
        assert_eq!(suggestions("instal"), ["install"]);
        assert!(suggestions("nope").is_empty());
    }
}
