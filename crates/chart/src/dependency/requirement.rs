//! The digest that shows whether a lock still matches the dependencies it was made for.

use pintle_tree::{Node, json};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::metadata::Dependency;

/// The digest of Chart.lock: over the JSON of the declared and the locked dependencies (Helm's `HashReq`). `asked` is
/// `None` if the chart has no `dependencies:` at all.
///
/// # Errors
/// When a value cannot be represented in JSON.
pub fn digest(asked: Option<&[Dependency]>, locked: &[Dependency]) -> Result<String> {
    let mut text = b"[".to_vec();
    match asked {
        Some(asked) => write_list(asked, &mut text)?,
        None => text.extend_from_slice(b"null"),
    }
    text.push(b',');
    write_list(locked, &mut text)?;
    text.push(b']');
    Ok(hash(&text))
}

/// The digest that Helm 2 wrote to requirements.lock.
///
/// # Errors
/// When a value cannot be represented in JSON.
pub fn legacy_digest(asked: Option<&[Dependency]>) -> Result<String> {
    let mut text = b"{\"dependencies\":".to_vec();
    match asked {
        Some(asked) => write_list(asked, &mut text)?,
        None => text.extend_from_slice(b"null"),
    }
    text.push(b'}');
    Ok(hash(&text))
}

fn hash(text: &[u8]) -> String {
    let hexadecimal: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hexadecimal}")
}

/// Writes dependencies as Go's JSON has them.
pub(crate) fn write_list(dependencies: &[Dependency], text: &mut Vec<u8>) -> Result<()> {
    text.push(b'[');
    for (index, dependency) in dependencies.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write_dependency(dependency, text)?;
    }
    text.push(b']');
    Ok(())
}

/// Writes the fields in the order of Go's struct, which the hash depends on.
fn write_dependency(dependency: &Dependency, text: &mut Vec<u8>) -> Result<()> {
    let string = |text: &str| (!text.is_empty()).then(|| Node::from(text));
    let tags = || dependency.tags.iter().map(|tag| Node::from(tag.as_str())).collect::<Vec<_>>();
    let fields = [
        ("name", Some(Node::from(dependency.name.as_str()))),
        ("version", string(&dependency.version)),
        // Go's struct has `omitempty` on all fields but these two, so that an empty repository is hashed.
        ("repository", Some(Node::from(dependency.repository.as_str()))),
        ("condition", string(&dependency.condition)),
        ("tags", (!dependency.tags.is_empty()).then(|| Node::List(tags()))),
        ("enabled", dependency.enabled.then_some(Node::Bool(true))),
        (
            "import-values",
            (!dependency.import_values.is_empty()).then(|| Node::List(dependency.import_values.clone())),
        ),
        ("alias", string(&dependency.alias)),
    ];
    let mut separator = b'{';
    for (name, value) in fields {
        let Some(value) = value else { continue };
        text.push(separator);
        separator = b',';
        text.extend_from_slice(format!("\"{name}\":").as_bytes());
        text.extend(json::write(&value).map_err(|error| Error::message(error.to_string()))?);
    }
    text.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_one_found_in_many_charts() {
        assert_eq!(
            digest(Some(&[]), &[]).expect("can be hashed"),
            "sha256:643d5437104296e21d906ecb15b2c96ad278f20cfc4af53b12bb6069bd853726"
        );
    }

    #[test]
    fn fields_are_written_in_order_with_go_s_escapes() {
        let dependency = Dependency {
            name: "a".into(),
            version: ">=1".into(),
            tags: vec!["x".into()],
            import_values: vec![Node::Float(1.0), Node::from("d")],
            alias: "b".into(),
            ..Dependency::default()
        };
        let mut text = Vec::new();
        write_list(&[dependency], &mut text).expect("can be written");
        assert_eq!(
            String::from_utf8(text).expect("is text"),
            r#"[{"name":"a","version":"\u003e=1","repository":"","tags":["x"],"import-values":[1,"d"],"alias":"b"}]"#
        );
    }
}
