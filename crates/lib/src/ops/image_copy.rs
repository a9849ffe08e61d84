//! Copies images to the registries that a policy maps them to, or into an OCI layout folder and back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use pintle_images::{Policy, Reference, Source};
use pintle_registry::copy::{Endpoint, Job, Options, Planned, plan};
use pintle_registry::{Client, ImageName, Layout, Repository};

use crate::{Error, Result};

/// What to copy, and where to.
#[derive(Clone)]
pub struct CopyImagesRequest {
    /// Image references as they appear in objects.
    pub images: Vec<String>,
    /// OCI layout folders, each with the name of one image or `None` for all.
    pub layouts: Vec<(PathBuf, Option<String>)>,
    /// Where to copy the images.
    pub destination: CopyDestination,
    /// Options of the copy.
    pub options: Options,
    /// Only computes the plan. A missing layout folder is not created.
    pub dry_run: bool,
    /// Client for the registries that images are pulled from.
    pub source: Arc<Client>,
    /// Client for the registries that images are pushed to.
    pub target: Arc<Client>,
}

/// Where images are copied to.
#[derive(Clone, Debug)]
pub enum CopyDestination {
    /// To the registries that a policy maps them to. A policy without sources applies to all images.
    Policy(Box<Policy>),
    /// To this name; allowed for a single image only.
    Name(String),
    /// Into an OCI layout folder, under their full names.
    Layout(PathBuf),
}

/// What a copy would do.
#[derive(Debug)]
pub struct CopyPlan {
    /// Images that can be copied.
    pub planned: Vec<Planned>,
    /// Images that cannot be copied, with the reason.
    pub refused: Vec<(String, Error)>,
    /// Images that the policy does not map.
    pub staying: Vec<String>,
}

/// An image and its source.
struct FoundImage {
    reference: Reference,
    name: ImageName,
    endpoint: Endpoint,
}

/// Computes what a copy would do by querying both registries. [`pintle_registry::copy::execute`] executes it.
///
/// # Errors
/// When a reference is invalid, two images would get the same name, or a layout folder cannot be used.
pub async fn plan_image_copy(request: &CopyImagesRequest) -> Result<CopyPlan> {
    let found = find(request)?;
    let (jobs, staying) = jobs(request, found)?;
    let outcomes = plan(&jobs, &request.options).await;
    let mut copy = CopyPlan { planned: Vec::new(), refused: Vec::new(), staying };
    for (job, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Ok(planned) => copy.planned.push(planned),
            Err(error) => copy.refused.push((job.source.to_string(), error.into())),
        }
    }
    Ok(copy)
}

/// Returns the requested images, sorted and without duplicates.
fn find(request: &CopyImagesRequest) -> Result<Vec<FoundImage>> {
    let mut found = BTreeMap::new();
    for text in &request.images {
        let (reference, name) = full_name(text)?;
        let endpoint = Endpoint::Registry { client: request.source.clone(), name: name.clone() };
        // By the full name: charts spell the same image as `nginx`, `docker.io/nginx` and `docker.io/library/nginx`.
        found.insert(endpoint.to_string(), FoundImage { reference, name, endpoint });
    }
    for (folder, wanted) in &request.layouts {
        let layout = Arc::new(Layout::open(folder)?);
        let names = match wanted {
            Some(name) => vec![name.clone()],
            None => layout.images()?,
        };
        for text in names {
            let (reference, name) = full_name(&text)?;
            let endpoint = Endpoint::Layout { layout: layout.clone(), name: text };
            found.insert(endpoint.to_string(), FoundImage { reference, name, endpoint });
        }
    }
    Ok(found.into_values().collect())
}

/// Returns the full name of an image, with registry and tag made explicit.
///
/// # Errors
/// When the text is not an image reference.
pub fn full_name(text: &str) -> Result<(Reference, ImageName)> {
    let reference = Reference::parse(text).map_err(pintle_images::Error::from)?;
    let repository = Repository::new(&reference.registry(), &reference.repository())?;
    let digest = reference.digest().map(str::parse).transpose()?;
    let tag = match (reference.tag(), &digest) {
        // The runtime's default too. A digest alone is complete without a tag.
        (None, None) => Some("latest".to_owned()),
        (tag, _) => tag.map(ToOwned::to_owned),
    };
    let name = ImageName::new(repository, tag, digest)?;
    Ok((reference, name))
}

/// Returns the copy jobs, and the images that stay.
fn jobs(request: &CopyImagesRequest, found: Vec<FoundImage>) -> Result<(Vec<Job>, Vec<String>)> {
    let router = Router::new(request, &found)?;
    let mut jobs: Vec<Job> = Vec::new();
    let mut staying = Vec::new();
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for image in found {
        let Some(destination) = router.destination(&image)? else {
            staying.push(image.endpoint.to_string());
            continue;
        };
        let (from, to) = (image.endpoint.to_string(), destination.to_string());
        match taken.get(&to) {
            // The same image may be in several layout folders.
            Some(other) if same_image(other, &from) => continue,
            Some(other) => {
                return Err(Error::Input(format!("`{other}` and `{from}` would both become `{to}`")));
            }
            None => taken.insert(to, from),
        };
        jobs.push(Job { source: image.endpoint, destination });
    }
    Ok((jobs, staying))
}

/// Returns whether two sources hold an image of the same name.
fn same_image(one: &str, other: &str) -> bool {
    let name = |endpoint: &str| match endpoint.strip_prefix("oci:") {
        Some(rest) => rest.split_once(':').map_or_else(String::new, |(_, name)| name.to_owned()),
        None => endpoint.to_owned(),
    };
    name(one) == name(other)
}

/// Maps images to destinations.
enum Router<'r> {
    Policy { policy: Box<Policy>, target: &'r Arc<Client> },
    Name { name: ImageName, target: &'r Arc<Client> },
    Layout(Arc<Layout>),
}

impl<'r> Router<'r> {
    fn new(request: &'r CopyImagesRequest, found: &[FoundImage]) -> Result<Router<'r>> {
        let target = &request.target;
        match &request.destination {
            CopyDestination::Layout(folder) => {
                let layout = if request.dry_run { Layout::preview(folder) } else { Layout::create(folder) };
                Ok(Router::Layout(Arc::new(layout?)))
            }
            CopyDestination::Name(text) if found.len() == 1 => {
                Ok(Router::Name { name: full_name(text)?.1, target })
            }
            CopyDestination::Name(text) => {
                let count = found.len();
                Err(Error::Input(format!("`{text}` names one image, and there are {count} to copy")))
            }
            CopyDestination::Policy(policy) => {
                let mut policy = policy.clone();
                if policy.sources.is_none() && policy.mapping.is_none() {
                    let registries: BTreeSet<String> =
                        found.iter().map(|image| image.reference.registry()).collect();
                    let sources = registries.iter().map(|registry| Source::parse(registry));
                    policy.sources = Some(sources.collect::<std::result::Result<_, _>>()?);
                }
                policy.check()?;
                Ok(Router::Policy { policy, target })
            }
        }
    }

    fn destination(&self, image: &FoundImage) -> Result<Option<Endpoint>> {
        let (name, client) = match self {
            Router::Layout(layout) => {
                return Ok(Some(Endpoint::Layout { layout: layout.clone(), name: image.name.to_string() }));
            }
            Router::Name { name, target } => (name.clone(), target),
            Router::Policy { policy, target } => {
                let Some(to) = policy.destination(&image.reference)? else { return Ok(None) };
                let repository = Repository::new(&to.registry, &to.path())?;
                let (tag, digest) = (image.name.tag().map(ToOwned::to_owned), image.name.digest().cloned());
                (ImageName::new(repository, tag, digest)?, target)
            }
        };
        Ok(Some(Endpoint::Registry { client: Arc::clone(client), name }))
    }
}

#[cfg(test)]
mod tests {
    use pintle_images::{MappingFile, Target};
    use pintle_registry::Settings;

    use super::*;

    fn request(images: &[&str], destination: CopyDestination) -> CopyImagesRequest {
        let client = Arc::new(Client::new(Settings::default()).unwrap());
        CopyImagesRequest {
            images: images.iter().map(|&image| image.to_owned()).collect(),
            layouts: Vec::new(),
            destination,
            options: Options::default(),
            dry_run: true,
            source: client.clone(),
            target: client,
        }
    }

    fn to(target: &str) -> Policy {
        Policy { target: Some(Target::parse(target).unwrap()), ..Policy::default() }
    }

    fn routes(images: &[&str], destination: CopyDestination) -> Result<Vec<String>> {
        let request = request(images, destination);
        let (jobs, staying) = jobs(&request, find(&request)?)?;
        let moving = jobs.iter().map(|job| format!("{} > {}", job.source, job.destination));
        Ok(moving.chain(staying).collect())
    }

    #[test]
    fn images_go_to_where_overrides_point() {
        let policy = to("hub.corp:5000/mirror");
        let digest = format!("sha256:{}", "a".repeat(64));
        let images = ["quay.io/a/b:1", "nginx", &format!("nginx:1@{digest}")];
        let routes = routes(&images, CopyDestination::Policy(Box::new(policy.clone()))).unwrap();
        let front = "hub.corp:5000/mirror/dockerio/library/nginx";
        assert_eq!(
            routes,
            [
                format!("docker.io/library/nginx:1@{digest} > {front}:1@{digest}"),
                format!("docker.io/library/nginx:latest > {front}:latest"),
                "quay.io/a/b:1 > hub.corp:5000/mirror/quayio/a/b:1".to_owned(),
            ]
        );
        let sources = Some(vec![Source::parse("docker.io").unwrap()]);
        let overrides = Policy { sources, ..policy };
        assert_eq!(overrides.relocated("nginx:1").unwrap(), Some(format!("{front}:1")));
    }

    #[test]
    fn what_no_source_names_stays() {
        let sources = Some(vec![Source::parse("quay.io").unwrap()]);
        let policy = Policy { sources, ..to("hub.corp") };
        let routes =
            routes(&["nginx:1", "quay.io/a/b:1"], CopyDestination::Policy(Box::new(policy))).unwrap();
        assert_eq!(routes, ["quay.io/a/b:1 > hub.corp/quayio/a/b:1", "docker.io/library/nginx:1"]);
    }

    #[test]
    fn two_images_do_not_get_one_name() {
        let text =
            "mappings:\n  - {source: a.io, target: hub.corp/x}\n  - {source: b.io, target: hub.corp/x}\n";
        let Ok(mapping) = MappingFile::parse("map.yaml", text.as_bytes()) else {
            // Some systems already reject the file name.
            return;
        };
        let policy = Policy { mapping: Some(mapping), ..Policy::default() };
        let images = ["a.io/w:1", "b.io/w:1"];
        let error = routes(&images, CopyDestination::Policy(Box::new(policy))).unwrap_err().to_string();
        assert!(error.contains("would both become"), "{error}");
    }

    #[test]
    fn a_name_is_for_one_image() {
        let name = || CopyDestination::Name("hub.corp/web:2".into());
        assert_eq!(routes(&["nginx:1"], name()).unwrap(), ["docker.io/library/nginx:1 > hub.corp/web:2"]);
        assert!(routes(&["nginx:1", "nginx:2"], name()).is_err());
    }
}
