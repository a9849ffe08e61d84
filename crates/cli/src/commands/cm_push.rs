//! `cm-push`: uploads a chart to a repository with the flags and texts of the plugin of that name, so that scripts for the
//! plugin work without it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pintle::Silent;
use pintle::ops::{PackageRequest, UploadRequest, find_repository, upload_chart, with_entry};
use pintle::repo::address::Address;
use pintle::repo::{Access, AccessToken, UploadAnswer, pull};
use pintle_tree::Node;
use pintle_tree::quote::quote;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::{Failure, reason};
use crate::flag::{Flag, FlagCompletion, Kind, Name, names};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::{chart_reference, clock, dependencies, remote, scripts};

/// `cm-push CHART REPOSITORY`
pub(crate) static COMMAND: Command = Command {
    name: "cm-push",
    operands_text: "[chart] [repository]",
    operands: Operands::Any,
    completion: ArgCompletion::FirstFile,
    short: "push a chart to a repository, as the plugin cm-push does",
    long: "\
Upload a chart to a repository that has the API of ChartMuseum. A chart is a directory, which is packaged first, or an
archive; a repository is a name that `{program} repo add` gave it, or a URL.

    {program} cm-push web-1.2.3.tgz museum
    {program} cm-push ./web https://charts.example.com --version 1.2.4

Flags and variables are those of the plugin of this name. `pintle push` does the same, and sends provenance files.",
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::VERSION, "write this version into Chart.yaml")
        .short('v')
        .completes(FlagCompletion::Nothing),
    Flag::text(names::APP_VERSION, "write this appVersion into Chart.yaml")
        .short('a')
        .completes(FlagCompletion::Nothing),
    Flag::text(names::USERNAME, "the user to log in as ($HELM_REPO_USERNAME)").short('u'),
    Flag::text(names::PASSWORD, "the password ($HELM_REPO_PASSWORD)").short('p'),
    Flag::text(names::ACCESS_TOKEN, "the token to send ($HELM_REPO_ACCESS_TOKEN)"),
    Flag::text(
        names::AUTH_HEADER,
        "the header of the token instead of Authorization ($HELM_REPO_AUTH_HEADER)",
    ),
    Flag::text(names::CONTEXT_PATH, "where the API of the repository begins ($HELM_REPO_CONTEXT_PATH)"),
    Flag::text(
        names::CA_FILE,
        "verify the certificate of the server with this CA bundle ($HELM_REPO_CA_FILE)",
    ),
    Flag::text(names::CERT_FILE, "the client certificate to present over TLS ($HELM_REPO_CERT_FILE)"),
    Flag::text(names::KEY_FILE, "the key of the client certificate ($HELM_REPO_KEY_FILE)"),
    Flag::text(names::KEYRING, "accepted and ignored").hidden(),
    Flag::switch(names::INSECURE, "do not check the certificate of the server ($HELM_REPO_INSECURE)"),
    Flag::switch(names::FORCE, "replace a version that exists").short('f'),
    Flag::switch(names::DEPENDENCY_UPDATE, "update the dependencies before packaging").short('d'),
    Flag::switch(names::CHECK_HELM_VERSION, "print the major version of Helm").hidden(),
    Flag::of(names::TIMEOUT_SECONDS, Kind::Int, "30", "how many seconds to wait for the server").short('t'),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    if invocation.flags.on(names::CHECK_HELM_VERSION) {
        // The plugin prints 2 or 3; we behave as with Helm 3.
        return invocation.ui.print("3\n");
    }
    if invocation.flags.operands.len() != 2 {
        let text = "this command needs 2 arguments: name of chart, name of chart repository (or repo URL)";
        return Err(Failure::usage(text).hint(format!("usage: {}", invocation.command_path.usage_line())));
    }
    let to = destination(invocation)?;
    let scratch = tempfile::Builder::new().prefix("helm-push-").tempdir()?;
    let archive = archive(invocation, scratch.path())?;
    let seconds = invocation.flags.int(names::TIMEOUT_SECONDS, invocation.environment);
    let timeout = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let remote = remote::remote(invocation, timeout);
    let request = UploadRequest { archive, ..to };
    let uploaded = run_offline(upload_chart(&remote, &request, &mut Reporting::new(invocation.ui)))?;
    match uploaded.answer {
        UploadAnswer::Saved => invocation.ui.print("Done.\n"),
        UploadAnswer::Refused { status, reason: Some(reason), .. } => {
            let failure = Failure::run_time(format!("{status}: {reason}"));
            Err(if status == 409 { failure.hint("--force replaces it") } else { failure })
        }
        UploadAnswer::Refused { status, body, .. } => {
            Err(Failure::run_time(format!("{status}: could not properly parse response JSON: {body}")))
        }
    }
}

/// A flag, or else its variable.
fn setting(invocation: &Invocation<'_>, flag: Name<String>, variable: &str) -> String {
    match invocation.flags.text(flag) {
        "" => invocation.environment.variable(variable).unwrap_or_default(),
        given => given.to_owned(),
    }
}

/// The request without the archive.
fn destination(invocation: &Invocation<'_>) -> Result<UploadRequest, Failure> {
    let of = |flag: Name<String>, variable: &str| setting(invocation, flag, variable);
    let is_on = |variable: &str| {
        let text = invocation.environment.variable(variable).unwrap_or_default();
        crate::flag::value::read_bool(&text).unwrap_or(false)
    };
    let mut access = Access {
        username: of(names::USERNAME, "HELM_REPO_USERNAME"),
        password: of(names::PASSWORD, "HELM_REPO_PASSWORD"),
        cert_file: of(names::CERT_FILE, "HELM_REPO_CERT_FILE"),
        key_file: of(names::KEY_FILE, "HELM_REPO_KEY_FILE"),
        ca_file: of(names::CA_FILE, "HELM_REPO_CA_FILE"),
        insecure_skip_tls_verify: invocation.flags.on(names::INSECURE) || is_on("HELM_REPO_INSECURE"),
        ..Access::default()
    };
    let name = invocation.operand(1).to_owned();
    let is_url = name.starts_with("http://") || name.starts_with("https://");
    let mut url = name.clone();
    if !is_url {
        let remote = remote::remote(invocation, remote::TIMEOUT);
        let entry = find_repository(&remote, |entry| entry.name == name)?;
        let entry = entry.ok_or_else(|| {
            Failure::usage(format!("no repo named {} found", quote(name.as_bytes())))
                .hint("`repo add` adds one; a URL works too")
        })?;
        access = with_entry(access, &entry);
        url = entry.url;
    }
    // Repositories of the plugin's own scheme.
    if let Some(rest) = url.strip_prefix("cm://") {
        let scheme = if is_on("HELM_REPO_USE_HTTP") { "http" } else { "https" };
        url = format!("{scheme}://{rest}");
    }
    Address::parse(&url).map_err(Failure::usage)?;
    let mut token = AccessToken {
        token: of(names::ACCESS_TOKEN, "HELM_REPO_ACCESS_TOKEN"),
        header: of(names::AUTH_HEADER, "HELM_REPO_AUTH_HEADER"),
    };
    if token.token.is_empty() {
        token.token = codefresh_token(invocation).unwrap_or_default();
    }
    Ok(UploadRequest {
        shown: name,
        url,
        access,
        token,
        context_path: of(names::CONTEXT_PATH, "HELM_REPO_CONTEXT_PATH"),
        force: invocation.flags.on(names::FORCE),
        alone: true,
        ..UploadRequest::default()
    })
}

/// The token of the current context in `~/.cfconfig`, where the plugin looks for one.
fn codefresh_token(invocation: &Invocation<'_>) -> Option<String> {
    let path = Path::new(&invocation.environment.user_home()).join(".cfconfig");
    let tree = pintle_yaml::read(&crate::read::file(path, crate::read::MAX_SETTINGS).ok()?).ok()?;
    let current = tree.get("current-context").and_then(Node::as_str)?;
    let Node::Map(contexts) = tree.get("contexts")? else { return None };
    let is_current = |context: &&Node| context.get("name").and_then(Node::as_str) == Some(current);
    let context = contexts.iter().map(|(_, context)| context).find(is_current)?;
    Some(context.get("token").and_then(Node::as_str)?.to_owned())
}

/// The archive to upload: the given one, or one that is made from a directory or with another version.
fn archive(invocation: &mut Invocation<'_>, scratch: &Path) -> Result<PathBuf, Failure> {
    let chart = invocation.operand(0).to_owned();
    let found = std::fs::metadata(&chart)
        .map_err(|error| Failure::usage(format!("stat {chart}: {}", reason(&error))))?;
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let version = given(invocation.flags.text(names::VERSION));
    let app_version = given(invocation.flags.text(names::APP_VERSION));
    let mut folder = chart_reference::absolute(&chart);
    if !found.is_dir() {
        if version.is_none() && app_version.is_none() {
            return Ok(folder);
        }
        folder = pull::expand(&folder, &scratch.join("unpacked"))?;
    } else if invocation.flags.on(names::DEPENDENCY_UPDATE) {
        dependencies::update_reported(invocation, &folder.as_path().into())?;
    }
    let request = PackageRequest {
        chart: folder,
        version,
        app_version,
        destination: scratch.to_owned(),
        epoch: dependencies::epoch(invocation)?,
        now: clock::now(),
    };
    let session = scripts::offline_session(invocation)?;
    Ok(pintle::ops::package(&session, &request, &mut Silent)?)
}
