//! The controller on a cluster: the rights of service accounts, kills at every write, a change of the leader in the middle of
//! an operation, changes by others, and the rest of what a controller of releases must get right.
//!
//! What must pass, on the embedded cluster and on a real one (where it says so, only there):
//!
//! | situation | test |
//! |---|---|
//! | the controller is killed in each phase of an install | `kills::an_install_converges_wherever_the_controller_is_killed` |
//! | … of an upgrade | `kills::an_upgrade_converges_wherever_the_controller_is_killed` |
//! | … of a rollback | `kills::a_rollback_converges_wherever_the_controller_is_killed` |
//! | … of an uninstall | `kills::an_uninstall_converges_wherever_the_controller_is_killed` |
//! | … before it could write a status, and the request is deleted | `kills::a_release_that_no_status_names_is_uninstalled_with_its_request` |
//! | the Secret of a record is deleted under it | `requests::a_payload_that_is_deleted_under_the_controller_does_not_block` |
//! | live objects are edited or deleted | `requests::an_edit_of_a_live_object_is_undone` |
//! | 200 edits, ignore rules, an autoscaler | `drift::two_hundred_edits_are_undone_or_left_alone_without_fights` |
//! | `releaseName` changes | `requests::another_release_name_is_another_release` |
//! | requests depend on each other in a circle | `requests::requests_that_wait_for_each_other_are_named_until_the_cycle_is_broken` |
//! | an optional value is missing | `requests::a_missing_value_is_forgiven_if_it_is_optional` |
//! | a burst of requests | `requests::a_burst_of_requests_is_deployed_once_each`; a thousand: `cargo xtask bench controller` |
//! | the leader changes during an upgrade | the tests of `leader` |
//! | rights of a service account (real cluster) | `rights::a_request_has_the_rights_of_its_service_account_and_no_others` |
//! | rights of the controller in one namespace (real cluster) | `rights::the_rights_of_the_chart_are_all_that_the_controller_needs` |
//! | two tenants, and everything in a request that can name something of the other (real cluster) | `tenants::a_tenant_reaches_nothing_of_another` |
//! | suspended, then resumed | `requests::a_suspended_request_is_left_alone_until_it_is_resumed` |
//! | CRDs of the chart are upgraded | `requests::definitions_are_upgraded_if_the_request_says_so` |
//! | a test hook fails | `requests::a_failing_test_hook_fails_the_release` |
//! | a pre-delete hook fails under the finalizer | `requests::a_failing_pre_delete_hook_keeps_the_request_until_it_is_orphaned` |

mod drift;
mod kills;
mod leader;
mod requests;
mod rights;
mod tenants;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use pintle_e2e::{Program, Proxy, TestEnv};
use serde_json::{Value, json};

/// A limit that only a broken controller reaches.
const LIMIT: Duration = Duration::from_secs(180);

const TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}'}
data: {text: '{{ .Values.text }}'}
{{ if .Values.port }}
---
apiVersion: v1
kind: Service
metadata: {name: '{{ .Release.Name }}'}
spec: {ports: [{port: {{ .Values.port }}}]}
{{ end }}
{{ if .Values.hook }}
---
apiVersion: v1
kind: Pod
metadata:
  name: '{{ .Release.Name }}-hook'
  annotations: {helm.sh/hook: '{{ .Values.hook }}'}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  nodeSelector: {nowhere: 'true'}
  containers: [{name: a, image: 'test.invalid/busybox:1'}]
{{ end }}
";

/// A controller that is killed with the test.
struct Controller(Child);

impl Controller {
    fn start(env: &TestEnv, kubeconfig: Option<&Proxy>, flags: &[&str]) -> Controller {
        let mut command = env.command(Program::Pintle);
        command.args(["controller", "run"]).args(flags);
        if let Some(proxy) = kubeconfig {
            command.env("KUBECONFIG", proxy.kubeconfig());
        }
        Controller::spawn(command)
    }

    fn spawn(mut command: Command) -> Controller {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Controller(command.spawn().expect("the program can be run"))
    }

    /// Sends a signal to the process.
    fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.0.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
    }

    /// Waits until the process has ended by itself.
    fn until_ended(&mut self) {
        let begin = Instant::now();
        while self.0.try_wait().expect("it is our child").is_none() {
            assert!(begin.elapsed() < LIMIT, "the controller does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Puts a chart with these files into the ConfigMap `chart`.
fn publish(env: &TestEnv, version: &str, files: &[(&str, &str)]) {
    publish_as(env, "chart", version, files);
}

/// Puts a chart with these files into a ConfigMap.
fn publish_as(env: &TestEnv, config_map: &str, version: &str, files: &[(&str, &str)]) {
    let folder = format!("{config_map}/web-{version}");
    env.write(&format!("{folder}/Chart.yaml"), &format!("apiVersion: v2\nname: web\nversion: {version}\n"));
    for (path, text) in files {
        env.write(&format!("{folder}/{path}"), text);
    }
    env.run(Program::Pintle, &["package", &folder, "--yes"]).succeeded();
    // Charts of one version have one file name.
    let archive = std::fs::read(env.folder().join(format!("web-{version}.tgz"))).expect("packaged");
    let archive = base64::engine::general_purpose::STANDARD.encode(archive);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": config_map}, "binaryData": {"chart.tgz": archive}});
    match env.object("v1", "configmaps", config_map) {
        None => env.api().create(&env.path("v1", "configmaps", ""), &object),
        Some(_) => env.api().merge(&env.path("v1", "configmaps", config_map), &object),
    };
}

/// Puts the chart of most tests into the ConfigMap, with the definitions of our kinds in the cluster.
fn prepare(env: &TestEnv) {
    env.run(Program::Pintle, &["init"]).succeeded();
    publish(env, "1.0.0", &[("templates/all.yaml", TEMPLATE)]);
    // The first start installs the definition of HelmRequest.
    let mut controller = Controller::start(env, None, &[]);
    let api = env.api();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/helmrequests.helm.sh";
    let is_served = || api.read(path).is_some_and(|crd| condition(&crd, "Established", "status") == "True");
    let begin = Instant::now();
    while !is_served() {
        assert!(begin.elapsed() < LIMIT, "the definition is not established");
        std::thread::sleep(Duration::from_millis(50));
    }
    controller.kill();
}

fn create(env: &TestEnv, name: &str, spec: Value) {
    let mut spec = spec;
    spec["chart"] = json!({"archive": {"kind": "ConfigMap", "name": "chart"}});
    let object =
        json!({"apiVersion": "helm.sh/v3", "kind": "HelmRequest", "metadata": {"name": name}, "spec": spec});
    env.api().create(&env.path("helm.sh/v3", "helmrequests", ""), &object);
}

fn change(env: &TestEnv, name: &str, change: Value) {
    env.api().merge(&env.path("helm.sh/v3", "helmrequests", name), &change);
}

fn condition<'v>(object: &'v Value, kind: &str, field: &str) -> &'v str {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    found.and_then(|condition| condition[field].as_str()).unwrap_or_default()
}

fn is_ready(request: &Value) -> bool {
    request["metadata"]["generation"] == request["status"]["observedGeneration"]
        && condition(request, "Ready", "status") == "True"
}

fn until_ready(env: &TestEnv, name: &str) {
    env.wait_for("helm.sh/v3", "helmrequests", name, |request| request.is_some_and(is_ready));
}

fn until_reason(env: &TestEnv, name: &str, reason: &str) -> String {
    let is_so = |request: Option<&Value>| {
        request.is_some_and(|request| condition(request, "Ready", "reason") == reason)
    };
    env.wait_for("helm.sh/v3", "helmrequests", name, is_so);
    let request = env.object("helm.sh/v3", "helmrequests", name).expect("it is there");
    condition(&request, "Ready", "message").to_owned()
}

fn text(env: &TestEnv, name: &str) -> Option<String> {
    env.object("v1", "configmaps", name)?["data"]["text"].as_str().map(str::to_owned)
}

/// Number and status of each version of a release, oldest first.
fn versions(env: &TestEnv, name: &str) -> Vec<(i64, String)> {
    let all = env.objects("helm.sh/v3", "releaseversions");
    let of_release = all.iter().filter(|version| version["metadata"]["labels"]["name"] == name);
    let mut versions: Vec<(i64, String)> = of_release
        .map(|version| {
            let number = version["spec"]["number"].as_i64().unwrap_or_default();
            (number, version["status"]["status"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    versions.sort();
    versions
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Deletes a request.
fn delete(env: &TestEnv, name: &str) {
    env.api().delete(&env.path("helm.sh/v3", "helmrequests", name));
}

fn until_gone(env: &TestEnv, name: &str) {
    env.wait_for("helm.sh/v3", "helmrequests", name, |request| request.is_none());
}
