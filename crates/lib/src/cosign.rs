//! Signatures of cosign on charts in registries: whose signature a chart must have, and whether it has it.

use pintle_provenance::{
    CosignSignature, PublicKey, Result, Signer, TrustedRoot, verify_cosign, verify_keyless,
};
use pintle_regex::Regex;
use pintle_registry::Digest;
use pintle_registry::chart::ChartSignature;

/// What a text of a certificate must be.
#[derive(Debug)]
pub enum Expected {
    /// This text.
    Exactly(String),
    /// A text in which this is found; as in cosign, only `^` and `$` make it the whole text.
    Matching(Regex),
}

impl Expected {
    /// What matches a regular expression of Go.
    ///
    /// # Errors
    ///
    /// What is wrong with the expression, in Go's words.
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
    /// That of whoever has the private half of this key.
    Key(PublicKey),
    /// That of somebody with this identity, without a key.
    Signer {
        /// The authorities and logs that are trusted.
        root: TrustedRoot,
        /// Who must have signed.
        identity: Expected,
        /// Who must vouch for the identity.
        issuer: Expected,
    },
}

impl CosignTrust {
    /// Checks that one of `signatures` is good for this manifest. Gives the signer, if the certificate names one.
    ///
    /// # Errors
    ///
    /// When none is, and for a trusted root that cannot be used.
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
