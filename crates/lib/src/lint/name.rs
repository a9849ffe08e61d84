//! Validation of object names by the rules of their kinds.

use pintle_tree::quote::quote;

/// Checks the name of an object of `kind`.
pub(super) fn check(kind: &str, name: &str) -> Result<(), String> {
    let problems = match kind.to_lowercase().as_str() {
        "service" => label_1035(name),
        "namespace" => label_1123(name),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment(name),
        _ => subdomain_1123(name),
    };
    if problems.is_empty() {
        return Ok(());
    }
    let quoted = quote(name.as_bytes());
    let mut details: Vec<String> = Vec::new();
    for problem in problems {
        let detail = format!("metadata.name: Invalid value: {quoted}: {problem}");
        if !details.contains(&detail) {
            details.push(detail);
        }
    }
    let details = if details.len() == 1 { details.remove(0) } else { format!("[{}]", details.join(", ")) };
    Err(format!("object name does not conform to Kubernetes naming requirements: {quoted}: {details}"))
}

fn too_long(name: &str, limit: usize) -> Option<String> {
    (name.len() > limit).then(|| format!("must be no more than {limit} characters"))
}

fn is_label(text: &str, first: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.first().is_some_and(|&byte| first(byte))
        && bytes.last().is_some_and(|&byte| word(byte))
        && bytes.iter().all(|&byte| word(byte) || byte == b'-')
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn label_1123(name: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(name, 63).into_iter().collect();
    if !is_label(name, alphanumeric) {
        problems.push(if subdomain_1123_matches(name) {
            "must not contain dots".to_owned()
        } else {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                 start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                 validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned()
        });
    }
    problems
}

fn label_1035(name: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(name, 63).into_iter().collect();
    if !is_label(name, |byte| byte.is_ascii_lowercase()) {
        problems.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

fn subdomain_1123_matches(name: &str) -> bool {
    name.split('.').all(|label| is_label(label, alphanumeric))
}

fn subdomain_1123(name: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(name, 253).into_iter().collect();
    if !subdomain_1123_matches(name) {
        problems.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    problems
}

fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%']
        .into_iter()
        .filter(|&character| name.contains(character))
        .map(|character| format!("may not contain '{character}'"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_depend_on_the_kind() {
        assert_eq!(check("Deployment", "a.b"), Ok(()));
        assert!(check("Service", "a.b").is_err());
        assert!(check("Service", "1a").is_err());
        assert_eq!(check("Role", "a:B"), Ok(()));
        assert!(
            check("Role", "a/b")
                .unwrap_err()
                .ends_with("metadata.name: Invalid value: \"a/b\": may not contain '/'")
        );
        assert_eq!(check("CertificateSigningRequest", ""), Ok(()));
    }
}
