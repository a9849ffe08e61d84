//! `ct`: finds the charts that a branch changed, lints them and installs them, as chart-testing does.

mod charts;
mod config;
mod details;
mod git;
mod install;
mod lint;
mod schema;

use std::sync::Arc;

use config::Configuration;
use pintle_tree::quote::quote;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::run;
use crate::ui::Ui;

/// The version of chart-testing whose behavior this is.
const CT_VERSION: &str = "v3.14.0";

/// `ct`
pub(crate) static COMMAND: Command = Command {
    name: "ct",
    short: "lint and install the charts that a branch changed",
    long: "\
Lint and install charts in CI, as chart-testing does: those that the current branch changes, those that --charts names, or
all. Settings come from flags, from the environment (CT_TARGET_BRANCH=main), and from ct.yaml in the current directory, .ct,
.github, ~/.ct, /usr/local/etc/ct or /etc/ct. Only git is needed: style and schema checks are built in, and charts are
installed on the embedded cluster unless --real-cluster is given.",
    subcommands: &[&INSTALL, &LINT, &LINT_AND_INSTALL, &LIST_CHANGED, &VERSION],
    ..Command::BLANK
};

static LIST_CHANGED: Command = Command {
    name: "list-changed",
    aliases: &["ls-changed", "lsc"],
    short: "list the charts that the current branch changes",
    long: "List the directories of the charts that the current branch changes.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[COMMON],
    run: Some(list_changed),
    ..Command::BLANK
};

static LINT: Command = Command {
    name: "lint",
    short: "lint charts",
    long: "\
Check that the version of each chart is higher than on the target branch, Chart.yaml by a schema, the style of Chart.yaml and
values files, and the maintainers; run additional commands; and lint the chart with each of ci/*-values.yaml, or with
defaults.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[COMMON, SHARED, LINTING],
    run: Some(lint),
    ..Command::BLANK
};

static INSTALL: Command = Command {
    name: "install",
    short: "install and test charts",
    long: "\
Install each chart with each of ci/*-values.yaml, or with defaults, in a namespace of its own, run its tests, and uninstall it.
With --upgrade, also upgrade from the version of the target branch, unless the version says that the change is breaking.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[COMMON, SHARED, INSTALLING],
    run: Some(install),
    ..Command::BLANK
};

static LINT_AND_INSTALL: Command = Command {
    name: "lint-and-install",
    aliases: &["li"],
    short: "lint, install and test charts",
    long: "Lint charts as `{program} ct lint` does, and install those without problems as `{program} ct install` does.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[COMMON, SHARED, LINTING, INSTALLING],
    run: Some(lint_and_install),
    ..Command::BLANK
};

static VERSION: Command = Command {
    name: "version",
    short: "show the version of chart-testing whose behavior this is",
    long: "Show the version of chart-testing whose behavior this is.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(version),
    ..Command::BLANK
};

static COMMON: &[Flag] = &[
    Flag::text(names::CONFIG, "the configuration file"),
    Flag::text(names::REMOTE, "the git remote that has the target branch").or("origin"),
    Flag::text(names::TARGET_BRANCH, "the branch that charts are compared with").or("main"),
    Flag::text(names::SINCE, "the commit that is compared with the branch").or("HEAD"),
    Flag::list(names::CHART_DIRS, "directories with charts (default charts)"),
    Flag::list(names::EXCLUDED_CHARTS, "charts to leave out, by name"),
    Flag::switch(names::PRINT_CONFIG, "print the configuration to stderr; it may have passwords"),
    Flag::switch(names::EXCLUDE_DEPRECATED, "leave out charts that are deprecated"),
    Flag::switch(names::GITHUB_GROUPS, "print sections as groups of GitHub"),
    Flag::switch(names::USE_HELMIGNORE, "ignore changes of files that .helmignore names"),
];

static SHARED: &[Flag] = &[
    Flag::switch(names::ALL, "process all charts, without checking versions"),
    Flag::list(names::CHARTS, "process these charts, without checking versions"),
    Flag::list(names::CHART_REPOS, "repositories of dependencies, as name=url"),
    Flag::text(names::HELM_EXTRA_ARGS, "arguments for install, upgrade, test and uninstall, in one string"),
    Flag::text(names::HELM_LINT_EXTRA_ARGS, "arguments for lint, in one string"),
    Flag::list(names::HELM_REPO_EXTRA_ARGS, "arguments for repo add, as name=arguments"),
    Flag::list(names::HELM_DEPENDENCY_EXTRA_ARGS, "arguments for dependency build"),
];

static LINTING: &[Flag] = &[
    Flag::text(
        names::LINT_CONF,
        "the configuration of style checks, as yamllint has it (default lintconf.yaml)",
    ),
    Flag::text(
        names::CHART_YAML_SCHEMA,
        "the schema of Chart.yaml, as yamale has it (default chart_schema.yaml)",
    ),
    Flag::switch(names::VALIDATE_MAINTAINERS, "check that maintainers have accounts where the repository is")
        .or("true"),
    Flag::switch(names::CHECK_VERSION_INCREMENT, "check that versions are higher than on the target branch")
        .or("true"),
    Flag::switch(names::VALIDATE_CHART_SCHEMA, "check Chart.yaml by its schema").or("true"),
    Flag::switch(names::VALIDATE_YAML, "check the style of Chart.yaml and values files").or("true"),
    Flag::switch(names::SKIP_HELM_DEPENDENCIES, "do not build dependencies"),
    Flag::list(names::ADDITIONAL_COMMANDS, "commands to run for each chart; {{ .Path }} is its directory"),
];

static INSTALLING: &[Flag] = &[
    Flag::text(names::BUILD_ID, "an identifier for the names of namespaces"),
    Flag::switch(names::UPGRADE, "also test upgrades from the version of the target branch"),
    Flag::switch(names::SKIP_MISSING_VALUES, "skip upgrades with values files that the chart no longer has"),
    Flag::text(names::RELEASE_NAME, "the name of releases, where the chart is in the current directory"),
    Flag::text(names::RELEASE_LABEL, "the label by which objects of a release are found")
        .or("app.kubernetes.io/instance"),
    Flag::text(names::HELM_EXTRA_SET_ARGS, "values for install and upgrade, in one string"),
    Flag::switch(names::SKIP_CLEAN_UP, "keep releases and namespaces"),
    Flag::text(names::KUBECTL_TIMEOUT, "how long a request of kubectl may take, with --real-cluster")
        .or("30s"),
    Flag::switch(names::PRINT_LOGS, "print the logs of containers, with --real-cluster").or("true"),
    Flag::switch(names::REAL_CLUSTER, "install on the cluster of the kubeconfig instead of the embedded one"),
];

/// The state of a chart-testing run.
struct Testing<'i, 'u> {
    invocation: &'i mut Invocation<'u>,
    config: Arc<Configuration>,
    /// The working tree of the target branch, for upgrades.
    previous: Option<tempfile::TempDir>,
    /// The embedded cluster, for the whole run.
    cluster: Option<tempfile::TempDir>,
}

impl<'i, 'u> Testing<'i, 'u> {
    fn new(invocation: &'i mut Invocation<'u>) -> Result<Self, Failure> {
        let config = Arc::new(Configuration::load(invocation)?);
        for line in config.printed() {
            invocation.ui.note(&line);
        }
        let mut testing = Testing { invocation, config, previous: None, cluster: None };
        // chart-testing asks which Helm it calls; ours is built in.
        testing.show_call("helm", &["version", "--template", "{{ .Version }}"])?;
        Ok(testing)
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.invocation.ui.print(text)
    }

    /// Shows a call of a program, if that is wanted.
    fn show_call(&mut self, program: &str, arguments: &[&str]) -> Result<(), Failure> {
        if !self.config.debug {
            return Ok(());
        }
        self.print(&format!(">>> {program} {}\n", arguments.join(" ")))
    }

    /// Runs a command of this program as `helm`. The inner error is what chart-testing says about a process.
    fn helm(&mut self, words: Vec<String>) -> Result<Result<(), String>, Failure> {
        self.show_call("helm", &words.iter().map(String::as_str).collect::<Vec<_>>())?;
        self.invocation.ui.flush()?;
        let mut ui = Ui::new(Personality::Helm);
        let outcome = run::dispatch(Personality::Helm, "helm", &words, &mut ui);
        match outcome.and_then(|()| ui.flush()) {
            Ok(()) => Ok(Ok(())),
            Err(failure) => {
                // chart-testing merges Helm's standard error into its standard output.
                self.print(&format!("Error: {}\n", failure.text))?;
                Ok(Err("failed waiting for process: exit status 1".to_owned()))
            }
        }
    }
}

/// Why a program did not start, in Go's words.
fn not_started(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("exec: {}: executable file not found in $PATH", quote(program.as_bytes()))
        }
        std::io::ErrorKind::PermissionDenied => format!("fork/exec {program}: permission denied"),
        _ => format!("fork/exec {program}: {error}"),
    }
}

fn list_changed(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let mut testing = match Testing::new(invocation) {
        Ok(testing) => testing,
        Err(failure) => return Err(printed(invocation.ui, failure)),
    };
    let folders = match testing.changed_charts() {
        Ok(folders) => folders,
        Err(failure) => return Err(printed(testing.invocation.ui, failure)),
    };
    for folder in folders {
        testing.print(&format!("{folder}\n"))?;
    }
    Ok(())
}

fn lint(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    process(invocation, ("Linting", "linting", "linted"), &|testing, chart| testing.lint_chart(chart))
}

fn install(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    process(invocation, ("Installing", "installing", "installed"), &|testing, chart| {
        testing.install_chart(chart)
    })
}

fn lint_and_install(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let verbs = ("Linting and installing", "linting and installing", "linted and installed");
    process(invocation, verbs, &|testing, chart| match testing.lint_chart(chart)? {
        Ok(()) => testing.install_chart(chart),
        Err(error) => Ok(Err(error)),
    })
}

/// What an action did to a chart: done, or why the chart failed.
type Outcome = Result<Result<(), String>, Failure>;

/// A chart, and why it failed if it did.
type Tested = (charts::Chart, Result<(), String>);

type Action = dyn Fn(&mut Testing<'_, '_>, &charts::Chart) -> Outcome;

fn process(
    invocation: &mut Invocation<'_>,
    (title, doing, done): (&str, &str, &str),
    action: &Action,
) -> Result<(), Failure> {
    invocation.ui.print(&format!("{title} charts...\n"))?;
    let mut testing = match Testing::new(invocation) {
        Ok(testing) => testing,
        Err(failure) => return Err(printed(invocation.ui, failure)),
    };
    let outcome = testing.process_charts(action);
    testing.remove_previous();
    let (results, error) = match outcome {
        Ok(results) => (results, None),
        Err(failure) => (Vec::new(), Some(failure.text.clone())),
    };
    testing.print_results(&results)?;
    let failed = results.iter().any(|(_, result)| result.is_err());
    if let Some(error) = error.or_else(|| failed.then(|| "failed processing charts".to_owned())) {
        let failure = Failure::run_time(format!("failed {doing} charts: {error}"));
        return Err(printed(testing.invocation.ui, failure));
    }
    testing.print(&format!("All charts {done} successfully\n"))
}

/// Prints an error on both streams, as chart-testing does.
fn printed(ui: &mut Ui, failure: Failure) -> Failure {
    if ui.print(&format!("{}\n", failure.text)).and_then(|()| ui.flush()).is_ok() {
        ui.note(&format!("Error: {}", failure.text));
    }
    Failure::new(FailureKind::AlreadyReported, failure.text.clone())
}

fn version(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let program = concat!("pintle ", env!("CARGO_PKG_VERSION"));
    invocation.ui.print(&format!("Version:\t {CT_VERSION}\nProgram:\t {program}\nLicense:\t Apache 2.0\n"))
}
