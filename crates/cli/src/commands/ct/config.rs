//! Settings of chart-testing: flags, then the environment, then ct.yaml, then defaults.

use std::path::Path;

use pintle_tree::{Map, Node};

use super::charts::{of_go_yaml, opening};
use crate::failure::Failure;
use crate::flag::{Name, names};
use crate::invocation::Invocation;

/// The directories in which configuration files are searched.
const LOCATIONS: [&str; 6] = [".", ".ct", ".github", "~/.ct", "/usr/local/etc/ct", "/etc/ct"];

#[derive(Debug, Default)]
pub(super) struct Configuration {
    pub(super) remote: String,
    pub(super) target_branch: String,
    pub(super) since: String,
    pub(super) build_id: String,
    pub(super) lint_conf: Option<String>,
    pub(super) chart_yaml_schema: Option<String>,
    pub(super) validate_maintainers: bool,
    pub(super) validate_chart_schema: bool,
    pub(super) validate_yaml: bool,
    pub(super) skip_helm_dependencies: bool,
    pub(super) additional_commands: Vec<String>,
    pub(super) check_version_increment: bool,
    pub(super) all: bool,
    pub(super) charts: Vec<String>,
    pub(super) chart_repos: Vec<String>,
    pub(super) chart_dirs: Vec<String>,
    pub(super) excluded_charts: Vec<String>,
    pub(super) helm_extra_args: String,
    pub(super) helm_extra_set_args: String,
    pub(super) helm_lint_extra_args: String,
    pub(super) helm_repo_extra_args: Vec<String>,
    pub(super) helm_dependency_extra_args: Vec<String>,
    pub(super) debug: bool,
    pub(super) upgrade: bool,
    pub(super) skip_missing_values: bool,
    pub(super) skip_clean_up: bool,
    pub(super) namespace: String,
    pub(super) release_name: String,
    pub(super) release_label: String,
    pub(super) exclude_deprecated: bool,
    pub(super) kubectl_timeout: String,
    pub(super) print_logs: bool,
    pub(super) github_groups: bool,
    pub(super) use_helmignore: bool,
    pub(super) real_cluster: bool,
    notes: Vec<String>,
}

/// Where settings come from.
struct Sources<'a> {
    invocation: &'a Invocation<'a>,
    file: Map<Node>,
}

impl Configuration {
    pub(super) fn load(invocation: &Invocation<'_>) -> Result<Self, Failure> {
        let (used, file) = read_file(invocation)?;
        let sources = Sources { invocation, file };
        let (text, on, list) =
            (|name| sources.text(name), |name| sources.on(name, false), |name| sources.list(name));
        let mut config = Configuration {
            remote: text(names::REMOTE),
            target_branch: text(names::TARGET_BRANCH),
            since: text(names::SINCE),
            build_id: text(names::BUILD_ID),
            lint_conf: sources.path(names::LINT_CONF, "lintconf.yaml"),
            chart_yaml_schema: sources.path(names::CHART_YAML_SCHEMA, "chart_schema.yaml"),
            validate_maintainers: sources.on_by_default(names::VALIDATE_MAINTAINERS),
            validate_chart_schema: sources.on_by_default(names::VALIDATE_CHART_SCHEMA),
            validate_yaml: sources.on_by_default(names::VALIDATE_YAML),
            skip_helm_dependencies: on(names::SKIP_HELM_DEPENDENCIES),
            additional_commands: list(names::ADDITIONAL_COMMANDS),
            check_version_increment: sources.on_by_default(names::CHECK_VERSION_INCREMENT),
            all: on(names::ALL),
            charts: list(names::CHARTS),
            chart_repos: list(names::CHART_REPOS),
            chart_dirs: list(names::CHART_DIRS),
            excluded_charts: list(names::EXCLUDED_CHARTS),
            helm_extra_args: text(names::HELM_EXTRA_ARGS),
            helm_extra_set_args: text(names::HELM_EXTRA_SET_ARGS),
            helm_lint_extra_args: text(names::HELM_LINT_EXTRA_ARGS),
            helm_repo_extra_args: list(names::HELM_REPO_EXTRA_ARGS),
            helm_dependency_extra_args: list(names::HELM_DEPENDENCY_EXTRA_ARGS),
            debug: on(names::DEBUG),
            upgrade: invocation.command_path.path.contains("install") && on(names::UPGRADE),
            skip_missing_values: on(names::SKIP_MISSING_VALUES),
            skip_clean_up: on(names::SKIP_CLEAN_UP),
            namespace: text(names::NAMESPACE),
            release_name: text(names::RELEASE_NAME),
            release_label: text(names::RELEASE_LABEL),
            exclude_deprecated: on(names::EXCLUDE_DEPRECATED),
            kubectl_timeout: Some(text(names::KUBECTL_TIMEOUT))
                .filter(|timeout| !timeout.is_empty())
                .unwrap_or_else(|| "30s".to_owned()),
            print_logs: sources.on(names::PRINT_LOGS, true),
            github_groups: on(names::GITHUB_GROUPS),
            use_helmignore: on(names::USE_HELMIGNORE),
            real_cluster: on(names::REAL_CLUSTER),
            notes: Vec::new(),
        };
        if config.chart_dirs.is_empty() {
            config.chart_dirs.push("charts".to_owned());
        }
        config.check()?;
        let print_config = on(names::PRINT_CONFIG);
        if print_config {
            config.notes.extend(used.map(|file| format!("Using config file: {file}")));
        }
        if !config.charts.is_empty() || config.all {
            config.notes.push("Version increment checking disabled.".to_owned());
            config.check_version_increment = false;
        }
        if print_config {
            config.describe();
        }
        Ok(config)
    }

    fn check(&self) -> Result<(), Failure> {
        let text = if self.all && !self.charts.is_empty() {
            "specifying both, '--all' and '--charts', is not allowed"
        } else if !self.namespace.is_empty() && self.release_label.is_empty() {
            "specifying '--namespace' without '--release-label' is not allowed"
        } else if self.upgrade && (self.target_branch.is_empty() || self.remote.is_empty()) {
            "specifying '--upgrade=true' without '--target-branch' or '--remote', is not allowed"
        } else {
            return Ok(());
        };
        Err(Failure::usage(format!("failed loading configuration: {text}")))
    }

    /// Lines for stderr.
    pub(super) fn printed(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn describe(&mut self) {
        let line = "-".repeat(120);
        let list = |items: &[String]| format!("[{}]", items.join(" "));
        let file = |file: &Option<String>| file.clone().unwrap_or_default();
        let fields = [
            ("Remote", self.remote.clone()),
            ("TargetBranch", self.target_branch.clone()),
            ("Since", self.since.clone()),
            ("BuildID", self.build_id.clone()),
            ("LintConf", file(&self.lint_conf)),
            ("ChartYamlSchema", file(&self.chart_yaml_schema)),
            ("ValidateMaintainers", self.validate_maintainers.to_string()),
            ("ValidateChartSchema", self.validate_chart_schema.to_string()),
            ("ValidateYaml", self.validate_yaml.to_string()),
            ("SkipHelmDependencies", self.skip_helm_dependencies.to_string()),
            ("AdditionalCommands", list(&self.additional_commands)),
            ("CheckVersionIncrement", self.check_version_increment.to_string()),
            ("ProcessAllCharts", self.all.to_string()),
            ("Charts", list(&self.charts)),
            ("ChartRepos", list(&self.chart_repos)),
            ("ChartDirs", list(&self.chart_dirs)),
            ("ExcludedCharts", list(&self.excluded_charts)),
            ("HelmExtraArgs", self.helm_extra_args.clone()),
            ("HelmExtraSetArgs", self.helm_extra_set_args.clone()),
            ("HelmLintExtraArgs", self.helm_lint_extra_args.clone()),
            ("HelmRepoExtraArgs", list(&self.helm_repo_extra_args)),
            ("HelmDependencyExtraArgs", list(&self.helm_dependency_extra_args)),
            ("Debug", self.debug.to_string()),
            ("Upgrade", self.upgrade.to_string()),
            ("SkipMissingValues", self.skip_missing_values.to_string()),
            ("SkipCleanUp", self.skip_clean_up.to_string()),
            ("Namespace", self.namespace.clone()),
            ("ReleaseName", self.release_name.clone()),
            ("ReleaseLabel", self.release_label.clone()),
            ("ExcludeDeprecated", self.exclude_deprecated.to_string()),
            ("KubectlTimeout", self.kubectl_timeout.clone()),
            ("PrintLogs", self.print_logs.to_string()),
            ("GithubGroups", self.github_groups.to_string()),
            ("UseHelmignore", self.use_helmignore.to_string()),
        ];
        let (begin, end) = match self.github_groups {
            true => (vec!["::group::Configuration".to_owned()], "::endgroup::".to_owned()),
            false => (vec![line.clone(), " Configuration".to_owned(), line.clone()], line),
        };
        self.notes.extend(begin);
        self.notes.extend(fields.map(|(name, value)| format!("{name}: {value}")));
        self.notes.push(end);
    }
}

impl Sources<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        let name = format!("CT_{}", name.replace('-', "_").to_uppercase());
        self.invocation.environment.variable(&name).filter(|text| !text.is_empty())
    }

    fn given<T>(&self, name: Name<T>) -> bool {
        self.invocation.flags.declares(name) && self.invocation.flags.given(name)
    }

    fn text(&self, name: Name<String>) -> String {
        let flags = &self.invocation.flags;
        let default = || if flags.declares(name) { flags.text(name).to_owned() } else { String::new() };
        if self.given(name) {
            return default();
        }
        self.variable(name.as_str())
            .or_else(|| self.file.get(name.as_str()).map(scalar))
            .unwrap_or_else(default)
    }

    fn on(&self, name: Name<bool>, fallback: bool) -> bool {
        let flags = &self.invocation.flags;
        if self.given(name) {
            return flags.on(name);
        }
        match self.variable(name.as_str()).or_else(|| self.file.get(name.as_str()).map(scalar)) {
            Some(text) => matches!(text.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True"),
            None => fallback,
        }
    }

    /// A switch that is on unless it is turned off, for commands that have it.
    fn on_by_default(&self, name: Name<bool>) -> bool {
        self.on(name, self.invocation.flags.declares(name))
    }

    fn list(&self, name: Name<Vec<String>>) -> Vec<String> {
        let flags = &self.invocation.flags;
        let split = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        if self.given(name) {
            return flags.list(name).to_vec();
        }
        match (self.variable(name.as_str()), self.file.get(name.as_str())) {
            (Some(text), _) => split(&text),
            (None, Some(Node::List(items))) => items.iter().map(scalar).collect(),
            (None, Some(text)) => split(&scalar(text)),
            (None, None) => Vec::new(),
        }
    }

    /// A file that is named, or one in the usual places; `None` for the built-in one.
    fn path(&self, name: Name<String>, file: &str) -> Option<String> {
        Some(self.text(name)).filter(|path| !path.is_empty()).or_else(|| find(self.invocation, &[file]))
    }
}

fn scalar(node: &Node) -> String {
    match node {
        Node::Str(text) => text.to_str_lossy().into_owned(),
        Node::Nil | Node::List(_) | Node::Map(_) => String::new(),
        Node::Bool(switch) => switch.to_string(),
        Node::Int(number) => number.to_string(),
        Node::Float(number) => number.to_string(),
    }
}

/// The first of these files in the places of configuration files.
fn find(invocation: &Invocation<'_>, names: &[&str]) -> Option<String> {
    let environment = invocation.environment;
    let folders = match environment.variable("CT_CONFIG_DIR") {
        Some(folder) => vec![folder],
        None => LOCATIONS.iter().map(|path| path.replace('~', &environment.user_home())).collect(),
    };
    let paths = folders.iter().flat_map(|folder| names.iter().map(move |name| Path::new(folder).join(name)));
    let found = paths.into_iter().find(|path| path.is_file())?;
    Some(found.to_string_lossy().into_owned())
}

fn read_file(invocation: &Invocation<'_>) -> Result<(Option<String>, Map<Node>), Failure> {
    let named = invocation.flags.text(names::CONFIG).to_owned();
    let path = match named.is_empty() {
        false => Some(named),
        true => find(invocation, &["ct.yaml", "ct.yml", "ct.json"]),
    };
    let Some(path) = path else { return Ok((None, Map::new())) };
    let failed = |text: String| {
        Failure::usage(format!("failed loading configuration: failed loading config file: {text}"))
    };
    let text = crate::read::file(&path, crate::read::MAX_SETTINGS)
        .map_err(|error| failed(opening(&path, &error)))?;
    let map = pintle_yaml::read_map(&text)
        .map_err(|error| failed(format!("While parsing config: {}", of_go_yaml(&error.to_string()))))?;
    let path = std::path::absolute(&path).map_or(path, |path| path.to_string_lossy().into_owned());
    Ok((Some(path), map))
}
