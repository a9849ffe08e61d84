//! Repositories that want to be read wrongly.

use pintle_gitops::Content;

use crate::support::{app, found};

#[test]
fn kustomizations_that_make_each_other_come_to_an_end() {
    let one = |name: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: f}}\nspec: {{path: {path}, sourceRef: {{kind: GitRepository, name: g}}}}\n"
        )
    };
    let (apps, _) = found(&[("a/x.yaml", &one("x", "./b")), ("b/y.yaml", &one("y", "./a"))]);
    assert_eq!(apps.len(), 2);
}

#[test]
fn paths_and_links_that_leave_the_repository_fail_one_app() {
    let sync = |name: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: f}}\nspec: {{path: {path}, sourceRef: {{kind: GitRepository, name: g}}}}\n"
        )
    };
    let (apps, _) = found(&[
        ("up.yaml", &sync("up", "../../etc")),
        ("link.yaml", &sync("link", "./out")),
        ("out", "-> /etc"),
        ("resource.yaml", &sync("resource", "./evil")),
        ("evil/kustomization.yaml", "resources: [../../../etc/passwd]\n"),
    ]);
    for name in ["up", "link", "resource"] {
        let Content::Unknown(reason) = &app(&apps, &format!("Kustomization f/{name}")).content else {
            panic!("{name} is built")
        };
        assert!(!reason.is_empty(), "{name}");
    }
}

#[test]
fn an_application_that_makes_itself_is_there_once() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: self, namespace: argocd}\nspec: {source: {repoURL: 'https://git.example.com/team/repo', path: apps}}\n";
    let (apps, _) = found(&[("apps/self.yaml", application)]);
    assert_eq!(apps.len(), 1);
}

#[test]
fn variables_that_grow_are_limited() {
    let sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: f}\nspec:\n  path: ./a\n  sourceRef: {kind: GitRepository, name: g}\n  postBuild: {substitute: {BIG: '";
    let sync = format!("{sync}{}'}}}}\n", "x".repeat(100_000));
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: '{}'}}\n",
        "${BIG}".repeat(1_000)
    );
    let (apps, _) = found(&[("sync.yaml", &sync), ("a/map.yaml", &map)]);
    let Content::Unknown(reason) = &app(&apps, "Kustomization f/a").content else { panic!("it is built") };
    assert!(reason.contains("bytes after substitution"), "{reason}");
}
