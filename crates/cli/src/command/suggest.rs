//! Suggestions for mistyped commands.

use pintle_tree::suggest::distance;

use crate::commands::ROOT;
use crate::personality::Personality;

/// Commands that are at most two edits away (cobra's `SuggestionsMinimumDistance`), or that begin with what was typed,
/// in Helm's order. `plugins` are the commands of plugins.
pub(crate) fn suggestions(personality: Personality, typed: &str, plugins: &[String]) -> Vec<String> {
    let likely = |name: &str| is_likely(typed, name);
    // Called `helm`, the answer to a typing error is Helm's.
    let is_known = |name: &&str| personality == Personality::Pintle || HELMS_ORDER.contains(name);
    let shown =
        ROOT.shown_subcommands(personality).map(|command| command.name).filter(|name| *name != "help");
    let shown = shown.filter(is_known);
    let mut names: Vec<&str> = shown.filter(|name| likely(name)).collect();
    names.sort_by_key(|name| HELMS_ORDER.iter().position(|other| other == name).unwrap_or(HELMS_ORDER.len()));
    // Adding a plugin sorts the commands before it, so that only the last plugin stays unsorted.
    if let Some((last, others)) = plugins.split_last() {
        let is_new = |name: &&str| likely(name) && !names.contains(name);
        let others: Vec<&str> = others.iter().map(String::as_str).filter(is_new).collect();
        let last = Some(last.as_str()).filter(is_new);
        names.extend(others);
        names.sort_unstable();
        names.extend(last);
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Whether a command may be what was meant.
fn is_likely(typed: &str, name: &str) -> bool {
    let (typed, name) = (typed.to_lowercase(), name.to_lowercase());
    distance(&typed, &name) <= 2 || name.starts_with(&typed)
}

/// Helm's commands, in the order in which Helm registers them.
pub(super) const HELMS_ORDER: &[&str] = &[
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
        assert_eq!(suggestions(Personality::Helm, "temp", &[]), ["test", "template"]);
        assert_eq!(
            suggestions(Personality::Helm, "instal", &["installer".to_owned()]),
            ["install", "installer"]
        );
        let plugins = ["cat".to_owned(), "crab".to_owned()];
        assert_eq!(suggestions(Personality::Helm, "c", &plugins), ["cat", "completion", "create", "crab"]);
        assert!(suggestions(Personality::Helm, "nope", &[]).is_empty());
    }
}
