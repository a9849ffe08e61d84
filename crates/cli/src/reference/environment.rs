//! The reference page of environment variables: those of the help, and those that are too special for it.

use crate::commands::ROOT;
use crate::reference::line;

/// A heading, a sentence, and variables with what they mean.
type Section = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Variables that the help does not list.
const SPECIAL: &[Section] = &[
    (
        "Network",
        "Upper case counts before lower case.",
        &[
            ("HTTPS_PROXY", "the proxy for https:// addresses"),
            ("HTTP_PROXY", "the proxy for http:// addresses"),
            ("NO_PROXY", "hosts that are reached without a proxy"),
        ],
    ),
    (
        "Registries",
        "Where logins are looked for, besides `$HELM_REGISTRY_CONFIG`.",
        &[
            ("DOCKER_CONFIG", "the directory with Docker's config.json"),
            ("REGISTRY_AUTH_FILE", "the file with Podman's logins"),
            ("XDG_RUNTIME_DIR", "the directory with Podman's logins, without $REGISTRY_AUTH_FILE"),
        ],
    ),
    (
        "Storage",
        "For storage drivers.",
        &[
            ("HELM_DRIVER_SQL_CONNECTION_STRING", "the database of the driver sql"),
            (
                "HELM_MEMORY_DRIVER_DATA",
                "files with releases that the driver memory begins with, separated by `:`",
            ),
        ],
    ),
    (
        "In a pod",
        "Without a kubeconfig, the service account of the pod is used.",
        &[
            ("KUBERNETES_SERVICE_HOST", "the address of the API server, which Kubernetes sets"),
            ("KUBERNETES_SERVICE_PORT", "its port"),
            ("POD_NAMESPACE", "the namespace to work in"),
        ],
    ),
    (
        "Commands",
        "Each is read by one command.",
        &[
            ("PINTLE_PLAN_KEY_FILE", "`plan`, `apply`: the file with the key of saved plans"),
            ("PINTLE_COMPAT", "`template`: what to be compatible with, as --compat"),
            ("HELM_EXPERIMENTAL_CHART_V3", "`create`: allows charts of version 3, as in Helm"),
            ("COSIGN_PASSWORD", "`push --sign=cosign`: the password of the private key"),
            ("CT_CONFIG_DIR", "`ct`: a directory with ct.yaml"),
            ("GNUPGHOME", "`package --sign`, `verify`: the directory with the keyring of GnuPG"),
            ("HELM_DIFF_COLOR", "`diff`: colours, as --color"),
            ("HELM_DIFF_IGNORE_UNKNOWN_FLAGS", "`diff`: `true` ignores unknown flags"),
            ("HELM_DIFF_NORMALIZE_MANIFESTS", "`diff`: as --normalize-manifests"),
            ("HELM_DIFF_OUTPUT", "`diff`: as --output"),
            ("HELM_DIFF_OUTPUT_CONTEXT", "`diff`: as --context"),
            ("HELM_DIFF_THREE_WAY_MERGE", "`diff`: as --three-way-merge"),
            ("HELM_DIFF_TPL", "`diff`: the template of the output `template`"),
            ("HELM_DIFF_USE_UPGRADE_DRY_RUN", "`diff`: `true` asks the cluster, as --dry-run=server"),
            ("HELM_REPO_USERNAME", "`cm-push`: as --username"),
            ("HELM_REPO_PASSWORD", "`cm-push`: as --password"),
            ("HELM_REPO_ACCESS_TOKEN", "`cm-push`: as --access-token"),
            ("HELM_REPO_AUTH_HEADER", "`cm-push`: as --auth-header"),
            ("HELM_REPO_CA_FILE", "`cm-push`: as --ca-file"),
            ("HELM_REPO_CERT_FILE", "`cm-push`: as --cert-file"),
            ("HELM_REPO_KEY_FILE", "`cm-push`: as --key-file"),
            ("HELM_REPO_CONTEXT_PATH", "`cm-push`: as --context-path"),
            ("HELM_REPO_INSECURE", "`cm-push`: as --insecure"),
            ("HELM_REPO_USE_HTTP", "`cm-push`: `true` reaches cm:// addresses by http"),
        ],
    ),
    (
        "Plugins",
        "Read for plugins and git; plugins get `$HELM_PLUGIN_DIR`, `$HELM_PLUGIN_NAME`, `$HELM_BIN` and the settings above.",
        &[
            ("PINTLE_PLUGIN_TIMEOUT", "how long a plugin may run that is not a command, such as 30s"),
            ("GIT_SSH_COMMAND", "the command with which git reaches hosts by SSH"),
            ("GIT_SSH", "the same as a program without arguments"),
            ("GIT_CONFIG_COUNT", "settings of git, of which those about remotes are kept"),
        ],
    ),
    (
        "Terminal",
        "",
        &[
            ("TERM", "`dumb` disables colors and lines that are drawn again"),
            ("COLUMNS", "the width of tables"),
            ("TZ", "the time zone of times that are shown"),
            ("LOG_LEVEL", "the level of log messages: error, warn, info or debug"),
            ("HELM_ACTIVE_HELP", "0 disables help among completions"),
            ("COBRA_ACTIVE_HELP", "the same for all programs with such completions"),
            ("LC_ALL", "the language of programs that suites of tests run"),
            ("USER", "who holds a lease; also $LOGNAME and $USERNAME, with $HOSTNAME"),
        ],
    ),
    (
        "Directories",
        "Used if none of Helm's variables is set.",
        &[
            ("HOME", "the home directory"),
            ("PATH", "where programs of plugins, credentials and git are looked for"),
            ("XDG_CACHE_HOME", "the directory of cached files"),
            ("XDG_CONFIG_HOME", "the directory of configuration files"),
            ("XDG_DATA_HOME", "the directory of plugins and starters"),
        ],
    ),
];

/// The page.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Environment variables\n\nA flag counts before its variable. The library reads none of them; the program does, in one \
         place.\n",
    );
    line(&mut page, format_args!("\n## General\n\n| variable | meaning |\n|---|---|"));
    for (name, meaning) in general() {
        row(&mut page, name, meaning);
    }
    for (title, about, variables) in SPECIAL {
        let about = if about.is_empty() { String::new() } else { format!("\n{about}\n") };
        line(&mut page, format_args!("\n## {title}\n{about}\n| variable | meaning |\n|---|---|"));
        for (name, meaning) in *variables {
            row(&mut page, name, meaning);
        }
    }
    page
}

/// The variables of the table in the help of the program.
fn general() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROOT.long.lines().filter_map(|line| {
        let (name, meaning) = line.strip_prefix("| $")?.split_once('|')?;
        Some((name.trim(), meaning.trim_end_matches('|').trim()))
    })
}

fn row(page: &mut String, name: &str, meaning: &str) {
    line(page, format_args!("| `${name}` | {} |", meaning.replace('|', "\\|")));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The variables that are given to plugins, to git and to other programs, and not read.
    const GIVEN: [&str; 7] = [
        "HELM_PLUGIN",
        "HELM_BIN",
        "RELEASE_NAME",
        "CARGO_",
        // Of the build.
        "PINTLE_BUILD_",
        // For the script that `self update` runs.
        "PINTLE_TO",
        "PINTLE_VERSION",
    ];

    /// What looks like a variable in the sources and is a column of a table.
    const COLUMNS_OF_TABLES: [&str; 3] = ["APPLY_METHOD", "APP_VERSION", "DEPLOYED_AT"];

    fn names_in(text: &str, found: &mut BTreeSet<String>) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in code.split('"') {
            let is_name = word.contains('_')
                && word.starts_with(|c: char| c.is_ascii_uppercase())
                && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            if is_name {
                found.insert(word.to_owned());
            }
        }
    }

    fn walk(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("environment.rs")
            {
                names_in(&std::fs::read_to_string(&path).unwrap(), found);
            }
        }
    }

    #[test]
    fn every_variable_that_the_sources_name_is_on_the_page() {
        let mut found = BTreeSet::new();
        walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert!(found.contains("HELM_NAMESPACE"), "the search finds variables");
        let page = page();
        let is_missing = |name: &&String| {
            let is_given = GIVEN.iter().any(|prefix| name.starts_with(prefix)) || name.starts_with("GIT_");
            !(is_given || COLUMNS_OF_TABLES.contains(&name.as_str()) || page.contains(&format!("`${name}`")))
        };
        let missing: Vec<&String> = found.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "not on the page: {missing:?}");
    }
}
