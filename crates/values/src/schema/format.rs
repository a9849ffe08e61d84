//! The asserted string formats.

use pintle_regex::Regex;

use super::url::Url;
use super::{address, clock};
use pintle_tree::quote;

/// An asserted format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) check: fn(&str) -> Result<(), String>,
}

const FORMATS: &[Format] = &[
    Format { name: "regex", check: check_regex },
    Format { name: "json-pointer", check: check_json_pointer },
    Format { name: "relative-json-pointer", check: check_relative_json_pointer },
    Format { name: "uuid", check: check_uuid },
    Format { name: "duration", check: clock::check_duration },
    Format { name: "period", check: clock::check_period },
    Format { name: "ipv4", check: check_ipv4 },
    Format { name: "ipv6", check: check_ipv6 },
    Format { name: "hostname", check: check_hostname },
    Format { name: "email", check: check_email },
    Format { name: "date", check: clock::check_date },
    Format { name: "time", check: clock::check_time },
    Format { name: "date-time", check: clock::check_date_time },
    Format { name: "uri", check: check_uri },
    Format { name: "iri", check: check_uri },
    Format { name: "uri-reference", check: check_uri_reference },
    Format { name: "iri-reference", check: check_uri_reference },
    Format { name: "uri-template", check: check_uri_template },
    Format { name: "semver", check: check_semver },
];

/// The internal name of the format `duration` in schemas of Kubernetes objects, where Go's durations are valid too.
pub(super) const KUBERNETES_DURATION: &str = "kubernetes duration";

/// The format of a name, if it is asserted.
pub(super) fn named(name: &[u8]) -> Option<Format> {
    if name == KUBERNETES_DURATION.as_bytes() {
        return Some(Format { name: "duration", check: clock::check_kubernetes_duration });
    }
    FORMATS.iter().find(|format| format.name.as_bytes() == name).copied()
}

type Checked = Result<(), String>;

fn refuse(message: &str) -> Checked {
    Err(message.to_owned())
}

/// Go's `%q` of a character.
pub(super) fn quoted_character(character: char) -> String {
    let mut text = String::from("'");
    quote::push_escaped(character, '\'', false, &mut text);
    text.push('\'');
    text
}

fn check_regex(text: &str) -> Checked {
    Regex::compile(text).map(drop).map_err(|error| error.to_string())
}

fn check_json_pointer(text: &str) -> Checked {
    if text.is_empty() {
        return Ok(());
    }
    let Some(tokens) = text.strip_prefix('/') else { return refuse("not starting with /") };
    for token in tokens.split('/') {
        let mut pieces = token.split('~');
        pieces.next();
        if pieces.any(|piece| !piece.starts_with(['0', '1'])) {
            return refuse("~ must be followed by 0 or 1");
        }
    }
    Ok(())
}

fn check_relative_json_pointer(text: &str) -> Checked {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return refuse("must start with non-negative integer");
    }
    if digits > 1 && text.starts_with('0') {
        return refuse("starts with zero");
    }
    if &text[digits..] == "#" { Ok(()) } else { check_json_pointer(&text[digits..]) }
}

fn check_uuid(text: &str) -> Checked {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    if groups.len() != LENGTHS.len() {
        return refuse("must have 5 elements");
    }
    for (index, (group, length)) in groups.iter().zip(LENGTHS).enumerate() {
        if group.len() != length {
            return Err(format!("element {} must be {length} characters long", index + 1));
        }
        if let Some(character) = group.chars().find(|character| !character.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {}", quoted_character(character)));
        }
    }
    Ok(())
}

fn check_ipv4(text: &str) -> Checked {
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return refuse("expected four decimals");
    }
    for group in groups {
        // Some programs read such groups as octal.
        if group.len() > 1 && group.starts_with('0') {
            return refuse("leading zeros");
        }
        let number = pintle_tree::number::parse_int(group, 10).map_err(|error| {
            let reason = match error {
                pintle_tree::number::IntError::Syntax => "invalid syntax",
                pintle_tree::number::IntError::Range => "value out of range",
            };
            format!("strconv.Atoi: parsing {}: {reason}", quote::quote(group.as_bytes()))
        })?;
        if !(0..=255).contains(&number) {
            return refuse("decimal must be between 0 and 255");
        }
    }
    Ok(())
}

fn check_ipv6(text: &str) -> Checked {
    if !text.contains(':') {
        return refuse("missing colon");
    }
    address::check(text)?;
    // Go's parser accepts a zone, the format does not.
    if text.contains('%') { refuse("zone id is not a part of ipv6 address") } else { Ok(()) }
}

fn check_hostname(text: &str) -> Checked {
    // A fully qualified name ends with a dot, which does not count.
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 {
        return refuse("more than 253 characters long");
    }
    for label in text.split('.') {
        if !(1..=63).contains(&label.len()) {
            return refuse("label must be 1 to 63 characters long");
        }
        if label.starts_with('-') {
            return refuse("label starts with hyphen");
        }
        if label.ends_with('-') {
            return refuse("label ends with hyphen");
        }
        refuse_characters(label, |character| character.is_ascii_alphanumeric() || character == '-')?;
    }
    Ok(())
}

fn refuse_characters(text: &str, allowed: impl Fn(char) -> bool) -> Checked {
    match text.chars().find(|&character| !allowed(character)) {
        Some(character) => Err(format!("invalid character {}", quoted_character(character))),
        None => Ok(()),
    }
}

fn check_email(text: &str) -> Checked {
    if text.len() > 254 {
        // The check is for 254, the message says 255; both are the library's.
        return refuse("more than 255 characters long");
    }
    let Some((local, domain)) = text.rsplit_once('@') else { return refuse("missing @") };
    if local.len() > 64 {
        return refuse("local part more than 64 characters long");
    }
    let quoted = local.strip_prefix('"').and_then(|local| local.strip_suffix('"'));
    if let Some(inner) = quoted {
        if inner.contains(['\\', '"']) {
            return refuse("backslash and quote are not allowed within quoted local part");
        }
    } else if local.starts_with('.') {
        return refuse("starts with dot");
    } else if local.ends_with('.') {
        return refuse("ends with dot");
    } else if local.contains("..") {
        return refuse("consecutive dots");
    } else {
        refuse_characters(local, |character| {
            character.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(character)
        })?;
    }
    match domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')) {
        Some(domain) => match domain.strip_prefix("IPv6:") {
            Some(domain) => check_ipv6(domain).map_err(|reason| format!("invalid ipv6 address: {reason}")),
            None => check_ipv4(domain).map_err(|reason| format!("invalid ipv4 address: {reason}")),
        },
        None => check_hostname(domain).map_err(|reason| format!("invalid domain: {reason}")),
    }
}

fn parsed(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)?;
    if url.host_name().contains(':') {
        if !url.host.contains('[') || !url.host.contains(']') {
            return Err("ipv6 address not enclosed in brackets".to_owned());
        }
        check_ipv6(url.host_name()).map_err(|reason| format!("invalid ipv6 address: {reason}"))?;
    }
    Ok(url)
}

fn check_uri(text: &str) -> Checked {
    if parsed(text)?.is_absolute() { Ok(()) } else { refuse("relative url") }
}

fn check_uri_reference(text: &str) -> Checked {
    if text.contains('\\') { refuse("contains \\") } else { parsed(text).map(drop) }
}

fn check_uri_template(text: &str) -> Checked {
    let url = parsed(text)?;
    // The library checks braces per path segment, and nothing else of RFC 6570.
    for token in url.path.split('/') {
        let token =
            super::url::unescape(token).map_err(|reason| format!("percent decode failed: {reason}"))?;
        let mut open = false;
        for brace in token.chars().filter(|character| matches!(character, '{' | '}')) {
            if (brace == '{') == open {
                return refuse("nested curly braces");
            }
            open = !open;
        }
        if open {
            return refuse("no matching closing brace");
        }
    }
    Ok(())
}

fn check_semver(text: &str) -> Checked {
    let word = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let mut core = text;
    if let Some((before, build)) = text.split_once('+') {
        if build.is_empty() {
            return refuse("build is empty");
        }
        for identifier in build.split('.') {
            if identifier.is_empty() {
                return refuse("build identifier is empty");
            }
            refuse_characters(identifier, word).map_err(|reason| format!("{reason} in build identifier"))?;
        }
        core = before;
    }
    if let Some((before, pre)) = core.split_once('-') {
        for identifier in pre.split('.') {
            if identifier.is_empty() {
                return refuse("pre-release identifier is empty");
            }
            refuse_characters(identifier, word)
                .map_err(|reason| format!("{reason} in pre-release identifier"))?;
            let numeric = identifier.bytes().all(|byte| byte.is_ascii_digit());
            if numeric && identifier.len() > 1 && identifier.starts_with('0') {
                return refuse("pre-release numeric identifier starts with zero");
            }
        }
        core = before;
    }
    let numbers: Vec<&str> = core.split('.').collect();
    if numbers.len() != 3 {
        return refuse("versionCore must have 3 numbers separated by dot");
    }
    for (number, name) in numbers.into_iter().zip(["major", "minor", "patch"]) {
        if number.is_empty() {
            return Err(format!("{name} is empty"));
        }
        if number.len() > 1 && number.starts_with('0') {
            return Err(format!("{name} starts with zero"));
        }
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("{name} contains non-digit"));
        }
    }
    Ok(())
}
