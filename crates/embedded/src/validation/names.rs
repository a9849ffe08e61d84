//! Validation of names. Each function returns the server's messages. Follows `apimachinery/pkg/util/validation`.

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether the first and the last byte satisfy `end`, and all others `inner`.
fn is_made_of(text: &str, end: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    end(*first) && end(*last) && bytes.iter().all(|byte| inner(*byte))
}

fn is_label(text: &str) -> bool {
    is_made_of(text, is_lower, |byte| is_lower(byte) || byte == b'-')
}

fn at_most(text: &str, most: usize, unit: &str) -> Option<String> {
    (text.len() > most).then(|| format!("must be no more than {most} {unit}"))
}

fn errors(list: impl IntoIterator<Item = Option<String>>) -> Vec<String> {
    list.into_iter().flatten().collect()
}

/// An RFC 1123 label: names of containers and volumes.
pub(super) fn label(text: &str) -> Vec<String> {
    errors([at_most(text, 63, "characters"), (!is_label(text)).then(|| LABEL.to_owned())])
}

/// An RFC 1035 label, which begins with a letter: names of Services before 1.36.
pub(super) fn dns1035_label(text: &str) -> Vec<String> {
    let is_good = is_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase());
    errors([at_most(text, 63, "characters"), (!is_good).then(|| DNS1035_LABEL.to_owned())])
}

/// An RFC 1123 subdomain: names of most objects.
pub(super) fn subdomain(text: &str) -> Vec<String> {
    let is_good = text.split('.').all(is_label);
    errors([at_most(text, 253, "characters"), (!is_good).then(|| SUBDOMAIN.to_owned())])
}

/// A subdomain with a wildcard, as hosts of an Ingress.
pub(super) fn wildcard(text: &str) -> Vec<String> {
    let is_good = text.strip_prefix("*.").is_some_and(|rest| rest.split('.').all(is_label));
    errors([at_most(text, 253, "characters"), (!is_good).then(|| WILDCARD.to_owned())])
}

/// A path segment: names of RBAC objects.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    let has = |letter: char| text.contains(letter).then(|| format!("may not contain '{letter}'"));
    errors([has('/'), has('%')])
}

fn is_qualified_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

fn is_name_part(text: &str) -> bool {
    is_made_of(text, |byte| byte.is_ascii_alphanumeric(), is_qualified_byte)
}

/// A qualified name with an optional domain prefix: keys of labels and annotations.
pub(super) fn qualified(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => {
            let rest = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {QUALIFIED} {rest}")];
        }
    };
    let mut found = Vec::new();
    match prefix {
        Some("") => found.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            found.extend(subdomain(prefix).into_iter().map(|problem| format!("prefix part {problem}")))
        }
        None => {}
    }
    if name.is_empty() {
        found.push("name part must be non-empty".to_owned());
    }
    found.extend(at_most(name, 63, "bytes").map(|problem| format!("name part {problem}")));
    found.extend((!is_name_part(name)).then(|| format!("name part {QUALIFIED}")));
    found
}

pub(super) fn label_value(text: &str) -> Vec<String> {
    let is_good = text.is_empty() || is_name_part(text);
    errors([at_most(text, 63, "bytes"), (!is_good).then(|| VALUE.to_owned())])
}

/// A key of a ConfigMap or a Secret.
pub(super) fn config_key(text: &str) -> Vec<String> {
    let is_good = !text.is_empty() && text.bytes().all(is_qualified_byte);
    let mut found = errors([at_most(text, 253, "characters"), (!is_good).then(|| CONFIG_KEY.to_owned())]);
    match text {
        "." | ".." => found.push(format!("must not be '{text}'")),
        text if text.starts_with("..") => found.push("must not start with '..'".to_owned()),
        _ => {}
    }
    found
}

/// An IANA service name.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let mut found = errors([at_most(text, 15, "characters")]);
    if !text.bytes().all(|byte| is_lower(byte) || byte == b'-') {
        found.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        found.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        found.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        found.push("must not begin or end with a hyphen".to_owned());
    }
    found
}

/// The name of an environment variable.
pub(super) fn variable(text: &str) -> Vec<String> {
    let is_good = text.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'=');
    let problem =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    errors([(!is_good).then(|| problem.to_owned())])
}

/// An IP address.
pub(super) fn address(text: &str) -> Vec<String> {
    let problem = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    errors([text.parse::<std::net::IpAddr>().is_err().then(|| problem.to_owned())])
}

/// A CIDR.
pub(super) fn range(text: &str) -> Vec<String> {
    let is_good = text.split_once('/').is_some_and(|(address, bits)| {
        let most = match address.parse::<std::net::IpAddr>() {
            Ok(std::net::IpAddr::V4(_)) => 32,
            Ok(std::net::IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        bits.parse::<u8>().is_ok_and(|bits| bits <= most)
    });
    let problem = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    errors([(!is_good).then(|| problem.to_owned())])
}

/// A percentage.
pub(super) fn percent(text: &str) -> Option<&'static str> {
    let digits = text
        .strip_suffix('%')
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    match digits {
        Some(_) => None,
        None => Some(
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_are_accepted() {
        assert!(
            label("a-1").is_empty() && subdomain("a.b-c.1").is_empty() && qualified("a.io/B_c").is_empty()
        );
        assert!(label_value("").is_empty() && config_key(".a_B").is_empty() && port_name("a-1").is_empty());
        assert!(path_segment("system:a").is_empty() && wildcard("*.a.b").is_empty());
        assert!(dns1035_label("a1").is_empty() && !dns1035_label("1a").is_empty());
        assert!(address("::1").is_empty() && range("10.0.0.0/8").is_empty() && percent("25%").is_none());
    }

    #[test]
    fn invalid_names_are_rejected() {
        for text in ["", "-", "é", "a b", "A", "\u{0}", "a\n"] {
            assert!(!label(text).is_empty() && !subdomain(text).is_empty(), "{text:?}");
        }
        for text in ["", "/", "//", "a/b/c", "é/x", "_"] {
            assert!(!qualified(text).is_empty(), "{text:?}");
        }
    }
}
