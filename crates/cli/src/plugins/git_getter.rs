//! Charts and values in git repositories, without a plugin: `git+https://host/repo@dir/file?ref=v1.0.0`, and the same with
//! `git+ssh`, `git+http` and `git+file`.
//!
//! The part before `@` is the repository, and the one behind it is a path in it: a file, or the folder of a chart, which is
//! packed.

use std::path::{Component, Path};

use pintle::ops::PackageRequest;
use pintle::{OfflineSession, Silent};

use crate::env::Environment;
use crate::failure::Failure;
use crate::git::Git;
use crate::git::tree::{self, Found};

const SCHEMES: [&str; 4] = ["git+https", "git+ssh", "git+file", "git+http"];

/// Whether a scheme is that of a git repository.
pub(crate) fn knows(scheme: &str) -> bool {
    SCHEMES.contains(&scheme)
}

/// A file or folder of a repository, at a commit, branch or tag.
#[derive(Debug, PartialEq, Eq)]
struct GitSource<'u> {
    repository: String,
    path: &'u str,
    reference: &'u str,
}

fn parse(url: &str) -> Result<GitSource<'_>, Failure> {
    let wrong = |reason: &str| {
        Failure::usage(format!("{url}: {reason}"))
            .hint("write git+https://HOST/REPOSITORY@PATH?ref=VERSION, as the helm-git plugin has it")
    };
    let rest = url.strip_prefix("git+").ok_or_else(|| wrong("it is not the URL of a git repository"))?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority_end = rest.find("://").map_or(0, |at| at + 3);
    let path_start = rest[authority_end..].find('/').map_or(rest.len(), |at| authority_end + at);
    let at = rest[path_start..].find('@').map(|at| path_start + at);
    let at = at.ok_or_else(|| wrong("there is no `@` between the repository and the path in it"))?;
    let reference = query.split('&').find_map(|pair| pair.strip_prefix("ref=")).unwrap_or_default();
    if reference.starts_with('-') {
        return Err(wrong("a version does not begin with a dash"));
    }
    let path = rest[at + 1..].trim_start_matches('/');
    if Path::new(path).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(wrong("the path leads out of the repository"));
    }
    Ok(GitSource { repository: rest[..at].to_owned(), path, reference })
}

/// Gets a file of a repository, or packs a chart of it. Nothing is checked out: files are read from git's objects, and links
/// that lead out of the chart are refused.
///
/// # Errors
///
/// URLs that are not understood, and when git fails.
pub(crate) fn get(url: &str, environment: &Environment) -> Result<Vec<u8>, Failure> {
    let source = parse(url)?;
    let told = |reason: String| Failure::run_time(format!("{url}: {reason}"));
    let folder = tempfile::tempdir_in(environment.temporary_folder())?;
    let clone = folder.path().join("clone");
    let target = clone.to_string_lossy().into_owned();
    let remotes = Git::with_remotes(environment).map_err(Failure::run_time)?;
    remotes
        .run(None, &["clone", "--quiet", "--no-checkout", "--", &source.repository, &target])
        .map_err(|error| Failure::run_time(format!("git clone failed: {}", error.reason())))?;
    let git = Git::new(environment).map_err(Failure::run_time)?;
    let reference = if source.reference.is_empty() { "HEAD" } else { source.reference };
    let commit = tree::commit(&git, &clone, reference)
        .or_else(|_| tree::commit(&git, &clone, &format!("origin/{reference}")))
        .map_err(|reason| told(format!("there is no `{reference}` in the repository: {reason}")))?;
    let path = source.path.trim_end_matches('/');
    let find = |path: &str| tree::find(&git, &clone, &commit, path).map_err(told);
    let is_chart = |folder: &str| {
        let manifest =
            if folder.is_empty() { "Chart.yaml".to_owned() } else { format!("{folder}/Chart.yaml") };
        Ok::<_, Failure>(matches!(find(&manifest)?, Found::File(_)))
    };
    let chart = match find(path)? {
        Found::File(content) => return Ok(content),
        Found::Folder if is_chart(path)? => path,
        _ => {
            // helm-git's name of an archive, which the repository does not have.
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            if !path.ends_with(".tgz") || !is_chart(parent)? {
                return Err(told(format!("there is no `{}` in the repository", source.path)));
            }
            parent
        }
    };
    let files = tree::check_out(&git, &clone, (&commit, chart), tree::Links::Inside).map_err(told)?;
    package(files.path(), folder.path())
}

fn package(chart: &Path, folder: &Path) -> Result<Vec<u8>, Failure> {
    let request = PackageRequest {
        chart: chart.to_owned(),
        destination: folder.to_owned(),
        now: crate::clock::now(),
        ..PackageRequest::default()
    };
    let archive = pintle::ops::package(&OfflineSession::default(), &request, &mut Silent)?;
    Ok(std::fs::read(archive)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_repository_a_path_and_a_version() {
        let source = parse("git+https://me@host:1/a/b.git@charts/web?ref=v1&x=y").unwrap();
        assert_eq!(
            source,
            GitSource {
                repository: "https://me@host:1/a/b.git".to_owned(),
                path: "charts/web",
                reference: "v1"
            }
        );
        for url in
            ["git+https://host/a", "git+file:///a@../b", "git+file:///a@b?ref=-x", "git+file:///a@/../b"]
        {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
