//! Puts beside a pushed chart what others check: a signature of cosign, bills of materials, and statements about how it was made.

use std::path::{Path, PathBuf};

use pintle_provenance::CosignKey;
use pintle_registry::Digest;
use pintle_registry::chart::{ChartReference, PushedChart};
use pintle_tree::{Map, Node};

use crate::{Error, Remote, RemoteError, Result};

/// The largest document; bills of materials of large charts have some megabytes.
const LIMIT: u64 = 32 << 20;

/// The type of predicates that do not say theirs.
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// The media type of signed statements.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// What to put beside a chart.
#[derive(Clone, Debug, Default)]
pub struct AttachRequest {
    /// The key to sign the chart with. Statements need it, too.
    pub key: Option<CosignKey>,
    /// Files with bills of materials: CycloneDX or SPDX, in JSON.
    pub sboms: Vec<PathBuf>,
    /// Files with in-toto statements, of which subjects are replaced by the chart, or with predicates about how it was built.
    pub statements: Vec<PathBuf>,
}

/// The documents of an [`AttachRequest`], read and checked. That is done before a chart is pushed.
#[derive(Clone, Debug)]
pub struct Attachments {
    key: Option<CosignKey>,
    sboms: Vec<(&'static str, Vec<u8>)>,
    /// The type of each predicate, and the predicate.
    statements: Vec<(String, Node)>,
}

/// What was put beside a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    /// A signature of the manifest.
    Signature,
    /// A bill of materials.
    Sbom {
        /// Its media type.
        media_type: &'static str,
        /// The digest by which it is found.
        manifest: Digest,
    },
    /// A signed statement.
    Statement {
        /// The type of its predicate.
        predicate: String,
        /// The digest by which it is found.
        manifest: Digest,
    },
}

impl Attachments {
    /// Reads the documents.
    ///
    /// # Errors
    /// When one cannot be read or is of another kind, and for statements without a key.
    pub fn read(request: &AttachRequest) -> Result<Attachments> {
        if let (None, Some(path)) = (&request.key, request.statements.first()) {
            let reason = "a statement is signed, and no key is given".to_owned();
            return Err(RemoteError::Attachment { path: path.clone(), reason }.into());
        }
        let sboms = request.sboms.iter().map(|path| {
            let (text, tree) = document(path)?;
            let media_type = sbom_type(&tree).ok_or_else(|| RemoteError::Attachment {
                path: path.clone(),
                reason: "this is no bill of materials in JSON (CycloneDX or SPDX)".to_owned(),
            })?;
            Ok((media_type, text))
        });
        let statements = request.statements.iter().map(|path| Ok(predicate_of(document(path)?.1)));
        Ok(Attachments {
            key: request.key.clone(),
            sboms: sboms.collect::<Result<_>>()?,
            statements: statements.collect::<Result<_>>()?,
        })
    }
}

fn document(path: &Path) -> Result<(Vec<u8>, Node)> {
    let text = pintle_chart::read_limited(path, LIMIT);
    let text = text.map_err(|source| Error::File { action: "read", path: path.to_owned(), source })?;
    let tree = pintle_tree::json::read_exact(&text);
    let bad = |reason: String| RemoteError::Attachment { path: path.to_owned(), reason };
    let tree = tree.map_err(|error| bad(format!("this is no JSON: {error}")))?;
    match tree {
        Node::Map(_) => Ok((text, tree)),
        _ => Err(bad("this is no JSON object".to_owned()).into()),
    }
}

fn sbom_type(tree: &Node) -> Option<&'static str> {
    if tree.get("bomFormat").and_then(Node::as_str) == Some("CycloneDX") {
        return Some("application/vnd.cyclonedx+json");
    }
    tree.get("spdxVersion").and_then(Node::as_str).map(|_| "application/spdx+json")
}

/// The predicate of a statement, and its type. What is no statement is a predicate itself.
fn predicate_of(tree: Node) -> (String, Node) {
    match (tree.get("predicateType").and_then(Node::as_str), tree.get("predicate")) {
        (Some(kind), Some(predicate)) => (kind.to_owned(), predicate.clone()),
        _ => (PROVENANCE.to_owned(), tree),
    }
}

/// Puts documents beside a chart in a registry. Doing so twice has no effect. Needs the runtime of tokio.
///
/// # Errors
/// When the registry does not have the chart, or refuses something.
pub async fn attach_to_chart(
    remote: &Remote,
    chart: &PushedChart,
    attachments: &Attachments,
) -> Result<Vec<Attached>> {
    let client = remote.registry.as_ref().ok_or(RemoteError::NoRegistry)?;
    let repository = ChartReference::parse(&chart.reference)?.repository;
    let (manifest, name) = (chart.manifest.to_string(), repository.to_string());
    let mut done = Vec::new();
    for (media_type, text) in &attachments.sboms {
        let found = client.attach(&repository, &chart.manifest, media_type, text.clone().into()).await?;
        done.push(Attached::Sbom { media_type, manifest: found });
    }
    let Some(key) = &attachments.key else { return Ok(done) };
    for (kind, predicate) in &attachments.statements {
        let bundle = key.sign_statement(&statement(&name, &chart.manifest, kind, predicate))?;
        let found = client.attach(&repository, &chart.manifest, BUNDLE, bundle.into()).await?;
        done.push(Attached::Statement { predicate: kind.clone(), manifest: found });
    }
    // Last, so that what is signed has all that belongs to it.
    let signed = key.sign_manifest(&name, &manifest)?;
    client.add_signature(&repository, &chart.manifest, signed.payload.into(), &signed.signature).await?;
    done.push(Attached::Signature);
    Ok(done)
}

/// An in-toto statement about a manifest.
fn statement(name: &str, manifest: &Digest, kind: &str, predicate: &Node) -> Node {
    let object = |entries: Vec<(&str, Node)>| {
        Node::from(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map<Node>>())
    };
    let digest = object(vec![(manifest.algorithm(), manifest.hex().into())]);
    object(vec![
        ("_type", "https://in-toto.io/Statement/v1".into()),
        ("subject", vec![object(vec![("name", name.into()), ("digest", digest)])].into()),
        ("predicateType", kind.into()),
        ("predicate", predicate.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, key: bool) -> Result<Attachments> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        let key =
            key.then(|| CosignKey::read(include_bytes!("../../tests/cosign/key.pem"), b"").expect("a key"));
        let (sboms, statements) = match name {
            "sbom" => (vec![path], Vec::new()),
            _ => (Vec::new(), vec![path]),
        };
        Attachments::read(&AttachRequest { key, sboms, statements })
    }

    #[test]
    fn documents_of_other_kinds_are_refused_before_anything_is_pushed() {
        let kind = |text| read("sbom", text, false).map(|read| read.sboms[0].0);
        assert_eq!(kind(r#"{"bomFormat":"CycloneDX"}"#).expect("known"), "application/vnd.cyclonedx+json");
        assert_eq!(kind(r#"{"spdxVersion":"SPDX-2.3"}"#).expect("known"), "application/spdx+json");
        for text in ["{}", "[]", "no JSON", ""] {
            assert!(kind(text).is_err(), "{text}");
        }
        let refused = read("statement", "{}", false).expect_err("there is no key").to_string();
        assert!(refused.contains("no key is given"), "{refused}");
    }

    #[test]
    fn a_statement_keeps_its_predicate_and_is_about_the_chart() {
        let text = r#"{"_type":"x","subject":[{"name":"other"}],"predicateType":"https://a.example/v1","predicate":{"b":1}}"#;
        let read = read("statement", text, true).expect("read");
        let (kind, predicate) = &read.statements[0];
        let made = statement("r.io/web", &Digest::of(b""), kind, predicate);
        let text = pintle_tree::json::write(&made).expect("JSON");
        let text = String::from_utf8_lossy(&text);
        assert!(
            text.contains(r#""predicateType":"https://a.example/v1""#)
                && text.contains(r#""predicate":{"b":1}"#)
        );
        assert!(text.contains(r#""name":"r.io/web""#) && !text.contains("other"), "{text}");
    }
}
