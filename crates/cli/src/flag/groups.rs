//! Groups of flags that several commands share.

use super::{Flag, FlagCompletion, Kind, names};
use crate::env::Setting;

const COLORS: FlagCompletion = FlagCompletion::Words(&["never", "auto", "always"]);

/// The global flags.
pub(crate) static GLOBAL: &[Flag] = &[
    Flag::text(names::NAMESPACE, "the namespace to work in")
        .short('n')
        .or_setting(Setting::Namespace)
        .completes(FlagCompletion::Namespaces),
    Flag::text(names::KUBECONFIG, "the kubeconfig file to use"),
    Flag::text(names::KUBE_CONTEXT, "the context of the kubeconfig to use")
        .or_setting(Setting::KubeContext)
        .completes(FlagCompletion::Contexts),
    Flag::text(
        names::CLUSTER,
        "embedded, or embedded:FILE, to use the embedded cluster instead of a real one",
    )
    .or_setting(Setting::Cluster)
    .completes(FlagCompletion::Words(&["embedded"])),
    Flag::text(names::KUBE_TOKEN, "the bearer token to present to the cluster")
        .or_setting(Setting::KubeToken),
    Flag::text(names::KUBE_AS_USER, "the user to act as in the cluster").or_setting(Setting::KubeAsUser),
    Flag::array(names::KUBE_AS_GROUP, "a group to act as in the cluster; may be repeated")
        .or_setting(Setting::KubeAsGroups),
    Flag::text(names::KUBE_APISERVER, "address and port of the Kubernetes API server")
        .or_setting(Setting::KubeApiServer),
    Flag::text(names::KUBE_CA_FILE, "the CA bundle of the API server").or_setting(Setting::KubeCaFile),
    Flag::text(names::KUBE_TLS_SERVER_NAME, "the server name to verify in the API server's certificate")
        .or_setting(Setting::KubeTlsServerName),
    Flag::switch(
        names::KUBE_INSECURE_SKIP_TLS_VERIFY,
        "skip the certificate check of the API server (insecure)",
    )
    .or_setting(Setting::KubeInsecure),
    Flag::switch(names::DEBUG, "enable verbose output").or_setting(Setting::Debug),
    Flag::text(names::REGISTRY_CONFIG, "the file with credentials for registries")
        .or_setting(Setting::RegistryConfig),
    Flag::text(names::REPOSITORY_CONFIG, "the file with names and URLs of chart repositories")
        .or_setting(Setting::RepositoryConfig),
    Flag::text(names::REPOSITORY_CACHE, "the directory of cached repository indexes")
        .or_setting(Setting::RepositoryCache),
    Flag::text(names::CONTENT_CACHE, "the directory of cached charts").or_setting(Setting::ContentCache),
    Flag::of(
        names::BURST_LIMIT,
        Kind::Int,
        "100",
        "the client-side burst limit of requests to the API server",
    )
    .or_setting(Setting::BurstLimit),
    Flag::of(names::QPS, Kind::Float32, "0", "queries per second to the API server, without bursting")
        .or_setting(Setting::Qps),
    Flag::text(names::COLOR_TEXT, "use colored output: never, auto or always")
        .or_setting(Setting::Color)
        .completes(COLORS),
    Flag::text(names::COLOUR, "use colored output: never, auto or always")
        .or_setting(Setting::Color)
        .completes(COLORS),
    // The flags of klog, the Kubernetes client's logger. They have no effect and are accepted because Helm does.
    Flag::switch(names::ADD_DIR_HEADER, "").hidden(),
    Flag::switch(names::ALSOLOGTOSTDERR, "").hidden(),
    Flag::text(names::ALSOLOGTOSTDERRTHRESHOLD, "").hidden(),
    Flag::switch(names::LEGACY_STDERR_THRESHOLD_BEHAVIOR, "").or("true").hidden(),
    Flag::text(names::LOG_BACKTRACE_AT, "").hidden(),
    Flag::text(names::LOG_DIR, "").hidden(),
    Flag::text(names::LOG_FILE, "").hidden(),
    Flag::of(names::LOG_FILE_MAX_SIZE, Kind::Uint, "1800", "").hidden(),
    Flag::switch(names::LOGTOSTDERR, "").or("true").hidden(),
    Flag::switch(names::ONE_OUTPUT, "").hidden(),
    Flag::switch(names::SKIP_HEADERS, "").hidden(),
    Flag::switch(names::SKIP_LOG_HEADERS, "").hidden(),
    Flag::text(names::STDERRTHRESHOLD, "").hidden(),
    Flag::of(names::V, Kind::Int, "0", "").short('v').hidden(),
    Flag::text(names::VMODULE, "").hidden(),
];

/// Flags for the values of a chart.
pub(crate) static VALUES: &[Flag] = &[
    Flag::list(names::VALUES, "a file of values in YAML, or - for standard input; may be repeated")
        .short('f'),
    Flag::array(names::SET, "set values by path, with types inferred: a.b=1,c=x; may be repeated")
        .completes(FlagCompletion::ValuePaths),
    Flag::array(names::SET_STRING, "set string values by path: a.b=1,c=x; may be repeated")
        .completes(FlagCompletion::ValuePaths),
    Flag::array(
        names::SET_FILE,
        "set values by path from the content of files: a.b=file,c=other; may be repeated",
    ),
    Flag::array(
        names::SET_JSON,
        "set values as JSON, by path (a.b={\"c\":1}) or as a whole object; may be repeated",
    ),
    Flag::array(
        names::SET_LITERAL,
        "set one value by path, with everything after = taken literally; may be repeated",
    ),
];

/// Flags to locate a chart.
pub(crate) static CHART: &[Flag] = &[
    Flag::text(names::VERSION, "the version of the chart, or a range such as ^2.0.0; without it, the newest")
        .completes(FlagCompletion::ChartVersions),
    Flag::of(
        names::VERIFY,
        Kind::Verification,
        "false",
        "verify the signature of the chart before using it; =cosign for charts of registries that cosign signed",
    )
    .bare("true"),
    Flag::text(names::KEYRING, "the file of public keys for --verify").or_setting(Setting::Keyring),
    Flag::text(names::REPO, "the URL of the repository that has the chart"),
    Flag::switch(names::PASS_CREDENTIALS, "send credentials to every host, not just the repository's"),
    Flag::switch(
        names::INSECURE_SKIP_DIGEST,
        "accept an archive whose digest differs from the one in the repository's index",
    ),
];

/// Flags for signatures of cosign.
pub(crate) static COSIGN: &[Flag] = &[
    Flag::text(names::KEY, "the public key of cosign to verify a chart in a registry with"),
    Flag::text(names::CERTIFICATE_IDENTITY, "who must have signed with cosign: an e-mail address or a URL"),
    Flag::text(names::CERTIFICATE_IDENTITY_REGEXP, "the same as a regular expression"),
    Flag::text(
        names::CERTIFICATE_OIDC_ISSUER,
        "who must vouch for --certificate-identity: the URL of an issuer",
    ),
    Flag::text(names::CERTIFICATE_OIDC_ISSUER_REGEXP, "the same as a regular expression"),
    Flag::text(names::TRUSTED_ROOT, "the file of authorities and logs to trust (trusted_root.json)"),
];

/// Flags for connections to repositories and registries.
pub(crate) static REMOTE: &[Flag] = &[
    Flag::text(names::USERNAME, "the user name for the repository or registry"),
    Flag::text(names::PASSWORD, "the password for the repository or registry"),
    Flag::text(names::CERT_FILE, "the client certificate to present over TLS"),
    Flag::text(names::KEY_FILE, "the key of the client certificate"),
    Flag::switch(
        names::INSECURE_SKIP_TLS_VERIFY,
        "skip TLS certificate checks for the chart download (insecure)",
    ),
    Flag::switch(names::PLAIN_HTTP, "use plain HTTP to download charts"),
    Flag::text(names::CA_FILE, "verify certificates of HTTPS servers with this CA bundle"),
];

/// Includes pre-releases.
pub(crate) static DEVEL: &[Flag] = &[Flag::switch(
    names::DEVEL,
    "include pre-releases, as --version '>0.0.0-0' does; ignored if --version is set",
)];

/// Disables the validation of values.
pub(crate) static SCHEMA: &[Flag] =
    &[Flag::switch(names::SKIP_SCHEMA_VALIDATION, "skip JSON schema validation of values")];

/// What a table shows.
pub(crate) static TABLE: &[Flag] = &[
    Flag::text(names::SORT_BY, "sort the table by a column, such as name, updated or status")
        .completes(FlagCompletion::Nothing),
    Flag::list(names::COLUMNS, "show these columns of the table only, such as name,status")
        .completes(FlagCompletion::Nothing),
];

/// Disables the warnings about values without effect.
pub(crate) static UNREAD: &[Flag] = &[Flag::switch(
    names::ALLOW_UNREAD_VALUES,
    "do not warn of values that no template reads, and of keys that are set twice",
)];

/// Allows objects that look like release records.
pub(crate) static RECORDS: &[Flag] = &[Flag::switch(
    names::ALLOW_RELEASE_RECORDS,
    "allow the chart to contain objects that look like release records",
)];

/// Flags of post-renderers.
pub(crate) static POST_RENDER: &[Flag] = &[
    Flag::of(
        names::POST_RENDERER,
        Kind::PostRenderer,
        "",
        "a plugin, the path of a program, or a program on $PATH that changes the rendered objects",
    ),
    Flag::of(
        names::POST_RENDERER_ARGS,
        Kind::PostRendererArgument,
        "[]",
        "an argument for the post-renderer; may be repeated",
    ),
    Flag::text(
        names::POST_RENDERER_STRATEGY,
        "how hooks are post-rendered: combined with other objects, separate, or nohooks as in Helm 3",
    )
    .or("combined")
    .completes(FlagCompletion::Words(&["combined", "separate", "nohooks"])),
];
