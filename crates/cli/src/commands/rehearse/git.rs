//! Reads a directory at a git commit.
//!
//! The repository is as untrusted as the chart, and its configuration can run commands for much of what git does:
//! filters, archive compression, signatures, remote helpers, hooks, file system monitors. So git is used only for what
//! runs none of these: resolving a name, listing a tree, and reading objects.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The limits for the number of files of a chart and for their total size.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 100 << 20;

/// A file in a tree.
struct Entry {
    object: String,
    size: u64,
    path: PathBuf,
}

/// Writes the files below `folder` at a commit to a temporary directory. Links and submodules are left out.
///
/// # Errors
///
/// Errors of git, and invalid trees.
pub(super) fn check_out(folder: &Path, commit: &str) -> Result<TempDir, String> {
    let revision = format!("{commit}^{{commit}}");
    let commit = output(folder, &["rev-parse", "--verify", "--end-of-options", &revision])?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    // Git lists relative to its working directory.
    let listing = output(folder, &["ls-tree", "-r", "-l", "-z", &commit, "--", "."])?;
    let entries = read_listing(&listing)?;
    if entries.is_empty() {
        return Err("it has no such folder".to_owned());
    }
    let made = tempfile::Builder::new().prefix("pintle-").tempdir().map_err(|error| error.to_string())?;
    write_files(folder, &entries, made.path())?;
    Ok(made)
}

/// Git, without anything that the repository could make it run.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["--no-pager", "--no-replace-objects"]).arg("-C").arg(folder);
    for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false"] {
        command.args(["-c", setting]);
    }
    // Missing objects of a partial clone are not downloaded: a remote can be a command.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    command.stdin(Stdio::null());
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let answer = git(folder).args(arguments).output().map_err(|error| format!("cannot run git: {error}"))?;
    if answer.status.success() { Ok(answer.stdout) } else { Err(first_line(&answer.stderr)) }
}

fn first_line(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message);
    message.trim().lines().next().unwrap_or_default().trim_start_matches("fatal: ").to_owned()
}

/// Parses lines of `MODE TYPE OBJECT SIZE<tab>PATH`.
fn read_listing(listing: &[u8]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let mut bytes = 0_u64;
    for line in listing.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = std::str::from_utf8(line).map_err(|_| "a file has a name that is not UTF-8".to_owned())?;
        let (about, path) = line.split_once('\t').ok_or("git lists files in an unknown way")?;
        let about: Vec<&str> = about.split_whitespace().collect();
        let [mode, "blob", object, size] = about[..] else { continue };
        if !mode.starts_with("100") {
            continue;
        }
        let size = size.parse().map_err(|_| format!("`{path}` has no size"))?;
        bytes = bytes.saturating_add(size);
        entries.push(Entry { object: object.to_owned(), size, path: relative_path(path)? });
        if entries.len() > MAX_FILES || bytes > MAX_BYTES {
            return Err(format!("the chart has more than {MAX_FILES} files or {} MiB", MAX_BYTES >> 20));
        }
    }
    Ok(entries)
}

/// A path that stays in its directory. Git lists names that it would not check out itself.
fn relative_path(path: &str) -> Result<PathBuf, String> {
    let all_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if all_plain && !path.is_empty() && !path.contains('\\') {
        Ok(PathBuf::from(path))
    } else {
        Err(format!("a file has the name {path:?}"))
    }
}

fn write_files(folder: &Path, entries: &[Entry], to: &Path) -> Result<(), String> {
    let mut command = git(folder);
    command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot run git: {error}"))?;
    let (Some(mut questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("git has no streams".to_owned());
    };
    let mut answers = BufReader::new(answers);
    let mut copied = || -> Result<(), String> {
        for entry in entries {
            // One at a time, so that full pipes cannot block both sides.
            writeln!(questions, "{}", entry.object).and_then(|()| questions.flush()).map_err(failed)?;
            copy(&mut answers, entry, to)?;
        }
        Ok(())
    };
    let outcome = copied();
    drop(questions);
    drop(answers);
    child.wait().map_err(failed)?;
    outcome
}

fn copy(answers: &mut impl std::io::BufRead, entry: &Entry, to: &Path) -> Result<(), String> {
    let mut head = String::new();
    answers.by_ref().take(1024).read_line(&mut head).map_err(failed)?;
    let name = entry.path.display();
    if head.trim_end() != format!("{} blob {}", entry.object, entry.size) {
        return Err(format!("the object of `{name}` is missing"));
    }
    let path = to.join(&entry.path);
    fs::create_dir_all(path.parent().unwrap_or(to)).map_err(failed)?;
    let mut file = fs::File::create_new(&path).map_err(|error| format!("cannot write `{name}`: {error}"))?;
    let size = std::io::copy(&mut answers.by_ref().take(entry.size), &mut file).map_err(failed)?;
    let mut end = [0];
    answers.read_exact(&mut end).map_err(failed)?;
    if size == entry.size { Ok(()) } else { Err(format!("the object of `{name}` is truncated")) }
}

fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../x", "/x", "a/../../x", "a\\..\\x", ""] {
            assert!(relative_path(name).is_err(), "{name}");
        }
        assert!(relative_path("templates/a b.yaml").is_ok());
    }

    #[test]
    fn links_and_submodules_are_left_out() {
        let listing =
            ["100644 blob aa 3\tChart.yaml", "120000 blob bb 4\tlink", "160000 commit cc -\tmodule"]
                .join("\0");
        let entries = read_listing(listing.as_bytes()).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].size, entries[0].object.as_str()), (3, "aa"));
    }
}
