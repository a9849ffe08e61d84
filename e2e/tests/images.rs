//! Images that are moved on the way to the cluster: what is installed, what is recorded, and what hooks run.

use pintle_e2e::{Program, TestEnv};

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers:
        - {name: init, image: 'busybox:1.36'}
      containers:
        - {name: web, image: '{{ .Values.image }}'}
";

const HOOK: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: check
  annotations: {helm.sh/hook: test}
spec:
  restartPolicy: Never
  containers:
    - {name: check, image: 'quay.io/team/check:1'}
";

const MAPPING: &str = "\
registries:
  mappings:
    - {source: docker.io, target: hub.corp/hub}
    - {source: quay.io, target: hub.corp/q}
";

fn image(env: &TestEnv, list: &str) -> String {
    let object = env.object("apps/v1", "deployments", "web").expect("was installed");
    object["spec"]["template"]["spec"][list][0]["image"].as_str().expect("an image").to_owned()
}

#[test]
fn images_are_moved_on_the_way_and_recorded_so() {
    let Some(env) = TestEnv::new("images_are_moved_on_the_way") else { return };
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/values.yaml", "image: quay.io/team/web:1\n");
    env.write("chart/templates/deployment.yaml", DEPLOYMENT);
    env.write("chart/templates/check.yaml", HOOK);
    env.write("mappings.yaml", MAPPING);
    env.run(Program::Pintle, &["install", "web", "chart", "--rewrite-images=mappings.yaml"]).succeeded();
    assert_eq!(image(&env, "containers"), "hub.corp/q/team/web:1");
    assert_eq!(image(&env, "initContainers"), "hub.corp/hub/library/busybox:1.36");
    let all = env.run(Program::Pintle, &["get", "all", "web"]).succeeded().stdout;
    for moved in ["hub.corp/q/team/web:1", "hub.corp/hub/library/busybox:1.36", "hub.corp/q/team/check:1"] {
        assert!(all.contains(moved), "{moved} is not in {all}");
    }
    // Without the flag, the next version has the images of the chart again; a rollback restores the rewritten ones.
    env.run(Program::Pintle, &["upgrade", "web", "chart"]).succeeded();
    assert_eq!(image(&env, "containers"), "quay.io/team/web:1");
    env.run(Program::Pintle, &["rollback", "web", "1"]).succeeded();
    assert_eq!(image(&env, "containers"), "hub.corp/q/team/web:1");
}

#[test]
fn overrides_for_a_release_are_made_from_what_is_recorded() {
    let Some(env) = TestEnv::new("overrides_for_a_release") else { return };
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/values.yaml", "image: docker.io/team/web:1\n");
    env.write("chart/templates/deployment.yaml", DEPLOYMENT);
    env.run(Program::Pintle, &["install", "web", "chart", "--set", "image=quay.io/team/web:2"]).succeeded();
    let flags = ["--target-registry", "hub.corp", "--source-registries", "quay.io"];
    let made = env.run(Program::Pintle, &[&["images", "override", "web"][..], &flags].concat()).succeeded();
    assert_eq!(made.stdout, "image: hub.corp/quayio/team/web:2\n");
    env.write("hub.yaml", &made.stdout);
    env.run(Program::Pintle, &["upgrade", "web", "chart", "--values", "hub.yaml"]).succeeded();
    assert_eq!(image(&env, "containers"), "hub.corp/quayio/team/web:2");
}
