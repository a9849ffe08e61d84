//! `values`: shows the values that templates see, where they come from and what they end up in.

pub(crate) mod report;

use pintle::ops::{Explanation, RenderedLine, TemplateRequest};
use pintle::tree::{Node, ValuePath};
use pintle_tree::quote::quote;

use super::template;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{Connection, run_offline};
use crate::failure::Failure;
use crate::flag::deploy::REVISION;
use crate::flag::groups::{CHART, COSIGN, DEVEL, REMOTE, SCHEMA, UNREAD, VALUES};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::grid::rows_text;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::{chart_reference, kubeconfig, request};

/// `values RELEASE|CHART [PATH]`
pub(crate) static COMMAND: Command = Command {
    name: "values",
    operands_text: "RELEASE|CHART [PATH]",
    short: "show the values of a chart or release, and where they come from",
    long: "\
Show the values that the templates of a chart or release see, or those at a path such as image.tag or hosts[0].name.

With --explain, each value is shown with the source that set it: values.yaml of the chart, of a parent chart or of the
subchart, a file given with -f or a flag, with file and line; what it overrides; and the template lines that read it:

    {program} values ./web --explain
    {program} values ./web --explain image.tag -f prod.yaml --set image.tag=2.0

With --rendered, a line of the output is traced back to the template lines that wrote it, the values that they read,
and the conditions around them. The line is given as a template with a line of what
`{program} template --show-only` prints for it, or as an object with a field:

    {program} values ./web --rendered templates/deployment.yaml:27
    {program} values ./web --rendered Deployment/web:spec.template.spec.containers[0].image

The first operand is a chart if it is a path, a URL or repo/name, and a release otherwise. Records of releases do not have
the templates of subcharts, the lines of values.yaml, and the names of the files that values came from.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Chart,
    flags: &[OWN, REVISION, VALUES, SCHEMA, UNREAD, DEVEL, CHART, COSIGN, REMOTE, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::EXPLAIN, "show where values come from and which templates read them"),
    Flag::text(names::RENDERED, "explain a rendered line: FILE:LINE or KIND/NAME:PATH")
        .completes(FlagCompletion::Nothing),
    Flag::text(names::OUTPUT, "the format: yaml or json; text or json with --explain and --rendered")
        .short('o')
        .completes(FlagCompletion::Words(&["text", "yaml", "json"])),
    Flag::text(names::RELEASE, "the name of the release that a chart is rendered for").or("release-name"),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render for")
        .completes(FlagCompletion::Nothing),
    Flag::list(names::API_VERSIONS, "additional API versions of the cluster; may be repeated")
        .short('a')
        .completes(FlagCompletion::Nothing),
];

/// The formats of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
}

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    if invocation.flags.operands.len() > 2 {
        return Err(Failure::usage("there are more than two operands")
            .hint("give a chart or release, and at most one path"));
    }
    let path: ValuePath = match invocation.flags.operands.get(1) {
        Some(text) => text.parse().map_err(|reason: String| Failure::usage(reason))?,
        None => ValuePath::root(),
    };
    let rendered: Option<RenderedLine> = match invocation.flags.text(names::RENDERED) {
        "" => None,
        text => Some(text.parse()?),
    };
    let explanation = explanation(invocation)?;
    let text = match rendered {
        Some(line) => {
            let line = explanation.explain_line(&line)?;
            match format {
                Format::Json => report::json(report::line_tree(&line)),
                Format::Text => report::line_text(&line),
            }
        }
        None if invocation.flags.on(names::EXPLAIN) => {
            if let Some(problem) = &explanation.problem {
                invocation.ui.warn(&format!("which templates read the values is not known: {problem}"));
            }
            let values = explanation.explain(&path)?;
            match format {
                Format::Json => report::json(Node::List(values.iter().map(report::value_tree).collect())),
                Format::Text if values.len() == 1 => report::value_text(&values[0]),
                Format::Text => rows_text(invocation, &report::values_rows(&values), 0),
            }
        }
        None => plain(&explanation, &path, format)?,
    };
    invocation.ui.print(&text)
}

fn format(invocation: &Invocation<'_>) -> Result<Format, Failure> {
    let explains = invocation.flags.on(names::EXPLAIN) || invocation.flags.given(names::RENDERED);
    match (invocation.flags.text(names::OUTPUT), explains) {
        ("", _) | ("text", true) | ("yaml", false) => Ok(Format::Text),
        ("json", _) => Ok(Format::Json),
        (other, true) => Err(Failure::usage(format!("--output is {}", quote(other.as_bytes())))
            .hint("with --explain and --rendered, it may be text or json")),
        (other, false) => {
            Err(Failure::usage(format!("--output is {}", quote(other.as_bytes())))
                .hint("it may be yaml or json"))
        }
    }
}

/// The values without their sources.
fn plain(explanation: &Explanation, path: &ValuePath, format: Format) -> Result<String, Failure> {
    let node = match path.segments().is_empty() {
        true => Some(Node::Map(explanation.values().clone())),
        false => path.find(explanation.values()).cloned(),
    };
    let Some(node) = node else {
        // The error names similar values.
        return explanation.explain(path).map(|_| String::new()).map_err(Failure::from);
    };
    match format {
        Format::Json => Ok(report::json(node)),
        Format::Text => {
            let text = pintle::yaml::write(&node).map_err(|error| Failure::run_time(error.to_string()))?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
    }
}

fn explanation(invocation: &mut Invocation<'_>) -> Result<Explanation, Failure> {
    let reference = invocation.operand(0).to_owned();
    if !is_chart(invocation, &reference) {
        let at = request::revision(invocation)?;
        let connection = Connection::open(invocation)?;
        let version =
            connection.run(pintle::ops::get(&connection.session, &connection.namespace, &reference, &at))?;
        return Ok(pintle::ops::explain_release(&version, &mut Reporting::new(invocation.ui))?);
    }
    let chart = chart_reference::locate(invocation, &reference)?.into();
    let request = TemplateRequest {
        chart,
        name: invocation.flags.text(names::RELEASE).to_owned(),
        namespace: kubeconfig::namespace(&invocation.flags, invocation.environment),
        values: request::values(invocation)?,
        kube_version: request::kube_version(invocation)?,
        api_versions: invocation.flags.list(names::API_VERSIONS).to_vec(),
        skip_schema: invocation.flags.on(names::SKIP_SCHEMA_VALIDATION),
        nulls: template::generation(invocation)?,
        warn_unread: invocation.flags.on(names::EXPLAIN) && request::warns_unread(invocation),
        ..TemplateRequest::default()
    };
    let session = scripts::offline_session(invocation)?;
    let mut reporter = Reporting::new(invocation.ui);
    Ok(run_offline(pintle::ops::explain_chart(&session, &request, &mut reporter))?)
}

/// Whether the operand is a chart rather than a release, whose name has no slash or colon.
fn is_chart(invocation: &Invocation<'_>, reference: &str) -> bool {
    reference.contains(['/', ':'])
        || reference == "."
        || !invocation.flags.text(names::REPO).is_empty()
        || std::path::Path::new(reference).exists()
}
