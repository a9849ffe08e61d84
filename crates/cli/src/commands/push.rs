//! `push`: uploads a chart to a registry.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use pintle::ops::PushRequest;
use pintle::registry::Silent;
use pintle::registry::chart::UNDERSCORE;
use pintle_time::{GoTime, Zone};
use pintle_tree::quote::quote;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, reason};
use crate::flag::groups::REMOTE;
use crate::invocation::Invocation;
use crate::registry_access;
use crate::report::Reporting;

/// `push [chart] [remote]`
pub(crate) static COMMAND: Command = Command {
    name: "push",
    operands_text: "[chart] [remote]",
    operands: Operands::AtLeast(2),
    completion: ArgCompletion::FirstFile,
    short: "push a chart archive to a registry",
    long: "\
Upload a chart archive to a registry. The name of the chart is appended to the path, and its version is the tag:

    {program} push web-1.2.3.tgz oci://registry.example.com/charts

A provenance file next to the archive is uploaded too. `+` in a version becomes `_` in the tag, and `+` again on pull.",
    flags: &[REMOTE],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let client = registry_access::client(invocation)?;
    let (archive, remote) = (invocation.operand(0).to_owned(), invocation.operand(1).to_owned());
    match scheme(&remote) {
        Err(()) => {
            return Err(Failure::usage(format!("invalid chart URL format: {remote}")).hint(REMOTE_HINT));
        }
        Ok("") => {
            let text = "scheme prefix missing from remote (e.g. \"oci://\")";
            return Err(Failure::usage(text).hint(REMOTE_HINT));
        }
        Ok("oci") => {}
        Ok(other) => {
            let text = format!("scheme {} not supported", quote(other.to_ascii_lowercase().as_bytes()));
            return Err(Failure::usage(text).hint(REMOTE_HINT));
        }
    }
    let found = std::fs::metadata(&archive).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(format!("{archive}: no such file")),
        _ => Failure::usage(format!("stat {archive}: {}", reason(&error))),
    })?;
    if found.is_dir() {
        return Err(Failure::usage("cannot push directory, must provide chart archive (.tgz)")
            .hint(format!("`{} package` creates one", invocation.personality.program())));
    }
    let seconds = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let seconds = seconds.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or_default());
    let created = GoTime::from_unix(seconds, 0, Zone::local()).format("2006-01-02T15:04:05Z07:00");
    let request = PushRequest { archive: PathBuf::from(archive), remote, created };
    let pushed = registry_access::run(pintle::ops::push_oci_chart(
        &client,
        &request,
        Arc::new(Silent),
        &mut Reporting::new(invocation.ui),
    ))??;
    let mut text = format!("Pushed: {}\nDigest: {}\n", pushed.reference, pushed.manifest);
    let tag = pushed.reference.rsplit(':').next().unwrap_or_default();
    if tag.contains('_') {
        text.push_str(&format!("{} contains an underscore.\n{UNDERSCORE}\n", pushed.reference));
    }
    invocation.ui.print(&text)
}

const REMOTE_HINT: &str = "charts are pushed to registries: oci://HOST/FOLDER";

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
