//! `--verify=cosign`: verifies charts of registries by the signatures that cosign has put beside them.

use std::path::Path;

use pintle::cosign::{CosignTrust, Expected};
use pintle::ops::{CosignVerified, read_signature_file};
use pintle::provenance::{PublicKey, TRUSTED_ROOT_LIMIT, TrustedRoot};

use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::flag::{Name, names};

/// The size limit of a key.
const KEY_LIMIT: usize = 64 << 10;

/// Whether to verify a cosign signature instead of a provenance file.
pub(crate) fn is_asked(flags: &Parsed) -> bool {
    flags.declares(names::VERIFY)
        && flags.declares(names::TRUSTED_ROOT)
        && flags.text(names::VERIFY_TEXT) == "cosign"
}

/// The text for a chart with a valid signature.
pub(crate) fn words(verified: &CosignVerified) -> String {
    let CosignVerified { chart, signer, manifest } = verified;
    let signer = signer.as_ref().map(|by| format!("Signed by: {} ({})\n", by.identity, by.issuer));
    format!("Signed chart: {chart}\n{}Manifest Digest Verified: {manifest}\n", signer.unwrap_or_default())
}

/// The required key or signer, from the flags.
pub(crate) fn trust(flags: &Parsed) -> Result<CosignTrust, Failure> {
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
            let root = TrustedRoot::read(&read_signature_file(Path::new(root), TRUSTED_ROOT_LIMIT)?)?;
            Ok(CosignTrust::Signer { root, identity, issuer })
        }
        ("", None, None) => Err(Failure::usage("no key and no identity to verify the signature with").hint(
            "set --key to a public key of cosign, or --certificate-identity and --certificate-oidc-issuer",
        )),
        ("", _, _) => {
            Err(Failure::usage("--certificate-identity and --certificate-oidc-issuer are needed together"))
        }
        (key, None, None) => {
            Ok(CosignTrust::Key(PublicKey::read(&read_signature_file(Path::new(key), KEY_LIMIT)?)?))
        }
        _ => Err(Failure::usage("--key and --certificate-identity cannot be used together")),
    }
}
