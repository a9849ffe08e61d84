//! The reference: every command and flag at a glance, so that a change shows in review.

mod support;

use insta::assert_snapshot;
use support::Place;

#[test]
fn all_commands_and_flags_are_known() {
    assert_snapshot!(Place::new().pintle("__reference"), @r#"
    exit 0
    --- stdout
    # Commands of pintle

    ## pintle

    A package manager for Kubernetes: charts in, objects out.

    This version works on charts that are files:

    - pintle create:      start a new chart
    - pintle lint:        look for mistakes in a chart
    - pintle template:    render a chart to Kubernetes objects
    - pintle dependency:  see and fetch the charts that a chart needs
    - pintle package:     make an archive of a chart

    Helm's environment variables are honoured; `pintle env` shows what they come to:

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

    Without them, the folders follow the XDG variables, and without those, the custom of the system.

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--burst-limit` | int | environment | how many requests may go to the API server at once |
    | `--color` | string | environment | when to use colours: never, auto or always |
    | `--colour` | string | environment | when to use colours: never, auto or always |
    | `--content-cache` | string | environment | the folder with cached charts |
    | `--debug` |  | environment | tell more about what is going on |
    | `--kube-apiserver` | string | environment | address and port of the Kubernetes API server |
    | `--kube-as-group` | stringArray | environment | a group to act as in the cluster; may be repeated |
    | `--kube-as-user` | string | environment | the user to act as in the cluster |
    | `--kube-ca-file` | string | environment | the file of certificate authorities to trust for the API server |
    | `--kube-context` | string | environment | the context of the kubeconfig to use |
    | `--kube-insecure-skip-tls-verify` |  | environment | do not check the API server's certificate (insecure) |
    | `--kube-tls-server-name` | string | environment | the name to expect in the API server's certificate, if not its host name |
    | `--kube-token` | string | environment | the bearer token to present to the cluster |
    | `--kubeconfig` | string |  | the kubeconfig file to use |
    | `-n`, `--namespace` | string | environment | the namespace to work in |
    | `--qps` | float32 | environment | requests per second to the API server, bursts aside |
    | `--registry-config` | string | environment | the file with credentials for registries |
    | `--repository-cache` | string | environment | the folder with cached repository indexes |
    | `--repository-config` | string | environment | the file with names and URLs of chart repositories |

    ## pintle completion

    print a completion script for a shell

    ## pintle completion bash

    print the completion script for bash

        pintle completion bash [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--no-descriptions` |  |  | offer choices without explaining them |

    ## pintle completion fish

    print the completion script for fish

        pintle completion fish [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--no-descriptions` |  |  | offer choices without explaining them |

    ## pintle completion powershell

    print the completion script for PowerShell

        pintle completion powershell [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--no-descriptions` |  |  | offer choices without explaining them |

    ## pintle completion zsh

    print the completion script for zsh

        pintle completion zsh [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--no-descriptions` |  |  | offer choices without explaining them |

    ## pintle create

    start a new chart

        pintle create NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-p`, `--starter` | string |  | the chart to start from: a name in the starters folder, or an absolute path |

    ## pintle dependency

    see and fetch the charts that a chart needs

    Also: dep, dependencies

    ## pintle dependency build

    fill charts/ with what Chart.lock says

        pintle dependency build CHART [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--skip-refresh` |  |  | use the cached indexes of repositories as they are |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signatures of what is fetched |

    ## pintle dependency list

    list the charts that a chart needs

        pintle dependency list CHART [flags]

    Also: ls

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--max-col-width` | uint | `80` | how wide a column may become |

    ## pintle dependency update

    fill charts/ with what Chart.yaml asks for

        pintle dependency update CHART [flags]

    Also: up

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--skip-refresh` |  |  | use the cached indexes of repositories as they are |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signatures of what is fetched |

    ## pintle env

    show the environment that pintle works in

        pintle env [flags]

    ## pintle help

    tell about a command

        pintle help [command] [flags]

    ## pintle lint

    look for mistakes in a chart

        pintle lint PATH [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--kube-version` | string |  | the Kubernetes version to check against |
    | `--quiet` |  |  | print warnings and errors only |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--skip-schema-validation` |  |  | do not check values against the charts' schemas |
    | `--strict` |  |  | fail on warnings too |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `--with-subcharts` |  |  | look at the charts in charts/ too |

    ## pintle package

    make an archive of a chart

        pintle package [CHART_PATH] [...] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--app-version` | string |  | write this appVersion into the archive's Chart.yaml |
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `-u`, `--dependency-update` |  |  | first fetch into charts/ what Chart.yaml asks for |
    | `-d`, `--destination` | string | `.` | the folder to put the archive into |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key` | string |  | the name of the key to sign with |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of keys to sign with |
    | `--passphrase-file` | string |  | the file with the passphrase of the key; - for standard input |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--sign` |  |  | sign the archive with a PGP key |
    | `--username` | string |  | the user name for the repository or registry |
    | `--version` | string |  | write this version into the archive's Chart.yaml |

    ## pintle schema

    derive and check schemas of values

    ## pintle schema check

    check values against the schemas of a chart

        pintle schema check CHART [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |

    ## pintle schema derive

    print a schema that fits a chart's values.yaml

        pintle schema derive CHART [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-o`, `--output` | string | `json` | the format of the schema: json or yaml |

    ## pintle show

    show what is in a chart

    Also: inspect

    ## pintle show all

    show everything that a chart says about itself

        pintle show all [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |

    ## pintle show chart

    show what kind of chart it is

        pintle show chart [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |

    ## pintle show crds

    show the custom resource definitions of a chart

        pintle show crds [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |

    ## pintle show readme

    show the README of a chart

        pintle show readme [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |

    ## pintle show values

    show the values that a chart begins with

        pintle show values [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--jsonpath` | string |  | a JSONPath expression that picks what to show |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |

    ## pintle template

    render a chart and print the objects

        pintle template [NAME] [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-a`, `--api-versions` | strings |  | further API versions that the cluster is to have; may be repeated |
    | `--atomic` |  |  | undo everything if the operation fails (deprecated: use --rollback-on-failure instead) |
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--compat` | string |  | whose rules hold where Helm 3 and Helm 4 differ: 3 or 4 ($PINTLE_COMPAT) |
    | `--create-namespace` |  |  | create the namespace of the release if it is missing |
    | `--dependency-update` |  |  | fetch missing dependencies first |
    | `--description` | string |  | a description to keep with the release |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--disable-openapi-validation` |  |  | do not check objects against the cluster's OpenAPI schema |
    | `--dry-run` | string, bare: unset | `client` | whom to ask about the cluster: client (nobody) or server |
    | `--enable-dns` |  |  | let templates look up host names |
    | `--force` |  |  | replace objects instead of patching them (deprecated: use --force-replace instead) |
    | `--force-conflicts` |  |  | take over fields that others manage, when applying on the server |
    | `--force-replace` |  |  | replace objects instead of patching them |
    | `-g`, `--generate-name` |  |  | make up a name, so that only the chart need be given |
    | `--hide-notes` |  |  |  (deprecated: this flag has no effect for 'helm template' and will be removed in Helm 5) |
    | `--include-crds` |  |  | print custom resource definitions too |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--is-upgrade` |  |  | render as for an upgrade instead of an installation |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--kube-version` | string |  | the Kubernetes version to render for |
    | `-l`, `--labels` | stringToString | `[]` | labels to keep with the release: a=x,b=y |
    | `--name-template` | string |  | a template that gives the name of the release |
    | `--no-hooks` |  |  | leave hooks out |
    | `--output-dir` | string |  | write files into this folder instead of printing |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--post-renderer` | postRendererString |  | the name of a plugin that may change what was rendered |
    | `--post-renderer-args` | postRendererArgsSlice | `[]` | an argument for it; may be repeated |
    | `--release-name` |  |  | with --output-dir, put files into a folder named after the release |
    | `--render-subchart-notes` |  |  |  (deprecated: this flag has no effect for 'helm template' and will be removed in Helm 5) |
    | `--replace` |  |  | reuse the name of a release that was deleted but is still in the history (unsafe) |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--rollback-on-failure` |  |  | undo everything if the operation fails; implies --wait=watcher |
    | `--server-side` |  | `true` | let the server merge changes instead of doing it here |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `-s`, `--show-only` | stringArray |  | print only what comes from these templates; may be repeated |
    | `--skip-crds` |  |  | leave custom resource definitions out |
    | `--skip-schema-validation` |  |  | do not check values against the charts' schemas |
    | `--skip-tests` |  |  | leave test hooks out |
    | `--take-ownership` |  |  | adopt objects that exist already, whoever made them |
    | `--timeout` | duration | `5m0s` | how long to wait for one operation in the cluster |
    | `--username` | string |  | the user name for the repository or registry |
    | `--validate` |  |  | ask the cluster to check the objects (deprecated: use '--dry-run=server' instead) |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |
    | `--wait` | WaitStrategy, bare: watcher | `hookOnly` | how to wait for objects to become ready: watcher (also when given bare), hookOnly or legacy |
    | `--wait-for-jobs` |  |  | with --wait, also wait for Jobs to complete |

    ## pintle version

    print the version of pintle

        pintle version [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--short` |  |  | print just the number |
    | `--template` | string |  | a Go template to print the version by |
    "#);
}

/// Every test of this folder, as text.
fn tests() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let files = std::fs::read_dir(folder).expect("the folder of tests is there");
    files
        .filter_map(|file| std::fs::read_to_string(file.expect("files can be listed").path()).ok())
        .filter(|text| !text.contains("fn all_commands_and_flags_are_known"))
        .collect()
}

#[test]
fn every_flag_is_used_in_a_test() {
    let tests = tests();
    let reference = Place::new().pintle("__reference");
    let missing: Vec<&str> = reference
        .lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|line| Some(line.split_once("`--")?.1.split_once('`')?.0))
        .filter(|flag| !tests.contains(&format!("--{flag}")))
        .collect();
    assert!(missing.is_empty(), "no test uses {missing:?}");
}
