//! Paths as Go's `path/filepath` spells them, because they are printed and compared as text.

pub(crate) use pintle::chart::path::{base, clean};

/// Joins and cleans like Go's `filepath.Join`; empty parts are ignored.
pub(crate) fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { clean(&parts.join("/")) }
}

/// The parent directory, like Go's `filepath.Dir`.
pub(crate) fn directory(path: &str) -> String {
    match path.rfind('/') {
        Some(at) => clean(&path[..=at]),
        None => ".".to_owned(),
    }
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
