//! `images copy`: copies images from registries, charts, releases and directories to a registry or a directory.

use std::path::{Path, PathBuf};

use pintle::images::{Strategy, Target};
use pintle::ops::{CopyDestination, CopyImagesRequest, CopyPlan, ImageLock, plan_image_copy};
use pintle::registry::copy::{Options, Outcome, execute};

use super::access::{self, ACCESS, RegistryRole, SIDES};
use super::copy_report;
use super::files;
use super::listing::images_of;
use super::policy::{REGISTRIES, explain, registries};
use super::subject::Subject;
use crate::command::{ArgCompletion, Command, Operands};
use crate::copy_progress;
use crate::failure::{Failure, FailureKind, hint};
use crate::flag::groups::VALUES;
use crate::flag::{Flag, FlagCompletion, Kind, names};
use crate::invocation::Invocation;
use crate::output::grid::counted;

/// `images copy SOURCE... DESTINATION`
pub(crate) static COMMAND: Command = Command {
    name: "copy",
    operands_text: "[SOURCE...] DESTINATION",
    short: "copy images to another registry, or to a folder and back",
    long: "\
Copy images byte for byte: digests, multi-platform indexes and signatures are preserved. A source is the name of an
image, a chart (all images of its objects) by its path or as oci://HOST/CHART, or an OCI layout directory, written
oci:DIR or oci:DIR:NAME. The destination is a registry with an optional path, where images get the names that `{program} images override` gives them;
the full name of an image with its tag; or a directory, written oci:DIR:

    {program} images copy ./web hub.corp/mirror
    {program} images copy ./web oci:images          # on a machine with internet access
    {program} images copy oci:images hub.corp       # on a machine without it
    {program} images copy nginx:1.29 hub.corp/our/nginx:1.29

Blobs that exist at the destination are not copied again, and an interrupted copy resumes. A tag that points to another
image is not overwritten without --overwrite. If a check before the copy fails, nothing is copied, except with
--keep-going.

With --platform, only these platforms of an image are copied: a single one as an image, several as a new index, so the
digest changes. Images that are pinned by digest are always copied with all platforms.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Files,
    flags: &[OWN, REGISTRIES, STRATEGY, ACCESS, SIDES, VALUES],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::array(names::FROM_CHART, "copy the images of the chart in this folder or archive; may be repeated"),
    Flag::array(names::FROM_RELEASE, "copy the images of this release; may be repeated")
        .completes(FlagCompletion::Nothing),
    Flag::array(
        names::FROM_LIST,
        "copy the images of this file: one on each line, or a lock; may be repeated",
    ),
    Flag::list(names::PLATFORM, "copy only these platforms, as in linux/amd64,linux/arm64")
        .completes(FlagCompletion::Nothing),
    Flag::of(names::SIGNATURES, Kind::Bool, "true", "copy signatures, attestations and other referrers")
        .bare("true"),
    Flag::switch(names::OVERWRITE, "overwrite tags in the destination that point elsewhere"),
    Flag::switch(names::KEEP_GOING, "copy what can be copied, even if something cannot"),
    Flag::switch(names::DRY_RUN, "show what would be copied and its size"),
    Flag::of(names::JOBS, Kind::Uint, "4", "the number of blobs to copy in parallel").short('j'),
    Flag::switch(names::QUIET, "do not show progress").short('q'),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render charts for")
        .completes(FlagCompletion::Nothing),
    Flag::of(names::OUTPUT, Kind::Format, "table", "the output format: table, json, yaml")
        .short('o')
        .completes(FlagCompletion::Words(&["table", "json", "yaml"])),
];

static STRATEGY: &[Flag] = &[Flag::text(
    names::PATH_STRATEGY,
    "the path strategy in the target registry: prefix-source-registry or prefix-dotted-registry",
)
.or("prefix-source-registry")
.completes(FlagCompletion::Words(&["prefix-source-registry", "prefix-dotted-registry"]))];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let request = request(invocation)?;
    if request.images.is_empty() && request.layouts.is_empty() {
        return Err(Failure::usage("there are no images to copy")
            .hint("name an image, a chart, a directory (oci:DIR), --from-release or --from-list"));
    }
    let plan = access::run(plan_image_copy(&request))?.map_err(copy_failure)?;
    print_findings(invocation, &plan)?;
    if request.dry_run {
        copy_report::print_plan(invocation, &plan)?;
        return if plan.refused.is_empty() {
            Ok(())
        } else {
            Err(Failure::new(FailureKind::AlreadyReported, ""))
        };
    }
    let failed = !plan.refused.is_empty();
    let outcomes = run_copy(invocation, plan, &request.options)?;
    let failed = failed || outcomes.iter().any(|outcome| outcome.result.is_err());
    copy_report::print_outcomes(invocation, &outcomes)?;
    if failed { Err(Failure::new(FailureKind::AlreadyReported, "")) } else { Ok(()) }
}

/// Maps an error of the plan to the exit codes of the image commands.
fn copy_failure(error: pintle::Error) -> Failure {
    match error {
        pintle::Error::Images(error) => explain(error),
        other => other.into(),
    }
}

/// Prints the findings of the plan, and fails if there are errors.
fn print_findings(invocation: &mut Invocation<'_>, plan: &CopyPlan) -> Result<(), Failure> {
    for warning in plan.planned.iter().flat_map(|planned| &planned.warnings) {
        invocation.ui.warn(warning);
    }
    for image in &plan.staying {
        invocation.ui.warn(&format!("{image} is not relocated: no source registry or mapping matches it"));
    }
    let flags = &invocation.flags;
    let goes_on = flags.on(names::KEEP_GOING) || flags.on(names::DRY_RUN);
    let Some((_, first)) = plan.refused.first() else { return Ok(()) };
    let hint = hint(first);
    for (source, error) in &plan.refused {
        invocation.ui.warn(&format!("{source} cannot be copied: {}", without_number(&error.to_string())));
    }
    if goes_on {
        return Ok(());
    }
    let (refused, all) = (plan.refused.len(), plan.refused.len() + plan.planned.len());
    let all = counted(all, "image");
    let failure = Failure::run_time(format!("{refused} of {all} cannot be copied, so nothing was copied"));
    Err(failure.hint(hint.unwrap_or_else(|| "--keep-going copies the others".to_owned())))
}

fn run_copy(
    invocation: &mut Invocation<'_>,
    plan: CopyPlan,
    options: &Options,
) -> Result<Vec<Outcome>, Failure> {
    let quiet = invocation.flags.on(names::QUIET);
    let total = plan.planned.iter().map(|planned| planned.missing).sum();
    let (progress, mut lines) = copy_progress::progress(quiet, total);
    let ui = &mut *invocation.ui;
    access::run(async move {
        let copying = execute(plan.planned, options, progress);
        tokio::pin!(copying);
        loop {
            tokio::select! {
                outcomes = &mut copying => {
                    while let Ok(line) = lines.try_recv() {
                        ui.note(&line);
                    }
                    return outcomes;
                }
                Some(line) = lines.recv() => ui.note(&line),
            }
        }
    })
}

fn request(invocation: &mut Invocation<'_>) -> Result<CopyImagesRequest, Failure> {
    let operands = invocation.flags.operands.clone();
    let (destination, sources) = operands.split_last().map_or(("", &[][..]), |(last, rest)| (last, rest));
    let destination = parse_destination(invocation, destination)?;
    let mut images = Vec::new();
    let mut layouts = Vec::new();
    let mut charts: Vec<Subject> = Vec::new();
    for source in sources {
        match layout_of(source) {
            Some(rest) => layouts.push(layout(rest)),
            None if source.starts_with("oci://") || is_chart(source) => {
                charts.push(Subject::Chart(source.clone()))
            }
            None => images.push(source.clone()),
        }
    }
    charts.extend(invocation.flags.list(names::FROM_CHART).iter().cloned().map(Subject::Chart));
    let releases = invocation.flags.list(names::FROM_RELEASE).iter().cloned();
    charts.extend(releases.map(|name| Subject::Release(name, None)));
    for named in &charts {
        let found = images_of(invocation, named)?;
        images.extend(found.1.into_iter().map(|image| image.image));
    }
    for path in invocation.flags.list(names::FROM_LIST) {
        images.extend(read_list(path)?);
    }
    let flags = &invocation.flags;
    let platforms = flags.list(names::PLATFORM).iter().map(|text| text.trim().parse());
    let platforms = platforms.collect::<Result<_, _>>().map_err(pintle::Error::from)?;
    Ok(CopyImagesRequest {
        images,
        layouts,
        destination,
        options: Options {
            jobs: usize::try_from(flags.uint(names::JOBS)).unwrap_or(1).clamp(1, 64),
            platforms,
            signatures: flags.switch(names::SIGNATURES).unwrap_or(true),
            overwrite: flags.on(names::OVERWRITE),
        },
        dry_run: flags.on(names::DRY_RUN),
        source: access::client(invocation, RegistryRole::Source)?,
        target: access::client(invocation, RegistryRole::Destination)?,
    })
}

/// Parses the destination.
fn parse_destination(invocation: &Invocation<'_>, text: &str) -> Result<CopyDestination, Failure> {
    if let Some(folder) = layout_of(text) {
        return match folder {
            "" => Err(Failure::usage("oci: needs a folder").hint("write oci:DIR")),
            folder => Ok(CopyDestination::Layout(PathBuf::from(folder))),
        };
    }
    let text = text.strip_prefix("oci://").unwrap_or(text);
    let last = text.rsplit('/').next().unwrap_or_default();
    if text.contains('@') || (text.contains('/') && last.contains(':')) {
        return Ok(CopyDestination::Name(text.to_owned()));
    }
    let mut policy = registries(&invocation.flags)?;
    policy.target = Some(Target::parse(text).map_err(explain)?);
    policy.strategy = Strategy::parse(invocation.flags.text(names::PATH_STRATEGY)).map_err(explain)?;
    Ok(CopyDestination::Policy(Box::new(policy)))
}

/// What follows `oci:`, unless it is something in a registry.
fn layout_of(text: &str) -> Option<&str> {
    text.strip_prefix("oci:").filter(|rest| !rest.starts_with("//"))
}

/// An OCI layout directory, with the name of one of its images if given.
fn layout(text: &str) -> (PathBuf, Option<String>) {
    match text.split_once(':') {
        Some((folder, name)) if !name.is_empty() => (folder.into(), Some(name.to_owned())),
        _ => (text.trim_end_matches(':').into(), None),
    }
}

/// Whether an operand is the path of a chart rather than the name of an image.
fn is_chart(word: &str) -> bool {
    word.starts_with(['.', '/', '~'])
        || word.ends_with(".tgz")
        || Path::new(word).join("Chart.yaml").is_file()
}

/// The images of a file: a lock file, or one image per line.
fn read_list(path: &str) -> Result<Vec<String>, Failure> {
    let text = files::read("--from-list", path)?;
    let text = String::from_utf8(text).map_err(|_| Failure::usage(format!("{path} is not UTF-8")))?;
    if text.lines().any(|line| line.trim_end() == "kind: ImagesLock") {
        let lock = ImageLock::read(path, text.as_bytes())?;
        let pinned = lock.images.into_iter().map(|(name, locked)| match locked.digest {
            Some(digest) if !name.contains('@') => format!("{name}@{digest}"),
            _ => name,
        });
        return Ok(pinned.collect());
    }
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect())
}

/// The text of an error without the number of the system's error, which is for programmers.
fn without_number(text: &str) -> String {
    let Some((before, rest)) = text.split_once(" (os error ") else { return text.to_owned() };
    let after = rest.split_once(')').map_or("", |(_, after)| after);
    format!("{before}{after}")
}
