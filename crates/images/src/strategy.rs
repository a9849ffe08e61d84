//! How the path of a relocated image is built from its source.

use crate::error::{Error, Result};
use crate::reference::split_port;

/// A strategy for building paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Prefixes the path with the source registry without dots and port: `dockerio/library/nginx`.
    #[default]
    PrefixSourceRegistry,
    /// Prefixes the path with the source registry, keeping its dots: `docker.io/library/nginx`.
    PrefixDottedRegistry,
}

impl Strategy {
    /// All strategies, the default first.
    pub const ALL: [Strategy; 2] = [Strategy::PrefixSourceRegistry, Strategy::PrefixDottedRegistry];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::PrefixSourceRegistry => "prefix-source-registry",
            Strategy::PrefixDottedRegistry => "prefix-dotted-registry",
        }
    }

    /// Parses a strategy name.
    ///
    /// # Errors
    /// When the name is unknown; lists the known ones.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| Error::Strategy {
            name: name.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }

    /// The prefix for images of `registry`, which must be normalised.
    pub fn prefix(self, registry: &str) -> String {
        let host = split_port(registry).map_or(registry, |(host, _)| host);
        let keeps = |character: &char| match character {
            '.' => self == Strategy::PrefixDottedRegistry,
            // Brackets and colons of IPv6 addresses are not valid in paths.
            '[' | ']' | ':' => false,
            _ => true,
        };
        host.to_ascii_lowercase().chars().filter(keeps).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ir_18_prefixes_have_neither_dots_nor_ports() {
        let prefix = |registry: &str| Strategy::PrefixSourceRegistry.prefix(registry);
        assert_eq!(prefix("docker.io"), "dockerio");
        assert_eq!(prefix("gcr.io"), "gcrio");
        assert_eq!(prefix("k8s.gcr.io"), "k8sgcrio");
        assert_eq!(prefix("my-reg.io"), "my-regio");
        assert_eq!(prefix("reg:5000"), "reg");
        assert_eq!(prefix("[2001:db8::1]:5000"), "2001db81");
    }

    #[test]
    fn the_dotted_prefix_keeps_dots() {
        assert_eq!(Strategy::PrefixDottedRegistry.prefix("docker.io"), "docker.io");
        assert_eq!(Strategy::PrefixDottedRegistry.prefix("reg.corp:5000"), "reg.corp");
    }

    #[test]
    fn an_unknown_strategy_is_an_error_that_lists_the_known() {
        let error = Strategy::parse("flat").unwrap_err().to_string();
        assert!(error.contains("flat") && error.contains("prefix-source-registry"), "{error}");
    }
}
