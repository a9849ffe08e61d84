//! Redaction of URLs for display.

use std::borrow::Cow;

/// A URL without its password, as Go's HTTP client prints it: `https://user:***@host`. Text that is not a URL is
/// returned unchanged.
pub fn redacted(address: &str) -> Cow<'_, str> {
    let begin = address.find("://").map_or(0, |at| at + 3);
    let rest = &address[begin..];
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    // A password may contain an unescaped `@`.
    let Some((userinfo, _)) = authority.rsplit_once('@') else { return Cow::Borrowed(address) };
    let Some((user, _)) = userinfo.split_once(':') else { return Cow::Borrowed(address) };
    Cow::Owned(format!("{}{user}:***{}", &address[..begin], &rest[userinfo.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_and_nothing_else() {
        for (address, shown) in [
            ("https://me:secret@host:6443/a?b=c", "https://me:***@host:6443/a?b=c"),
            ("http://:secret@host", "http://:***@host"),
            ("https://me:se@cret@host/x", "https://me:***@host/x"),
            ("me:secret@host:80", "me:***@host:80"),
            ("https://me@host/x", "https://me@host/x"),
            ("https://host:6443/x", "https://host:6443/x"),
            ("oci://host:5000/a/b:1.0@sha256:00", "oci://host:5000/a/b:1.0@sha256:00"),
            ("host:80", "host:80"),
            ("", ""),
        ] {
            assert_eq!(redacted(address), shown);
        }
    }
}
