//! `irr`, the entry point of `images`: the checklist IR-01 to IR-47, one test each

use crate::support;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pintle_tree::{Node, json};
use support::TestEnv;

const TARGET: &str = "-t hub.corp:5000 -s docker.io,quay.io";

/// The result of a run.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

fn irr(env: &TestEnv, line: &str) -> Run {
    irr_with(env, line, &[])
}

fn irr_with(env: &TestEnv, line: &str, variables: &[(&str, &str)]) -> Run {
    let text = env.called("irr", line, variables);
    let (code, rest) = text.split_once('\n').expect("there is a line with the code");
    let code = code.strip_prefix("exit ").and_then(|code| code.parse().ok()).expect("the code is a number");
    let (out, err) = rest.split_once("--- stderr\n").unwrap_or((rest, ""));
    let out = out.strip_prefix("--- stdout\n").unwrap_or(out);
    Run { code, out: out.to_owned(), err: err.to_owned() }
}

const CHART: &str = "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: \"4.1\"\n";

/// A pod with the images that the template makes.
fn pod(images: &[&str]) -> String {
    let containers: String = images.iter().map(|image| format!("  - image: {image}\n")).collect();
    format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n{containers}")
}

/// A chart with these values and one pod.
fn chart(values: &str, images: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", CHART)
        .write("web/values.yaml", values)
        .write("web/templates/pod.yaml", &pod(images));
    env
}

/// A template for a map of parts, as many charts have it.
const MAP: &str = r#""{{ with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}""#;
const STRING: &str = r#"{{ .Values.image | quote }}"#;

/// The overrides that a chart gets.
fn overrides(values: &str, images: &[&str]) -> String {
    let run = irr(&chart(values, images), &format!("override web {TARGET}"));
    assert_eq!(run.code, 0, "{run:?}");
    run.out
}

const SHA: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn ir_01_a_map_of_three_gets_registry_and_repository_only() {
    let values = "image: {registry: quay.io, repository: team/api, tag: v2, pullPolicy: Always}\n";
    let expected = "image:\n  registry: hub.corp:5000\n  repository: quayio/team/api\n";
    assert_eq!(overrides(values, &[MAP]), expected);
}

#[test]
fn ir_02_a_map_without_registry_means_the_docker_hub() {
    let values = "image: {repository: team/api, tag: v2}\n";
    assert_eq!(overrides(values, &[MAP]), "image:\n  repository: hub.corp:5000/dockerio/team/api\n");
}

#[test]
fn ir_03_a_registry_inside_the_repository_stays_there() {
    let values = "image: {repository: quay.io/team/api, tag: v2}\n";
    assert_eq!(overrides(values, &[MAP]), "image:\n  repository: hub.corp:5000/quayio/team/api\n");
}

#[test]
fn ir_04_a_string_stays_a_string() {
    assert_eq!(overrides("image: web:1.2\n", &[STRING]), "image: hub.corp:5000/dockerio/library/web:1.2\n");
}

#[test]
fn ir_05_a_name_of_the_docker_hub_is_below_library() {
    let expected = "image: hub.corp:5000/dockerio/library/web:1.2\n";
    assert_eq!(overrides("image: docker.io/web:1.2\n", &[STRING]), expected);
}

#[test]
fn ir_06_without_a_tag_the_version_of_the_application_or_latest_is_meant() {
    let expected = "image: hub.corp:5000/dockerio/library/web\n";
    assert_eq!(overrides("image: docker.io/library/web\n", &[STRING]), expected);
    let run = irr(&chart("image: docker.io/library/web\n", &[STRING]), "inspect web");
    assert!(run.out.contains("tag: latest\n"), "{}", run.out);
    let run = irr(&chart("image: {repository: a/b, tag: ''}\n", &[MAP]), "inspect web");
    assert!(run.out.contains("tag: \"4.1\"\n"), "{}", run.out);
}

#[test]
fn ir_07_a_digest_is_kept() {
    let values = format!("image: quay.io/team/api@{SHA}\n");
    assert_eq!(overrides(&values, &[STRING]), format!("image: hub.corp:5000/quayio/team/api@{SHA}\n"));
}

#[test]
fn ir_08_a_digest_behind_the_tag_of_a_map_is_kept() {
    let values = format!("image: {{repository: team/api, tag: 'v1@{SHA}'}}\n");
    assert_eq!(overrides(&values, &[MAP]), "image:\n  repository: hub.corp:5000/dockerio/team/api\n");
}

#[test]
fn ir_09_a_tag_and_a_digest_in_one_string_are_an_error_that_names_the_path() {
    let env = chart(&format!("image: quay.io/team/api:v1@{SHA}\n"), &[STRING]);
    let run = irr(&env, &format!("override web {TARGET} -o out.yaml"));
    assert_eq!((run.code, run.out.as_str()), (4, ""));
    assert!(
        run.err.contains("error parsing image in values path 'image': 'quay.io/team/api:v1@sha256:"),
        "{}",
        run.err
    );
    assert!(!env.path().join("out.yaml").exists());
    let run = irr(&env, &format!("override web {TARGET} --allow-tag-and-digest"));
    assert_eq!(run.out, format!("image: hub.corp:5000/quayio/team/api:v1@{SHA}\n"));
    // An image that is not relocated may have any form.
    assert_eq!(irr(&env, "override web -t hub.corp -s docker.io").code, 0);
}

#[test]
fn ir_10_a_number_as_tag_is_told_and_strict_refuses_it() {
    let env = chart("image: {repository: team/api, tag: 3}\n", &[MAP]);
    let run = irr(&env, &format!("override web {TARGET}"));
    assert_eq!(run.code, 0);
    assert_eq!(run.out, "image:\n  repository: hub.corp:5000/dockerio/team/api\n");
    assert!(
        run.err.contains("warning: image.repository: the tag 3 is not a string; quote it"),
        "{}",
        run.err
    );
    let run = irr(&env, &format!("override web {TARGET} --strict"));
    assert_eq!((run.code, run.out.as_str()), (5, ""));
    assert!(run.err.contains("values path 'image.repository'"), "{}", run.err);
}

#[test]
fn ir_11_a_repository_alone_counts_only_if_rendering_proves_it() {
    let image = r#""{{ .Values.image.repository }}:{{ .Chart.AppVersion }}""#;
    let env = chart("image: {repository: team/api}\n", &[image]);
    let run = irr(&env, &format!("override web {TARGET} --strict"));
    assert_eq!((run.code, run.out.as_str()), (0, "image:\n  repository: hub.corp:5000/dockerio/team/api\n"));
    let env = chart("image: {repository: team/api}\n", &["other.io/x:1"]);
    let run = irr(&env, &format!("override web {TARGET}"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
    assert!(
        run.err.contains("image.repository: the map has a repository and no key for a tag"),
        "{}",
        run.err
    );
    assert_eq!(irr(&env, &format!("override web {TARGET} --strict")).code, 5);
}

#[test]
fn ir_12_an_empty_tag_is_an_image_all_the_same() {
    let values = "image: {repository: quay.io/team/api, tag: ''}\n";
    assert_eq!(overrides(values, &[MAP]), "image:\n  repository: hub.corp:5000/quayio/team/api\n");
}

#[test]
fn ir_13_a_repository_of_source_code_is_no_image() {
    let values =
        "git: {repository: 'https://github.com/team/api', tag: v1}\nsource: {repository: github.com/a/b}\n";
    let env = chart(values, &["other.io/x:1"]);
    let run = irr(&env, &format!("override web {TARGET} --strict"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
    let run = irr(&env, "inspect web");
    assert!(!run.out.contains("github.com"), "{}", run.out);
}

#[test]
fn ir_14_a_list_is_written_whole_or_not_at_all() {
    let values =
        "sidecars:\n- {name: a, image: 'team/api:1', ports: [80]}\n- {name: b, image: 'reg.internal/x:1'}\n";
    let env = chart(values, &["reg.internal/y:1"]);
    env.write(
        "web/templates/list.yaml",
        "kind: Pod\napiVersion: v1\nmetadata: {name: list}\nspec:\n  containers: {{ toYaml .Values.sidecars | nindent 4 }}\n",
    );
    let run = irr(&env, &format!("override web {TARGET} --strict"));
    let expected = "sidecars:\n- image: hub.corp:5000/dockerio/team/api:1\n  name: a\n  ports:\n  - 80\n\
                    - image: reg.internal/x:1\n  name: b\n";
    assert_eq!((run.code, run.out.as_str()), (0, expected), "{}", run.err);
    let run = irr(&env, &format!("override web {TARGET} --exclude-pattern sidecars*"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
}

#[test]
fn ir_15_a_template_as_image_is_told_and_strict_refuses_it() {
    let env = chart("image: '{{ .Values.x }}'\n", &["reg.internal/y:1"]);
    let run = irr(&env, &format!("override web {TARGET}"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
    assert!(run.err.contains("warning: image: the value is a template"), "{}", run.err);
    assert_eq!(irr(&env, &format!("override web {TARGET} --strict")).code, 5);
    assert!(irr(&env, "inspect web").out.contains("type: HelmTemplate\n"));
}

#[test]
fn ir_16_other_registries_stay_and_exclusions_win() {
    let values = "image: reg.internal/app:1\nmore: {image: 'quay.io/a/b:1'}\n";
    let images = [STRING, "{{ .Values.more.image }}"];
    assert_eq!(overrides(values, &images), "more:\n  image: hub.corp:5000/quayio/a/b:1\n");
    let run = irr(&chart(values, &images), &format!("override web {TARGET} -e quay.io"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
}

#[test]
fn ir_17_registries_are_compared_in_one_spelling() {
    let values = "a: {image: 'index.docker.io/x/y:1'}\nb: {image: 'quay.io:443/x/y:1'}\nc: {image: 'DOCKER.IO/x/z:1'}\n";
    let images = ["{{ .Values.a.image }}", "{{ .Values.b.image }}", "{{ .Values.c.image }}"];
    let run = irr(&chart(values, &images), "override web -t hub.corp -s DOCKER.IO,QUAY.io:443");
    let expected = "a:\n  image: hub.corp/dockerio/x/y:1\nb:\n  image: hub.corp/quayio/x/y:1\n\
                    c:\n  image: hub.corp/dockerio/x/z:1\n";
    assert_eq!((run.code, run.out.as_str()), (0, expected), "{}", run.err);
}

#[test]
fn ir_18_prefixes_are_made_of_the_registry() {
    let values = "a: {image: 'gcr.io/x:1'}\nb: {image: 'k8s.gcr.io/x:1'}\nc: {image: 'my-reg.io/x:1'}\nd: {image: 'reg:5000/x:1'}\n";
    let images =
        ["{{ .Values.a.image }}", "{{ .Values.b.image }}", "{{ .Values.c.image }}", "{{ .Values.d.image }}"];
    let env = chart(values, &images);
    let run = irr(&env, "override web -t hub.corp -s gcr.io,k8s.gcr.io,my-reg.io,reg:5000");
    let paths = ["hub.corp/gcrio/x:1", "hub.corp/k8sgcrio/x:1", "hub.corp/my-regio/x:1", "hub.corp/reg/x:1"];
    for path in paths {
        assert!(run.out.contains(path), "{path}: {run:?}");
    }
    let run = irr(&env, "override web -t hub.corp -s gcr.io --path-strategy prefix-dotted-registry");
    assert_eq!(run.out, "a:\n  image: hub.corp/gcr.io/x:1\n");
    assert_eq!(irr(&env, "override web -t hub.corp -s gcr.io --path-strategy flat").code, 2);
}

/// A chart with one image of quay.io in a map, and a mapping file.
fn mapped(mapping: &str) -> TestEnv {
    let env = chart("image: {registry: quay.io, repository: team/api, tag: v2}\n", &[MAP]);
    env.write("map.yaml", mapping);
    env
}

#[test]
fn ir_19_a_mapping_says_the_whole_path() {
    let env = mapped("registries:\n  mappings:\n  - {source: quay.io, target: hub.corp/q}\n");
    let run = irr(&env, "override web --registry-file map.yaml");
    assert_eq!((run.code, run.out.as_str()), (0, "image:\n  registry: hub.corp\n  repository: q/team/api\n"));
    let run = irr(&env, "override web --config map.yaml");
    assert_eq!((run.code, run.out.as_str()), (0, "image:\n  registry: hub.corp\n  repository: q/team/api\n"));
}

#[test]
fn ir_20_a_mapping_that_is_not_enabled_does_not_count() {
    let env = mapped("registries:\n  mappings:\n  - {source: quay.io, target: hub.corp/q, enabled: false}\n");
    let run = irr(&env, "override web --registry-file map.yaml");
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
    let run = irr(&env, "override web --registry-file map.yaml -s quay.io -t other.corp");
    assert_eq!(run.out, "image:\n  registry: other.corp\n  repository: quayio/team/api\n");
}

#[test]
fn ir_21_sources_come_from_the_mapping_file() {
    let env = mapped("registries:\n  mappings:\n  - {source: '*.io', target: hub.corp/q}\n");
    let run = irr(&env, "override web --registry-file map.yaml");
    assert_eq!((run.code, run.out.as_str()), (0, "image:\n  registry: hub.corp\n  repository: q/team/api\n"));
}

#[test]
fn ir_22_strict_mode_wants_a_mapping_for_each_source() {
    let env =
        mapped("registries:\n  strictMode: true\n  mappings:\n  - {source: quay.io, target: hub.corp/q}\n");
    let run = irr(&env, "override web --registry-file map.yaml -s gcr.io -t hub.corp");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("registry 'gcr.io' has no enabled mapping in map.yaml"), "{}", run.err);
}

#[test]
fn ir_23_without_strict_mode_the_default_target_counts_then_the_flag() {
    let mapping = "registries:\n  mappings:\n  - {source: gcr.io, target: hub.corp/g}\n";
    let env = mapped(&format!("{mapping}  defaultTarget: fall.back/x\n"));
    let run = irr(&env, "override web --registry-file map.yaml -s quay.io -t hub.corp");
    assert_eq!(run.out, "image:\n  registry: fall.back\n  repository: x/quayio/team/api\n");
    let run = irr(&mapped(mapping), "override web --registry-file map.yaml -s quay.io -t hub.corp");
    assert_eq!(run.out, "image:\n  registry: hub.corp\n  repository: quayio/team/api\n");
    let run = irr(&mapped(mapping), "override web --registry-file map.yaml -s quay.io");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("no target registry is known for images of 'quay.io'"), "{}", run.err);
}

#[test]
fn ir_24_problems_of_the_mapping_file_name_file_and_entry() {
    let table = [
        ("registries:\n  mappings:\n  - {source: a.io, target: hub}\n", "registries.mappings[0].target"),
        ("registries:\n  mappings:\n  - {source: a.io, target: 'hub:99999/x'}\n", "its port is not a number"),
        (
            "registries:\n  mappings:\n  - {source: a.io, target: h/x}\n  - {source: a.io, target: h/y}\n",
            "line 4: registries.mappings[1].source: duplicate source 'a.io'",
        ),
        ("", "the file is empty"),
    ];
    for (mapping, expected) in table {
        let run = irr(&mapped(mapping), "override web --registry-file map.yaml");
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("map.yaml") && run.err.contains(expected), "{}", run.err);
    }
    let env = mapped("");
    env.write("map.txt", "registries: {}\n");
    let run = irr(&env, "override web --registry-file map.txt");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("map.txt") && run.err.contains(".yaml or .yml"), "{}", run.err);
}

#[test]
fn ir_25_a_flat_mapping_file_is_refused_with_the_form_that_is_read() {
    let run = irr(&mapped("docker.io: hub.corp/docker\n"), "override web --registry-file map.yaml");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("hint: write it in the structured form"), "{}", run.err);
    assert!(
        run.err.contains("registries:\n  mappings:\n    - source: docker.io\n      target: hub.corp/docker")
    );
}

/// A chart with a subchart, and one below that.
fn family(dependency: &str, values: &str) -> TestEnv {
    let env = TestEnv::new();
    let chart = format!(
        "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {{name: db, version: '*'{dependency}}}\n"
    );
    env.write("web/Chart.yaml", &chart)
        .write("web/values.yaml", values)
        .write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
        .write("web/charts/db/values.yaml", "image: {repository: team/db, tag: child}\n")
        .write("web/charts/db/templates/pod.yaml", &pod(&[MAP]))
        .write("web/charts/db/charts/deep/Chart.yaml", "apiVersion: v2\nname: deep\nversion: 1.0.0\n")
        .write(
            "web/charts/db/charts/deep/values.yaml",
            "image: {repository: quay.io/team/deep, tag: grandchild}\n",
        )
        .write("web/charts/db/charts/deep/templates/pod.yaml", &pod(&[MAP]));
    env
}

#[test]
fn ir_26_a_subchart_is_named_by_its_alias() {
    let run = irr(&family(", alias: store", ""), &format!("override web {TARGET}"));
    let expected = "store:\n  deep:\n    image:\n      repository: hub.corp:5000/quayio/team/deep\n  \
                    image:\n    repository: hub.corp:5000/dockerio/team/db\n";
    assert_eq!((run.code, run.out.as_str()), (0, expected), "{}", run.err);
}

#[test]
fn ir_27_what_parents_say_counts_and_the_origin_is_known() {
    let env = family("", "db: {image: {tag: parent}, deep: {image: {repository: quay.io/ours/deep}}}\n");
    let run = irr(&env, "inspect web --output-format json");
    assert_eq!(run.code, 0, "{}", run.err);
    let text = run.out.replace([' ', '\n'], "");
    assert!(
        text.contains(r#""repository":"team/db","tag":"parent","source":"db.image.repository","valuePath":"db.image","chart":"web/charts/db","origin":"web/charts/db","rendered":true"#),
        "{text}"
    );
    assert!(
        text.contains(r#""repository":"ours/deep","tag":"grandchild","source":"db.deep.image.repository","valuePath":"db.deep.image","chart":"web/charts/db/charts/deep","origin":"web","rendered":true"#),
        "{text}"
    );
}

#[test]
fn ir_28_a_subchart_that_is_switched_off_is_left_alone() {
    let values = "db: {enabled: false, image: {repository: team/db, tag: x}}\n";
    let run = irr(&family(", condition: db.enabled", values), &format!("override web {TARGET}"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
    let values = "tags: {data: false}\n";
    let run = irr(&family(", tags: [data]", values), &format!("override web {TARGET}"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
}

#[test]
fn ir_29_a_registry_for_all_images_is_replaced_and_never_invented() {
    let image =
        r#""{{ .Values.global.imageRegistry }}/{{ .Values.image.repository }}:{{ .Values.image.tag }}""#;
    let values = "global: {imageRegistry: quay.io}\nimage: {repository: team/api, tag: v2}\n";
    let expected = "global:\n  imageRegistry: hub.corp:5000\nimage:\n  repository: quayio/team/api\n";
    assert_eq!(overrides(values, &[image]), expected);
    assert!(!overrides("image: {repository: team/api, tag: v2}\n", &[MAP]).contains("global"));
}

#[test]
fn ir_30_charts_of_bitnami_get_a_permission() {
    let env = chart("image: {registry: docker.io, repository: bitnami/web, tag: v2}\n", &[MAP]);
    let one = format!("{CHART}home: https://bitnami.com\n");
    let two = format!("{one}sources: ['https://github.com/bitnami/charts']\n");
    let line = format!("override web {TARGET}");
    env.write("web/Chart.yaml", &one);
    assert!(!irr(&env, &line).out.contains("allowInsecureImages"));
    env.write("web/Chart.yaml", &two);
    let expected = "global:\n  security:\n    allowInsecureImages: true\n\
                    image:\n  registry: hub.corp:5000\n  repository: dockerio/bitnami/web\n";
    assert_eq!(irr(&env, &line).out, expected);
    assert!(!irr(&env, &format!("{line} --disable-rules")).out.contains("allowInsecureImages"));
}

#[test]
fn ir_31_what_only_rendering_needs_is_never_in_the_overrides() {
    let env = chart("image: web:1.2\n", &[STRING]);
    env.write("web/Chart.yaml", &format!("{CHART}kubeVersion: '>=1.99.0'\n"));
    env.write("web/templates/need.yaml", "{{ required \"need is needed\" .Values.need }}\n");
    let run = irr(&env, &format!("override web {TARGET} --kube-version 1.99.1 --set need=yes"));
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "image: hub.corp:5000/dockerio/library/web:1.2\n"),
        "{}",
        run.err
    );
    let run = irr(&env, &format!("override web {TARGET} --kube-version 1.99.1"));
    assert_eq!(run.code, 1);
    assert!(run.err.contains("need is needed") && run.err.contains("--no-validate"), "{}", run.err);
    let run = irr(&env, &format!("override web {TARGET} --no-validate"));
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "image: hub.corp:5000/dockerio/library/web:1.2\n"),
        "{}",
        run.err
    );
}

#[test]
fn ir_32_a_chart_without_values_or_images_gets_empty_overrides() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", CHART);
    let run = irr(&env, &format!("override web {TARGET}"));
    assert_eq!((run.code, run.out.as_str()), (0, "{}\n"));
    assert_eq!(irr(&env, "inspect web").code, 0);
}

#[test]
fn ir_33_charts_that_are_missing_or_broken_have_codes_of_their_own() {
    let env = chart("image: web:1\n", &[STRING]);
    assert_eq!(irr(&env, &format!("override ./none {TARGET}")).code, 2);
    assert_eq!(irr(&env, &format!("override -c charts/none {TARGET}")).code, 2);
    env.write("web/values.yaml", "image: [\n");
    assert_eq!(irr(&env, &format!("override web {TARGET}")).code, 3);
    env.write("web/values.yaml", "").write("web/Chart.yaml", "name: [\n");
    assert_eq!(irr(&env, &format!("override web {TARGET}")).code, 3);
    env.write("web/Chart.yaml", CHART).write("web/templates/pod.yaml", "{{ if }}\n");
    assert_eq!(irr(&env, &format!("override web {TARGET}")).code, 3);
}

#[test]
fn ir_34_flags_that_are_missing_are_listed_in_order() {
    let env = chart("image: web:1\n", &[STRING]);
    let run = irr(&env, "override web");
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("required flags are missing: --source-registries, --target-registry"),
        "{}",
        run.err
    );
    let run = irr(&env, "override web -s docker.io");
    assert!(run.code == 2 && run.err.contains("required flags are missing: --target-registry"), "{run:?}");
    // As from a variable of the shell that is not set.
    let run = irr(&env, "override web --source-registries= --target-registry=");
    assert!(run.code == 2 && run.err.contains("--source-registries, --target-registry"), "{run:?}");
}

#[test]
fn an_unparsable_rendered_image_fails_in_strict_mode() {
    let env = chart("tag: 'a b'\n", &["\"web:{{ .Values.tag }}\""]);
    let run = irr(&env, &format!("override web {TARGET}"));
    assert!(run.code == 0 && run.err.contains("CRITICAL"), "{run:?}");
    let run = irr(&env, &format!("override web {TARGET} --strict"));
    assert!(run.code == 4 && run.err.contains("cannot parse image reference 'web:a b'"), "{run:?}");
}

#[test]
fn strict_mode_of_a_mapping_file_refuses_registries_without_a_mapping() {
    let env = chart("image: quay.io/team/web:1\n", &[STRING]);
    let file = |strict: bool, excluded: &str| {
        let text = "registries:\n  mappings:\n  - {source: docker.io, target: hub.corp/d}\n";
        env.write("map.yaml", &format!("{text}  strictMode: {strict}\nexclude_registries: [{excluded}]\n"));
    };
    file(false, "");
    assert_eq!(irr(&env, "override web --registry-file map.yaml").code, 0);
    file(true, "");
    let run = irr(&env, "override web --registry-file map.yaml");
    assert!(run.code == 2 && run.err.contains("quay.io"), "{run:?}");
    file(true, "quay.io");
    assert_eq!(irr(&env, "override web --registry-file map.yaml").code, 0);
    // What is at its target already needs no mapping.
    file(true, "");
    env.write("web/values.yaml", "image: hub.corp/d/library/web:1\n");
    assert_eq!(irr(&env, "override web --registry-file map.yaml").code, 0);
}

#[test]
fn a_report_about_nothing_says_so() {
    let env = chart("image: quay.io/team/web:1\n", &[STRING]);
    let run = irr(&env, "override web -t hub.corp -s docker.io");
    assert!(run.code == 0 && run.err.contains("web: OK: 0 of 1 images in scope"), "{run:?}");
}

#[test]
fn an_image_that_is_split_over_other_keys_is_moved_with_a_warning() {
    let env =
        chart("image: {name: team/web, tag: v1}\n", &["{{ .Values.image.name }}:{{ .Values.image.tag }}"]);
    let run = irr(&env, &format!("override web {TARGET}"));
    assert!(run.code == 0 && run.err.contains("split over the keys name and tag"), "{run:?}");
}

#[test]
fn inspect_counts_images_by_registry_and_tells_at_level_debug_what_it_found() {
    let env = chart("image: quay.io/team/web:1\n", &[STRING]);
    let run = irr_with(&env, "inspect web", &[("LOG_LEVEL", "DEBUG")]);
    assert!(run.out.contains("registries:\n- inValues: 1\n  registry: quay.io\n  rendered: 1\n"), "{run:?}");
    assert!(run.err.contains("debug: value image of chart web (string, "), "{run:?}");
    assert!(run.err.contains("renders `quay.io/team/web:1` from image"), "{run:?}");
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_out_of_the_working_folder() {
    let env = chart("image: web:1\n", &[STRING]);
    let elsewhere = TestEnv::new();
    std::os::unix::fs::symlink(elsewhere.path(), env.path().join("out")).expect("a link");
    let run = irr(&env, &format!("override web {TARGET} --output-file out/o.yaml"));
    assert!(run.code == 2 && run.err.contains("through a link"), "{run:?}");
    assert!(!elsewhere.path().join("o.yaml").exists());
    elsewhere.write("map.yaml", "registries: {mappings: []}\n");
    assert_eq!(irr(&env, "override web --registry-file out/map.yaml").code, 2);
    assert_eq!(irr(&env, "inspect").code, 2, "no chart here");
    std::fs::create_dir(env.path().join("empty")).expect("a folder");
    assert_eq!(irr(&env, "inspect ./empty").code, 2);
}

/// A chart with a subchart under an alias, each with an image.
fn umbrella() -> TestEnv {
    let env = chart("image: web:1\n", &[]);
    let pod = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: a, image: {STRING}}}]}}\n"
        )
    };
    env.write("web/templates/pod.yaml", &pod("web"));
    env.write(
        "web/Chart.yaml",
        &format!("{CHART}dependencies:\n- {{name: db, version: 1.0.0, alias: store}}\n"),
    )
    .write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
    .write("web/charts/db/values.yaml", "image: quay.io/team/db:2\n")
    .write("web/charts/db/templates/pod.yaml", &pod("db"));
    env
}

#[test]
fn commands_on_a_release_know_its_subcharts() {
    let (env, flag) = (umbrella(), support::cluster::start());
    let pintle = |line: &str| env.pintle(&format!("{line} {flag}"));
    assert!(pintle("install web ./web").starts_with("exit 0"));
    let run = irr(&env, &format!("override --release-name web {TARGET} {flag}"));
    let moved =
        "image: hub.corp:5000/dockerio/library/web:1\nstore:\n  image: hub.corp:5000/quayio/team/db:2\n";
    assert_eq!((run.code, run.out.as_str()), (0, moved), "{run:?}");
    env.write("hub.yaml", moved);
    let run = irr(&env, &format!("validate --release-name web --values hub.yaml {flag}"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(irr(&env, &format!("inspect --release-name web {flag}")).out.contains("team/db"));
    assert!(pintle("images list --release-name web").contains("quay.io/team/db:2"));
    // Helm's records do not hold subcharts.
    assert!(pintle("adopt web --to secret").starts_with("exit 0"));
    for line in [
        format!("override --release-name web {TARGET}"),
        "inspect --release-name web".to_owned(),
        "list --release-name web".to_owned(),
        "validate --release-name web --values hub.yaml".to_owned(),
    ] {
        let run = irr(&env, &format!("{line} {flag}"));
        assert!(run.code == 2 && run.err.contains("--chart-path web-0.1.0.tgz"), "{line}: {run:?}");
        let run = irr(&env, &format!("{line} --chart-path web {flag}"));
        assert_eq!(run.code, 0, "{line}: {run:?}");
    }
    env.write("web/Chart.yaml", &CHART.replace("0.1.0", "0.2.0"));
    let run = irr(&env, &format!("inspect --release-name web --chart-path web {flag}"));
    assert!(run.code == 2 && run.err.contains("was made from web 0.1.0"), "{run:?}");
}

/// A server that answers every request with one of these bodies, and which one.
fn serving(bodies: Vec<Vec<u8>>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address").to_string();
    let chosen = Arc::new(AtomicUsize::new(0));
    let which = Arc::clone(&chosen);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                match stream.read(&mut byte) {
                    Ok(1) => head.push(byte[0]),
                    _ => break,
                }
            }
            let body = &bodies[which.load(Ordering::Relaxed)];
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    (address, chosen)
}

#[test]
fn the_chart_of_a_record_of_helm_is_fetched_from_where_it_came_from() {
    let (env, flag) = (umbrella(), support::cluster::start());
    let packed = || {
        assert!(env.pintle("package web").starts_with("exit 0"));
        std::fs::read(env.path().join("web-0.1.0.tgz")).expect("it was packed")
    };
    let original = packed();
    env.write("web/charts/db/values.yaml", "image: quay.io/team/other:2\n");
    let (server, chosen) = serving(vec![original, packed()]);
    let secret = [("HELM_DRIVER", "secret")];
    let install = format!("install web http://{server}/web-0.1.0.tgz {flag}");
    let installed = env.called("pintle", &install, &secret);
    assert!(installed.starts_with("exit 0"), "{installed}");
    let moved =
        "image: hub.corp:5000/dockerio/library/web:1\nstore:\n  image: hub.corp:5000/quayio/team/db:2\n";
    let run = irr(&env, &format!("override --release-name web {TARGET} {flag}"));
    assert_eq!((run.code, run.out.as_str()), (0, moved), "{run:?}");
    env.write("hub.yaml", moved);
    let lines = [
        "inspect --release-name web",
        "list --release-name web",
        "validate --release-name web --values hub.yaml",
    ];
    for line in lines {
        let run = irr(&env, &format!("{line} {flag}"));
        assert!(run.code == 0 && !run.out.contains("team/other"), "{line}: {run:?}");
    }
    assert!(env.pintle(&format!("images list --release-name web {flag}")).contains("quay.io/team/db:2"));
    // Another chart under the same URL is not taken for the one that was installed.
    chosen.store(1, Ordering::Relaxed);
    for line in lines {
        let run = irr(&env, &format!("{line} {flag}"));
        assert!(run.code == 2 && run.err.contains("its digest is sha256:"), "{line}: {run:?}");
        assert!(run.err.contains("--chart-path web-0.1.0.tgz"), "{line}: {run:?}");
    }
}

#[test]
fn a_record_does_not_choose_files_of_the_user_as_its_chart() {
    let (env, flag) = (umbrella(), support::cluster::start());
    assert!(env.pintle("package web").starts_with("exit 0"));
    let (server, _) = serving(vec![std::fs::read(env.path().join("web-0.1.0.tgz")).expect("it was packed")]);
    let driver = [("HELM_DRIVER", "configmap")];
    let install = format!("install web http://{server}/web-0.1.0.tgz {flag}");
    assert!(env.called("pintle", &install, &driver).starts_with("exit 0"));
    let path = "/api/v1/namespaces/default/configmaps/sh.helm.release.v1.web.v1";
    let mut record = json::read(support::cluster::read(&flag, path).as_bytes()).expect("the record");
    let packed = record.get("data").and_then(|data| data.get("release")).and_then(Node::as_str);
    let release = pintle::release::helm::unpack(packed.expect("it is there").as_bytes()).expect("a record");
    let release = String::from_utf8(release).expect("JSON");
    let encode = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let file = |source: &str| encode(&format!("digest: DIGEST\nurl: {source}\n"));
    let at = release.find("\"name\":\"pintle.dev/chart-source.yaml\"").expect("the source is recorded");
    let data = release[at..].find("\"data\":\"").expect("it has data") + at + 8;
    let end = release[data..].find('"').expect("it ends") + data;
    for source in [
        env.path().join("web-0.1.0.tgz").display().to_string(),
        format!("file://{}", env.path().join("web-0.1.0.tgz").display()),
        "git+https://example.com/web?ref=main".to_owned(),
        "./web-0.1.0.tgz".to_owned(),
    ] {
        let forged = format!("{}{}{}", &release[..data], file(&source), &release[end..]);
        let packed = pintle::release::helm::pack(forged.as_bytes());
        let body = record.as_map_mut().expect("a map").get_mut("data").and_then(Node::as_map_mut);
        body.expect("a map").insert("release".into(), packed.into());
        let text = json::write_raw(&record).expect("JSON");
        let line = format!("PUT {path}");
        let answer = support::cluster::request(&flag, &line, &String::from_utf8_lossy(&text));
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        let run = irr_with(&env, &format!("inspect --release-name web {flag}"), &driver);
        assert!(run.code == 2 && run.err.contains("no URL of a repository or registry"), "{source}: {run:?}");
        // A resource version of before would be a conflict.
        record = json::read(support::cluster::read(&flag, path).as_bytes()).expect("the record");
    }
}

#[test]
fn an_image_of_a_release_that_its_chart_does_not_render_is_an_error() {
    let (env, flag) = (umbrella(), support::cluster::start());
    // Not declared, so that the record does not even say that there was a subchart.
    env.write("web/Chart.yaml", CHART);
    let installed = env.called("pintle", &format!("install web ./web {flag}"), &[("HELM_DRIVER", "secret")]);
    assert!(installed.starts_with("exit 0"), "{installed}");
    env.write("hub.yaml", "image: hub.corp/web:1\n");
    for line in [
        format!("override --release-name web {TARGET}"),
        "inspect --release-name web".to_owned(),
        "list --release-name web".to_owned(),
        "validate --release-name web --values hub.yaml".to_owned(),
    ] {
        let run = irr(&env, &format!("{line} {flag}"));
        assert!(run.code == 4 && run.err.contains("quay.io/team/db:2 (Pod/db)"), "{line}: {run:?}");
        assert_eq!(irr(&env, &format!("{line} --chart-path web {flag}")).code, 0, "{line}");
    }
}

const RELEASES: &str = r#"
- name: web
  namespace: team
  version: 1
  info: {status: deployed}
  chart:
    metadata: {name: web, version: 1.2.3, apiVersion: v2}
    values: {image: {repository: team/api, tag: v1}}
    templates:
    - {name: templates/pod.yaml, data: POD}
  config: {image: {tag: v2}}
- name: odd
  namespace: other
  version: 1
  info: {status: deployed}
  chart:
    metadata: {name: odd, version: 0.1.0, apiVersion: v2}
    values: {image: a/b}
    templates:
    - {name: templates/bad.yaml, data: e3sgaWYgfX0=}
"#;

/// A directory with a file of two releases, the second of which is broken.
fn releases() -> TestEnv {
    use std::fmt::Write as _;
    let env = TestEnv::new();
    let mut pod = String::new();
    for chunk in pod_of_release().as_bytes().chunks(3) {
        let mut group = [0_u8; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        for at in 0..4 {
            let letter = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                [(bits >> (18 - 6 * at) & 63) as usize];
            let shown = if at <= chunk.len() { letter as char } else { '=' };
            write!(pod, "{shown}").expect("text can be written to a string");
        }
    }
    env.write("releases.yaml", &RELEASES.replace("POD", &pod));
    env
}

fn pod_of_release() -> String {
    pod(&[r#""{{ .Values.image.repository }}:{{ .Values.image.tag }}""#])
}

const MEMORY: [(&str, &str); 2] = [("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "releases.yaml")];

#[test]
fn ir_35_all_namespaces_cannot_be_asked_for_together_with_one() {
    let env = releases();
    for other in ["-c web", "web", "-r web", "-n team"] {
        let run = irr_with(&env, &format!("inspect -A {other}"), &MEMORY);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("--all-namespaces"), "{}", run.err);
    }
}

#[test]
fn ir_36_a_release_that_fails_is_told_and_listed() {
    let run = irr_with(&releases(), "inspect --all-namespaces", &MEMORY);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("warning: other/odd is skipped: "), "{}", run.err);
    assert!(run.out.contains("skipped:\n- reason: "), "{}", run.out);
    assert!(run.out.contains("  release: other/odd\n"), "{}", run.out);
    assert!(run.out.contains("  releaseName: web\n") && run.out.contains("tag: v2\n"), "{}", run.out);
}

#[test]
fn a_release_is_found_by_its_name_in_the_namespace_that_helm_says() {
    let env = releases();
    let variables = [MEMORY[0], MEMORY[1], ("HELM_NAMESPACE", "team"), ("HELM_PLUGIN_DIR", "/x")];
    let run = irr_with(&env, &format!("override web {TARGET}"), &variables);
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "image:\n  repository: hub.corp:5000/dockerio/team/api\n"),
        "{}",
        run.err
    );
    let run = irr_with(&env, &format!("override --release-name web --namespace team {TARGET}"), &MEMORY);
    assert_eq!(run.code, 0, "{}", run.err);
    env.write("over.yaml", "image: {repository: x/y}\n");
    let run = irr_with(&env, "validate web -n team --values over.yaml -o out.yaml", &MEMORY);
    assert_eq!((run.code, run.out.as_str()), (0, "web renders with these values.\n"), "{}", run.err);
    let text = std::fs::read_to_string(env.path().join("out.yaml")).unwrap();
    assert!(text.contains("image: \"x/y:v2\""), "{text}");
}

#[test]
fn ir_37_a_format_that_does_not_exist_is_refused() {
    let env = chart("image: web:1\n", &[STRING]);
    for line in ["inspect web --output-format xml", "override web -t h -s docker.io --output-format xml"] {
        let run = irr(&env, line);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("invalid output format `xml`"), "{}", run.err);
    }
    let run = irr(&env, &format!("override web {TARGET} --output-format json"));
    assert_eq!(run.out, "{\n  \"image\": \"hub.corp:5000/dockerio/library/web:1\"\n}\n");
}

#[test]
fn ir_38_files_that_exist_are_not_overwritten() {
    let env = chart("image: web:1\n", &[STRING]);
    env.write("out.yaml", "mine\n");
    for line in
        [format!("override web {TARGET} -o out.yaml"), "inspect web --output-file out.yaml".to_owned()]
    {
        let run = irr(&env, &line);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("`out.yaml` already exists"), "{}", run.err);
    }
    let skeleton = "inspect web --generate-config-skeleton out.yaml";
    assert_eq!(irr(&env, skeleton).code, 2);
    assert_eq!(std::fs::read_to_string(env.path().join("out.yaml")).unwrap(), "mine\n");
    assert_eq!(irr(&env, &format!("{skeleton} --overwrite-skeleton")).code, 0);
    let text = std::fs::read_to_string(env.path().join("out.yaml")).unwrap();
    assert!(text.contains("  - source: docker.io\n    target: registry.local/dockerio\n"), "{text}");
    let run = irr(&env, "override web --registry-file out.yaml");
    assert_eq!(run.out, "image: registry.local/dockerio/library/web:1\n", "{}", run.err);
}

#[test]
fn ir_39_a_dry_run_writes_nothing() {
    let env = chart("image: web:1\n", &[STRING]);
    let run = irr(&env, &format!("override web {TARGET} --dry-run -o out.yaml"));
    assert_eq!((run.code, run.out.as_str()), (0, "image: hub.corp:5000/dockerio/library/web:1\n"));
    assert!(!env.path().join("out.yaml").exists());
    let run = irr(&env, &format!("override web {TARGET} -o out.yaml"));
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(env.path().join("out.yaml").exists());
    let left: Vec<_> =
        std::fs::read_dir(env.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn ir_40_validating_tells_what_is_wrong_by_its_code() {
    let env = chart("image: web:1\n", &[STRING]);
    env.write("good.yaml", "image: x:2\n").write("bad.yaml", "image: [\n");
    env.write("web/templates/need.yaml", "{{ if .Values.no }}{{ fail \"no, no\" }}{{ end }}\n");
    let run = irr(&env, "validate web -f good.yaml");
    assert_eq!((run.code, run.out.as_str()), (0, "web renders with these values.\n"), "{}", run.err);
    let run = irr(&env, "validate -c web -f good.yaml --set no=true");
    assert!(run.code == 1 && run.err.contains("no, no"), "{run:?}");
    assert_eq!(irr(&env, "validate web --values bad.yaml").code, 2);
    let run = irr(&env, "validate web --values none.yaml");
    assert!(run.code == 2 && run.err.contains("none.yaml"), "{run:?}");
    assert_eq!(irr(&env, "validate web").code, 2);
}

#[test]
fn ir_41_strict_validating_finds_what_has_no_value() {
    let env = chart("image: web:1\n", &[STRING]);
    env.write("v.yaml", "{}\n").write(
        "web/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: x{{ .Values.missing }}\n",
    );
    assert_eq!(irr(&env, "validate web -f v.yaml").code, 0);
    let run = irr(&env, "validate web -f v.yaml --strict");
    assert_eq!(run.code, 5);
    assert!(
        run.err.contains("web/templates/config.yaml, as rendered, line 5: `<no value>` in"),
        "{}",
        run.err
    );
    assert_eq!(irr(&env, "validate web -f v.yaml --strict --set missing=y").code, 0);
}

#[test]
fn ir_42_the_mapping_file_is_kept_by_config() {
    let env = TestEnv::new();
    let read = || std::fs::read_to_string(env.path().join("registry-mappings.yaml")).unwrap();
    assert_eq!(irr(&env, "config --list").code, 0);
    assert_eq!(irr(&env, "config --source quay.io --remove").code, 0);
    let run = irr(&env, "config --source quay.io --target hub.corp/q");
    assert_eq!((run.code, run.out.as_str()), (0, "registry-mappings.yaml: added quay.io -> hub.corp/q\n"));
    assert_eq!(read(), "registries:\n  mappings:\n  - source: quay.io\n    target: hub.corp/q\n");
    let run = irr(&env, "config --source quay.io --target hub.corp/r");
    assert_eq!(run.out, "registry-mappings.yaml: changed quay.io -> hub.corp/r\n");
    let run = irr(&env, "config --list");
    assert!(run.out.contains("quay.io") && run.out.contains("hub.corp/r"), "{}", run.out);
    assert_eq!(irr(&env, "config --source gcr.io --remove").code, 0);
    let run = irr(&env, "config --source quay.io --remove");
    assert_eq!(run.out, "registry-mappings.yaml: removed quay.io\n");
    assert_eq!(read(), "registries:\n  mappings: []\n");
    let run = irr(&env, "config --source quay.io");
    assert!(run.code == 2 && run.err.contains("required flags are missing: --target"), "{run:?}");
    assert_eq!(irr(&env, "config --source x.y --target a/b --file map.txt").code, 2);
}

#[test]
fn ir_43_relative_paths_do_not_lead_out_of_the_working_folder() {
    let env = chart("image: web:1\n", &[STRING]);
    let lines = [
        format!("override --chart-path ../../etc {TARGET}"),
        format!("override web {TARGET} -o ../x.yaml"),
        format!("override web {TARGET} -o web/../../x.yaml"),
        "override web --registry-file ../map.yaml".to_owned(),
        "inspect web --generate-config-skeleton ../x.yaml".to_owned(),
        format!("override web {TARGET} --report ../x.json"),
        "config --list --file ../x.yaml".to_owned(),
    ];
    for line in lines {
        let run = irr(&env, &line);
        assert_eq!(run.code, 2, "{line}: {run:?}");
        assert!(run.err.contains("path traversal"), "{line}: {}", run.err);
    }
    let whole = env.path().join("whole.yaml");
    let run = irr(&env, &format!("override web {TARGET} -o {}", whole.display()));
    assert!(run.code == 0 && whole.exists(), "{run:?}");
}

#[test]
fn ir_44_ecr_gets_names_that_it_accepts() {
    let env = chart(
        "image: docker.io/MyApp/Image:latest\nmore: {image: 'team/my_api:V_1'}\n",
        &[STRING, "{{ .Values.more.image }}"],
    );
    let run = irr(&env, "override web -s docker.io -t 123456789012.dkr.ecr.eu-west-1.amazonaws.com");
    let expected = "image: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/dockerio/myapp/image:latest\n\
                    more:\n  image: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/dockerio/team/my-api:V_1\n";
    assert_eq!((run.code, run.out.as_str()), (0, expected), "{}", run.err);
    // In other registries the name is invalid, and does not keep the others from being relocated.
    let run = irr(&env, "override web -s docker.io -t hub.corp");
    assert_eq!((run.code, run.out.as_str()), (0, "more:\n  image: hub.corp/dockerio/team/my_api:V_1\n"));
    assert!(run.err.contains("its path has upper-case letters"), "{}", run.err);
    assert_eq!(irr(&env, "override web -s docker.io -t hub.corp --strict").code, 4);
}

#[test]
fn ir_45_a_source_with_illegal_characters_is_refused() {
    let env = chart("image: web:1\n", &[STRING]);
    let run = irr(&env, "override web -t hub.corp -s foo;bar");
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("Invalid source registry 'foo;bar': contains illegal characters"),
        "{}",
        run.err
    );
}

#[test]
fn ir_46_rendered_again_only_the_images_of_the_sources_differ() {
    let values =
        "image: {repository: team/api, tag: v2}\nside: {image: 'reg.internal/x:1'}\nnote: team/api\n";
    let env = chart(values, &[MAP, "{{ .Values.side.image }}"]);
    env.write(
        "web/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  note: {{ .Values.note }}\n",
    );
    let run = irr(&env, &format!("override web {TARGET} -o over.yaml"));
    assert_eq!(run.code, 0, "{}", run.err);
    let (before, after) = (env.pintle("template web"), env.pintle("template web -f over.yaml"));
    let differs: Vec<_> =
        before.lines().zip(after.lines()).filter(|(before, after)| before != after).collect();
    assert_eq!(
        differs,
        [("  - image: \"team/api:v2\"", "  - image: \"hub.corp:5000/dockerio/team/api:v2\"")]
    );
    assert_eq!(before.lines().count(), after.lines().count());
}

#[test]
fn ir_47_two_runs_give_the_same_bytes() {
    let env = family("", "a: {image: 'x/y:1'}\nb: {image: 'z/y:1'}\n");
    for line in [
        format!("override web {TARGET}"),
        "inspect web".to_owned(),
        "inspect web --output-format json".to_owned(),
    ] {
        let (first, second) = (irr(&env, &line), irr(&env, &line));
        assert_eq!((first.code, first.out, first.err), (second.code, second.out, second.err));
    }
}

#[test]
fn the_report_has_tiers_and_the_threshold_a_code() {
    let env = chart("image: web:1\n", &[STRING, "docker.io/written/there:1"]);
    let line = format!("override web {TARGET}");
    let run = irr(&env, &line);
    assert_eq!(run.code, 0);
    assert!(run.err.ends_with("web: CRITICAL: 50.0% images matched (1/2 failed)\n"), "{}", run.err);
    assert!(run.err.contains("web/templates/pod.yaml:8"), "{}", run.err);
    let run = irr(&env, &format!("{line} --threshold 60"));
    assert_eq!((run.code, run.out.as_str()), (4, ""));
    assert_eq!(irr(&env, &format!("{line} --threshold 50")).code, 0);
    assert_eq!(irr(&env, &format!("{line} --threshold 101")).code, 2);
    assert_eq!(irr(&env, &format!("{line} --strict")).code, 5);
    let run = irr(&env, &format!("{line} --report report.json"));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let report = std::fs::read_to_string(env.path().join("report.json")).unwrap();
    let start = "{\n  \"chart\": \"web\",\n  \"status\": \"CRITICAL\",\n  \"details\": \"50.0% images matched (1/2 failed)\",\n  \"proved\": true,";
    assert!(report.starts_with(start), "{report}");
    assert!(irr(&env, &format!("{line} --report -")).err.starts_with(start));
}

#[test]
fn the_log_level_can_be_set() {
    let env = chart("image: {repository: web, tag: 1}\n", &[MAP]);
    let line = format!("override web {TARGET}");
    assert_eq!(irr_with(&env, &line, &[("LOG_LEVEL", "ERROR")]).err, "");
    let run = irr(&env, &format!("{line} --log-level warn"));
    assert!(run.err.starts_with("warning: ") && run.err.lines().count() == 1, "{}", run.err);
    assert!(irr_with(&env, &line, &[("LOG_LEVEL", "DEBUG")]).err.contains("rendered "));
    assert_eq!(irr(&env, &format!("{line} --log-level loud")).code, 2);
}

#[test]
fn values_are_chosen_by_their_paths() {
    let env = chart(
        "a: {image: 'x/y:1'}\nb: {image: 'x/z:1'}\n",
        &["{{ .Values.a.image }}", "{{ .Values.b.image }}"],
    );
    let run = irr(&env, &format!("override web {TARGET} --include-pattern b"));
    assert_eq!(run.out, "b:\n  image: hub.corp:5000/dockerio/x/z:1\n", "{}", run.err);
    let run = irr(&env, "inspect web --exclude-pattern b.* -s docker.io");
    assert!(run.out.contains("a.image") && !run.out.contains("b.image\n"), "{}", run.out);
    assert!(irr(&env, "inspect web -s gcr.io").out.contains("images: []\n"));
}

#[test]
fn the_chart_of_the_working_directory_is_the_default() {
    let env = TestEnv::new();
    env.write("Chart.yaml", CHART).write("values.yaml", "image: web:1\n").write(".helmignore", ".bin/\n");
    let run = irr(&env, "inspect");
    assert!(run.code == 0 && run.out.contains("repository: library/web\n"), "{run:?}");
    assert_eq!(irr(&TestEnv::new(), "inspect").code, 2);
    assert_eq!(irr(&env, "inspect . -c .").code, 2);
}

#[test]
fn the_irr_entry_point_has_only_the_image_commands() {
    let env = TestEnv::new();
    let run = irr(&env, "--help");
    assert!(run.code == 0 && run.out.contains("Usage:\n  irr [command]\n"), "{}", run.out);
    assert!(run.out.contains("    irr inspect ./web\n") && !run.out.contains("pintle images"), "{}", run.out);
    let run = irr(&env, "rewrite --help");
    assert!(run.out.contains("pintle template web ./web | irr rewrite --registry-file"), "{}", run.out);
    let run = irr(&env, "override --help");
    assert!(run.out.contains("  irr override [CHART|RELEASE] [flags]"), "{}", run.out);
    assert_eq!(irr(&env, "install").code, 2);
}
