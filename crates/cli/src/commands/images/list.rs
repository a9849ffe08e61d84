//! `images list`: lists the images of a chart or a release, and their digests.

use pintle::ops::{ImageLock, ListedImage, resolve_images};

use super::access::{self, ACCESS, RegistryRole};
use super::files::{self, Existing};
use super::listing::{self, images_of};
use super::subject::{SUBJECT, Subject};
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::groups::VALUES;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::grid::{counted, rows_text};

/// `images list [CHART|RELEASE]`
pub(crate) static COMMAND: Command = Command {
    name: "list",
    aliases: &["ls"],
    operands_text: "[CHART|RELEASE]",
    short: "list the images that a chart or a release uses",
    long: "\
List the images of all rendered objects of a chart, with their users and the values they come from:

    {program} images list ./web -o json
    {program} images list ./web --unique --from-registry docker.io
    {program} images list ./web --resolve -o cyclonedx > web.cdx.json

--resolve looks up the digest of each platform in the registry. --lock writes the digests to a file, and --verify checks
that they still match such a file:

    {program} images list ./web --lock Images.lock
    {program} images list ./web --verify Images.lock",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Chart,
    flags: &[SUBJECT, OWN, ACCESS, VALUES],
    exclusive: &[&["lock", "verify"]],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::OUTPUT, "the output format: table, json, yaml, csv or cyclonedx")
        .short('o')
        .or("table")
        .completes(FlagCompletion::Words(&listing::FORMATS)),
    Flag::switch(names::UNIQUE, "print one line per image instead of one per use"),
    Flag::list(names::FROM_REGISTRY, "only images of these registries").completes(FlagCompletion::Nothing),
    Flag::switch(names::RESOLVE, "resolve digests from the registries"),
    Flag::text(names::LOCK, "write the digests to this lock file"),
    Flag::text(names::VERIFY_TEXT, "fail if the digests differ from this lock file"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let shape = listing::ListFormat::from_flags(&invocation.flags)?;
    let named = Subject::from_flags(invocation)?;
    let (chart, mut images) = images_of(invocation, &named)?;
    let registries = invocation.flags.list(names::FROM_REGISTRY);
    images.retain(|image| {
        registries.is_empty() || registries.iter().any(|registry| *registry == image.registry())
    });
    let flags = &invocation.flags;
    let (lock, verify) = (flags.text(names::LOCK).to_owned(), flags.text(names::VERIFY_TEXT).to_owned());
    let known = match verify.as_str() {
        "" => None,
        path => Some(ImageLock::read(path, &files::read("--verify", path)?)?),
    };
    if flags.on(names::RESOLVE) || !lock.is_empty() || known.is_some() {
        let client = access::client(invocation, RegistryRole::Both)?;
        access::run(resolve_images(&mut images, &client))?;
    }
    let unresolved = unresolved(invocation, &images);
    if let Some(known) = known {
        unresolved?;
        return compare(invocation, &verify, &known, &ImageLock::new(&images));
    }
    if !lock.is_empty() {
        unresolved?;
        let text = ImageLock::new(&images).write((&chart.0, &chart.1), &images)?;
        files::write("--lock", &lock, &text, Existing::Replace)?;
        return invocation.ui.print(&format!("{lock}: {}\n", counted(images.len(), "image")));
    }
    let table = |rows: &[Vec<String>]| rows_text(invocation, rows, 0);
    let text = listing::text(shape, &images, &chart, invocation.flags.on(names::UNIQUE), table)?;
    invocation.ui.out().write_all(&text)?;
    unresolved
}

/// Reports the images that could not be resolved, if that was requested.
fn unresolved(invocation: &mut Invocation<'_>, images: &[ListedImage]) -> Result<(), Failure> {
    let problems: Vec<&String> = images.iter().filter_map(|image| image.problem.as_ref()).collect();
    for problem in &problems {
        invocation.ui.warn(problem);
    }
    match problems.len() {
        0 => Ok(()),
        count => {
            let all = counted(images.len(), "image");
            Err(Failure::run_time(format!("{count} of {all} could not be resolved")))
        }
    }
}

/// Compares a lock file with the current digests.
fn compare(
    invocation: &mut Invocation<'_>,
    path: &str,
    known: &ImageLock,
    now: &ImageLock,
) -> Result<(), Failure> {
    let differences = known.differences(now);
    for difference in &differences {
        invocation.ui.warn(difference);
    }
    match differences.len() {
        0 => {
            let are = if now.images.len() == 1 { "is" } else { "are" };
            invocation.ui.print(&format!("{path}: {} {are} unchanged\n", counted(now.images.len(), "image")))
        }
        count => Err(Failure::run_time(format!("{path}: {count} differences"))
            .hint(format!("`--lock {path}` updates the file"))),
    }
}
