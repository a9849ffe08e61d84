//! `images rewrite`: relocates the images of rendered objects, as a filter. Also the flags with which other commands do
//! it.

use std::sync::Arc;

use pintle::images::Policy;

use super::policy::{POLICY, REGISTRIES, explain, policy, require};
use crate::command::{Command, Operands};
use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::read;

/// `images rewrite`
pub(crate) static COMMAND: Command = Command {
    name: "rewrite",
    operands_text: "",
    short: "point the images of rendered objects at another registry",
    long: "\
Read rendered objects from standard input and print them with their images pointed at another registry. Only what a
kubelet pulls changes: the images of containers and of image volumes, in pods and pod templates. All other bytes are
kept.

It also moves images that no value controls, and works as a post-renderer:

    {program} template web ./web | {program} images rewrite --registry-file registry-mappings.yaml
    helm template web ./web | {program} images rewrite -t hub.corp -s docker.io,quay.io

`{program} install`, `upgrade` and `template` do the same with --rewrite-images, for hooks too.",
    operands: Operands::None,
    flags: &[POLICY, REGISTRIES, OWN],
    run: Some(run),
    ..Command::BLANK
};

/// `post-render images`: an alias of `images rewrite`.
pub(crate) static FILTER: Command = Command {
    name: "images",
    short: "point the images of rendered objects at another registry",
    long: "\
Read rendered objects from standard input and print them with their images pointed at another registry. This is
`{program} images rewrite` under the name of a post-renderer.",
    operands: Operands::None,
    flags: &[POLICY, REGISTRIES, OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::switch(names::LIST, "report on stderr which images were rewritten")];

/// Flags of rendering commands, to relocate images.
pub(crate) static REWRITE: &[Flag] = &[
    Flag::text(
        names::REWRITE_IMAGES,
        "rewrite the images of rendered objects by a mapping file or --target-registry",
    )
    .bare(""),
    Flag::text(names::TARGET_REGISTRY, "with --rewrite-images, the target registry: host[:port][/path]")
        .completes(FlagCompletion::Nothing),
    Flag::list(names::SOURCE_REGISTRIES, "with --rewrite-images, the registries to relocate images from")
        .completes(FlagCompletion::Nothing),
    Flag::list(
        names::EXCLUDE_REGISTRIES,
        "with --rewrite-images, registries whose images are never relocated",
    )
    .completes(FlagCompletion::Nothing),
    Flag::text(names::REGISTRY_FILE, "with --rewrite-images, the registry mapping file"),
    Flag::text(names::PATH_STRATEGY, "with --rewrite-images, the path strategy in the target registry")
        .or("prefix-source-registry")
        .completes(FlagCompletion::Words(&["prefix-source-registry", "prefix-dotted-registry"])),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    require_target(&invocation.flags)?;
    let policy = policy(&invocation.flags)?;
    let text = read::standard_input()?;
    // Nothing is printed before everything is processed, so that an error leaves no partial output.
    let (rewritten, moved) = pintle::images::rewrite(&text, &policy).map_err(explain)?;
    invocation.ui.out().write_all(&rewritten)?;
    if invocation.flags.on(names::LIST) {
        for image in &moved {
            invocation
                .ui
                .note(&format!("{} {}: {} -> {}", image.object, image.path, image.before, image.after));
        }
    }
    Ok(())
}

fn require_target(flags: &Parsed) -> Result<(), Failure> {
    match flags
        .last_text(&[names::REGISTRY_FILE, names::CONFIG, names::REWRITE_IMAGES])
        .is_none_or(str::is_empty)
    {
        true => require(flags, &["source-registries", "target-registry"]),
        false => Ok(()),
    }
}

/// The policy of a command with [`REWRITE`]; `None` without `--rewrite-images`.
pub(crate) fn policy_from_flags(flags: &Parsed) -> Result<Option<Arc<Policy>>, Failure> {
    if !flags.given(names::REWRITE_IMAGES) {
        let given = REWRITE.iter().find(|flag| flags.is_given(flag.name));
        return match given {
            Some(flag) => {
                Err(Failure::usage(format!("--{} has no effect without --rewrite-images", flag.name))
                    .hint("--rewrite-images points images at other registries"))
            }
            None => Ok(None),
        };
    }
    require_target(flags)?;
    Ok(Some(Arc::new(policy(flags)?)))
}
