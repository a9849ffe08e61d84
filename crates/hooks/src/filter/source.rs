//! The template that a document comes from, if the document says so.

use std::fmt;

use pintle_yaml::outline::Outline;

/// The annotation by which Helm 4 maps the output of a post-renderer back to files.
const FILE_ANNOTATION: &str = "postrenderer.helm.sh/postrender-filename";

/// The comment that Helm writes before documents.
const COMMENT: &[u8] = b"# Source: ";

/// The template that a document was rendered from.
#[derive(Debug)]
pub(super) struct Origin(Option<String>);

impl Origin {
    pub(super) fn find(text: &[u8]) -> Self {
        Origin(
            comment(text)
                .map(|comment| String::from_utf8_lossy(&comment[COMMENT.len()..]).into_owned())
                .or_else(|| {
                    let outline = Outline::read_first(text).ok()?;
                    let annotations = outline.roots().next()?.get("metadata")?.get("annotations")?;
                    Some(annotations.get(FILE_ANNOTATION)?.as_str()?.into_owned())
                }),
        )
    }
}

/// The template in the comment, if there is one.
pub(super) fn comment(text: &[u8]) -> Option<&[u8]> {
    text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).find(|line| line.starts_with(COMMENT))
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(file) => write!(formatter, " (from {file})"),
            None => Ok(()),
        }
    }
}
