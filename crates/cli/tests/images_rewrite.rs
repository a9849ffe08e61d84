//! `images rewrite`, as a filter, as a post-renderer of the real Helm, and by --rewrite-images

use crate::support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::TestEnv;

const PINTLE: &str = env!("CARGO_BIN_EXE_pintle");
const FLAGS: &str = "-t hub.corp:5000 -s docker.io,quay.io";

/// A chart with an image in values, one fixed in a template, and one in a hook.
fn chart() -> TestEnv {
    let env = TestEnv::new();
    env
        .write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/values.yaml", "image: quay.io/team/api:1\n")
        .write(
            "web/templates/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web  # stays\nspec:\n  containers:\n  - name: a\n    image: {{ \
             .Values.image | quote }}\n  - {name: b, image: 'busybox:1'}  # stays, too\n",
        )
        .write(
            "web/templates/hook.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: \
             pre-install}\nspec:\n  template:\n    spec:\n      containers:\n      - name: m\n        image: web:1\n        \
             args: [web:1]\n",
        );
    env
}

/// The objects of [`chart`] before the rewrite.
fn moved(text: &str) -> String {
    text.replace("quay.io/team/api:1", "hub.corp:5000/quayio/team/api:1")
        .replace("'busybox:1'", "'hub.corp:5000/dockerio/library/busybox:1'")
        .replace("image: web:1", "image: hub.corp:5000/dockerio/library/web:1")
}

fn filter(env: &TestEnv, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(PINTLE)
        .args(arguments)
        .current_dir(env.path())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads all of it");
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn template(env: &TestEnv) -> String {
    let output = Command::new(PINTLE)
        .args(["template", "rel", "web"])
        .current_dir(env.path())
        .output()
        .expect("the program can be run");
    text(&output.stdout)
}

#[test]
fn only_images_change_and_a_second_time_nothing_does() {
    let env = chart();
    let before = template(&env);
    let arguments = ["images", "rewrite", "-t", "hub.corp:5000", "-s", "docker.io,quay.io", "--list"];
    let output = filter(&env, &arguments, &before);
    assert_eq!(text(&output.stdout), moved(&before));
    assert!(before.contains("args: [web:1]") && text(&output.stdout).contains("args: [web:1]"));
    let listed = text(&output.stderr);
    assert!(
        listed.contains("Job/migrate spec.template.spec.containers[0].image: web:1 -> hub.corp"),
        "{listed}"
    );
    let again = filter(&env, &arguments, &moved(&before));
    assert_eq!((text(&again.stdout), text(&again.stderr)), (moved(&before), String::new()));
}

#[test]
fn a_mapping_file_selects_the_target_of_images() {
    let env = chart();
    let mapping = "registries:\n  mappings:\n  - source: quay.io\n    target: hub.corp/q\n";
    env.write("mappings.yaml", mapping);
    let output = filter(&env, &["images", "rewrite", "--registry-file", "mappings.yaml"], &template(&env));
    assert_eq!(text(&output.stdout), template(&env).replace("quay.io/team", "hub.corp/q/team"));
    let whole = env.pintle("template rel web --rewrite-images=mappings.yaml");
    assert!(whole.contains("\"hub.corp/q/team/api:1\"") && whole.contains("'busybox:1'"), "{whole}");
}

#[test]
fn nothing_is_printed_when_it_fails() {
    let env = chart();
    let broken = format!("{}---\n# Source: x.yaml\nimage: [\n", template(&env));
    let output = filter(&env, &["images", "rewrite", "-t", "hub.corp", "-s", "docker.io"], &broken);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    assert!(text(&output.stderr).contains("(x.yaml) is not valid YAML"), "{}", text(&output.stderr));
    let output = filter(&env, &["images", "rewrite"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("--source-registries, --target-registry"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn rendering_commands_rewrite_images_too() {
    let env = chart();
    let flags = "--rewrite-images --target-registry hub.corp:5000 --source-registries docker.io,quay.io";
    let plain = env.pintle("template rel web");
    assert_eq!(env.pintle(&format!("template rel web {flags}")), moved(&plain));
    let preview = env.pintle(&format!("install rel web --dry-run=client {flags}"));
    for image in ["quayio/team/api:1", "dockerio/library/busybox:1", "dockerio/library/web:1"] {
        assert!(preview.contains(&format!("hub.corp:5000/{image}")), "{preview}");
    }
    let excluded = env.pintle(&format!("template rel web {flags} --exclude-registries quay.io"));
    assert!(
        excluded.contains("\"quay.io/team/api:1\"") && excluded.contains("library/busybox:1"),
        "{excluded}"
    );
    let alone = env.pintle("install rel web --dry-run=client --registry-file x.yaml");
    assert!(
        alone.starts_with("exit 2")
            && alone.contains("--registry-file has no effect without --rewrite-images"),
        "{alone}"
    );
}

/// The real Helm in one of its versions, where `cargo xtask` has built it.
fn helm(version: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let helm = cache.join("pintle").join(format!("helm-v{version}/helm"));
    helm.is_file().then_some(helm)
}

fn run_helm(helm: &Path, env: &TestEnv, arguments: &[&str]) -> String {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let programs = env.path().join(".programs");
    std::fs::create_dir_all(&programs).expect("folders can be made");
    let link = programs.join("pintle");
    if !link.exists() {
        std::os::unix::fs::symlink(PINTLE, &link).expect("links can be made");
    }
    let output = Command::new(helm)
        .args(arguments)
        .current_dir(env.path())
        .env_clear()
        .env("HOME", env.path())
        .env("PATH", &programs)
        .env("HELM_PLUGINS", plugins)
        .output()
        .expect("Helm can be run");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_real_helm_4_uses_it_as_a_plugin_for_hooks_too() {
    let Some(helm) = helm("4.3.1") else { return };
    let env = chart();
    let mut arguments = vec!["template", "rel", "web", "--post-renderer", "irr-rewrite"];
    for argument in FLAGS.split(' ') {
        arguments.extend(["--post-renderer-args", argument]);
    }
    let rendered = run_helm(&helm, &env, &arguments);
    for image in ["quayio/team/api:1", "dockerio/library/busybox:1", "dockerio/library/web:1"] {
        assert!(rendered.contains(&format!("hub.corp:5000/{image}")), "{rendered}");
    }
}

#[test]
fn the_real_helm_3_uses_it_as_a_post_renderer() {
    let Some(helm) = helm("3.22.0") else { return };
    let env = chart();
    let mut arguments = vec!["template", "rel", "web", "--post-renderer", PINTLE];
    for argument in ["images", "rewrite"].into_iter().chain(FLAGS.split(' ')) {
        arguments.extend(["--post-renderer-args", argument]);
    }
    let rendered = run_helm(&helm, &env, &arguments);
    assert!(rendered.contains("\"hub.corp:5000/quayio/team/api:1\""), "{rendered}");
    assert!(rendered.contains("'hub.corp:5000/dockerio/library/busybox:1'}  # stays, too"), "{rendered}");
    // Helm 3 does not pass hooks to post-renderers.
    assert!(rendered.contains("image: web:1"), "{rendered}");
}
