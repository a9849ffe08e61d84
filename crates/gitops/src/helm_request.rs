//! `HelmRequest`, the objects of our own controller.

use pintle_tree::{Node, ValuePath};

use crate::app::{App, ChartApp, ChartSource, Content};
use crate::discovery::{Discovery, Item, Step, app_of};
use crate::flux::{depends_on, post_renderers, release_name, release_namespace, values_layers};

/// Understands a HelmRequest.
pub(crate) fn request(discovery: &mut Discovery<'_>, item: &Item, force: bool) -> Step {
    let object = &item.object;
    let text = |key: &str| object.text(&["spec", "chart", key]).to_owned();
    let version = object.at(&["spec", "chart", "version"]).map(crate::flux::scalar).unwrap_or_default();
    let chart = match (text("repository"), text("url")) {
        (repository, _) if repository.starts_with("oci://") => ChartSource::Oci {
            url: format!("{}/{}", repository.trim_end_matches('/'), text("name")),
            version,
            digest: String::new(),
        },
        (repository, _) if !repository.is_empty() => {
            ChartSource::Http { url: repository, name: text("name"), version }
        }
        (_, url) if url.starts_with("oci://") => ChartSource::Oci { url, version, digest: String::new() },
        (_, url) if !url.is_empty() => ChartSource::Http { url: String::new(), name: url, version },
        _ => {
            discovery.add_failed(item, "its chart is in an object of the cluster");
            return Step::Done;
        }
    };
    let layers = match values_layers(discovery, item, force) {
        Ok(layers) => layers,
        Err(step) => return step,
    };
    let flag = |keys: &[&str]| object.at(keys).and_then(Node::as_bool) == Some(true);
    let place = ["spec", "chart", "version"].iter().fold(ValuePath::root(), |path, key| path.key(*key));
    let app = ChartApp {
        chart,
        version_place: object.place(&place),
        release: release_name(object),
        namespace: release_namespace(object).to_owned(),
        layers,
        default_files: Vec::new(),
        ignores_missing: false,
        skip_crds: object.text(&["spec", "install", "crds"]) == "Skip",
        skip_tests: false,
        skip_schema: flag(&["spec", "install", "disableSchemaValidation"]),
        kube_version: String::new(),
        api_versions: Vec::new(),
        post: post_renderers(object),
    };
    let depends_on = depends_on(object, object.kind());
    discovery.add_app(App { depends_on, ..app_of(item, Content::Chart(Box::new(app))) });
    Step::Done
}
