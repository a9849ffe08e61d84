//! Verifies cosign signatures of charts in registries against a key or an expected signer.

use pintle_provenance::{
    CosignSignature, PublicKey, Result, Signer, TrustedRoot, verify_cosign, verify_keyless,
};
use pintle_regex::Regex;
use pintle_registry::Digest;
use pintle_registry::chart::ChartSignature;

/// The expected value of a certificate field.
#[derive(Debug)]
pub enum Expected {
    /// Exactly this value.
    Exactly(String),
    /// A value that contains a match; as in cosign, only `^` and `$` anchor the expression.
    Matching(Regex),
}

impl Expected {
    /// Compiles a regular expression in Go's syntax.
    ///
    /// # Errors
    ///
    /// The syntax error, as Go words it.
    pub fn matching(pattern: &str) -> std::result::Result<Expected, String> {
        Regex::compile(pattern).map(Expected::Matching).map_err(|error| error.to_string())
    }

    fn accepts(&self, text: &str) -> bool {
        match self {
            Expected::Exactly(expected) => expected == text,
            Expected::Matching(pattern) => pattern.is_match(text.as_bytes()),
        }
    }
}

/// Whose signature a chart must have.
#[derive(Debug)]
pub enum CosignTrust {
    /// The owner of the private key that belongs to this public key.
    Key(PublicKey),
    /// A signer with this identity, by keyless signing.
    Signer {
        /// The trusted certificate authorities and transparency logs.
        root: TrustedRoot,
        /// The identity in the signer's certificate.
        identity: Expected,
        /// The OIDC issuer that attests the identity.
        issuer: Expected,
    },
}

impl CosignTrust {
    /// Checks that one of `signatures` is valid for this manifest. Returns the signer of a keyless signature.
    ///
    /// # Errors
    ///
    /// When none is valid, or the trusted root cannot be used.
    pub fn verify(&self, signatures: &[ChartSignature], manifest: &Digest) -> Result<Option<Signer>> {
        let signatures: Vec<CosignSignature<'_>> = signatures
            .iter()
            .map(|one| CosignSignature {
                content: &one.content,
                is_bundle: one.is_bundle,
                signature: &one.signature,
                certificate: &one.certificate,
                log_entry: &one.log_entry,
                timestamp: &one.timestamp,
            })
            .collect();
        let manifest = manifest.to_string();
        match self {
            CosignTrust::Key(key) => verify_cosign(key, &signatures, &manifest).map(|()| None),
            CosignTrust::Signer { root, identity, issuer } => {
                let accepts =
                    |signer: &Signer| identity.accepts(&signer.identity) && issuer.accepts(&signer.issuer);
                verify_keyless(root, &signatures, &manifest, &accepts).map(Some)
            }
        }
    }
}
