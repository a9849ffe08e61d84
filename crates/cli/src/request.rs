//! Builds the parts of requests that several operations share from flags.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pintle::ops::{SensitivePath, SourceManifest};
use pintle::plan::ConflictPolicy;
use pintle::release::VersionRef;
use pintle::render::KubeVersion;
use pintle::repo::Getter;
use pintle::{
    CrdPolicy, DeployOptions, DryRun, HookLogs, Method, MethodChoice, RecordObjects, ValuesLayer,
    WaitStrategy,
};
use pintle_tree::number::{IntError, parse_int};
use pintle_tree::quote::quote;

use crate::failure::{Failure, reason};
use crate::flag::parsed::Parsed;
use crate::flag::value::{bad_number, read_bool};
use crate::flag::{Name, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins::getter::scheme_of;
use crate::ui::Ui;
use crate::{remote, text_template};

/// The release name and the chart reference, from one or two operands. `alone` names the release if only the chart is
/// given and there is no name template.
pub(crate) fn name_and_chart(
    flags: &Parsed,
    alone: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<(String, String), Failure> {
    let template = flags.text(names::NAME_TEMPLATE);
    let conflict = |flag: &str| Err(Failure::usage(format!("cannot set --{flag} and also specify a name")));
    match flags.operands.as_slice() {
        [_, _, more @ ..] if !more.is_empty() => Err(Failure::usage(format!(
            "expected at most two arguments, unexpected arguments: {}",
            more.join(", ")
        ))),
        [_, _, ..] if flags.on(names::GENERATE_NAME) => conflict("generate-name"),
        [_, _, ..] if !template.is_empty() => conflict("name-template"),
        [name, chart, ..] => Ok((name.clone(), chart.clone())),
        [chart] if template.is_empty() => Ok((alone(chart)?, chart.clone())),
        [chart] => Ok((text_template::name(template).map_err(Failure::usage)?, chart.clone())),
        [] => Err(Failure::usage("a chart is needed")),
    }
}

/// The values of `-f`, `--set` and the other value flags, in Helm's order of precedence. Standard input is read here, and
/// URLs are downloaded.
///
/// # Errors
///
/// URLs that are invalid or cannot be downloaded.
pub(crate) fn values(invocation: &Invocation<'_>) -> Result<Vec<ValuesLayer>, Failure> {
    let flags = &invocation.flags;
    let mut remote = RemoteValues { invocation, schemes: None, contents: BTreeMap::new() };
    let set_files = || flags.list(names::SET_FILE).iter().flat_map(|text| files_of(text));
    for url in flags.list(names::VALUES).iter().map(String::as_str).chain(set_files()) {
        if remote.is_remote(url) {
            pintle::repo::address::Address::parse(url).map_err(Failure::usage)?;
        }
    }
    let mut layers = Vec::new();
    for name in flags.list(names::VALUES) {
        layers.push(match remote.content(name)? {
            Some(content) => ValuesLayer::Bytes { name: name.clone(), content },
            None => ValuesLayer::File(name.into()),
        });
    }
    let texts = |name, layer: fn(String) -> ValuesLayer| flags.list(name).iter().cloned().map(layer);
    layers.extend(texts(names::SET_JSON, ValuesLayer::SetJson));
    layers.extend(texts(names::SET, ValuesLayer::Set));
    layers.extend(texts(names::SET_STRING, ValuesLayer::SetString));
    for text in flags.list(names::SET_FILE) {
        let mut contents = BTreeMap::new();
        for name in files_of(text) {
            let content =
                remote.content(name).map_err(|failure| failure.during("failed parsing --set-file data"))?;
            contents.extend(content.map(|content| (name.to_owned(), content)));
        }
        layers.push(ValuesLayer::SetFile { text: text.clone(), contents });
    }
    layers.extend(texts(names::SET_LITERAL, ValuesLayer::SetLiteral));
    Ok(layers)
}

/// How many files of a directory are read.
const MAX_FILES: usize = 10_000;

/// The manifests that a flag names: files, directories, and `-` for standard input.
///
/// # Errors
///
/// Files that cannot be read.
pub(crate) fn manifests(
    invocation: &Invocation<'_>,
    flag: Name<Vec<String>>,
) -> Result<Vec<SourceManifest>, Failure> {
    let mut found = Vec::new();
    for path in invocation.flags.list(flag) {
        found.extend(manifests_of(flag, path)?);
    }
    Ok(found)
}

/// The manifests that one value of a flag names.
///
/// # Errors
///
/// Files that cannot be read.
pub(crate) fn manifests_of(flag: Name<Vec<String>>, path: &str) -> Result<Vec<SourceManifest>, Failure> {
    if path == "-" {
        let text = crate::read::standard_input()
            .map_err(|error| Failure::usage(format!("cannot read standard input: {}", reason(&error))))?;
        return Ok(vec![SourceManifest { name: "standard input".to_owned(), text }]);
    }
    let mut found = Vec::new();
    for file in manifest_files(Path::new(path)) {
        let text = crate::read::file(&file, crate::read::MAX_STREAM).map_err(|error| {
            let failure = Failure::usage(format!(
                "--{}: cannot read {}: {}",
                flag.as_str(),
                file.display(),
                reason(&error)
            ));
            match crate::advice::names::near_file(path) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure,
            }
        })?;
        found.push(SourceManifest { name: file.display().to_string(), text });
    }
    Ok(found)
}

/// A file, or the YAML and JSON files of a directory, by name.
fn manifest_files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().take(MAX_FILES).flatten();
    let is_manifest = |path: &PathBuf| {
        path.is_file()
            && path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known))
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_manifest).collect();
    files.sort();
    files
}

/// Whether to warn of values that no template reads. Helm does not.
pub(crate) fn warns_unread(invocation: &Invocation<'_>) -> bool {
    let flags = &invocation.flags;
    let is_allowed = flags.declares(names::ALLOW_UNREAD_VALUES) && flags.on(names::ALLOW_UNREAD_VALUES);
    invocation.personality == Personality::Pintle && !is_allowed
}

/// The files that assignments of `--set-file` name.
fn files_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter_map(|part| part.split_once('=')).map(|(_, file)| file)
}

/// Values that are in no file: those of URLs and standard input.
struct RemoteValues<'i> {
    invocation: &'i Invocation<'i>,
    /// Most values are files, for which no getter is needed.
    schemes: Option<Getter>,
    /// What was downloaded already, by URL.
    contents: BTreeMap<String, Vec<u8>>,
}

impl RemoteValues<'_> {
    fn is_remote(&mut self, name: &str) -> bool {
        let scheme = scheme_of(name);
        if is_url(name) || scheme.is_empty() {
            return is_url(name);
        }
        let getter = self.schemes.get_or_insert_with(|| remote::getter(self.invocation, remote::TIMEOUT));
        getter.knows_scheme(&scheme)
    }

    /// The content of a URL or of standard input; `None` for a file.
    fn content(&mut self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        if name.trim() == "-" {
            let content = crate::read::standard_input();
            let content = content
                .map_err(|error| Failure::usage(format!("read standard input: {}", reason(&error))))?;
            return Ok(Some(content));
        }
        if !self.is_remote(name) {
            return Ok(None);
        }
        if let Some(content) = self.contents.get(name) {
            return Ok(Some(content.clone()));
        }
        let content = fetch(self.invocation, name)?;
        self.contents.insert(name.to_owned(), content.clone());
        Ok(Some(content))
    }
}

/// The size limit of a downloaded values file.
const MAX_VALUES: u64 = 256 << 20;

fn fetch(invocation: &Invocation<'_>, url: &str) -> Result<Vec<u8>, Failure> {
    let getter = remote::getter(invocation, remote::TIMEOUT);
    let request = pintle::repo::Request { url, home: url, limit: MAX_VALUES, ..Default::default() };
    Ok(getter.get_bytes(&request)?.1)
}

/// Whether a values file is a URL to download.
fn is_url(name: &str) -> bool {
    let scheme = name.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// The version of `--kube-version`.
///
/// # Errors
///
/// Not a version.
pub(crate) fn kube_version(invocation: &Invocation<'_>) -> Result<Option<KubeVersion>, Failure> {
    let text = invocation.flags.text(names::KUBE_VERSION);
    if text.is_empty() {
        return Ok(None);
    }
    KubeVersion::parse(text).map(Some).map_err(|reason| {
        Failure::usage(format!("invalid kube version '{text}': {reason}"))
            .with_pintle_text(format!("`{text}` is not a version of Kubernetes"))
            .hint("versions are written as `1.34` or `v1.34.2`")
    })
}

/// The policy for chart objects that look like release records. Helm allows them.
pub(crate) fn record_objects(invocation: &Invocation<'_>) -> RecordObjects {
    let flags = &invocation.flags;
    match invocation.personality {
        _ if flags.declares(names::ALLOW_RELEASE_RECORDS) && flags.on(names::ALLOW_RELEASE_RECORDS) => {
            RecordObjects::Allow
        }
        Personality::Helm => RecordObjects::Warn,
        Personality::Pintle => RecordObjects::Refuse,
    }
}

/// The options of a deployment.
///
/// # Errors
///
/// An unknown value of `--logs`.
pub(crate) fn deploy_options(invocation: &Invocation<'_>) -> Result<DeployOptions, Failure> {
    let flags = &invocation.flags;
    let on = |name: Name<bool>| flags.declares(name) && flags.on(name);
    let wait = match flags.text(names::WAIT) {
        "watcher" | "true" | ORDERED => WaitStrategy::Watcher,
        "legacy" => WaitStrategy::Legacy,
        _ => WaitStrategy::HookOnly,
    };
    Ok(DeployOptions {
        conflicts: conflict_policy(invocation)?,
        recreate: recreated(flags)?,
        force_replace: on(names::FORCE_REPLACE) || on(names::FORCE),
        wait,
        wait_for_jobs: on(names::WAIT_FOR_JOBS),
        ordered: is_ordered(invocation),
        timeout: flags.duration(names::TIMEOUT),
        readiness_timeout: readiness_timeout(flags)?,
        readiness_rules: None,
        hook_timeout: Some(flags.duration(names::HOOK_TIMEOUT)).filter(|limit| !limit.is_zero()),
        hooks: !on(names::NO_HOOKS),
        hook_parallelism: usize::try_from(flags.uint(names::HOOK_PARALLELISM)).unwrap_or(usize::MAX).max(1),
        hook_env: flags.on(names::HOOK_ENV),
        logs: hook_logs(invocation)?,
        sensitive_paths: sensitive_paths(flags)?,
        init_logs: invocation.personality == Personality::Pintle,
        // Helm waits until the timeout even if an object has failed.
        fail_fast: invocation.personality == Personality::Pintle,
    })
}

/// The limit of `--readiness-timeout`, which is part of `--timeout`.
fn readiness_timeout(flags: &Parsed) -> Result<Option<Duration>, Failure> {
    if !flags.declares(names::READINESS_TIMEOUT) {
        return Ok(None);
    }
    let limit = flags.duration(names::READINESS_TIMEOUT);
    let whole = flags.duration(names::TIMEOUT);
    if limit > whole && !whole.is_zero() {
        return Err(Failure::usage("--readiness-timeout exceeds --timeout").hint("give --timeout, too"));
    }
    Ok(Some(limit).filter(|limit| !limit.is_zero()))
}

/// The strategy of `--wait` that HIP-0025 proposes.
const ORDERED: &str = "ordered";

/// Whether objects are applied in the order that the chart asks for. Helm knows no such order.
fn is_ordered(invocation: &Invocation<'_>) -> bool {
    let flags = &invocation.flags;
    match flags.declares(names::ORDERED) && flags.given(names::ORDERED) {
        true => flags.on(names::ORDERED),
        false => invocation.personality == Personality::Pintle || flags.text(names::WAIT) == ORDERED,
    }
}

/// What is done about fields of other managers. Without a flag, Helm fails, and we yield fields that others usually set.
fn conflict_policy(invocation: &Invocation<'_>) -> Result<ConflictPolicy, Failure> {
    let flags = &invocation.flags;
    if flags.declares(names::FORCE_CONFLICTS) && flags.on(names::FORCE_CONFLICTS) {
        return Ok(ConflictPolicy::Take);
    }
    let word = if flags.declares(names::CONFLICTS) { flags.text(names::CONFLICTS) } else { "" };
    match (word, invocation.personality) {
        ("", Personality::Helm) | ("fail", _) => Ok(ConflictPolicy::Fail),
        ("", Personality::Pintle) => Ok(ConflictPolicy::YieldInjected),
        ("yield", _) => Ok(ConflictPolicy::Yield),
        ("take", _) => Ok(ConflictPolicy::Take),
        (other, _) => Err(Failure::usage(format!("--conflicts is {}", quote(other.as_bytes())))
            .hint("it may be yield, take or fail")),
    }
}

/// The objects of `--recreate`.
fn recreated(flags: &Parsed) -> Result<Vec<String>, Failure> {
    if !flags.declares(names::RECREATE) {
        return Ok(Vec::new());
    }
    let names = flags.list(names::RECREATE);
    let is_name = |text: &&String| {
        text.split_once('/').is_some_and(|(kind, name)| !kind.is_empty() && !name.is_empty())
    };
    match names.iter().find(|text| !is_name(text)) {
        Some(bad) => Err(Failure::usage(format!("--recreate is {}", quote(bad.as_bytes())))
            .hint("name an object as Kind/name, such as StatefulSet/db")),
        None => Ok(names.to_vec()),
    }
}

/// The paths of `--sensitive-path`.
fn sensitive_paths(flags: &Parsed) -> Result<Vec<SensitivePath>, Failure> {
    let given = if flags.declares(names::SENSITIVE_PATH) { flags.list(names::SENSITIVE_PATH) } else { &[] };
    let parse = |text: String| {
        SensitivePath::parse(&text).ok_or_else(|| {
            Failure::usage(format!("--sensitive-path is {}", quote(text.as_bytes())))
                .hint("write a path such as spec.containers[*].env[0].value or data[\"tls.key\"]")
        })
    };
    given.iter().flat_map(|text| paths_of(text)).map(parse).collect()
}

/// Splits a list of paths at its commas; those in brackets are part of a key.
fn paths_of(list: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut paths = vec![String::new()];
    for character in list.chars() {
        match character {
            ',' if depth == 0 => paths.push(String::new()),
            _ => {
                depth = match character {
                    '[' => depth + 1,
                    ']' => depth.saturating_sub(1),
                    _ => depth,
                };
                if let Some(path) = paths.last_mut() {
                    path.push(character);
                }
            }
        }
    }
    paths
}

/// What is done about the CRDs of the chart.
///
/// # Errors
///
/// An unknown value of `--crds`.
pub(crate) fn crd_policy(flags: &Parsed) -> Result<CrdPolicy, Failure> {
    let word = if flags.declares(names::CRDS) { flags.text(names::CRDS) } else { "" };
    match word {
        _ if flags.on(names::SKIP_CRDS) => Ok(CrdPolicy::Skip),
        "" => Ok(CrdPolicy::Helm),
        "skip" => Ok(CrdPolicy::Skip),
        "create" => Ok(CrdPolicy::Create),
        "update" => Ok(CrdPolicy::Update),
        "force" => Ok(CrdPolicy::Force),
        other => Err(Failure::usage(format!("--crds is {}", quote(other.as_bytes())))
            .hint("it may be create, update, skip or force")),
    }
}

fn hook_logs(invocation: &Invocation<'_>) -> Result<HookLogs, Failure> {
    let flags = &invocation.flags;
    if flags.on(names::NO_LOG_OUTPUT) {
        return Ok(HookLogs::Off);
    }
    match flags.text(names::LOGS) {
        // An interactive user gets live output by default.
        "" if invocation.personality == Personality::Pintle && io::stdout().is_terminal() => {
            Ok(HookLogs::Stream)
        }
        "" | "end" => Ok(HookLogs::AtEnd),
        "stream" => Ok(HookLogs::Stream),
        other => Err(Failure::bad_argument(other, names::LOGS, "must be \"end\" or \"stream\"")),
    }
}

/// The mode of `--dry-run`, including deprecated values.
///
/// # Errors
///
/// An unknown value.
pub(crate) fn mode(flags: &Parsed, ui: &mut Ui) -> Result<DryRun, Failure> {
    let word = flags.text(names::DRY_RUN_TEXT);
    let (mode, warning) = match word {
        "none" => return Ok(DryRun::None),
        "client" => return Ok(DryRun::Client),
        "server" => return Ok(DryRun::Server),
        "unset" => (
            DryRun::Client,
            "--dry-run is deprecated and should be replaced with '--dry-run=client'".to_owned(),
        ),
        _ => {
            let on = read_bool(word).map_err(|_| {
                let word = quote(word.as_bytes());
                Failure::usage(format!(
                    "invalid dry-run value ({word}). Must be \"none\", \"server\", or \"client\""
                ))
            })?;
            let (mode, better) = if on { (DryRun::Client, "client") } else { (DryRun::None, "none") };
            let warning = format!(
                "boolean '--dry-run={word}' flag is deprecated and must be replaced with '--dry-run={better}'"
            );
            (mode, warning)
        }
    };
    ui.warn(&warning);
    Ok(mode)
}

/// The apply method; `auto` uses that of the previous version.
///
/// # Errors
///
/// An unknown value.
pub(crate) fn method_choice(flags: &Parsed) -> Result<MethodChoice, Failure> {
    match flags.text(names::SERVER_SIDE) {
        "auto" => Ok(MethodChoice::Auto),
        "true" => Ok(MethodChoice::Fixed(Method::ServerSide)),
        "false" => Ok(MethodChoice::Fixed(Method::ClientSide)),
        other => Err(Failure::usage(format!("invalid/unknown release server-side apply method: {other}"))
            .with_pintle_text(format!("--server-side is `{other}`"))
            .hint("it may be auto, true or false")),
    }
}

/// The number of versions to keep; 0 for all.
pub(crate) fn max_history(invocation: &Invocation<'_>) -> u64 {
    u64::try_from(invocation.flags.int(names::HISTORY_MAX, invocation.environment)).unwrap_or(0)
}

/// The version of `--revision`. Helm accepts numbers only.
///
/// # Errors
///
/// Not a reference to a version.
pub(crate) fn revision(invocation: &Invocation<'_>) -> Result<VersionRef, Failure> {
    let text = invocation.flags.text(names::REVISION);
    if let Ok(number) = parse_int(text, 0) {
        return Ok(match u64::try_from(number) {
            Ok(number) if number > 0 => VersionRef::Number(number),
            _ => VersionRef::Current,
        });
    }
    let reason = match parse_int(text, 0) {
        Err(error) => bad_number("ParseInt", text, error),
        Ok(_) => String::new(),
    };
    let invalid = Failure::bad_argument(text, names::REVISION, &reason);
    reference(invocation.personality, text, invalid)
}

/// The version of an operand of `rollback`; none and 0 mean the previous one.
///
/// # Errors
///
/// Not a reference to a version.
pub(crate) fn rollback_target(personality: Personality, text: Option<&str>) -> Result<VersionRef, Failure> {
    let Some(text) = text else { return Ok(VersionRef::Before(1)) };
    let decimal = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = if decimal.bytes().all(|byte| byte.is_ascii_digit()) {
        parse_int(text, 10)
    } else {
        Err(IntError::Syntax)
    };
    match number {
        Ok(0) => Ok(VersionRef::Before(1)),
        Ok(number) => u64::try_from(number)
            .map(VersionRef::Number)
            .map_err(|_| Failure::usage("invalid release revision")),
        Err(error) => {
            let reason = bad_number("Atoi", text, error);
            let invalid = Failure::usage(format!("could not convert revision to a number: {reason}"));
            reference(personality, text, invalid)
        }
    }
}

fn reference(personality: Personality, text: &str, invalid: Failure) -> Result<VersionRef, Failure> {
    if personality == Personality::Helm {
        return Err(invalid);
    }
    VersionRef::parse(text).map_err(|_| {
        invalid
            .with_pintle_text(format!("`{text}` names no version of a release"))
            .hint("a version is a number, an id, the last characters of an id, or ~1 for the one before")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helm_rolls_back_to_numbers_and_we_to_more() {
        let helm =
            |text| rollback_target(Personality::Helm, Some(text)).map_err(|failure| failure.text.clone());
        assert_eq!(helm("3"), Ok(VersionRef::Number(3)));
        assert_eq!(helm("0"), Ok(VersionRef::Before(1)));
        assert_eq!(helm("-1"), Err("invalid release revision".to_owned()));
        assert_eq!(
            helm("0x3"),
            Err("could not convert revision to a number: strconv.Atoi: parsing \"0x3\": invalid syntax"
                .to_owned())
        );
        let ours =
            |text| rollback_target(Personality::Pintle, Some(text)).map_err(|failure| failure.own.clone());
        assert_eq!(ours("~2"), Ok(VersionRef::Before(2)));
        assert_eq!(ours("7xq3"), Ok(VersionRef::Suffix("7xq3".to_owned())));
        assert_eq!(ours("!"), Err(Some("`!` names no version of a release".to_owned())));
    }
}
