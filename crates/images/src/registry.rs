//! Source and target registries, and the naming rules of well-known registry services.

use crate::error::{Error, Result};
use crate::reference::{check_host, normalize_host, split_port};

/// The maximum length of a source: that of a DNS name.
const SOURCE_LIMIT: usize = 253;

/// The maximum length of a target.
const TARGET_LIMIT: usize = 1024;

/// A registry whose images are selected: one host, or all hosts below a domain (`*.example.com`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// The normalised host; for a wildcard the domain with its leading dot.
    host: String,
    wildcard: bool,
}

impl Source {
    /// Parses `quay.io`, `registry:5000` or `*.example.com`. URLs, trailing slashes and paths are rejected: the
    /// registry of an image is its host and port.
    ///
    /// # Errors
    /// When the text is not a host or wildcard.
    pub fn parse(text: &str) -> Result<Self> {
        let fail = |problem: &str| Error::Source { text: text.to_owned(), problem: problem.to_owned() };
        if text.is_empty() {
            return Err(fail("is empty"));
        }
        if text.len() > SOURCE_LIMIT {
            return Err(fail("is longer than 253 characters"));
        }
        let (host, wildcard) = match text.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (text, false),
        };
        if host.contains("://") {
            return Err(fail("has a scheme; give the host alone"));
        }
        if host.contains('/') {
            return Err(fail("has a path; give the host alone"));
        }
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        if !host.bytes().all(legal) {
            return Err(fail("contains illegal characters"));
        }
        check_host(host).map_err(|kind| fail(&format!("is not a registry: {kind}")))?;
        let host = normalize_host(host);
        Ok(if wildcard { Source { host: format!(".{host}"), wildcard } } else { Source { host, wildcard } })
    }

    /// Whether images of `registry`, which must be normalised, are selected.
    pub fn matches(&self, registry: &str) -> bool {
        match self.wildcard {
            true => registry.len() > self.host.len() && registry.ends_with(&self.host),
            false => registry == self.host,
        }
    }

    /// Whether this selects all hosts below a domain.
    pub fn is_wildcard(&self) -> bool {
        self.wildcard
    }

    /// Whether it can ever match: a host without a dot or a port would be parsed as part of a path.
    pub fn can_match(&self) -> bool {
        self.host == "localhost" || self.host.contains(['.', ':'])
    }

    /// The specificity: whole hosts rank above wildcards, and longer domains above shorter ones.
    pub(crate) fn rank(&self) -> (bool, usize) {
        (!self.wildcard, self.host.len())
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.wildcard { "*" } else { "" }, self.host)
    }
}

/// Where images go: a registry, optionally with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host with an optional port, as given.
    pub registry: String,
    /// The path below which images go, without leading and trailing slashes; empty for none.
    pub path: String,
}

impl Target {
    /// Parses `host[:port][/path]`.
    ///
    /// # Errors
    /// When the host is invalid, or the path cannot be part of an image name.
    pub fn parse(text: &str) -> Result<Self> {
        let fail = |problem: String| Error::Target { text: text.to_owned(), problem };
        if text.len() > TARGET_LIMIT {
            return Err(fail("is longer than 1024 characters".to_owned()));
        }
        if text.contains("://") {
            return Err(fail("has a scheme; give host[:port][/path] alone".to_owned()));
        }
        let (registry, path) = text.split_once('/').unwrap_or((text, ""));
        if registry.is_empty() {
            return Err(fail("names no registry".to_owned()));
        }
        check_host(registry).map_err(|kind| fail(format!("is not a registry: {kind}")))?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let names_image = || crate::Reference::parse(&format!("x.io/{path}/image"));
        if !path.is_empty() {
            names_image().map_err(|error| fail(format!("cannot begin an image: {}", error.kind)))?;
        }
        Ok(Target { registry: registry.to_owned(), path: path.to_owned() })
    }

    /// The kind of registry service, by host.
    pub fn kind(&self) -> RegistryKind {
        RegistryKind::from_host(&self.registry)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.path.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{}", self.registry, self.path)
    }
}

/// An AWS partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// The standard partition, `aws`.
    Aws,
    /// China, `aws-cn`.
    China,
    /// GovCloud (US), `aws-us-gov`.
    Government,
}

impl Partition {
    /// The partition's name in ARNs.
    pub fn name(self) -> &'static str {
        match self {
            Partition::Aws => "aws",
            Partition::China => "aws-cn",
            Partition::Government => "aws-us-gov",
        }
    }

    /// The partition of an ECR host; `None` if the host is not ECR's.
    pub fn from_host(host: &str) -> Option<Self> {
        let host = host_only(host);
        let suffixes = [
            (".amazonaws.com.cn", Partition::China),
            (".amazonaws-us-gov.com", Partition::Government),
            (".amazonaws.com", Partition::Aws),
        ];
        suffixes.into_iter().find(|(suffix, _)| host.ends_with(suffix)).map(|(_, partition)| partition)
    }
}

/// A registry service, as far as it restricts image names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryKind {
    /// Amazon ECR, which accepts lower-case letters and hyphens only.
    Ecr(Partition),
    /// Azure Container Registry.
    Azure,
    /// GitHub Container Registry, where images are below an owner.
    GitHub,
    /// Google Artifact Registry, where images are below a project and a repository.
    ArtifactRegistry,
    /// Docker Hub, which has exactly two path levels.
    DockerHub,
    /// Any other registry.
    Other,
}

impl RegistryKind {
    /// Recognises the service at `host`, which may have a port.
    pub fn from_host(host: &str) -> Self {
        let normal = normalize_host(host);
        let name = host_only(&normal);
        if let Some(partition) = Partition::from_host(name).filter(|_| name.contains(".dkr.ecr")) {
            return RegistryKind::Ecr(partition);
        }
        let azure = [".azurecr.io", ".azurecr.cn", ".azurecr.us"];
        match name {
            "docker.io" => RegistryKind::DockerHub,
            "ghcr.io" => RegistryKind::GitHub,
            _ if azure.iter().any(|suffix| name.ends_with(suffix)) => RegistryKind::Azure,
            _ if name.ends_with("-docker.pkg.dev") => RegistryKind::ArtifactRegistry,
            _ => RegistryKind::Other,
        }
    }

    /// Rewrites a path so that this service accepts it.
    pub fn sanitize_path(self, path: &str) -> String {
        match self {
            RegistryKind::Ecr(_) => path.to_ascii_lowercase().replace('_', "-"),
            RegistryKind::Azure | RegistryKind::GitHub | RegistryKind::ArtifactRegistry => {
                path.to_ascii_lowercase()
            }
            RegistryKind::DockerHub | RegistryKind::Other => path.to_owned(),
        }
    }

    /// Returns a warning if `path` is unsuitable for images in this service.
    pub fn advice(self, path: &str) -> Option<&'static str> {
        let depth = path.split('/').filter(|name| !name.is_empty()).count();
        match self {
            RegistryKind::ArtifactRegistry if depth < 2 => Some(
                "Artifact Registry keeps images below a project and a repository: host/PROJECT/REPOSITORY",
            ),
            RegistryKind::GitHub if depth < 1 => Some("GitHub keeps images below an owner: ghcr.io/OWNER"),
            RegistryKind::DockerHub => {
                Some("Docker Hub has two levels, so that paths below a prefix cannot be pushed")
            }
            _ => None,
        }
    }
}

fn host_only(text: &str) -> &str {
    split_port(text).map_or(text, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_compared_in_one_spelling() {
        let matches = |source: &str, registry: &str| Source::parse(source).unwrap().matches(registry);
        assert!(matches("index.docker.io", "docker.io"));
        assert!(matches("DOCKER.IO", "docker.io"));
        assert!(matches("quay.io:443", "quay.io"));
        assert!(matches("registry:5000", "registry:5000"));
        assert!(!matches("registry:5000", "registry:6000"));
        assert!(!matches("quay.io", "quay.io:8443"));
    }

    #[test]
    fn a_wildcard_matches_every_host_below_its_domain() {
        let source = Source::parse("*.gcr.io").unwrap();
        assert!(source.matches("k8s.gcr.io") && source.matches("a.b.gcr.io"));
        assert!(!source.matches("gcr.io") && !source.matches("xgcr.io"));
        assert_eq!(source.to_string(), "*.gcr.io");
    }

    #[test]
    fn what_is_no_registry_is_refused_with_its_name() {
        let problem = |text: &str| Source::parse(text).unwrap_err().to_string();
        assert_eq!(problem("foo;bar"), "Invalid source registry 'foo;bar': contains illegal characters");
        assert_eq!(
            problem("quay.io/x"),
            "Invalid source registry 'quay.io/x': has a path; give the host alone"
        );
        assert!(problem("reg:99999").contains("port"));
        assert!(problem("").contains("is empty"));
        assert!(problem(&"a".repeat(254)).contains("253"));
        assert!(problem("*").contains("illegal"));
    }

    #[test]
    fn targets_have_a_host_and_maybe_a_path() {
        let target = Target::parse("hub.corp:5000/mirror/docker/").unwrap();
        assert_eq!((target.registry.as_str(), target.path.as_str()), ("hub.corp:5000", "mirror/docker"));
        for text in ["", "/x", "https://x", "hub.corp:0", "hub.corp/a//b", "hub.corp/A", "hub.corp/a b"] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amazon_is_known_by_its_hosts() {
        let ecr = |region: &str| format!("123456789012.dkr.ecr.{region}");
        assert_eq!(
            RegistryKind::from_host(&ecr("us-east-1.amazonaws.com")),
            RegistryKind::Ecr(Partition::Aws)
        );
        assert_eq!(
            RegistryKind::from_host(&ecr("cn-north-1.amazonaws.com.cn")),
            RegistryKind::Ecr(Partition::China)
        );
        assert_eq!(
            RegistryKind::from_host(&ecr("us-gov-west-1.amazonaws-us-gov.com")),
            RegistryKind::Ecr(Partition::Government)
        );
        assert_eq!(RegistryKind::from_host("s3.amazonaws.com"), RegistryKind::Other);
        assert_eq!(RegistryKind::from_host("europe-docker.pkg.dev"), RegistryKind::ArtifactRegistry);
    }
}
