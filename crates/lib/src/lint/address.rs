//! Validation of e-mail addresses and URLs in Chart.yaml, with the results of the Go libraries that Helm uses.

/// Returns whether `text` is an e-mail address with a local part, an `@` and a dotted domain.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    is_local_part(local) && is_mail_domain(domain.strip_suffix('.').unwrap_or(domain))
}

/// Returns whether addresses may contain this character beyond ASCII.
fn is_foreign(character: char) -> bool {
    matches!(character, '\u{a0}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{ffef}')
}

fn is_local_part(local: &str) -> bool {
    if let Some(inner) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return inner.chars().all(|character| !matches!(character, '"' | '\\' | '\0' | '\n' | '\r'));
    }
    let allowed = |character: char| {
        character.is_ascii_alphanumeric()
            || "!#$%&'*+-/=?^_`{|}~".contains(character)
            || is_foreign(character)
    };
    local.split('.').all(|part| !part.is_empty() && part.chars().all(allowed))
}

fn is_mail_domain(domain: &str) -> bool {
    let letter = |character: char| character.is_ascii_alphabetic() || is_foreign(character);
    let word = |character: char| letter(character) || character.is_ascii_digit();
    let bounded = |label: &str, bound: &dyn Fn(char) -> bool| {
        label.starts_with(bound)
            && label.ends_with(bound)
            && label.chars().all(|character| word(character) || matches!(character, '-' | '_' | '~'))
    };
    let Some((labels, top)) = domain.rsplit_once('.') else { return false };
    labels.split('.').all(|label| bounded(label, &word)) && bounded(top, &letter)
}

/// Returns whether `text` is an absolute URL with a scheme, or an opaque one, as Go's `url.ParseRequestURI`.
pub(super) fn is_request_url(text: &str) -> bool {
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    if scheme.is_empty() || text.contains(|character: char| character.is_ascii_control()) {
        return false;
    }
    // Without a slash after the scheme, the URL is opaque, as in `data:image/png;base64,AAAA`.
    let Some(rest) = rest.strip_prefix('/') else { return true };
    let Some(authority) = rest.strip_prefix('/') else { return true };
    let end = authority.find('/').unwrap_or(authority.len());
    let (authority, path) = authority.split_at(end);
    is_authority(authority) && has_good_escapes(path)
}

/// Splits `scheme:rest`; `None` when the text before the first colon is not a scheme.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut characters = scheme.chars();
    let good = characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    good.then_some((scheme, rest))
}

fn is_authority(authority: &str) -> bool {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (name, port) = match host.strip_prefix('[') {
        Some(address) => match address.split_once(']') {
            Some((address, port)) => (address, port),
            None => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port_is_good = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    let name_is_good = !name.contains(|character: char| " \"<>\\^`{|}".contains(character));
    port_is_good && name_is_good && has_good_escapes(name)
}

/// Returns whether every `%` is followed by two hexadecimal digits.
fn has_good_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let bytes = rest.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

/// The schemes that a web address may have.
const WEB_SCHEMES: [&str; 7] = ["ftp", "tcp", "udp", "ws", "wss", "http", "https"];

/// Returns whether `text` looks like a web address: an optional scheme, a host name or IP, and anything after it.
pub(super) fn is_url(text: &str) -> bool {
    if text.len() <= 3
        || text.chars().count() >= 2083
        || text.starts_with('.')
        || text.contains(char::is_whitespace)
    {
        return false;
    }
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    if scheme.is_some_and(|scheme| !WEB_SCHEMES.contains(&scheme)) {
        return false;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // Without a scheme or a port, a single word is not an address.
    if scheme.is_none() && !text.contains(':') && !rest.contains('.') {
        return false;
    }
    is_host_with_port(host) && has_good_escapes(path)
}

fn is_host_with_port(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        return address
            .split_once(']')
            .is_some_and(|(address, _)| address.parse::<std::net::Ipv6Addr>().is_ok());
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let port_is_good = port
        .is_none_or(|port| (1..=5).contains(&port.len()) && port.bytes().all(|digit| digit.is_ascii_digit()));
    port_is_good && is_host_name(name.strip_suffix('.').unwrap_or(name))
}

fn is_host_name(name: &str) -> bool {
    let allowed = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '\u{a1}'..='\u{ffff}')
    };
    !name.is_empty()
        && name.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with(['-', '_'])
                && !label.ends_with(['-', '_'])
                && label.chars().all(allowed)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_a_dotted_domain() {
        assert!(is_email("a.b+c@example.test"));
        for bad in ["bad", "a b@c.d", "a@localhost", "@x.test", "a@.test"] {
            assert!(!is_email(bad), "{bad}");
        }
    }

    #[test]
    fn request_urls_need_a_scheme_and_a_slash() {
        for good in
            ["http://x.test", "https://x.test/i.png?a=b", "ftp://x", "file:///x", "data:image/png;base64,AA"]
        {
            assert!(is_request_url(good), "{good}");
        }
        for bad in ["", "bad", "//x", "/x", "x.test/i.png", "5", "http://x y"] {
            assert!(!is_request_url(bad), "{bad}");
        }
    }

    #[test]
    fn web_addresses_may_lack_a_scheme() {
        for good in
            ["http://x.test", "x.test", "https://x.test/a b".split(' ').next().unwrap(), "localhost:8080"]
        {
            assert!(is_url(good), "{good}");
        }
        for bad in ["bad", "ht tp://x", ".x.test", "gopher://x.test"] {
            assert!(!is_url(bad), "{bad}");
        }
    }
}
