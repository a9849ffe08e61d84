//! Groups of flags that several commands share.

use super::{Flag, FlagCompletion, Kind};
use crate::env::Setting;

const COLORS: FlagCompletion = FlagCompletion::Words(&["never", "auto", "always"]);

/// The global flags.
pub(crate) static GLOBAL: &[Flag] = &[
    Flag::text("namespace", "the namespace to work in")
        .short('n')
        .or_setting(Setting::Namespace)
        .completes(FlagCompletion::Namespaces),
    Flag::text("kubeconfig", "the kubeconfig file to use"),
    Flag::text("kube-context", "the context of the kubeconfig to use")
        .or_setting(Setting::KubeContext)
        .completes(FlagCompletion::Contexts),
    Flag::text("cluster", "embedded, or embedded:FILE, to use the embedded cluster instead of a real one")
        .or_setting(Setting::Cluster)
        .completes(FlagCompletion::Words(&["embedded"])),
    Flag::text("kube-token", "the bearer token to present to the cluster").or_setting(Setting::KubeToken),
    Flag::text("kube-as-user", "the user to act as in the cluster").or_setting(Setting::KubeAsUser),
    Flag::array("kube-as-group", "a group to act as in the cluster; may be repeated")
        .or_setting(Setting::KubeAsGroups),
    Flag::text("kube-apiserver", "address and port of the Kubernetes API server")
        .or_setting(Setting::KubeApiServer),
    Flag::text("kube-ca-file", "the CA bundle of the API server").or_setting(Setting::KubeCaFile),
    Flag::text("kube-tls-server-name", "the server name to verify in the API server's certificate")
        .or_setting(Setting::KubeTlsServerName),
    Flag::switch("kube-insecure-skip-tls-verify", "skip the certificate check of the API server (insecure)")
        .or_setting(Setting::KubeInsecure),
    Flag::switch("debug", "enable verbose output").or_setting(Setting::Debug),
    Flag::text("registry-config", "the file with credentials for registries")
        .or_setting(Setting::RegistryConfig),
    Flag::text("repository-config", "the file with names and URLs of chart repositories")
        .or_setting(Setting::RepositoryConfig),
    Flag::text("repository-cache", "the directory of cached repository indexes")
        .or_setting(Setting::RepositoryCache),
    Flag::text("content-cache", "the directory of cached charts").or_setting(Setting::ContentCache),
    Flag::of("burst-limit", Kind::Int, "100", "the client-side burst limit of requests to the API server")
        .or_setting(Setting::BurstLimit),
    Flag::of("qps", Kind::Float32, "0", "queries per second to the API server, without bursting")
        .or_setting(Setting::Qps),
    Flag::text("color", "use colored output: never, auto or always")
        .or_setting(Setting::Color)
        .completes(COLORS),
    Flag::text("colour", "use colored output: never, auto or always")
        .or_setting(Setting::Color)
        .completes(COLORS),
    // The flags of klog, the Kubernetes client's logger. They have no effect and are accepted because Helm does.
    Flag::switch("add-dir-header", "").hidden(),
    Flag::switch("alsologtostderr", "").hidden(),
    Flag::text("alsologtostderrthreshold", "").hidden(),
    Flag::switch("legacy-stderr-threshold-behavior", "").or("true").hidden(),
    Flag::text("log-backtrace-at", "").hidden(),
    Flag::text("log-dir", "").hidden(),
    Flag::text("log-file", "").hidden(),
    Flag::of("log-file-max-size", Kind::Uint, "1800", "").hidden(),
    Flag::switch("logtostderr", "").or("true").hidden(),
    Flag::switch("one-output", "").hidden(),
    Flag::switch("skip-headers", "").hidden(),
    Flag::switch("skip-log-headers", "").hidden(),
    Flag::text("stderrthreshold", "").hidden(),
    Flag::of("v", Kind::Int, "0", "").short('v').hidden(),
    Flag::text("vmodule", "").hidden(),
];

/// Flags for the values of a chart.
pub(crate) static VALUES: &[Flag] = &[
    Flag::list("values", "a file of values in YAML, or - for standard input; may be repeated").short('f'),
    Flag::array("set", "set values by path, with types inferred: a.b=1,c=x; may be repeated"),
    Flag::array("set-string", "set string values by path: a.b=1,c=x; may be repeated"),
    Flag::array(
        "set-file",
        "set values by path from the content of files: a.b=file,c=other; may be repeated",
    ),
    Flag::array(
        "set-json",
        "set values as JSON, by path (a.b={\"c\":1}) or as a whole object; may be repeated",
    ),
    Flag::array(
        "set-literal",
        "set one value by path, with everything after = taken literally; may be repeated",
    ),
];

/// Flags to locate a chart.
pub(crate) static CHART: &[Flag] = &[
    Flag::text("version", "the version of the chart, or a range such as ^2.0.0; without it, the newest")
        .completes(FlagCompletion::ChartVersions),
    Flag::switch("verify", "verify the signature of the chart before using it"),
    Flag::text("keyring", "the file of public keys for --verify").or_setting(Setting::Keyring),
    Flag::text("repo", "the URL of the repository that has the chart"),
    Flag::switch("pass-credentials", "send credentials to every host, not just the repository's"),
    Flag::switch(
        "insecure-skip-digest",
        "accept an archive whose digest differs from the one in the repository's index",
    ),
];

/// Flags for connections to repositories and registries.
pub(crate) static REMOTE: &[Flag] = &[
    Flag::text("username", "the user name for the repository or registry"),
    Flag::text("password", "the password for the repository or registry"),
    Flag::text("cert-file", "the client certificate to present over TLS"),
    Flag::text("key-file", "the key of the client certificate"),
    Flag::switch("insecure-skip-tls-verify", "skip TLS certificate checks for the chart download (insecure)"),
    Flag::switch("plain-http", "use plain HTTP to download charts"),
    Flag::text("ca-file", "verify certificates of HTTPS servers with this CA bundle"),
];

/// Includes pre-releases.
pub(crate) static DEVEL: &[Flag] = &[Flag::switch(
    "devel",
    "include pre-releases, as --version '>0.0.0-0' does; ignored if --version is set",
)];

/// Disables the validation of values.
pub(crate) static SCHEMA: &[Flag] =
    &[Flag::switch("skip-schema-validation", "skip JSON schema validation of values")];

/// Allows objects that look like release records.
pub(crate) static RECORDS: &[Flag] = &[Flag::switch(
    "allow-release-records",
    "allow the chart to contain objects that look like release records",
)];

/// Flags of post-renderers.
pub(crate) static POST_RENDER: &[Flag] = &[
    Flag::of(
        "post-renderer",
        Kind::PostRenderer,
        "",
        "a plugin, the path of a program, or a program on $PATH that changes the rendered objects",
    ),
    Flag::of(
        "post-renderer-args",
        Kind::PostRendererArgument,
        "[]",
        "an argument for the post-renderer; may be repeated",
    ),
    Flag::text(
        "post-renderer-strategy",
        "how hooks are post-rendered: combined with other objects, separate, or nohooks as in Helm 3",
    )
    .or("combined")
    .completes(FlagCompletion::Words(&["combined", "separate", "nohooks"])),
];
