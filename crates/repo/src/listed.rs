//! What an index may say about an archive. Whoever writes the index chooses its URLs, and with them what is fetched from where
//! the user is, and under which name it is written.

use pintle_semver::Version;
use pintle_tree::redact::redacted;

use crate::address::{Address, resolve_reference};
use crate::error::{Error, Result};

/// The URL of an archive that the index of a repository names: absolute, and of a scheme that the index may name. These are
/// HTTP and OCI, and the scheme of the repository itself, for getter plugins whose repositories have URLs of their own.
/// Schemes that no getter knows are left for the errors of what fetches them.
///
/// # Errors
/// URLs that cannot be resolved, and other schemes.
pub(crate) fn archive_url(
    is_of_plugin: impl Fn(&str) -> bool,
    repository: &str,
    listed: &str,
) -> std::result::Result<Result<String>, String> {
    let url = resolve_reference(repository, listed)?;
    let scheme = |url: &str| Address::parse(url).map(|address| address.scheme).unwrap_or_default();
    let found = scheme(&url);
    let is_plain = matches!(found.as_str(), "http" | "https" | "oci");
    if is_plain || found == scheme(repository) || !is_of_plugin(&url) {
        return Ok(Ok(url));
    }
    Ok(Err(Error::Input(format!(
        "the index of {} names {}: an index may name URLs with http, https and oci, and with the scheme of its repository",
        redacted(repository),
        redacted(&url)
    ))))
}

/// The name of the file for an archive that an index names: the last part of its URL if that is one of an archive, and
/// otherwise one made of name and version.
pub(crate) fn file_name(url: &Address, chart: &str, version: &str) -> String {
    let path = url.plain_path();
    let name = pintle_chart::path::base(&path);
    let is_plain = |letter: char| !letter.is_control() && !matches!(letter, '/' | '\\' | ':');
    let is_archive = name.ends_with(".tgz") || name.ends_with(".tar.gz");
    if is_archive && !name.starts_with(['.', '-']) && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let chart = pintle_chart::path::base(chart).trim_start_matches(['.', '-']);
    let chart: String = chart.chars().filter(|letter| is_plain(*letter)).collect();
    match Version::parse(version) {
        Ok(version) => format!("{chart}-{}.tgz", version.original()),
        Err(_) => format!("{chart}.tgz"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_name_http_oci_and_what_their_repository_is_reached_by() {
        let allowed = |repository: &str, listed: &str| {
            archive_url(|_| true, repository, listed).expect("a URL").is_ok()
        };
        for listed in ["a-1.tgz", "https://b/a-1.tgz", "http://b/a-1.tgz", "oci://b/a:1", "/x/a-1.tgz"] {
            assert!(allowed("https://h/charts", listed), "{listed}");
            assert!(allowed("s3://h/charts", listed), "{listed}");
        }
        assert!(allowed("git+https://h/r@x", "git+https://h/other@x/a-1.tgz"));
        for listed in ["git+file:///home/me/r@x", "s3://b/a-1.tgz", "file:///etc/passwd", "git+https://h/r@x"]
        {
            assert!(!allowed("https://h/charts", listed), "{listed}");
            assert!(!allowed("demo://h/charts", listed), "{listed}");
        }
        assert_eq!(archive_url(|_| false, "https://h", "ftp://h/a.tgz"), Ok(Ok("ftp://h/a.tgz".to_owned())));
    }

    #[test]
    fn names_of_files_are_those_of_archives() {
        let name = |url: &str| file_name(&Address::parse(url).expect("a URL"), "web", "1.0.0+a");
        assert_eq!(name("https://h/x/web-1.0.0.tgz?token=1"), "web-1.0.0.tgz");
        assert_eq!(name("https://h/x/web.tar.gz"), "web.tar.gz");
        for url in [
            "https://h/.bashrc",
            "https://h/.tgz",
            "https://h/authorized_keys",
            "https://h/download",
            "https://h/..",
            "https://h",
            "https://h/a%5Cb.tgz",
            "https://h/-x.tgz",
        ] {
            assert_eq!(name(url), "web-1.0.0+a.tgz", "{url}");
        }
        assert_eq!(file_name(&Address::parse("https://h/x").expect("a URL"), "../.web", "../1"), "web.tgz");
    }
}
