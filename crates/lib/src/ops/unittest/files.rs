//! Files by patterns, as Go's `filepath.Glob` finds them; `**` stands for any number of folders.

use std::fs;
use std::path::Path;

use pintle_chart::path::clean;

/// Joins two paths and cleans the result.
pub(super) fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => clean(name),
        folder => clean(&format!("{folder}/{name}")),
    }
}

/// Finds suite files by patterns relative to a chart.
///
/// # Errors
/// When a pattern is malformed.
pub(super) fn find(chart: &str, patterns: &[String]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut last = None;
    for pattern in patterns {
        // A pattern that repeats the one before counts once.
        if last.replace(pattern) == Some(pattern) {
            continue;
        }
        if pattern.starts_with('/') {
            found.push(pattern.clone());
        } else if pattern.contains(&format!("{chart}/")) {
            found.append(&mut glob(pattern)?);
        } else {
            found.append(&mut glob(&join(chart, pattern))?);
        }
    }
    Ok(found)
}

/// Finds values files by patterns relative to the current folder, and returns absolute paths.
///
/// # Errors
/// When a pattern is malformed.
pub(super) fn find_values(patterns: &[String], current: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for pattern in patterns {
        match pattern.starts_with('/') {
            true => found.push(pattern.clone()),
            false => found.append(&mut glob(pattern)?),
        }
    }
    let absolute = |path: String| match path.starts_with('/') {
        true => path,
        false => clean(&format!("{}/{path}", current.display())),
    };
    Ok(found.into_iter().map(absolute).collect())
}

/// The path of a file relative to the current folder.
pub(super) fn relative(current: &Path, path: &str) -> String {
    if !path.starts_with('/') {
        return clean(path);
    }
    let current = clean(&current.to_string_lossy());
    let (base, path) = (clean(&current), clean(path));
    let base: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let common = base.iter().zip(&path).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", base.len() - common);
    up.chain(path[common..].iter().copied()).collect::<Vec<_>>().join("/")
}

fn glob(pattern: &str) -> Result<Vec<String>, String> {
    if !pattern.contains("**") {
        return glob_once(pattern);
    }
    let mut matches = vec![String::new()];
    for part in pattern.split("**") {
        let mut hits = Vec::new();
        for found in &matches {
            for path in glob_once(&format!("{found}{part}"))? {
                walk(&path, &mut hits);
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        hits.retain(|path| seen.insert(path.clone()));
        matches = hits;
    }
    Ok(matches)
}

/// The file or folder and everything below it, in the order of names.
fn walk(path: &str, into: &mut Vec<String>) {
    into.push(path.to_owned());
    if fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) {
        for name in names(path) {
            walk(&join(path, &name), into);
        }
    }
}

/// The names in a folder, in order.
fn names(folder: &str) -> Vec<String> {
    let folder = if folder.is_empty() { "." } else { folder };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn glob_once(pattern: &str) -> Result<Vec<String>, String> {
    if !pattern.contains(['*', '?', '[', '\\']) {
        return Ok(if fs::symlink_metadata(pattern).is_ok() { vec![pattern.to_owned()] } else { Vec::new() });
    }
    let (folder, name) = match pattern.rsplit_once('/') {
        None => (".".to_owned(), pattern),
        Some(("", name)) => ("/".to_owned(), name),
        Some((folder, name)) => (folder.to_owned(), name),
    };
    let folders = if folder.contains(['*', '?', '[', '\\']) { glob_once(&folder)? } else { vec![folder] };
    let mut found = Vec::new();
    for folder in folders {
        if !fs::metadata(&folder).is_ok_and(|about| about.is_dir()) {
            continue;
        }
        for entry in names(&folder) {
            let matches = pintle_chart::matches(name, &entry);
            if matches.map_err(|_| "syntax error in pattern".to_owned())? {
                found.push(join(&folder, &entry));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_files_in_the_order_of_folders() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap().to_owned();
        for name in ["tests/b_test.yaml", "tests/a_test.yaml", "tests/x/c_test.yaml", "tests/x/d.yaml"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| -> Vec<String> {
            let found = find(&root, &[pattern.to_owned()]).unwrap();
            found.iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
        };
        assert_eq!(found("tests/*_test.yaml"), ["/tests/a_test.yaml", "/tests/b_test.yaml"]);
        assert_eq!(
            found("tests/**/*_test.yaml"),
            ["/tests/a_test.yaml", "/tests/b_test.yaml", "/tests/x/c_test.yaml"]
        );
        assert_eq!(found("none/*.yaml"), [] as [&str; 0]);
    }

    #[test]
    fn paths_are_relative_to_the_current_folder() {
        let current = Path::new("/a/b");
        assert_eq!(relative(current, "/a/b/c/d.yaml"), "c/d.yaml");
        assert_eq!(relative(current, "/a/x/d.yaml"), "../x/d.yaml");
        assert_eq!(relative(current, "./c/d.yaml"), "c/d.yaml");
    }
}
