//! Decides whether an image moves, and where to.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::mapping::MappingFile;
use crate::reference::{DEFAULT_REGISTRY, Reference, normalize_host};
use crate::registry::{RegistryKind, Source, Target};
use crate::strategy::Strategy;

/// Which images move, and where to.
///
/// The first rule that applies decides: excluded registries stay; registries that are not sources stay; an enabled
/// mapping gives the target; then the mapping file's default target; then `target`. The last two add the strategy's
/// prefix.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The registries whose images move; `None` means those of the enabled mappings.
    pub sources: Option<Vec<Source>>,
    /// Registries whose images stay, in addition to those excluded by the mapping file.
    pub excludes: Vec<Source>,
    /// The mapping file, if there is one.
    pub mapping: Option<MappingFile>,
    /// The target for images without a mapping.
    pub target: Option<Target>,
    /// How paths below the default targets are built.
    pub strategy: Strategy,
}

/// Where an image goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    /// The host with an optional port.
    pub registry: String,
    /// The prefix added before the image's path; empty for none.
    pub prefix: String,
    /// The image's normalised path, in the spelling that the registry accepts.
    pub repository: String,
}

impl Destination {
    /// The path in the registry: prefix and repository.
    pub fn path(&self) -> String {
        match self.prefix.is_empty() {
            true => self.repository.clone(),
            false => format!("{}/{}", self.prefix, self.repository),
        }
    }

    /// Everything before the repository: `host/prefix/`.
    pub fn front(&self) -> String {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        format!("{}/{}{slash}", self.registry, self.prefix)
    }

    /// The relocated reference; tag and digest are kept.
    pub fn relocated(&self, image: &Reference) -> String {
        format!("{}/{}{}", self.registry, self.path(), image.suffix())
    }
}

impl Policy {
    /// Validates the policy itself, before any image is known.
    ///
    /// # Errors
    /// When strict mode requires a missing mapping, or a source has no target.
    pub fn check(&self) -> Result<()> {
        for source in self.sources.iter().flatten() {
            let name = source.to_string();
            // Stands for any host below the domain: the wildcard text itself matches no source.
            let probe = name.replacen('*', "any", 1);
            if !self.excludes_registry(&probe) {
                self.target_of(&probe, &name)?;
            }
        }
        Ok(())
    }

    /// Returns warnings about targets that are valid but likely to cause problems.
    pub fn advice(&self) -> Vec<String> {
        let mapped = self.mapping.iter().flat_map(|file| &file.mappings).filter(|mapping| mapping.enabled);
        let mut targets: Vec<&Target> = mapped.map(|mapping| &mapping.target).collect();
        targets.extend(self.mapping.iter().filter_map(|file| file.default_target.as_ref()));
        targets.extend(&self.target);
        let advice =
            |target: &Target| target.kind().advice(&target.path).map(|text| format!("{target}: {text}"));
        let unique: BTreeSet<String> = targets.into_iter().filter_map(advice).collect();
        unique.into_iter().collect()
    }

    /// Whether images of `registry`, which must be normalised, move.
    pub fn moves(&self, registry: &str) -> bool {
        let derived;
        let sources = match &self.sources {
            Some(sources) => sources,
            None => {
                derived = self.mapping.as_ref().map(MappingFile::sources).unwrap_or_default();
                &derived
            }
        };
        sources.iter().any(|source| source.matches(registry)) && !self.excludes_registry(registry)
    }

    /// Whether images of `registry`, which must be normalised, are explicitly excluded.
    pub fn excludes_registry(&self, registry: &str) -> bool {
        let of_file = self.mapping.iter().flat_map(|file| &file.excludes);
        self.excludes.iter().chain(of_file).any(|source| source.matches(registry))
    }

    /// Returns where the image goes; `None` if it stays.
    ///
    /// # Errors
    /// When no target is known for a source registry, or the relocated name would be invalid.
    pub fn destination(&self, image: &Reference) -> Result<Option<Destination>> {
        let registry = image.registry();
        if !self.moves(&registry) {
            return self.check_strictly(&registry).map(|()| None);
        }
        let (target, prefix) = self.target_of(&registry, &registry)?;
        let repository = image.repository();
        if is_there(&target, &registry, &repository) {
            return Ok(None);
        }
        let kind = RegistryKind::from_host(&target.registry);
        let names = [target.path.as_str(), prefix.as_str()];
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let destination = Destination {
            registry: target.registry.clone(),
            prefix: kind.sanitize_path(&names.join("/")),
            repository: kind.sanitize_path(&repository),
        };
        let relocated = destination.relocated(image);
        match Reference::parse(&relocated) {
            Ok(_) => Ok(Some(destination)),
            Err(error) => Err(Error::InvalidDestination {
                image: image.to_string(),
                problem: error.kind.to_string(),
                relocated,
            }),
        }
    }

    /// Fails if strict mode demands a mapping for a registry that has none. Without `sources` every registry is a source,
    /// except those that are excluded and those that are targets already.
    fn check_strictly(&self, registry: &str) -> Result<()> {
        let Some(file) = self.mapping.as_ref().filter(|file| file.strict && self.sources.is_none()) else {
            return Ok(());
        };
        let mapped = file.mappings.iter().map(|mapping| &mapping.target);
        let mut targets = mapped.chain(&file.default_target).chain(&self.target);
        let is_target = targets.any(|target| normalize_host(&target.registry) == registry);
        match is_target || self.excludes_registry(registry) || file.find(registry).is_some() {
            true => Ok(()),
            false => Err(Error::Unmapped { registry: registry.to_owned(), file: file.file.clone() }),
        }
    }

    /// Returns the relocated reference for an image given as text; `None` if it stays.
    ///
    /// # Errors
    /// When the text is not a reference, and the errors of [`destination`](Self::destination).
    pub fn relocated(&self, image: &str) -> Result<Option<String>> {
        // Upper-case paths are accepted here because ECR's rules lower-case them.
        let image = Reference::parse_loosely(image)?;
        Ok(self.destination(&image)?.map(|destination| destination.relocated(&image)))
    }

    /// Returns distinct images that would end up under the same name, by that name.
    pub fn collisions<'i>(
        &self,
        images: impl IntoIterator<Item = &'i Reference>,
    ) -> BTreeMap<String, BTreeSet<String>> {
        let mut locations: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for image in images {
            if let Ok(Some(destination)) = self.destination(image) {
                let name = format!("{}/{}", image.registry(), image.repository());
                locations
                    .entry(format!("{}/{}", destination.registry, destination.path()))
                    .or_default()
                    .insert(name);
            }
        }
        locations.retain(|_, images| images.len() > 1);
        locations
    }

    /// The target for a registry and the prefix that the strategy adds; `name` is the registry as shown in messages.
    fn target_of(&self, registry: &str, name: &str) -> Result<(Target, String)> {
        if let Some(mapping) = self.mapping.as_ref().and_then(|file| file.find(registry)) {
            return Ok((mapping.target.clone(), String::new()));
        }
        if let Some(file) = self.mapping.as_ref().filter(|file| file.strict) {
            return Err(Error::Unmapped { registry: name.to_owned(), file: file.file.clone() });
        }
        let default = self.mapping.as_ref().and_then(|file| file.default_target.as_ref());
        let target = default.or(self.target.as_ref());
        let target = target.ok_or_else(|| Error::NoTarget { registry: name.to_owned() })?;
        Ok((target.clone(), self.strategy.prefix(registry)))
    }
}

/// Whether an image is already below its target, as after a previous run.
fn is_there(target: &Target, registry: &str, repository: &str) -> bool {
    let below = |path: &str| repository.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    // A public registry without a path as its own target is most likely a mistake; only a path shows that the images
    // were relocated before.
    normalize_host(&target.registry) == registry
        && (below(&target.path) || (target.path.is_empty() && registry != DEFAULT_REGISTRY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> Vec<Source> {
        texts.iter().map(|text| Source::parse(text).unwrap()).collect()
    }

    fn policy(target: &str) -> Policy {
        let target = Some(Target::parse(target).unwrap());
        Policy { sources: Some(sources(&["docker.io", "quay.io"])), target, ..Policy::default() }
    }

    fn moved(policy: &Policy, image: &str) -> String {
        policy.relocated(image).unwrap().unwrap_or_else(|| "stays".to_owned())
    }

    fn with_file(policy: Policy, text: &str) -> Policy {
        Policy { mapping: Some(MappingFile::parse("map.yaml", text.as_bytes()).unwrap()), ..policy }
    }

    #[test]
    fn images_of_sources_go_below_the_name_of_their_registry() {
        let policy = policy("hub.corp:5000");
        assert_eq!(moved(&policy, "nginx:1"), "hub.corp:5000/dockerio/library/nginx:1");
        assert_eq!(moved(&policy, "docker.io/web:1.2"), "hub.corp:5000/dockerio/library/web:1.2");
        assert_eq!(moved(&policy, "quay.io:443/team/api"), "hub.corp:5000/quayio/team/api");
        assert_eq!(moved(&policy, "reg.internal/app:1"), "stays");
        let digest = format!("sha256:{}", "a".repeat(64));
        let image = format!("quay.io/a/b:1@{digest}");
        assert_eq!(moved(&policy, &image), format!("hub.corp:5000/quayio/a/b:1@{digest}"));
    }

    #[test]
    fn excluded_registries_win_over_sources() {
        let mut policy = policy("hub.corp");
        policy.excludes = sources(&["quay.io"]);
        assert_eq!(moved(&policy, "quay.io/a/b"), "stays");
        assert_eq!(moved(&policy, "a/b"), "hub.corp/dockerio/a/b");
    }

    #[test]
    fn mappings_come_before_the_default_target_and_that_before_the_target() {
        let text = "registries:\n  mappings:\n  - {source: quay.io, target: hub.corp/q}\n  defaultTarget: fall.back/x\n";
        let policy = with_file(policy("hub.corp:5000"), text);
        assert_eq!(moved(&policy, "quay.io/team/api:2"), "hub.corp/q/team/api:2");
        assert_eq!(moved(&policy, "team/api:2"), "fall.back/x/dockerio/team/api:2");
    }

    #[test]
    fn without_sources_those_of_enabled_mappings_count() {
        let text = "registries:\n  mappings:\n  - {source: quay.io, target: h/q}\n  - {source: gcr.io, target: h/g, enabled: false}\n";
        let policy = with_file(Policy::default(), text);
        assert_eq!(moved(&policy, "quay.io/a/b"), "h/q/a/b");
        assert_eq!(moved(&policy, "gcr.io/a/b"), "stays");
        assert_eq!(moved(&policy, "a/b"), "stays");
    }

    #[test]
    fn strict_mode_wants_a_mapping_for_every_source() {
        let text = "registries:\n  strictMode: true\n  mappings:\n  - {source: quay.io, target: h/q}\n";
        let mut policy = with_file(policy("hub.corp"), text);
        policy.sources = Some(sources(&["gcr.io"]));
        let error = policy.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "registry 'gcr.io' has no enabled mapping in map.yaml, and strictMode is on"
        );
        policy.sources = Some(sources(&["quay.io"]));
        assert!(policy.check().is_ok());
    }

    #[test]
    fn a_source_without_any_target_is_an_error_that_says_what_to_give() {
        let policy = Policy { sources: Some(sources(&["quay.io"])), ..Policy::default() };
        let error = policy.check().unwrap_err();
        assert!(error.hint().unwrap().contains("a mapping for `quay.io`"), "{error}");
    }

    #[test]
    fn ecr_gets_small_letters_and_hyphens() {
        let policy = policy("123456789012.dkr.ecr.us-east-1.amazonaws.com");
        let host = "123456789012.dkr.ecr.us-east-1.amazonaws.com";
        assert_eq!(
            moved(&policy, "docker.io/MyApp/Image:latest"),
            format!("{host}/dockerio/myapp/image:latest")
        );
        assert_eq!(moved(&policy, "team/my_api:V_1"), format!("{host}/dockerio/team/my-api:V_1"));
    }

    #[test]
    fn capital_letters_are_an_error_where_no_rule_makes_them_small() {
        let error = policy("hub.corp").relocated("docker.io/MyApp/Image:1").unwrap_err().to_string();
        assert!(error.contains("its path has upper-case letters"), "{error}");
    }

    #[test]
    fn what_is_below_its_target_already_stays() {
        let mut policy = policy("quay.io/mirror");
        assert_eq!(moved(&policy, "quay.io/mirror/dockerio/library/nginx:1"), "stays");
        assert_eq!(moved(&policy, "quay.io/team/api"), "quay.io/mirror/quayio/team/api");
        policy.sources = Some(sources(&["hub.corp"]));
        policy.target = Some(Target::parse("hub.corp").unwrap());
        assert_eq!(moved(&policy, "hub.corp/team/api"), "stays");
    }

    #[test]
    fn two_images_that_would_have_one_name_are_reported() {
        let mut policy = policy("hub.corp");
        policy.sources = Some(sources(&["reg:5000", "reg:6000"]));
        let images = ["reg:5000/a:1", "reg:6000/a:1"].map(|text| Reference::parse(text).unwrap());
        let collisions = policy.collisions(&images);
        assert_eq!(collisions["hub.corp/reg/a"].len(), 2);
    }
}
