//! Flux.

use pintle_gitops::{ChartSource, Content};
use pintle_tree::ValuePath;

use crate::support::{app, chart, found, layers, names};

const SYNC: (&str, &str) = (
    "clusters/production/flux-system/sync.yaml",
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\nspec:\n  path: ./clusters/production\n  sourceRef: {kind: GitRepository, name: flux-system}\n",
);

const APPS: (&str, &str) = (
    "clusters/production/apps.yaml",
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec:\n  path: ./apps\n  sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild:\n    substitute:\n      TAG: v2\n    substituteFrom:\n    - {kind: ConfigMap, name: settings}\n",
);

const SETTINGS: (&str, &str) = (
    "clusters/production/settings.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata:\n  TAG: v1\n  HOST: example.com\n",
);

const RELEASE: (&str, &str) = (
    "apps/web.yaml",
    "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: web}\nspec: {url: 'https://charts.example.com'}\n---\n\
     apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: web\n  namespace: web\nspec:\n  chart:\n    spec:\n      chart: web\n      version: 1.2.3\n      sourceRef: {kind: HelmRepository, name: charts}\n  valuesFrom:\n  - {kind: ConfigMap, name: defaults}\n  - {kind: ConfigMap, name: defaults, valuesKey: port, targetPath: service.port}\n  - {kind: Secret, name: maybe, optional: true}\n  values:\n    image:\n      tag: ${TAG}\n    host: web.${HOST}\n---\n\
     apiVersion: v1\nkind: ConfigMap\nmetadata: {name: defaults, namespace: web}\ndata:\n  port: '8080'\n  values.yaml: |\n    image:\n      tag: none\n    replicas: 2\n",
);

#[test]
fn releases_are_found_from_the_root_with_their_values_in_order() {
    let (apps, notes) = found(&[SYNC, APPS, SETTINGS, RELEASE]);
    assert_eq!(
        names(&apps),
        [
            "HelmRelease web/web in production",
            "Kustomization flux-system/apps in production",
            "Kustomization flux-system/flux-system in production"
        ]
    );
    let web = chart(&apps, "HelmRelease web/web in production");
    assert_eq!(
        web.chart,
        ChartSource::Http {
            url: "https://charts.example.com".to_owned(),
            name: "web".to_owned(),
            version: "1.2.3".to_owned()
        }
    );
    // What is written down wins over objects, and what goes to a path over both; `substitute` wins over `substituteFrom`.
    assert_eq!(
        layers(web),
        [
            "ConfigMap: {\"image\":{\"tag\":\"none\"},\"replicas\":2}",
            "inline: {\"host\":\"web.example.com\",\"image\":{\"tag\":\"v2\"}}",
            "ConfigMap: service.port=8080"
        ]
    );
    assert_eq!(notes, []);
}

#[test]
fn places_of_values_and_variables_are_lines_of_files() {
    let (apps, _) = found(&[SYNC, APPS, SETTINGS, RELEASE]);
    let web = chart(&apps, "HelmRelease web/web in production");
    let place = |layer: usize, path: &str| {
        let path: ValuePath = path.parse().unwrap();
        web.layers[layer].place(&path).map(|place| place.to_string()).unwrap_or_default()
    };
    assert_eq!(place(1, "image.tag"), "apps/web.yaml:23");
    assert_eq!(place(0, "replicas"), "apps/web.yaml:34");
    assert_eq!(web.version_place.as_ref().unwrap().to_string(), "apps/web.yaml:15");
    let (object, prefix) = web.layers[1].object.as_ref().unwrap();
    let variables = object.variables_at(&prefix.key("image").key("tag"));
    let places: Vec<String> =
        variables.iter().map(|(name, it)| format!("{name} {}", it.place.as_ref().unwrap())).collect();
    assert_eq!(places, ["TAG clusters/production/apps.yaml:9"]);
}

#[test]
fn charts_of_the_repository_and_of_registries_are_told_apart() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: x}\nspec:\n  chart:\n    spec: {chart: ./charts/a, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}\n---\n\
        apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: b, namespace: x}\nspec:\n  chartRef: {kind: OCIRepository, name: b}\n---\n\
        apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: b, namespace: x}\nspec: {url: 'oci://ghcr.io/charts/b', ref: {tag: 4.1.1}}\n---\n\
        apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: x}\nspec:\n  chart:\n    spec: {chart: c, version: 1.x, sourceRef: {kind: HelmRepository, name: gone}}\n";
    let (apps, _) = found(&[("apps/all.yaml", release)]);
    assert_eq!(chart(&apps, "HelmRelease x/a").chart, ChartSource::Folder("charts/a".to_owned()));
    assert_eq!(chart(&apps, "HelmRelease x/b").chart.to_string(), "oci://ghcr.io/charts/b 4.1.1");
    let Content::Unknown(reason) = &app(&apps, "HelmRelease x/c").content else { panic!("it is rendered") };
    assert_eq!(reason, "HelmRepository x/gone is not in the repository");
}

#[test]
fn a_name_that_is_too_long_is_shortened_as_flux_does() {
    let name = "a-name-that-is-quite-long-for-a-release-of-helm";
    let release = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: x}}\nspec:\n  targetNamespace: production\n  chart:\n    spec: {{chart: ./c, sourceRef: {{kind: GitRepository, name: g}}}}\n"
    );
    let (apps, _) = found(&[("all.yaml", &release)]);
    let chart = chart(&apps, &format!("HelmRelease x/{name}"));
    assert_eq!((chart.release.len(), chart.namespace.as_str()), (53, "production"));
    assert!(chart.release.starts_with("production-a-name-that-is-quite-long-for-"), "{}", chart.release);
}

#[test]
fn patches_of_a_kustomization_reach_releases_and_have_places() {
    let sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec:\n  path: ./apps\n  targetNamespace: blue\n  sourceRef: {kind: GitRepository, name: flux-system}\n";
    let kustomization = "resources: [web.yaml]\npatches:\n- target: {kind: HelmRelease}\n  patch: |\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: any}\n    spec:\n      values:\n        replicas: 3\n";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  chart:\n    spec: {chart: ./c, sourceRef: {kind: GitRepository, name: flux-system}}\n  values:\n    tag: v1\n";
    let (apps, _) = found(&[
        ("flux/sync.yaml", sync),
        ("apps/kustomization.yaml", kustomization),
        ("apps/web.yaml", release),
    ]);
    let web = chart(&apps, "HelmRelease blue/web");
    assert_eq!(layers(web), ["inline: {\"replicas\":3,\"tag\":\"v1\"}"]);
    let place = web.layers[0].place(&"replicas".parse().unwrap()).unwrap();
    assert_eq!(place.file, "apps/kustomization.yaml");
}

#[test]
fn encrypted_values_are_placeholders_and_missing_objects_fail_one_app() {
    let apps = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: x}\nstringData:\n  values.yaml: ENC[AES256_GCM,data:abc]\n  password: ENC[AES256_GCM,data:def]\nsops: {mac: x}\n---\n\
        apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: x}\nspec:\n  chart:\n    spec: {chart: ./c, sourceRef: {kind: GitRepository, name: g}}\n  valuesFrom:\n  - {kind: Secret, name: s, valuesKey: password, targetPath: auth.password}\n---\n\
        apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: b, namespace: x}\nspec:\n  chart:\n    spec: {chart: ./c, sourceRef: {kind: GitRepository, name: g}}\n  valuesFrom:\n  - {kind: Secret, name: none}\n";
    let sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec: {path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    let (apps, _) = found(&[("flux/sync.yaml", sync), ("apps/all.yaml", apps)]);
    let values = layers(chart(&apps, "HelmRelease x/a"));
    assert!(values[0].starts_with("Secret: auth.password=encrypted-"), "{values:?}");
    let Content::Unknown(reason) = &app(&apps, "HelmRelease x/b").content else { panic!("it is rendered") };
    assert!(reason.contains("Secret none in namespace x"), "{reason}");
}

#[test]
fn what_nothing_deploys_is_listed() {
    let loose =
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: loose}\nspec: {}\n";
    let (_, notes) = found(&[SYNC, SETTINGS, ("old/web.yaml", loose)]);
    let texts: Vec<String> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["nothing deploys HelmRelease loose (old/web.yaml:1)"]);
}
