//! `verify`: whether a chart was signed, and by whom.

use crate::command::{Command, OperandOffer, Operands};
use crate::env::Setting;
use crate::failure::Failure;
use crate::flag::Flag;
use crate::invocation::Invocation;
use crate::provenance;

/// `verify PATH`
pub(crate) static COMMAND: Command = Command {
    name: "verify",
    operands_text: "PATH",
    operands: Operands::Exactly(1),
    offer: OperandOffer::FirstFile,
    short: "verify the signature of a chart archive",
    long: "\
Verifies that an archive is the one that its provenance file (the archive's name with .prov) was signed for, and that the
signature is by a key of the keyring. Keyrings may be binary, armored, or keyboxes of GnuPG.

`{program} package --sign` makes provenance files, and --verify of other commands does the same check first.",
    flags: &[KEYRING],
    run: Some(run),
    ..Command::BLANK
};

static KEYRING: &[Flag] = &[Flag::text("keyring", "the file of public keys").or_setting(Setting::Keyring)];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let archive = invocation.operand(0).to_owned();
    let verified = provenance::verify_archive(invocation, &archive, &format!("{archive}.prov"))?;
    invocation.ui.print(&provenance::words(&verified))
}
