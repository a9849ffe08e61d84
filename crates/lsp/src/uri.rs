//! `file:` addresses and paths.

use std::path::{Path, PathBuf};

/// The scheme of documents inside of archives.
pub const ARCHIVE_SCHEME: &str = "pintle-chart:";
/// The scheme of rendered documents.
pub const RENDERED_SCHEME: &str = "pintle-rendered:";

/// The path of a `file:` address; `None` for others.
pub fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.find('/').map(|at| &rest[at..])?;
    let decoded = decode(path);
    // On Windows `/c:/x` is `c:/x`.
    let drive = decoded.as_bytes();
    if cfg!(windows) && drive.len() > 2 && drive[2] == b':' {
        return Some(PathBuf::from(&decoded[1..]));
    }
    Some(PathBuf::from(decoded))
}

/// The `file:` address of a path.
pub fn from_path(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let lead = if text.starts_with('/') { "" } else { "/" };
    format!("file://{lead}{}", encode(&text))
}

/// The address of a file in an archive.
pub fn in_archive(archive: &Path, inner: &str) -> String {
    format!("{ARCHIVE_SCHEME}{}!/{}", encode(&archive.to_string_lossy().replace('\\', "/")), encode(inner))
}

/// The address of what a template writes with a scenario. `path` is that of the template with its chart, as in
/// `web/templates/a.yaml`.
pub fn rendered(root: &Path, path: &str, scenario: &str) -> String {
    let root = root.to_string_lossy().replace('\\', "/");
    let lead = if root.starts_with('/') { "" } else { "/" };
    format!("{RENDERED_SCHEME}{lead}{}!/{}?{}", encode(&root), encode(path), encode(scenario))
}

/// The folder of the chart, the path of the template and the scenario of a rendered document.
pub fn parse_rendered(uri: &str) -> Option<(PathBuf, String, String)> {
    let rest = uri.strip_prefix(RENDERED_SCHEME)?;
    let (place, scenario) = rest.split_once('?').unwrap_or((rest, ""));
    let (root, path) = place.rsplit_once("!/")?;
    let root = to_path(&format!("file://{root}"))?;
    Some((root, decode(path), decode(scenario)))
}

/// Editors write the same address in several ways, so addresses are compared in one.
pub fn normalized(uri: &str) -> String {
    match to_path(uri) {
        Some(path) => from_path(&path),
        None => match parse_rendered(uri) {
            Some((root, path, scenario)) => rendered(&root, &path, &scenario),
            None => uri.to_owned(),
        },
    }
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
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

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*,;=@:+".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_lead_to_each_other() {
        let path = Path::new("/a b/ü/c%.yaml");
        assert_eq!(from_path(path), "file:///a%20b/%C3%BC/c%25.yaml");
        assert_eq!(to_path(&from_path(path)).as_deref(), Some(path));
        assert_eq!(normalized("file:///a%20b/%c3%bc"), "file:///a%20b/%C3%BC");
        assert_eq!(to_path("untitled:x"), None);
        assert_eq!(to_path("file:///%zz"), Some("/%zz".into()));
    }

    #[test]
    fn rendered_documents_name_a_chart_a_template_and_a_scenario() {
        let uri = rendered(Path::new("/a b!/web"), "web/templates/c#.yaml", "ci/d-values.yaml");
        assert_eq!(uri, "pintle-rendered:/a%20b!/web!/web/templates/c%23.yaml?ci/d-values.yaml");
        let parts = parse_rendered(&uri).expect("it is one");
        assert_eq!(parts, ("/a b!/web".into(), "web/templates/c#.yaml".into(), "ci/d-values.yaml".into()));
        assert_eq!(
            normalized("pintle-rendered:/a b!/web!/web/x?"),
            rendered(Path::new("/a b!/web"), "web/x", "")
        );
        assert_eq!(parse_rendered("pintle-rendered:x"), None);
    }
}
