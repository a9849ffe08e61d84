//! `verify`: verifies the signature of a chart.

use pintle::provenance::{PublicKey, verify_cosign};
use pintle::registry::chart::ChartReference;

use crate::command::{ArgCompletion, Command, Operands};
use crate::env::Setting;
use crate::failure::Failure;
use crate::flag::groups::{DEVEL, REMOTE};
use crate::flag::{Flag, FlagCompletion};
use crate::invocation::Invocation;
use crate::{provenance, registry_access};

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

A chart in a registry (oci://…) is verified against its cosign signature and the public key of --key.

`{program} package --sign` creates provenance files, and --verify of other commands does the same check first.",
    flags: &[KEYRING, DEVEL, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static KEYRING: &[Flag] = &[
    Flag::text("keyring", "the file of public keys").or_setting(Setting::Keyring),
    Flag::text("key", "for charts in registries, the public key of cosign to verify with"),
    Flag::text("version", "for charts in registries, the version or a range such as ^2.0.0")
        .completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let archive = invocation.operand(0).to_owned();
    if archive.starts_with("oci://") && std::fs::metadata(&archive).is_err() {
        return verify_in_registry(invocation, &archive);
    }
    let verified = provenance::verify_archive(invocation, &archive, &format!("{archive}.prov"))?;
    invocation.ui.print(&provenance::words(&verified))
}

/// Verifies a chart in a registry without downloading it.
fn verify_in_registry(invocation: &mut Invocation<'_>, reference: &str) -> Result<(), Failure> {
    let flags = &invocation.flags;
    if flags.text("key").is_empty() {
        return Err(Failure::usage(format!("no key to verify {reference} with"))
            .hint("set --key to the file of the public key for the cosign signature"));
    }
    let key = PublicKey::read(&provenance::read(flags.text("key"), KEY_LIMIT)?)?;
    let version = match flags.text("version").trim() {
        "" if flags.on("devel") => ">0.0.0-0".to_owned(),
        version => version.to_owned(),
    };
    let client = registry_access::client(invocation)?;
    let failure = |error| Failure::from(pintle::Error::from(error));
    let outcome = registry_access::run(async {
        let parsed = ChartReference::parse(reference).map_err(failure)?;
        let chart = client.resolve_chart(&parsed, &version).await.map_err(failure)?;
        let digest = client.chart_digest(&chart).await.map_err(failure)?;
        let digest = digest.ok_or_else(|| Failure::run_time(format!("{chart}: not found")))?;
        let signatures = client.chart_signatures(&parsed.repository, &digest).await.map_err(failure)?;
        let pairs = signatures.iter().map(|one| (one.payload.as_ref(), one.signature.as_str()));
        verify_cosign(&key, pairs, &digest.to_string())?;
        Ok::<_, Failure>((chart.to_string(), digest))
    })?;
    let (chart, digest) = outcome?;
    invocation.ui.print(&format!("Signed chart: {chart}\nManifest Digest Verified: {digest}\n"))
}

/// The size limit of a key.
const KEY_LIMIT: usize = 64 << 10;
