//! What `push` puts beside a chart in a registry: the key and the documents that its flags name.

use std::path::{Path, PathBuf};

use pintle::ops::{AttachRequest, Attached, Attachments, read_signature_file};
use pintle::provenance::CosignKey;

use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::prompt;

/// The size limit of a key.
const KEY_LIMIT: usize = 64 << 10;

/// The variable with the password of the key, which cosign reads, too.
const PASSWORD: &str = "COSIGN_PASSWORD";

/// The documents that were asked for, read and checked; `None` without any.
pub(super) fn attachments(invocation: &mut Invocation<'_>) -> Result<Option<Attachments>, Failure> {
    let paths = |given: &[String]| given.iter().map(PathBuf::from).collect::<Vec<_>>();
    let (sboms, statements) =
        (paths(invocation.flags.list(names::SBOM)), paths(invocation.flags.list(names::ATTEST)));
    let key = key(invocation)?;
    if key.is_none() && sboms.is_empty() && statements.is_empty() {
        return Ok(None);
    }
    Ok(Some(Attachments::read(&AttachRequest { key, sboms, statements })?))
}

fn key(invocation: &mut Invocation<'_>) -> Result<Option<CosignKey>, Failure> {
    let file = invocation.flags.text(names::KEY).to_owned();
    match (invocation.flags.text(names::SIGN_TEXT), file.as_str()) {
        ("", "") => return Ok(None),
        ("", _) => return Err(Failure::usage("--key is the key of --sign=cosign, which is not given")),
        ("cosign", "") => {
            return Err(Failure::usage("--sign=cosign needs a private key")
                .hint("--key cosign.key; `cosign generate-key-pair` makes one"));
        }
        ("cosign", _) => {}
        (other, _) => {
            return Err(Failure::usage(format!(
                "--sign={other}: charts in registries are signed with cosign"
            ))
            .hint("`package --sign` makes a provenance file, which push uploads, too"));
        }
    }
    read_key(invocation, &file).map(Some)
}

/// Reads a private key. The password of one that has it comes from the environment, or else from the terminal.
pub(crate) fn read_key(invocation: &mut Invocation<'_>, file: &str) -> Result<CosignKey, Failure> {
    let text = read_signature_file(Path::new(file), KEY_LIMIT)?;
    let password = match invocation.environment.variable(PASSWORD) {
        Some(password) => password,
        None if CosignKey::is_encrypted(&text) => {
            prompt::hidden(invocation.ui, &format!("Password for key {file}: "))?
        }
        None => String::new(),
    };
    Ok(CosignKey::read(&text, password.as_bytes())?)
}

/// What was put beside the chart, a line for each.
pub(super) fn report(attached: &[Attached]) -> String {
    attached
        .iter()
        .map(|one| match one {
            Attached::Signature => "Signed: cosign\n".to_owned(),
            Attached::Sbom { media_type, manifest } => format!("Attached: {media_type} ({manifest})\n"),
            Attached::Statement { predicate, manifest } => format!("Attested: {predicate} ({manifest})\n"),
        })
        .collect()
}
