//! `diff local`: compares two charts.

use pintle::diff::Report;
use pintle::ops::TemplateRequest;

use super::output::{Display, parse_options};
use super::{COMMON, OUTPUT, answer, check_operands, given_namespace, unrendered};
use crate::command::{ArgCompletion, Command};
use crate::commands::template;
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::groups::{CHART, COSIGN, DEVEL, POST_RENDER, RECORDS, REMOTE, SCHEMA, VALUES};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::plugins::post_renderer;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::{chart_reference, kubeconfig, request};

/// `diff local CHART1 CHART2`
pub(crate) static COMMAND: Command = Command {
    name: "local",
    operands_text: "CHART1 CHART2",
    short: "show the differences between two charts",
    long: "\
Render two charts with the same values and compare the results. No cluster is contacted.

    {program} diff local ./web-1.0 ./web-1.1 -f values.yaml",
    completion: ArgCompletion::Files,
    flags: &[
        OWN,
        COMMON,
        OUTPUT,
        VALUES,
        SCHEMA,
        DEVEL,
        CHART,
        COSIGN,
        REMOTE,
        POST_RENDER,
        SCRIPTS,
        RECORDS,
    ],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::RELEASE, "the name of the release").or("release"),
    Flag::switch(names::INCLUDE_CRDS, "include CRDs"),
    Flag::switch(names::ENABLE_DNS, "enable DNS lookups in templates"),
    Flag::list(names::API_VERSIONS, "additional API versions of the cluster; may be repeated")
        .short('a')
        .completes(FlagCompletion::Nothing),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render for")
        .completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    check_operands(invocation, &["chart1 path", "chart2 path"])?;
    let (first, second) = (invocation.operand(0).to_owned(), invocation.operand(1).to_owned());
    let values = request::values(invocation)?;
    let post_render = post_renderer::from_flags(invocation)?;
    let base = TemplateRequest {
        name: invocation.flags.text(names::RELEASE).to_owned(),
        namespace: kubeconfig::namespace(&invocation.flags, invocation.environment),
        values,
        kube_version: request::kube_version(invocation)?,
        api_versions: invocation.flags.list(names::API_VERSIONS).to_vec(),
        include_crds: invocation.flags.on(names::INCLUDE_CRDS),
        skip_schema: invocation.flags.on(names::SKIP_SCHEMA_VALIDATION),
        dns: invocation.flags.on(names::ENABLE_DNS),
        nulls: template::generation(invocation)?,
        record_objects: request::record_objects(invocation),
        post_render,
        ..TemplateRequest::default()
    };
    let old = render(invocation, &base, &first)?;
    let new = render(invocation, &base, &second)?;
    let display = Display::from_flags(invocation)?;
    let parse = parse_options(invocation, &given_namespace(invocation));
    let old = super::index(invocation, &old, &parse)?;
    let new = super::index_after(invocation, &new, &parse, &old)?;
    let report = Report::new(old, new, &display.options).map_err(super::incomparable)?;
    let has_changes = display.print(invocation, &report)?;
    answer(invocation, has_changes)
}

fn render(
    invocation: &mut Invocation<'_>,
    base: &TemplateRequest,
    reference: &str,
) -> Result<Vec<u8>, Failure> {
    let chart =
        chart_reference::locate(invocation, reference).map_err(|failure| unrendered(failure, reference))?;
    let request = TemplateRequest { chart: chart.into(), ..base.clone() };
    let session = scripts::offline_session(invocation)?;
    let mut reporter = Reporting::new(invocation.ui);
    let rendered = run_offline(pintle::ops::template(&session, &request, &mut reporter));
    Ok(rendered.map_err(|error| unrendered(error.into(), reference))?.text)
}
