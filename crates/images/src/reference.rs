//! Image references by Docker's full grammar (distribution/reference), kept as written.

use std::fmt;

/// The registry of references that name none.
pub const DEFAULT_REGISTRY: &str = "docker.io";

/// Other hosts of the default registry.
const DOCKER_HUB_ALIASES: [&str; 2] = ["index.docker.io", "registry-1.docker.io"];

/// Where the default registry keeps single-component repositories.
const LIBRARY: &str = "library/";

/// The maximum length of a name including its registry, as in distribution/reference.
const NAME_LIMIT: usize = 255;

/// The maximum length of a tag, as in distribution/reference.
const TAG_LIMIT: usize = 128;

/// Why a text is not an image reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceErrorKind {
    /// The text is empty.
    #[error("it is empty")]
    Empty,
    /// The text contains template braces.
    #[error("it is a template")]
    Template,
    /// The text is a URL.
    #[error("it is a URL; references have no scheme")]
    Url,
    /// The text contains whitespace.
    #[error("it contains whitespace")]
    Blank,
    /// The part before the first slash is not a host.
    #[error("its registry is not a host with an optional port")]
    Registry,
    /// The port is not a number from 1 to 65535.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// The path has upper-case letters, which no registry accepts.
    #[error("its path has upper-case letters")]
    UpperCase,
    /// A path component is invalid.
    #[error("its path components may have only lower-case letters, digits and single separators")]
    Path,
    /// The name is too long.
    #[error("its name is longer than 255 characters")]
    TooLong,
    /// The tag is invalid.
    #[error("its tag is not 1 to 128 letters, digits, `_`, `.` and `-`, beginning with none of the last two")]
    Tag,
    /// The digest is invalid.
    #[error("its digest is not an algorithm, a colon, and as many hexadecimal digits as that algorithm has")]
    Digest,
}

/// A text that is not an image reference, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse image reference '{text}': {kind}")]
pub struct ReferenceError {
    /// The text.
    pub text: String,
    /// Why it is not a reference.
    pub kind: ReferenceErrorKind,
}

/// An image reference: `[registry/]path[:tag][@digest]`.
///
/// The parts are kept as written; [`registry`](Self::registry) and [`repository`](Self::repository) return them
/// normalised.
///
/// ```
/// use pintle_images::Reference;
/// let image = Reference::parse("nginx:1.27")?;
/// assert_eq!((image.registry().as_str(), image.repository().as_str()), ("docker.io", "library/nginx"));
/// assert_eq!(image.to_string(), "nginx:1.27");
/// # Ok::<(), pintle_images::ReferenceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    host: Option<String>,
    path: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    /// Parses a reference.
    ///
    /// # Errors
    /// When the text does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let reference = Self::parse_loosely(text)?;
        match reference.path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Err(ReferenceError { text: text.to_owned(), kind: ReferenceErrorKind::UpperCase }),
            false => Ok(reference),
        }
    }

    /// Parses a reference whose path may have upper-case letters. No registry serves such an image, but it can be
    /// relocated to a registry whose rules lower-case names.
    ///
    /// # Errors
    /// When the text violates the rest of the grammar.
    pub fn parse_loosely(text: &str) -> Result<Self, ReferenceError> {
        parse(text).map_err(|kind| ReferenceError { text: text.to_owned(), kind })
    }

    /// The registry as written, if any.
    pub fn written_registry(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The path as written.
    pub fn written_path(&self) -> &str {
        &self.path
    }

    /// The normalised registry; the default one if none is written.
    pub fn registry(&self) -> String {
        self.host.as_deref().map_or_else(|| DEFAULT_REGISTRY.to_owned(), normalize_host)
    }

    /// The normalised path in that registry: single components of the default registry are below `library/`.
    pub fn repository(&self) -> String {
        match self.path.contains('/') || self.registry() != DEFAULT_REGISTRY {
            true => self.path.clone(),
            false => format!("{LIBRARY}{}", self.path),
        }
    }

    /// The tag, if any.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest with its algorithm, if any.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Everything after the path: `:tag`, `@digest`, both or nothing.
    pub fn suffix(&self) -> String {
        let tag = self.tag.as_deref().map(|tag| format!(":{tag}")).unwrap_or_default();
        let digest = self.digest.as_deref().map(|digest| format!("@{digest}")).unwrap_or_default();
        tag + &digest
    }

    /// The normalised reference: `docker.io/library/nginx:1`. No tag is added.
    pub fn normalized(&self) -> String {
        format!("{}/{}{}", self.registry(), self.repository(), self.suffix())
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            write!(f, "{host}/")?;
        }
        write!(f, "{}{}", self.path, self.suffix())
    }
}

/// Normalises a host: lower case, without the default port, one name for the default registry. A text that is a host
/// only because of its upper-case letters or its port keeps them, or it would be parsed as part of the path.
pub(crate) fn normalize_host(host: &str) -> String {
    let lower = host.to_ascii_lowercase();
    let plain = lower.strip_suffix(":443").filter(|plain| is_host(plain)).unwrap_or(&lower);
    match is_host(plain) {
        true if DOCKER_HUB_ALIASES.contains(&plain) => DEFAULT_REGISTRY.to_owned(),
        true => plain.to_owned(),
        false => host.to_owned(),
    }
}

fn parse(text: &str) -> Result<Reference, ReferenceErrorKind> {
    reject_non_references(text)?;
    // From the outside in, because a colon has three meanings: the digest is split off first, then the host with its
    // port; a colon in the rest starts the tag.
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) if is_digest(digest) => (rest, Some(digest.to_owned())),
        Some(_) => return Err(ReferenceErrorKind::Digest),
        None => (text, None),
    };
    let (host, rest) = split_host(rest);
    let (path, tag) = match rest.split_once(':') {
        Some((path, tag)) if is_tag(tag) => (path, Some(tag.to_owned())),
        Some(_) => return Err(ReferenceErrorKind::Tag),
        None => (rest, None),
    };
    if let Some(host) = host {
        check_host(host)?;
    }
    if !path.split('/').all(is_path_name) {
        return Err(ReferenceErrorKind::Path);
    }
    if host.map_or(0, |host| host.len() + 1) + path.len() > NAME_LIMIT {
        return Err(ReferenceErrorKind::TooLong);
    }
    Ok(Reference { host: host.map(str::to_owned), path: path.to_owned(), tag, digest })
}

/// Rejects common mistakes with a specific reason.
fn reject_non_references(text: &str) -> Result<(), ReferenceErrorKind> {
    if text.is_empty() {
        return Err(ReferenceErrorKind::Empty);
    }
    if text.contains("{{") {
        return Err(ReferenceErrorKind::Template);
    }
    if text.contains(char::is_whitespace) {
        return Err(ReferenceErrorKind::Blank);
    }
    if text.contains("://") { Err(ReferenceErrorKind::Url) } else { Ok(()) }
}

/// Splits off the part before the first slash if it is a host: if it has a dot, a colon or an upper-case letter, or
/// is `localhost`. This is Docker's `splitDockerDomain`.
fn split_host(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((first, rest)) if is_host(first) => (Some(first), rest),
        _ => (None, text),
    }
}

/// Whether the first component of a reference is a host.
pub(crate) fn is_host(first: &str) -> bool {
    first == "localhost"
        // The bracket begins an IPv6 address.
        || first.contains(['.', ':', '['])
        || first.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Validates a host with an optional port.
pub(crate) fn check_host(text: &str) -> Result<(), ReferenceErrorKind> {
    let (host, port) = split_port(text)?;
    if let Some(port) = port {
        check_port(port)?;
    }
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let legal = match address {
        Some(address) => address.contains(':') && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':'),
        None => host.split('.').all(is_host_name),
    };
    if legal { Ok(()) } else { Err(ReferenceErrorKind::Registry) }
}

/// Splits a host from its port.
pub(crate) fn split_port(text: &str) -> Result<(&str, Option<&str>), ReferenceErrorKind> {
    if let Some(end) = text.strip_prefix('[').and_then(|rest| rest.find(']')) {
        let (host, rest) = text.split_at(end + 2);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(ReferenceErrorKind::Registry),
        };
    }
    Ok(text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))))
}

fn check_port(port: &str) -> Result<(), ReferenceErrorKind> {
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(number) if digits && number > 0 => Ok(()),
        _ => Err(ReferenceErrorKind::Port),
    }
}

fn is_host_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Alphanumerics, separated by one dot, one or two underscores, or any number of hyphens.
fn is_path_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
    let ends = bytes.first().zip(bytes.last());
    if !ends.is_some_and(|(first, last)| is_letter(*first) && is_letter(*last)) {
        return false;
    }
    bytes.split(|byte| is_letter(*byte)).all(|separator| {
        matches!(separator, b"" | b"." | b"_" | b"__") || separator.iter().all(|byte| *byte == b'-')
    })
}

fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= TAG_LIMIT
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

/// Whether the text is a valid tag.
pub fn is_valid_tag(text: &str) -> bool {
    is_tag(text)
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let is_name = |name: &str| {
        name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if !algorithm.split(['+', '.', '-', '_']).all(is_name) || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return false;
    }
    let small = !hex.bytes().any(|byte| byte.is_ascii_uppercase());
    match algorithm {
        "sha256" => small && hex.len() == 64,
        "sha384" => small && hex.len() == 96,
        "sha512" => small && hex.len() == 128,
        // The grammar demands only this much of algorithms that go-digest does not know.
        _ => hex.len() >= 32,
    }
}

/// Whether the text is a valid digest.
pub fn is_valid_digest(text: &str) -> bool {
    is_digest(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA256: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn parts(text: &str) -> String {
        match Reference::parse(text) {
            Ok(reference) => format!(
                "{} | {} | {} | {}",
                reference.registry(),
                reference.repository(),
                reference.tag().unwrap_or("-"),
                if reference.digest().is_some() { "digest" } else { "-" }
            ),
            Err(error) => format!("{:?}", error.kind),
        }
    }

    #[test]
    fn references_are_read_as_docker_reads_them() {
        let digested = |text: &str| format!("{text}@{SHA256}");
        let table = [
            ("nginx", "docker.io | library/nginx | - | -"),
            ("nginx:1.27", "docker.io | library/nginx | 1.27 | -"),
            ("team/api:v2", "docker.io | team/api | v2 | -"),
            ("docker.io/nginx", "docker.io | library/nginx | - | -"),
            ("index.docker.io/library/nginx", "docker.io | library/nginx | - | -"),
            ("DOCKER.IO/team/api", "docker.io | team/api | - | -"),
            ("quay.io:443/team/api:v1_2-3.4", "quay.io | team/api | v1_2-3.4 | -"),
            ("localhost/x:1", "localhost | x | 1 | -"),
            ("registry:5000/a/b/c/d:1", "registry:5000 | a/b/c/d | 1 | -"),
            ("[::1]:5000/a", "[::1]:5000 | a | - | -"),
            ("[2001:db8::1]/a", "[2001:db8::1] | a | - | -"),
            ("a__b/c--d.e_f", "docker.io | a__b/c--d.e_f | - | -"),
            (&digested("quay.io/team/api"), "quay.io | team/api | - | digest"),
            (&digested("quay.io/team/api:1"), "quay.io | team/api | 1 | digest"),
            ("registry:5000", "docker.io | library/registry | 5000 | -"),
            ("", "Empty"),
            ("a b", "Blank"),
            ("{{ .x }}", "Template"),
            ("https://quay.io/x", "Url"),
            ("invalid::image", "Tag"),
            ("a/b:", "Tag"),
            ("a/b:.x", "Tag"),
            ("Team/api", "Team | api | - | -"),
            ("reg:443/api", "reg:443 | api | - | -"),
            ("quay.io/Team/api", "UpperCase"),
            ("quay.io//api", "Path"),
            ("quay.io/", "Path"),
            ("a..b/c/d", "Registry"),
            ("a___b", "Path"),
            ("a._b", "Path"),
            ("-a", "Path"),
            ("registry:0/a", "Port"),
            ("registry:70000/a", "Port"),
            ("registry:+80/a", "Port"),
            ("registry:/a", "Port"),
            ("[zz]/a", "Registry"),
            ("a@sha256:12", "Digest"),
            ("a@b@c", "Digest"),
            ("a@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "Digest"),
        ];
        for (text, expected) in table {
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    #[test]
    fn tags_have_at_most_128_characters_and_names_255() {
        assert_eq!(parts(&format!("a:{}", "t".repeat(129))), "Tag");
        assert!(Reference::parse(&format!("a:{}", "t".repeat(128))).is_ok());
        assert_eq!(parts(&"a".repeat(256)), "TooLong");
        assert!(Reference::parse(&"a".repeat(255)).is_ok());
    }

    #[test]
    fn a_reference_is_shown_as_it_was_written() {
        for text in ["nginx", "Docker.IO/nginx:1", &format!("quay.io:443/a/b:1@{SHA256}")] {
            assert_eq!(Reference::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn capital_letters_in_a_path_are_read_only_loosely() {
        let reference = Reference::parse_loosely("docker.io/MyApp/Image:latest").unwrap();
        assert_eq!(reference.repository(), "MyApp/Image");
    }
}
