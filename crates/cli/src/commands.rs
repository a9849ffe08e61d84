//! The table of all commands.

pub(crate) mod adopt;
pub(crate) mod apply;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod cm_push;
pub(crate) mod completion;
pub(crate) mod controller;
pub(crate) mod create;
pub(crate) mod ct;
pub(crate) mod dependency;
pub(crate) mod diff;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod drift;
pub(crate) mod env;
pub(crate) mod get;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod hooks;
pub(crate) mod images;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod lsp;
pub(crate) mod lua;
pub(crate) mod outdated;
pub(crate) mod package;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod post_render;
pub(crate) mod preview;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod reference;
pub(crate) mod registry;
pub(crate) mod rehearse;
pub(crate) mod repo;
pub(crate) mod request;
pub(crate) mod rollback;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod self_update;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod status;
pub(crate) mod template;
pub(crate) mod test;
pub(crate) mod ui;
pub(crate) mod uninstall;
pub(crate) mod unittest;
pub(crate) mod unlock;
pub(crate) mod upgrade;
pub(crate) mod upgrade_check;
pub(crate) mod values;
pub(crate) mod verify;
pub(crate) mod version;

use crate::command::Command;
use crate::command::find::first_word;
use crate::complete::Request;

/// The root command.
pub(crate) static ROOT: Command = Command {
    name: "",
    short: "a package manager for Kubernetes",
    long: LONG,
    subcommands: &[
        &reference::COMMAND,
        &sign::COMMAND,
        &adopt::COMMAND,
        &apply::COMMAND,
        &cache::COMMAND,
        &check::COMMAND,
        &cluster::COMMAND,
        &cm_push::COMMAND,
        &completion::COMMAND,
        &controller::COMMAND,
        &create::COMMAND,
        &ct::COMMAND,
        &dependency::COMMAND,
        &diff::COMMAND,
        &docs::COMMAND,
        &doctor::COMMAND,
        &drift::COMMAND,
        &env::COMMAND,
        &get::COMMAND,
        &help::COMMAND,
        &history::COMMAND,
        &hooks::COMMAND,
        &images::COMMAND,
        &init::COMMAND,
        &install::COMMAND,
        &lint::COMMAND,
        &list::COMMAND,
        &lsp::COMMAND,
        &lua::COMMAND,
        &outdated::COMMAND,
        &package::COMMAND,
        &plan::COMMAND,
        &plugin::COMMAND,
        &post_render::COMMAND,
        &preview::COMMAND,
        &pull::COMMAND,
        &push::COMMAND,
        &registry::COMMAND,
        &rehearse::COMMAND,
        &repo::COMMAND,
        &request::COMMAND,
        &rollback::COMMAND,
        &schema::COMMAND,
        &search::COMMAND,
        &self_update::COMMAND,
        &show::COMMAND,
        &status::COMMAND,
        &template::COMMAND,
        &test::COMMAND,
        &ui::COMMAND,
        &uninstall::COMMAND,
        &unittest::COMMAND,
        &unlock::COMMAND,
        &upgrade::COMMAND,
        &upgrade_check::COMMAND,
        &values::COMMAND,
        &verify::COMMAND,
        &version::COMMAND,
    ],
    ..Command::BLANK
};

const LONG: &str = "\
A package manager for Kubernetes that installs charts as releases.

Common commands:

- {program} search:      search for charts
- {program} pull:        download a chart
- {program} create:      create a new chart
- {program} template:    render a chart to Kubernetes objects
- {program} install:     install a chart as a release
- {program} plan:        show what an operation would do
- {program} upgrade:     upgrade a release to another chart or other values
- {program} rollback:    roll a release back to an earlier version
- {program} list:        list the releases of a namespace
- {program} rehearse:    test the lifecycle of a release without a cluster

With --cluster embedded, all of them work without a real cluster: see `{program} cluster --help`.

Helm's environment variables are supported; `{program} env` shows the resulting settings:

| Variable                           | Meaning                                                         |
|------------------------------------|-----------------------------------------------------------------|
| $HELM_CACHE_HOME                   | the directory of cached files                                   |
| $HELM_CONFIG_HOME                  | the directory of configuration files                            |
| $HELM_DATA_HOME                    | the directory of plugins and starters                           |
| $HELM_PLUGINS                      | the directory of plugins, or a list of them                     |
| $HELM_NO_PLUGINS                   | 1 to disable plugins that are commands                          |
| $HELM_REPOSITORY_CONFIG            | the file with names and URLs of chart repositories              |
| $HELM_REPOSITORY_CACHE             | the directory of cached repository indexes                      |
| $HELM_CONTENT_CACHE                | the directory of cached charts                                  |
| $HELM_DEBUG                        | enable verbose output                                           |
| $HELM_DRIVER                       | the storage driver: native, secret, configmap, memory, sql      |
| $HELM_MAX_HISTORY                  | the maximum number of revisions per release                     |
| $HELM_NAMESPACE                    | the namespace to work in                                        |
| $HELM_COLOR                        | use colored output: never, auto or always                       |
| $NO_COLOR                          | disable colors if not empty; overrides $HELM_COLOR              |
| $SOURCE_DATE_EPOCH                 | the time of files in chart archives, in seconds since 1970      |
| $PINTLE_CLUSTER                    | embedded, or embedded:FILE, to use the embedded cluster         |
| $KUBECONFIG                        | the kubeconfig file, or a list of them                          |
| $HELM_KUBEAPISERVER                | address and port of the Kubernetes API server                   |
| $HELM_KUBEASGROUPS                 | groups to act as in the cluster, separated by commas            |
| $HELM_KUBEASUSER                   | the user to act as in the cluster                               |
| $HELM_KUBECAFILE                   | the CA bundle of the API server                                 |
| $HELM_KUBECONTEXT                  | the context of the kubeconfig to use                            |
| $HELM_KUBEINSECURE_SKIP_TLS_VERIFY | skip the certificate check of the API server (insecure)         |
| $HELM_KUBETLS_SERVER_NAME          | the server name to verify in the API server's certificate       |
| $HELM_KUBETOKEN                    | the bearer token to present to the cluster                      |
| $HELM_BURST_LIMIT                  | the client-side burst limit of requests to the API server       |
| $HELM_QPS                          | queries per second to the API server, without bursting          |

The default directories follow the XDG variables, and without these, the conventions of the operating system.";

/// Parses the hidden commands with which cobra's completion scripts ask for completions. Global flags before the command
/// are moved behind it.
pub(crate) fn complete_request(words: &[String]) -> Option<Request> {
    let at = first_word(words, &ROOT.all_flags())?;
    let described = match words[at].as_str() {
        "__complete" => true,
        "__completeNoDesc" => false,
        _ => return None,
    };
    Some(Request { described, words: [&words[..at], &words[at + 1..]].concat() })
}
