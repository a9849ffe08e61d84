//! Where a plugin comes from.

use std::path::{Path, PathBuf};

/// The endings of archives.
const ARCHIVES: [&str; 2] = [".tar.gz", ".tgz"];

/// A source of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A folder, which is linked.
    Folder(PathBuf),
    /// An archive on disk.
    Archive(PathBuf),
    /// Something else on disk, which is refused.
    OtherFile(PathBuf),
    /// An archive on a web server.
    Url(String),
    /// An artifact of a registry.
    Oci(String),
    /// A repository of git.
    Git(String),
}

impl Source {
    /// What a source is, by Helm's tests and in their order. `absolute` makes a path absolute, and `serves_archive` asks a
    /// web server whether a URL is an archive.
    pub fn classify(
        source: &str,
        absolute: impl Fn(&str) -> PathBuf,
        serves_archive: impl Fn(&str) -> bool,
    ) -> Source {
        if source.starts_with("oci://") {
            return Source::Oci(source.to_owned());
        }
        if let Ok(found) = std::fs::metadata(source) {
            let path = absolute(source);
            return match () {
                () if is_archive(&path.to_string_lossy()) => Source::Archive(path),
                () if found.is_dir() => Source::Folder(path),
                () => Source::OtherFile(path),
            };
        }
        let is_web = source.starts_with("http://") || source.starts_with("https://");
        if is_web && (is_archive(source) || serves_archive(source)) {
            return Source::Url(source.to_owned());
        }
        Source::Git(source.to_owned())
    }

    /// Whether it has a signature to verify.
    pub fn supports_verification(&self) -> bool {
        match self {
            Source::Archive(_) | Source::Oci(_) => true,
            Source::Url(url) => is_archive(url),
            Source::Folder(_) | Source::OtherFile(_) | Source::Git(_) => false,
        }
    }
}

/// Whether a name is that of an archive.
pub(crate) fn is_archive(name: &str) -> bool {
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

/// The name of the plugin in an archive, by the name of the file: without the ending, and without a version after the
/// last dash that a digit and a dot follow.
pub fn plugin_name_of_archive(file_name: &str) -> String {
    let stem = ARCHIVES.iter().find_map(|ending| file_name.strip_suffix(ending)).unwrap_or_default();
    let mut end = stem.len();
    while let Some(dash) = stem[..end].rfind('-') {
        let rest = &stem[dash + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && rest.as_bytes().get(digits) == Some(&b'.') {
            return stem[..dash].to_owned();
        }
        end = dash;
    }
    stem.to_owned()
}

/// The name of the plugin of a reference to a registry: the last part of the repository.
pub fn plugin_name_of_oci(reference: &str) -> String {
    let reference = reference.strip_prefix("oci://").unwrap_or(reference);
    let reference = reference.split('@').next().unwrap_or(reference);
    let last = reference.rsplit('/').next().unwrap_or(reference);
    last.split(':').next().unwrap_or(last).to_owned()
}

/// The last part of a path or a URL, as Go's `filepath.Base` has it.
pub(crate) fn base(text: &str) -> &str {
    let trimmed = text.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some("") | None => "/",
        Some(name) => name,
    }
}

/// Whether a folder has a manifest.
pub(crate) fn is_plugin(dir: &Path) -> bool {
    std::fs::metadata(dir.join(crate::load::MANIFEST)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_versions_and_endings() {
        for (file, name) in [
            ("a.tgz", "a"),
            ("fake-plugin-0.0.1.tar.gz", "fake-plugin"),
            ("a-1.2.3-4.5.tgz", "a-1.2.3"),
            ("a-1.tgz", "a-1"),
            ("a-v1.0.0.tgz", "a-v1.0.0"),
            ("helm-diff-linux-amd64.tgz", "helm-diff-linux-amd64"),
            ("a.zip", ""),
        ] {
            assert_eq!(plugin_name_of_archive(file), name, "{file}");
        }
        assert_eq!(plugin_name_of_oci("oci://host:5000/a/b:1.0.0"), "b");
        assert_eq!(plugin_name_of_oci("oci://host/a@sha256:00"), "a");
    }

    #[test]
    fn the_tests_come_in_helms_order() {
        let classify =
            |text: &str| Source::classify(text, |path| path.into(), |url| url.ends_with("/served"));
        assert_eq!(classify("oci://a/b"), Source::Oci("oci://a/b".into()));
        assert_eq!(classify("https://a/b.tgz"), Source::Url("https://a/b.tgz".into()));
        assert_eq!(classify("https://a/served"), Source::Url("https://a/served".into()));
        assert_eq!(classify("https://a/b"), Source::Git("https://a/b".into()));
        assert_eq!(classify("/nonexistent"), Source::Git("/nonexistent".into()));
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(classify(&dir.path().to_string_lossy()), Source::Folder(dir.path().to_owned()));
    }
}
