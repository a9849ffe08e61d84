//! Argo CD.

use pintle_gitops::Content;

use crate::support::{app, chart, found, layers, names};

const CHART: (&str, &str) = ("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");

#[test]
fn values_of_an_application_have_the_order_of_argo_cd() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n  destination: {server: 'https://kubernetes.default.svc', namespace: web}\n  source:\n    repoURL: https://git.example.com/team/repo.git\n    targetRevision: HEAD\n    path: charts/web\n    helm:\n      releaseName: other\n      valueFiles: [values-prod.yaml, /envs/*.yaml, none.yaml]\n      ignoreMissingValueFiles: true\n      values: 'ignored: true'\n      valuesObject: {replicas: 2}\n      parameters:\n      - {name: image.tag, value: 'a,b', forceString: true}\n";
    let (apps, notes) = found(&[
        CHART,
        ("charts/web/values-prod.yaml", "prod: true\n"),
        ("envs/b.yaml", "b: 1\n"),
        ("envs/a.yaml", "a: 1\n"),
        ("apps/web.yaml", application),
    ]);
    let web = chart(&apps, "Application argocd/web");
    assert_eq!((web.release.as_str(), web.namespace.as_str()), ("other", "web"));
    assert_eq!(
        layers(web),
        [
            "file: {\"prod\":true}",
            "file: {\"a\":1}",
            "file: {\"b\":1}",
            "inline: {\"replicas\":2}",
            "parameter: image.tag=a\\,b"
        ]
    );
    let place = web.layers[3].place(&"replicas".parse().unwrap()).unwrap();
    assert_eq!(place.to_string(), "apps/web.yaml:15");
    assert_eq!(notes, []);
}

#[test]
fn sources_refer_to_each_other_and_files_outside_are_refused() {
    let application = |file: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web}}\nspec:\n  sources:\n  - repoURL: https://charts.example.com\n    chart: web\n    targetRevision: 1.2.3\n    helm:\n      valueFiles: [{file}]\n  - repoURL: https://git.example.com/team/repo\n    targetRevision: main\n    ref: values\n"
        )
    };
    let (apps, _) =
        found(&[("envs/prod.yaml", "a: 1\n"), ("apps/web.yaml", &application("$values/envs/prod.yaml"))]);
    assert_eq!(layers(chart(&apps, "Application web")), ["file: {\"a\":1}"]);
    let (apps, _) = found(&[("apps/web.yaml", &application("$values/../../secret.yaml"))]);
    let Content::Unknown(reason) = &app(&apps, "Application web").content else { panic!("it is rendered") };
    assert!(reason.contains("leads out of the repository"), "{reason}");
}

#[test]
fn generators_that_need_nothing_but_the_repository_make_applications() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all, namespace: argocd}\nspec:\n  goTemplate: true\n  generators:\n  - matrix:\n      generators:\n      - git:\n          repoURL: https://git.example.com/team/repo\n          directories:\n          - path: apps/*\n          - {path: apps/old, exclude: true}\n      - list:\n          elements: [{env: dev}, {env: prod}]\n  - pullRequest: {github: {owner: a}}\n  template:\n    metadata:\n      name: '{{ .path.basename }}-{{ .env }}'\n    spec:\n      destination: {namespace: '{{ .env }}'}\n      source:\n        repoURL: https://git.example.com/team/repo\n        path: '{{ .path.path }}'\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let (apps, notes) = found(&[
        ("set.yaml", set),
        ("apps/one/map.yaml", map),
        ("apps/two/map.yaml", map),
        ("apps/old/map.yaml", map),
    ]);
    assert_eq!(
        names(&apps),
        [
            "Application argocd/one-dev",
            "Application argocd/one-prod",
            "Application argocd/two-dev",
            "Application argocd/two-prod"
        ]
    );
    let Content::Objects(objects) = &app(&apps, "Application argocd/one-prod").content else {
        panic!("it is a chart")
    };
    assert_eq!((objects[0].name(), objects[0].namespace()), ("a", "prod"));
    assert!(notes.iter().any(|note| note.text.contains("`pullRequest` needs an answer")), "{notes:?}");
}

#[test]
fn a_merge_takes_over_parameters_by_its_keys() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n  generators:\n  - merge:\n      mergeKeys: [env]\n      generators:\n      - list: {elements: [{env: dev, size: small}, {env: prod, size: small}]}\n      - list: {elements: [{env: prod, size: large}]}\n  template:\n    metadata: {name: 'web-{{env}}-{{size}}'}\n    spec: {source: {repoURL: 'https://charts.example.com', chart: web, targetRevision: 1.0.0}}\n";
    let (apps, _) = found(&[("set.yaml", set)]);
    assert_eq!(names(&apps), ["Application web-dev-small", "Application web-prod-large"]);
}

#[test]
fn plugins_and_other_repositories_are_named() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {source: {repoURL: 'https://git.example.com/team/repo', path: x, plugin: {name: run-me}}}\n";
    let (apps, _) = found(&[("web.yaml", application), ("x/a.yaml", "a: 1\n")]);
    let Content::Unknown(reason) = &app(&apps, "Application web").content else { panic!("it is rendered") };
    assert_eq!(reason, "it is rendered by a plugin, which is not run");
}
