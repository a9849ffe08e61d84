//! The images of rendered objects as a list: what they are, who uses them, which values they come from, what they stand
//! for, and a lock of the latter.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt as _};
use pintle_images::{Image, Reference};
use pintle_objects::ObjectId;
use pintle_registry::{Client, ImageName, Resolved};

use super::image_copy::full_name;

/// How many images are asked for at once.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// An image that objects use.
#[derive(Debug)]
pub struct ListedImage {
    /// As objects have it.
    pub image: String,
    /// What it means, if it means anything.
    pub reference: Option<Reference>,
    /// Its full name.
    pub name: Option<ImageName>,
    /// Who uses it, in the order of the templates.
    pub uses: Vec<ImageUse>,
    /// What it stands for, once that was asked.
    pub resolved: Option<Resolved>,
    /// Why it is not known what it stands for.
    pub problem: Option<String>,
}

/// A field that names an image.
#[derive(Clone, Debug)]
pub struct ImageUse {
    /// Whose field it is.
    pub object: ObjectId,
    /// The way to it inside the object.
    pub field: String,
    /// The template that the object came from.
    pub template: String,
    /// The values that the image came from, in the order of its text.
    pub values: Vec<String>,
}

impl ImageUse {
    /// The chart that the template belongs to.
    pub fn chart(&self) -> &str {
        let folder =
            self.template.rsplit_once("/templates/").map_or(self.template.as_str(), |(folder, _)| folder);
        folder.rsplit('/').next().unwrap_or(folder)
    }
}

impl ListedImage {
    /// The registry that is meant; empty if nothing is.
    pub fn registry(&self) -> String {
        self.reference.as_ref().map(Reference::registry).unwrap_or_default()
    }

    /// The full name, or what is written where there is none.
    pub fn full(&self) -> String {
        self.name.as_ref().map_or_else(|| self.image.clone(), ToString::to_string)
    }
}

/// Makes a list of images, each once, sorted by full name.
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

/// Asks registries what images stand for. What they do not tell is noted as a problem.
pub async fn resolve_images(images: &mut [ListedImage], client: &Client) {
    let names: Vec<Option<ImageName>> = images.iter().map(|image| image.name.clone()).collect();
    let questions = names.iter().map(|name| async move {
        match name {
            Some(name) => Some(client.resolve(name).await),
            None => None,
        }
    });
    let answers: Vec<_> = stream::iter(questions).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
    for (image, answer) in images.iter_mut().zip(answers) {
        match answer {
            Some(Ok(resolved)) => image.resolved = Some(resolved),
            Some(Err(error)) => image.problem = Some(error.to_string()),
            None => {}
        }
    }
}
