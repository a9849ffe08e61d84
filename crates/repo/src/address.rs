//! URLs as Go's `net/url` reads, joins and writes them, as far as chart repositories need it.

use pintle_chart::path;

/// A URL in its parts. Paths stay as they are spelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// `https`, in lower case.
    pub scheme: String,
    /// `user:password`, as it is spelled.
    pub userinfo: Option<String>,
    /// The host, with its port.
    pub host: String,
    /// The path.
    pub path: String,
    /// What stands behind `?`.
    pub query: Option<String>,
    /// What stands behind `#`.
    pub fragment: Option<String>,
    /// Whether there were two slashes, with or without a host.
    has_authority: bool,
    /// Whether the part after the scheme is opaque, as in `mailto:me`.
    opaque: bool,
}

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    /// What Go refuses, in its words.
    pub fn parse(text: &str) -> Result<Address, String> {
        let wrong = |reason: &str| format!("parse {}: {reason}", pintle_tree::quote::quote(text.as_bytes()));
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(wrong("net/url: invalid control character in URL"));
        }
        let mut address = Address::default();
        let (rest, fragment) = match text.split_once('#') {
            Some((rest, fragment)) => (rest, Some(fragment.to_owned())),
            None => (text, None),
        };
        address.fragment = fragment.filter(|fragment| !fragment.is_empty());
        let rest = match scheme(rest) {
            Scheme::Missing => return Err(wrong("missing protocol scheme")),
            Scheme::None => rest,
            Scheme::Found(name, rest) => {
                address.scheme = name.to_ascii_lowercase();
                rest
            }
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        address.query = query;
        let rest = match rest.strip_prefix("//") {
            Some(rest) => {
                address.has_authority = true;
                let end = rest.find('/').unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                let host = match authority.rsplit_once('@') {
                    Some((userinfo, host)) => {
                        address.userinfo = Some(userinfo.to_owned());
                        host
                    }
                    None => authority,
                };
                check_host(host).map_err(|reason| wrong(&reason))?;
                host.clone_into(&mut address.host);
                path
            }
            None => rest,
        };
        if address.scheme.is_empty() && !address.has_authority {
            let first = rest.split('/').next().unwrap_or_default();
            if first.contains(':') {
                return Err(wrong("first path segment in URL cannot contain colon"));
            }
        }
        address.opaque = address.is_absolute() && !address.has_authority && !rest.starts_with('/');
        if !address.opaque {
            check_escapes(rest).map_err(|reason| wrong(&reason))?;
        }
        rest.clone_into(&mut address.path);
        Ok(address)
    }

    /// Whether it has a scheme.
    pub fn is_absolute(&self) -> bool {
        !self.scheme.is_empty()
    }

    /// The path with its escapes resolved.
    pub fn plain_path(&self) -> String {
        if self.opaque { String::new() } else { unescape(&self.path) }
    }

    /// Resolves `reference` relative to this URL.
    #[must_use]
    pub fn join(&self, reference: &Address) -> Address {
        let mut joined = reference.clone();
        if reference.scheme.is_empty() {
            joined.scheme.clone_from(&self.scheme);
        }
        if !reference.scheme.is_empty() || reference.has_authority {
            joined.path = resolve_path(&escaped(&reference.path), "");
            return joined;
        }
        // Go writes a resolved URL with two slashes, with or without a host.
        joined.has_authority = true;
        joined.host.clone_from(&self.host);
        joined.userinfo.clone_from(&self.userinfo);
        if reference.path.is_empty() && reference.query.is_none() {
            joined.query.clone_from(&self.query);
            if reference.fragment.is_none() {
                joined.fragment.clone_from(&self.fragment);
            }
        }
        joined.path = resolve_path(&escaped(&self.path), &escaped(&reference.path));
        joined
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        // An empty authority without a path is not written.
        let is_empty_authority = self.has_authority && !self.path.is_empty() && !self.scheme.is_empty();
        if is_empty_authority || !self.host.is_empty() || self.userinfo.is_some() {
            f.write_str("//")?;
            if let Some(userinfo) = &self.userinfo {
                write!(f, "{userinfo}@")?;
            }
            f.write_str(&self.host)?;
            if !self.path.is_empty() && !self.path.starts_with('/') {
                f.write_str("/")?;
            }
        }
        if self.opaque {
            f.write_str(&self.path)?;
        } else {
            f.write_str(&escaped(&self.path))?;
        }
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        match &self.fragment {
            Some(fragment) => write!(f, "#{fragment}"),
            None => Ok(()),
        }
    }
}

/// Makes `reference` absolute, from the URL of a repository. The query of the repository replaces that of the chart,
/// since some repositories carry signatures in it.
///
/// # Errors
/// Texts that are no URLs.
pub fn resolve_reference(base: &str, reference: &str) -> Result<String, String> {
    let parsed =
        Address::parse(reference).map_err(|error| format!("failed to parse {reference} as URL: {error}"))?;
    if parsed.is_absolute() {
        return Ok(reference.to_owned());
    }
    let mut folder =
        Address::parse(base).map_err(|error| format!("failed to parse {base} as URL: {error}"))?;
    // `http:host` has no path.
    let path = if folder.opaque { "" } else { folder.path.strip_suffix('/').unwrap_or(&folder.path) };
    folder.path = format!("{path}/");
    let mut joined = folder.join(&parsed);
    joined.query = folder.query.filter(|query| !query.is_empty());
    Ok(joined.to_string())
}

/// Joins parts of a path to a URL, as `path.Join` does; a text that is no URL is joined as a path.
pub fn url_join(base: &str, part: &str) -> String {
    let parts = |front: &str| {
        let joined: Vec<&str> = [front, part].into_iter().filter(|part| !part.is_empty()).collect();
        if joined.is_empty() { String::new() } else { path::clean(&joined.join("/")) }
    };
    match Address::parse(base) {
        Ok(mut address) => {
            address.path = parts(&address.path);
            address.to_string()
        }
        Err(_) => parts(base),
    }
}

/// Whether two URLs are equal after their paths are cleaned.
pub fn equal(left: &str, right: &str) -> bool {
    let Ok(mut left) = Address::parse(left) else { return path::clean(left) == path::clean(right) };
    let Ok(mut right) = Address::parse(right) else { return false };
    for address in [&mut left, &mut right] {
        address.path = if address.path.is_empty() { "/".to_owned() } else { path::clean(&address.path) };
    }
    left.to_string() == right.to_string()
}

enum Scheme<'t> {
    None,
    Missing,
    Found(&'t str, &'t str),
}

fn scheme(text: &str) -> Scheme<'_> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' => return Scheme::None,
            b':' if at == 0 => return Scheme::Missing,
            b':' => return Scheme::Found(&text[..at], &text[at + 1..]),
            _ => return Scheme::None,
        }
    }
    Scheme::None
}

fn check_host(host: &str) -> Result<(), String> {
    let port = if let Some(rest) = host.strip_prefix('[') {
        let Some((_, port)) = rest.split_once(']') else { return Err("missing ']' in host".to_owned()) };
        port
    } else {
        host.rfind(':').map_or("", |at| &host[at..])
    };
    if !port.is_empty()
        && !port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
    {
        return Err(format!("invalid port {} after host", pintle_tree::quote::quote(port.as_bytes())));
    }
    for at in memchr::memchr_iter(b'%', host.as_bytes()) {
        // In a host, only non-ASCII bytes may be percent-encoded.
        let digits = host.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if !host.starts_with('[') && digits.is_none_or(|byte| byte < 0x80) {
            let escape: String = host[at..].chars().take(3).collect();
            return Err(format!("invalid URL escape {}", pintle_tree::quote::quote(escape.as_bytes())));
        }
    }
    match host.chars().find(|c| matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')) {
        Some(c) => Err(format!(
            "invalid character {} in host name",
            pintle_tree::quote::quote(c.to_string().as_bytes())
        )),
        None => Ok(()),
    }
}

fn check_escapes(path: &str) -> Result<(), String> {
    let bytes = path.as_bytes();
    for at in memchr::memchr_iter(b'%', bytes) {
        let digits = bytes.get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let found = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 3)]).into_owned();
            return Err(format!("invalid URL escape {}", pintle_tree::quote::quote(found.as_bytes())));
        }
    }
    Ok(())
}

/// Decodes percent-encoding.
pub fn unescape(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A path as it is sent: invalid characters are percent-encoded.
fn escaped(path: &str) -> String {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@/[]%".contains(&byte);
    if path.bytes().all(fine) {
        return path.to_owned();
    }
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte);
    let mut out = String::new();
    for byte in unescape(path).bytes() {
        if kept(byte) { out.push(char::from(byte)) } else { out.push_str(&format!("%{byte:02X}")) }
    }
    out
}

/// A query value as Go's `url.QueryEscape` writes it.
pub fn query_escape(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Resolves `reference` against the folder of `base`, and removes `.` and `..` segments.
fn resolve_path(base: &str, reference: &str) -> String {
    let full = if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else {
        format!("{}{reference}", &base[..base.rfind('/').map_or(0, |at| at + 1)])
    };
    if full.is_empty() {
        return full;
    }
    let mut parts: Vec<&str> = Vec::new();
    let mut last = "";
    for part in full.split('/') {
        last = part;
        match part {
            "." => {}
            ".." => {
                if parts.len() > 1 || parts.first().is_some_and(|first| !first.is_empty()) {
                    parts.pop();
                }
            }
            _ => parts.push(part),
        }
    }
    if matches!(last, "." | "..") {
        parts.push("");
    }
    let joined = parts.join("/");
    format!("/{}", joined.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_go_resolves_them() {
        for (base, reference, want) in [
            ("http://h:1/charts", "index.yaml", "http://h:1/charts/index.yaml"),
            ("http://h:1/charts/", "a-1.tgz", "http://h:1/charts/a-1.tgz"),
            ("http://h:1", "charts/a.tgz", "http://h:1/charts/a.tgz"),
            ("http://h:1/x/y", "../a.tgz", "http://h:1/x/a.tgz"),
            ("http://h:1/x/y", "/a.tgz", "http://h:1/a.tgz"),
            ("http://h:1/x?sig=1", "a.tgz?other=2", "http://h:1/x/a.tgz?sig=1"),
            ("http://h:1/x", "https://o/a.tgz?q", "https://o/a.tgz?q"),
            ("http://u:p@h:1/x", "a b.tgz", "http://u:p@h:1/x/a%20b.tgz"),
            ("http://h:1/x", "a%2Fb.tgz", "http://h:1/x/a%2Fb.tgz"),
            ("http://h:1/x", "//o/a.tgz", "http://o/a.tgz"),
            ("http:/h:1/x", "index.yaml", "http:///h:1/x/index.yaml"),
            ("http:h:1", "index.yaml", "http:///index.yaml"),
        ] {
            assert_eq!(resolve_reference(base, reference).as_deref(), Ok(want), "{base} + {reference}");
        }
    }

    #[test]
    fn texts_that_are_no_urls_are_refused_in_gos_words() {
        for (text, want) in [
            (":x", "parse \":x\": missing protocol scheme"),
            ("a:/c d%zz", "parse \"a:/c d%zz\": invalid URL escape \"%zz\""),
            ("1a:b", "parse \"1a:b\": first path segment in URL cannot contain colon"),
            ("http://h:x/", "parse \"http://h:x/\": invalid port \":x\" after host"),
            ("http://a b/", "parse \"http://a b/\": invalid character \" \" in host name"),
        ] {
            assert_eq!(Address::parse(text).expect_err(text), want);
        }
    }

    #[test]
    fn joining_and_comparing_ignore_how_paths_are_written() {
        assert_eq!(url_join("http://h/charts/", "a.tgz"), "http://h/charts/a.tgz");
        assert_eq!(url_join("", "sub"), "sub");
        assert_eq!(url_join("", ""), "");
        assert_eq!(url_join("http://h", "a.tgz"), "http://h/a.tgz");
        assert!(equal("http://h/a//b.tgz", "http://h/a/b.tgz"));
        assert!(!equal("http://h/a.tgz", "http://h/a.tgz?x"));
    }
}
