//! `push`: uploads a chart to a registry, or to a repository that takes uploads.

pub(super) mod signing;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use pintle::ops::{
    PushRequest, UploadRequest, Uploaded, access_of, archive_metadata, archive_name, attach_to_chart,
    upload_chart,
};
use pintle::registry::chart::UNDERSCORE;
use pintle::repo::UploadAnswer;
use pintle_plugin::Plugin;
use pintle_time::{GoTime, Zone};
use pintle_tree::quote::quote;
use pintle_tree::redact::redacted;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::groups::REMOTE;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins::uploader::{self, PluginUpload};
use crate::report::Reporting;
use crate::{copy_progress, registry_access, remote};

/// `push [chart] [remote]`
pub(crate) static COMMAND: Command = Command {
    name: "push",
    operands_text: "[chart] [remote]",
    operands: Operands::AtLeast(2),
    completion: ArgCompletion::FileAndRemote,
    short: "push a chart archive to a registry or a repository",
    long: "\
Upload a chart archive to a registry. The name of the chart is appended to the path, and its version is the tag:

    {program} push web-1.2.3.tgz oci://registry.example.com/charts

A provenance file next to the archive is uploaded too. `+` in a version becomes `_` in the tag, and `+` again on pull.

With --sign=cosign, the chart is signed with a key of cosign, whose password is read from $COSIGN_PASSWORD; pull, install and
others verify that with --verify=cosign. Bills of materials and statements are put beside the chart:

    {program} push web-1.2.3.tgz oci://registry.example.com/charts --sign=cosign --key cosign.key --sbom web.cdx.json

When called as pintle, the archive can also go to a chart repository that has the API of ChartMuseum. The URL is that of
`repo add`, whose credentials are used:

    pintle push web-1.2.3.tgz https://charts.example.com/team

URLs of other schemes, such as s3://, need a plugin that uploads to them (`type: uploader/v1`).",
    flags: &[OWN, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(
        names::FORCE,
        "replace a version that exists in the repository; not for registries, which always do",
    ),
    Flag::text(
        names::CONTEXT_PATH,
        "where the API of the repository begins; by default, what its index says",
    ),
    Flag::text(names::SIGN_TEXT, "sign the chart in the registry; cosign is the only way to").bare("cosign"),
    Flag::text(names::KEY, "the private key of cosign to sign with"),
    Flag::array(
        names::SBOM,
        "a bill of materials to put beside the chart: CycloneDX or SPDX, in JSON; may be repeated",
    ),
    Flag::array(
        names::ATTEST,
        "a statement about the chart to sign and put beside it: in-toto, or the predicate of SLSA provenance; may be repeated",
    ),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let attachments = signing::attachments(invocation)?;
    let client = registry_access::client(invocation)?;
    let (archive, remote) = (invocation.operand(0).to_owned(), invocation.operand(1).to_owned());
    match scheme(&remote).map(str::to_ascii_lowercase).as_deref() {
        Err(_) => {
            return Err(Failure::usage(format!("invalid chart URL format: {remote}")).hint(REMOTE_HINT));
        }
        Ok("") => {
            let text = "scheme prefix missing from remote (e.g. \"oci://\")";
            return Err(Failure::usage(text).hint(REMOTE_HINT));
        }
        Ok("oci") => {}
        Ok(_) if attachments.is_some() => {
            let text = "only charts in registries (oci://) can be signed with --sign, --sbom and --attest";
            return Err(Failure::usage(text).hint("`package --sign` signs an archive"));
        }
        Ok("http" | "https") if invocation.personality == Personality::Pintle => {
            return push_to_repository(invocation, Path::new(&archive), &remote);
        }
        Ok(other) => {
            let text = format!("scheme {} not supported", quote(other.as_bytes()));
            return match uploader::find(invocation, other)? {
                Some(plugin) => push_with_plugin(invocation, &plugin, Path::new(&archive), &remote),
                None => Err(Failure::usage(text).hint(REMOTE_HINT)),
            };
        }
    }
    let found = archive_metadata(Path::new(&archive))?;
    let seconds = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let seconds = seconds.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or_default());
    let created = GoTime::from_unix(seconds, 0, Zone::local()).format("2006-01-02T15:04:05Z07:00");
    // Helm prints nothing if the scheme is spelled differently, such as `OCI://`.
    let silent = invocation.personality == Personality::Helm && !remote.starts_with("oci://");
    let request = PushRequest { archive: PathBuf::from(archive), remote, created };
    let quiet = invocation.personality == Personality::Helm || !std::io::stderr().is_terminal();
    let (progress, _) = copy_progress::progress(quiet, found.len());
    let registries = remote::remote(invocation, remote::TIMEOUT).with_registry(client);
    let mut reporter = Reporting::new(invocation.ui);
    let pushing = pintle::ops::push_oci_chart(&registries, &request, progress, &mut reporter);
    let pushed = registry_access::run(pushing)??;
    let attached = match &attachments {
        Some(given) => registry_access::run(attach_to_chart(&registries, &pushed, given))??,
        None => Vec::new(),
    };
    if silent {
        return Ok(());
    }
    let mut text = format!("Pushed: {}\nDigest: {}\n", pushed.reference, pushed.manifest);
    let tag = pushed.reference.rsplit(':').next().unwrap_or_default();
    if tag.contains('_') {
        text.push_str(&format!("{} contains an underscore.\n{UNDERSCORE}\n", pushed.reference));
    }
    text.push_str(&signing::report(&attached));
    invocation.ui.print(&text)
}

const REMOTE_HINT: &str = "charts are pushed to registries (oci://HOST/FOLDER), as pintle to repositories \
     (https://HOST/PATH), and to what an uploader plugin knows";

/// Uploads by a plugin, with the credentials of the configured repository if the URL is one.
fn push_with_plugin(
    invocation: &mut Invocation<'_>,
    plugin: &Plugin,
    archive: &Path,
    url: &str,
) -> Result<(), Failure> {
    archive_metadata(archive)?;
    let remote = remote::remote(invocation, remote::TIMEOUT);
    let access = access_of(&remote, url, remote::access(&invocation.flags))?;
    let archive = std::path::absolute(archive)?;
    let file_name = archive_name(&archive, &mut Reporting::new(invocation.ui))?;
    let mut provenance = archive.as_os_str().to_owned();
    provenance.push(".prov");
    let provenance = Some(Path::new(&provenance)).filter(|path| path.is_file());
    invocation.ui.flush()?;
    let uploaded = PluginUpload { archive: &archive, provenance, url, access: &access };
    let printed = uploader::upload(invocation, plugin, &uploaded)?;
    invocation.ui.print(&String::from_utf8_lossy(&printed))?;
    invocation.ui.print(&format!("Pushed: {file_name} to {}\n", redacted(url)))
}

/// Uploads by the API of ChartMuseum. A provenance file next to the archive is sent along in a form.
fn push_to_repository(invocation: &mut Invocation<'_>, archive: &Path, url: &str) -> Result<(), Failure> {
    let size = archive_metadata(archive)?.len();
    let flags = &invocation.flags;
    let request = UploadRequest {
        archive: archive.to_owned(),
        url: url.to_owned(),
        access: remote::access(flags),
        context_path: flags.text(names::CONTEXT_PATH).to_owned(),
        force: flags.on(names::FORCE),
        ..UploadRequest::default()
    };
    // The timeout allows for slow connections: 100 kB per second.
    let remote = remote::remote(invocation, remote::TIMEOUT + Duration::from_secs(size / 100_000));
    let uploaded = run_offline(upload_chart(&remote, &request, &mut Reporting::new(invocation.ui)))?;
    let Uploaded { file_name, shown, answer } = uploaded;
    match answer {
        UploadAnswer::Saved => invocation.ui.print(&format!("Pushed: {file_name} to {shown}\n")),
        UploadAnswer::Refused { status, reason, body } => {
            Err(refused(&file_name, &shown, status, reason, &body))
        }
    }
}

fn refused(file_name: &str, url: &str, status: u16, reason: Option<String>, body: &str) -> Failure {
    let reason = reason.unwrap_or_else(|| body.trim().chars().take(200).collect());
    let reason_text = if reason.is_empty() { status.to_string() } else { format!("{status}: {reason}") };
    let failure = Failure::run_time(format!("{url} does not accept {file_name} ({reason_text})"));
    match status {
        409 => failure.hint("this version exists; --force replaces it, unless the server forbids that"),
        401 | 403 => failure.hint("give --username and --password, or add the repository with them"),
        404 | 405 => {
            failure.hint("is this a repository with the API of ChartMuseum? --context-path says where it is")
        }
        507 => failure.hint("the repository has reached its storage limit"),
        _ => failure,
    }
}

/// The scheme of a URL by Go's rules (`url.Parse`): empty if there is none, an error if it is not a URL.
fn scheme(url: &str) -> Result<&str, ()> {
    for (at, byte) in url.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(()),
            b':' => return Ok(&url[..at]),
            _ => break,
        }
    }
    // Go rejects a colon before the first slash, which would look like a scheme.
    let first = url.split('/').next().unwrap_or_default();
    if first.contains(':') { Err(()) } else { Ok("") }
}

#[cfg(test)]
mod tests {
    use super::scheme;

    #[test]
    fn schemes_are_found_as_go_finds_them() {
        assert_eq!(scheme("oci://r.io/a"), Ok("oci"));
        assert_eq!(scheme("localhost:5000/a"), Ok("localhost"));
        assert_eq!(scheme("127.0.0.1:5000/a"), Err(()));
        assert_eq!(scheme("foo/bar:1"), Ok(""));
        assert_eq!(scheme("://x"), Err(()));
        assert_eq!(scheme(""), Ok(""));
    }
}
