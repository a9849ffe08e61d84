//! `template`: renders a chart and prints the objects.

use pintle::OfflineSession;
use pintle::ops::{Layout, TemplateRequest, Templated};
use pintle::values::NullRules;
use pintle_tree::quote::quote;

use super::images::rewrite::{self, REWRITE};
use super::install;
use crate::chart_reference;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{Connection, run_offline};
use crate::dependencies;
use crate::failure::Failure;
use crate::flag::deploy::INSTALL;
use crate::flag::groups::{CHART, COSIGN, DEVEL, POST_RENDER, RECORDS, REMOTE, SCHEMA, UNREAD, VALUES};
use crate::flag::value::read_bool;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::lookup_from::{self, LOOKUP_FROM};
use crate::personality::Personality;
use crate::plugins::post_renderer;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::suggest::{NameOf, likeliest};
use crate::ui::Ui;
use crate::{kubeconfig, path, request};

/// `template [NAME] [CHART]`
pub(crate) static COMMAND: Command = Command {
    name: "template",
    operands_text: "[NAME] [CHART]",
    short: "render a chart and print the objects",
    long: "\
Render the templates of a chart and print the objects that would be installed.

Unless --dry-run=server is set, no cluster is contacted: `lookup` finds nothing (see --lookup-from), and the capabilities of the cluster are
taken from --kube-version and --api-versions, which can be repeated or take a list:

    {program} template --api-versions monitoring.coreos.com/v1,cert-manager.io/v1 web ./web",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NameAndChart,
    flags: &[INSTALL, DEVEL, SCHEMA, UNREAD, VALUES, CHART, COSIGN, REMOTE, POST_RENDER, REWRITE, OWN, SCRIPTS, RECORDS],
    exclusive: &[
        &["force-replace", "force-conflicts"],
        &["force", "force-conflicts"],
        &["validate", "dry-run"],
    ],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::array(names::SHOW_ONLY, "print only the objects of these templates; may be repeated")
        .short('s')
        .completes(FlagCompletion::Templates),
    Flag::text(names::OUTPUT_DIR, "write files to this directory instead of stdout"),
    Flag::switch(names::VALIDATE, "validate the objects against the cluster")
        .deprecated("use '--dry-run=server' instead"),
    Flag::switch(names::INCLUDE_CRDS, "include CRDs in the output"),
    Flag::switch(names::SKIP_TESTS, "skip test hooks"),
    Flag::switch(names::IS_UPGRADE, "set .Release.IsUpgrade instead of .Release.IsInstall"),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render for")
        .completes(FlagCompletion::Nothing),
    Flag::list(names::API_VERSIONS, "additional API versions of the cluster; may be repeated")
        .short('a')
        .completes(FlagCompletion::Nothing),
    Flag::switch(
        names::RELEASE_NAME_SWITCH,
        "with --output-dir, write files to a directory named after the release",
    ),
    Flag::text(names::DRY_RUN_TEXT, "the source of capabilities: client or server")
        .or("client")
        .bare("unset")
        .completes(FlagCompletion::Words(&["client", "server"])),
    Flag::text(names::COMPAT, "the Helm version whose behavior to follow: 3 or 4 ($PINTLE_COMPAT)")
        .completes(FlagCompletion::Words(&["3", "4"])),
    LOOKUP_FROM,
    // Notes are never printed here; the flags are accepted because `install` has them.
    Flag::switch(names::HIDE_NOTES, "")
        .deprecated("this flag has no effect for 'helm template' and will be removed in Helm 5"),
    Flag::switch(names::RENDER_SUBCHART_NOTES, "")
        .deprecated("this flag has no effect for 'helm template' and will be removed in Helm 5"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let kube_version = request::kube_version(invocation)?;
    let live = asks_the_cluster(invocation)? || invocation.flags.on(names::VALIDATE);
    // `release-name` counts as an explicit name, so --generate-name has no effect.
    let (name, reference) = request::name_and_chart(&invocation.flags, |_| Ok("release-name".to_owned()))?;
    let chart = chart_reference::locate_reported(invocation, &reference)?.into();
    let values = request::values(invocation)?;
    let post_render = post_renderer::from_flags(invocation)?;
    let flags = &invocation.flags;
    let layout = match (flags.text(names::OUTPUT_DIR), flags.on(names::RELEASE_NAME_SWITCH)) {
        ("", _) => Layout::Stream,
        (folder, true) => Layout::Folder(path::join(&[folder, &name]).into()),
        (folder, false) => Layout::Folder(folder.into()),
    };
    let lookup = lookup_from::read(invocation)?;
    let flags = &invocation.flags;
    let mut request = TemplateRequest {
        chart,
        name,
        namespace: kubeconfig::namespace(flags, invocation.environment),
        values,
        kube_version,
        api_versions: flags.list(names::API_VERSIONS).to_vec(),
        is_upgrade: flags.on(names::IS_UPGRADE),
        include_crds: flags.on(names::INCLUDE_CRDS),
        skip_tests: flags.on(names::SKIP_TESTS),
        no_hooks: flags.on(names::NO_HOOKS),
        skip_crds: flags.on(names::SKIP_CRDS),
        take_ownership: flags.on(names::TAKE_OWNERSHIP),
        disable_openapi: flags.on(names::DISABLE_OPENAPI_VALIDATION),
        skip_schema: flags.on(names::SKIP_SCHEMA_VALIDATION),
        dns: flags.on(names::ENABLE_DNS),
        nulls: generation(invocation)?,
        show_only: flags.list(names::SHOW_ONLY).to_vec(),
        layout,
        images: rewrite::policy_from_flags(flags)?,
        record_objects: request::record_objects(invocation),
        post_render,
        warn_unread: request::warns_unread(invocation),
        lookup: lookup.objects.clone(),
        ..TemplateRequest::default()
    };
    let target = if live {
        Target::Cluster(Box::new(Connection::open(invocation)?))
    } else {
        Target::Offline(scripts::offline_session(invocation)?)
    };
    if let (Target::Offline(session), Personality::Pintle) = (&target, invocation.personality) {
        lookup_from::seed(invocation, &mut request, session)?;
    }
    match render(invocation, &request, &target)? {
        Ok(templated) => print(invocation, &request, &templated),
        Err(error) => Err(explain(invocation, &request, error)?),
    }
}

/// What to render for.
enum Target {
    /// Without a cluster, with these handlers.
    Offline(OfflineSession),
    /// A cluster, for `lookup` and capabilities.
    Cluster(Box<Connection>),
}

/// The rules to follow where Helm 3 and Helm 4 differ.
pub(crate) fn generation(invocation: &Invocation<'_>) -> Result<NullRules, Failure> {
    let flags = &invocation.flags;
    let flag = if flags.declares(names::COMPAT) { flags.text(names::COMPAT) } else { "" };
    let word = match flag {
        "" => invocation.environment.variable("PINTLE_COMPAT").unwrap_or_default(),
        word => word.to_owned(),
    };
    match word.as_str() {
        "" | "4" => Ok(NullRules::Helm4),
        "3" => Ok(NullRules::Helm3),
        other => Err(Failure::usage(format!("--compat is {}", quote(other.as_bytes())))
            .hint("it may be 3 or 4, for Helm 3 or Helm 4")),
    }
}

/// Renders; with `--dependency-update`, downloads missing dependencies and retries.
fn render(
    invocation: &mut Invocation<'_>,
    request: &TemplateRequest,
    target: &Target,
) -> Result<pintle::Result<Templated>, Failure> {
    dependencies::check_epoch(invocation, &request.chart)?;
    let outcome = render_once(request, target, invocation.ui);
    if matches!(outcome, Err(pintle::Error::MissingDependencies(_)))
        && invocation.flags.on(names::DEPENDENCY_UPDATE)
    {
        dependencies::update_reported(invocation, &request.chart)?;
        return Ok(render_once(request, target, invocation.ui));
    }
    Ok(outcome)
}

fn render_once(request: &TemplateRequest, target: &Target, ui: &mut Ui) -> pintle::Result<Templated> {
    let mut reporter = Reporting::new(ui);
    let connection = match target {
        Target::Offline(session) => {
            return run_offline(pintle::ops::template(session, request, &mut reporter));
        }
        Target::Cluster(connection) => connection,
    };
    let rendered = connection.try_run(pintle::ops::template(&connection.session, request, &mut reporter));
    if let Err(error) = &rendered {
        install::log(error, &mut reporter);
    }
    rendered
}

/// With `--debug`, prints what was rendered before the error; without, Helm's text says that it would.
fn explain(
    invocation: &mut Invocation<'_>,
    request: &TemplateRequest,
    error: pintle::Error,
) -> Result<Failure, Failure> {
    let rendered = rendered(&error).map(<[u8]>::to_vec);
    let mut failure = Failure::from(error);
    match rendered {
        None => {}
        Some(rendered) if invocation.debug() && !request.show_only.is_empty() => {
            // The requested template may be the one that failed; the error says so already.
            let rendered = [rendered.trim_ascii(), b"\n"].concat();
            if let Ok(shown) = pintle::ops::shown_only(&rendered, &request.show_only) {
                invocation.ui.out().write_all(&shown)?;
            }
        }
        Some(rendered) if invocation.debug() => {
            invocation.ui.out().write_all(rendered.trim_ascii())?;
            invocation.ui.print("\n")?;
        }
        // What renders for another version is not shown by --debug, whatever Helm says.
        Some(rendered) if rendered.is_empty() && invocation.personality == Personality::Pintle => {}
        Some(rendered) => {
            failure.text.push_str("\n\nUse --debug flag to render out invalid YAML");
            if !rendered.is_empty() {
                failure.hint.get_or_insert_with(|| "`--debug` prints what was rendered".to_owned());
            }
        }
    }
    Ok(failure)
}

/// The partial output after an error: nothing before rendering, everything once it has finished.
fn rendered(error: &pintle::Error) -> Option<&[u8]> {
    match error {
        pintle::Error::Objects { rendered, .. } => Some(rendered),
        pintle::Error::Render(_)
        | pintle::Error::PostRender(_)
        | pintle::Error::IncompatibleKubernetes { .. }
        | pintle::Error::File { action: "write", .. }
        | pintle::Error::Folder(_) => Some(&[]),
        _ => None,
    }
}

fn print(
    invocation: &mut Invocation<'_>,
    request: &TemplateRequest,
    templated: &Templated,
) -> Result<(), Failure> {
    let Layout::Folder(folder) = &request.layout else {
        return Ok(invocation.ui.out().write_all(&templated.text)?);
    };
    for file in &templated.written {
        // Helm joins paths as text, so a trailing slash of the directory is doubled.
        let inside = file.strip_prefix(folder).unwrap_or(file);
        invocation.ui.print(&format!("wrote {}/{}\n", folder.display(), inside.display()))?;
    }
    match request.show_only.first() {
        // Files that were written are not printed.
        Some(pattern) => Err(Failure::usage(format!("could not find template {pattern} in chart"))
            .with_pintle_text("--show-only cannot be used with --output-dir")),
        None => invocation.ui.print("\n"),
    }
}

/// Whether `--dry-run` uses the cluster; its deprecated values do not.
fn asks_the_cluster(invocation: &mut Invocation<'_>) -> Result<bool, Failure> {
    let word = invocation.flags.text(names::DRY_RUN_TEXT);
    let invalid = |allowed: &str| {
        let failure =
            Failure::usage(format!("invalid dry-run value ({}). Must be {allowed}", quote(word.as_bytes())));
        match likeliest(NameOf::Other, word, &["client", "server"]) {
            Some(near) => failure.hint(format!("did you mean `--dry-run={near}`?")),
            None => failure,
        }
    };
    let warning = match word {
        "client" => return Ok(false),
        "server" => return Ok(true),
        "unset" => "--dry-run is deprecated and should be replaced with '--dry-run=client'".to_owned(),
        "none" => return Err(invalid("\"server\" or \"client\"")),
        _ => match read_bool(word) {
            Ok(true) => {
                format!(
                    "boolean '--dry-run={word}' flag is deprecated and must be replaced with '--dry-run=client'"
                )
            }
            Ok(false) => return Err(invalid("\"server\" or \"client\"")),
            Err(_) => return Err(invalid("\"none\", \"server\", or \"client\"")),
        },
    };
    invocation.ui.warn(&warning);
    Ok(false)
}
