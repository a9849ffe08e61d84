//! References to charts: `oci://host/path[:tag][@digest]`, and which version they mean.

use std::fmt;

use http::{Method, StatusCode};
use pintle_semver::{Constraint, Version};
use pintle_tree::Node;
use pintle_tree::json::{read_prefix, type_error};
use pintle_tree::quote::quote;

use crate::auth::token::Scope;
use crate::client::{Call, Client};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::MANIFEST_LIMIT;
use crate::name::{ImageName, Repository};
use crate::repository::{Pages, next_page};

/// The maximum number of tags that are kept in memory.
const TAGS: usize = 1_000_000;

/// A reference, as Helm parses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartReference {
    /// Where the chart is.
    pub repository: Repository,
    /// The tag as registries have it, with `_` for `+`; may be empty.
    pub tag: String,
    /// The digest of the manifest; may be empty.
    pub digest: String,
    /// The reference as it was given.
    text: String,
}

/// A chart that is to be fetched: one manifest, by digest or by tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedChart {
    /// What is asked for.
    pub name: ImageName,
    /// The version that the tag stands for, with `+`; empty without one.
    pub version: String,
}

impl fmt::Display for ResolvedChart {
    /// The reference as Helm shows it: the digest, or else the tag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.digest(), self.name.tag()) {
            (Some(digest), None) => write!(f, "{}@{digest}", self.name.repository),
            (_, tag) => write!(f, "{}:{}", self.name.repository, tag.unwrap_or_default()),
        }
    }
}

fn invalid(reason: impl fmt::Display) -> Error {
    Error::Chart { text: format!("invalid reference: {reason}") }
}

impl ChartReference {
    /// Parses a reference, with or without `oci://`.
    ///
    /// # Errors
    ///
    /// What Helm's library refuses, in its words.
    pub fn parse(text: &str) -> Result<ChartReference> {
        let given = text.to_owned();
        let text = text.strip_prefix("oci://").unwrap_or(text);
        let (text, digest) = match text.rsplit_once('@') {
            Some((text, digest)) => (text, digest.to_owned()),
            None => (text, String::new()),
        };
        let (registry, path) =
            text.split_once('/').ok_or_else(|| invalid("missing registry or repository"))?;
        // The first colon ends the path, whatever comes after it. In a tag, `+` is accepted and becomes `_`.
        let (path, tag) = match path.split_once(':') {
            Some((path, tag)) => {
                (path, if tag.contains('/') { tag.to_owned() } else { tag.replace('+', "_") })
            }
            None => (path, String::new()),
        };
        if !is_registry(registry) {
            return Err(invalid(format!("invalid registry {}", quote(registry.as_bytes()))));
        }
        let repository = Repository::new(registry, path)
            .ok()
            .filter(|_| is_repository(path))
            .ok_or_else(|| invalid(format!("invalid repository {}", quote(path.as_bytes()))))?;
        if !tag.is_empty() && !is_tag(&tag) {
            return Err(invalid(format!("invalid tag {}", quote(tag.as_bytes()))));
        }
        Ok(ChartReference { repository, tag, digest, text: given })
    }

    /// The last part of the path, which is the name of the chart.
    pub fn base(&self) -> &str {
        self.repository.path().rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn digest_name(&self) -> Result<ImageName> {
        let digest: Digest = self.digest.parse().map_err(|_| {
            let why = digest_complaint(&self.digest);
            invalid(format!("invalid digest {}: {why}", quote(self.digest.as_bytes())))
        })?;
        Ok(self.repository.at(digest))
    }

    fn tag_name(&self, version: &str) -> Result<ResolvedChart> {
        let tag = version.replace('+', "_");
        if !is_tag(&tag) {
            return Err(invalid(format!("invalid tag {}", quote(tag.as_bytes()))));
        }
        Ok(ResolvedChart { name: self.repository.tagged(&tag)?, version: version.to_owned() })
    }
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && !host.ends_with(':') => (host, port),
        _ => (text, "0"),
    };
    !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parts of letters and digits with single dots, one or two underscores, or any number of dashes between them.
fn is_repository(path: &str) -> bool {
    let part = |part: &str| {
        let ends = part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.ends_with(|c: char| c.is_ascii_alphanumeric());
        let alone = |sign: &str| !part.contains(&sign.repeat(2));
        let mixed = ["._", "_.", ".-", "-.", "_-", "-_", "___"].iter().any(|pair| part.contains(pair));
        ends && alone(".") && !mixed
    };
    path.split('/').all(part)
}

fn is_tag(tag: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&tag.len()) && tag.bytes().all(inner) && !tag.starts_with(['.', '-'])
}

/// The error text of Go's digest library for an invalid digest.
fn digest_complaint(text: &str) -> &'static str {
    let is_encoded =
        |hex: &str| hex.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"=_-".contains(&byte));
    match text.split_once(':') {
        None | Some(("", _) | (_, "")) => "invalid checksum digest format",
        Some(("sha256" | "sha384" | "sha512", _)) => "invalid checksum digest length",
        Some((_, hex)) if is_encoded(hex) => "unsupported digest algorithm",
        Some(_) => "invalid checksum digest format",
    }
}

impl Client {
    /// Which chart a reference means, together with `--version`: asks for tags only if it has to.
    ///
    /// # Errors
    ///
    /// A reference and a version that do not fit, and versions that are not there.
    pub async fn resolve_chart(&self, reference: &ChartReference, version: &str) -> Result<ResolvedChart> {
        let message = |text: String| Error::Chart { text };
        let version = match version {
            "" => reference.tag.as_str(),
            // `1.0.0+x` as version and `1.0.0_x` as tag are the same version.
            version if !reference.tag.is_empty() && reference.tag != version.replace('+', "_") => {
                let tag = &reference.tag;
                return Err(message(format!("chart reference and version mismatch: {version} is not {tag}")));
            }
            version => version,
        };
        if !reference.digest.is_empty() {
            let name = reference.digest_name()?;
            if !version.is_empty()
                && let Ok(tagged) = reference.tag_name(version)
                && let Ok(Some(found)) = self.manifest_digest(&tagged.name).await
                && Some(&found) != name.digest()
            {
                let wanted = &reference.digest;
                return Err(message(format!("chart reference digest mismatch: {found} is not {wanted}")));
            }
            return Ok(ResolvedChart { name, version: String::new() });
        }
        let written = version.replace('_', "+");
        if let Some(version) = [version, &written].into_iter().find(|text| Version::parse(text).is_ok()) {
            return reference.tag_name(version);
        }
        let tags = self.chart_versions(&reference.repository).await?;
        if tags.is_empty() {
            let text = format!("unable to locate any tags in provided repository: {}", reference.text);
            return Err(message(text));
        }
        reference.tag_name(&choose_version(&tags, version).map_err(message)?)
    }

    /// The versions of a chart, newest first: all tags that are versions, with `+` for `_`.
    ///
    /// # Errors
    ///
    /// When the registry does not answer, or not with tags.
    pub async fn chart_versions(&self, repository: &Repository) -> Result<Vec<String>> {
        let mut versions: Vec<Version> = Vec::new();
        let mut pages = Pages::new(self.address(repository, "tags/list").await?);
        while let Some(uri) = pages.current() {
            let page = uri.to_string();
            let call = Call::new(Method::GET, uri, Scope::Pull(repository.clone()));
            let answer = self.call(&call).await.map_err(|error| error.into_go_error("Get"))?;
            if answer.status != StatusCode::OK {
                return Err(answer.error().await.into_go_error("Get"));
            }
            let next = answer.header("link").map(next_page).transpose()?;
            let text = answer.content(MANIFEST_LIMIT).await?;
            let tags = tags_of(&text).map_err(|reason| Error::Chart {
                text: format!("GET {}: failed to decode response: {reason}", quote(page.as_bytes())),
            })?;
            versions.extend(tags.iter().filter_map(|tag| Version::parse_strict(&tag.replace('_', "+")).ok()));
            if versions.len() > TAGS {
                let reason = format!("there are more than {TAGS} tags");
                return Err(Error::Size { what: repository.to_string(), reason });
            }
            pages.advance(next.as_deref(), &repository.to_string())?;
        }
        versions.sort_by(|one, other| other.compare(one));
        Ok(versions.iter().map(ToString::to_string).collect())
    }

    /// The digest of a chart's manifest, by a HEAD request; `None` if there is no such chart.
    ///
    /// # Errors
    ///
    /// When the registry does not answer.
    pub async fn chart_digest(&self, chart: &ResolvedChart) -> Result<Option<Digest>> {
        match chart.name.digest() {
            Some(digest) => Ok(Some(digest.clone())),
            None => {
                let digest = self.manifest_digest(&chart.name).await;
                digest.map_err(|error| error.while_performing("FetchReference", "source", "Get"))
            }
        }
    }
}

/// The tags of a page of the list.
///
/// # Errors
/// When the page is something else, in Go's words: a page that is taken for empty would make a part of the list look like all
/// of it.
fn tags_of(page: &[u8]) -> std::result::Result<Vec<String>, String> {
    let wrong = |node: &Node, path: &str, wanted: &str| Err(type_error(json_type(node), "", path, wanted));
    let (tree, _) = read_prefix(page).map_err(|error| error.to_string())?;
    let fields = match &tree {
        Node::Map(fields) => fields,
        Node::Nil => return Ok(Vec::new()),
        other => return wrong(other, "", r#"struct { Tags []string "json:\"tags\"" }"#),
    };
    // Go takes names in any case.
    let field = fields.iter().find(|(key, _)| key.as_bytes().eq_ignore_ascii_case(b"tags"));
    let list = match field {
        None | Some((_, Node::Nil)) => return Ok(Vec::new()),
        Some((_, Node::List(list))) => list,
        Some((_, other)) => return wrong(other, "tags", "[]string"),
    };
    let mut tags = Vec::with_capacity(list.len());
    for (index, tag) in list.iter().enumerate() {
        match tag {
            Node::Str(tag) => tags.push(tag.to_string()),
            Node::Nil => {}
            other => return wrong(other, &format!("tags.{index}"), "string"),
        }
    }
    Ok(tags)
}

fn json_type(node: &Node) -> &'static str {
    match node {
        Node::Nil => "null",
        Node::Bool(_) => "bool",
        Node::Int(_) | Node::Float(_) => "number",
        Node::Str(_) => "string",
        Node::List(_) => "array",
        Node::Map(_) => "object",
    }
}

/// The version that is wanted, from a list with the newest first: the one that is named, else the first that fits.
///
/// # Errors
///
/// A text that is no range, and when nothing fits; in Helm's words.
pub fn choose_version(tags: &[String], version: &str) -> std::result::Result<String, String> {
    if let Some(exact) = tags.iter().find(|tag| *tag == version) {
        return Ok(exact.clone());
    }
    let wanted = if version.is_empty() { "*" } else { version };
    let constraint = Constraint::parse(wanted).map_err(|error| error.to_string())?;
    let found = tags.iter().find(|tag| Version::parse(tag).is_ok_and(|version| constraint.check(&version)));
    found
        .cloned()
        .ok_or_else(|| format!("could not locate a version matching provided version string {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, String, String) {
        let reference = ChartReference::parse(text).unwrap();
        (reference.repository.to_string(), reference.tag, reference.digest)
    }

    #[test]
    fn a_page_of_tags_that_cannot_be_read_is_not_empty() {
        let wrong = |page: &str| tags_of(page.as_bytes()).unwrap_err();
        assert_eq!(wrong("<html>"), "invalid character '<' looking for beginning of value");
        assert_eq!(wrong(" "), "EOF");
        assert_eq!(wrong(r#"{"tags":["1.0.0","1.1"#), "unexpected EOF");
        assert_eq!(
            wrong("[]"),
            r#"json: cannot unmarshal array into Go value of type struct { Tags []string "json:\"tags\"" }"#
        );
        assert_eq!(
            wrong(r#"{"tags":"x"}"#),
            "json: cannot unmarshal string into Go struct field .tags of type []string"
        );
        assert_eq!(
            wrong(r#"{"tags":["1.0.0",2]}"#),
            "json: cannot unmarshal number into .tags.1 of type string"
        );
        for nothing in ["null", "{}", r#"{"tags":null}"#] {
            assert_eq!(tags_of(nothing.as_bytes()), Ok(Vec::new()), "{nothing}");
        }
        // As Go's decoder: names in any case, one value, and nothing after it matters.
        assert_eq!(tags_of(br#"{"Tags":["1.0.0"]} x"#), Ok(vec!["1.0.0".to_owned()]));
    }

    #[test]
    fn references_are_taken_apart() {
        let message = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(parts("oci://localhost:5000/a/b:1.0.0+x"), message("localhost:5000/a/b", "1.0.0_x", ""));
        assert_eq!(parts("r.io/a"), message("r.io/a", "", ""));
        assert_eq!(parts("r.io/a@sha256:abc"), message("r.io/a", "", "sha256:abc"));
        assert_eq!(parts("oci://r.io/a/b:1@sha256:abc"), message("r.io/a/b", "1", "sha256:abc"));
        assert_eq!(parts("[::1]:5000/a:1"), message("[::1]:5000/a", "1", ""));
    }

    #[test]
    fn what_is_no_reference_is_refused_in_helms_words() {
        let error = |text: &str| ChartReference::parse(text).unwrap_err().to_string();
        assert_eq!(error("oci://r.io"), "invalid reference: missing registry or repository");
        assert_eq!(error("oci://r.io/A"), "invalid reference: invalid repository \"A\"");
        assert_eq!(error("oci://r.io/a:1/web:0.1.0"), "invalid reference: invalid tag \"1/web:0.1.0\"");
        assert_eq!(error("oci://r.io/a//b"), "invalid reference: invalid repository \"a//b\"");
        assert_eq!(error("oci://r.io:x/a"), "invalid reference: invalid registry \"r.io:x\"");
        for bad in ["r.io/a..b", "r.io/a.-b", "r.io/a___b", "r.io/-a", "r.io/a:", "r.io/"] {
            let outcome = ChartReference::parse(bad);
            assert!(outcome.is_err() || bad == "r.io/a:", "{bad}");
        }
        for good in ["r.io/a.b", "r.io/a--b", "r.io/a__b", "r.io/a_b/c-d"] {
            assert!(ChartReference::parse(good).is_ok(), "{good}");
        }
        let digest = |text: &str| ChartReference::parse(text).unwrap().digest_name().unwrap_err().to_string();
        assert_eq!(
            digest("r.io/a@sha256:abc"),
            "invalid reference: invalid digest \"sha256:abc\": invalid checksum digest length"
        );
        assert_eq!(
            digest("r.io/a@sha256:"),
            "invalid reference: invalid digest \"sha256:\": invalid checksum digest format"
        );
    }

    #[test]
    fn the_newest_version_that_fits_is_chosen() {
        let tags: Vec<String> =
            ["2.0.0-rc.1", "1.10.0", "1.9.0+b", "1.9.0"].iter().map(ToString::to_string).collect();
        assert_eq!(choose_version(&tags, "").unwrap(), "1.10.0");
        assert_eq!(choose_version(&tags, "~1.9").unwrap(), "1.9.0+b");
        assert_eq!(choose_version(&tags, ">0.0.0-0").unwrap(), "2.0.0-rc.1");
        assert_eq!(
            choose_version(&tags, ">5").unwrap_err(),
            "could not locate a version matching provided version string >5"
        );
        assert_eq!(choose_version(&tags, "x y").unwrap_err(), "improper constraint: \"x y\"");
    }
}
