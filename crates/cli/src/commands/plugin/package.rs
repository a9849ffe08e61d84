//! `plugin package`: packs a plugin into an archive.

use std::path::Path;

use pintle::provenance::{message, sha256};
use pintle_plugin::{archive_name, load_dir, pack, signed_metadata};

use crate::command::{ArgCompletion, Command, Operands};
use crate::env::Setting;
use crate::failure::{Failure, reason};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::provenance::Signer;

/// `plugin package PATH`
pub(super) static COMMAND: Command = Command {
    name: "package",
    operands_text: "[PATH]",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Files,
    short: "package a plugin into an archive",
    long: "\
Package the directory of a plugin into an archive that is named after the plugin and its version, and sign it with a PGP
key, so that `{program} plugin install` can verify it. --sign=false makes an archive without a signature.",
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::SIGN, "sign the archive with a PGP key").or("true"),
    Flag::text(names::KEY, "the name of the key to sign with"),
    Flag::text(names::KEYRING, "the file of keys to sign with").or_setting(Setting::Keyring),
    Flag::text(names::PASSPHRASE_FILE, "the file with the passphrase of the key; - for standard input"),
    Flag::text(names::DESTINATION, "the directory to write the archive to").short('d').or("."),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let dir = invocation.operand(0).to_owned();
    let found =
        std::fs::metadata(&dir).map_err(|error| Failure::usage(format!("stat {dir}: {}", reason(&error))))?;
    if !found.is_dir() {
        return Err(Failure::usage("plugin package only supports directories, not tarballs"));
    }
    let plugin = load_dir(Path::new(&dir)).map_err(|error| error.within("invalid plugin directory"))?;
    let destination = invocation.flags.text(names::DESTINATION).to_owned();
    make_destination(&destination)?;
    let signer = match invocation.flags.on(names::SIGN) {
        true => Some(Signer::for_plugin(invocation)?),
        false => {
            invocation.ui.print(
                "WARNING: Skipping plugin signing. This is not recommended for plugins intended for distribution.\n",
            )?;
            None
        }
    };
    let archive = pack(Path::new(&dir), &plugin.metadata.name)
        .map_err(|error| error.within("failed to create plugin tarball"))?;
    let name = archive_name(&plugin.metadata);
    let path = crate::path::join(&[&destination, &name]);
    let provenance = match &signer {
        None => None,
        Some(signer) => {
            let text = message(&signed_metadata(&plugin.metadata)?, &name, &sha256(&archive))?;
            Some(signer.sign_text(invocation, |_| Ok(text))?)
        }
    };
    let write = |path: &str, bytes: &[u8]| {
        let name = Path::new(crate::path::base(path));
        pintle::chart::write_below(Path::new(&destination), name, bytes)
            .map_err(|error| Failure::run_time(format!("open {path}: {}", reason(&error))))
    };
    write(&path, &archive).map_err(|failure| failure.during("failed to create tarball"))?;
    if let Some(provenance) = provenance {
        let file = format!("{path}.prov");
        write(&file, &provenance)?;
        invocation.ui.print(&format!("Successfully signed. Signature written to: {file}\n"))?;
    }
    invocation.ui.print(&format!("Successfully packaged plugin and saved it to: {path}\n"))
}

/// Makes the folder for the archive, with the errors of Go.
fn make_destination(destination: &str) -> Result<(), Failure> {
    let failed = |reason: &str| Failure::run_time(format!("mkdir {destination}: {reason}"));
    if destination.is_empty() {
        return Err(failed("no such file or directory"));
    }
    std::fs::create_dir_all(destination).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => failed("not a directory"),
        _ => failed(&reason(&error)),
    })
}
