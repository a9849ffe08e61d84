//! Plugins from git repositories, by the rules of the library that Helm uses for them (Masterminds/vcs).

use std::path::{Path, PathBuf};

use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;

use crate::error::{Error, Result, refused};

/// Runs the git program, in a way that no setting of a repository can make it run another one.
pub trait Git {
    /// Runs git in a folder, and gives what it wrote to both streams. It contacts no remote.
    ///
    /// # Errors
    /// When git is not there or fails.
    fn run(&self, dir: Option<&Path>, args: &[&str]) -> std::result::Result<String, GitFailure>;

    /// The same for commands that contact remotes. They are called only for clones that this crate has made.
    ///
    /// # Errors
    /// When git is not there or fails.
    fn run_with_remotes(&self, dir: Option<&Path>, args: &[&str]) -> std::result::Result<String, GitFailure>;

    /// Whether there is a git program.
    fn is_installed(&self) -> bool;
}

/// A failure of the git program.
#[derive(Clone, Debug)]
pub struct GitFailure {
    /// Why, such as `exit status 128`.
    pub reason: String,
    /// What it wrote to both streams.
    pub output: String,
}

/// A repository: where it is, and the clone of it.
pub struct Repository<'g> {
    git: &'g dyn Git,
    /// Where it was cloned from.
    pub remote: String,
    /// The clone.
    pub local: PathBuf,
}

const CANNOT_DETECT: &str = "Cannot detect VCS";

impl<'g> Repository<'g> {
    /// The repository of a URL, cloned or to be cloned to `local`.
    ///
    /// # Errors
    /// URLs that are not known to be those of a git repository.
    pub fn new(git: &'g dyn Git, remote: &str, local: PathBuf) -> Result<Repository<'g>> {
        let detected = match detect(remote)? {
            Detected::Git => true,
            Detected::Unknown => local.join(".git").exists(),
        };
        if !detected {
            return Err(Error::Git(CANNOT_DETECT.to_owned()));
        }
        Repository { git, remote: remote.to_owned(), local }.checked()
    }

    /// The repository that a folder is a clone of.
    ///
    /// # Errors
    /// A folder that is not a clone.
    pub fn existing(git: &'g dyn Git, local: PathBuf) -> Result<Repository<'g>> {
        if !local.join(".git").exists() {
            return Err(Error::Git(CANNOT_DETECT.to_owned()));
        }
        Repository { git, remote: String::new(), local }.checked()
    }

    fn checked(mut self) -> Result<Repository<'g>> {
        if !self.git.is_installed() {
            return Err(Error::Git("git is not installed".to_owned()));
        }
        if self.local.join(".git").exists() {
            // The file is read as data: nothing else in it counts.
            let config = self.local.join(".git/config").to_string_lossy().into_owned();
            let remote = self
                .git
                .run(None, &["config", "--file", &config, "--no-includes", "--get", "remote.origin.url"])
                .map_err(|failure| failed("Unable to retrieve local repo information", &failure))?;
            let remote = remote.trim();
            if !self.remote.is_empty() && self.remote != remote {
                return Err(Error::Git("The Remote does not match the VCS endpoint".to_owned()));
            }
            self.remote = remote.to_owned();
        }
        Ok(self)
    }

    /// Clones the repository, or brings the clone up to date.
    ///
    /// # Errors
    /// When git fails.
    pub fn sync(&self) -> Result<()> {
        if self.local.exists() {
            return self.update();
        }
        let local = self.local.to_string_lossy();
        self.git.run_with_remotes(None, &["clone", "--recursive", "--", &self.remote, &local]).map_err(
            |failure| Error::Git(format!("Unable to get repository: {}: {}", failure.output, failure.reason)),
        )?;
        Ok(())
    }

    /// Fetches, and follows the branch if one is checked out.
    ///
    /// # Errors
    /// When git fails.
    pub fn update(&self) -> Result<()> {
        let stopped = |failure: GitFailure| failed(NOT_UPDATED, &failure);
        self.git
            .run_with_remotes(Some(&self.local), &["fetch", "--tags", "--", "origin"])
            .map_err(stopped)?;
        if self.branch()?.is_none() {
            return Ok(());
        }
        self.git.run_with_remotes(Some(&self.local), &["pull"]).map_err(stopped)?;
        self.clean_submodules()
    }

    /// The branch that is checked out, if any.
    fn branch(&self) -> Result<Option<String>> {
        let head = self.local.join(".git/HEAD");
        let head = std::fs::read(&head)
            .map_err(refused("open", &head))
            .map_err(|error| error.within(NOT_UPDATED))?;
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        let branch = head.strip_prefix("ref: ");
        Ok(branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()))
    }

    /// Clones the repository of an installed plugin again, beside it, at the newest commit of its branch or at a version.
    /// The installed plugin stays as it is. Its own clone is not used, because its configuration may have come from anywhere.
    ///
    /// # Errors
    /// Changed files, and when git fails.
    pub fn stage_update(&self, version: &str) -> Result<StagedUpdate> {
        if self.is_dirty() {
            return Err(Error::Input("plugin repo was modified".to_owned()));
        }
        let parent = self.local.parent().unwrap_or(Path::new("."));
        let folder = tempfile::Builder::new().prefix(".pintle-").tempdir_in(parent);
        let folder = folder.map_err(refused("mkdir", parent))?;
        let fresh =
            Repository { git: self.git, remote: self.remote.clone(), local: folder.path().join("new") };
        let stopped = |failure: GitFailure| failed(NOT_UPDATED, &failure);
        let local = fresh.local.to_string_lossy().into_owned();
        self.git
            .run_with_remotes(None, &["clone", "--recursive", "--", &self.remote, &local])
            .map_err(stopped)?;
        let installed = self.commit()?;
        match (fresh.solve(version)?, self.branch()?) {
            (Some(reference), _) => fresh.checkout(&reference)?,
            (None, Some(branch)) if !branch.starts_with('-') => {
                self.git.run(Some(&fresh.local), &["checkout", &branch]).map_err(stopped)?;
                fresh.clean_submodules()?;
            }
            // A tag or a commit stays what it is.
            (None, _) => return Ok(StagedUpdate { folder, is_new: false }),
        }
        let is_new = fresh.commit()? != installed;
        Ok(StagedUpdate { folder, is_new })
    }

    /// Checks out a version.
    ///
    /// # Errors
    /// When git fails.
    pub fn checkout(&self, version: &str) -> Result<()> {
        self.git
            .run(Some(&self.local), &["checkout", version])
            .map_err(|failure| failed("Unable to update checked out version", &failure))?;
        self.clean_submodules()
    }

    /// Updates submodules to the checked-out version, and removes the folders of submodules that only an earlier one had.
    fn clean_submodules(&self) -> Result<()> {
        for (args, what) in [
            (&["submodule", "update", "--init", "--recursive"][..], "defensively updating submodules"),
            (
                &["clean", "-x", "-d", "-f", "-f"],
                "defensively cleaning up after possible derelict submodule directories",
            ),
            (
                &["submodule", "foreach", "--recursive", "git clean -x -d -f -f"],
                "defensively cleaning up after possible derelict nested submodule directories",
            ),
        ] {
            self.git
                .run_with_remotes(Some(&self.local), args)
                .map_err(|failure| failed(&format!("Unexpected error while {what}"), &failure))?;
        }
        Ok(())
    }

    /// Whether files of the clone were changed.
    pub fn is_dirty(&self) -> bool {
        self.git.run(Some(&self.local), &["diff"]).map_or(true, |text| !text.is_empty())
    }

    /// The commit that is checked out.
    ///
    /// # Errors
    /// When git fails.
    pub fn commit(&self) -> Result<String> {
        let text = self.git.run(Some(&self.local), &["rev-parse", "HEAD"]);
        let text = text.map_err(|failure| failed("Unable to retrieve checked out version", &failure))?;
        Ok(text.trim().to_owned())
    }

    /// What to check out for a version: the reference itself, or the newest tag in a range.
    ///
    /// # Errors
    /// Versions that are neither.
    pub fn solve(&self, version: &str) -> Result<Option<String>> {
        if version.is_empty() {
            return Ok(None);
        }
        let is_reference = !version.starts_with('-')
            && (self.git.run(Some(&self.local), &["rev-parse", "--verify", version]).is_ok()
                || self.git.run(Some(&self.local), &["show-ref", version]).is_ok());
        if is_reference {
            return Ok(Some(version.to_owned()));
        }
        let constraint = Constraint::parse(version).map_err(|error| Error::Input(error.to_string()))?;
        let refs = self
            .git
            .run(Some(&self.local), &["show-ref"])
            .map_err(|failure| failed("Unable to retrieve tags", &failure))?;
        let mut versions: Vec<Version> = refs
            .lines()
            .filter_map(|line| line.split_once("tags/"))
            .filter_map(|(_, tag)| Version::parse(tag.trim()).ok())
            .collect();
        versions.sort_by(|a, b| b.compare(a));
        match versions.iter().find(|found| constraint.check(found)) {
            Some(found) => Ok(Some(found.original().to_owned())),
            None => Err(Error::Input(format!(
                "requested version {} does not exist for plugin {}",
                quote(version.as_bytes()),
                quote(self.remote.as_bytes())
            ))),
        }
    }
}

/// The new state of an installed plugin, in a temporary folder beside it.
pub struct StagedUpdate {
    folder: tempfile::TempDir,
    /// Whether it differs from what is installed.
    pub is_new: bool,
}

impl StagedUpdate {
    /// The folder of the new state.
    pub fn dir(&self) -> PathBuf {
        self.folder.path().join("new")
    }

    /// Puts the new state in the place of the installed plugin.
    ///
    /// # Errors
    /// When folders cannot be renamed; then the installed plugin is as it was.
    pub fn replace(self, installed: &Path) -> Result<()> {
        let old = self.folder.path().join("old");
        std::fs::rename(installed, &old).map_err(refused("rename", installed))?;
        std::fs::rename(self.dir(), installed).map_err(|error| {
            // The first error is the one to report.
            let _ = std::fs::rename(&old, installed);
            refused("rename", installed)(error)
        })
    }
}

const NOT_UPDATED: &str = "Unable to update repository";

fn failed(what: &str, failure: &GitFailure) -> Error {
    Error::Git(format!("{what}: {}", failure.reason))
}

enum Detected {
    Git,
    Unknown,
}

/// The parts of a URL, or of what scp accepts.
struct Parts<'u> {
    scheme: &'u str,
    user: &'u str,
    host: &'u str,
    path: String,
}

fn parts(url: &str) -> Parts<'_> {
    if let Some((user, rest)) = url.split_once('@')
        && !user.is_empty()
        && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && let Some((host, path)) = rest.split_once(':')
        && !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    {
        return Parts { scheme: "", user, host, path: format!("/{path}") };
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme.is_empty() {
        return Parts { scheme: "", user: "", host: "", path: url.to_owned() };
    }
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user = login.split(':').next().unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Parts { scheme, user, host, path: path.to_owned() }
}

fn detect(url: &str) -> Result<Detected> {
    let Parts { scheme, user, host, path } = parts(url);
    if scheme == "file" {
        return Ok(if Path::new(&path).join(".git").exists() { Detected::Git } else { Detected::Unknown });
    }
    if host.is_empty() {
        return Ok(Detected::Unknown);
    }
    if matches!(scheme, "git" | "git+ssh") {
        return Ok(Detected::Git);
    }
    // Helm supports these if their programs are installed.
    let other = match scheme {
        "hg" => Some("hg"),
        "svn" | "svn+ssh" => Some("svn"),
        "bzr" | "bzr+ssh" => Some("bzr"),
        _ => None,
    };
    if let Some(kind) = other {
        return Err(Error::Git(format!("{kind} is not installed")));
    }
    if matches!(host, "github.com" | "bitbucket.org") {
        let names: Vec<&str> = path.split('/').skip(1).collect();
        let is_name = |name: &&str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        };
        return Ok(match names.len() >= 2 && names.iter().all(is_name) {
            true => Detected::Git,
            false => Detected::Unknown,
        });
    }
    match path.rsplit_once('.') {
        Some((_, "git")) => Ok(Detected::Git),
        Some((_, kind @ ("hg" | "svn" | "bzr"))) => {
            Err(Error::Git(format!("{kind} is not supported: only git repositories are")))
        }
        _ if user == "git" => Ok(Detected::Git),
        _ => Ok(Detected::Unknown),
    }
}

/// The name of the folder below the cache in which a URL is cloned.
pub fn cache_key(url: &str) -> String {
    let Parts { scheme, user, host, path } = parts(url);
    let mut key = String::new();
    for part in [scheme, user].into_iter().filter(|part| !part.is_empty()) {
        key.push_str(part);
        key.push('-');
    }
    key.push_str(host);
    key.push_str(&path.replace('/', "-"));
    key.replace(':', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_keys_are_helms() {
        for (url, key) in [
            ("https://github.com/masterminds/vcs", "https-github.com-masterminds-vcs"),
            ("git@github.com:foo/bar", "git-github.com-foo-bar"),
            ("ssh://git@host:22/a", "ssh-git-host-22-a"),
            ("file:///x/y", "file--x-y"),
            ("./a/b", ".-a-b"),
        ] {
            assert_eq!(cache_key(url), key);
        }
    }

    #[test]
    fn git_is_detected_by_scheme_host_ending_and_user() {
        let is_git = |url: &str| matches!(detect(url), Ok(Detected::Git));
        for url in [
            "https://github.com/a/b",
            "git://h/x",
            "https://h/a.git",
            "git@h:a/b",
            "git+ssh://h/a",
            "ssh://git@h/a",
        ] {
            assert!(is_git(url), "{url}");
        }
        for url in ["https://github.com/a", "https://h/a", "a/b", "file:///nonexistent"] {
            assert!(!is_git(url), "{url}");
        }
        assert!(detect("https://h/a.hg").is_err());
    }
}
