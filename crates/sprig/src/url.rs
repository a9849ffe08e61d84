//! URLs as Go's `net/url` parses and formats them.

mod escape;

use std::net::Ipv6Addr;

use bstr::ByteSlice as _;
use pintle_gotmpl::{Args, CallError, CallResult, Function, MapRef, Type, Value};
use pintle_tree::{Map, Str, quote};

use crate::text::{NIL_POINTER, text};
use escape::{Part, escaped, unescaped};

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::pure("urlParse", &[Type::Str], None, Type::Map, url_parse),
        Function::pure("urlJoin", &[Type::Map], None, Type::Str, url_join),
    ]
}

/// A URL in its parts, unescaped but for those that begin with `raw`.
#[derive(Debug, Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<User>,
    host: Vec<u8>,
    path: Vec<u8>,
    raw_query: Vec<u8>,
    fragment: Vec<u8>,
}

#[derive(Debug)]
struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl User {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = escaped(&self.name, Part::User);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend(escaped(password, Part::User));
        }
        out
    }
}

fn url_parse(args: Args<'_>) -> CallResult {
    let url =
        parse(args.text(0)).map_err(|message| CallError::new(format!("unable to parse url: {message}")))?;
    let hostname = hostname(&url.host).to_vec();
    let entries = [
        ("fragment", url.fragment),
        ("host", url.host),
        ("hostname", hostname),
        ("opaque", url.opaque),
        ("path", url.path),
        ("query", url.raw_query),
        ("scheme", url.scheme),
        ("userinfo", url.user.map(|user| user.to_bytes()).unwrap_or_default()),
    ];
    Ok(Value::map(
        entries.into_iter().map(|(key, part)| (Str::from(key), Value::str(part))).collect::<Map<_>>(),
    ))
}

fn url_join(args: Args<'_>) -> CallResult {
    let part = |key: &str| string_under(args.map(0), key);
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        raw_query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        user: None,
    };
    let user = part("userinfo")?;
    if !user.is_empty() {
        // sprig parses a made-up URL to get at the user and password.
        let parsed = parse(&[b"proto://", &user[..], b"@host"].concat());
        url.user = parsed.map_err(|message| format!("unable to parse userinfo in dict: {message}"))?.user;
    }
    text(joined(&url))
}

/// The string under a key, empty when there is none.
fn string_under(map: Option<&MapRef>, key: &str) -> Result<Vec<u8>, CallError> {
    match map.and_then(|map| map.get(key)) {
        None => Ok(Vec::new()),
        Some(Value::Str(text)) => Ok(text.as_bytes().to_vec()),
        // sprig asks the value for its type, and Go panics for nil.
        Some(Value::Nil) => Err(CallError::new(NIL_POINTER)),
        Some(other) => Err(CallError::new(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind().name()
        ))),
    }
}

/// The parts before and after the first `separator`.
fn cut(whole: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match whole.find_byte(separator) {
        Some(at) => (&whole[..at], Some(&whole[at + 1..])),
        None => (whole, None),
    }
}

fn parse(whole: &[u8]) -> Result<Url, String> {
    let (before, fragment) = cut(whole, b'#');
    let failed = |source: &[u8], reason: String| format!("parse {}: {reason}", quote::quote(source));
    // Go's errors quote the URL without its fragment here, and with it below.
    let mut url = parse_without_fragment(before).map_err(|reason| failed(before, reason))?;
    if let Some(fragment) = fragment {
        url.fragment = unescaped(fragment, Part::Fragment).map_err(|reason| failed(whole, reason))?;
    }
    Ok(url)
}

fn parse_without_fragment(whole: &[u8]) -> Result<Url, String> {
    if whole.iter().any(u8::is_ascii_control) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let mut url = Url::default();
    // The target of `OPTIONS *`.
    if whole == b"*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(whole)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = cut(rest, b'?');
    url.raw_query = query.unwrap_or_default().to_vec();
    if !rest.starts_with(b"/") {
        if !url.scheme.is_empty() {
            // As in `mailto:a@b`.
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let mut path = rest;
    // `///path` without a scheme has no authority and is only a path.
    if rest.starts_with(b"//") && (!url.scheme.is_empty() || !rest.starts_with(b"///")) {
        let authority = &rest[2..];
        let (authority, rest) = authority.split_at(authority.find_byte(b'/').unwrap_or(authority.len()));
        path = rest;
        (url.user, url.host) = parse_authority(&url.scheme, authority)?;
    }
    url.path = unescaped(path, Part::Path)?;
    Ok(url)
}

/// The scheme, empty when there is none, and what follows it.
fn split_scheme(whole: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (index, byte) in whole.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&whole[..index], &whole[index + 1..])),
            _ => break,
        }
    }
    Ok((b"", whole))
}

fn parse_authority(scheme: &[u8], authority: &[u8]) -> Result<(Option<User>, Vec<u8>), String> {
    let Some(at) = authority.rfind_byte(b'@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, &authority[at + 1..])?;
    let user = &authority[..at];
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !user.iter().all(allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) = cut(user, b':');
    let name = unescaped(name, Part::User)?;
    let password = password.map(|password| unescaped(password, Part::User)).transpose()?;
    Ok((Some(User { name, password }), host))
}

fn check_port(port: &[u8]) -> Result<(), String> {
    if is_port(port) { Ok(()) } else { Err(format!("invalid port {} after host", quote::quote(port))) }
}

/// Whether `port` is empty or a colon with digits.
fn is_port(port: &[u8]) -> bool {
    match port.split_first() {
        None => true,
        Some((colon, digits)) => *colon == b':' && digits.iter().all(u8::is_ascii_digit),
    }
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, String> {
    match host.rfind_byte(b'[') {
        Some(0) => return parse_bracketed_host(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // Only http is strict about several colons; elsewhere they may be lists of hosts.
    let strict = scheme == b"http" || scheme == b"https";
    let colon = if strict { host.find_byte(b':') } else { host.rfind_byte(b':') };
    if let Some(colon) = colon {
        check_port(&host[colon..])?;
    }
    unescaped(host, Part::Host)
}

/// A host in brackets, which must be an IPv6 address, perhaps with a zone.
fn parse_bracketed_host(host: &[u8]) -> Result<Vec<u8>, String> {
    let Some(close) = host.rfind_byte(b']') else {
        return Err("missing ']' in host".to_owned());
    };
    let port = &host[close + 1..];
    check_port(port)?;
    let inside = &host[1..close];
    let address = match inside.find(b"%25") {
        Some(zone) => {
            [unescaped(&inside[..zone], Part::Host)?, unescaped(&inside[zone..], Part::Zone)?].concat()
        }
        None => unescaped(inside, Part::Host)?,
    };
    let (number, zone) = cut(&address, b'%');
    let number = std::str::from_utf8(number).unwrap_or_default();
    if zone.is_none() && number.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".to_owned());
    }
    if number.parse::<Ipv6Addr>().is_err() || zone.is_some_and(<[u8]>::is_empty) {
        return Err(format!("invalid host: ParseAddr({}): unable to parse IP", quote::quote(&address)));
    }
    Ok([b"[", &address[..], b"]", port].concat())
}

/// The host without its port and brackets.
fn hostname(host: &[u8]) -> &[u8] {
    let name = match host.rfind_byte(b':') {
        Some(colon) if is_port(&host[colon..]) => &host[..colon],
        _ => host,
    };
    name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or(name)
}

fn joined(url: &Url) -> Vec<u8> {
    let mut out = Vec::new();
    if !url.scheme.is_empty() {
        out.extend_from_slice(&url.scheme);
        out.push(b':');
    }
    if url.opaque.is_empty() {
        push_hierarchy(url, &mut out);
    } else {
        out.extend_from_slice(&url.opaque);
    }
    if !url.raw_query.is_empty() {
        out.push(b'?');
        out.extend_from_slice(&url.raw_query);
    }
    if !url.fragment.is_empty() {
        out.push(b'#');
        out.extend(escaped(&url.fragment, Part::Fragment));
    }
    out
}

fn push_hierarchy(url: &Url, out: &mut Vec<u8>) {
    if !url.scheme.is_empty() || !url.host.is_empty() || url.user.is_some() {
        if !url.host.is_empty() || !url.path.is_empty() || url.user.is_some() {
            out.extend_from_slice(b"//");
        }
        if let Some(user) = &url.user {
            out.extend(user.to_bytes());
            out.push(b'@');
        }
        out.extend(escaped(&url.host, Part::Host));
    }
    let path = if url.path == b"*" { b"*".to_vec() } else { escaped(&url.path, Part::Path) };
    if !path.is_empty() && path[0] != b'/' && !url.host.is_empty() {
        out.push(b'/');
    }
    // Without anything before it, a colon in the first segment would make it a scheme.
    if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
        out.extend_from_slice(b"./");
    }
    out.extend(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(whole: &str) -> String {
        match url_parse(Args(&[Value::str(whole)])) {
            Ok(value) => pintle_gotmpl::print::to_str(&value).to_string(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn urls_are_taken_apart() {
        assert_eq!(
            parts("HTTP://u:p%40@h.x:80/a%20b?q=1#f"),
            "map[fragment:f host:h.x:80 hostname:h.x opaque: path:/a b query:q=1 scheme:http userinfo:u:p%40]"
        );
        assert_eq!(
            parts("mailto:a@b"),
            "map[fragment: host: hostname: opaque:a@b path: query: scheme:mailto userinfo:]"
        );
    }

    #[test]
    fn bad_urls_are_refused_with_the_texts_of_go() {
        for (whole, reason) in [
            ("http://h:port", r#"parse "http://h:port": invalid port ":port" after host"#),
            (":foo", r#"parse ":foo": missing protocol scheme"#),
            ("http://h/%zz", r#"parse "http://h/%zz": invalid URL escape "%zz""#),
            ("http://a b", r#"parse "http://a b": invalid character " " in host name"#),
            ("a:b/c:d ", "map"),
        ] {
            assert!(parts(whole).contains(reason), "{whole}: {}", parts(whole));
        }
    }

    #[test]
    fn parts_are_joined_again() {
        let map = url_parse(Args(&[Value::str("http://u:p@h/a b?q#f g")])).unwrap();
        let whole = url_join(Args(&[map])).unwrap();
        assert_eq!(whole.as_text().unwrap().to_string(), "http://u:p@h/a%20b?q#f%20g");
    }
}
