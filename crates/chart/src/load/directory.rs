//! Reads chart folders: every file that .helmignore does not exclude, following symlinks.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::archive::{MAX_CHART_SIZE, without_bom};
use super::ignore::IgnoreRules;
use super::read_regular;
use crate::File;
use crate::error::{Error, FileError, Result, file_error};
use crate::path::clean;
use pintle_tree::{LogLevel, LogLine, Str};

/// The maximum depth of folders. Walking recurses, and links can make folders deeper than any real tree.
const MAX_DEPTH: usize = 512;

/// Reads the files of the chart folder `path`, sorted by name. Symlinks are followed, as in Helm, and logged.
///
/// # Errors
/// When a file cannot be read or is not regular, a symlink is dangling or cyclic, or all files together are too large.
pub fn read_folder(path: &Path, log: &mut Vec<LogLine>) -> Result<Vec<File>> {
    let root = absolute(path)?;
    let ignore_file = root.join(".helmignore");
    let rules = if ignore_file.exists() {
        IgnoreRules::parse(&read_regular(&ignore_file).map_err(file_error("open", &ignore_file))?)?
    } else {
        IgnoreRules::parse(b"")?
    };
    // Symlinks that leave the chart are logged; this is the folder they are compared with.
    let home = fs::canonicalize(&root).map_err(file_error("lstat", &root))?;
    let mut walk = Walk {
        rules,
        files: Vec::new(),
        remaining: MAX_CHART_SIZE,
        log,
        home: home.clone(),
        open: vec![home],
    };
    walk.folder(&root, "")?;
    Ok(walk.files)
}

/// The absolute path without `.` and `..`, lexically, as Go's `filepath.Abs`.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).map_err(file_error("getwd", path))?;
    Ok(absolute.to_str().map_or(absolute.clone(), |text| PathBuf::from(clean(text))))
}

struct Walk<'a> {
    rules: IgnoreRules,
    files: Vec<File>,
    /// How many bytes the files that are not read yet may have.
    remaining: u64,
    log: &'a mut Vec<LogLine>,
    /// The real path of the chart folder.
    home: PathBuf,
    /// The real paths of the folders being walked, to detect cycles.
    open: Vec<PathBuf>,
}

impl Walk<'_> {
    /// Walks the folder at `path`, which is `name` inside the chart.
    fn folder(&mut self, path: &Path, name: &str) -> Result<()> {
        if self.open.len() > MAX_DEPTH {
            return Err(Error::message(format!(
                "folders are nested more than {MAX_DEPTH} deep at {}",
                path.display()
            )));
        }
        let entries = fs::read_dir(path).map_err(file_error("open", path))?;
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(file_error("readdirent", path))?.file_name());
        }
        // As Go's walk does; the order reaches `.Files`, archives and digests.
        names.sort();
        for entry in names {
            let inside = entry.to_string_lossy();
            let inside = if name.is_empty() { inside.into_owned() } else { format!("{name}/{inside}") };
            self.entry(&path.join(&entry), &inside)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &str) -> Result<()> {
        let mut metadata = fs::symlink_metadata(path).map_err(file_error("lstat", path))?;
        let mut target = None;
        if metadata.is_symlink() {
            let resolved = self.resolve(path)?;
            metadata = fs::symlink_metadata(&resolved).map_err(file_error("lstat", &resolved))?;
            target = Some(resolved);
        }
        // By the name of the link, not that of its target.
        if self.rules.ignores(name, metadata.is_dir()) {
            return Ok(());
        }
        if metadata.is_dir() {
            return self.enter(path, name, target);
        }
        if !metadata.is_file() {
            return Err(Error::Irregular(path.to_owned()));
        }
        let data = self.read(path, name, metadata.len())?;
        let modified = metadata.modified().ok().map(|time| match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_secs()).unwrap_or(i64::MAX),
        });
        self.files.push(File { name: name.to_owned(), data: text_of(data).into(), modified });
        Ok(())
    }

    /// Reads a file of `size` bytes, if it is within the limit together with those before it.
    fn read(&mut self, path: &Path, name: &str, size: u64) -> Result<Vec<u8>> {
        let too_large = || Error::FolderTooLarge { name: name.to_owned(), limit: MAX_CHART_SIZE };
        if size > self.remaining {
            return Err(too_large());
        }
        // One byte more than is allowed shows a file that has grown since.
        let read = || -> io::Result<Vec<u8>> {
            let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
            fs::File::open(path)?.take(self.remaining + 1).read_to_end(&mut data)?;
            Ok(data)
        };
        let data = read().map_err(|source| Error::Reading {
            name: name.to_owned(),
            source: FileError::new("open", path, source),
        })?;
        self.remaining = self.remaining.checked_sub(data.len() as u64).ok_or_else(too_large)?;
        Ok(data)
    }

    /// Walks a folder, unless that would be a cycle.
    fn enter(&mut self, path: &Path, name: &str, target: Option<PathBuf>) -> Result<()> {
        let real = match target {
            Some(target) if self.open.contains(&target) => {
                let reason = format!("it leads back to {}, which contains it", target.display());
                return Err(Error::Link { path: path.to_owned(), reason });
            }
            Some(target) => target,
            // Below a plain folder only another symlink can lead back, so its real path can be derived.
            None => match (self.open.last(), path.file_name()) {
                (Some(parent), Some(own)) => parent.join(own),
                _ => path.to_owned(),
            },
        };
        self.open.push(real);
        self.folder(path, name)?;
        self.open.pop();
        Ok(())
    }

    /// The target of a symlink; logs a warning.
    fn resolve(&mut self, path: &Path) -> Result<PathBuf> {
        let resolved = fs::canonicalize(path).map_err(|source| Error::Link {
            path: path.to_owned(),
            reason: FileError::new("lstat", first_missing(path), source).to_string(),
        })?;
        let attributes =
            || vec![("path", path.display().to_string()), ("resolved", resolved.display().to_string())];
        self.log.push(LogLine {
            level: LogLevel::Info,
            message: "found symbolic link in path. Contents of linked file included and used".into(),
            attributes: attributes(),
        });
        if !resolved.starts_with(&self.home) {
            self.log.push(LogLine {
                level: LogLevel::Warn,
                message: "symbolic link leads out of the chart folder".into(),
                attributes: attributes(),
            });
        }
        Ok(resolved)
    }
}

/// The end of a chain of symlinks, which is what Go names if it is missing.
fn first_missing(link: &Path) -> PathBuf {
    let mut path = link.to_owned();
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    path.to_str().map_or(path.clone(), |text| PathBuf::from(clean(text)))
}

/// The content without a byte order mark, moved rather than copied in the usual case.
fn text_of(data: Vec<u8>) -> Str {
    match without_bom(&data) {
        content if content.len() < data.len() => Str::new(content),
        _ => Str::from(data),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder for the test");
        fs::create_dir_all(folder.path().join("chart/templates")).expect("can be made");
        fs::write(folder.path().join("chart/Chart.yaml"), "name: a").expect("can be written");
        folder
    }

    #[test]
    fn files_come_in_order_and_ignored_ones_not_at_all() {
        let folder = folder();
        let chart = folder.path().join("chart");
        for (name, text) in
            [("templates/.x", ""), ("b.bak", ""), ("a/z", "\u{feff}z"), (".helmignore", "*.bak\n")]
        {
            fs::create_dir_all(chart.join("a")).expect("can be made");
            fs::write(chart.join(name), text).expect("can be written");
        }
        let files = read_folder(&chart, &mut Vec::new()).expect("a good folder");
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, [".helmignore", "Chart.yaml", "a/z"]);
        assert_eq!(&files[2].data[..], b"z");
        assert!(files[2].modified.is_some());
    }

    #[test]
    fn links_are_followed_and_remarked_on() {
        let folder = folder();
        let chart = folder.path().join("chart");
        fs::write(folder.path().join("outside.yaml"), "x").expect("can be written");
        symlink("../../outside.yaml", chart.join("templates/out.yaml")).expect("can be linked");
        symlink("../Chart.yaml", chart.join("templates/in.yaml")).expect("can be linked");
        let mut log = Vec::new();
        let files = read_folder(&chart, &mut log).expect("a good folder");
        assert_eq!(files.len(), 3);
        let levels: Vec<LogLevel> = log.iter().map(|line| line.level).collect();
        assert_eq!(levels, [LogLevel::Info, LogLevel::Info, LogLevel::Warn]);
    }

    #[test]
    fn links_in_a_circle_and_into_nothing_are_errors() {
        let folder = folder();
        let chart = folder.path().join("chart");
        symlink("..", chart.join("templates/loop")).expect("can be linked");
        let error = read_folder(&chart, &mut Vec::new()).expect_err("a circle").to_string();
        assert!(error.contains("templates/loop: it leads back to"), "{error}");
        fs::remove_file(chart.join("templates/loop")).expect("can be removed");
        symlink("nope", chart.join("templates/broken")).expect("can be linked");
        let error = read_folder(&chart, &mut Vec::new()).expect_err("leads nowhere").to_string();
        assert!(error.starts_with("error evaluating symlink "), "{error}");
        assert!(error.ends_with("chart/templates/nope: no such file or directory"), "{error}");
    }

    #[test]
    fn all_files_together_are_limited_and_ignored_ones_do_not_count() {
        let folder = folder();
        let chart = folder.path().join("chart");
        // Sparse files, which take no space.
        let sparse = |name: &str, size: u64| {
            let file = fs::File::create(chart.join(name)).expect("can be made");
            file.set_len(size).expect("can be sized");
        };
        sparse("a.bin", 6 << 20);
        assert_eq!(read_folder(&chart, &mut Vec::new()).expect("a good folder").len(), 2);
        sparse("templates/b.bin", MAX_CHART_SIZE - (6 << 20) - 6);
        let error = read_folder(&chart, &mut Vec::new()).expect_err("too large").to_string();
        assert_eq!(
            error,
            "error reading templates/b.bin: chart exceeds maximum decompressed size of 104857600 bytes"
        );
        fs::write(chart.join(".helmignore"), "a.bin\n").expect("can be written");
        assert_eq!(read_folder(&chart, &mut Vec::new()).expect("a good folder").len(), 3);
    }
}
