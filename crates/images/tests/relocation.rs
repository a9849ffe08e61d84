//! Relocation of charts that hold their images in every known shape.

use std::collections::BTreeMap;

use pintle_chart::{Chart, File, load_files};
use pintle_images::overrides::required_extra_values;
use pintle_images::{
    ConsequenceKind, Image, Obstacle, Outcome, PathFilter, Policy, RelocateOptions, Relocation, Rendering,
    Scopes, Source, Target, detect, fields, relocate,
};
use pintle_render::{Capabilities, Release};
use pintle_tree::{Map, Node};
use pintle_values::NullRules;

fn policy() -> Policy {
    let sources = ["docker.io", "quay.io"].map(|text| Source::parse(text).expect("good input"));
    let target = Some(Target::parse("hub.corp:5000").expect("good input"));
    Policy { sources: Some(sources.to_vec()), target, ..Policy::default() }
}

/// A chart under test with its render target.
struct TestEnv {
    loaded: Chart,
    user: Map<Node>,
    filter: PathFilter,
    policy: Policy,
}

/// The result of a relocation.
struct Moved {
    relocation: Relocation,
    /// The images after overriding, in order.
    images: Vec<String>,
}

impl TestEnv {
    fn new(files: &[(&str, &str)]) -> TestEnv {
        let mut files: BTreeMap<&str, &str> = files.iter().copied().collect();
        files.entry("Chart.yaml").or_insert("apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: 1.2.3\n");
        let files = files.into_iter().map(|(name, text)| File::new(name, text)).collect();
        let loaded = load_files(files).expect("good input");
        TestEnv { loaded, user: Map::new(), filter: PathFilter::default(), policy: policy() }
    }

    /// A chart of one pod with one image.
    fn of_image(template: &str, values: &str) -> TestEnv {
        let pod = pod(&[template]);
        TestEnv::new(&[("values.yaml", values), ("templates/pod.yaml", &pod)])
    }

    fn run(&self) -> Moved {
        let release = Release { name: "rel".into(), namespace: "ns".into(), revision: 1, is_upgrade: false };
        let mut target = pintle_render::Target::offline(release, Capabilities::default());
        target.repeatable = true;
        let nulls = NullRules::Helm4;
        let chart =
            pintle_values::process_dependencies(self.loaded.clone(), &self.user, nulls, &mut Vec::new())
                .expect("good input");
        let scopes = Scopes::new(&self.loaded, &chart);
        let mut rendering = Rendering::new(&chart, &self.user, &target, nulls).expect("good input");
        let values = rendering.values(&Map::new()).expect("good input");
        let detection = detect(&scopes, &self.user, &values, &self.filter);
        let options = RelocateOptions {
            filter: self.filter.clone(),
            detection: Some(&detection),
            extra_values: required_extra_values(&scopes),
        };
        let relocation = relocate(&mut rendering, &self.policy, &options).expect("good input");
        let after = rendering.render(&relocation.overrides).expect("good input");
        let images = fields(&after).into_iter().map(|field| field.image).collect();
        Moved { relocation, images }
    }
}

fn pod(images: &[&str]) -> String {
    let images: String = images.iter().map(|image| format!("  - image: {image}\n")).collect();
    format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n{images}")
}

impl Moved {
    fn overrides(&self) -> String {
        String::from_utf8(
            pintle_yaml::write(&Node::Map(self.relocation.overrides.clone())).expect("good input"),
        )
        .expect("good input")
    }

    fn values(&self, number: usize) -> Vec<String> {
        self.relocation.images[number].values.iter().map(ToString::to_string).collect()
    }

    fn image(&self, number: usize) -> &Image {
        &self.relocation.images[number]
    }
}

#[test]
fn every_shape_of_value_keeps_its_shape() {
    let registry_and_repository = "image: {registry: quay.io, repository: team/api, tag: '1'}";
    let parts = "'{{ .Values.image.registry }}/{{ .Values.image.repository }}:{{ .Values.image.tag }}'";
    let table = [
        ("'{{ .Values.image }}'", "image: quay.io/team/api:1", "image: hub.corp:5000/quayio/team/api:1\n"),
        ("'{{ .Values.image }}'", "image: web", "image: hub.corp:5000/dockerio/library/web\n"),
        (
            parts,
            registry_and_repository,
            "image:\n  registry: hub.corp:5000\n  repository: quayio/team/api\n",
        ),
        (
            "'{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}'",
            "image: {repository: team/api, tag: ''}",
            "image:\n  repository: hub.corp:5000/dockerio/team/api\n",
        ),
        // The path is hard-coded in the template, so the registry value takes the whole prefix.
        ("'{{ .Values.registry }}/team/api:1'", "registry: quay.io", "registry: hub.corp:5000/quayio\n"),
        // An empty registry value can take the registry.
        (
            "'{{ with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}:1'",
            "image: {registry: '', repository: team/api}",
            "image:\n  registry: hub.corp:5000\n  repository: dockerio/team/api\n",
        ),
        // So can one for which the template has a default.
        (
            "'{{ .Values.image.registry | default \"quay.io\" }}/{{ .Values.image.repository }}:1'",
            "image: {registry: '', repository: team/api}",
            "image:\n  registry: hub.corp:5000\n  repository: quayio/team/api\n",
        ),
        // A key with a null value counts as well.
        (
            "'{{ .Values.image.override | default (printf \"%s.io/team/api:1\" .Values.image.account) }}'",
            "image: {override: , account: quay}",
            "image:\n  override: hub.corp:5000/quayio/team/api:1\n",
        ),
        (
            "'{{ tpl .Values.image . }}'",
            "{image: '{{ .Values.r }}/a/b:1', r: quay.io}",
            "r: hub.corp:5000/quayio\n",
        ),
        (
            "'{{ tpl .Values.image . }}'",
            "image: 'quay.io/a/b:{{ .Chart.AppVersion }}'",
            "image: hub.corp:5000/quayio/a/b:{{ .Chart.AppVersion }}\n",
        ),
        (
            "'{{ (fromJson .Values.json).image }}'",
            "json: '{\"x\": 1, \"image\": \"quay.io/a/b:1\"}'",
            "json: '{\"x\": 1, \"image\": \"hub.corp:5000/quayio/a/b:1\"}'\n",
        ),
        (
            "'{{ (index .Values.list 1).image }}'",
            "list: [{name: x}, {image: 'quay.io/a/b:1', name: z, port: 5}]",
            "list:\n- name: x\n- image: hub.corp:5000/quayio/a/b:1\n  name: z\n  port: 5\n",
        ),
        // Digests and ports are kept.
        (
            "'{{ .Values.image }}'",
            "image: quay.io:443/a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "image: hub.corp:5000/quayio/a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
        ),
        (
            "'{{ .Values.registry }}/{{ .Values.org }}/{{ .Values.name }}:1'",
            "{registry: quay.io, org: team, name: api}",
            "org: quayio/team\nregistry: hub.corp:5000\n",
        ),
    ];
    for (template, values, wanted) in table {
        let moved = TestEnv::of_image(template, values).run();
        assert_eq!(moved.overrides(), wanted, "{template} with {values}: {:?}", moved.image(0));
        assert_eq!(moved.image(0).outcome, Outcome::ByValues, "{template}");
        assert_eq!(Some(&moved.images[0]), moved.image(0).after.as_ref(), "{template}");
    }
}

#[test]
fn a_registry_for_all_charts_takes_the_bare_host() {
    let chart =
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: '*', alias: store}]\n";
    let image = "'{{ .Values.global.imageRegistry }}/{{ .Values.image.repository }}:1'";
    let pods = pod(&[image]);
    let moved = TestEnv::new(&[
        ("Chart.yaml", chart),
        ("values.yaml", "global: {imageRegistry: quay.io}\nimage: {repository: team/web}\n"),
        ("templates/pod.yaml", &pods),
        ("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"),
        ("charts/db/values.yaml", "image: {repository: team/db}\n"),
        ("charts/db/templates/pod.yaml", &pods),
    ])
    .run();
    let wanted = "global:\n  imageRegistry: hub.corp:5000\nimage:\n  repository: quayio/team/web\nstore:\n  image:\n    \
                  repository: quayio/team/db\n";
    assert_eq!(moved.overrides(), wanted);
    assert_eq!(moved.images, ["hub.corp:5000/quayio/team/db:1", "hub.corp:5000/quayio/team/web:1"]);
    assert_eq!(moved.values(0), ["global.imageRegistry", "store.image.repository"]);
}

#[test]
fn an_empty_registry_for_all_charts_is_left_alone_where_it_is_not_needed() {
    let template = "'{{ .Values.global.imageRegistry | default .Values.image.registry }}/{{ .Values.image.repository }}:1'";
    let values = "global: {imageRegistry: ''}\nimage: {registry: quay.io, repository: team/web}\n";
    let moved = TestEnv::of_image(template, values).run();
    assert_eq!(moved.overrides(), "image:\n  registry: hub.corp:5000\n  repository: quayio/team/web\n");
}

#[test]
fn what_is_written_in_a_template_is_named_by_its_line() {
    let helper = "{{/* image: quay.io/a/b */}}\n{{- define \"image\" -}}\nquay.io/a/b:{{ .Values.tag }}\n{{- end -}}\n";
    let pods = pod(&["busybox:1.36", "'{{ include \"image\" . }}'", "'{{ .Values.image }}'"]);
    let moved = TestEnv::new(&[
        ("values.yaml", "tag: '1'\nimage: quay.io/a/c:1\n"),
        ("templates/_helpers.tpl", helper),
        ("templates/pod.yaml", &pods),
    ])
    .run();
    let outcome = |number: usize| {
        let image = moved.image(number);
        (image.outcome.clone(), image.written.as_ref().map(ToString::to_string).unwrap_or_default())
    };
    let written = || Outcome::NeedsRewrite(Obstacle::Hardcoded);
    assert_eq!(outcome(0), (written(), "web/templates/pod.yaml:7".to_owned()));
    assert_eq!(outcome(1), (written(), "web/templates/_helpers.tpl:3".to_owned()));
    assert_eq!(outcome(2), (Outcome::ByValues, String::new()));
    assert_eq!(moved.images, ["busybox:1.36", "quay.io/a/b:1", "hub.corp:5000/quayio/a/c:1"]);
}

#[test]
fn a_value_that_an_image_that_stays_needs_is_not_changed() {
    let pods =
        pod(&["'{{ .Values.registry }}/team/api:1'", "'{{ .Values.registry }}/{{ .Values.other }}:1'"]);
    let files =
        [("values.yaml", "registry: quay.io\nother: team/other\n"), ("templates/pod.yaml", pods.as_str())];
    let mut env = TestEnv::new(&files);
    env.filter.exclude = vec!["other".to_owned()];
    let moved = env.run();
    assert_eq!(moved.overrides(), "{}\n");
    assert_eq!(moved.image(1).outcome, Outcome::Excluded);
    let shared = Obstacle::Shared { value: "registry".into(), other: "quay.io/team/other:1".into() };
    assert_eq!(moved.image(0).outcome, Outcome::NeedsRewrite(shared));
}

#[test]
fn excluded_registries_and_other_registries_stay() {
    let pods = pod(&["'{{ .Values.a }}'", "'{{ .Values.b }}'", "'{{ .Values.c }}'"]);
    let values = "a: docker.io/x/a:1\nb: quay.io/x/b:1\nc: gcr.io/x/c:1\n";
    let mut env = TestEnv::new(&[("values.yaml", values), ("templates/pod.yaml", &pods)]);
    env.policy.excludes = vec![Source::parse("quay.io").unwrap()];
    let moved = env.run();
    assert_eq!(moved.images, ["hub.corp:5000/dockerio/x/a:1", "quay.io/x/b:1", "gcr.io/x/c:1"]);
    let outcomes: Vec<&Outcome> = moved.relocation.images.iter().map(|image| &image.outcome).collect();
    assert_eq!(outcomes, [&Outcome::ByValues, &Outcome::Excluded, &Outcome::Unchanged]);
}

#[test]
fn secrets_that_differ_every_time_are_no_difference() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  a: {{ randAlphaNum 20 | b64enc }}\n  b: \
                  {{ (genCA \"x\" 5).Cert | b64enc }}\n  c: {{ htpasswd \"u\" \"p\" | b64enc }}\n  d: {{ uuidv4 }}\n  e: \
                  {{ now | unixEpoch | quote }}\n";
    let pods = pod(&["'{{ .Values.image }}'"]);
    let files = [
        ("values.yaml", "image: web:1"),
        ("templates/pod.yaml", pods.as_str()),
        ("templates/secret.yaml", secret),
    ];
    let moved = TestEnv::new(&files).run();
    assert_eq!(moved.overrides(), "image: hub.corp:5000/dockerio/library/web:1\n");
    assert!(moved.relocation.consequences.is_empty());
}

#[test]
fn what_follows_from_a_change_is_listed() {
    let pods = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n    checksum/config: {{ .Values.image | \
                sha256sum }}\nspec:\n  containers:\n  - image: '{{ .Values.image }}'\n    args: ['--sidecar={{ .Values.image \
                }}']\n";
    let moved = TestEnv::new(&[("values.yaml", "image: quay.io/a/b:1"), ("templates/pod.yaml", pods)]).run();
    assert_eq!(moved.image(0).outcome, Outcome::ByValues);
    let listed = moved.relocation.consequences.iter();
    let listed: Vec<(String, ConsequenceKind)> =
        listed.map(|one| (one.difference.location.path.to_string(), one.kind)).collect();
    assert_eq!(
        listed,
        [
            ("metadata.annotations.checksum/config".to_owned(), ConsequenceKind::Digest),
            ("spec.containers[0].args[0]".to_owned(), ConsequenceKind::Carries),
        ]
    );
    assert_eq!(moved.relocation.suspects.len(), 1, "{:?}", moved.relocation.suspects);
}

#[test]
fn a_value_that_names_something_else_too_is_not_changed() {
    // The image name is also the name of the pod, so only the registry can take the new prefix.
    let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: '{{ .Values.name }}'}\nspec:\n  containers:\n  - image: '{{ \
                .Values.registry }}/{{ .Values.name }}:1'\n";
    let values = "registry: quay.io\nname: api\n";
    let moved = TestEnv::new(&[("values.yaml", values), ("templates/pod.yaml", pods)]).run();
    assert_eq!(moved.overrides(), "registry: hub.corp:5000/quayio\n");
    let alone = pods.replace("{{ .Values.registry }}/", "");
    let moved = TestEnv::new(&[("values.yaml", values), ("templates/pod.yaml", &alone)]).run();
    assert_eq!(moved.overrides(), "{}\n");
    let Outcome::NeedsRewrite(Obstacle::SideEffect { value, what }) = &moved.image(0).outcome else {
        panic!("{:?}", moved.image(0));
    };
    assert_eq!((value.as_str(), what.contains("metadata.name")), ("name", true), "{what}");
}

#[test]
fn a_template_that_refuses_other_images_keeps_its_own() {
    let check = "{{ if not (hasPrefix \"quay.io\" .Values.image) }}{{ fail \"use our image\" }}{{ end }}";
    let pods = format!("{check}{}", pod(&["'{{ .Values.image }}'", "'{{ .Values.other }}'"]));
    let values = "image: quay.io/a/b:1\nother: quay.io/a/c:1\n";
    let moved = TestEnv::new(&[("values.yaml", values), ("templates/pod.yaml", &pods)]).run();
    assert_eq!(moved.overrides(), "other: hub.corp:5000/quayio/a/c:1\n");
    assert!(matches!(&moved.image(0).outcome, Outcome::NeedsRewrite(_)));
}

#[test]
fn a_template_that_looks_at_the_image_takes_the_same_way() {
    let pods =
        pod(&["'{{ if contains \"team\" .Values.image }}{{ .Values.image }}{{ else }}other:1{{ end }}'"]);
    let moved = TestEnv::new(&[("values.yaml", "image: team/api:1"), ("templates/pod.yaml", &pods)]).run();
    assert_eq!(moved.overrides(), "image: hub.corp:5000/dockerio/team/api:1\n");
}

#[test]
fn images_that_are_not_rendered_move_where_that_changes_nothing_else() {
    let pods = "{{ if .Values.extra.enabled }}x{{ end }}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {r: \
                '{{ .Values.label.repository }}'}}\n";
    let values = "extra: {enabled: false, image: {repository: quay.io/a/b, tag: '1'}}\nlabel: {repository: a/c, tag: \
                  '1'}\n";
    let moved = TestEnv::new(&[("values.yaml", values), ("templates/pod.yaml", pods)]).run();
    assert_eq!(moved.overrides(), "extra:\n  image:\n    repository: hub.corp:5000/quayio/a/b\n");
    let unrendered: Vec<String> =
        moved.relocation.unrendered.iter().map(|one| one.path.to_string()).collect();
    assert_eq!(unrendered, ["extra.image"]);
    let skipped: Vec<String> = moved.relocation.skipped.iter().map(ToString::to_string).collect();
    assert_eq!(skipped, ["label"]);
}

#[test]
fn schemas_are_kept_to() {
    let schema = r#"{"properties": {"image": {"type": "string", "pattern": "^quay"}}}"#;
    let pods = pod(&["'{{ .Values.image }}'"]);
    let files = [
        ("values.yaml", "image: quay.io/a/b:1"),
        ("values.schema.json", schema),
        ("templates/pod.yaml", pods.as_str()),
    ];
    let moved = TestEnv::new(&files).run();
    assert_eq!(moved.overrides(), "{}\n");
    assert!(matches!(&moved.image(0).outcome, Outcome::NeedsRewrite(Obstacle::SideEffect { .. })));
}

#[test]
fn two_runs_give_the_same_bytes() {
    let pods = pod(&["'{{ .Values.a }}'", "'{{ .Values.b.registry }}/{{ .Values.b.repository }}'", "x:1"]);
    let values = "a: web:1\nb: {registry: quay.io, repository: a/b}\n";
    let run = || TestEnv::new(&[("values.yaml", values), ("templates/pod.yaml", &pods)]).run();
    assert_eq!(format!("{:?}", run().relocation), format!("{:?}", run().relocation));
}

#[test]
fn values_and_objects_without_end_are_no_trouble() {
    let deep = |inner: &str| format!("{}{inner}{}", "{a: ".repeat(5_000), "}".repeat(5_000));
    let list = format!("{}web:1{}", "[".repeat(5_000), "]".repeat(5_000));
    let values = format!("image: web:1\ndeep: {}\nlist: {list}\n", deep("web:1"));
    let object = format!(
        "apiVersion: v1\nkind: X\nmetadata: {{name: x}}\nspec: {}\n",
        deep("'image {{ .Values.image }}'")
    );
    let pods = pod(&["'{{ .Values.image }}'"]);
    let files =
        [("values.yaml", values.as_str()), ("templates/pod.yaml", &pods), ("templates/x.yaml", &object)];
    let moved = TestEnv::new(&files).run();
    // What cannot be inspected is not changed.
    assert_eq!(moved.overrides(), "{}\n");
    assert!(matches!(&moved.image(0).outcome, Outcome::NeedsRewrite(Obstacle::SideEffect { .. })));
}
