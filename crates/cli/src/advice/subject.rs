//! The chart that a command is about, with its values, read once more after a failure.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

use pintle::chart::Chart;
use pintle::ops::{ExplainedValue, Explanation, TemplateRequest};
use pintle::tree::{Map, Node, ValuePath};
use pintle::{Lifecycle, OfflineSession, SchemaLoader, Silent};

use crate::clock::SystemClock;
use crate::commands::values::report::source_text;
use crate::connect::run_offline;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::{kubeconfig, request};

/// The chart of a command.
pub(super) struct Subject {
    path: Option<PathBuf>,
    request: Option<TemplateRequest>,
    chart: OnceCell<Option<Chart>>,
    explanation: OnceCell<Option<Explanation>>,
}

impl Subject {
    /// The chart that the command has found, or that one of its operands is.
    pub(super) fn of(invocation: &Invocation<'_>) -> Subject {
        let path = invocation.chart_path.clone().or_else(|| operand(invocation));
        let request = path.clone().map(|path| request_of(invocation, path));
        Subject { path, request, chart: OnceCell::new(), explanation: OnceCell::new() }
    }

    /// The chart as it is on disk.
    pub(super) fn chart(&self) -> Option<&Chart> {
        let load = || pintle::chart::load(self.path.as_deref()?, &mut Vec::new()).ok();
        self.chart.get_or_init(load).as_ref()
    }

    /// The chart with its values, rendered if that is possible.
    pub(super) fn explanation(&self) -> Option<&Explanation> {
        let explain = || {
            // Scripts are not run a second time.
            let session = OfflineSession {
                clock: Arc::new(SystemClock),
                events: Lifecycle::default(),
                schemas: SchemaLoader::default(),
            };
            run_offline(pintle::ops::explain_chart(&session, self.request.as_ref()?, &mut Silent)).ok()
        };
        self.explanation.get_or_init(explain).as_ref()
    }

    /// The values that templates see.
    pub(super) fn values(&self) -> Option<&Map<Node>> {
        self.explanation().map(Explanation::values)
    }

    /// The value at a path, with its source.
    pub(super) fn value(&self, path: &ValuePath) -> Option<ExplainedValue> {
        self.explanation()?.explain(path).ok()?.into_iter().next()
    }

    /// Which source sets the value at a path, as people name it.
    pub(super) fn set_by(&self, path: &ValuePath) -> Option<String> {
        let origin = self.value(path)?.origin?;
        Some(source_text(Some(&origin)))
    }

    /// The names of the templates that the chart and its subcharts define.
    pub(super) fn named_templates(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(chart) = self.chart() {
            collect_templates(chart, &mut names);
        }
        names.sort();
        names.dedup();
        names
    }
}

fn collect_templates(chart: &Chart, names: &mut Vec<String>) {
    for file in &chart.templates {
        let blocks = pintle_gotmpl::blocks::Blocks::read(&file.data);
        let defined = blocks.blocks.iter().filter(|block| matches!(block.keyword, "define" | "block"));
        names.extend(defined.filter_map(|block| {
            let subject = block.subject.to_str_lossy();
            Some(subject.split('"').nth(1)?.to_owned())
        }));
    }
    chart.subcharts.iter().for_each(|subchart| collect_templates(subchart, names));
}

/// The operand that is a chart.
fn operand(invocation: &Invocation<'_>) -> Option<PathBuf> {
    let is_chart = |path: &PathBuf| {
        path.join("Chart.yaml").is_file() || path.extension().is_some_and(|end| end == "tgz")
    };
    let found = invocation.flags.operands.iter().map(PathBuf::from).find(is_chart);
    found.or_else(|| {
        Some(PathBuf::from(".")).filter(is_chart).filter(|_| invocation.flags.operands.is_empty())
    })
}

fn request_of(invocation: &Invocation<'_>, chart: PathBuf) -> TemplateRequest {
    let flags = &invocation.flags;
    let values = match flags.declares(names::VALUES) && !reads_standard_input(invocation) {
        true => request::values(invocation).unwrap_or_default(),
        false => Vec::new(),
    };
    TemplateRequest {
        chart: chart.into(),
        name: flags
            .operands
            .first()
            .filter(|_| flags.operands.len() > 1)
            .cloned()
            .unwrap_or_else(|| "release-name".to_owned()),
        namespace: kubeconfig::namespace(flags, invocation.environment),
        values,
        kube_version: flags
            .declares(names::KUBE_VERSION)
            .then(|| request::kube_version(invocation).ok().flatten())
            .flatten(),
        skip_schema: true,
        ..TemplateRequest::default()
    }
}

/// Standard input cannot be read twice, and what comes from a server is not fetched again.
fn reads_standard_input(invocation: &Invocation<'_>) -> bool {
    let flags = &invocation.flags;
    let files = flags.list(names::VALUES).iter().any(|name| name.trim() == "-" || name.contains("://"));
    files || flags.list(names::SET_FILE).iter().any(|text| text.contains("://"))
}

/// What a value is, in a few words: `the text "nginx"`, `the number 80`, `a list`.
pub(super) fn described(node: &Node) -> String {
    match node {
        Node::Nil => "null".to_owned(),
        Node::Bool(on) => format!("`{on}`"),
        Node::Int(number) => format!("the number {number}"),
        Node::Float(number) => format!("the number {number}"),
        Node::Str(text) => {
            let text = text.to_str_lossy();
            let shown: String = text.chars().take(30).collect();
            let dots = if shown.len() < text.len() { "…" } else { "" };
            format!("the text {:?}", format!("{shown}{dots}"))
        }
        Node::List(items) => match items.len() {
            1 => "a list of 1 item".to_owned(),
            count => format!("a list of {count} items"),
        },
        Node::Map(_) => "a map".to_owned(),
    }
}

/// The path of keys.
pub(super) fn value_path(keys: &[String]) -> ValuePath {
    keys.iter().fold(ValuePath::default(), |path, key| path.key(key.as_str()))
}
