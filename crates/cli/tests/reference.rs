//! The reference: every command and flag at a glance, so that a change shows in review.

use crate::support;

use insta::assert_snapshot;
use support::Place;

#[test]
fn all_commands_and_flags_are_known() {
    assert_snapshot!(Place::new().pintle("__reference"), @r#"
    exit 0
    --- stdout
    # Commands of pintle

    ## pintle

    A package manager for Kubernetes: charts in, releases out.

    This version works on charts that are files, and on clusters:

    - pintle create:      start a new chart
    - pintle template:    render a chart to Kubernetes objects
    - pintle install:     make a release of a chart in a cluster
    - pintle upgrade:     bring a release to another chart or other values
    - pintle rollback:    bring a release back to an earlier version
    - pintle list:        see the releases of a cluster
    - pintle rehearse:    try the whole life of a release without a cluster

    All of them work without a cluster, too, with --cluster embedded: see `pintle cluster --help`.

    Helm's environment variables are honoured; `pintle env` shows what they come to:

    | Variable                           | Meaning                                                         |
    |------------------------------------|-----------------------------------------------------------------|
    | $HELM_CACHE_HOME                   | the folder for what can be fetched again                        |
    | $HELM_CONFIG_HOME                  | the folder for configuration                                    |
    | $HELM_DATA_HOME                    | the folder for plugins and starters                             |
    | $HELM_DEBUG                        | whether to tell more about what is going on                     |
    | $HELM_DRIVER                       | where releases are kept: native, secret, configmap, memory, sql |
    | $HELM_MAX_HISTORY                  | how many versions of a release are kept                         |
    | $HELM_NAMESPACE                    | the namespace to work in                                        |
    | $HELM_COLOR                        | when to use colours: never, auto or always                      |
    | $NO_COLOR                          | if not empty, no colours, whatever $HELM_COLOR says             |
    | $PINTLE_CLUSTER                    | embedded, or embedded:FILE, for the cluster in the box          |
    | $KUBECONFIG                        | the kubeconfig file, or several in the manner of a search path  |
    | $HELM_KUBEAPISERVER                | address and port of the Kubernetes API server                   |
    | $HELM_KUBEASGROUPS                 | groups to act as in the cluster, separated by commas            |
    | $HELM_KUBEASUSER                   | the user to act as in the cluster                               |
    | $HELM_KUBECAFILE                   | the certificate authorities to trust for the API server         |
    | $HELM_KUBECONTEXT                  | the context of the kubeconfig to use                            |
    | $HELM_KUBEINSECURE_SKIP_TLS_VERIFY | whether not to check the API server's certificate (insecure)    |
    | $HELM_KUBETLS_SERVER_NAME          | the name to expect in the API server's certificate              |
    | $HELM_KUBETOKEN                    | the bearer token to present to the cluster                      |
    | $HELM_BURST_LIMIT                  | how many requests may go to the API server at once              |
    | $HELM_QPS                          | requests per second to the API server, bursts aside             |

    Without them, the folders follow the XDG variables, and without those, the custom of the system.

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--burst-limit` | int | environment | how many requests may go to the API server at once |
    | `--cluster` | string | environment | embedded, or embedded:FILE, for the cluster in the box instead of a real one |
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

    ## pintle adopt

    take over the record of a release that Helm made

        pintle adopt RELEASE_NAME [...] [flags]

    ## pintle cluster

    serve and look after the cluster in the box

    ## pintle cluster reset

    empty a cluster in the box

        pintle cluster reset [flags]

    ## pintle cluster serve

    put the cluster in the box on a port

        pintle cluster serve [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--address` | string | `127.0.0.1:0` | the address to listen at; port 0 takes any that is free |
    | `--insecure` |  |  | serve plain HTTP and ask for no token |
    | `--kube-version` | string |  | the Kubernetes version to be like |
    | `--pace` | string | `fast` | how fast workloads move: fast, or real to take their time |
    | `--write-kubeconfig` | string |  | write the kubeconfig to this file instead of printing it |

    ## pintle cluster status

    show what is in a cluster in the box

        pintle cluster status [flags]

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
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--lua` |  |  | begin with a script that acts on events of the chart's life |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `-p`, `--starter` | string |  | the chart to start from: a name in the starters folder, or an absolute path |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle dependency

    see and fetch the charts that a chart needs

    Also: dep, dependencies

    ## pintle dependency build

    fill charts/ with what Chart.lock says

        pintle dependency build CHART [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--skip-refresh` |  |  | use the cached indexes of repositories as they are |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--username` | string |  | the user name for the repository or registry |
    | `--verify` |  |  | check the signatures of what is fetched |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

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

    ## pintle get

    show what was recorded of a release

    ## pintle get all

    show everything that was recorded of a release

        pintle get all RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--revision` | int |  | the version of the release to look at; the last by default |
    | `--template` | string |  | a Go template to fill in, as in {{.Release.Name}} |

    ## pintle get hooks

    show the hooks of a release

        pintle get hooks RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--revision` | int |  | the version of the release to look at; the last by default |

    ## pintle get manifest

    show the objects of a release

        pintle get manifest RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--revision` | int |  | the version of the release to look at; the last by default |

    ## pintle get metadata

    show the facts about a release

        pintle get metadata RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--revision` | int |  | the version of the release to look at; the last by default |

    ## pintle get notes

    show the notes of a release

        pintle get notes RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--revision` | int |  | the version of the release to look at; the last by default |

    ## pintle get values

    show the values of a release

        pintle get values RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-a`, `--all` |  |  | show the defaults of the chart too |
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--revision` | int |  | the version of the release to look at; the last by default |

    ## pintle help

    tell about a command

        pintle help [command] [flags]

    ## pintle history

    show the versions of a release

        pintle history RELEASE_NAME [flags]

    Also: hist

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--max` | int | `256` | how many versions to show |
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |

    ## pintle hooks

    look at the hooks of charts and releases

    ## pintle hooks list

    list hooks by event, in the order in which they run

        pintle hooks list [CHART|RELEASE] [flags]

    Also: ls

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-c`, `--chart-path` | string |  | the folder or archive of the chart |
    | `--event` | strings |  | only hooks that run at these events |
    | `--kube-version` | string |  | the Kubernetes version to render for |
    | `--log-level` | string | environment | how much to say: error, warn, info or debug ($LOG_LEVEL) |
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `-r`, `--release-name` | string |  | the release whose chart and values are meant |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |

    ## pintle images

    find the images of charts and point them at another registry

    ## pintle images config

    list, set and remove entries of a registry mapping file

        pintle images config [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--file` | string | `registry-mappings.yaml` | the mapping file |
    | `--list` |  |  | show the entries |
    | `--remove` |  |  | remove the entry of --source |
    | `--source` | string |  | the registry whose images move |
    | `--target` | string |  | where they go: host[:port]/path |

    ## pintle images copy

    copy images to another registry, or to a folder and back

        pintle images copy [SOURCE...] DESTINATION [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | a file of certificate authorities to trust beside the system's |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--config` | string |  |  (deprecated: use --registry-file instead) |
    | `--creds` | string |  | who we are to registries: USER:PASSWORD |
    | `--dest-creds` | string |  | as --creds, for the registry that images go to |
    | `--dest-insecure-skip-tls-verify` |  |  | as --insecure-skip-tls-verify, for the registry that images go to |
    | `--dest-plain-http` |  |  | as --plain-http, for the registry that images go to |
    | `--dry-run` |  |  | show what would be copied, and how much |
    | `-e`, `--exclude-registries` | strings |  | registries whose images stay, whatever else is said |
    | `--from-chart` | stringArray |  | copy the images of the chart in this folder or archive; may be repeated |
    | `--from-list` | stringArray |  | copy the images of this file: one on each line, or a lock; may be repeated |
    | `--from-release` | stringArray |  | copy the images of this release; may be repeated |
    | `--insecure-skip-tls-verify` |  |  | do not check the certificates of registries (insecure) |
    | `-j`, `--jobs` | uint | `4` | how many blobs move at once |
    | `--keep-going` |  |  | copy what can be copied, even if something cannot |
    | `--key-file` | string |  | the key of the client certificate |
    | `--kube-version` | string |  | the Kubernetes version to render charts for |
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--overwrite` |  |  | let tags at the destination stand for something else |
    | `--path-strategy` | string | `prefix-source-registry` | how paths are made there: prefix-source-registry or prefix-dotted-registry |
    | `--patience` | duration | `1m0s` | how long nothing at all may happen on a connection |
    | `--plain-http` |  |  | speak to registries without TLS; those on this machine may do without anyway |
    | `--platform` | strings |  | copy only these platforms, as in linux/amd64,linux/arm64 |
    | `-q`, `--quiet` |  |  | show no progress |
    | `--registry-file` | string |  | the file that says which registry's images go where |
    | `--retries` | uint | `5` | how often to try again what may have failed by chance |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--signatures` |  | `true` | copy signatures, attestations and whatever else refers to images |
    | `-s`, `--source-registries` | strings |  | the registries whose images move; without it, those of --registry-file |
    | `--src-creds` | string |  | as --creds, for registries that images come from |
    | `--src-insecure-skip-tls-verify` |  |  | as --insecure-skip-tls-verify, for registries that images come from |
    | `--src-plain-http` |  |  | as --plain-http, for registries that images come from |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |

    ## pintle images inspect

    show the images of a chart or a release and the values they come from

        pintle images inspect [CHART|RELEASE] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-A`, `--all-namespaces` |  |  | look at all releases of the cluster |
    | `-c`, `--chart-path` | string |  | the folder or archive of the chart |
    | `--config` | string |  |  (deprecated: use --registry-file instead) |
    | `--exclude-pattern` | stringArray |  | no values whose path fits; may be repeated |
    | `-e`, `--exclude-registries` | strings |  | registries whose images stay, whatever else is said |
    | `--generate-config-skeleton` | string |  | write a mapping file with the registries that were found |
    | `--include-pattern` | stringArray |  | only values whose path fits, as in web.*; may be repeated |
    | `--kube-version` | string |  | the Kubernetes version to render for |
    | `--log-level` | string | environment | how much to say: error, warn, info or debug ($LOG_LEVEL) |
    | `-o`, `--output-file` | string |  | write to this file, which must not exist, instead of standard output |
    | `--output-format` | string | `yaml` | the format of the output: yaml or json |
    | `--overwrite-skeleton` |  |  | let --generate-config-skeleton replace a file |
    | `--registry-file` | string |  | the file that says which registry's images go where |
    | `-r`, `--release-name` | string |  | the release whose chart and values are meant |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `-s`, `--source-registries` | strings |  | the registries whose images move; without it, those of --registry-file |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |

    ## pintle images list

    list the images that a chart or a release uses

        pintle images list [CHART|RELEASE] [flags]

    Also: ls

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--ca-file` | string |  | a file of certificate authorities to trust beside the system's |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `-c`, `--chart-path` | string |  | the folder or archive of the chart |
    | `--creds` | string |  | who we are to registries: USER:PASSWORD |
    | `--from-registry` | strings |  | only images of these registries |
    | `--insecure-skip-tls-verify` |  |  | do not check the certificates of registries (insecure) |
    | `--key-file` | string |  | the key of the client certificate |
    | `--kube-version` | string |  | the Kubernetes version to render for |
    | `--lock` | string |  | write what the names stand for into this file |
    | `--log-level` | string | environment | how much to say: error, warn, info or debug ($LOG_LEVEL) |
    | `-o`, `--output` | string | `table` | the shape of the output: table, json, yaml, csv or cyclonedx |
    | `--patience` | duration | `1m0s` | how long nothing at all may happen on a connection |
    | `--plain-http` |  |  | speak to registries without TLS; those on this machine may do without anyway |
    | `-r`, `--release-name` | string |  | the release whose chart and values are meant |
    | `--resolve` |  |  | ask registries what the names stand for |
    | `--retries` | uint | `5` | how often to try again what may have failed by chance |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--unique` |  |  | one line for each image instead of each use |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `--verify` | string |  | check that the names stand for what this file says |

    ## pintle images override

    make values that point images at another registry

        pintle images override [CHART|RELEASE] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--allow-tag-and-digest` |  |  | move images that are strings with both a tag and a digest, with both |
    | `-c`, `--chart-path` | string |  | the folder or archive of the chart |
    | `--config` | string |  |  (deprecated: use --registry-file instead) |
    | `--disable-rules` |  |  | leave out values that some charts need beside the images |
    | `--dry-run` |  |  | print the values, whatever --output-file says |
    | `--exclude-pattern` | stringArray |  | no values whose path fits; may be repeated |
    | `-e`, `--exclude-registries` | strings |  | registries whose images stay, whatever else is said |
    | `--include-pattern` | stringArray |  | only values whose path fits, as in web.*; may be repeated |
    | `--kube-version` | string |  | the Kubernetes version to render for |
    | `--log-level` | string | environment | how much to say: error, warn, info or debug ($LOG_LEVEL) |
    | `--no-validate` |  |  | do not render: believe what the values look like, without a proof |
    | `-o`, `--output-file` | string |  | write to this file, which must not exist, instead of standard output |
    | `--output-format` | string | `yaml` | the format of the output: yaml or json |
    | `--path-strategy` | string | `prefix-source-registry` | how paths are made there: prefix-source-registry or prefix-dotted-registry |
    | `--registry-file` | string |  | the file that says which registry's images go where |
    | `-r`, `--release-name` | string |  | the release whose chart and values are meant |
    | `--report` | string |  | write a report in JSON to this file, or - for standard error |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `-s`, `--source-registries` | strings |  | the registries whose images move; without it, those of --registry-file |
    | `--strict` |  |  | fail if an image is written in a way that is not supported |
    | `-t`, `--target-registry` | string |  | the registry that images go to: host[:port][/path] |
    | `--threshold` | uint |  | fail if fewer than this many per cent of the images can be moved |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |

    ## pintle images rewrite

    point the images of rendered objects at another registry

        pintle images rewrite [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--config` | string |  |  (deprecated: use --registry-file instead) |
    | `-e`, `--exclude-registries` | strings |  | registries whose images stay, whatever else is said |
    | `--list` |  |  | tell on standard error which images were moved |
    | `--path-strategy` | string | `prefix-source-registry` | how paths are made there: prefix-source-registry or prefix-dotted-registry |
    | `--registry-file` | string |  | the file that says which registry's images go where |
    | `-s`, `--source-registries` | strings |  | the registries whose images move; without it, those of --registry-file |
    | `-t`, `--target-registry` | string |  | the registry that images go to: host[:port][/path] |

    ## pintle images validate

    check that a chart renders with values, such as those of override

        pintle images validate [CHART|RELEASE] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-c`, `--chart-path` | string |  | the folder or archive of the chart |
    | `--kube-version` | string |  | the Kubernetes version to render for |
    | `--log-level` | string | environment | how much to say: error, warn, info or debug ($LOG_LEVEL) |
    | `-o`, `--output-file` | string |  | write to this file, which must not exist, instead of standard output |
    | `-r`, `--release-name` | string |  | the release whose chart and values are meant |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--strict` |  |  | fail if something has no value, or if a template is left in what was rendered |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |

    ## pintle init

    make a cluster ready to keep releases

        pintle init [flags]

    ## pintle install

    install a chart

        pintle install [NAME] [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--allow-release-records` |  |  | let the chart bring objects that look like records of releases |
    | `--atomic` |  |  | undo everything if the operation fails (deprecated: use --rollback-on-failure instead) |
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--create-namespace` |  |  | create the namespace of the release if it is missing |
    | `--dependency-update` |  |  | fetch missing dependencies first |
    | `--description` | string |  | a description to keep with the release |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--disable-openapi-validation` |  |  | do not check objects against the cluster's OpenAPI schema |
    | `--dry-run` | string, bare: unset | `none` | only show what would be done: none (do it), client (ask nobody) or server (ask the cluster) |
    | `--enable-dns` |  |  | let templates look up host names |
    | `--exclude-registries` | strings |  | with --rewrite-images, registries whose images stay |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--force` |  |  | replace objects instead of patching them (deprecated: use --force-replace instead) |
    | `--force-conflicts` |  |  | take over fields that others manage, when applying on the server |
    | `--force-replace` |  |  | replace objects instead of patching them |
    | `-g`, `--generate-name` |  |  | make up a name, so that only the chart need be given |
    | `--hide-notes` |  |  | do not print the notes |
    | `--hide-secret` |  |  | with --dry-run, do not show Secrets |
    | `--hook-env` |  |  | tell every hook its event and weight in its environment |
    | `--hook-parallelism` | uint | `1` | how many hooks of equal weight run together |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `-l`, `--labels` | stringToString | `[]` | labels to keep with the release: a=x,b=y |
    | `--logs` | string |  | when to show the logs of hooks: end, or stream to see them live |
    | `--name-template` | string |  | a template that gives the name of the release |
    | `--no-hooks` |  |  | leave hooks out |
    | `--no-log-output` |  |  | show no logs of hooks |
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--path-strategy` | string | `prefix-source-registry` | with --rewrite-images, how paths are made in the new registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--post-renderer` | postRendererString |  | the name of a plugin that may change what was rendered |
    | `--post-renderer-args` | postRendererArgsSlice | `[]` | an argument for it; may be repeated |
    | `--registry-file` | string |  | with --rewrite-images, the file that says which registry's images go where |
    | `--render-subchart-notes` |  |  | render the notes of subcharts too |
    | `--replace` |  |  | reuse the name of a release that was deleted but is still in the history (unsafe) |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--rewrite-images` | string, bare:  |  | point the images of rendered objects at another registry, as a mapping file or --target-registry says |
    | `--rollback-on-failure` |  |  | undo everything if the operation fails; implies --wait=watcher |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--server-side` |  | `true` | let the server merge changes instead of doing it here |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--skip-crds` |  |  | leave custom resource definitions out |
    | `--skip-schema-validation` |  |  | do not check values against the charts' schemas |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--source-registries` | strings |  | with --rewrite-images, the registries whose images move |
    | `--take-ownership` |  |  | adopt objects that exist already, whoever made them |
    | `--target-registry` | string |  | with --rewrite-images, the registry that images go to: host[:port][/path] |
    | `--timeout` | duration | `5m0s` | how long to wait for one operation in the cluster |
    | `--username` | string |  | the user name for the repository or registry |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |
    | `--wait` | WaitStrategy, bare: watcher | `hookOnly` | how to wait for objects to become ready: watcher (also when given bare), hookOnly or legacy |
    | `--wait-for-jobs` |  |  | with --wait, also wait for Jobs to complete |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle lint

    look for mistakes in a chart

        pintle lint PATH [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--kube-version` | string |  | the Kubernetes version to check against |
    | `--quiet` |  |  | print warnings and errors only |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--skip-schema-validation` |  |  | do not check values against the charts' schemas |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--strict` |  |  | fail on warnings too |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `--with-subcharts` |  |  | look at the charts in charts/ too |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle list

    list releases

        pintle list [flags]

    Also: ls

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `-A`, `--all-namespaces` |  |  | show the releases of all namespaces |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `-d`, `--date` |  |  | sort by the time of the last change |
    | `--deployed` |  |  | show releases that are deployed |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--failed` |  |  | show releases that failed |
    | `-f`, `--filter` | string |  | a regular expression that names must match |
    | `-m`, `--max` | int | `256` | how many releases to show; 0 for all |
    | `--no-headers` |  |  | leave the headings of the table out |
    | `--offset` | int |  | how many releases to leave out first |
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--pending` |  |  | show releases that are being worked on |
    | `-r`, `--reverse` |  |  | turn the order round |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `-l`, `--selector` | string |  | labels that releases must have: a=x,b!=y |
    | `-q`, `--short` |  |  | print the names only |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--superseded` |  |  | show versions that later ones have replaced |
    | `--time-format` | string |  | a layout of Go for times, as in "2006-01-02 15:04:05Z0700" |
    | `--uninstalled` |  |  | show releases that were uninstalled with --keep-history |
    | `--uninstalling` |  |  | show releases that are being uninstalled |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle lua

    check and try out the scripts of a chart, and show what they were granted

    ## pintle lua check

    look for mistakes in scripts without running them

        pintle lua check CHART [flags]

    ## pintle lua grants

    show or revoke the permissions that you have granted to scripts

        pintle lua grants [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--revoke` | stringArray |  | revoke the grants of this digest, or its beginning, or of this chart; may be repeated |
    | `--revoke-all` |  |  | revoke all grants |

    ## pintle lua run

    call the handlers of one event, and show what they change

        pintle lua run CHART EVENT [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--is-upgrade` |  |  | call handlers as for an upgrade instead of an installation |
    | `--release` | string | `release-name` | the name of the release |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle lua types

    print the types of what scripts can use, for editors

        pintle lua types [flags]

    ## pintle package

    make an archive of a chart

        pintle package [CHART_PATH] [...] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--app-version` | string |  | write this appVersion into the archive's Chart.yaml |
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `-u`, `--dependency-update` |  |  | first fetch into charts/ what Chart.yaml asks for |
    | `-d`, `--destination` | string | `.` | the folder to put the archive into |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `--key` | string |  | the name of the key to sign with |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of keys to sign with |
    | `--passphrase-file` | string |  | the file with the passphrase of the key; - for standard input |
    | `--password` | string |  | the password for the repository or registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--sign` |  |  | sign the archive with a PGP key |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--username` | string |  | the user name for the repository or registry |
    | `--version` | string |  | write this version into the archive's Chart.yaml |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle post-render

    filter rendered objects, as a post-renderer does

    ## pintle post-render hooks

    split hooks of several events into hooks of one

        pintle post-render hooks [version] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-v`, `--version` |  |  | print the version |

    ## pintle post-render images

    point the images of rendered objects at another registry

        pintle post-render images [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--config` | string |  |  (deprecated: use --registry-file instead) |
    | `-e`, `--exclude-registries` | strings |  | registries whose images stay, whatever else is said |
    | `--list` |  |  | tell on standard error which images were moved |
    | `--path-strategy` | string | `prefix-source-registry` | how paths are made there: prefix-source-registry or prefix-dotted-registry |
    | `--registry-file` | string |  | the file that says which registry's images go where |
    | `-s`, `--source-registries` | strings |  | the registries whose images move; without it, those of --registry-file |
    | `-t`, `--target-registry` | string |  | the registry that images go to: host[:port][/path] |

    ## pintle rehearse

    install, upgrade, test, roll back and uninstall a chart without a cluster

        pintle rehearse CHART [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--from` | string |  | the older chart to upgrade from: a folder, an archive, a version, or git:REF |
    | `--given` | strings |  | what the cluster has before: a file or folder of objects, or a chart for its definitions |
    | `--kube-version` | string |  | the Kubernetes version to rehearse on |
    | `-o`, `--output` | string | `text` | text, json, or junit |
    | `--release-name` | string | `rehearsal` | the name of the release |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--strict` |  |  | fail on warnings too |
    | `--timeout` | duration | `3s` | how long to wait in real time for what does not become ready |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `-v`, `--verbose` |  |  | show every finding and every object, not just what fits on a screen |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle rollback

    roll a release back to an earlier version

        pintle rollback <RELEASE> [REVISION] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--allow-release-records` |  |  | let the chart bring objects that look like records of releases |
    | `--cleanup-on-fail` |  |  | delete what a failing operation has created anew |
    | `--dry-run` | string, bare: unset | `none` | only show what would be done: none (do it), client (ask nobody) or server (ask the cluster) |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--force` |  |  | replace objects instead of patching them (deprecated: use --force-replace instead) |
    | `--force-conflicts` |  |  | take over fields that others manage, when applying on the server |
    | `--force-replace` |  |  | replace objects instead of patching them |
    | `--history-max` | int | environment | how many versions of a release to keep; 0 keeps all |
    | `--hook-env` |  |  | tell every hook its event and weight in its environment |
    | `--hook-parallelism` | uint | `1` | how many hooks of equal weight run together |
    | `--logs` | string |  | when to show the logs of hooks: end, or stream to see them live |
    | `--no-hooks` |  |  | leave hooks out |
    | `--no-log-output` |  |  | show no logs of hooks |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--server-side` | string | `auto` | whether the server merges changes: true, false, or auto to do as the earlier version did |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--timeout` | duration | `5m0s` | how long to wait for one operation in the cluster |
    | `--wait` | WaitStrategy, bare: watcher | `hookOnly` | how to wait for objects to become ready: watcher (also when given bare), hookOnly or legacy |
    | `--wait-for-jobs` |  |  | with --wait, also wait for Jobs to complete |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

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

    ## pintle show permissions

    show what the scripts of a chart ask for

        pintle show permissions [CHART] [flags]

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

    ## pintle status

    show the state of a release

        pintle status RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--revision` | int |  | the version of the release to look at; the last by default |

    ## pintle template

    render a chart and print the objects

        pintle template [NAME] [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--allow-release-records` |  |  | let the chart bring objects that look like records of releases |
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
    | `--exclude-registries` | strings |  | with --rewrite-images, registries whose images stay |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
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
    | `--path-strategy` | string | `prefix-source-registry` | with --rewrite-images, how paths are made in the new registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--post-renderer` | postRendererString |  | the name of a plugin that may change what was rendered |
    | `--post-renderer-args` | postRendererArgsSlice | `[]` | an argument for it; may be repeated |
    | `--registry-file` | string |  | with --rewrite-images, the file that says which registry's images go where |
    | `--release-name` |  |  | with --output-dir, put files into a folder named after the release |
    | `--render-subchart-notes` |  |  |  (deprecated: this flag has no effect for 'helm template' and will be removed in Helm 5) |
    | `--replace` |  |  | reuse the name of a release that was deleted but is still in the history (unsafe) |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--rewrite-images` | string, bare:  |  | point the images of rendered objects at another registry, as a mapping file or --target-registry says |
    | `--rollback-on-failure` |  |  | undo everything if the operation fails; implies --wait=watcher |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--server-side` |  | `true` | let the server merge changes instead of doing it here |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `-s`, `--show-only` | stringArray |  | print only what comes from these templates; may be repeated |
    | `--skip-crds` |  |  | leave custom resource definitions out |
    | `--skip-schema-validation` |  |  | do not check values against the charts' schemas |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--skip-tests` |  |  | leave test hooks out |
    | `--source-registries` | strings |  | with --rewrite-images, the registries whose images move |
    | `--take-ownership` |  |  | adopt objects that exist already, whoever made them |
    | `--target-registry` | string |  | with --rewrite-images, the registry that images go to: host[:port][/path] |
    | `--timeout` | duration | `5m0s` | how long to wait for one operation in the cluster |
    | `--username` | string |  | the user name for the repository or registry |
    | `--validate` |  |  | ask the cluster to check the objects (deprecated: use '--dry-run=server' instead) |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |
    | `--wait` | WaitStrategy, bare: watcher | `hookOnly` | how to wait for objects to become ready: watcher (also when given bare), hookOnly or legacy |
    | `--wait-for-jobs` |  |  | with --wait, also wait for Jobs to complete |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle test

    run the tests of a release

        pintle test [RELEASE] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--allow-release-records` |  |  | let the chart bring objects that look like records of releases |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--filter` | strings |  | only tests of this name (name=x), or all but that (!name=x); may be repeated |
    | `--logs` |  |  | print the logs of the tests' pods when all have ended |
    | `--no-log-output` |  |  | do not show the logs of tests, whatever their policy says |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--timeout` | duration | `5m0s` | how long to wait for one operation in the cluster |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle uninstall

    uninstall a release

        pintle uninstall RELEASE_NAME [...] [flags]

    Also: del, delete, un

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--allow-release-records` |  |  | let the chart bring objects that look like records of releases |
    | `--cascade` | string | `background` | how to delete what objects own: background, foreground or orphan |
    | `--description` | string |  | a description to keep with the release |
    | `--dry-run` |  |  | only say what would be uninstalled |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--hook-env` |  |  | tell every hook its event and weight in its environment |
    | `--hook-parallelism` | uint | `1` | how many hooks of equal weight run together |
    | `--ignore-not-found` |  |  | take a release that does not exist for uninstalled |
    | `--keep-history` |  |  | keep the record of the release, marked as uninstalled |
    | `--logs` | string |  | when to show the logs of hooks: end, or stream to see them live |
    | `--no-hooks` |  |  | leave hooks out |
    | `--no-log-output` |  |  | show no logs of hooks |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--timeout` | duration | `5m0s` | how long to wait for one operation in the cluster |
    | `--wait` | WaitStrategy, bare: watcher | `hookOnly` | how to wait for objects to become ready: watcher (also when given bare), hookOnly or legacy |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

    ## pintle unlock

    show or free a release that is being worked on

        pintle unlock RELEASE_NAME [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--free` |  |  | mark the version that is pending as failed |

    ## pintle upgrade

    upgrade a release

        pintle upgrade [RELEASE] [CHART] [flags]

    | flag | value | default | meaning |
    |---|---|---|---|
    | `--accept-perms` | strings |  | the permissions that scripts of the chart may have: network, filesystem, os |
    | `--allow-private-network` |  |  | let scripts with the permission network reach private addresses |
    | `--allow-release-records` |  |  | let the chart bring objects that look like records of releases |
    | `--atomic` |  |  | undo everything if the operation fails (deprecated: use --rollback-on-failure instead) |
    | `--ca-file` | string |  | the file of certificate authorities to trust when fetching charts |
    | `--cert-file` | string |  | the client certificate to present over TLS |
    | `--cleanup-on-fail` |  |  | delete what a failing operation has created anew |
    | `--create-namespace` |  |  | with --install, create the namespace of the release if it is missing |
    | `--dependency-update` |  |  | fetch missing dependencies first |
    | `--description` | string |  | a description to keep with the release |
    | `--devel` |  |  | let pre-releases count too, as --version '>0.0.0-0' does; --version wins over it |
    | `--disable-openapi-validation` |  |  | do not check objects against the cluster's OpenAPI schema |
    | `--dry-run` | string, bare: unset | `none` | only show what would be done: none (do it), client (ask nobody) or server (ask the cluster) |
    | `--enable-dns` |  |  | let templates look up host names |
    | `--exclude-registries` | strings |  | with --rewrite-images, registries whose images stay |
    | `--explain` |  |  | tell on standard error what scripts of the chart changed |
    | `--force` |  |  | replace objects instead of patching them (deprecated: use --force-replace instead) |
    | `--force-conflicts` |  |  | take over fields that others manage, when applying on the server |
    | `--force-replace` |  |  | replace objects instead of patching them |
    | `--hide-notes` |  |  | do not print the notes |
    | `--hide-secret` |  |  | with --dry-run, do not show Secrets |
    | `--history-max` | int | environment | how many versions of a release to keep; 0 keeps all |
    | `--hook-env` |  |  | tell every hook its event and weight in its environment |
    | `--hook-parallelism` | uint | `1` | how many hooks of equal weight run together |
    | `--insecure-skip-tls-verify` |  |  | do not check the server's certificate when fetching charts |
    | `-i`, `--install` |  |  | install the release if there is none of that name |
    | `--key-file` | string |  | the key of the client certificate |
    | `--keyring` | string | environment | the file of public keys for --verify |
    | `-l`, `--labels` | stringToString | `[]` | labels to keep with the release: a=x,b=y |
    | `--logs` | string |  | when to show the logs of hooks: end, or stream to see them live |
    | `--no-hooks` |  |  | leave hooks out |
    | `--no-log-output` |  |  | show no logs of hooks |
    | `-o`, `--output` | format | `table` | the shape of the output: table, json or yaml |
    | `--pass-credentials` |  |  | send credentials to every host, not just the repository's |
    | `--password` | string |  | the password for the repository or registry |
    | `--path-strategy` | string | `prefix-source-registry` | with --rewrite-images, how paths are made in the new registry |
    | `--plain-http` |  |  | fetch charts over HTTP without TLS |
    | `--post-renderer` | postRendererString |  | the name of a plugin that may change what was rendered |
    | `--post-renderer-args` | postRendererArgsSlice | `[]` | an argument for it; may be repeated |
    | `--registry-file` | string |  | with --rewrite-images, the file that says which registry's images go where |
    | `--render-subchart-notes` |  |  | render the notes of subcharts too |
    | `--repo` | string |  | the URL of the repository that has the chart |
    | `--reset-then-reuse-values` |  |  | start from the values of the chart, then apply those given for the earlier version |
    | `--reset-values` |  |  | start from the values of the chart |
    | `--reuse-values` |  |  | keep the values of the earlier version, the chart's defaults included |
    | `--rewrite-images` | string, bare:  |  | point the images of rendered objects at another registry, as a mapping file or --target-registry says |
    | `--rollback-on-failure` |  |  | undo everything if the operation fails; implies --wait=watcher |
    | `--scripts-folder` | string | `.` | the folder for scripts with the permission filesystem |
    | `--server-side` | string | `auto` | whether the server merges changes: true, false, or auto to do as the earlier version did |
    | `--set` | stringArray |  | values by path, typed by their looks: a.b=1,c=x; may be repeated |
    | `--set-file` | stringArray |  | values by path with the content of files: a.b=file,c=other; may be repeated |
    | `--set-json` | stringArray |  | values in JSON, by path (a.b={"c":1}) or as a whole object; may be repeated |
    | `--set-literal` | stringArray |  | one value by path, everything after = taken as it stands; may be repeated |
    | `--set-string` | stringArray |  | values by path that stay strings: a.b=1,c=x; may be repeated |
    | `--skip-crds` |  |  | leave custom resource definitions out |
    | `--skip-schema-validation` |  |  | do not check values against the charts' schemas |
    | `--skip-scripts` |  |  | do not run the scripts of the chart |
    | `--source-registries` | strings |  | with --rewrite-images, the registries whose images move |
    | `--take-ownership` |  |  | adopt objects that exist already, whoever made them |
    | `--target-registry` | string |  | with --rewrite-images, the registry that images go to: host[:port][/path] |
    | `--timeout` | duration | `5m0s` | how long to wait for one operation in the cluster |
    | `--username` | string |  | the user name for the repository or registry |
    | `-f`, `--values` | strings |  | a file of values in YAML, or - for standard input; may be repeated |
    | `--verify` |  |  | check the signature of the chart before using it |
    | `--version` | string |  | the version of the chart, or a range such as ^2.0.0; without it, the newest |
    | `--wait` | WaitStrategy, bare: watcher | `hookOnly` | how to wait for objects to become ready: watcher (also when given bare), hookOnly or legacy |
    | `--wait-for-jobs` |  |  | with --wait, also wait for Jobs to complete |
    | `-y`, `--yes` |  |  | grant the scripts of the chart all permissions that they ask for |

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
