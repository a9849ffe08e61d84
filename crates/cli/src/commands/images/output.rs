//! The destination and format of the output of image commands.

use pintle_tree::{Walk, json};

use super::files::{self, Existing};
use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::format::yaml_of;

/// The output file instead of standard output.
pub(super) static OUTPUT: &[Flag] =
    &[Flag::text(names::OUTPUT_FILE, "write to this file instead of stdout; it must not exist").short('o')];

/// The output format.
pub(super) static FORMAT: &[Flag] = &[Flag::text(names::OUTPUT_FORMAT, "the output format: yaml or json")
    .or("yaml")
    .completes(FlagCompletion::Words(&["yaml", "json"]))];

const FILE: &str = "--output-file";

/// Rejects unknown formats.
pub(super) fn check_format(flags: &Parsed) -> Result<(), Failure> {
    match flags.text(names::OUTPUT_FORMAT) {
        "yaml" | "json" => Ok(()),
        other => {
            Err(Failure::usage(format!("invalid output format `{other}`")).hint("it may be yaml or json"))
        }
    }
}

/// Prints data, or writes it to the output file.
pub(super) fn write(invocation: &mut Invocation<'_>, data: &impl Walk) -> Result<(), Failure> {
    let text = text(&invocation.flags, data)?;
    put_text(invocation, &text)
}

/// Encodes data in the output format.
pub(super) fn text(flags: &Parsed, data: &impl Walk) -> Result<Vec<u8>, Failure> {
    let failed = |error: json::Error| Failure::run_time(format!("cannot write the output: {error}"));
    match flags.text(names::OUTPUT_FORMAT) {
        "json" => {
            let mut text = json::write_pretty(data).map_err(failed)?;
            text.push(b'\n');
            Ok(text)
        }
        _ => yaml_of(&json::write(data).map_err(failed)?),
    }
}

/// Prints text, or writes it to the output file.
pub(super) fn put_text(invocation: &mut Invocation<'_>, text: &[u8]) -> Result<(), Failure> {
    match invocation.flags.text(names::OUTPUT_FILE) {
        "" => Ok(invocation.ui.out().write_all(text)?),
        path => files::write(FILE, path, text, Existing::Keep),
    }
}

/// Fails early if the output file cannot be written.
pub(super) fn check_file(flags: &Parsed) -> Result<(), Failure> {
    match flags.text(names::OUTPUT_FILE) {
        "" => Ok(()),
        path => files::check_free(FILE, path),
    }
}
