//! `dependency add` and `dependency upgrade`: change what Chart.yaml asks for, and fetch it.

use pintle::chart::metadata::Dependency;
use pintle::ops::{AddDependencyRequest, UpgradeDependencyRequest, add_dependency, upgrade_dependency};
use pintle::repo::{self, ChartQuery};
use pintle::{Error, RemoteError};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::{DEPENDENCIES, Failure};
use crate::flag::groups::{DEVEL, REMOTE};
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, Name, names};
use crate::invocation::Invocation;
use crate::path::clean;
use crate::report::Reporting;
use crate::{dependencies, remote};

pub(super) static ADD: Command = Command {
    name: "add",
    operands_text: "REFERENCE [CHART]",
    short: "add a dependency to Chart.yaml and fetch it",
    long: "\
Add a chart to the dependencies in Chart.yaml, and update charts/ and Chart.lock. Without --version, the newest version
is looked up, and the range is ^ and this version. CHART is the current folder if not given.

    {program} dependency add bitnami/redis
    {program} dependency add oci://registry.example.com/charts/redis ./web --alias cache
    {program} dependency add redis --repo https://charts.example.com --version ~1.2",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::RemoteChart,
    flags: &[OWN, DEVEL, REMOTE],
    run: Some(add),
    ..Command::BLANK
};

pub(super) static UPGRADE: Command = Command {
    name: "upgrade",
    operands_text: "NAME [CHART]",
    short: "raise the version of a dependency in Chart.yaml and fetch it",
    long: "\
Set the version of a dependency in Chart.yaml to the newest one, and update charts/ and Chart.lock. The kind of the range
is kept: ^1.2.0 becomes ^2.0.0, and 1.2.0 becomes 2.0.0. NAME is the name or the alias of a dependency. CHART is the
current folder if not given.

    {program} dependency upgrade redis ./web",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NoFiles,
    flags: &[DEVEL, REMOTE],
    run: Some(upgrade),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::VERSION, "the version or the range of versions")
        .completes(FlagCompletion::ChartVersions),
    Flag::text(names::REPO, "the URL of the repository that has the chart"),
    Flag::text(names::ALIAS, "the name of the chart inside of this chart"),
    Flag::text(names::CONDITION, "the path of the value that enables the chart"),
];

/// The folder of the chart, which is the last operand.
fn folder(invocation: &Invocation<'_>) -> Result<String, Failure> {
    match &invocation.flags.operands[..] {
        [_] => Ok(".".to_owned()),
        [_, folder] => Ok(clean(folder)),
        operands => Err(Failure::usage(format!("{} arguments are too many", operands.len()))
            .hint(format!("usage: {}", invocation.command_path.usage_line()))),
    }
}

fn add(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let chart = folder(invocation)?;
    let flags = &invocation.flags;
    let text = |name: Name<String>| flags.text(name).to_owned();
    let request = AddDependencyRequest {
        query: ChartQuery {
            reference: invocation.operand(0).to_owned(),
            repo_url: text(names::REPO),
            ..newest(flags)
        },
        dependency: Dependency {
            version: text(names::VERSION),
            alias: text(names::ALIAS),
            condition: text(names::CONDITION),
            ..Dependency::default()
        },
        target: dependencies::request(invocation, chart.into())?,
    };
    let program = invocation.personality.program();
    run_offline(add_dependency(&request, &mut Reporting::new(invocation.ui))).map_err(|error| {
        let hint = match &error {
            Error::Remote(error) => match &**error {
                RemoteError::DependencyNotAdded { name, .. } => Some(format!(
                    "`{program} dependency upgrade {name}` raises its version; --alias adds it a second time"
                )),
                RemoteError::Repo(repo::Error::UnknownRepository { .. }) => Some(DEPENDENCIES.to_owned()),
                _ => None,
            },
            _ => None,
        };
        let failure = Failure::from(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

/// A query for the newest version, whatever version is given.
fn newest(flags: &Parsed) -> ChartQuery {
    ChartQuery { version: remote::devel(flags).to_owned(), ..remote::wanted(flags, "") }
}

fn upgrade(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let chart = folder(invocation)?;
    let request = UpgradeDependencyRequest {
        name: invocation.operand(0).to_owned(),
        query: newest(&invocation.flags),
        target: dependencies::request(invocation, chart.into())?,
    };
    Ok(run_offline(upgrade_dependency(&request, &mut Reporting::new(invocation.ui)))?)
}
