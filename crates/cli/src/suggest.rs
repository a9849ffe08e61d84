//! Names that were probably meant: one mechanism for commands, flags, functions, kinds, hooks, values and all others. Edits
//! are in `pintle_tree::suggest`; here are the words of other tools for the same thing.

mod synonyms;

use pintle::check::Gvk;
use pintle_tree::suggest::nearest;

/// The kinds of names, which have their own synonyms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameOf {
    Command,
    Flag,
    Function,
    Kind,
    Hook,
    /// Names without synonyms: of values, releases, contexts, files …
    Other,
}

/// The known names that `typed` probably means, the likeliest first.
pub(crate) fn meant<'k>(of: NameOf, typed: &str, known: &[&'k str]) -> Vec<&'k str> {
    let mut found: Vec<&'k str> = Vec::new();
    // Letter case is the likeliest mistake, and a synonym is no mistake of typing at all.
    found.extend(known.iter().filter(|name| name.eq_ignore_ascii_case(typed)));
    if found.is_empty() {
        let words = synonyms::of(of, typed);
        found.extend(words.iter().filter_map(|word| known.iter().find(|name| *name == word)));
    }
    for name in nearest(typed, known) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The name that `typed` most probably means.
pub(crate) fn likeliest<'k>(of: NameOf, typed: &str, known: &[&'k str]) -> Option<&'k str> {
    meant(of, typed, known).into_iter().next()
}

/// The question at the end of a message: ``did you mean `list`?``
pub(crate) fn question(of: NameOf, typed: &str, known: &[&str]) -> Option<String> {
    let found = meant(of, typed, known);
    let quoted: Vec<String> = found.iter().take(2).map(|name| format!("`{name}`")).collect();
    // A second one is worth showing only if the first is a guess.
    let shown = if found.first().is_some_and(|first| is_sure(typed, first)) { 1 } else { 2 };
    match &quoted[..] {
        [] => None,
        names => Some(format!("did you mean {}?", names[..shown.min(names.len())].join(" or "))),
    }
}

fn is_sure(typed: &str, name: &str) -> bool {
    pintle_tree::suggest::distance(&typed.to_lowercase(), &name.to_lowercase()) <= 1
}

/// The built-in kinds of Kubernetes, without lists.
pub(crate) fn kinds() -> Vec<Gvk> {
    let catalog = pintle::embedded::ApiCatalog::newest();
    let resources = catalog.resources().iter();
    resources
        .map(|resource| Gvk {
            group: resource.group.to_string(),
            version: resource.version.to_string(),
            kind: resource.kind.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::commands::ROOT;
    use crate::personality::Personality;

    /// The kind of a name, what was typed, and what was meant.
    const MISSPELLINGS: &str = include_str!("suggest/misspellings.tsv");

    fn known(of: &str) -> (NameOf, Vec<String>) {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        match of {
            "command" => {
                let names =
                    ROOT.shown_subcommands(Personality::Pintle).map(|command| command.name.to_owned());
                (NameOf::Command, names.collect())
            }
            "flag" => {
                let flags = crate::commands::upgrade::COMMAND.all_flags();
                let shown = flags.iter().filter(|flag| !flag.hidden);
                (NameOf::Flag, shown.map(|flag| flag.name.to_owned()).collect())
            }
            "function" => (NameOf::Function, owned(&pintle::render::function_names())),
            "kind" => (NameOf::Kind, kinds().into_iter().map(|kind| kind.kind).collect()),
            "hook" => {
                let events = pintle::objects::HookEvent::ALL.map(|event| event.as_str());
                (NameOf::Hook, owned(&events))
            }
            "value" => (NameOf::Other, owned(VALUES)),
            other => panic!("unknown kind of name: {other}"),
        }
    }

    /// The keys of the charts that `helm create` makes, and of others.
    const VALUES: &[&str] = &[
        "affinity",
        "autoscaling",
        "fullnameOverride",
        "image",
        "imagePullSecrets",
        "ingress",
        "livenessProbe",
        "nameOverride",
        "nodeSelector",
        "podAnnotations",
        "podLabels",
        "podSecurityContext",
        "readinessProbe",
        "replicaCount",
        "resources",
        "securityContext",
        "service",
        "serviceAccount",
        "tolerations",
        "volumeMounts",
        "volumes",
        "persistence",
        "repository",
        "pullPolicy",
        "tag",
        "enabled",
        "annotations",
        "className",
        "hosts",
        "tls",
        "minReplicas",
        "maxReplicas",
        "targetCPUUtilizationPercentage",
        "storageClass",
        "existingSecret",
        "extraEnv",
        "metrics",
        "serviceMonitor",
        "commonLabels",
        "priorityClassName",
    ];

    #[test]
    fn the_right_name_is_first_for_ninety_five_in_a_hundred_misspellings() {
        let rows: Vec<Vec<&str>> = MISSPELLINGS.lines().map(|line| line.split('\t').collect()).collect();
        assert!(rows.len() >= 200, "{} misspellings", rows.len());
        let mut cache: BTreeMap<&str, (NameOf, Vec<String>)> = BTreeMap::new();
        let mut wrong = Vec::new();
        for row in &rows {
            let [of, typed, wanted] = row[..] else { panic!("three columns: {row:?}") };
            let (name_of, names) = cache.entry(of).or_insert_with(|| known(of));
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            assert!(names.contains(&wanted), "{of} {wanted} does not exist");
            let found = likeliest(*name_of, typed, &names);
            if found != Some(wanted) {
                wrong.push(format!("{of} {typed}: {found:?}, not {wanted}"));
            }
        }
        assert!(wrong.len() * 20 <= rows.len(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    }

    #[test]
    fn nothing_is_suggested_for_a_word_that_is_near_to_nothing() {
        let (of, names) = known("command");
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for typed in ["nonsense", "xyzzy", "42", "kubernetes"] {
            assert_eq!(likeliest(of, typed, &names), None, "{typed}");
        }
    }

    #[test]
    fn a_question_names_two_if_the_first_is_a_guess() {
        assert_eq!(
            question(NameOf::Other, "lst", &["list", "lint"]).as_deref(),
            Some("did you mean `list`?")
        );
        let guess = question(NameOf::Other, "prod", &["production", "productive"]);
        assert_eq!(guess.as_deref(), Some("did you mean `production` or `productive`?"));
    }
}
