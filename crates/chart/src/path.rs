//! Slash-separated paths, as in Go's `path` package.

/// The last element of a path: `.` if empty, `/` if it is nothing but slashes.
pub fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/";
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// The extension with its dot, or empty.
pub fn extension(path: &str) -> &str {
    let name = &path[path.rfind('/').map_or(0, |slash| slash + 1)..];
    name.rfind('.').map_or("", |dot| &name[dot..])
}

/// The shortest equivalent path, lexically: no `.`, no inner `..`, no double slashes.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            // The parent of the root is the root.
            ".." if rooted => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_cleans_them() {
        for (path, cleaned) in [
            ("", "."),
            ("a//b/./c", "a/b/c"),
            ("a/../..", ".."),
            ("../../a", "../../a"),
            ("/../a/", "/a"),
            ("a/b/../../c", "c"),
        ] {
            assert_eq!(clean(path), cleaned, "{path}");
        }
    }

    #[test]
    fn bases_and_extensions_are_go_s() {
        assert_eq!((base("a/b/"), base("/"), base("")), ("b", "/", "."));
        assert_eq!((extension("a.b/c"), extension("a/b.tar.tgz"), extension("x.")), ("", ".tgz", "."));
    }
}
