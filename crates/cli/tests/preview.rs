//! `preview`: a change of a GitOps repository, its causes, and what hostile repositories cannot do.

use std::process::Command;

use crate::support::TestEnv;

fn git(env: &TestEnv, line: &str) {
    let identity =
        ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
    let status = Command::new("git")
        .args(identity)
        .args(line.split(' '))
        .current_dir(env.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .expect("git");
    assert!(status.success(), "git {line}");
}

const SYNC: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec:\n  path: ./apps\n  sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild:\n    substitute:\n      HOST: example.com\n";
const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: web}\nspec:\n  chart:\n    spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}\n  values:\n    replicas: 1\n    host: web.${HOST}\n";
const TEMPLATE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}}\nspec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: web\n        image: nginx:{{ .Values.tag }}\n        env: [{name: HOST, value: {{ .Values.host }}}]\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {key: {{ .Values.key }}}\n";

/// A repository with one release of a chart in it.
fn repository() -> TestEnv {
    let env = TestEnv::new();
    env.write("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("charts/web/values.yaml", "replicas: 2\ntag: '1.25'\nhost: none\nkey: topsecret\n");
    env.write("charts/web/templates/all.yaml", TEMPLATE);
    env.write("clusters/production/apps.yaml", SYNC);
    env.write("apps/web.yaml", RELEASE);
    commit(&env);
    env
}

fn commit(env: &TestEnv) {
    if !env.path().join(".git").exists() {
        git(env, "init -q -b main");
    }
    git(env, "add -A");
    git(env, "commit -q -m change");
}

#[track_caller]
fn has(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

#[test]
fn every_change_has_the_line_that_caused_it() {
    let env = repository();
    let shown = env.pintle("preview");
    has(&shown, &["exit 0", "no object changes"]);
    env.write("apps/web.yaml", &RELEASE.replace("replicas: 1", "replicas: 3"));
    env.write("charts/web/values.yaml", "replicas: 2\ntag: '1.26'\nhost: none\nkey: othersecret\n");
    env.write("clusters/production/apps.yaml", &SYNC.replace("example.com", "example.org"));
    let shown = env.pintle("preview");
    has(
        &shown,
        &[
            "exit 2",
            "spec.replicas: 1 -> 3",
            "because value replicas 1 -> 3, apps/web.yaml:8 (inline)",
            "spec.template.spec.containers[web].image: nginx:1.25 -> nginx:1.26",
            "because default tag 1.25 -> 1.26, charts/web/values.yaml:2",
            "because variable HOST example.com -> example.org, clusters/production/apps.yaml:9",
            "(secret) -> (secret)",
            "4 of 4 changes have a proven cause",
        ],
    );
    // What a Secret holds is not shown, also where it is set.
    assert!(!shown.contains("topsecret") && !shown.contains("othersecret"), "{shown}");
}

#[test]
fn commits_are_compared_from_where_they_parted() {
    let env = repository();
    git(&env, "checkout -q -b change");
    env.write("apps/web.yaml", &RELEASE.replace("replicas: 1", "replicas: 3"));
    commit(&env);
    git(&env, "checkout -q main");
    env.write("charts/web/templates/new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n");
    commit(&env);
    let shown = env.pintle("preview --base main --head change");
    has(&shown, &["exit 2", "spec.replicas: 1 -> 3", "0 objects added, 1 changed, 0 removed"]);
    let shown = env.pintle("preview --base none");
    has(&shown, &["exit 1", "there is no commit none"]);
}

#[test]
fn dangers_come_first_and_can_fail() {
    let env = repository();
    let claim =
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: web}\nspec: {}\n";
    env.write("apps/claim.yaml", claim);
    commit(&env);
    std::fs::remove_file(env.path().join("apps/claim.yaml")).expect("a file");
    env.write(
        "charts/web/templates/all.yaml",
        &TEMPLATE.replace("app: web}}\n  template", "app: other}}\n  template"),
    );
    let shown = env.pintle("preview");
    has(
        &shown,
        &[
            "exit 2",
            "data-loss   PersistentVolumeClaim data is removed",
            "immutable   spec.selector of Deployment web",
        ],
    );
    has(&shown, &["because template templates/all.yaml, charts/web/templates/all.yaml:6"]);
    let shown = env.pintle("preview --fail-on data-loss");
    has(&shown, &["exit 3"]);
    let shown = env.pintle("preview --fail-on nonsense");
    has(&shown, &["--fail-on: `nonsense` is not known"]);
}

#[test]
fn reports_are_comments_and_data() {
    let env = repository();
    env.write("apps/web.yaml", &RELEASE.replace("replicas: 1", "replicas: 3"));
    let shown = env.pintle("preview -o markdown --output-dir out --max-comment 4000");
    has(
        &shown,
        &["## Preview", "```diff\n@@ spec.replicas @@\n- 1\n+ 3\n```", "because value replicas 1 -&gt; 3"],
    );
    assert!(env.path().join("out/preview-1.md").exists());
    let shown = env.pintle("preview -o json");
    has(&shown, &["\"line\": 8", "\"path\": \"spec.replicas\"", "\"explained\": 1"]);
    let shown = env.pintle("preview -o github");
    has(&shown, &["::notice file=apps/web.yaml,line=8::Deployment web: spec.replicas 1 -> 3"]);
    has(&env.pintle("preview -o junit"), &["<testcase name=\"HelmRelease web/web in production\""]);
    has(&env.pintle("preview -o sarif"), &["\"name\": \"pintle preview\""]);
    has(&env.pintle("preview -o pdf"), &["`pdf` is not a report format"]);
    has(
        &env.pintle("preview --list --only web/web"),
        &["HelmRelease web/web in production: ./charts/web: 2 objects"],
    );
    has(
        &env.pintle("preview --skip web/web --skip flux-system/apps --cluster production"),
        &["no object changes"],
    );
}

#[test]
fn an_app_that_does_not_render_is_never_a_deletion() {
    let env = repository();
    env.write("charts/web/templates/all.yaml", "{{ fail \"not today\" }}\n");
    let shown = env.pintle("preview");
    has(&shown, &["exit 1", "not rendered (1)", "not today"]);
    assert!(!shown.contains("- Deployment"), "{shown}");
    let shown = env.pintle("preview --allow-missing");
    has(&shown, &["exit 0"]);
}

#[test]
fn hosts_that_only_the_head_names_are_not_asked() {
    let env = repository();
    let sources = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: other, namespace: web}\nspec: {url: 'http://127.0.0.1:9'}\n---\n";
    let release = RELEASE.replace(
        "chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}",
        "chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: other}",
    );
    env.write("apps/web.yaml", &format!("{sources}{release}"));
    let shown = env.pintle("preview");
    has(
        &shown,
        &["exit 1", "the base does not name the host 127.0.0.1:9; --allow-host 127.0.0.1:9 allows it"],
    );
    commit(&env);
    // Named by the base, but private.
    env.write("apps/note.txt", "x");
    let shown = env.pintle("preview");
    has(&shown, &["exit 1", "which is not a public address"]);
    let shown = env.pintle("preview --untrusted --repo-url https://git.example.com/a");
    has(&shown, &["exit 1", "only the cache is used"]);
}

#[cfg(unix)]
#[test]
fn nothing_of_a_repository_runs_and_nothing_outside_of_it_is_read() {
    let env = repository();
    let outside = TestEnv::new();
    outside.write("secret.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}\n");
    let mark = env.path().join("ran");
    let program = format!("#!/bin/sh\ntouch {}\n", mark.display());
    for hook in ["post-checkout", "post-index-change", "fsmonitor-watchman"] {
        let path = format!(".git/hooks/{hook}");
        env.write(&path, &program);
        let allowed = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(env.path().join(&path), allowed).expect("a file");
    }
    git(&env, "config filter.evil.smudge ./evil.sh");
    git(&env, "config filter.evil.clean ./evil.sh");
    git(&env, "config core.fsmonitor .git/hooks/fsmonitor-watchman");
    env.write("evil.sh", &program);
    env.write("apps/kustomization.yaml", "resources: [web.yaml, stolen.yaml]\ngenerators: [evil.yaml]\n");
    std::os::unix::fs::symlink(outside.path().join("secret.yaml"), env.path().join("apps/stolen.yaml"))
        .expect("a link");
    let _ = std::fs::remove_file(&mark);
    let shown = env.pintle("preview");
    has(&shown, &["exit 1", "Kustomization flux-system/apps in production"]);
    assert!(!shown.contains("ConfigMap stolen"), "{shown}");
    assert!(!mark.exists(), "something ran");
}

#[test]
fn charts_and_clusters_can_be_added() {
    let env = repository();
    env.write("clusters.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: c, labels: {argocd.argoproj.io/secret-type: cluster}}\nstringData: {name: blue, server: 'https://blue.example'}\n");
    env.write("set.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all, namespace: argocd}\nspec:\n  generators: [{clusters: {selector: {matchLabels: {argocd.argoproj.io/secret-type: cluster}}}}]\n  template:\n    metadata: {name: 'web-{{name}}'}\n    spec: {destination: {name: '{{name}}'}, source: {repoURL: 'https://git.example.com/team/repo', path: charts/web}}\n");
    let shown =
        env.pintle("preview --list --charts charts --clusters clusters.yaml --repo-url https://git.example.com/team/repo");
    has(
        &shown,
        &[
            "Chart charts/web: ./charts/web: 2 objects",
            "Application argocd/web-blue in blue: ./charts/web: 2 objects",
        ],
    );
}

#[test]
fn changed_charts_are_rehearsed() {
    let env = repository();
    env.write("apps/web.yaml", &RELEASE.replace("replicas: 1", "replicas: 3"));
    let shown = env.pintle("preview --rehearse --kube-version 1.37.0 --api-versions example.com/v1");
    has(&shown, &["exit 2", "rehearsed:"]);
}
