//! `verify`: verifies the signature of a chart.

use std::path::Path;
use std::sync::Arc;

use pintle::Silent;
use pintle::ops::{verify_archive, verify_reference};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::env::Setting;
use crate::failure::Failure;
use crate::flag::groups::{COSIGN, DEVEL, REMOTE};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::{chart_reference, cosign, provenance, remote};

/// `verify PATH`
pub(crate) static COMMAND: Command = Command {
    name: "verify",
    operands_text: "PATH",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::FirstFile,
    short: "verify the signature of a chart archive",
    long: "\
Verify that an archive matches its provenance file (the archive's name with .prov), and that the file was signed by a key
of the keyring. Keyrings may be binary, armored, or GnuPG keyboxes.

A chart in a registry (oci://…) is verified by its cosign signature: against the public key of --key, or against the
identity and the issuer in the certificate of the signer. For the latter, --trusted-root names the authorities and
logs to trust; nothing but the registry is asked.

    {program} verify oci://registry.example.com/charts/web:1.2.3 --key cosign.pub
    {program} verify oci://registry.example.com/charts/web:1.2.3 --trusted-root trusted_root.json \
      --certificate-identity me@example.com --certificate-oidc-issuer https://accounts.example.com

`{program} package --sign` creates provenance files, and --verify of other commands does the same check first.",
    flags: &[KEYRING, COSIGN, DEVEL, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static KEYRING: &[Flag] = &[
    Flag::text(names::KEYRING, "the file of public keys").or_setting(Setting::Keyring),
    Flag::text(names::VERSION, "for charts in registries, the version or a range such as ^2.0.0")
        .completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let archive = invocation.operand(0).to_owned();
    let in_registry = archive.starts_with("oci://") && std::fs::metadata(&archive).is_err();
    let flags = &invocation.flags;
    let as_helm =
        invocation.personality == Personality::Helm && COSIGN.iter().all(|flag| !flags.is_given(flag.name));
    if in_registry && !as_helm {
        return verify_in_registry(invocation, &archive);
    }
    let keyring = provenance::keyring_file(invocation);
    let provenance = format!("{archive}.prov");
    let (archive, provenance) = (Path::new(&archive), Path::new(&provenance));
    let verified = run_offline(verify_archive(&keyring, archive, provenance, &mut Silent))?;
    invocation.ui.print(&provenance::words(&verified))
}

/// Verifies a chart in a registry without downloading it.
fn verify_in_registry(invocation: &mut Invocation<'_>, reference: &str) -> Result<(), Failure> {
    let trust = Arc::new(cosign::trust(&invocation.flags)?);
    let chart = chart_reference::of_query(invocation, remote::wanted(&invocation.flags, reference))?;
    let verified = run_offline(verify_reference(&chart, &trust, &mut Silent))?;
    invocation.ui.print(&cosign::words(&verified))
}
