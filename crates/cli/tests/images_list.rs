//! `images list`: images, their users and their digests.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::registries;
use crate::support;

use registries::fake::Fake;
use registries::{LayoutBuilder, Made};
use support::TestEnv;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 0.1.0\n";

fn pod(name: &str, image: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\nspec:\n  containers:\n  - image: {image}\n"
    )
}

/// A chart with two pods of one image, and one of another.
fn chart(front: &str) -> TestEnv {
    let env = TestEnv::new();
    let image = r#""{{ .Values.image.repository }}:{{ .Values.image.tag }}""#;
    env.write("web/Chart.yaml", CHART)
        .write(
            "web/values.yaml",
            &format!("image: {{repository: {front}nginx, tag: '1.27'}}\nother: quay.io/a/b:2\n"),
        )
        .write("web/templates/a.yaml", &pod("a", image))
        .write("web/templates/b.yaml", &pod("b", image))
        .write("web/templates/c.yaml", &pod("c", "{{ .Values.other }}"));
    env
}

#[test]
fn images_are_listed_with_their_uses_and_values() {
    let env = chart("");
    let printed = env.pintle("images list ./web");
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[1..],
        [
            vec!["---", "stdout"],
            vec!["IMAGE", "USED", "BY", "VALUES"],
            vec!["docker.io/library/nginx:1.27", "Pod/a", "image.repository"],
            vec!["docker.io/library/nginx:1.27", "Pod/b", "image.repository"],
            vec!["quay.io/a/b:2", "Pod/c", "other"],
        ],
        "{printed}"
    );
    let printed =
        env.pintle("images ls ./web --unique --from-registry quay.io -o csv --set other=quay.io/x:3");
    assert!(
        printed.ends_with("image,registry,repository,tag,digest\nquay.io/x:3,quay.io,x,3,\n"),
        "{printed}"
    );
}

#[test]
fn images_are_listed_as_json_yaml_and_an_sbom() {
    let env = chart("");
    let printed = env.pintle("images list ./web -o json");
    for part in [
        r#""image": "docker.io/library/nginx:1.27""#,
        r#""written": "nginx:1.27""#,
        r#""field": "spec.containers[0].image""#,
        r#""template": "web/templates/a.yaml""#,
        r#""image.repository""#,
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(env.pintle("images list ./web -o yaml").contains("- image: docker.io/library/nginx:1.27\n"));
    let bill = env.pintle("images list ./web -o cyclonedx");
    assert!(bill.contains(r#""bomFormat": "CycloneDX""#), "{bill}");
    assert!(bill.contains(r#""name": "pintle:valuesPath""#), "{bill}");
    assert_eq!(bill, env.pintle("images list ./web -o cyclonedx"));
    let printed = env.pintle("images list ./web -o xml");
    assert!(
        printed.starts_with("exit 2\n") && printed.contains("table, json, yaml, csv, cyclonedx"),
        "{printed}"
    );
}

/// A registry with an image for two platforms.
fn filled() -> (Fake, Made) {
    let fake = Fake::honest();
    let index = index(1);
    put(&fake, "1.27", &index);
    (fake, index)
}

fn index(seed: u64) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let maker = LayoutBuilder::new(folder.path());
    let amd = maker.image("amd64", &registries::noise(100, seed));
    let arm = maker.image("arm64", &registries::noise(100, seed + 1));
    maker.index(&[("amd64", &amd), ("arm64", &arm)])
}

fn put(fake: &Fake, tag: &str, made: &Made) {
    let mut state = fake.state.lock().unwrap();
    for reference in [tag.to_owned(), made.digest.to_string()] {
        state.manifests.insert(("nginx".into(), reference), (made.media_type.clone(), made.bytes.clone()));
    }
}

#[test]
fn digests_are_resolved_by_registries() {
    let (fake, index) = filled();
    let env = chart(&fake.name(""));
    let printed = env.pintle(&format!("images list ./web --resolve -o json --from-registry {}", fake.host));
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    assert!(printed.contains(&format!(r#""digest": "{}""#, index.digest)), "{printed}");
    assert!(printed.contains(r#""platform": "linux/arm64""#), "{printed}");
    let bill = env.pintle(&format!("images list ./web --resolve -o cyclonedx --from-registry {}", fake.host));
    assert!(bill.contains("pkg:oci/nginx@sha256%3A"), "{bill}");
    let printed = env.pintle("images list ./web --resolve --set image.tag=none --set other=not:here:at:all");
    assert!(printed.starts_with("exit 1\n") && printed.contains("no such image"), "{printed}");
}

#[test]
fn a_lock_detects_moved_tags() {
    let (fake, before) = filled();
    let env = chart(&fake.name(""));
    let only = format!("--from-registry {}", fake.host);
    let printed = env.pintle(&format!("images list ./web --lock Images.lock {only}"));
    assert!(printed.contains("Images.lock: 1 image\n"), "{printed}");
    let lock = std::fs::read_to_string(env.path().join("Images.lock")).unwrap();
    assert!(lock.contains("kind: ImagesLock") && lock.contains("arch: linux/arm64"), "{lock}");
    let printed = env.pintle(&format!("images list ./web --verify Images.lock {only}"));
    assert!(printed.contains("Images.lock: 1 image is unchanged"), "{printed}");
    let after = index(7);
    put(&fake, "1.27", &after);
    let printed = env.pintle(&format!("images list ./web --verify Images.lock {only}"));
    let change = format!("nginx:1.27 was {} and is {}", before.digest, after.digest);
    assert!(printed.starts_with("exit 1\n") && printed.contains(&change), "{printed}");
    let printed = env.pintle(&format!("images list ./web --verify web/Chart.yaml {only}"));
    assert!(printed.starts_with("exit 2\n") && printed.contains("this is not an image lock"), "{printed}");
}
