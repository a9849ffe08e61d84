//! The images of rendered objects: where each is used, which values it comes from, and the digest it resolves to.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use pintle_images::{Image, Reference};
use pintle_objects::ObjectId;
use pintle_registry::{Client, ImageName, Resolved};

use super::image_copy::full_name;

/// Limit of parallel registry requests.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// An image that objects use.
#[derive(Debug)]
pub struct ListedImage {
    /// The reference as it appears in objects.
    pub image: String,
    /// The parsed reference; `None` if it is invalid.
    pub reference: Option<Reference>,
    /// The full name with registry and tag.
    pub name: Option<ImageName>,
    /// The fields that use it, in template order.
    pub uses: Vec<ImageUse>,
    /// The digests, after [`resolve_images`].
    pub resolved: Option<Resolved>,
    /// Why the image could not be resolved.
    pub problem: Option<String>,
}

/// A field that contains an image reference.
#[derive(Clone, Debug)]
pub struct ImageUse {
    /// The object with the field.
    pub object: ObjectId,
    /// The path of the field in the object.
    pub field: String,
    /// The template of the object.
    pub template: String,
    /// The paths of the values that the reference was built from, in the order of its parts.
    pub values: Vec<String>,
}

impl ImageUse {
    /// Returns the chart of the template.
    pub fn chart(&self) -> &str {
        let folder =
            self.template.rsplit_once("/templates/").map_or(self.template.as_str(), |(folder, _)| folder);
        folder.rsplit('/').next().unwrap_or(folder)
    }
}

impl ListedImage {
    /// Returns the registry; empty if the reference is invalid.
    pub fn registry(&self) -> String {
        self.reference.as_ref().map(Reference::registry).unwrap_or_default()
    }

    /// Returns the full name, or the text of an invalid reference.
    pub fn full(&self) -> String {
        self.name.as_ref().map_or_else(|| self.image.clone(), ToString::to_string)
    }
}

/// Lists images without duplicates, sorted by full name.
pub fn list_images(images: &[Image]) -> Vec<ListedImage> {
    let mut listed: BTreeMap<String, ListedImage> = BTreeMap::new();
    for image in images {
        let text = &image.field.image;
        let (reference, name, problem) = match full_name(text) {
            Ok((reference, name)) => (Some(reference), Some(name), None),
            Err(error) => (None, None, Some(error.to_string())),
        };
        let key = name.as_ref().map_or_else(|| text.clone(), ToString::to_string);
        let entry = listed.entry(key).or_insert_with(|| ListedImage {
            image: text.clone(),
            reference,
            name,
            uses: Vec::new(),
            resolved: None,
            problem,
        });
        entry.uses.push(ImageUse {
            object: image.field.object.clone(),
            field: image.field.location.path.to_string(),
            template: image.field.location.template.clone(),
            values: image.values.iter().map(ToString::to_string).collect(),
        });
    }
    listed.into_values().collect()
}

/// Asks registries for the digests of images. Failures are stored in `problem`.
pub async fn resolve_images(images: &mut [ListedImage], client: &Client) {
    let names: Vec<Option<ImageName>> = images.iter().map(|image| image.name.clone()).collect();
    let requests = names.iter().map(|name| async move {
        match name {
            Some(name) => Some(client.resolve(name).await),
            None => None,
        }
    });
    // Collected first, because a stream of closures is not `Send`.
    let requests: Vec<_> = requests.map(|request| request.boxed()).collect();
    let responses: Vec<_> = stream::iter(requests).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
    for (image, response) in images.iter_mut().zip(responses) {
        match response {
            Some(Ok(resolved)) => image.resolved = Some(resolved),
            Some(Err(error)) => image.problem = Some(error.to_string()),
            None => {}
        }
    }
}
