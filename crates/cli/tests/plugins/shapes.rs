//! Plugins modelled on popular ones: the fields and types of their manifests, and what they need from the host.

use super::write_program;
use crate::support::TestEnv;

const PLUGINS: &str = ".local/share/helm/plugins";
const PATH: (&str, &str) = ("PATH", "/usr/bin:/bin");

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/values.yaml", "name: plain\n")
        .write(
            "web/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n",
        );
    env
}

fn program(env: &TestEnv, path: &str, script: &str) {
    write_program(&env.path().join(PLUGINS).join(path), &format!("#!/bin/sh\n{script}\n"));
}

/// Runs a line under both names, and checks that both succeed with a text.
fn both(env: &TestEnv, line: &str, expected: &str) {
    for name in ["helm", "pintle"] {
        let outcome = env.called(name, line, &[PATH]);
        assert!(outcome.starts_with("exit 0") && outcome.contains(expected), "{name} {line}: {outcome}");
    }
}

/// helm-diff: a legacy command plugin with hooks for each system, which calls back by `HELM_BIN`.
#[test]
fn diff() {
    let env = env();
    env.write(
        &format!("{PLUGINS}/helm-diff/plugin.yaml"),
        "name: \"diff\"\nversion: \"3.15.11\"\nusage: \"Preview changes\"\ndescription: \"Preview changes as a diff\"\n\
         useTunnel: true\nplatformCommand:\n- command: \"$HELM_PLUGIN_DIR/bin/diff\"\n- os: windows\n  \
         command: \"$HELM_PLUGIN_DIR\\\\bin\\\\diff.exe\"\nplatformHooks:\n  install:\n  - command: \
         \"$HELM_PLUGIN_DIR/install-binary.sh\"\n  - os: windows\n    command: powershell\n    args: [\"-NoProfile\"]\n",
    );
    let script = "\"$HELM_BIN\" version | grep -o 'Version:\"v4[^\"]*\"'\n\
                  \"$HELM_BIN\" template shop web --show-only templates/a.yaml\n\
                  \"$HELM_BIN\" env | grep HELM_DATA_HOME=\n\
                  \"$HELM_BIN\" get manifest shop 2>&1 | grep -c kubeconfig\\\\\\|refused\\\\\\|unreachable\\\\\\|Error";
    program(&env, "helm-diff/bin/diff", script);
    // As `pintle`, the command of that name is ours.
    let shown = env.called("helm", "diff upgrade shop web --allow-unreleased", &[PATH]);
    for part in ["exit 0", "Version:\"v4.3.1", "name: plain", "HELM_DATA_HOME=\"{here}/.local/share/helm\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// helm-secrets: a command, a getter with many schemes and a post-renderer, which share scripts of one folder.
#[test]
fn secrets() {
    let env = env();
    let v1 = |name: &str, kind: &str, config: &str, runtime: &str| {
        env.write(
            &format!("{PLUGINS}/{name}/plugin.yaml"),
            &format!(
                "apiVersion: v1\nname: {name}\ntype: {kind}/v1\nruntime: subprocess\nversion: 4.8.0\n\
                 sourceURL: https://example.com/secrets\n{config}runtimeConfig:\n{runtime}"
            ),
        );
    };
    v1(
        "secrets",
        "cli",
        "config:\n  shortHelp: Secrets for charts\n  longHelp: Decrypts values\n  ignoreFlags: false\n",
        "  platformCommand:\n  - command: ${HELM_PLUGIN_DIR}/run.sh\n  - os: windows\n    command: cmd /c run.cmd\n",
    );
    let schemes =
        "secrets, secrets+gpg-import, secrets+gpg-import-kubernetes, secrets+age-import, secrets+literal";
    v1(
        "secrets-getter",
        "getter",
        &format!("config:\n  protocols: [{schemes}]\n"),
        &format!(
            "  protocolCommands:\n  - protocols: [{schemes}]\n    platformCommand:\n    - command: get.sh\n      args: [downloader]\n"
        ),
    );
    v1(
        "secrets-post-renderer",
        "postrenderer",
        "",
        "  platformCommand:\n  - command: ${HELM_PLUGIN_DIR}/post.sh\n    args: [post-renderer]\n",
    );
    program(
        &env,
        "secrets/run.sh",
        "case \"$HELM_DEBUG\" in 1|true) set -x;; esac\nexec \"$HELM_BIN\" \"$@\" --set name=decrypted",
    );
    // Arguments are those of the manifest, certificate, key, authority, and the URL.
    program(
        &env,
        "secrets-getter/get.sh",
        "[ \"$1\" = downloader ] && [ $# = 5 ] || exit 9\ncat \"${5#*://}\"",
    );
    program(
        &env,
        "secrets-post-renderer/post.sh",
        "[ \"$1\" = post-renderer ] || exit 9\nexec sed s/plain/sealed/",
    );
    env.write("sealed.yaml", "name: opened\n");
    both(&env, "secrets template shop web", "name: decrypted");
    both(&env, "template shop web -f secrets://sealed.yaml", "name: opened");
    both(&env, "template shop web -f secrets+age-import://sealed.yaml", "name: opened");
    both(&env, "template shop web --post-renderer secrets-post-renderer", "name: sealed");
    both(&env, "plugin list", "secrets-post-renderer\t4.8.0");
}

/// helm-s3, helm-gcs and helm-cm-push: legacy plugins with a command and downloaders. Helm 4 drops the command; here it
/// works.
#[test]
fn storage() {
    let env = env();
    env.write(
        &format!("{PLUGINS}/helm-s3/plugin.yaml"),
        "name: \"s3\"\nversion: \"0.17.2\"\nusage: \"Manage repositories on S3\"\ndescription: |-\n  Provides S3 protocol\n\
         command: \"$HELM_PLUGIN_DIR/bin/helm-s3\"\ndownloaders:\n- command: \"bin/helm-s3 download\"\n  protocols:\n  - \"s3\"\n\
         hooks:\n  install: \"cd $HELM_PLUGIN_DIR; ./hooks/install.sh\"\n  update: \"cd $HELM_PLUGIN_DIR; ./hooks/install.sh\"\n",
    );
    program(
        &env,
        "helm-s3/bin/helm-s3",
        "[ \"$1\" = download ] || { echo \"command $*\"; exit; }\ncase \"$5\" in\n\
         */index.yaml) printf 'apiVersion: v1\\nentries:\\n  web:\\n  - {name: web, version: 0.1.0, urls: [web-0.1.0.tgz]}\\n';;\n\
         *.tgz) cat web-0.1.0.tgz;;\nesac",
    );
    assert!(env.pintle("package web").starts_with("exit 0"));
    both(&env, "s3 push web-0.1.0.tgz shop", "command push web-0.1.0.tgz shop");
    both(&env, "repo add shop s3://bucket/charts --force-update", "\"shop\" has been added");
    both(&env, "template r shop/web", "name: plain");
    both(&env, "show chart shop/web", "version: 0.1.0");
}

/// helm-git: four schemes; it is asked for an index and for archives, and packages charts by calling back.
#[test]
fn git() {
    let env = env();
    env.write(
        &format!("{PLUGINS}/helm-git/plugin.yaml"),
        "name: \"helm-git\"\nversion: \"1.4.1\"\nusage: \"Get charts from git\"\nignoreFlags: false\ncommand: \
         \"$HELM_PLUGIN_DIR/helm-git\"\ndownloaders:\n- command: \"helm-git-plugin.sh\"\n  protocols:\n  - \"git+file\"\n  - \
         \"git+ssh\"\n  - \"git+https\"\n  - \"git+http\"\n",
    );
    program(
        &env,
        "helm-git/helm-git-plugin.sh",
        "mkdir -p packed && \"$HELM_BIN\" package web -d packed >/dev/null\ncase \"$4\" in\n\
         */index.yaml*) \"$HELM_BIN\" repo index packed --url \"${4%/index.yaml*}\"; cat packed/index.yaml;;\n\
         *.tgz*) cat packed/web-0.1.0.tgz;;\n*) exit 1;;\nesac",
    );
    both(
        &env,
        "repo add shop git+https://example.com/charts@charts?ref=main --force-update",
        "has been added",
    );
    both(&env, "template r shop/web", "name: plain");
    both(&env, "template r git+https://example.com/charts@charts/web-0.1.0.tgz?ref=main", "name: plain");
}

/// helm-unittest, mapkubeapis, dashboard: commands with hooks that download; two plugins `schema` of different authors.
#[test]
fn commands() {
    let env = env();
    for (name, folder, program_name) in [
        ("unittest", "helm-unittest", "untt"),
        ("mapkubeapis", "helm-mapkubeapis", "bin/mapkubeapis"),
        ("dashboard", "helm-dashboard", "bin/dashboard"),
    ] {
        env.write(
            &format!("{PLUGINS}/{folder}/plugin.yaml"),
            &format!(
                "name: \"{name}\"\nversion: \"1.1.0\"\nusage: \"does {name}\"\ndescription: \"long\"\nignoreFlags: false\n\
                 command: \"$HELM_PLUGIN_DIR/{program_name}\"\nhooks:\n  install: \"cd $HELM_PLUGIN_DIR; ./install.sh\"\n"
            ),
        );
        program(
            &env,
            &format!("{folder}/{program_name}"),
            "echo \"$HELM_PLUGIN_NAME in $HELM_NAMESPACE: $*\"",
        );
    }
    for name in ["mapkubeapis", "dashboard"] {
        both(&env, &format!("{name} -n shop --flag release"), &format!("{name} in shop: --flag release"));
    }
    let helm = env.called("helm", "unittest web", &[PATH]);
    assert!(helm.contains("unittest in default: web"), "{helm}");
    env.write(
        &format!("{PLUGINS}/schema/plugin.yaml"),
        "name: schema\nversion: 0.23.4\ncommand: /bin/echo one\n",
    )
    .write(
        &format!("{PLUGINS}/helm-schema/plugin.yaml"),
        "name: schema\nversion: 2.5.0\ncommand: /bin/echo two\n",
    );
    // In Helm, two plugins with one name disable all plugins; here only the second of the two.
    let ours = env.called("pintle", "dashboard x", &[PATH]);
    assert!(ours.starts_with("exit 0"), "{ours}");
    assert!(env.called("helm", "dashboard x", &[PATH]).contains("two plugins claim the name"));
}
