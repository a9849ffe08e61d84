//! Suggestions for mistyped commands.

use pintle_tree::suggest::distance;

use crate::commands::ROOT;

/// Commands that are at most two edits away (cobra's `SuggestionsMinimumDistance`), or that begin with what was typed,
/// in Helm's order. `plugins` are the commands of plugins, which come last.
pub(crate) fn suggestions(typed: &str, plugins: &[String]) -> Vec<String> {
    let typed = typed.to_lowercase();
    let likely =
        |name: &str| distance(&typed, &name.to_lowercase()) <= 2 || name.to_lowercase().starts_with(&typed);
    let shown = ROOT.shown_subcommands().map(|command| command.name).filter(|name| *name != "help");
    let mut names: Vec<&str> = shown.filter(|name| likely(name)).collect();
    names.sort_by_key(|name| HELMS_ORDER.iter().position(|other| other == name).unwrap_or(HELMS_ORDER.len()));
    let plugins = plugins.iter().map(String::as_str).filter(|name| likely(name) && !names.contains(name));
    let plugins: Vec<&str> = plugins.collect();
    names.into_iter().chain(plugins).map(str::to_owned).collect()
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
        assert_eq!(suggestions("temp", &[]), ["test", "template"]);
        assert_eq!(suggestions("instal", &["installer".to_owned()]), ["install", "installer"]);
        assert!(suggestions("nope", &[]).is_empty());
    }
}
