//! Minimal value overrides for a detected image, and extra values that some charts require with them.

use std::collections::BTreeMap;

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Str};

use crate::detect::Scopes;
use crate::policy::Destination;
use crate::shape::{Finding, Part, Role, Shape};
use crate::value_path::ValuePath;

/// New strings for values, by path.
pub type Assignments = BTreeMap<ValuePath, String>;

/// Returns the fewest values to change so that a detected image goes to `destination`; `None` if its shape does not
/// allow it.
pub fn assignments(finding: &Finding, destination: &Destination) -> Option<Vec<(ValuePath, String)>> {
    let image = finding.reference.as_ref()?;
    if let Shape::Embedded(_) = finding.shape {
        // A text may embed several images, so it is only changed where rendering gives a proof.
        return None;
    }
    if let Some(whole) = finding.part(Role::Whole) {
        return Some(vec![(whole.path.clone(), destination.relocated(image))]);
    }
    let repository = finding.part(Role::Repository)?;
    let registry = finding.part(Role::Registry).filter(|part| !part.text.is_empty());
    let name = finding.part(Role::Name);
    if finding.written.contains("{{") {
        return None;
    }
    match (registry, name) {
        (Some(registry), _) => Some(by_registry(registry, repository, destination)),
        (None, Some(name)) => by_front(repository, name, destination),
        (None, None) => Some(vec![(repository.path.clone(), whole_name(destination))]),
    }
}

fn whole_name(destination: &Destination) -> String {
    format!("{}/{}", destination.registry, destination.path())
}

/// `registry` gets the host and `repository` the path. If the registry value already contains part of the path, it
/// keeps the path prefix and the repository does not change.
fn by_registry(registry: &Part, repository: &Part, destination: &Destination) -> Vec<(ValuePath, String)> {
    let path = destination.path();
    let kept = path.strip_suffix(&repository.text).and_then(|front| front.strip_suffix('/'));
    match kept.filter(|_| registry.text.trim_end_matches('/').contains('/')) {
        Some(front) => vec![(registry.path.clone(), format!("{}/{front}", destination.registry))],
        None => {
            vec![(registry.path.clone(), destination.registry.clone()), (repository.path.clone(), path)]
        }
    }
}

/// `repository` is the prefix of `name`, and the name does not change.
fn by_front(repository: &Part, name: &Part, destination: &Destination) -> Option<Vec<(ValuePath, String)>> {
    let whole = whole_name(destination);
    let front = whole.strip_suffix(&name.text)?.strip_suffix('/')?;
    Some(vec![(repository.path.clone(), front.to_owned())])
}

/// Returns values that a chart requires before it accepts relocated images.
///
/// Bitnami charts refuse to render with images from other registries unless `global.security.allowInsecureImages` is
/// set. A chart counts as Bitnami's if at least two indicators say so.
pub fn required_extra_values(scopes: &Scopes<'_>) -> Map<Node> {
    let mut needed = Map::new();
    if scopes.charts().into_iter().any(|chart| bitnami_indicators(chart) >= 2) {
        let allow = Map::from_entries(vec![(Str::from("allowInsecureImages"), Node::Bool(true))]);
        let security = Map::from_entries(vec![(Str::from("security"), Node::Map(allow))]);
        needed.insert("global".into(), Node::Map(security));
    }
    needed
}

/// The number of indicators that a chart is Bitnami's.
fn bitnami_indicators(chart: &Chart) -> usize {
    let metadata = &chart.metadata;
    let names = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.contains("bitnami") || text.contains("broadcom")
    };
    let maintained = metadata.maintainers.iter().any(|one| names(&one.name) || names(&one.url));
    let common = metadata.dependencies.iter().any(|dependency| {
        dependency.name.contains("bitnami-common")
            || dependency.tags.iter().any(|tag| tag == "bitnami-common")
    });
    let licence = |key: &str| key.contains("license") || key.contains("licence") || key.contains("copyright");
    let licensed = metadata.annotations.iter().any(|(key, text)| licence(key) && names(text));
    let indicators = [
        names(&metadata.home),
        metadata.sources.iter().any(|source| names(source)),
        maintained,
        common,
        licensed,
    ];
    indicators.into_iter().filter(|indicator| *indicator).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::detect;
    use crate::path_filter::PathFilter;
    use crate::policy::Policy;
    use crate::registry::{Source, Target};
    use crate::value_path::overlay;

    fn policy() -> Policy {
        let sources = ["docker.io", "quay.io", "cr.l5d.io"].map(|text| Source::parse(text).unwrap());
        let target = Some(Target::parse("hub.corp:5000").unwrap());
        Policy { sources: Some(sources.to_vec()), target, ..Policy::default() }
    }

    fn overridden(values: &str) -> String {
        let values = pintle_yaml::read_values(values.as_bytes()).unwrap();
        let chart = Chart { values, ..Chart::default() };
        let found = detect(&Scopes::new(&chart, &chart), &Map::new(), &chart.values, &PathFilter::default());
        let mut all = Assignments::new();
        for finding in &found.images {
            let image = finding.reference.as_ref().unwrap();
            if let Some(destination) = policy().destination(image).unwrap() {
                all.extend(assignments(finding, &destination).unwrap_or_default());
            }
        }
        let overrides = overlay(&chart.values, all.iter().map(|(path, text)| (path, text.as_str())));
        String::from_utf8(pintle_yaml::write(&Node::Map(overrides)).unwrap()).unwrap()
    }

    #[test]
    fn overrides_keep_the_shape_of_the_value() {
        let table = [
            ("image: web:1.2", "image: hub.corp:5000/dockerio/library/web:1.2\n"),
            (
                "image: {registry: quay.io, repository: team/api, tag: v2, pullPolicy: Always}",
                "image:\n  registry: hub.corp:5000\n  repository: quayio/team/api\n",
            ),
            (
                "image: {repository: team/api, tag: v2}",
                "image:\n  repository: hub.corp:5000/dockerio/team/api\n",
            ),
            (
                "image: {repository: quay.io/team/api, tag: 2}",
                "image:\n  repository: hub.corp:5000/quayio/team/api\n",
            ),
            (
                "image: {registry: '', repository: quay.io/team/api, tag: 2}",
                "image:\n  repository: hub.corp:5000/quayio/team/api\n",
            ),
            (
                "image: {registry: cr.l5d.io/linkerd, name: init, tag: v1}",
                "image:\n  registry: hub.corp:5000/crl5dio/linkerd\n",
            ),
            (
                "image: {repository: quay.io/team, name: api, tag: v1}",
                "image:\n  repository: hub.corp:5000/quayio/team\n",
            ),
            ("{image: team/api, imageTag: v2}", "image: hub.corp:5000/dockerio/team/api\n"),
            (
                "containers: [{name: a, image: 'team/api:1', ports: [80]}, {name: b}]",
                "containers:\n- image: hub.corp:5000/dockerio/team/api:1\n  name: a\n  ports:\n  - 80\n- name: b\n",
            ),
            ("image: reg.internal/app:1", "{}\n"),
        ];
        for (values, expected) in table {
            assert_eq!(overridden(values), expected, "{values}");
        }
    }

    #[test]
    fn ir_30_two_indicators_of_bitnami_ask_for_a_permission() {
        let mut chart = Chart::default();
        chart.metadata.home = "https://bitnami.com".to_owned();
        assert!(required_extra_values(&Scopes::new(&chart, &chart)).is_empty());
        chart.metadata.sources = vec!["https://github.com/bitnami/charts".to_owned()];
        let needed = required_extra_values(&Scopes::new(&chart, &chart));
        let text = pintle_yaml::write(&Node::Map(needed)).unwrap();
        assert_eq!(text, b"global:\n  security:\n    allowInsecureImages: true\n");
    }
}
