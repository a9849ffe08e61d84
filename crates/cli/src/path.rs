//! Paths as Go's `path/filepath` spells them, because they are printed and compared as text.

/// The shortest path that means the same, as Go's `filepath.Clean` gives it.
pub(crate) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Joins and cleans; empty parts count for nothing.
pub(crate) fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { clean(&parts.join("/")) }
}

/// The folder that a path is in, as Go's `filepath.Dir` gives it.
pub(crate) fn directory(path: &str) -> String {
    match path.rfind('/') {
        Some(at) => clean(&path[..=at]),
        None => ".".to_owned(),
    }
}

/// The last part of a path, as Go's `filepath.Base` gives it.
pub(crate) fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { "/" } else { trimmed.rsplit('/').next().unwrap_or(trimmed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_cleans_them() {
        for (path, want) in [
            ("", "."),
            ("a//b/./c/..", "a/b"),
            ("/..", "/"),
            ("../a/..", ".."),
            ("./x/", "x"),
            ("../../a", "../../a"),
        ] {
            assert_eq!(clean(path), want);
        }
        assert_eq!(join(&["/h", "", ".cache", "helm"]), "/h/.cache/helm");
        assert_eq!((directory("a/b"), directory("/a"), directory("a")), ("a".into(), "/".into(), ".".into()));
        assert_eq!((base("a/b/"), base("/"), base("")), ("b", "/", "."));
    }
}
