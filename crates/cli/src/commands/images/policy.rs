//! Builds the relocation policy from flags.

use pintle::images::{Error, MappingFile, PathFilter, Policy, Source, Strategy, Target};

use super::files;
use crate::failure::{Failure, FailureKind, image_hint};
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, Name, names};

/// Flags for the images to relocate and their target.
pub(crate) static POLICY: &[Flag] = &[
    Flag::text(names::TARGET_REGISTRY, "the target registry: host[:port][/path]")
        .short('t')
        .completes(FlagCompletion::Nothing),
    Flag::text(
        names::PATH_STRATEGY,
        "the path strategy in the target registry: prefix-source-registry or prefix-dotted-registry",
    )
    .or("prefix-source-registry")
    .completes(FlagCompletion::Words(&["prefix-source-registry", "prefix-dotted-registry"])),
];

/// Flags that select registries.
pub(crate) static REGISTRIES: &[Flag] = &[
    Flag::list(
        names::SOURCE_REGISTRIES,
        "the registries to relocate images from; those of --registry-file by default",
    )
    .short('s')
    .completes(FlagCompletion::Nothing),
    Flag::list(names::EXCLUDE_REGISTRIES, "registries whose images are never relocated")
        .short('e')
        .completes(FlagCompletion::Nothing),
    Flag::text(names::REGISTRY_FILE, "the registry mapping file"),
    Flag::text(names::CONFIG, "").deprecated("use --registry-file instead"),
];

/// Flags that select values by path.
pub(crate) static PATHS: &[Flag] = &[
    Flag::array(names::INCLUDE_PATTERN, "only values whose path matches, such as web.*; may be repeated")
        .completes(FlagCompletion::Nothing),
    Flag::array(names::EXCLUDE_PATTERN, "exclude values whose path matches; may be repeated")
        .completes(FlagCompletion::Nothing),
];

/// The policy of the flags, validated as far as possible without images.
pub(crate) fn policy(flags: &Parsed) -> Result<Policy, Failure> {
    let mut policy = registries(flags)?;
    let target = flags.text(names::TARGET_REGISTRY);
    if !target.is_empty() {
        policy.target = Some(Target::parse(target).map_err(explain)?);
    }
    policy.strategy = Strategy::parse(flags.text(names::PATH_STRATEGY)).map_err(explain)?;
    policy.check().map_err(explain)?;
    Ok(policy)
}

/// The sources, exclusions and mappings of the flags, without a target.
pub(crate) fn registries(flags: &Parsed) -> Result<Policy, Failure> {
    let parse = |name: Name<Vec<String>>| {
        let parsed = flags.list(name).iter().map(|text| Source::parse(text.trim()));
        parsed.collect::<Result<Vec<Source>, Error>>().map_err(explain)
    };
    let sources = Some(parse(names::SOURCE_REGISTRIES)?).filter(|sources| !sources.is_empty());
    let mapping = match flags
        .last_text(&[names::REGISTRY_FILE, names::CONFIG, names::REWRITE_IMAGES])
        .filter(|path| !path.is_empty())
    {
        Some(path) => {
            let text = files::read("--registry-file", path)?;
            Some(MappingFile::parse(path, &text).map_err(explain)?)
        }
        None => None,
    };
    Ok(Policy { sources, excludes: parse(names::EXCLUDE_REGISTRIES)?, mapping, ..Policy::default() })
}

/// The values that the flags select.
pub(crate) fn paths(flags: &Parsed) -> PathFilter {
    PathFilter {
        include: flags.list(names::INCLUDE_PATTERN).to_vec(),
        exclude: flags.list(names::EXCLUDE_PATTERN).to_vec(),
    }
}

/// Fails if required flags are missing or empty, and names all of them.
pub(crate) fn require(flags: &Parsed, names: &[&str]) -> Result<(), Failure> {
    let mut missing: Vec<&str> = names.iter().copied().filter(|name| flags.is_empty(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort_unstable();
    let missing: Vec<String> = missing.into_iter().map(|name| format!("--{name}")).collect();
    Err(Failure::usage(format!("required flags are missing: {}", missing.join(", "))))
}

/// The log line about an image.
pub(crate) fn explain(error: Error) -> Failure {
    let failure = Failure::new(class(&error), error.to_string());
    match image_hint(&error) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The failure kind of an error.
pub(crate) fn class(error: &Error) -> FailureKind {
    match error {
        Error::Reference(_) | Error::InvalidDestination { .. } => FailureKind::BadImage,
        Error::Source { .. }
        | Error::Target { .. }
        | Error::Strategy { .. }
        | Error::Mapping { .. }
        | Error::FlatMapping { .. }
        | Error::Unmapped { .. }
        | Error::NoTarget { .. } => FailureKind::BadInput,
        _ => FailureKind::RunTime,
    }
}
