//! What kustomize does not have: origins, limits, refusals, and kustomizations in memory.

use std::sync::Arc;

use pintle_kustomize::{
    ChangeKind, Error, HelmChart, HelmCharts, Limits, LoadRestrictions, MemoryFiles, Options, Order, Remote,
    RemoteBase, build, build_with, read_objects, transform,
};

fn files(list: &[(&str, &str)]) -> MemoryFiles {
    list.iter().map(|(path, content)| (*path, *content)).collect()
}

fn failure(list: &[(&str, &str)], options: &Options<'_>) -> Error {
    build(&files(list), "", options).expect_err("the build fails")
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: web:1
      - name: side
        image: side:1
";

#[test]
fn every_field_names_the_line_that_decided_it() {
    let files = files(&[
        (
            "top/kustomization.yaml",
            "resources:\n- ../base\nnamespace: blue\nimages:\n- name: side\n  newTag: '2'\n",
        ),
        ("base/kustomization.yaml", "resources:\n- all.yaml\npatches:\n- path: patch.yaml\nnamePrefix: p-\n"),
        ("base/all.yaml", DEPLOYMENT),
        (
            "base/patch.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: side\n        args:\n        - x\n",
        ),
    ]);
    let build = build(&files, "top", &Options::default()).expect("it builds");
    let object = &build.objects[0];
    let place = |path: &str| {
        let place = object.origin_of(&path.parse().expect("a path"));
        format!("{}:{}", place.file, place.line)
    };
    assert_eq!(place("spec.replicas"), "base/patch.yaml:6");
    assert_eq!(place("metadata.namespace"), "top/kustomization.yaml:3");
    assert_eq!(place("metadata.name"), "base/kustomization.yaml:5");
    // The patch moved its container to the front.
    assert_eq!(place("spec.template.spec.containers[0].image"), "top/kustomization.yaml:5");
    assert_eq!(place("spec.template.spec.containers[0].args"), "base/patch.yaml:11");
    assert_eq!(place("kind"), "base/all.yaml:2");
    assert_eq!(
        build.files,
        [
            "base",
            "base/Kustomization",
            "base/all.yaml",
            "base/kustomization.yaml",
            "base/kustomization.yml",
            "base/patch.yaml",
            "top/Kustomization",
            "top/kustomization.yaml",
            "top/kustomization.yml",
        ]
    );
}

#[test]
fn fields_of_patches_in_the_kustomization_have_their_own_lines() {
    let kustomization = "resources:\n- all.yaml\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: web\n    spec:\n      replicas: 3\n- target: {kind: Deployment}\n  patch: | # operations\n\n    - op: add\n      path: /spec/a\n      value: 1\n    - {op: add, path: /spec/b, value: 1}\n- target: {kind: Deployment}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/c\", \"value\": 1}]'\n";
    let files = files(&[("kustomization.yaml", kustomization), ("all.yaml", DEPLOYMENT)]);
    let build = build(&files, "", &Options::default()).expect("it builds");
    let line = |path: &str| build.objects[0].origin_of(&path.parse().expect("a path")).line;
    assert_eq!([line("spec.replicas"), line("spec.a"), line("spec.b"), line("spec.c")], [10, 14, 17, 19]);
}

#[test]
fn many_documents_and_long_lists_take_time_in_proportion() {
    let item =
        |number: usize| format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: i{number}\n");
    let list: String = (0..5_000).map(item).collect();
    let document =
        |number: usize| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d{number}\n");
    let documents: String = (0..5_000).map(document).collect();
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{list}");
    let files = files(&[
        ("kustomization.yaml", "resources: [list.yaml, documents.yaml]\nsortOptions: {order: fifo}\n"),
        ("list.yaml", &list),
        ("documents.yaml", &documents),
    ]);
    let build = build(&files, "", &Options::default()).expect("it builds");
    let lines: Vec<usize> = [0, 4_999, 5_000, 9_999].map(|at: usize| build.objects[at].origin.line).to_vec();
    assert_eq!(lines, [4, 20_000, 2, 24_997]);
}

#[test]
fn objects_cannot_grow_without_end() {
    let copies: String = (0..40)
        .map(|number| format!("- target: {{kind: Deployment}}\n  patch: '[{{\"op\": \"copy\", \"from\": \"/spec\", \"path\": \"/spec/x{number}\"}}]'\n"))
        .collect();
    let text = format!("resources: [all.yaml]\npatches:\n{copies}");
    let limits = Limits { object_size: 1 << 20, ..Limits::default() };
    let error = failure(
        &[("kustomization.yaml", &text), ("all.yaml", DEPLOYMENT)],
        &Options { limits, ..Options::default() },
    );
    assert!(error.to_string().contains("larger"), "{error}");
    let doubled: String = (0..40)
        .map(|number| format!("- source: {{kind: Deployment, fieldPath: spec}}\n  targets: [{{select: {{kind: Deployment}}, fieldPaths: [spec.x{number}], options: {{create: true}}}}]\n"))
        .collect();
    let text = format!("resources: [all.yaml]\nreplacements:\n{doubled}");
    let error = failure(
        &[("kustomization.yaml", &text), ("all.yaml", DEPLOYMENT)],
        &Options { limits, ..Options::default() },
    );
    assert!(error.to_string().contains("large"), "{error}");
}

#[test]
fn references_and_hashes_are_changes_with_the_place_of_their_cause() {
    let files = files(&[
        ("kustomization.yaml", "resources:\n- pod.yaml\nconfigMapGenerator:\n- name: c\n  literals: [a=b]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, envFrom: [{configMapRef: {name: c}}]}]}\n",
        ),
    ]);
    let build = build(&files, "", &Options::default()).expect("it builds");
    let pod = build.objects.iter().find(|object| object.origin.file.ends_with("pod.yaml")).expect("the pod");
    let [change] = pod.changes.as_slice() else { panic!("one change: {:?}", pod.changes) };
    assert_eq!(
        (change.kind, &*change.place.file, change.place.line),
        (ChangeKind::Reference, "kustomization.yaml", 4)
    );
    assert_eq!(change.path.to_string(), "spec.containers[0].envFrom[0].configMapRef.name");
}

#[test]
fn what_runs_programs_or_reaches_out_is_refused_by_name_with_its_line() {
    let options = Options::default();
    for (field, text) in [
        ("vars", "vars:\n- name: A\n"),
        ("generators", "generators: [a.yaml]\n"),
        ("transformers", "transformers:\n- a.yaml\n"),
        ("validators", "validators: [a.yaml]\n"),
        ("helmCharts", "helmCharts:\n- name: a\n"),
        ("buildMetadata", "buildMetadata: [originAnnotations]\nnamePrefix: a\n"),
    ] {
        let error = failure(&[("kustomization.yaml", text)], &options);
        assert_eq!(error.refused_feature(), Some(field), "{error}");
        assert!(error.to_string().starts_with("kustomization.yaml"), "{error}");
    }
    for address in ["https://example.org/a?ref=v1", "github.com/a/b//c", "git@example.org:a/b.git"] {
        let text = format!("namePrefix: a\nresources:\n- {address}\n");
        let error = failure(&[("kustomization.yaml", &text)], &options);
        assert_eq!((error.refused_feature(), error.line()), (Some("remote base"), Some(3)), "{error}");
    }
}

#[test]
fn nothing_outside_of_the_repository_is_asked_for() {
    let unrestricted = Options { load_restrictions: LoadRestrictions::None, ..Options::default() };
    for text in [
        "resources: [../../etc/passwd]\n",
        "resources: [/etc/passwd]\n",
        "components: [../..]\n",
        "configMapGenerator: [{name: a, files: [../../../secret]}]\n",
        "patches: [{path: ../../p.yaml}]\n",
        "resources: []\ncrds: [../../c.json]\n",
        "openapi: {path: ../../s.json}\n",
        "configurations: [../../c.yaml]\n",
        "replacements: [{path: ../../r.yaml}]\n",
    ] {
        let files = files(&[("a/kustomization.yaml", text)]);
        let error = build(&files, "a", &unrestricted).expect_err("it leads out");
        assert!(error.to_string().contains("leads out of the repository"), "{text}{error}");
    }
    assert!(build(&files(&[]), "../a", &unrestricted).is_err());
}

#[test]
fn files_elsewhere_in_the_repository_need_no_restrictions() {
    let files = files(&[
        ("a/kustomization.yaml", "resources: [../b.yaml]\n"),
        ("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ]);
    let error = build(&files, "a", &Options::default()).expect_err("restricted");
    assert_eq!(error.to_string(), "a/kustomization.yaml:1: security; file 'b.yaml' is not in or below 'a'");
    let options = Options { load_restrictions: LoadRestrictions::None, ..Options::default() };
    assert_eq!(build(&files, "a", &options).expect("it builds").objects.len(), 1);
}

#[test]
fn depth_number_size_and_work_are_bounded() {
    let limited = |limits: Limits| Options { limits, ..Options::default() };
    let deep: Vec<(String, String)> = (0..20)
        .map(|level| (format!("{level}/kustomization.yaml"), format!("resources: [../{}]\n", level + 1)))
        .collect();
    let deep: MemoryFiles = deep.into_iter().collect();
    let error = build(&deep, "0", &limited(Limits { depth: 10, ..Limits::default() })).expect_err("too deep");
    assert!(error.to_string().contains("nested deeper than 10 levels"), "{error}");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let one = [("kustomization.yaml", "resources: [a.yaml]\nnamePrefix: p-\n"), ("a.yaml", map)];
    for (limits, word) in [
        (Limits { file_size: 40, ..Limits::default() }, "larger than 40 bytes"),
        (Limits { total_size: 50, ..Limits::default() }, "larger than 50 bytes together"),
        (Limits { objects: 0, ..Limits::default() }, "more than 0 objects"),
        (Limits { work: 1, ..Limits::default() }, "too much work"),
        (Limits { kustomizations: 0, ..Limits::default() }, "more than 0 kustomizations"),
    ] {
        let error = failure(&one, &limited(limits));
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_kustomization_in_memory_takes_the_place_of_the_file() {
    let files = files(&[("app/kustomization.yaml", "resources: [all.yaml]\n"), ("app/all.yaml", DEPLOYMENT)]);
    let text = b"resources: [all.yaml]\nnamespace: blue\n";
    let build = build_with(&files, "app", "flux", text, &Options::default()).expect("it builds");
    let namespace = build.objects[0].origin_of(&"metadata.namespace".parse().expect("a path"));
    assert_eq!((&*namespace.file, namespace.line), ("flux", 2));
}

#[test]
fn objects_are_transformed_in_their_order_and_keep_their_origins() {
    let text = format!(
        "{DEPLOYMENT}---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\n---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: n}}\n"
    );
    let objects = read_objects("all.yaml", text.as_bytes()).expect("objects");
    let patch = b"patches:\n- target: {kind: Service}\n  patch: |-\n    - {op: add, path: /spec, value: {ports: [{port: 80}]}}\n";
    let built = transform(objects, "release", patch, &Options::default()).expect("it transforms");
    let kinds: Vec<&str> =
        built.objects.iter().filter_map(|object| object.node.get("kind")?.as_str()).collect();
    assert_eq!(kinds, ["Deployment", "Service", "Namespace"]);
    let place = |path: &str| {
        let place = built.objects[1].origin_of(&path.parse().expect("a path"));
        format!("{}:{}", place.file, place.line)
    };
    assert_eq!(place("spec.ports"), "release:4");
    assert_eq!(place("metadata.name"), "all.yaml:18");
}

#[test]
fn objects_can_stay_in_the_order_in_which_they_are_named() {
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n";
    let files = files(&[("kustomization.yaml", "resources: [a.yaml]\n"), ("a.yaml", text)]);
    let first = |order| {
        let build = build(&files, "", &Options { order, ..Options::default() }).expect("it builds");
        build.objects[0].node.get("kind").and_then(|kind| kind.as_str().map(str::to_owned))
    };
    assert_eq!(first(Order::AsNamed).as_deref(), Some("Service"));
    assert_eq!(first(Order::ByKind).as_deref(), Some("Namespace"));
}

/// Renders every chart as a ConfigMap that says what it was asked for.
struct Charts;

impl HelmCharts for Charts {
    fn render(&self, chart: &HelmChart) -> Result<Vec<u8>, String> {
        let name = chart.entry.get("name").and_then(|name| name.as_str()).ok_or("a chart has a name")?;
        let namespace = chart.namespace.as_deref().unwrap_or("none");
        Ok(format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{for: {namespace}}}\n"
        )
        .into())
    }
}

#[test]
fn charts_are_rendered_for_the_namespace_around_them_and_not_moved_there() {
    let files = files(&[
        ("kustomization.yaml", "namespace: blue\nnamePrefix: p-\nresources: [base]\n"),
        ("base/kustomization.yaml", "helmCharts:\n- name: web\n"),
    ]);
    let options = Options { helm: Some(&Charts), ..Options::default() };
    let text = build(&files, "", &options).and_then(|build| build.to_yaml()).expect("it builds");
    assert_eq!(
        String::from_utf8_lossy(&text),
        "apiVersion: v1\ndata:\n  for: blue\nkind: ConfigMap\nmetadata:\n  name: p-web\n"
    );
}

/// One remote base.
struct Cache(Arc<MemoryFiles>);

impl Remote for Cache {
    fn find(&self, address: &str) -> Result<Option<RemoteBase>, String> {
        let path = address.strip_prefix("https://example.org/repo//").map(str::to_owned);
        Ok(path.map(|path| RemoteBase { files: self.0.clone(), path }))
    }
}

#[test]
fn a_remote_base_that_is_at_hand_is_built_and_stays_in_its_repository() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let remote = files(&[
        ("app/kustomization.yaml", "resources: [a.yaml]\n"),
        ("app/a.yaml", map),
        ("bad/kustomization.yaml", "resources: [../../x.yaml]\n"),
    ]);
    let cache = Cache(Arc::new(remote));
    let options = Options { remote: Some(&cache), ..Options::default() };
    let of = |address: &str| {
        let text = format!("resources:\n- {address}\n");
        build(&files(&[("kustomization.yaml", &text), ("x.yaml", map)]), "", &options)
    };
    let built = of("https://example.org/repo//app").expect("it builds");
    assert_eq!(&*built.objects[0].origin.file, "https://example.org/repo//app//app/a.yaml");
    assert!(of("https://example.org/repo//bad").expect_err("it leads out").to_string().contains("leads out"));
    assert_eq!(of("https://example.org/other").expect_err("absent").refused_feature(), Some("remote base"));
}
