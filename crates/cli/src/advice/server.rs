//! Requests that the server refuses, and servers that are not reached.

use pintle::cluster::{self, ApiStatus};
use pintle::ops::RenderedLine;
use pintle::tree::ValuePath;

use super::excerpt::excerpt;
use super::subject::Subject;
use super::{kinds, names, rendered};
use crate::commands::values::report::source_text;
use crate::failure::Failure;
use crate::flag::names as flags;
use crate::invocation::Invocation;
use crate::kubeconfig;

/// How many of the server's complaints are shown.
const SHOWN: usize = 6;

/// Improves the failure of a request.
pub(super) fn improve(failure: &mut Failure, invocation: &mut Invocation<'_>, error: &cluster::Error) {
    let (doing, error) = peeled(error);
    match error {
        cluster::Error::NoMapping { api_version, kind, .. }
        | cluster::Error::NoSuchKind { api_version, kind } => {
            kinds::improve(failure, &Subject::of(invocation), api_version, kind);
        }
        cluster::Error::Unreachable(cause) => match cause.status() {
            Some(status) if is_about_the_user(status) => refused_user(failure, invocation, status),
            Some(_) => {}
            None => unreachable(failure, invocation, cause),
        },
        cluster::Error::Api(status) if is_about_the_user(status) => refused_user(failure, invocation, status),
        cluster::Error::Api(status) => match missing_namespace(&status.message) {
            Some(namespace) => no_namespace(failure, invocation, &namespace),
            None => refused_object(failure, invocation, doing, status),
        },
        _ => names::improve(failure, invocation),
    }
}

/// The innermost error, and what was being done.
fn peeled(error: &cluster::Error) -> (&str, &cluster::Error) {
    match error {
        cluster::Error::Context { doing, source } => match peeled(source) {
            ("", inner) => (doing, inner),
            found => found,
        },
        cluster::Error::Aggregate { errors, .. } => errors.first().map_or(("", error), peeled),
        error => ("", error),
    }
}

/// The context and its user, for messages.
fn context_text(invocation: &Invocation<'_>) -> String {
    match kubeconfig::current_context(&invocation.flags, invocation.environment) {
        Some(context) => {
            format!("context `{}` (user `{}`, cluster `{}`)", context.name, context.user, context.cluster)
        }
        None => "the given server".to_owned(),
    }
}

fn unreachable(failure: &mut Failure, invocation: &Invocation<'_>, cause: &cluster::Error) {
    let text = cause.to_string();
    if let Some(name) =
        text.strip_prefix("context \"").and_then(|rest| rest.strip_suffix("\" does not exist"))
    {
        let known = kubeconfig::contexts(invocation.flags.text(flags::KUBECONFIG), invocation.environment);
        let known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        failure.own = Some(format!("the kubeconfig has no context `{name}`"));
        failure.causes.clear();
        failure.hint =
            Some(names::one_of("context", name, &known, "`kubectl config get-contexts` shows them"));
    } else if matches!(cause, cluster::Error::Transport { .. })
        && let Some(context) = kubeconfig::current_context(&invocation.flags, invocation.environment)
    {
        failure.own = Some(format!("the cluster of context `{}` cannot be reached", context.name));
    }
}

/// Whether the user is refused. A quota and a namespace that is being deleted also answer with 403.
fn is_about_the_user(status: &ApiStatus) -> bool {
    status.code == 401 || (status.code == 403 && status.message.contains(" is forbidden: User \""))
}

/// 401 and 403: who was refused.
fn refused_user(failure: &mut Failure, invocation: &Invocation<'_>, status: &ApiStatus) {
    let who = context_text(invocation);
    if status.code == 401 {
        failure.own = Some(format!("the server does not accept the credentials of {who}"));
        failure.causes = vec![status.message.clone()];
        failure.hint = Some(
            "log in again, or renew the token or certificate of this user; `--kube-context` selects another context, and \
             `kubectl auth whoami` shows who you are"
                .to_owned(),
        );
        return;
    }
    failure.own = Some(format!("the server forbids this to {who}"));
    failure.causes = vec![status.message.clone()];
    if failure.hint.is_none() {
        failure.hint =
            Some("an administrator can grant it with a Role or ClusterRole and a binding".to_owned());
    }
}

/// The namespace that the server says is missing.
pub(super) fn missing_namespace(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("namespaces \"")?;
    let (name, rest) = rest.split_once('"')?;
    rest.starts_with(" not found").then(|| name.to_owned())
}

/// A namespace that does not exist.
pub(super) fn no_namespace(failure: &mut Failure, invocation: &mut Invocation<'_>, name: &str) {
    let known = names::namespaces(invocation);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = crate::suggest::question(crate::suggest::NameOf::Other, name, &known);
    let near = near.map(|question| format!("{question} otherwise, ")).unwrap_or_default();
    failure.own = Some(format!("the namespace `{name}` does not exist"));
    failure.hint = Some(match invocation.flags.declares(flags::CREATE_NAMESPACE) {
        true => format!("{near}`--create-namespace` creates it"),
        false => format!("{near}`kubectl create namespace {name}` creates it"),
    });
}

/// One of the server's complaints.
struct Complaint {
    /// The path of the field; empty if the server names none.
    field: String,
    message: String,
}

/// An object that the server refuses: the template's line, and what to change.
fn refused_object(failure: &mut Failure, invocation: &Invocation<'_>, doing: &str, status: &ApiStatus) {
    let Some((kind, name)) = object_of(doing, status) else { return };
    let mut complaints = complaints(status);
    let subject = Subject::of(invocation);
    if let Some(first) = complaints.first_mut().filter(|first| first.field.is_empty()) {
        find_quantity(&subject, &kind, &name, first);
    }
    let Some(first) = complaints.first() else { return };
    let at = if first.field.is_empty() { String::new() } else { format!("{}: ", first.field) };
    failure.own = Some(format!("the server refuses {kind} `{name}`: {at}{}", first.message));
    let located = locate(&subject, &kind, &name, &first.field);
    let mut shown = located.as_ref().map(|located| located.excerpt.clone()).unwrap_or_default();
    for complaint in complaints.iter().skip(1).take(SHOWN) {
        shown.push_str(&format!("\n  also {}: {}", complaint.field, complaint.message));
    }
    let more = complaints.len().saturating_sub(SHOWN + 1);
    if more > 0 {
        shown.push_str(&format!("\n  and {more} more"));
    }
    failure.excerpt = Some(shown.trim_start_matches('\n').to_owned()).filter(|text| !text.is_empty());
    failure.hint = advice(&kind, &name, first, located.as_ref(), invocation).or(failure.hint.take());
}

/// The kind and the name of the object that was sent.
fn object_of(doing: &str, status: &ApiStatus) -> Option<(String, String)> {
    // As in `server-side apply failed for object default/web apps/v1, Kind=Deployment`.
    if let Some((_, rest)) = doing.split_once(" object ") {
        let (name, rest) = rest.split_once(' ')?;
        let kind = rest.split("Kind=").nth(1)?.split([',', ' ', ':']).next()?;
        return Some((kind.to_owned(), name.rsplit('/').next()?.to_owned()));
    }
    let is_known = !status.kind.is_empty() && !status.name.is_empty() && status.code == 422;
    is_known.then(|| (status.kind.clone(), status.name.clone()))
}

fn complaints(status: &ApiStatus) -> Vec<Complaint> {
    let causes = status.causes.iter().filter(|cause| !cause.message.is_empty());
    let mut found: Vec<Complaint> = causes
        .map(|cause| Complaint { field: cause.field.clone(), message: plain(&cause.message) })
        .collect();
    if found.is_empty() {
        found.extend(typed_complaints(&status.message));
    }
    if found.is_empty() {
        found.push(Complaint { field: String::new(), message: status.message.clone() });
    }
    found
}

/// `Invalid value: 70000: must be between 1 and 65535` without its label, and without values that are whole objects.
fn plain(message: &str) -> String {
    // Rules for names have their regular expressions in parentheses.
    let message = message.split(" (e.g. ").next().unwrap_or(message);
    let Some(rest) = message.strip_prefix("Invalid value: ") else { return message.to_owned() };
    match rest.starts_with('{') || rest.starts_with('[') {
        true => rest
            .split_once("}: ")
            .or_else(|| rest.split_once("]: "))
            .map_or(rest, |(_, text)| text)
            .to_owned(),
        false => match rest.split_once(": ") {
            Some((value, text)) => format!("{text} (it is {value})"),
            None => rest.to_owned(),
        },
    }
}

/// The complaints in the text of a failed decoding: `…; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema`,
/// and of strict decoding: `unknown field "spec.replica"`.
fn typed_complaints(message: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    for part in message.split("unknown field \"").skip(1) {
        let field = part.split('"').next().unwrap_or_default();
        found.push(Complaint { field: field.to_owned(), message: "unknown field".to_owned() });
    }
    let mut rest = message;
    while let Some(at) = rest.find(": .") {
        rest = &rest[at + 3..];
        let Some((field, text)) = rest.split_once(": ") else { break };
        let text = text.split(", .").next().unwrap_or(text).split('\n').next().unwrap_or(text);
        if field.contains(' ') {
            continue;
        }
        found.push(Complaint {
            field: field.to_owned(),
            message: without_go_values(&text.replace("field not declared in schema", "unknown field")),
        });
    }
    found
}

/// `got &value.valueUnstructured{Value:1}` as `got 1`.
fn without_go_values(text: &str) -> String {
    match text.split_once("&value.valueUnstructured{Value:") {
        Some((before, rest)) => format!("{before}{}", rest.replacen('}', "", 1)),
        None => text.to_owned(),
    }
}

/// A place in a template, and what it renders.
struct Located {
    excerpt: String,
    rendered: String,
    /// The value that the line prints, and its source.
    value: Option<(String, String)>,
}

/// The template line of a field of an object, or of its nearest parent.
fn locate(subject: &Subject, kind: &str, name: &str, field: &str) -> Option<Located> {
    let explanation = subject.explanation()?;
    let mut path = field.trim_start_matches('.').to_owned();
    let line = loop {
        let parsed: ValuePath = match path.is_empty() {
            true => "kind".parse().ok()?,
            false => path.parse().ok()?,
        };
        let wanted = RenderedLine::Field { kind: kind.to_owned(), name: name.to_owned(), path: parsed };
        match explanation.explain_line(&wanted) {
            Ok(line) => break line,
            Err(_) if path.is_empty() => return None,
            Err(_) => {
                let end = path.rfind(['.', '[']).unwrap_or_default();
                path.truncate(end);
            }
        }
    };
    let at = line.templates.iter().find(|at| at.template == line.file).or(line.templates.last())?;
    let source = rendered::source_line(subject, at).unwrap_or_default();
    let column = source.len() - source.trim_start().len();
    let mut shown = excerpt(&at.template, at.line, column, &source);
    if source.trim() != line.text.trim() {
        let text: String = line.text.trim().chars().take(120).collect();
        shown.push_str(&format!("\n  which renders to `{text}`"));
    }
    let value = line
        .values
        .iter()
        .find(|value| !matches!(value.value, pintle::tree::Node::Map(_) | pintle::tree::Node::List(_)));
    let value = value.map(|value| (value.path.to_string(), source_text(value.origin.as_ref())));
    Some(Located { excerpt: shown, rendered: line.text, value })
}

/// Finds the field with a quantity that is none, or with text that is not encoded: the server says that there is one, but not
/// where.
fn find_quantity(subject: &Subject, kind: &str, name: &str, complaint: &mut Complaint) {
    let is_secret = complaint.message.contains("illegal base64");
    if !is_secret && !complaint.message.contains("quantities must match") {
        return;
    }
    let wanted = RenderedLine::Field {
        kind: kind.to_owned(),
        name: name.to_owned(),
        path: ValuePath::default().key("kind"),
    };
    let Some(explanation) = subject.explanation() else { return };
    let Ok(line) = explanation.explain_line(&wanted) else { return };
    let text = explanation.rendered(&line.file).unwrap_or_default();
    let Ok(outline) = pintle_yaml::outline::Outline::read(text) else { return };
    let of_object = outline.roots().find(|root| {
        let text =
            |node: Option<pintle_yaml::outline::NodeRef<'_>>| node.map(|node| node.text().into_owned());
        text(root.get("kind")) == Some(kind.as_bytes().to_vec())
            && text(root.get("metadata").and_then(|metadata| metadata.get("name")))
                == Some(name.as_bytes().to_vec())
    });
    if is_secret {
        let data = of_object.and_then(|root| root.get("data"));
        let wrong = data.and_then(|data| data.entries().find(|entry| !is_base64(&entry.value.text())));
        if let Some(entry) = wrong {
            complaint.field = format!("data.{}", String::from_utf8_lossy(&entry.key.text()));
            complaint.message = "illegal base64 data".to_owned();
        }
        return;
    }
    if let Some((field, value)) = of_object.and_then(|root| bad_quantity(root, "", false, 0)) {
        complaint.field = field;
        complaint.message = format!("`{value}` is no quantity; units are m, k, M, G, Ki, Mi, Gi …");
    }
}

/// The path and the text of the first resource amount that is no quantity.
fn bad_quantity(
    node: pintle_yaml::outline::NodeRef<'_>,
    path: &str,
    is_amount: bool,
    depth: usize,
) -> Option<(String, String)> {
    if depth > 32 {
        return None;
    }
    if is_amount && node.entries().next().is_none() && node.items().next().is_none() {
        let text = String::from_utf8_lossy(&node.text()).into_owned();
        return (!is_quantity(&text)).then(|| (path.to_owned(), text));
    }
    for entry in node.entries() {
        let key = String::from_utf8_lossy(&entry.key.text()).into_owned();
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let is_amount = is_amount || matches!(key.as_str(), "limits" | "requests" | "sizeLimit" | "capacity");
        let found = bad_quantity(entry.value, &below, is_amount, depth + 1);
        if found.is_some() {
            return found;
        }
    }
    node.items()
        .enumerate()
        .find_map(|(index, item)| bad_quantity(item, &format!("{path}[{index}]"), is_amount, depth + 1))
}

fn is_base64(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n');
    text.iter().all(is_letter) && text.iter().filter(|byte| **byte != b'\n').count() % 4 == 0
}

/// Kubernetes' grammar of quantities.
fn is_quantity(text: &str) -> bool {
    let number = text.trim_start_matches(['+', '-']);
    let end = number.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    let exponent = unit.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
    let is_exponent =
        exponent.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    let units = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    !digits.is_empty() && digits.matches('.').count() <= 1 && (units.contains(&unit) || is_exponent)
}

/// What to do about a complaint.
fn advice(
    kind: &str,
    name: &str,
    complaint: &Complaint,
    located: Option<&Located>,
    invocation: &Invocation<'_>,
) -> Option<String> {
    let message = complaint.message.as_str();
    if message.contains("immutable") || message.contains("are forbidden") && message.contains("updates to") {
        return Some(recreation(kind, name, invocation));
    }
    if message == "unknown field" {
        let field = complaint.field.rsplit('.').next().unwrap_or_default();
        return Some(unknown_field(kind, &complaint.field).unwrap_or_else(|| {
            format!("`{field}` is no field of this kind; see whether it belongs above or below its place")
        }));
    }
    if message.contains("RFC 1123") || message.contains("RFC 1035") {
        return Some("names have lower case letters, digits and dashes, begin and end with a letter or digit; `| lower` \
                     helps in templates"
            .to_owned());
    }
    if message.contains("`selector` does not match template `labels`") {
        return Some("give the Pod template all labels of `spec.selector.matchLabels`".to_owned());
    }
    if message.contains("is no quantity")
        && let Some(value) = message.split('`').nth(1)
    {
        let value = value.trim();
        let number: String =
            value.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
        let unit: String = value.chars().skip(number.len()).collect();
        let letter =
            unit.trim_start().to_uppercase().chars().next().filter(|letter| "KMGTP".contains(*letter));
        let letter = letter.map(|letter| if letter == 'K' { 'k' } else { letter });
        return letter.map(|letter| {
            format!(
                "write `{number}{letter}` (powers of 1000) or `{number}{}i` (powers of 1024)",
                letter.to_ascii_uppercase()
            )
        });
    }
    if message.contains("illegal base64") {
        return Some(
            "`data` of a Secret is encoded: use `| b64enc`, or `stringData` instead of `data`".to_owned(),
        );
    }
    if message.contains("expected string, got")
        || message.contains("cannot unmarshal number into")
        || message.contains("of type string")
    {
        return Some(
            "the field is text: write the value in quotes, as `| quote` does in templates".to_owned(),
        );
    }
    if message == "Required value" || message.starts_with("Required value") && located.is_none() {
        return Some(format!("add the field `{}` to the object", complaint.field));
    }
    let located = located?;
    let (path, source) = located.value.as_ref()?;
    let quoted = located.rendered.contains('"') && message.contains("got string");
    let quoted = if quoted { "; it must be a number, without quotes" } else { "" };
    Some(format!("the line prints the value `{path}`, set by {source}{quoted}"))
}

/// What `--recreate` does to an object of a kind.
pub(crate) fn recreation(kind: &str, name: &str, invocation: &Invocation<'_>) -> String {
    let cost = match kind {
        "Deployment" => "its Pods are stopped before the new ones start",
        "StatefulSet" | "DaemonSet" | "ReplicaSet" => {
            "its Pods stay if the selector stays the same, and are deleted otherwise"
        }
        "Service" => "its cluster IP and the address of its load balancer may change",
        "Job" => "its Pods are deleted, and it runs again",
        "PersistentVolumeClaim" | "PersistentVolume" | "Namespace" | "CustomResourceDefinition" => {
            return format!(
                "{kind} objects are never recreated, because their data would be lost; keep the field as it is"
            );
        }
        _ => "what refers to it fails in between",
    };
    let flag = match invocation.flags.declares(flags::RECREATE) {
        true => format!("`--recreate {kind}/{name}`"),
        false => format!("`pintle upgrade --recreate {kind}/{name}`"),
    };
    format!(
        "this field cannot be changed in place: keep it, or {flag} deletes the object and creates it again: {cost}"
    )
}

/// The field that was probably meant, from the schema of the kind.
fn unknown_field(kind: &str, path: &str) -> Option<String> {
    let (parents, field) = path.rsplit_once('.').unwrap_or(("", path));
    let known = kinds::fields(kind, parents)?;
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    crate::suggest::question(crate::suggest::NameOf::Other, field, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_read_from_the_texts_of_decoders() {
        let text = "failed to create typed patch object (default/x; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema";
        let found = typed_complaints(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].field.as_str(), found[0].message.as_str()), ("spec.replica", "unknown field"));
        let strict = "strict decoding error: unknown field \"spec.a\", unknown field \"spec.b\"";
        assert_eq!(typed_complaints(strict).len(), 2);
        assert!(typed_complaints("nothing of that kind").is_empty());
    }

    #[test]
    fn quantities_are_told_from_other_texts() {
        for good in ["1", "1.5", "100m", "64Mi", "1e3", "2E", "-5k"] {
            assert!(is_quantity(good), "{good}");
        }
        for bad in ["64MB", "1 Gi", "", "much", "1.2.3", "5mi"] {
            assert!(!is_quantity(bad), "{bad}");
        }
    }

    #[test]
    fn labels_of_the_server_are_left_out() {
        assert_eq!(plain("Invalid value: 70000: must be less"), "must be less (it is 70000)");
        assert_eq!(plain("Invalid value: {\"a\":\"b\"}: field is immutable"), "field is immutable");
        assert_eq!(plain("Required value"), "Required value");
    }
}
