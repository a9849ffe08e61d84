//! `create`: creates a new chart.

use std::path::{Path, PathBuf};

use pintle::ops::{CreateFromRequest, CreateRequest, Generation, Scaffold};

use crate::clock;
use crate::command::{ArgCompletion, Command, Operands};
use crate::env::Home;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::path::{base, directory};
use crate::personality::Personality;
use crate::report::Reporting;
use crate::request;
use crate::scripts::{self, SCRIPTS};

/// `create NAME`
pub(crate) static COMMAND: Command =
    Command { long: LONG, flags: &[FLAGS, OWN, SCRIPTS], as_helm: Some(&AS_HELM), ..BASE };

/// The same under Helm's name, where existing files are always overwritten.
static AS_HELM: Command = Command { long: HELM_LONG, flags: &[FLAGS, SCRIPTS], ..BASE };

const BASE: Command = Command {
    name: "create",
    operands_text: "NAME",
    short: "create a new chart",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::FirstFile,
    run: Some(run),
    ..Command::BLANK
};

const LONG: &str = "\
Create a directory with a working chart to start from:

    NAME/
    ├── .helmignore          patterns of files to leave out of archives
    ├── Chart.yaml           the metadata of the chart
    ├── README.md            the values, as docs writes them
    ├── values.yaml          the default values, documented
    ├── values.schema.json   what values may be, as schema derive writes it
    ├── charts/              the dependencies of the chart
    ├── ci/                  values for check, rehearse and ct
    ├── templates/           the templates of its objects
    │   └── tests/           the templates of what test runs in the cluster
    └── tests/               unit tests, for unittest

With --from, the chart is made from manifests, for example from `kubectl get deployment,service web -o yaml`: images,
replicas, resources, ports, environment variables and settings become values, and what the server has added is left out.
Its templates are rendered and compared with the manifests before anything is written.

With --chart-api-version helm.sh/v3, Chart.yaml is written as a Kubernetes object of the kind Chart. Helm cannot read it.

NAME may be a path whose last part is the name of the chart. A directory that has a chart already is left alone, unless
--force is set: then its files of the same names are overwritten, and others are kept.";

const HELM_LONG: &str = "\
Create a directory with a working chart to start from:

    NAME/
    ├── .helmignore   patterns of files to leave out of archives
    ├── Chart.yaml    the metadata of the chart
    ├── values.yaml   the default values
    ├── charts/       the dependencies of the chart
    └── templates/    the templates of its objects
        └── tests/    the templates of its tests

With --chart-api-version helm.sh/v3, Chart.yaml is written as a Kubernetes object of the kind Chart. Helm cannot read it.

NAME may be a path whose last part is the name of the chart. Existing files of the same names are overwritten with a
warning; other files are kept.";

static FLAGS: &[Flag] = &[
    Flag::text(names::STARTER, "the chart to start from: a name in the starters folder, or an absolute path")
        .short('p'),
    Flag::text(names::CHART_API_VERSION, "the API version of the chart: v2, v3 or helm.sh/v3")
        .or("v2")
        .completes(FlagCompletion::Words(&["v2", "v3", "helm.sh/v3"]))
        .hidden(),
    Flag::switch(names::LUA, "include a script with lifecycle event handlers"),
];

static OWN: &[Flag] = &[
    Flag::switch(names::FORCE, "overwrite the files of a chart that exists already"),
    Flag::list(
        names::FROM_MANIFESTS,
        "make the chart from manifests: files, directories, or - for standard input; may be repeated",
    ),
];

/// The variable that enables Helm's experimental v3 charts.
const V3_FEATURE_GATE: &str = "HELM_EXPERIMENTAL_CHART_V3";

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let name = invocation.operand(0).to_owned();
    if invocation.personality == Personality::Pintle && !invocation.flags.on(names::FORCE) {
        refuse_existing(&name)?;
    }
    if invocation.personality == Personality::Pintle
        && !invocation.flags.list(names::FROM_MANIFESTS).is_empty()
    {
        return from_manifests(invocation, &name);
    }
    invocation.ui.print(&format!("Creating {name}\n"))?;
    let generation = generation(invocation)?;
    let request = CreateRequest {
        folder: PathBuf::from(directory(&name)),
        name: base(&name).to_owned(),
        starter: starter(invocation),
        now: clock::now(),
        scripts: invocation.flags.on(names::LUA),
        generation,
        scaffold: match invocation.personality {
            Personality::Helm => Scaffold::Minimal,
            Personality::Pintle => Scaffold::Complete,
        },
    };
    let session = scripts::offline_session(invocation)?;
    pintle::ops::create(&session, &request, &mut Reporting::new(invocation.ui))?;
    if invocation.personality == Personality::Pintle {
        let path = if name.contains('/') { name } else { format!("./{name}") };
        invocation.ui.note(&format!(
            "next: `pintle template {path}` renders it, `pintle check {path}` and `pintle unittest {path}` check it, and\n      \
             `pintle install demo {path} --cluster embedded` tries it without a cluster"
        ));
    }
    Ok(())
}

/// `create NAME --from`
fn from_manifests(invocation: &mut Invocation<'_>, name: &str) -> Result<(), Failure> {
    for (flag, is_set) in [
        (names::STARTER.as_str(), !invocation.flags.text(names::STARTER).is_empty()),
        (names::LUA.as_str(), invocation.flags.on(names::LUA)),
    ] {
        if is_set {
            return Err(Failure::usage(format!("--from and --{flag} cannot be used together")));
        }
    }
    let request = CreateFromRequest {
        folder: PathBuf::from(directory(name)),
        name: base(name).to_owned(),
        manifests: request::manifests(invocation, names::FROM_MANIFESTS)?,
    };
    let made = pintle::ops::create_from(&request)?;
    let crds = match made.crds {
        0 => String::new(),
        1 => " and 1 CRD".to_owned(),
        count => format!(" and {count} CRDs"),
    };
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    invocation.ui.print(&format!(
        "Created {name} from {}{crds}, with {}; its templates render to the same objects\n",
        plural(made.objects, "object"),
        plural(made.values, "value"),
    ))?;
    for note in &made.notes {
        invocation.ui.note(&format!("note: {note}"));
    }
    Ok(())
}

/// A chart that exists is not overwritten by mistake.
fn refuse_existing(name: &str) -> Result<(), Failure> {
    let folder = Path::new(name);
    let has = ["Chart.yaml", "values.yaml", "templates"].into_iter().find(|file| folder.join(file).exists());
    match has {
        None => Ok(()),
        Some(file) => Err(Failure::usage(format!("`{name}` exists already, and has {file}"))
            .hint("choose another name, or overwrite its files with `--force`")),
    }
}

/// The starter chart: in the starters directory, unless its path is absolute.
fn starter(invocation: &Invocation<'_>) -> Option<PathBuf> {
    match invocation.flags.text(names::STARTER) {
        "" => None,
        path if Path::new(path).is_absolute() => Some(PathBuf::from(path)),
        name => Some(PathBuf::from(invocation.environment.home(Home::Data, &format!("starters/{name}")))),
    }
}

fn generation(invocation: &Invocation<'_>) -> Result<Generation, Failure> {
    let enabled = || invocation.environment.variable(V3_FEATURE_GATE).is_some_and(|text| !text.is_empty());
    match invocation.flags.text(names::CHART_API_VERSION) {
        "v2" | "" => Ok(Generation::V2),
        "helm.sh/v3" if invocation.personality == Personality::Pintle => Ok(Generation::Object),
        "v3" if enabled() => Ok(Generation::V3),
        "v3" => Err(Failure::usage(format!(
            "this feature has been marked as experimental and is not enabled by default. Please set {V3_FEATURE_GATE}=1 \
             in your environment to use this feature",
        ))
        .with_pintle_text("charts of API version v3 are experimental in Helm, and cannot be installed yet")
        .hint(format!("leave --chart-api-version out to create a v2 chart, or set {V3_FEATURE_GATE}=1"))),
        other => Err(Failure::usage(format!("unsupported chart API version: {other} (supported: v2, v3)"))
            .with_pintle_text(format!(
                "unsupported chart API version: {other} (supported: v2, v3, helm.sh/v3)"
            ))),
    }
}
