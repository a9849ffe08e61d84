//! URL paths of objects and lists. Every segment that comes from outside is validated and escaped.

use crate::discovery::Resource;
use crate::error::{Error, Result};

/// Returns the path of the collection of a kind, in one namespace or, when it is empty, in all namespaces.
pub(crate) fn collection(resource: &Resource, namespace: &str) -> Result<String> {
    let mut path = String::with_capacity(96);
    if resource.group.is_empty() {
        path.push_str("/api/");
    } else {
        path.push_str("/apis/");
        escape(&resource.group, &mut path);
        path.push('/');
    }
    escape(&resource.version, &mut path);
    if resource.namespaced && !namespace.is_empty() {
        check("namespace", namespace)?;
        path.push_str("/namespaces/");
        escape(namespace, &mut path);
    }
    path.push('/');
    escape(&resource.plural, &mut path);
    Ok(path)
}

/// Returns the path of one object.
pub(crate) fn object(resource: &Resource, namespace: &str, name: &str) -> Result<String> {
    if name.is_empty() {
        return Err(Error::InvalidRequest("resource name may not be empty".into()));
    }
    if resource.namespaced && namespace.is_empty() {
        return Err(Error::InvalidRequest(
            "an empty namespace may not be set when a resource name is provided".into(),
        ));
    }
    check("resource name", name)?;
    let mut path = collection(resource, namespace)?;
    path.push('/');
    escape(name, &mut path);
    Ok(path)
}

/// Rejects segments that would change the path, such as `..` or one with a slash (as client-go's
/// `IsValidPathSegmentName`).
pub(crate) fn check(what: &str, segment: &str) -> Result<()> {
    let mut problems = Vec::new();
    if segment == "." || segment == ".." {
        problems.push(format!("may not be '{segment}'"));
    }
    for illegal in ["/", "%"] {
        if segment.contains(illegal) {
            problems.push(format!("may not contain '{illegal}'"));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::InvalidRequest(format!("invalid {what} {segment:?}: [{}]", problems.join(" "))))
}

/// Appends a query parameter.
pub(crate) fn parameter(path: &mut String, key: &str, value: &str) {
    path.push(if path.contains('?') { '&' } else { '?' });
    path.push_str(key);
    path.push('=');
    escape(value, path);
}

/// Percent-encodes text so that it stays one path segment or query value.
pub(crate) fn escape(text: &str, into: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(HEX[usize::from(byte >> 4)]));
            into.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, namespaced: bool) -> Resource {
        Resource { namespaced, ..Resource::new(group, "v1", "Thing", "things") }
    }

    #[test]
    fn core_and_grouped_kinds_have_their_own_roots() {
        assert_eq!(object(&resource("", true), "n", "a").expect("good"), "/api/v1/namespaces/n/things/a");
        assert_eq!(object(&resource("x.io", false), "n", "a:b").expect("good"), "/apis/x.io/v1/things/a%3Ab");
        assert_eq!(collection(&resource("", true), "").expect("good"), "/api/v1/things");
    }

    #[test]
    fn names_cannot_escape_their_path_segment() {
        let error = object(&resource("", true), "n", "../secrets/x").expect_err("climbs");
        assert_eq!(error.to_string(), "invalid resource name \"../secrets/x\": [may not contain '/']");
        assert!(object(&resource("", true), "..", "a").is_err());
        assert!(object(&resource("", true), "n", "").is_err());
    }
}
