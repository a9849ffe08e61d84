//! URLs as Go's `net/url` parses, joins and writes them.

use super::address;
use pintle_tree::quote;

/// A URL without its fragment. The path keeps its escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: String,
    opaque: String,
    user: Option<String>,
    pub(super) host: String,
    pub(super) path: String,
    query: Option<String>,
    /// Whether `//` is omitted although there is a scheme.
    omits_host: bool,
}

impl Url {
    /// Parses a URL; a fragment is checked and dropped.
    pub(super) fn parse(text: &str) -> Result<Url, String> {
        let (body, fragment) = text.split_once('#').unwrap_or((text, ""));
        let url = Url::parse_body(body)
            .map_err(|reason| format!("parse {}: {reason}", quote::quote(body.as_bytes())))?;
        unescape(fragment).map_err(|reason| format!("parse {}: {reason}", quote::quote(text.as_bytes())))?;
        Ok(url)
    }

    fn parse_body(text: &str) -> Result<Url, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (scheme, rest) = split_scheme(text)?;
        let mut url = Url { scheme: scheme.to_ascii_lowercase(), ..Url::default() };
        let (mut rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        url.query = query;
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        // `///path` without a scheme is a path, as in Go.
        if rest.starts_with("//") && (!url.scheme.is_empty() || !rest.starts_with("///")) {
            let (authority, path) = rest[2..].split_at(rest[2..].find('/').unwrap_or(rest.len() - 2));
            (url.user, url.host) = parse_authority(&url.scheme, authority)?;
            rest = path;
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omits_host = true;
        }
        unescape(rest)?;
        rest.clone_into(&mut url.path);
        Ok(url)
    }

    /// Whether the URL has a scheme.
    pub(super) fn is_absolute(&self) -> bool {
        !self.scheme.is_empty()
    }

    /// The host without its port and brackets.
    pub(super) fn host_name(&self) -> &str {
        let host = match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.host,
        };
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// Resolves `reference` against this URL.
    pub(super) fn join(&self, reference: &Url) -> Url {
        let mut url = reference.clone();
        if reference.scheme.is_empty() {
            url.scheme.clone_from(&self.scheme);
        }
        if !reference.scheme.is_empty() || !reference.host.is_empty() || reference.user.is_some() {
            // RFC 3986, 5.2.2: an absolute reference is only normalized.
            url.path = resolve_path(&reference.path, "");
            return url;
        }
        if reference.path.is_empty() && reference.query.is_none() {
            url.query.clone_from(&self.query);
        }
        if !self.opaque.is_empty() {
            // A reference inside an opaque URL can only be a fragment.
            url.opaque.clone_from(&self.opaque);
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        url.omits_host = self.omits_host;
        url.path = resolve_path(&self.path, &reference.path);
        url
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.scheme.is_empty() {
            write!(formatter, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            // `file:/a` is written back as it was, and not as `file:///a`.
            let silent = self.omits_host && self.host.is_empty() && self.user.is_none();
            let some = !self.host.is_empty() || self.user.is_some();
            if some || (!self.scheme.is_empty() && !self.path.is_empty() && !silent) {
                formatter.write_str("//")?;
                if let Some(user) = &self.user {
                    write!(formatter, "{user}@")?;
                }
                formatter.write_str(&self.host)?;
            }
            if !self.path.is_empty() && !self.path.starts_with('/') && !self.host.is_empty() {
                formatter.write_str("/")?;
            }
            formatter.write_str(&escaped(&self.path, b"/:@&=+$,;%~!*'()[]"))?;
        } else {
            formatter.write_str(&self.opaque)?;
        }
        match &self.query {
            Some(query) => write!(formatter, "?{query}"),
            None => Ok(()),
        }
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(scheme: &str, authority: &str) -> Result<(Option<String>, String), String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = parse_host(scheme, host)?;
    if let Some(user) = user {
        let allowed =
            |character: char| character.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(character);
        if !user.chars().all(allowed) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        unescape(user)?;
    }
    Ok((user.map(str::to_owned), host))
}

fn parse_host(scheme: &str, host: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => return parse_bracketed(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // Go is strict about ports of web addresses only, for the sake of database URLs with several hosts.
    let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
    if let Some(colon) = colon {
        check_port(&host[colon..])?;
    }
    unescape_host(host)
}

fn parse_bracketed(host: &str) -> Result<String, String> {
    let close = host.rfind(']').ok_or("missing ']' in host")?;
    check_port(&host[close + 1..])?;
    let name = unescape_host(&host[1..close])?;
    address::check(&name).map_err(|reason| format!("invalid host: {reason}"))?;
    if !name.contains(':') {
        return Err("invalid IP-literal".to_owned());
    }
    Ok(format!("[{name}]{}", &host[close + 1..]))
}

fn check_port(port: &str) -> Result<(), String> {
    let valid = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    if valid { Ok(()) } else { Err(format!("invalid port {} after host", quote::quote(port.as_bytes()))) }
}

/// Resolves escapes.
pub(super) fn unescape(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digits = bytes.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            let Some(digits) = digits else { return Err(bad_escape(&bytes[at..bytes.len().min(at + 3)])) };
            out.push(hexadecimal(digits));
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn bad_escape(text: &[u8]) -> String {
    format!("invalid URL escape {}", quote::quote(text))
}

fn hexadecimal(digits: &[u8]) -> u8 {
    digits.iter().fold(0, |value, &digit| value << 4 | char::from(digit).to_digit(16).unwrap_or(0) as u8)
}

/// In a host only non-ASCII bytes may be escaped, and few other characters are allowed.
fn unescape_host(host: &str) -> Result<String, String> {
    let bytes = host.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'%' {
            let escape = &bytes[at..bytes.len().min(at + 3)];
            let digits = &escape[1..];
            let whole = digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit);
            if !whole || (hexadecimal(digits) < 0x80 && escape != b"%25") {
                return Err(bad_escape(escape));
            }
        } else if byte.is_ascii()
            && !byte.is_ascii_alphanumeric()
            && !b"!$&'()*+,;=:[]<>\"-_.~%".contains(&byte)
        {
            let character = quote::quote(&[byte]);
            return Err(format!("invalid character {character} in host name"));
        }
    }
    unescape(host)
}

/// Escapes everything except letters, digits, `-_.~` and `kept`.
pub(super) fn escaped(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Joins two paths and resolves `.` and `..`.
fn resolve_path(base: &str, reference: &str) -> String {
    let full = if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else {
        format!("{}{reference}", &base[..base.rfind('/').map_or(0, |slash| slash + 1)])
    };
    if full.is_empty() {
        return full;
    }
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = full.trim_start_matches('/').split('/').collect();
    for segment in &segments {
        match *segment {
            "." => {}
            // The parent of the root is the root.
            ".." => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    let mut path = format!("/{}", kept.join("/"));
    if matches!(segments.last(), Some(&("." | ".."))) && !path.ends_with('/') {
        path.push('/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, reference: &str) -> String {
        Url::parse(base).unwrap().join(&Url::parse(reference).unwrap()).to_string()
    }

    #[test]
    fn references_are_joined() {
        assert_eq!(joined("file:///values.schema.json", ""), "file:///values.schema.json");
        assert_eq!(joined("file:///values.schema.json", "other.json"), "file:///other.json");
        assert_eq!(joined("https://example.com/a/b", "../c/./d"), "https://example.com/c/d");
        assert_eq!(joined("https://example.com/a", "urn:x:y"), "urn:x:y");
        assert_eq!(joined("urn:x:y", ""), "urn:x:y");
    }

    #[test]
    fn bad_urls_are_refused_in_the_words_of_go() {
        for (text, reason) in [
            ("%zz", "parse \"%zz\": invalid URL escape \"%zz\""),
            (":x", "parse \":x\": missing protocol scheme"),
            ("1:x", "parse \"1:x\": first path segment in URL cannot contain colon"),
            ("http://a:b", "parse \"http://a:b\": invalid port \":b\" after host"),
            ("http://a b/", "parse \"http://a b/\": invalid character \" \" in host name"),
            ("http://[::1", "parse \"http://[::1\": missing ']' in host"),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), reason);
        }
    }
}
