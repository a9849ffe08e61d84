//! `plugin verify`: verifies the signature of a plugin's archive.

use std::path::Path;

use pintle::ops::{read_signature_file, verify_bytes};
use pintle::provenance::Verified;

use crate::command::{ArgCompletion, Command, Operands};
use crate::env::Setting;
use crate::failure::{Failure, reason};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::provenance;

/// `plugin verify PATH`
pub(super) static COMMAND: Command = Command {
    name: "verify",
    operands_text: "[PATH]",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Files,
    short: "verify the signature of a plugin archive",
    long: "\
Verify that the archive of a plugin matches its provenance file (the archive's name with .prov), and that the file was
signed by a key of the keyring.

`{program} plugin package` creates archives with provenance files.",
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::text(names::KEYRING, "the file of public keys").or_setting(Setting::Keyring)];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let archive = invocation.operand(0).to_owned();
    let stat =
        |path: &str| std::fs::metadata(path).map_err(|error| format!("stat {path}: {}", reason(&error)));
    if stat(&archive).map_err(Failure::usage)?.is_dir() {
        return Err(Failure::usage(
            "directory verification not supported - only plugin tarballs can be verified",
        )
        .with_pintle_text(format!("`{archive}` is a directory, and only archives are signed")));
    }
    let is_archive = Path::new(&archive).extension().is_some_and(|ending| ending == "gz" || ending == "tgz");
    if !is_archive {
        return Err(Failure::usage("plugin file must be a gzipped tarball (.tar.gz or .tgz)"));
    }
    let file = format!("{archive}.prov");
    stat(&file).map_err(|cause| Failure::usage(format!("could not find provenance file {file}: {cause}")))?;
    let name = crate::path::base(&archive).to_owned();
    let bytes = crate::read::file(&archive, super::install::MAX_ARCHIVE).map_err(|error| {
        Failure::run_time(format!("failed to read plugin file: open {archive}: {}", reason(&error)))
    })?;
    let text = read_signature_file(Path::new(&file), pintle::provenance::PROVENANCE_LIMIT)
        .map_err(|error| Failure::from(error).during("failed to read provenance file"))?;
    let verified = verify_bytes(&provenance::keyring_file(invocation), &bytes, &name, &text)?;
    invocation.ui.print(&words(&verified))
}

/// The text for a plugin with a valid signature.
pub(super) fn words(verified: &Verified) -> String {
    let mut text: String = verified.signed_by.iter().map(|name| format!("Signed by: {name}\n")).collect();
    text.push_str(&format!("Using Key With Fingerprint: {}\n", verified.fingerprint));
    text.push_str(&format!("Plugin Hash Verified: {}\n", verified.file_hash));
    text
}
