//! Moves images in rendered text: only the fields that the kubelet reads change, every other byte is kept.

use std::borrow::Cow;

use pintle_objects::ObjectId;
use pintle_tree::Node;
use pintle_yaml::outline::{self, Edits, Outline};

use crate::fields::{contains, in_document, is_definition};
use crate::value_path::{Segment, ValuePath};
use crate::{Error, Policy, Reference, Result};

/// An image that was moved in rendered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The object it belongs to.
    pub object: ObjectId,
    /// Its path in the document.
    pub path: ValuePath,
    /// The image before the change.
    pub before: String,
    /// The image after the change.
    pub after: String,
}

/// Moves the images in a stream of documents. Fields that are not image references are left unchanged.
///
/// # Errors
/// When a document that contains images is not valid YAML, or the policy has no target for an image.
pub fn rewrite<'t>(text: &'t [u8], policy: &Policy) -> Result<(Cow<'t, [u8]>, Vec<Rewritten>)> {
    let mut moved = Vec::new();
    let mut out: Vec<u8> = Vec::new();
    let mut copied = 0;
    for document in pintle_objects::split(text).filter(|document| contains(document, b"image")) {
        // `split` returns slices of `text`, so their addresses give the offset.
        let start = document.as_ptr().addr() - text.as_ptr().addr();
        let line = 1 + memchr::memchr_iter(b'\n', &text[..start]).count();
        let before = moved.len();
        let desired = desired(document, line, policy, &mut moved)?;
        if moved.len() == before {
            continue;
        }
        if out.is_empty() {
            out.reserve(text.len() + text.len() / 16);
        }
        out.extend_from_slice(&text[copied..start]);
        apply_edits(document, line, &desired, &mut out)?;
        copied = start + document.len();
    }
    if moved.is_empty() {
        return Ok((Cow::Borrowed(text), moved));
    }
    out.extend_from_slice(&text[copied..]);
    Ok((Cow::Owned(out), moved))
}

/// The fields of a document to change, with their new images.
fn desired(
    document: &[u8],
    line: usize,
    policy: &Policy,
    moved: &mut Vec<Rewritten>,
) -> Result<Vec<(ValuePath, String)>> {
    let body = match pintle_yaml::read(document).map_err(|error| rewrite_error(document, line, &error))? {
        Node::Map(body) if !is_definition(&body) => body,
        _ => return Ok(Vec::new()),
    };
    let mut desired = Vec::new();
    for field in in_document("", 0, &body) {
        // Upper-case letters are accepted because some target registries lower-case names.
        let Ok(image) = Reference::parse_loosely(&field.image) else { continue };
        let Some(destination) = policy.destination(&image)? else { continue };
        let after = destination.relocated(&image);
        desired.push((field.location.path.clone(), after.clone()));
        let (object, path, before) = (field.object, field.location.path, field.image);
        moved.push(Rewritten { object, path, before, after });
    }
    Ok(desired)
}

/// Writes a document with some of its strings replaced.
fn apply_edits(
    document: &[u8],
    line: usize,
    desired: &[(ValuePath, String)],
    out: &mut Vec<u8>,
) -> Result<()> {
    let failed = |error: pintle_yaml::Error| rewrite_error(document, line, &error);
    let segments = |path: &ValuePath| -> Vec<outline::PathSegment> {
        let step = |step: &Segment| match step {
            Segment::Key(key) => outline::PathSegment::Key(key.to_str_lossy().into_owned().into()),
            Segment::Index(index) => outline::PathSegment::Index(*index),
        };
        path.segments().iter().map(step).collect()
    };
    let paths: Vec<Vec<outline::PathSegment>> = desired.iter().map(|(path, _)| segments(path)).collect();
    // Aliases of an edited node are expanded first; otherwise the edit would change every use of the anchor.
    let text = outline::expand_aliases(document, &paths).map_err(failed)?;
    let read = Outline::read_first(&text).map_err(failed)?;
    let mut edits = Edits::new(&read);
    for (path, after) in desired {
        let Some(root) = read.roots().next() else { continue };
        let node = path.segments().iter().try_fold(root, |node, step| match step {
            Segment::Key(key) => node.get(key.as_str()?),
            Segment::Index(index) => node.items().nth(*index),
        });
        match node {
            Some(node) => edits.replace_scalar(node, after),
            None => {
                return Err(Error::Rewrite { line, problem: format!("{path} cannot be found in its text") });
            }
        }
    }
    edits.apply_to(out).map_err(failed)
}

fn rewrite_error(document: &[u8], line: usize, error: &pintle_yaml::Error) -> Error {
    let text = String::from_utf8_lossy(document);
    let source = text.lines().find_map(|line| line.strip_prefix("# Source: "));
    let source = source.map(|path| format!(" ({})", path.trim())).unwrap_or_default();
    Error::Rewrite { line, problem: format!("the document{source} is not valid YAML: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, Target};

    fn policy() -> Policy {
        let sources = ["docker.io", "quay.io"].map(|text| Source::parse(text).unwrap());
        let target = Some(Target::parse("hub.corp:5000").unwrap());
        Policy { sources: Some(sources.to_vec()), target, ..Policy::default() }
    }

    fn rewritten(text: &str) -> String {
        let (text, _) = rewrite(text.as_bytes(), &policy()).unwrap();
        String::from_utf8(text.into_owned()).unwrap()
    }

    #[test]
    fn only_images_of_pods_change_and_every_other_byte_stays() {
        let text = "---\n# Source: c/templates/a.yaml\nkind: Pod   # a pod\nspec:\n  containers:\n  - {image: 'web:1', \
                    args: [web:1]}  # flow\n  -   image:   \"quay.io/a/b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"\n\
                    \n  - image: >-\n      quay.io/a/c:2\n    x: |\n      image: web:1\n  - image: gcr.io/a/b:1\n\n---\n\
                    # nothing: image\r\n--- \r\nkind: ConfigMap\r\ndata: {image: 'web:1'}";
        let desired = text
            .replace("{image: 'web:1'", "{image: 'hub.corp:5000/dockerio/library/web:1'")
            .replace("data: {image: 'hub.corp:5000/dockerio/library/web:1'", "data: {image: 'web:1'")
            .replace("\"quay.io/a/b@", "\"hub.corp:5000/quayio/a/b@")
            // A folded line could be too long to be read back as it was.
            .replace(">-\n      quay.io/a/c:2", "|-\n      hub.corp:5000/quayio/a/c:2");
        assert_eq!(rewritten(text), desired);
        assert_eq!(rewritten(&desired), desired, "a second time nothing changes");
    }

    #[test]
    fn shared_text_is_written_out_where_only_one_of_it_is_an_image() {
        let text = "kind: Pod\nmetadata: {annotations: {i: &i 'web:1'}}\nspec:\n  containers:\n  - image: *i\n  - &c\n    \
                    image: web:2\n  - <<: *c\n    name: x\n";
        let after = rewritten(text);
        let images = crate::fields(&[("x".into(), after.clone().into_bytes())]);
        let images: Vec<&str> = images.iter().map(|field| field.image.as_str()).collect();
        let (one, two) = ("hub.corp:5000/dockerio/library/web:1", "hub.corp:5000/dockerio/library/web:2");
        assert_eq!(images, [one, two, two]);
        assert!(after.contains("{i: &i 'web:1'}"), "{after}");
        assert_eq!(rewritten(&after), after);
    }

    #[test]
    fn texts_without_images_are_not_even_copied() {
        let text = b"kind: Pod\nspec: {containers: [{image: gcr.io/x/y:1}]}\n---\nimage\n";
        assert!(matches!(rewrite(text, &policy()).unwrap(), (Cow::Borrowed(_), _)));
    }

    #[test]
    fn what_is_no_yaml_is_named_by_its_line_and_source() {
        let error = rewrite(b"a: 1\n---\n# Source: c/x.yaml\nimage: [\n", &policy()).unwrap_err().to_string();
        assert!(error.starts_with("line 3: the document (c/x.yaml) is not valid YAML: "), "{error}");
    }
}
