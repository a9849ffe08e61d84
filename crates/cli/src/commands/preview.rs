//! `preview`: what a change of a GitOps repository means for the objects of its clusters, and why.

mod data;
mod markdown;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle::gitops::{Settings, Snapshot, hosts};
use pintle::ops::{PreviewReport, PreviewRequest, RemoteCharts, host_of, preview, preview_list};
use pintle::registry::address::AddressCheck;
use pintle::{OfflineSession, Remote, Session};

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion, Kind, names};
use crate::git::snapshot::{Objects, of_commit, of_working_tree};
use crate::git::{Git, tree};
use crate::invocation::Invocation;
use crate::{registry_access, remote, request};

/// `preview`
pub(crate) static COMMAND: Command = Command {
    name: "preview",
    short: "show what a change of a GitOps repository does in its clusters, and why",
    long: "\
Render all apps of a git repository before and after a change, and show which objects differ, field by field, and which
changed value, file or chart version each difference comes from.

    {program} preview --base origin/main
    {program} preview --base origin/main --head HEAD -o markdown

Apps are HelmReleases and Kustomizations of Flux, Applications and ApplicationSets of Argo CD, and HelmRequests; --charts adds
charts that nothing refers to. They are found from what nothing else makes, in what is rendered for it, and so on; what was
not understood is listed. Without --head, the working tree is compared. --base is compared from where the two parted; the
default, HEAD, shows what is not committed yet.

Nothing that the repository names is run: no hooks, plugins, post-renderers or scripts of charts. Git is asked for objects only.
Values that SOPS, SealedSecrets or ExternalSecrets keep are placeholders, and no value of a Secret is shown. Charts are fetched
from hosts that the base names, and from others with --allow-host; never from private addresses, unless --allow-host names
them. --untrusted asks no server at all.

Dangers come first: lost data, removed CRDs, immutable fields, new rights and privileges. The exit code is 0 without changes,
2 with changes, 1 on errors and if an app could not be rendered (not with --allow-missing), and 3 if --fail-on finds something.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[FLAGS],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

static FLAGS: &[Flag] = &[
    Flag::text(names::BASE, "the branch or commit to compare with, from where it parted").or("HEAD"),
    Flag::text(names::HEAD, "the branch or commit that is looked at; the working tree if it is not set"),
    Flag::array(names::ONLY, "only apps with this text in their kind, namespace and name; may be repeated"),
    Flag::array(names::SKIP, "no apps with this text in their kind, namespace and name; may be repeated"),
    Flag::text(names::CLUSTER, "only apps of this cluster"),
    Flag::switch(names::LIST, "list the apps and what was not understood, and compare nothing"),
    Flag::text(names::OUTPUT, "the format: text, markdown, json, sarif, junit or github")
        .short('o')
        .or("text")
        .completes(FlagCompletion::Words(&["text", "markdown", "json", "sarif", "junit", "github"])),
    Flag::text(
        names::OUTPUT_DIR,
        "also write the Markdown comments to this directory, as preview-1.md and so on",
    ),
    Flag::of(names::MAX_COMMENT, Kind::Int, "65536", "the most characters of one Markdown comment"),
    Flag::switch(names::ALLOW_MISSING, "do not fail if apps cannot be rendered"),
    Flag::array(names::ALLOW_HOST, "a host that charts may come from, with its port; may be repeated"),
    Flag::switch(names::UNTRUSTED, "ask no server: charts come from the cache"),
    Flag::array(
        names::REPO_URL,
        "an address of this repository, beside those of its remotes; may be repeated",
    ),
    Flag::array(
        names::CHARTS,
        "a directory with charts to render with their own values, or DIRECTORY=FILE for a values file; may be repeated",
    ),
    Flag::text(names::CLUSTERS, "a file with the cluster Secrets of Argo CD, for generators"),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render for")
        .completes(FlagCompletion::KubeVersions),
    Flag::list(names::API_VERSIONS, "additional API versions of the clusters; may be repeated")
        .short('a')
        .completes(FlagCompletion::Nothing),
    Flag::switch(names::REHEARSE, "upgrade each changed chart in a new embedded cluster"),
    Flag::text(
        names::FAIL_ON,
        "what fails with exit code 3: dangers, data-loss, crd-removed, immutable, privilege, rbac, errors, warnings, upgrade",
    ),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = Format::from_flags(invocation)?;
    let fails = Fails::from_flags(invocation)?;
    let sides = Sides::read(invocation)?;
    let request = request(invocation, &sides)?;
    if invocation.flags.on(names::LIST) {
        return list(invocation, &request);
    }
    let session: OfflineSession = Session::offline();
    let report = preview(&session, &request)?;
    print(invocation, format, (&sides, &report))?;
    answer(invocation, &fails, &report)
}

/// The format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Markdown,
    Json,
    Sarif,
    Junit,
    Github,
}

impl Format {
    fn from_flags(invocation: &Invocation<'_>) -> Result<Format, Failure> {
        Ok(match invocation.flags.text(names::OUTPUT) {
            "text" => Format::Text,
            "markdown" => Format::Markdown,
            "json" => Format::Json,
            "sarif" => Format::Sarif,
            "junit" => Format::Junit,
            "github" => Format::Github,
            other => {
                return Err(Failure::usage(format!("`{other}` is not a report format"))
                    .hint("the formats are text, markdown, json, sarif, junit and github"));
            }
        })
    }
}

/// The words of --fail-on.
struct Fails(Vec<String>);

const FAILS: [&str; 9] = [
    "dangers",
    "data-loss",
    "crd-removed",
    "immutable",
    "privilege",
    "rbac",
    "errors",
    "warnings",
    "upgrade",
];

impl Fails {
    fn from_flags(invocation: &Invocation<'_>) -> Result<Fails, Failure> {
        let text = invocation.flags.text(names::FAIL_ON);
        let words: Vec<String> =
            text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        match words.iter().find(|word| !FAILS.contains(&word.as_str())) {
            Some(word) => Err(Failure::usage(format!("--fail-on: `{word}` is not known"))
                .hint(format!("it takes {}", FAILS.join(", ")))),
            None => Ok(Fails(words)),
        }
    }

    fn hit(&self, report: &PreviewReport) -> bool {
        let has = |word: &str| self.0.iter().any(|known| known == word);
        let dangers = report.dangers();
        let findings = || report.apps.iter().flat_map(|app| &app.findings);
        (has("dangers") && !dangers.is_empty())
            || dangers.iter().any(|(_, danger)| has(danger.kind.name()))
            || ((has("errors") || has("warnings")) && findings().any(|finding| finding.severity == "error"))
            || (has("warnings") && findings().any(|finding| finding.severity == "warning"))
            || (has("upgrade") && report.apps.iter().any(|app| !app.upgrade.is_empty()))
    }
}

/// The two commits, and what is known about the repository.
struct Sides {
    base: Arc<Snapshot>,
    head: Arc<Snapshot>,
    base_name: String,
    head_name: String,
    urls: Vec<String>,
}

impl Sides {
    fn read(invocation: &Invocation<'_>) -> Result<Sides, Failure> {
        let flags = &invocation.flags;
        let git = Git::new(invocation.environment).map_err(Failure::run_time)?;
        let here = std::env::current_dir()
            .map_err(|error| Failure::run_time(format!("cannot find the current directory: {error}")))?;
        let root = git.run(Some(&here), &["rev-parse", "--show-toplevel"]).map_err(|error| {
            Failure::run_time(format!("this is no git repository: {}", error.reason()))
                .hint("run it in a clone of the repository")
        })?;
        let root = PathBuf::from(String::from_utf8_lossy(&root.stdout).trim());
        let (base, head) = (flags.text(names::BASE), flags.text(names::HEAD));
        let commit = |name: &str| {
            tree::commit(&git, &root, name).map_err(|reason| {
                Failure::run_time(format!("there is no commit {name}: {reason}"))
                    .hint("fetch it, with its history: `git fetch --unshallow origin`")
            })
        };
        let base_commit =
            merge_base(&git, &root, &commit(base)?, &commit(if head.is_empty() { "HEAD" } else { head })?)?;
        let mut objects = Objects::default();
        let failed = |reason: String| Failure::run_time(format!("cannot read the repository: {reason}"));
        let base_files = of_commit(&git, &root, &base_commit, &mut objects).map_err(failed)?;
        let (head_files, head_name) = match head {
            "" => (of_working_tree(&git, &root).map_err(failed)?, "working tree".to_owned()),
            head => {
                let commit = commit(head)?;
                (of_commit(&git, &root, &commit, &mut objects).map_err(failed)?, short(&commit))
            }
        };
        let mut urls = flags.list(names::REPO_URL).to_vec();
        urls.extend(remotes(&git, &root));
        Ok(Sides {
            base: Arc::new(base_files),
            head: Arc::new(head_files),
            base_name: short(&base_commit),
            head_name,
            urls,
        })
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(10).collect()
}

/// Where two commits parted.
fn merge_base(git: &Git<'_>, root: &Path, base: &str, head: &str) -> Result<String, Failure> {
    let found = git.run(Some(root), &["merge-base", base, head]).map_err(|error| {
        let reason = error.reason();
        let reason = if reason.is_empty() { "they have no common history".to_owned() } else { reason };
        Failure::run_time(format!("cannot find where {} and {} parted: {reason}", short(base), short(head)))
            .hint("a shallow clone lacks the history: `git fetch --unshallow origin`")
    })?;
    Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned())
}

/// The addresses of the remotes; none if there are none.
fn remotes(git: &Git<'_>, root: &Path) -> Vec<String> {
    let listed = git.run(Some(root), &["config", "--get-regexp", r"^remote\..*\.url$"]);
    let text = listed.map(|captured| captured.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(_, url)| url.to_owned()).collect()
}

fn request(invocation: &Invocation<'_>, sides: &Sides) -> Result<PreviewRequest, Failure> {
    let flags = &invocation.flags;
    let cluster = flags.text(names::CLUSTER);
    let clusters = match flags.text(names::CLUSTERS) {
        "" => Vec::new(),
        path => {
            let text = crate::read::file(Path::new(path), crate::read::MAX_SETTINGS)
                .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
            pintle::gitops::read_objects(path, &text).map_err(Failure::usage)?
        }
    };
    let settings = Settings {
        repository_urls: sides.urls.clone(),
        branches: Vec::new(),
        charts: flags.list(names::CHARTS).to_vec(),
        clusters,
    };
    Ok(PreviewRequest {
        base: Arc::clone(&sides.base),
        head: Arc::clone(&sides.head),
        settings,
        only: flags.list(names::ONLY).to_vec(),
        skip: flags.list(names::SKIP).to_vec(),
        clusters: Some(cluster.to_owned()).filter(|cluster| !cluster.is_empty()).into_iter().collect(),
        kube_version: request::kube_version(invocation)?,
        api_versions: flags.list(names::API_VERSIONS).to_vec(),
        charts: Arc::new(charts(invocation, sides)),
        check: true,
        upgrade_check: true,
        rehearse: flags.on(names::REHEARSE),
    })
}

/// Fetches charts from hosts that the base or the user names.
fn charts(invocation: &Invocation<'_>, sides: &Sides) -> RemoteCharts {
    let allowed = invocation.flags.list(names::ALLOW_HOST);
    let allowed: Vec<String> = allowed.iter().map(|host| host_of(host)).collect();
    let mut known: Vec<String> = hosts(&sides.base).into_iter().collect();
    known.extend(allowed.iter().cloned());
    let named: Vec<String> = allowed
        .iter()
        .map(|host| host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host).to_owned())
        .collect();
    // The connection asks, so that neither redirects nor names that resolve differently later lead elsewhere.
    let addresses = AddressCheck::new(move |host, address| {
        pintle::lua::is_public(address) || named.iter().any(|name| name.eq_ignore_ascii_case(host))
    });
    let getter = remote::getter(invocation, remote::TIMEOUT)
        .with_addresses(addresses.clone())
        .with_progress(None)
        .with_registries(registry_access::registries_within(invocation, addresses));
    let remote = Remote::new(remote::folders(&invocation.flags, invocation.environment), getter);
    RemoteCharts::new(remote, known, invocation.flags.on(names::UNTRUSTED))
}

fn list(invocation: &mut Invocation<'_>, request: &PreviewRequest) -> Result<(), Failure> {
    let (apps, notes) = preview_list(request);
    let mut out = String::new();
    for (id, what) in &apps {
        out.push_str(&format!("{id}: {what}\n"));
    }
    if !notes.is_empty() {
        out.push_str("\nnot understood or left out\n");
        for note in &notes {
            out.push_str(&format!("  {note}\n"));
        }
    }
    out.push_str(&format!("\n{} apps, {} notes\n", apps.len(), notes.len()));
    invocation.ui.print(&out)
}

fn print(
    invocation: &mut Invocation<'_>,
    format: Format,
    (sides, report): (&Sides, &PreviewReport),
) -> Result<(), Failure> {
    let names = (sides.base_name.as_str(), sides.head_name.as_str());
    let most = usize::try_from(invocation.flags.int(names::MAX_COMMENT, invocation.environment))
        .unwrap_or(usize::MAX)
        .max(2_000);
    let folder = invocation.flags.text(names::OUTPUT_DIR).to_owned();
    if !folder.is_empty() {
        for (index, comment) in markdown::comments(names, report, most).iter().enumerate() {
            let path = Path::new(&folder).join(format!("preview-{}.md", index + 1));
            let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, comment));
            written
                .map_err(|error| Failure::run_time(format!("cannot write {}: {error}", path.display())))?;
        }
    }
    let out = match format {
        Format::Text => text::text(names, report),
        Format::Markdown => markdown::comments(names, report, most).into_iter().next().unwrap_or_default(),
        Format::Json => data::json(names, report),
        Format::Sarif => data::sarif(report),
        Format::Junit => data::junit(report),
        Format::Github => data::github(report),
    };
    invocation.ui.print(&out)
}

/// The exit code.
fn answer(invocation: &Invocation<'_>, fails: &Fails, report: &PreviewReport) -> Result<(), Failure> {
    let missing = report.not_rendered().count();
    if missing > 0 && !invocation.flags.on(names::ALLOW_MISSING) {
        return Err(Failure::new(FailureKind::AlreadyReported, format!("{missing} apps were not rendered")));
    }
    if fails.hit(report) {
        return Err(Failure::new(FailureKind::Findings, ""));
    }
    match report.has_changes() {
        true => Err(Failure::new(FailureKind::Changes, "")),
        false => Ok(()),
    }
}
