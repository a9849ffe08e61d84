//! The table of all commands.

pub(crate) mod completion;
pub(crate) mod create;
pub(crate) mod dependency;
pub(crate) mod env;
pub(crate) mod help;
pub(crate) mod lint;
pub(crate) mod package;
pub(crate) mod reference;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod template;
pub(crate) mod version;

use crate::command::Command;
use crate::complete::Request;

/// The program itself.
pub(crate) static ROOT: Command = Command {
    name: "",
    long: LONG,
    subcommands: &[
        &reference::COMMAND,
        &completion::COMMAND,
        &create::COMMAND,
        &dependency::COMMAND,
        &env::COMMAND,
        &help::COMMAND,
        &lint::COMMAND,
        &package::COMMAND,
        &schema::COMMAND,
        &show::COMMAND,
        &template::COMMAND,
        &version::COMMAND,
    ],
    ..Command::BLANK
};

/// Commands of Helm that are not built yet, with their other names. They are refused with a clear word, and help does
/// not list them.
pub(crate) static LATER: &[(&str, &[&str])] = &[
    ("docs", &[]),
    ("get", &[]),
    ("history", &["hist"]),
    ("install", &[]),
    ("list", &["ls"]),
    ("plugin", &[]),
    ("pull", &["fetch"]),
    ("push", &[]),
    ("registry", &[]),
    ("repo", &[]),
    ("rollback", &[]),
    ("search", &[]),
    ("status", &[]),
    ("test", &[]),
    ("uninstall", &["del", "delete", "un"]),
    ("upgrade", &[]),
    ("verify", &[]),
];

const LONG: &str = "\
A package manager for Kubernetes: charts in, objects out.

This version works on charts that are files:

- {program} create:      start a new chart
- {program} lint:        look for mistakes in a chart
- {program} template:    render a chart to Kubernetes objects
- {program} dependency:  see and fetch the charts that a chart needs
- {program} package:     make an archive of a chart

Helm's environment variables are honoured; `{program} env` shows what they come to:

| Variable                           | Meaning                                                         |
|------------------------------------|-----------------------------------------------------------------|
| $HELM_CACHE_HOME                   | the folder for what can be fetched again                        |
| $HELM_CONFIG_HOME                  | the folder for configuration                                    |
| $HELM_DATA_HOME                    | the folder for plugins and starters                             |
| $HELM_DEBUG                        | whether to tell more about what is going on                     |
| $HELM_NAMESPACE                    | the namespace to work in                                        |
| $HELM_COLOR                        | when to use colours: never, auto or always                      |
| $NO_COLOR                          | if not empty, no colours, whatever $HELM_COLOR says             |
| $KUBECONFIG                        | the kubeconfig file, or several in the manner of a search path  |
| $HELM_KUBECONTEXT                  | the context of the kubeconfig to use                            |

Without them, the folders follow the XDG variables, and without those, the custom of the system.";

/// Tells whether the shell is asking for completions.
pub(crate) fn complete_request(words: &[String]) -> Option<Request<'_>> {
    let (first, words) = words.split_first()?;
    match first.as_str() {
        "__complete" => Some(Request { described: true, words }),
        "__completeNoDesc" => Some(Request { described: false, words }),
        _ => None,
    }
}
