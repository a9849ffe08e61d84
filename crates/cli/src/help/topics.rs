//! Topics of `pintle help`: what is about several commands.

use super::ours::{Page, environment_rows};
use super::wrap;
use crate::commands::ROOT;

/// A topic.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// One line about it.
    pub(crate) about: &'static str,
    pub(crate) text: &'static str,
}

/// All topics with a text.
pub(crate) const TOPICS: &[Topic] = &[
    Topic {
        name: "values",
        about: "how values are set, which source wins, and how to find out",
        text: VALUES,
    },
    Topic { name: "charts", about: "what a chart consists of, and where charts come from", text: CHARTS },
    Topic { name: "stores", about: "where releases are stored, and how to move them", text: STORES },
    Topic { name: "embedded", about: "working without a cluster", text: EMBEDDED },
    Topic { name: "permissions", about: "what scripts of charts and plugins may do", text: PERMISSIONS },
];

/// The text of a topic; `None` if there is none of this name.
pub(crate) fn text(name: &str, page: Page<'_>) -> Option<String> {
    Some(match name {
        "flags" => page.global_flags(),
        "environment" | "variables" => {
            let rows = environment_rows(ROOT.long);
            format!(
                "Environment variables; `pintle env` shows the resulting settings:\n\n{}",
                wrap::rows(&rows, page.width)
            )
        }
        "topics" => {
            let mut rows: Vec<(String, String)> = TOPICS
                .iter()
                .map(|topic| (format!("  pintle help {}", topic.name), topic.about.to_owned()))
                .collect();
            rows.push(("  pintle help flags".to_owned(), "the flags of all commands".to_owned()));
            rows.push(("  pintle help environment".to_owned(), "the environment variables".to_owned()));
            format!("Topics:\n{}", wrap::rows(&rows, page.width))
        }
        name => page.topic(TOPICS.iter().find(|topic| topic.name == name)?.text),
    })
}

const VALUES: &str = "\
Values fill the templates of a chart. They come from several sources; later ones win:

- values.yaml of the chart, and for a subchart that of the charts around it
- files given with -f, in their order
- --set-json, --set, --set-string, --set-file and --set-literal, in this order

Maps are merged key by key; lists and all other values are replaced as a whole. `null` removes a value.

Paths are written with dots. Commas separate assignments; a comma or a dot in a key or value is written with a backslash:

    pintle install web ./web --set image.tag=1.2,replicas=3
    pintle install web ./web --set 'hosts={a.example.com,b.example.com}'
    pintle install web ./web --set 'nodeSelector.kubernetes\\.io/os=linux'

Values of a subchart are below its name, and those below `global` reach all charts.

Where does a value come from, and who reads it?

    pintle values ./web -f prod.yaml --explain image.tag

A value that no template reads is reported, with the nearest key. `--allow-unread-values` is silent.";

const CHARTS: &str = "\
A chart is a folder, or an archive of it:

- Chart.yaml: name, version, dependencies
- values.yaml: the values that templates read, with their defaults
- values.schema.json: which values are allowed
- templates/: templates of Kubernetes objects; files that begin with _ only define templates for others
- templates/NOTES.txt: what users read after an install
- crds/: custom resource definitions, installed before everything else
- charts/: the dependencies
- ext/lua/: scripts that run at events of the lifecycle

Where commands take a chart, it can be a path, an archive, a URL, a reference to a registry, or a chart of a repository:

    pintle template ./web
    pintle install web oci://registry.example.com/charts/web --version 1.2.0
    pintle repo add bitnami https://charts.bitnami.com/bitnami
    pintle install db bitnami/postgresql

A name without a slash is a folder here: ./web and web are the same chart.";

const STORES: &str = "\
A release is stored with all its versions in the cluster, in its namespace. $HELM_DRIVER chooses how:

- native (the default): custom resources, of any size, without a limit of Secrets
- secret: Secrets, as Helm does
- configmap: ConfigMaps, as Helm does
- sql: a PostgreSQL database, as Helm does
- memory: nothing is stored; for tests

Releases that Helm has installed are seen and upgraded where they are. `pintle adopt` moves them into another store:

    pintle adopt web
    pintle adopt web --to secret

Administrators install the custom resource definitions of the native store once, with `pintle init`.";

const EMBEDDED: &str = "\
`--cluster embedded` uses a Kubernetes API server inside the program instead of a real cluster: it checks, defaults and stores
objects as a real one does, and simulates Pods. Nothing has to be installed, and nothing runs afterwards.

    pintle install web ./web --cluster embedded

With a file, the cluster is kept between commands:

    pintle install web ./web --cluster embedded:dev.db
    pintle upgrade web ./web --cluster embedded:dev.db --set replicas=3
    pintle list --cluster embedded:dev.db

$PINTLE_CLUSTER sets the flag for all commands. `pintle cluster serve` lets kubectl and other programs use such a cluster, and
`pintle rehearse` runs the whole lifecycle of a chart on a fresh one.";

const PERMISSIONS: &str = "\
Charts may contain scripts, and plugins may be scripts or WebAssembly. They run in a sandbox, and can change values and objects
only. For more they need permissions, which you are asked for:

- network: connections to public addresses
- filesystem: files below one folder
- os: the environment, and programs

See what a chart asks for before it is installed, and answer in advance:

    pintle show permissions ./web
    pintle install web ./web --accept-perms network
    pintle install web ./web --skip-scripts

`--yes` grants all. `pintle lua grants` shows what was granted, and `pintle plugin grant` grants permissions to plugins.";
