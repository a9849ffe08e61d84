//! The hosts that a repository names.

use std::collections::BTreeSet;

use crate::document::is_yaml;
use crate::{Entry, Snapshot};

/// The most that a name of a host may have.
const MAX_HOST: usize = 260;

/// The hosts in addresses of YAML files, with their ports if they have one.
pub fn hosts(files: &Snapshot) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    for (path, entry) in files.entries() {
        let Entry::File(text) = entry else { continue };
        if !is_yaml(path) {
            continue;
        }
        for at in memchr::memmem::find_iter(text, b"://") {
            let before = &text[..at];
            if [b"http".as_slice(), b"https", b"oci"].iter().any(|scheme| before.ends_with(scheme)) {
                hosts.extend(host(&text[at + 3..]));
            }
        }
        // Argo CD names registries without a scheme.
        for at in memchr::memmem::find_iter(text, b"repoURL:") {
            let rest = text[at + 8..].trim_ascii_start();
            let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            if memchr::memmem::find(line, b"://").is_none() {
                hosts.extend(host(rest).filter(|host| host.contains('.')));
            }
        }
    }
    hosts
}

fn host(rest: &[u8]) -> Option<String> {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'@' | b'_' | b'[' | b']')
    };
    let length = rest.iter().take(MAX_HOST).take_while(|byte| is_part(byte)).count();
    let text = std::str::from_utf8(&rest[..length]).ok()?.to_lowercase();
    let host = text.rsplit_once('@').map_or(text.as_str(), |(_, host)| host).trim_end_matches(':');
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_those_of_addresses_and_of_registries_without_a_scheme() {
        let text = "url: https://user@charts.example.com:8443/x\nother: oci://ghcr.io/a\nrepoURL: registry.example.org/b\ntext: ftp://no.example\n";
        let files = Snapshot::new([("a.yaml".to_owned(), Entry::File(text.as_bytes().into()))]);
        let found: Vec<String> = hosts(&files).into_iter().collect();
        assert_eq!(found, ["charts.example.com:8443", "ghcr.io", "registry.example.org"]);
    }
}
