//! Help, and all ways to ask for it.

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

#[test]
fn help_has_cobras_layout() {
    assert_snapshot!(TestEnv::new().helm("version --help"), @r#"
    exit 0
    --- stdout
    Print the version.

    When called as `helm`, the output has the format of Helm's, which other tools parse.

    With --template, the fields Version, GitCommit, GitTreeState, GoVersion and KubeClientVersion are available:

        helm version --template '{{.Version}}'

    Usage:
      helm version [flags]

    Flags:
      -h, --help              help for version
          --short             print only the version number
          --template string   a Go template for the output

    Global Flags:
          --burst-limit int                 the client-side burst limit of requests to the API server (default 100)
          --cluster string                  embedded, or embedded:FILE, to use the embedded cluster instead of a real one
          --color string                    use colored output: never, auto or always (default "auto")
          --colour string                   use colored output: never, auto or always (default "auto")
          --content-cache string            the directory of cached charts (default "{here}/.cache/helm/content")
          --debug                           enable verbose output
          --kube-apiserver string           address and port of the Kubernetes API server
          --kube-as-group stringArray       a group to act as in the cluster; may be repeated
          --kube-as-user string             the user to act as in the cluster
          --kube-ca-file string             the CA bundle of the API server
          --kube-context string             the context of the kubeconfig to use
          --kube-insecure-skip-tls-verify   skip the certificate check of the API server (insecure)
          --kube-tls-server-name string     the server name to verify in the API server's certificate
          --kube-token string               the bearer token to present to the cluster
          --kubeconfig string               the kubeconfig file to use
      -n, --namespace string                the namespace to work in
          --qps float32                     queries per second to the API server, without bursting
          --registry-config string          the file with credentials for registries (default "{here}/.config/helm/registry/config.json")
          --repository-cache string         the directory of cached repository indexes (default "{here}/.cache/helm/repository")
          --repository-config string        the file with names and URLs of chart repositories (default "{here}/.config/helm/repositories.yaml")
    "#);
}

#[test]
fn all_ways_to_ask_for_help_print_the_same() {
    let env = TestEnv::new();
    let want = env.pintle("help completion bash");
    for line in
        ["completion bash -h", "completion bash --help", "-n x completion bash --no-descriptions --help"]
    {
        assert_eq!(env.pintle(line), want, "{line}");
    }
    assert_eq!(env.pintle(""), env.pintle("--help"));
    assert_eq!(env.helm("completion"), env.helm("completion nonsense"));
}

#[test]
fn an_unknown_topic_gets_the_list_of_commands() {
    let text = TestEnv::new().helm("help no such");
    assert!(
        text.starts_with("exit 0\n--- stderr\nUnknown help topic [`no` `such`]\nUsage:\n  helm [command]\n"),
        "{text}"
    );
}

#[test]
fn the_help_of_install_explains_the_logs_of_hooks() {
    let shown = TestEnv::new().pintle("install --help");
    for part in ["helm.sh/hook-output-log-policy is hook-failed, hook-succeeded or both", "--no-log-output"] {
        assert!(shown.contains(part), "{shown}");
    }
}
