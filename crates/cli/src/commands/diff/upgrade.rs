//! `diff upgrade`: shows what an upgrade would change.

use pintle::diff::{Ownership, Report};
use pintle::ops::{
    DiffError, DiffRendering, DiffUpgradeRequest, DiffedManifests, ReusedValues, TemplateRequest,
};
use pintle_tree::quote::quote;

use super::output::{Display, parse_options};
use super::{COMMON, OUTPUT, answer, check_operands};
use crate::command::{ArgCompletion, Command};
use crate::commands::template;
use crate::connect::{Connection, run_offline};
use crate::failure::Failure;
use crate::flag::groups::{CHART, COSIGN, DEVEL, POST_RENDER, RECORDS, REMOTE, SCHEMA, VALUES};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::plugins::post_renderer;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::{chart_reference, kubeconfig, request};

/// `diff upgrade RELEASE CHART`
pub(crate) static COMMAND: Command = Command {
    name: "upgrade",
    operands_text: "[RELEASE] [CHART]",
    short: "show what an upgrade would change",
    long: "\
Compare the recorded manifest of a release with what a chart renders to:

    {program} diff upgrade web ./web -f values.yaml

Without value flags, the values of the release are reused. The chart is rendered with the capabilities of the cluster.
With --three-way-merge the live objects are compared with what client-side apply would make of them, so changes that
others made are visible. `{program} plan upgrade` shows more: server-side apply, hooks, CRDs and custom resources.",
    completion: ArgCompletion::ReleaseAndChart,
    flags: FLAGS,
    answers_by_exit_code: true,
    may_ignore_unknown_flags: true,
    run: Some(run),
    ..Command::BLANK
};

/// The flags of the command.
pub(super) static FLAGS: &[&[Flag]] =
    &[OWN, COMMON, OUTPUT, VALUES, SCHEMA, DEVEL, CHART, COSIGN, REMOTE, POST_RENDER, SCRIPTS, RECORDS];

static OWN: &[Flag] = &[
    Flag::switch(names::THREE_WAY_MERGE, "compare with the live objects ($HELM_DIFF_THREE_WAY_MERGE)"),
    Flag::switch(
        names::REUSE_VALUES,
        "reuse the values of the last version, defaults included, and merge in new ones",
    ),
    Flag::switch(names::RESET_VALUES, "use the values of the chart and new ones only"),
    Flag::switch(
        names::RESET_THEN_REUSE_VALUES,
        "reuse the values that were set for the last version, and merge in new ones",
    ),
    Flag::switch(names::ALLOW_UNRELEASED, "show everything as added if the release does not exist"),
    Flag::switch(names::INSTALL, "the same as --allow-unreleased"),
    Flag::switch(names::NO_HOOKS, "leave out hooks"),
    Flag::switch(names::INCLUDE_CRDS, "include CRDs"),
    Flag::list(names::API_VERSIONS, "additional API versions of the cluster; may be repeated")
        .short('a')
        .completes(FlagCompletion::Nothing),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render for")
        .completes(FlagCompletion::Nothing),
    Flag::switch(names::DISABLE_VALIDATION, "render without the cluster"),
    Flag::switch(names::DISABLE_OPENAPI_VALIDATION, "do not validate the rendered objects"),
    Flag::text(
        names::DRY_RUN_TEXT,
        "client: contact no cluster and show everything as added; server: as without this flag",
    )
    .bare("client")
    .completes(FlagCompletion::Words(&["client", "server"])),
    Flag::switch(names::ENABLE_DNS, "enable DNS lookups in templates"),
    Flag::switch(
        names::TAKE_OWNERSHIP,
        "show objects of other releases as taken over; implies --three-way-merge",
    ),
    Flag::text(names::SERVER_SIDE, "accepted for compatibility: true, false or auto")
        .or("auto")
        .completes(FlagCompletion::Words(&["true", "false", "auto"])),
];

/// How much of the cluster is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Nothing.
    None,
    /// The release, but not for rendering.
    Records,
    /// All.
    Full,
}

pub(super) fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    check_operands(invocation, &["release name", "chart path"])?;
    let access = access(invocation)?;
    check_server_side(invocation)?;
    apply_environment(invocation);
    let display = Display::from_flags(invocation)?;
    let request = request(invocation, access)?;
    let manifests = match (access, request.rendering) {
        (Access::None, DiffRendering::Offline) => offline(invocation, &request)?,
        _ => on_cluster(invocation, &request)?,
    };
    let parse = parse_options(invocation, &request.target.namespace);
    let mut old = super::index(invocation, &manifests.old, &parse)?;
    let new = super::index_after(invocation, &manifests.new, &parse, &old)?;
    let mut ownership = Vec::new();
    for object in &manifests.taken_over {
        if let Some(key) = old.replace_by_live(&object.live, &parse).map_err(super::incomparable)? {
            ownership.push(Ownership { key, old: object.owner.clone(), new: object.new_owner.clone() });
        }
    }
    let report =
        Report::with_ownership(old, new, ownership, &display.options).map_err(super::incomparable)?;
    let has_changes = display.print(invocation, &report)?;
    answer(invocation, has_changes)
}

fn access(invocation: &Invocation<'_>) -> Result<Access, Failure> {
    let flags = &invocation.flags;
    match flags.text(names::DRY_RUN_TEXT) {
        "client" | "true" => Ok(Access::None),
        "false" => Ok(Access::Records),
        "" | "server" if flags.on(names::DISABLE_VALIDATION) => Ok(Access::Records),
        "" | "server" => Ok(Access::Full),
        other => Err(Failure::usage(format!(
            "flag \"dry-run\" must take a bool value or either \"client\" or \"server\", but got {}",
            quote(other.as_bytes())
        ))),
    }
}

/// The flag has no effect on what is compared, but a wrong value is still an error.
fn check_server_side(invocation: &Invocation<'_>) -> Result<(), Failure> {
    match invocation.flags.text(names::SERVER_SIDE) {
        "true" | "false" | "auto" => Ok(()),
        other => Err(Failure::usage(format!(
            "flag \"server-side\" must be \"true\", \"false\" or \"auto\", but got {}",
            quote(other.as_bytes())
        ))),
    }
}

/// Sets the flags that were not given from the environment.
fn apply_environment(invocation: &mut Invocation<'_>) {
    let is_true = |name| invocation.environment.variable(name).is_some_and(|text| text == "true");
    let switches = [
        (
            names::THREE_WAY_MERGE,
            is_true("HELM_DIFF_THREE_WAY_MERGE"),
            "Enabled three way merge via the envvar",
        ),
        (
            names::NORMALIZE_MANIFESTS,
            is_true("HELM_DIFF_NORMALIZE_MANIFESTS"),
            "Enabled normalize manifests via the envvar",
        ),
    ];
    for (flag, on, note) in switches {
        if on && !invocation.flags.given(flag) {
            invocation.flags.set_from_environment(flag, "true");
            invocation.ui.note(note);
        }
    }
    let context = invocation.environment.variable("HELM_DIFF_OUTPUT_CONTEXT");
    if let Some(context) = context.filter(|text| text.parse::<i64>().is_ok())
        && !invocation.flags.given(names::CONTEXT)
    {
        invocation.flags.set_from_environment(names::CONTEXT, &context);
    }
}

fn request(invocation: &mut Invocation<'_>, access: Access) -> Result<DiffUpgradeRequest, Failure> {
    let reference = invocation.operand(1).to_owned();
    let rendered = |failure: Failure| failure.during(UNRENDERED);
    let chart = chart_reference::locate(invocation, &reference).map_err(rendered)?.into();
    let post_render = post_renderer::from_flags(invocation)?;
    let flags = &invocation.flags;
    let upgrade_dry_run =
        invocation.environment.variable("HELM_DIFF_USE_UPGRADE_DRY_RUN").is_some_and(|text| text == "true");
    if upgrade_dry_run && flags.on(names::INCLUDE_CRDS) {
        // `upgrade`, which the variable asks for, has no such flag.
        return Err(rendered(Failure::usage("unknown flag: --include-crds"))
            .hint("--include-crds and $HELM_DIFF_USE_UPGRADE_DRY_RUN exclude each other"));
    }
    let values = match () {
        () if flags.on(names::RESET_VALUES) || access == Access::None => ReusedValues::None,
        () if flags.on(names::REUSE_VALUES) => ReusedValues::All,
        () if flags.on(names::RESET_THEN_REUSE_VALUES) => ReusedValues::User,
        () => ReusedValues::AllIfNoneGiven,
    };
    let target = TemplateRequest {
        chart,
        name: invocation.operand(0).to_owned(),
        namespace: kubeconfig::namespace(flags, invocation.environment),
        values: request::values(invocation).map_err(rendered)?,
        kube_version: request::kube_version(invocation)?,
        api_versions: flags.list(names::API_VERSIONS).to_vec(),
        include_crds: flags.on(names::INCLUDE_CRDS),
        // helm-diff does not pass on the warning of `template` about CRDs.
        skip_crds: true,
        no_hooks: flags.on(names::NO_HOOKS),
        skip_schema: flags.on(names::SKIP_SCHEMA_VALIDATION),
        take_ownership: flags.on(names::TAKE_OWNERSHIP),
        disable_openapi: flags.on(names::DISABLE_OPENAPI_VALIDATION),
        dns: flags.on(names::ENABLE_DNS),
        nulls: template::generation(invocation)?,
        record_objects: request::record_objects(invocation),
        post_render,
        ..TemplateRequest::default()
    };
    Ok(DiffUpgradeRequest {
        target,
        values,
        allow_unreleased: flags.on(names::ALLOW_UNRELEASED) || flags.on(names::INSTALL),
        rendering: match access {
            _ if upgrade_dry_run => DiffRendering::UpgradeDryRun,
            Access::Full => DiffRendering::Cluster,
            Access::None | Access::Records => DiffRendering::Offline,
        },
        // An upgrade as a dry run needs the cluster, whatever --dry-run says.
        as_new: access == Access::None,
        three_way: flags.on(names::THREE_WAY_MERGE),
        take_ownership: flags.on(names::TAKE_OWNERSHIP),
    })
}

/// Renders without a cluster; the result is compared with an empty manifest.
fn offline(
    invocation: &mut Invocation<'_>,
    request: &DiffUpgradeRequest,
) -> Result<DiffedManifests, Failure> {
    let session = scripts::offline_session(invocation)?;
    // helm-diff takes the release for one that exists.
    let target = TemplateRequest { is_upgrade: true, ..request.target.clone() };
    let mut reporter = Reporting::new(invocation.ui);
    let rendered = run_offline(pintle::ops::render_for_diff(&session, &target, &mut reporter));
    let rendered = rendered.map_err(|error| Failure::from(error).during(UNRENDERED))?;
    Ok(DiffedManifests { new: rendered.text, ..DiffedManifests::default() })
}

fn on_cluster(
    invocation: &mut Invocation<'_>,
    request: &DiffUpgradeRequest,
) -> Result<DiffedManifests, Failure> {
    let connection = Connection::open(invocation)?;
    let session = scripts::offline_session(invocation)?;
    let mut reporter = Reporting::new(invocation.ui);
    let diffed = pintle::ops::diff_upgrade(&connection.session, &session, request, &mut reporter);
    match connection.try_run(diffed) {
        Ok(manifests) => Ok(manifests),
        Err(DiffError::Record(error @ pintle::Error::NoSuchRelease { .. })) => {
            invocation.ui.note(UNRELEASED);
            Err(Failure::from(error).hint("--allow-unreleased shows everything as added"))
        }
        Err(DiffError::Record(error)) => {
            let TemplateRequest { name, namespace, .. } = &request.target;
            Err(Failure::from(error)
                .during(&format!("Failed to get release {name} in namespace {namespace}")))
        }
        Err(DiffError::Render(error)) => Err(Failure::from(error).during(UNRENDERED)),
        Err(DiffError::Merge(error)) => Err(error.into()),
    }
}

/// What helm-diff puts before the errors of `template`.
const UNRENDERED: &str = "Failed to render chart";

const UNRELEASED: &str = "\
********************

\tRelease was not present in Helm.  Include the `--allow-unreleased` to perform diff without exiting in error.

********************";
