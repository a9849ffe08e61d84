//! Failures of library operations. The library's error text is Helm's; its errors carry the data for our own text.

use pintle::render::{self, Frame};
use pintle::{Error, chart, cluster, events, lua, objects, registry, values};

use super::hint::{hint, where_to_work};
use super::{Failure, FailureKind};
use crate::commands::images::policy;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let error = match error {
            Error::Remote(error) => return Failure::from(*error),
            error => error,
        };
        let hint = hint(&error);
        let mut failure = Failure::new(class(&error), helm_text(&error));
        failure.hint = hint;
        match &error {
            Error::Render(render) => add_render_details(render, &mut failure),
            Error::Objects { cause: source, rendered } => add_object_details(source, rendered, &mut failure),
            Error::Dependencies(cause) => {
                split(&mut failure, "cannot work out the dependencies of the chart", cause)
            }
            Error::Event(error) => add_handler_details(error, &mut failure),
            Error::Scripts(error) => add_script_details(error, &mut failure),
            Error::PermissionsRefused { asked, .. } => {
                let own = failure.text.clone();
                failure.text.push_str(&format!("; --accept-perms {} or --yes grants them", asked.all()));
                failure.own = Some(own);
            }
            Error::VersionNotFound { name, number, .. } => {
                failure.own = Some(format!("release {name:?} has no version {number}"));
            }
            // `template` appends advice of Helm's to the text.
            Error::PostRender(text) => failure.own = Some(text.clone()),
            Error::Chart(chart::Error::UnreadableArchive(cause)) => {
                split(&mut failure, "the archive of the chart cannot be unpacked", cause);
            }
            Error::MissingDependencies(cause) => split(&mut failure, "the chart is not complete", cause),
            Error::File { action, path, source } => {
                split(&mut failure, &format!("cannot {action} `{}`", path.display()), &reason(source));
            }
            Error::Cluster(cluster::Error::Unreachable(cause))
            | Error::ReachabilityCheck(cluster::Error::Unreachable(cause)) => {
                split(&mut failure, "the cluster cannot be reached", cause);
                let ways = connection_hint(cause);
                failure.hint = Some(format!("{ways}; `--cluster embedded` tries it without a cluster"));
            }
            Error::RolledBack { how, .. } if failure.class == FailureKind::Cancelled => {
                failure.own = Some(format!("cancelled, and {how}"));
            }
            Error::RollbackFailed { doing, .. } if failure.class == FailureKind::Cancelled => {
                failure.own = Some(format!("cancelled while {doing} the release"));
            }
            _ if failure.class == FailureKind::Cancelled => failure.own = Some("cancelled".to_owned()),
            _ => {}
        }
        failure.error = Some(Box::new(error));
        failure
    }
}

/// Adds the details of a failed Lua handler: chart and event, message, position, and the call stack.
fn add_handler_details(error: &events::Error, failure: &mut Failure) {
    let events::Error::Handler { event, chart, source, .. } = error else { return };
    let text = source.to_string();
    let (message, excerpt) = text.split_once('\n').unwrap_or((&text, ""));
    failure.own = Some(format!("the `{event}` handler of {chart} failed: {message}"));
    add_excerpt(excerpt, source.trace().unwrap_or_default(), failure);
}

/// Adds the details of scripts that do not load.
fn add_script_details(error: &lua::Error, failure: &mut Failure) {
    let lua::Error::Load { chart, source } = error else { return };
    failure.own = Some(match (&source.file, source.line) {
        (Some(file), Some(line)) => format!("{file}:{line} of {chart}: {}", source.message),
        _ => format!("the scripts of {chart} cannot be loaded: {}", source.message),
    });
    add_excerpt(source.excerpt.as_deref().unwrap_or_default(), &source.trace.join("\n"), failure);
    failure.hint.get_or_insert_with(|| "`pintle lua check CHART` checks scripts for problems".to_owned());
}

fn add_excerpt(excerpt: &str, trace: &str, failure: &mut Failure) {
    let mut lines: Vec<String> = excerpt.lines().map(|line| format!("  {line}")).collect();
    // The excerpt shows the position of the first call already.
    lines.extend(trace.lines().skip(1).map(|call| format!("  called from {call}")));
    if !lines.is_empty() {
        failure.excerpt = Some(lines.join("\n"));
    }
}

/// The hint for a cluster that cannot be reached.
fn connection_hint(cause: &cluster::Error) -> String {
    let text = match cause {
        cluster::Error::Credentials { stderr, .. } if !stderr.is_empty() => {
            return format!("the credential plugin printed: {stderr}");
        }
        cluster::Error::Credentials { .. } => {
            "the kubeconfig gets credentials from a program, under `exec` of its user"
        }
        cluster::Error::Configuration(_) => {
            "--kubeconfig or $KUBECONFIG names the file that describes the cluster, and --kube-context the \
             context in it"
        }
        cluster::Error::Transport { cause, .. } if cause.ends_with("for \"Authorization\"") => {
            "the token of the kubeconfig, of --kube-token or of a program that gives credentials has line breaks or \
             other control characters in it"
        }
        cluster::Error::Transport { url, .. } if url.starts_with("http://localhost:8080/") => {
            "no kubeconfig says where the cluster is: name one with --kubeconfig or $KUBECONFIG, or give the \
             address with --kube-apiserver"
        }
        _ => "see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one",
    };
    text.to_owned()
}

fn class(error: &Error) -> FailureKind {
    match error {
        Error::Chart(
            chart::Error::System(_)
            | chart::Error::Reading { .. }
            | chart::Error::Link { .. }
            | chart::Error::Message(_),
        ) => FailureKind::RunTime,
        Error::Chart(_) => FailureKind::BadChart,
        Error::Values(values::Error::TypeMismatch { .. }) => FailureKind::RunTime,
        Error::Values(_) | Error::Input(_) | Error::BadReleaseName { .. } | Error::ChartNotFound { .. } => {
            FailureKind::BadInput
        }
        Error::NoSuchTemplate { .. }
        | Error::InvalidName { .. }
        | Error::DescriptionTooLong { .. }
        | Error::BadVersion { .. }
        | Error::VersionNotFound { .. }
        | Error::ReservedLabel { .. }
        | Error::HideSecretsNeedsDryRun => FailureKind::BadInput,
        Error::Cluster(cluster::Error::Unreachable(cause))
        | Error::ReachabilityCheck(cluster::Error::Unreachable(cause)) => match **cause {
            cluster::Error::Configuration(_) | cluster::Error::Credentials { .. } => FailureKind::BadInput,
            _ => FailureKind::RunTime,
        },
        Error::Registry(error) => match **error {
            registry::Error::Name { .. } | registry::Error::Digest { .. } => FailureKind::BadImage,
            registry::Error::Platform { .. } | registry::Error::Settings { .. } => FailureKind::BadInput,
            _ => FailureKind::RunTime,
        },
        Error::Images(error) => policy::class(error),
        Error::StalePlan { .. } => FailureKind::StalePlan,
        Error::BadPlan { .. } | Error::SealedPlan => FailureKind::BadInput,
        Error::Embedded { .. } | Error::EmbeddedCorrupt { .. } => FailureKind::BadInput,
        Error::EmbeddedInUse { .. } => FailureKind::RunTime,
        Error::Scripts(_) | Error::RecordObject { .. } => FailureKind::BadChart,
        Error::PermissionsRefused { .. } => FailureKind::BadInput,
        Error::Cancelled => FailureKind::Cancelled,
        Error::HooksFailed { cause: source, .. }
        | Error::ReleaseFailed { cause: source, .. }
        | Error::RolledBack { cause: source, .. }
        | Error::RollbackFailed { second: source, .. } => match class(source) {
            FailureKind::Cancelled => FailureKind::Cancelled,
            _ => FailureKind::RunTime,
        },
        Error::Render(render) if is_parse_error(render) => FailureKind::BadChart,
        _ => FailureKind::RunTime,
    }
}

fn is_parse_error(error: &render::Error) -> bool {
    matches!(error, render::Error::Template { is_syntax: true, .. })
}

fn helm_text(error: &Error) -> String {
    match error {
        Error::File { path, source, .. } => {
            // A folder can be opened, and not read.
            let operation = if source.kind() == std::io::ErrorKind::IsADirectory { "read" } else { "open" };
            format!("{operation} {}: {}", path.display(), reason(source))
        }
        error => match where_to_work(error) {
            Some(advice) => format!("{error}; {advice}"),
            None => error.to_string(),
        },
    }
}

/// The reason of the operating system, as Go spells it.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

fn split(failure: &mut Failure, own: &str, cause: &dyn std::fmt::Display) {
    failure.own = Some(own.to_owned());
    failure.causes.push(cause.to_string());
}

/// Adds the details of a template error: the message, the innermost position with an excerpt, and the includes that led
/// there.
fn add_render_details(error: &render::Error, failure: &mut Failure) {
    let render::Error::Template { message, frames, .. } = error else { return };
    let Some((innermost, outer)) = frames.split_last() else { return };
    failure.own = Some(message.clone());
    let mut excerpt = format!("  --> {}", position(innermost));
    for line in innermost.excerpt.iter().flat_map(|excerpt| excerpt.lines()) {
        excerpt.push_str(&format!("\n  {line}"));
    }
    let mut previous = position(innermost);
    for frame in outer.iter().rev() {
        let position = position(frame);
        if position != previous {
            excerpt.push_str(&format!("\n  included from {position}"));
        }
        previous = position;
    }
    failure.excerpt = Some(excerpt);
}

fn position(frame: &Frame) -> String {
    // Columns are shown 1-based.
    format!("{}:{}:{}", frame.file, frame.line, frame.column + 1)
}

/// Adds the details of a rendered document that is not an object: which document, and the wrong line.
fn add_object_details(error: &objects::Error, rendered: &[u8], failure: &mut Failure) {
    let objects::Error::Document { path, index, reason, line, .. } = error else { return };
    failure.own = Some(format!("`{path}` renders to text that is not a Kubernetes object"));
    failure.causes.push(reason.clone());
    let text = String::from_utf8_lossy(rendered);
    let Some(line) = line else { return };
    if let Some(found) = rendered_line(&text, path, *index, *line) {
        failure.excerpt =
            Some(format!("  --> {path}, as rendered, document {}\n  {line} | {found}", index + 1));
    }
}

fn rendered_line<'a>(text: &'a str, path: &str, index: usize, line: usize) -> Option<&'a str> {
    let header = format!("# Source: {path}");
    let (_, file) = text.split_once(&header)?;
    let file = file.split("\n---\n# Source: ").next()?.strip_prefix('\n')?;
    let documents = file.split("\n---").filter(|document| !document.trim().is_empty());
    documents.into_iter().nth(index)?.trim_start_matches('\n').lines().nth(line.checked_sub(1)?)
}
