//! `docs CHART…`: READMEs of charts.

use pintle::docs::{SortOrder, Strictness};
use pintle::ops::{DocsRequest, Documented, document};

use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion, Name, names};
use crate::invocation::Invocation;
use crate::path::clean;

/// The levels of `--log-level`, the quietest first.
const LEVELS: [&str; 8] = ["panic", "fatal", "error", "warn", "warning", "info", "debug", "trace"];

/// Flags of helm-docs, and our own.
pub(super) static FLAGS: &[Flag] = &[
    Flag::text(names::BADGE_STYLE, "the style of badges").short('b').or("flat-square"),
    Flag::text(names::CHART_SEARCH_ROOT, "the directory below which charts are searched").short('c').or("."),
    Flag::list(
        names::CHART_TO_GENERATE,
        "only document these charts, by their directories (separated by commas, or repeated)",
    )
    .short('g'),
    Flag::switch(names::CHECK, "write nothing, and fail if a README is not up to date"),
    Flag::switch(names::DOCUMENT_DEPENDENCY_VALUES, "also document the values of dependencies").short('u'),
    Flag::list(
        names::DOCUMENTATION_STRICT_IGNORE_ABSENT,
        "values that need no comment in strict mode (default service.type,image.repository,image.tag)",
    )
    .short('y'),
    Flag::list(
        names::DOCUMENTATION_STRICT_IGNORE_ABSENT_REGEX,
        "patterns of values that need no comment in strict mode (default those of --documentation-strict-ignore-absent, at \
         any depth)",
    )
    .short('z'),
    Flag::switch(names::DOCUMENTATION_STRICT_MODE, "fail if a value has no comment that names it").short('x'),
    Flag::switch(names::DRY_RUN, "print the READMEs, and write nothing").short('d'),
    Flag::text(names::HELM_DOCS_VERSION, "the version of helm-docs for the footer; no footer without one"),
    Flag::text(names::IGNORE_FILE, "the file with rules of directories to leave out").short('i').or(".helmdocsignore"),
    Flag::switch(names::IGNORE_NON_DESCRIPTIONS, "leave out values without a comment"),
    Flag::text(
        names::LOG_LEVEL,
        "what to report: panic, fatal, error, warning, info, debug or trace",
    )
    .short('l')
    .or("info")
    .completes(FlagCompletion::Words(&["panic", "fatal", "error", "warning", "info", "debug", "trace"])),
    Flag::text(names::OUTPUT_FILE, "the file to write, relative to each chart").short('o').or("README.md"),
    Flag::switch(names::SKIP_VERSION_FOOTER, "leave the footer out of READMEs without a template of their own"),
    Flag::text(names::SORT_VALUES_ORDER, "the order of values: alphanum or file")
        .short('s')
        .or("alphanum")
        .completes(FlagCompletion::Words(&["alphanum", "file"])),
    Flag::list(
        names::TEMPLATE_FILES,
        "the template files: names in the directory of the chart, or paths (default README.md.gotmpl)",
    )
    .short('t'),
    Flag::text(names::VALUES_FILE, "the values file, relative to each chart").short('f').or("values.yaml"),
];

/// Values for which helm-docs does not require comments.
const UNDOCUMENTED: [&str; 3] = ["service.type", "image.repository", "image.tag"];

/// A flag, or the variable of the environment that helm-docs has for it.
struct Settings<'a> {
    invocation: &'a Invocation<'a>,
}

impl Settings<'_> {
    fn variable<T>(&self, name: Name<T>) -> Option<String> {
        if self.invocation.flags.given(name) {
            return None;
        }
        let name = format!("HELM_DOCS_{}", name.as_str().replace('-', "_").to_uppercase());
        self.invocation.environment.variable(&name).filter(|text| !text.is_empty())
    }

    fn text(&self, name: Name<String>) -> String {
        self.variable(name).unwrap_or_else(|| self.invocation.flags.text(name).to_owned())
    }

    fn on(&self, name: Name<bool>) -> bool {
        match self.variable(name) {
            Some(text) => matches!(text.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True"),
            None => self.invocation.flags.on(name),
        }
    }

    /// A list; variables are divided at white space.
    fn list(&self, name: Name<Vec<String>>, fallback: &[&str]) -> Vec<String> {
        match (self.variable(name), self.invocation.flags.given(name)) {
            (Some(text), _) => text.split_whitespace().map(str::to_owned).collect(),
            (None, true) => self.invocation.flags.list(name).to_vec(),
            (None, false) => fallback.iter().map(|text| (*text).to_owned()).collect(),
        }
    }
}

pub(super) fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let settings = Settings { invocation };
    let level = level(&settings.text(names::LOG_LEVEL))?;
    let (dry_run, check) = (settings.on(names::DRY_RUN), invocation.flags.on(names::CHECK));
    // As in helm-docs, a search continues after charts that it cannot document. Charts that are named, and all charts with
    // `--check` or in strict mode, must succeed.
    let must_succeed =
        check || !invocation.flags.operands.is_empty() || settings.on(names::DOCUMENTATION_STRICT_MODE);
    let mut failed = false;
    let mut outdated = Vec::new();
    for request in requests(&settings)? {
        let documented = document(&request)?;
        if level >= 5 && !dry_run && !check && request.charts.is_empty() {
            invocation.ui.note(&format!("found charts: {}", documented.found.join(", ")));
        }
        failed |= report(invocation, level, &documented);
        for chart in &documented.charts {
            if dry_run {
                invocation.ui.print(&chart.text)?;
            } else if check && !chart.current {
                outdated.push(clean(&chart.path.to_string_lossy()));
            } else if !check {
                if !chart.current {
                    chart.write()?;
                }
                if level >= 5 {
                    let state = if chart.current { "is up to date" } else { "was written" };
                    let path = format!("{}/{}", chart.directory, request.output_file);
                    invocation.ui.note(&format!("{} {state}", clean(&path)));
                }
            }
        }
    }
    finish(invocation, failed && must_succeed, &outdated)
}

fn finish(invocation: &mut Invocation<'_>, failed: bool, outdated: &[String]) -> Result<(), Failure> {
    if !outdated.is_empty() {
        let text = format!("not up to date: {}", outdated.join(", "));
        let program = invocation.personality.program();
        return Err(Failure::run_time(text).hint(format!("`{program} docs` writes them")));
    }
    if failed {
        return Err(Failure::new(FailureKind::AlreadyReported, "some charts could not be documented"));
    }
    Ok(())
}

/// Prints warnings and failures; returns whether there is a failure.
fn report(invocation: &mut Invocation<'_>, level: usize, documented: &Documented) -> bool {
    for warning in documented.warnings.iter().filter(|_| level >= 3) {
        invocation.ui.warn(warning);
    }
    for (directory, error) in documented.failures.iter().filter(|_| level >= 2) {
        invocation.ui.warn(&format!("chart {directory} cannot be documented: {error}"));
    }
    let stopped = documented.charts.iter().filter_map(|chart| Some((chart, chart.error.as_ref()?)));
    for (chart, error) in stopped.clone().filter(|_| level >= 2) {
        invocation.ui.warn(&format!("the README of chart {} ends early: {error}", chart.directory));
    }
    stopped.count() > 0 || !documented.failures.is_empty()
}

fn level(name: &str) -> Result<usize, Failure> {
    LEVELS.iter().position(|level| level.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let text = format!(
            "invalid log level `{name}`: must be one of panic, fatal, error, warning, info, debug, trace"
        );
        Failure::usage(text)
    })
}

/// One request for the search root, or one for each chart that is named.
fn requests(settings: &Settings<'_>) -> Result<Vec<DocsRequest>, Failure> {
    let sort = match settings.text(names::SORT_VALUES_ORDER).as_str() {
        "alphanum" => SortOrder::Alphanumeric,
        "file" => SortOrder::File,
        other => {
            return Err(Failure::usage(format!("invalid order `{other}`: must be one of alphanum, file")));
        }
    };
    let request = DocsRequest {
        search_root: settings.text(names::CHART_SEARCH_ROOT),
        charts: settings.list(names::CHART_TO_GENERATE, &[]),
        ignore_file: settings.text(names::IGNORE_FILE),
        output_file: settings.text(names::OUTPUT_FILE),
        template_files: settings.list(names::TEMPLATE_FILES, &["README.md.gotmpl"]),
        values_file: settings.text(names::VALUES_FILE),
        document_dependencies: settings.on(names::DOCUMENT_DEPENDENCY_VALUES),
        strictness: strictness(settings)?,
        sort,
        badge_style: settings.text(names::BADGE_STYLE),
        only_described: settings.on(names::IGNORE_NON_DESCRIPTIONS),
        helm_docs_version: settings.text(names::HELM_DOCS_VERSION),
        skip_version_footer: settings.on(names::SKIP_VERSION_FOOTER),
        ..DocsRequest::default()
    };
    let operands = &settings.invocation.flags.operands;
    if operands.is_empty() {
        return Ok(vec![request]);
    }
    let one = |chart: &String| DocsRequest {
        search_root: chart.clone(),
        charts: vec![chart.clone()],
        ..request.clone()
    };
    Ok(operands.iter().map(one).collect())
}

fn strictness(settings: &Settings<'_>) -> Result<Option<Strictness>, Failure> {
    if !settings.on(names::DOCUMENTATION_STRICT_MODE) {
        return Ok(None);
    }
    let name = names::DOCUMENTATION_STRICT_IGNORE_ABSENT_REGEX;
    let defaults: Vec<String> =
        UNDOCUMENTED.iter().map(|path| format!(".*{}", path.replace('.', "\\."))).collect();
    let defaults: Vec<&str> = defaults.iter().map(String::as_str).collect();
    let allowed_patterns = settings.list(name, &defaults).into_iter().map(|pattern| {
        pintle::docs::Regex::compile(&pattern).map_err(|error| {
            Failure::usage(format!("invalid pattern `{pattern}` of --{}: {error}", name.as_str()))
        })
    });
    Ok(Some(Strictness {
        allowed: settings.list(names::DOCUMENTATION_STRICT_IGNORE_ABSENT, &UNDOCUMENTED),
        allowed_patterns: allowed_patterns.collect::<Result<_, _>>()?,
    }))
}
