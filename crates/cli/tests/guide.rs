//! Runs every command of the README and the guides, in the order of the page and in an empty home folder, and compares the
//! output that is shown. `pintle_testkit::guide` says how pages are read.

use crate::support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use pintle_testkit::guide::steps;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A home folder and a copy of what the pages refer to.
struct Walk {
    folder: TempDir,
    background: Vec<Child>,
}

impl Drop for Walk {
    fn drop(&mut self) {
        for process in &mut self.background {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Walk {
    /// The working folder has what the repository has; `target/release/pintle` can be copied and linked.
    fn new() -> Walk {
        let walk = Walk { folder: tempfile::tempdir().expect("a folder"), background: Vec::new() };
        for folder in ["home", "work/target/release", "bin"] {
            fs::create_dir_all(walk.path(folder)).expect("folders can be made");
        }
        for folder in ["examples", "plugins", "deploy"] {
            support::copy(&root().join(folder), &walk.path("work").join(folder));
        }
        let program = Path::new(env!("CARGO_BIN_EXE_pintle"));
        for name in ["pintle", "helm", "irr", "helm-hooks"] {
            symlink(program, walk.path("bin").join(name)).expect("links can be made");
        }
        let script = format!("#!/bin/bash\nexec -a \"$0\" '{}' \"$@\"\n", program.display());
        let built = walk.path("work/target/release/pintle");
        fs::write(&built, script).expect("a file can be written");
        fs::set_permissions(&built, fs::Permissions::from_mode(0o755)).expect("modes can be set");
        walk.set("HOME", &walk.path("home").display().to_string());
        let path = std::env::var("PATH").unwrap_or_default();
        let (home, bin) = (walk.path("home"), walk.path("bin"));
        walk.set("PATH", &format!("{}/.local/bin:{}:{path}", home.display(), bin.display()));
        walk
    }

    /// With a copy of the example chart `web` beside the working folder's other files.
    fn with_web() -> Walk {
        let walk = Walk::new();
        support::copy(&root().join("examples/charts/web"), &walk.path("work/web"));
        walk
    }

    /// As [`Walk::with_web`], with a cluster.
    fn with_web_and_cluster() -> (Walk, String) {
        let walk = Walk::with_web();
        let flag = support::cluster::start();
        let address = flag.rsplit_once("http://").expect("an address").1.to_owned();
        walk.set("HELM_KUBEAPISERVER", &format!("http://{address}"));
        (walk, address)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file of the working folder.
    fn write(&self, path: &str, text: &str) -> &Walk {
        let path = self.path("work").join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        fs::write(path, text).expect("a file can be written");
        self
    }

    /// Sets a variable for all commands that follow.
    fn set(&self, name: &str, value: &str) {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path("variables"))
            .expect("a file can be written");
        writeln!(file, "export {name}='{value}'").expect("a file can be written");
    }

    /// Runs a command before the page begins.
    fn prepare(&self, command: &str) -> &Walk {
        let output = self.shell(command).output().expect("bash can be run");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        self
    }

    /// A shell that runs a command with the variables that the commands before it have exported, and keeps its own.
    fn shell(&self, command: &str) -> Command {
        let variables = self.path("variables");
        let text =
            format!(". '{0}'\n{command}\ncode=$?\nexport -p > '{0}'\nexit $code\n", variables.display());
        let mut shell = Command::new("bash");
        shell.args(["--norc", "-c", &text]).env_clear().current_dir(self.path("work")).stdin(Stdio::null());
        shell
    }

    /// Starts a command in the background and waits for its first line, which says that it is ready.
    fn start(&mut self, command: &str) -> Output {
        // `exec` makes the process the program itself, which is what is stopped at the end.
        let mut shell = Command::new("bash");
        let text = format!(". '{}'\nexec {command}", self.path("variables").display());
        shell.args(["--norc", "-c", &text]).env_clear().current_dir(self.path("work"));
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = shell.spawn().expect("bash can be run");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("the command prints a line");
        self.background.push(process);
        Output { status: std::process::ExitStatus::default(), stdout: line.into_bytes(), stderr: Vec::new() }
    }

    /// Runs the commands of a page; `instead` is called for those that are not run.
    fn page(mut self, name: &str, mut instead: impl FnMut(&Walk, &str)) {
        let page = fs::read_to_string(root().join(name)).expect("the page is there");
        for step in steps(&page) {
            if step.skipped.is_some() {
                instead(&self, &step.command);
                continue;
            }
            let output = match step.command.strip_suffix(" &") {
                Some(command) => self.start(command),
                None if step.command.starts_with("kill %") => {
                    self.background.pop().expect("a command runs in the background").kill().expect("it runs");
                    continue;
                }
                None => self.shell(&step.command).output().expect("bash can be run"),
            };
            step.check(name, &output);
        }
    }
}

/// For pages whose commands all run.
fn nothing_else(_: &Walk, command: &str) {
    panic!("{command} is not run, and this page has no such commands");
}

/// For pages on which nothing depends on the commands that are not run.
fn left_out(_: &Walk, _: &str) {}

/// The pages that are walked below.
const PAGES: [&str; 33] = [
    "README.md",
    "docs/guide/air-gap.md",
    "docs/guide/best-practices.md",
    "docs/guide/chart-testing.md",
    "docs/guide/check.md",
    "docs/guide/ci.md",
    "docs/guide/coming-from-argo-cd.md",
    "docs/guide/coming-from-flux.md",
    "docs/guide/coming-from-helm-3.md",
    "docs/guide/coming-from-helm.md",
    "docs/guide/coming-from-helmfile.md",
    "docs/guide/coming-from-nelm.md",
    "docs/guide/controller.md",
    "docs/guide/diff.md",
    "docs/guide/editor.md",
    "docs/guide/embedded.md",
    "docs/guide/first-release.md",
    "docs/guide/hooks.md",
    "docs/guide/images.md",
    "docs/guide/library.md",
    "docs/guide/lua-plugins.md",
    "docs/guide/lua.md",
    "docs/guide/plugins.md",
    "docs/guide/preview.md",
    "docs/guide/readme-of-charts.md",
    "docs/guide/request-sets.md",
    "docs/guide/signing.md",
    "docs/guide/storage.md",
    "docs/guide/troubleshooting.md",
    "docs/guide/ui.md",
    "docs/guide/unittest.md",
    "docs/guide/upgrade-check.md",
    "docs/install.md",
];

#[test]
fn every_guide_is_listed_and_walked() {
    let list = fs::read_to_string(root().join("docs/guide/README.md")).expect("the list is there");
    let mut found = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root().join("docs/guide")).expect("the guides are there") {
        let name = entry.expect("the guides can be read").file_name().to_string_lossy().into_owned();
        if name != "README.md" {
            assert!(list.contains(&format!("]({name})")), "{name} is not listed");
            found.push(format!("docs/guide/{name}"));
        }
    }
    for entry in fs::read_dir(root().join("docs")).expect("the documentation is there") {
        let path = entry.expect("it can be read").path();
        let name = format!("docs/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if name.ends_with(".md") && !steps(&fs::read_to_string(&path).expect("a page")).is_empty() {
            found.push(name);
        }
    }
    found.sort();
    assert_eq!(found, PAGES, "a page that no test walks, or one that is gone");
    let tests = include_str!("guide.rs");
    for name in PAGES {
        assert!(tests.contains(&format!(".page(\"{name}\"")), "no test walks {name}");
    }
}

#[test]
fn the_page_about_installing_works() {
    Walk::new().page("docs/install.md", left_out);
}

#[test]
fn the_rules_for_charts_are_checked_by_their_commands() {
    Walk::with_web().page("docs/guide/best-practices.md", nothing_else);
}

#[test]
fn the_steps_of_pipelines_work() {
    let walk = Walk::new();
    support::copy(&root().join("examples/charts/greeter"), &walk.path("work/web"));
    walk.page("docs/guide/ci.md", nothing_else);
}

#[test]
fn the_guides_for_people_from_other_tools_work() {
    Walk::with_web().page("docs/guide/coming-from-argo-cd.md", left_out);
    Walk::with_web().page("docs/guide/coming-from-flux.md", left_out);
    Walk::with_web().page("docs/guide/coming-from-nelm.md", nothing_else);
    let (walk, _) = Walk::with_web_and_cluster();
    walk.page("docs/guide/coming-from-helm-3.md", nothing_else);
    let (walk, _) = Walk::with_web_and_cluster();
    let list = "releases:\n- name: web\n  namespace: default\n  chart: ./web\n  values: [prod.yaml]\n";
    walk.write("releases.yaml", list).write("prod.yaml", "replicas: 3\n");
    walk.page("docs/guide/coming-from-helmfile.md", left_out);
}

#[test]
fn the_guide_to_signatures_works() {
    Walk::with_web().page("docs/guide/signing.md", left_out);
}

#[test]
fn the_guide_to_editors_works() {
    Walk::new().page("docs/guide/editor.md", left_out);
}

#[test]
fn the_guides_to_the_web_view_and_to_request_sets_are_walked() {
    Walk::new().page("docs/guide/ui.md", left_out);
    Walk::new().page("docs/guide/request-sets.md", left_out);
}

#[test]
fn the_readme_works() {
    let walk = Walk::new();
    support::copy(&root().join("examples/charts/web"), &walk.path("work/your-chart"));
    support::copy(&root().join("examples/charts/web"), &walk.path("work/chart"));
    walk.write("values.yaml", "replicas: 3\n");
    walk.page("README.md", left_out);
}

#[test]
fn the_guide_across_the_air_gap_works() {
    let (walk, _) = Walk::with_web_and_cluster();
    walk.page("docs/guide/air-gap.md", left_out);
}

#[test]
fn the_guide_to_charts_in_ci_works() {
    let walk = Walk::new();
    support::copy(&root().join("examples/charts/web"), &walk.path("work/charts/web"));
    walk.write("ct.yaml", "validate-maintainers: false\nremote: ''\n");
    let git = "git -c user.name=a -c user.email=a@example.com";
    walk.prepare(&format!(
        "rm -rf examples plugins deploy && git init -q -b main && git add . && {git} commit -qm one && \
         git init -q --bare ../origin && git remote add origin ../origin && git push -q origin main && \
         git switch -qc change && sed -i 's/^version: .*/version: 0.2.0/' charts/web/Chart.yaml && {git} commit -qam two"
    ));
    walk.write("ct.yaml", "validate-maintainers: false\n");
    walk.page("docs/guide/chart-testing.md", nothing_else);
}

#[test]
fn the_guide_to_checking_charts_works() {
    let walk = Walk::with_web();
    walk.page("docs/guide/check.md", nothing_else);
}

#[test]
fn the_guide_for_people_from_helm_works() {
    Walk::new().page("docs/guide/coming-from-helm.md", nothing_else);
}

#[test]
fn the_guide_to_the_controller_works() {
    let (walk, _) = Walk::with_web_and_cluster();
    walk.page("docs/guide/controller.md", left_out);
}

#[test]
fn the_guide_to_diffs_and_plans_works() {
    let (walk, address) = Walk::with_web_and_cluster();
    walk.write("prod.yaml", "replicas: 3\nimage:\n  tag: \"2.0\"\n");
    for version in ["0.1", "0.2"] {
        let folder = format!("web-{version}");
        support::copy(&root().join("examples/charts/web"), &walk.path("work").join(&folder));
    }
    walk.prepare("sed -i 's/^page: .*/page: other/; s/^  <h1>.*//' web-0.2/values.yaml");
    walk.prepare("pintle install web ./web");
    walk.page("docs/guide/diff.md", |_, command| {
        assert_eq!(command, "kubectl scale deployment web-web --replicas 5");
        let path = "/apis/apps/v1/namespaces/default/deployments/web-web/scale?fieldManager=kubectl";
        patch(&address, path, r#"{"spec": {"replicas": 5}}"#);
    });
}

/// Sends a merge patch, as kubectl does.
fn patch(address: &str, path: &str, body: &str) {
    let mut stream = TcpStream::connect(address).expect("the cluster listens");
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/merge-patch+json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it takes requests");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn the_guide_to_the_embedded_cluster_works() {
    let walk = Walk::with_web();
    walk.write("production.yaml", "replicas: 3\n");
    let crd = include_str!("../../../deploy/crds/helm-request.yaml");
    walk.write("crds/helm-request.yaml", crd)
        .write("secrets.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n");
    walk.write(
        "prod.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: prod\n  labels: {pod-security.kubernetes.io/warn: restricted}\n",
    );
    let git = "git -c user.name=a -c user.email=a@example.com";
    walk.prepare(&format!("git init -q -b main && git add web && {git} commit -qm one"));
    walk.prepare(
        "cp -r web stack && cp -r crds stack && sed -i 's/^name: .*/name: kube-prometheus-stack/' stack/Chart.yaml && \
         pintle package stack --version 88.5.3 && rm -r stack",
    );
    walk.page("docs/guide/embedded.md", left_out);
}

#[test]
fn the_guide_to_the_first_release_works() {
    Walk::new().page("docs/guide/first-release.md", left_out);
}

#[test]
fn the_guide_to_hooks_works() {
    let (walk, _) = Walk::with_web_and_cluster();
    walk.write("production.yaml", "replicas: 3\n");
    walk.prepare("helm install web ./web");
    walk.page("docs/guide/hooks.md", left_out);
}

#[test]
fn the_guide_to_images_works() {
    let (walk, _) = Walk::with_web_and_cluster();
    walk.write(
        "registry-mappings.yaml",
        "registries:\n  mappings:\n  - {source: docker.io, target: hub.corp:5000/dockerio}\n",
    );
    walk.prepare("helm install web ./web --namespace team --create-namespace");
    walk.page("docs/guide/images.md", left_out);
}

#[test]
fn the_guide_to_the_library_works() {
    Walk::new().page("docs/guide/library.md", left_out);
}

#[test]
fn the_guide_to_plugins_in_lua_works() {
    let (walk, _) = Walk::with_web_and_cluster();
    walk.write("values.yaml", "image: {tag: \"${TAG}\"}\n");
    walk.page("docs/guide/lua-plugins.md", left_out);
}

#[test]
fn the_guide_to_scripts_works() {
    Walk::new().page("docs/guide/lua.md", nothing_else);
}

#[test]
fn the_guide_to_plugins_works() {
    let (walk, _) = Walk::with_web_and_cluster();
    walk.write("hello/plugin.yaml", "name: hello\nversion: 0.1.0\ncommand: echo hello\n");
    walk.write("add-labels.sh", "#!/bin/sh\nexec cat\n");
    walk.prepare("chmod +x add-labels.sh");
    walk.page("docs/guide/plugins.md", left_out);
}

#[test]
fn the_guide_to_readmes_of_charts_works() {
    let walk = Walk::with_web();
    // Some of the examples have no values to document.
    walk.prepare("rm -r examples");
    walk.page("docs/guide/readme-of-charts.md", nothing_else);
}

#[test]
fn the_guide_to_storage_works() {
    let (walk, _) = Walk::with_web_and_cluster();
    walk.prepare("helm install web ./web");
    walk.page("docs/guide/storage.md", nothing_else);
}

#[test]
fn the_guide_to_troubleshooting_works() {
    Walk::new().page("docs/guide/troubleshooting.md", nothing_else);
}

#[test]
fn the_guide_to_unit_tests_works() {
    let walk = Walk::new();
    support::copy(&root().join("examples/charts/greeter"), &walk.path("work/charts/greeter"));
    let git = "git -c user.name=a -c user.email=a@example.com";
    walk.prepare(&format!(
        "git init -q -b main && git add charts && {git} commit -qm one && git update-ref refs/remotes/origin/main HEAD"
    ));
    walk.page("docs/guide/unittest.md", nothing_else);
}

#[test]
fn the_guide_to_upgrading_charts_works() {
    let walk = Walk::with_web();
    walk.write("values.yaml", "# ours\nreplicas: 3   # enough for now\n");
    walk.prepare(
        "cp -r web web-1 && cp -r web web-2 && sed -i 's/^version: .*/version: 1.0.0/' web-1/Chart.yaml && \
         sed -i 's/^version: .*/version: 2.0.0/' web-2/Chart.yaml && \
         sed -i 's/^replicas:/replicaCount:/; s/cpu: 50m/cpu: 100m/' web-2/values.yaml && \
         sed -i 's/Values.replicas/Values.replicaCount/' web-2/templates/deployment.yaml && \
         sed -i 's/\"replicas\"/\"replicaCount\"/' web-2/values.schema.json",
    );
    walk.page("docs/guide/upgrade-check.md", nothing_else);
}

#[test]
fn the_guide_to_previews_works() {
    let walk = Walk::with_web();
    walk.prepare("mkdir -p apps clusters/production");
    walk.write(
        "clusters/production/apps.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
         spec:\n  path: ./apps\n  sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild:\n    substitute:\n      \
         REPLICAS: \"2\"\n",
    )
    .write(
        "apps/web.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec:\n  chart:\n    \
         spec:\n      chart: ./web\n      sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}\n  \
         values:\n    replicas: ${REPLICAS}\n    resources:\n      requests: {cpu: 50m}\n",
    );
    let git = "git -c user.name=a -c user.email=a@example.com";
    walk.prepare(&format!("git init -q -b main && git add -A && {git} commit -qm one"));
    walk.page("docs/guide/preview.md", nothing_else);
}
