//! `--verify=cosign`: verifies charts of registries by the signatures that cosign has put beside them.

use pintle::cosign::{CosignTrust, Expected};
use pintle::provenance::{PublicKey, TRUSTED_ROOT_LIMIT, TrustedRoot};
use pintle::repo::{Resolved, Resolver};

use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::flag::{Name, names};
use crate::invocation::Invocation;
use crate::provenance;

/// The size limit of a key.
const KEY_LIMIT: usize = 64 << 10;

/// Whether to verify a cosign signature instead of a provenance file.
pub(crate) fn is_asked(flags: &Parsed) -> bool {
    flags.declares(names::VERIFY)
        && flags.declares(names::TRUSTED_ROOT)
        && flags.text(names::VERIFY_TEXT) == "cosign"
}

/// Checks the flags before anything is asked for.
pub(crate) fn check_flags(flags: &Parsed) -> Result<(), Failure> {
    trust(flags).map(drop)
}

/// Verifies the signature of a resolved chart before it is fetched, pins `resolved` to the digest of the verified manifest, and
/// returns a summary.
pub(crate) fn verify(
    invocation: &Invocation<'_>,
    resolver: &Resolver<'_>,
    resolved: &mut Resolved,
) -> Result<String, Failure> {
    let trust = trust(&invocation.flags)?;
    let chart = resolved.source.url.trim_start_matches("oci://").to_owned();
    let (manifest, signatures) = resolver.signatures(resolved)?;
    let signer = trust.verify(&signatures, &manifest)?;
    let signer = signer.map(|signer| format!("Signed by: {} ({})\n", signer.identity, signer.issuer));
    let signer = signer.unwrap_or_default();
    Ok(format!("Signed chart: {chart}\n{signer}Manifest Digest Verified: {manifest}\n"))
}

/// The required key or signer, from the flags.
fn trust(flags: &Parsed) -> Result<CosignTrust, Failure> {
    let expected = |exact: Name<String>, regexp: Name<String>| {
        let (name, other) = (exact.as_str(), regexp.as_str());
        match (flags.text(exact), flags.text(regexp)) {
            ("", "") => Ok(None),
            (text, "") => Ok(Some(Expected::Exactly(text.to_owned()))),
            ("", pattern) => Expected::matching(pattern)
                .map(Some)
                .map_err(|reason| Failure::usage(format!("--{other} is no regular expression: {reason}"))),
            _ => Err(Failure::usage(format!("--{name} and --{other} cannot be used together"))),
        }
    };
    let (key, root) = (flags.text(names::KEY), flags.text(names::TRUSTED_ROOT));
    let identity = expected(names::CERTIFICATE_IDENTITY, names::CERTIFICATE_IDENTITY_REGEXP)?;
    let issuer = expected(names::CERTIFICATE_OIDC_ISSUER, names::CERTIFICATE_OIDC_ISSUER_REGEXP)?;
    match (key, identity, issuer) {
        ("", Some(identity), Some(issuer)) => {
            if root.is_empty() {
                return Err(Failure::usage("no trusted root to verify certificates with").hint(
                    "set --trusted-root to a trusted_root.json; `cosign trusted-root create` makes one",
                ));
            }
            let root = TrustedRoot::read(&provenance::read(root, TRUSTED_ROOT_LIMIT)?)?;
            Ok(CosignTrust::Signer { root, identity, issuer })
        }
        ("", None, None) => Err(Failure::usage("no key and no identity to verify the signature with").hint(
            "set --key to a public key of cosign, or --certificate-identity and --certificate-oidc-issuer",
        )),
        ("", _, _) => {
            Err(Failure::usage("--certificate-identity and --certificate-oidc-issuer are needed together"))
        }
        (key, None, None) => Ok(CosignTrust::Key(PublicKey::read(&provenance::read(key, KEY_LIMIT)?)?)),
        _ => Err(Failure::usage("--key and --certificate-identity cannot be used together")),
    }
}
