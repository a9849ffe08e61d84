//! Plugins from git repositories, by the rules of the library that Helm uses for them (Masterminds/vcs).

use std::path::{Path, PathBuf};

use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;

use crate::error::{Error, Result, refused};

/// Runs the git program.
pub trait Git {
    /// Runs git in a folder, and gives what it wrote to both streams.
    ///
    /// # Errors
    /// When git is not there or fails.
    fn run(&self, dir: Option<&Path>, args: &[&str]) -> std::result::Result<String, GitFailure>;

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
            let remote = self
                .git
                .run(Some(&self.local), &["config", "--get", "remote.origin.url"])
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
        self.git.run(None, &["clone", "--recursive", "--", &self.remote, &local]).map_err(|failure| {
            Error::Git(format!("Unable to get repository: {}: {}", failure.output, failure.reason))
        })?;
        Ok(())
    }

    /// Fetches, and follows the branch if one is checked out.
    ///
    /// # Errors
    /// When git fails.
    pub fn update(&self) -> Result<()> {
        let stopped = |failure: GitFailure| failed("Unable to update repository", &failure);
        self.git.run(Some(&self.local), &["fetch", "--tags", "--", "origin"]).map_err(stopped)?;
        let head = self.local.join(".git/HEAD");
        let head = std::fs::read(&head)
            .map_err(refused("open", &head))
            .map_err(|error| error.within("Unable to update repository"))?;
        if !head.trim_ascii().starts_with(b"ref: ") {
            return Ok(());
        }
        self.git.run(Some(&self.local), &["pull"]).map_err(stopped)?;
        self.clean_submodules()
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
                .run(Some(&self.local), args)
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
