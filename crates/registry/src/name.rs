//! Fully qualified names of repositories and images. Expanding short names such as `nginx` is up to the caller.

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;
use crate::error::{Error, Result};

/// A repository of a registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repository {
    registry: String,
    path: String,
}

impl Repository {
    /// Creates a repository from a registry (`host` or `host:port`) and a path.
    ///
    /// # Errors
    ///
    /// When the registry or the path is invalid.
    pub fn new(registry: &str, path: &str) -> Result<Repository> {
        let bad = |reason| Error::Name { text: format!("{registry}/{path}"), reason };
        let host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
        if registry.is_empty() || registry.len() > 255 || !registry.bytes().all(host) {
            return Err(bad("the registry is not a host with an optional port"));
        }
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        let component = |part: &str| {
            let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
            part.bytes().all(inner) && ends(part.bytes().next()) && ends(part.bytes().last())
        };
        if path.len() > 255 || !path.split('/').all(component) {
            return Err(bad(
                "the path may have lower case letters, digits and `.`, `_`, `-` within its parts",
            ));
        }
        Ok(Repository { registry: registry.to_ascii_lowercase(), path: path.to_owned() })
    }

    /// The registry, with its port if it has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path within the registry.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The image with this digest.
    pub fn at(&self, digest: Digest) -> ImageName {
        ImageName { repository: self.clone(), tag: None, digest: Some(digest) }
    }

    /// The image with this tag.
    ///
    /// # Errors
    ///
    /// When the tag is invalid.
    pub fn tagged(&self, tag: &str) -> Result<ImageName> {
        ImageName::new(self.clone(), Some(tag.to_owned()), None)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)
    }
}

/// A fully qualified image name: a repository with a tag, a digest or both. If both, the digest decides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageName {
    /// The repository.
    pub repository: Repository,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl ImageName {
    /// Creates a name from its parts.
    ///
    /// # Errors
    ///
    /// When the tag is invalid, or there is neither tag nor digest.
    pub fn new(repository: Repository, tag: Option<String>, digest: Option<Digest>) -> Result<ImageName> {
        let name = ImageName { repository, tag, digest };
        let bad = |reason| Err(Error::Name { text: name.to_string(), reason });
        match &name.tag {
            None if name.digest.is_none() => return bad("it has neither tag nor digest"),
            Some(tag) if !is_tag(tag) => return bad("the tag is none"),
            _ => {}
        }
        Ok(name)
    }

    /// The tag.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The reference part of a manifest URL: the digest, or else the tag.
    pub(crate) fn reference(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.clone().unwrap_or_default(),
        }
    }
}

fn is_tag(tag: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&tag.len()) && tag.bytes().all(inner) && !tag.starts_with(['.', '-'])
}

impl FromStr for ImageName {
    type Err = Error;

    fn from_str(text: &str) -> Result<ImageName> {
        let bad = |reason| Error::Name { text: text.chars().take(300).collect(), reason };
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse()?)),
            None => (text, None),
        };
        let (registry, path) = rest.split_once('/').ok_or_else(|| bad("it has no registry"))?;
        let (path, tag) = match path.rsplit_once(':') {
            Some((path, tag)) => (path, Some(tag.to_owned())),
            None => (path, None),
        };
        ImageName::new(Repository::new(registry, path)?, tag, digest)
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_back() {
        let digest = Digest::of(b"x");
        for text in [
            "docker.io/library/nginx:1.27".to_owned(),
            format!("localhost:5000/a@{digest}"),
            format!("[::1]:5000/a/b__c/d:t@{digest}"),
        ] {
            assert_eq!(text.parse::<ImageName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nothing_that_could_lead_elsewhere_becomes_part_of_an_address() {
        for text in [
            "nginx:1",
            "a/b",
            "a/../b:1",
            "a/b/..:1",
            "a/b?x:1",
            "a/B:1",
            "a b/c:1",
            "a/b:.x",
            "user@host/a:1",
            "a//b:1",
        ] {
            assert!(text.parse::<ImageName>().is_err(), "{text}");
        }
    }
}
