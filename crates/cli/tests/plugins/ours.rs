//! What is ours: post-renderers that are programs, getters, git sources, lists of plugins, and plugins called by `pintle`.

use insta::assert_snapshot;

use super::write_program;
use crate::support::TestEnv;

const PLUGINS: &str = ".local/share/helm/plugins";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/values.yaml", "name: plain\n")
        .write(
            "web/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n",
        )
        .write(
            "web/templates/hook.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: plain-hook\n  annotations:\n    helm.sh/hook: pre-install\n",
        );
    env
}

fn program(env: &TestEnv, path: &str, text: &str) {
    write_program(&env.path().join(path), text);
}

const SED: &str = "#!/bin/sh\nexec /bin/sed \"s/plain/${1:-new}/\"\n";

#[test]
fn a_post_renderer_may_be_a_path_a_program_or_a_plugin_and_several_make_a_chain() {
    let env = env();
    program(&env, "sed.sh", SED);
    program(&env, &format!("{PLUGINS}/shout/run.sh"), "#!/bin/sh\nexec /bin/sed s/new/NEW/\n");
    env.write(
        &format!("{PLUGINS}/shout/plugin.yaml"),
        "apiVersion: v1\nname: shout\ntype: postrenderer/v1\nruntime: subprocess\nversion: 0.1.0\nruntimeConfig:\n  platformCommand:\n  - command: $HELM_PLUGIN_DIR/run.sh\n",
    );
    assert_snapshot!(env.pintle("template web --post-renderer ./sed.sh --post-renderer shout"), @"
    exit 0
    --- stdout
    ---
    # Source: web/templates/a.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: NEW
    ---
    # Source: web/templates/hook.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: NEW-hook
      annotations:
        helm.sh/hook: pre-install
    ");
    let without_hooks = env.pintle(
        "template web --post-renderer ./sed.sh --post-renderer-args x --post-renderer-strategy nohooks",
    );
    assert!(
        without_hooks.contains("name: x\n") && without_hooks.contains("name: plain-hook"),
        "{without_hooks}"
    );
    assert_snapshot!(env.helm("template web --post-renderer shout --post-renderer shout"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "shout" for "--post-renderer" flag: cannot specify --post-renderer flag more than once
    "#);
}

#[test]
fn a_post_renderer_that_fails_or_returns_nonsense_is_told_with_what_it_said() {
    let env = env();
    program(&env, "fail.sh", "#!/bin/sh\necho what went wrong >&2\nexit 3\n");
    program(&env, "empty.sh", "#!/bin/sh\n");
    program(&env, "half.sh", "#!/bin/sh\necho 'apiVersion: ['\n");
    assert_snapshot!(env.pintle("template web --post-renderer ./fail.sh"), @r#"
    exit 1
    --- stderr
    what went wrong
    error: error while running post render on files: failed to run post-renderer "./fail.sh": it exited with error (exit status: 3)
    "#);
    assert_snapshot!(env.pintle("template web --post-renderer ./empty.sh"), @r#"
    exit 1
    --- stderr
    error: error while running post render on files: post-renderer "./empty.sh" produced empty output
    "#);
    assert_snapshot!(env.pintle("template web --post-renderer ./half.sh"), @"
    exit 1
    --- stderr
    error: error while parsing post rendered output: error parsing YAML: MalformedYAMLError: yaml: line 1: did not find expected node content
    ");
    assert_snapshot!(env.helm("template web --post-renderer nothing-of-the-kind"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "nothing-of-the-kind" for "--post-renderer" flag: plugin: {Name:nothing-of-the-kind Type:postrenderer/v1} not found
    "#);
}

#[test]
fn our_filters_are_post_renderers_by_name() {
    let env = env();
    env.write(
        "web/templates/b.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: c\n    image: nginx:1\n",
    );
    let moved = env.pintle(
        "template web --post-renderer hooks --post-renderer images --post-renderer-args --target-registry=hub.corp",
    );
    assert!(moved.starts_with("exit 1"), "hooks takes no such argument: {moved}");
    let moved = env.pintle(
        "template web --post-renderer images --post-renderer-args --target-registry=hub.corp --post-renderer-args --source-registries=docker.io",
    );
    assert!(moved.contains("image: hub.corp/dockerio/library/nginx:1"), "{moved}");
}

#[test]
fn a_getter_brings_charts_and_values_and_a_command_of_the_same_plugin_runs() {
    let env = env();
    program(
        &env,
        &format!("{PLUGINS}/fetcher/get.sh"),
        "#!/bin/sh\n[ -n \"$HELM_BIN\" ] || exit 9\necho \"name: from-$HELM_PLUGIN_NAME\"\n",
    );
    env.write(
        &format!("{PLUGINS}/fetcher/plugin.yaml"),
        "name: fetcher\nversion: 0.1.0\ncommand: echo command\ndownloaders:\n- command: get.sh\n  protocols: [demo]\n",
    );
    let rendered = env.helm("template web -f demo://anything");
    assert!(rendered.contains("name: from-fetcher\n"), "{rendered}");
    let path = [("PATH", "/usr/bin:/bin")];
    assert_eq!(env.called("helm", "fetcher", &path).lines().next(), Some("exit 0"));
    assert_eq!(env.called("pintle", "template web -f nothing://x", &path).lines().next(), Some("exit 2"));
}

/// Runs git in the folder of a test.
fn git(env: &TestEnv, folder: &str, line: &str) {
    let output = std::process::Command::new("git")
        .args(line.split(' '))
        .current_dir(env.path().join(folder))
        .envs([("GIT_AUTHOR_NAME", "me"), ("GIT_AUTHOR_EMAIL", "me@example.com")])
        .envs([("GIT_COMMITTER_NAME", "me"), ("GIT_COMMITTER_EMAIL", "me@example.com")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

#[test]
fn charts_come_from_git_repositories() {
    let env = env();
    for line in ["init -q .", "add web", "commit -qm first", "tag v1"] {
        git(&env, "", line);
    }
    let url = format!("git+file://{}@web?ref=v1", env.path().display());
    let path = [("PATH", "/usr/bin:/bin")];
    let rendered = env.called("pintle", &format!("template {url}"), &path);
    assert!(rendered.contains("name: plain\n"), "{rendered}");
    let values = format!("git+file://{}@web/values.yaml", env.path().display());
    let rendered = env.called("pintle", &format!("template web -f {values} --set name=x"), &path);
    assert!(rendered.contains("name: x\n"), "{rendered}");
    let nowhere = url.replace("@web", "@nowhere");
    let missing = env.called("pintle", &format!("template {nowhere}"), &path);
    assert!(missing.contains("there is no `nowhere` in the repository"), "{missing}");
}

#[test]
fn helm_bin_answers_as_helm_whatever_the_program_is_called() {
    let env = TestEnv::new();
    program(
        &env,
        &format!("{PLUGINS}/who/run.sh"),
        "#!/bin/sh\necho \"$HELM_BIN\"\nexec \"$HELM_BIN\" version --short\n",
    );
    env.write(&format!("{PLUGINS}/who/plugin.yaml"), "name: who\ncommand: $HELM_PLUGIN_DIR/run.sh\n");
    assert_snapshot!(env.pintle("who"), @"
    exit 0
    --- stdout
    {here}/.cache/helm/pintle/bin/helm
    v4.3.1
    ");
    let as_helm = env.helm("who");
    assert!(as_helm.contains("{here}/.bin/helm\nv4.3"), "{as_helm}");
}

#[test]
fn a_built_in_wins_as_pintle_and_the_plugin_as_helm() {
    let env = env();
    env.write(&format!("{PLUGINS}/hooks/plugin.yaml"), "name: hooks\ncommand: /bin/echo the plugin\n");
    assert_snapshot!(env.helm("hooks list"), @"
    exit 0
    --- stdout
    the plugin list
    ");
    let ours = env.pintle("hooks --help");
    assert!(!ours.contains("the plugin"), "{ours}");
}

#[test]
fn of_two_plugins_of_one_name_the_first_is_used_and_broken_ones_do_not_harm_others() {
    let env = TestEnv::new();
    env.write(&format!("{PLUGINS}/a/plugin.yaml"), "name: same\ncommand: /bin/echo first\n")
        .write(&format!("{PLUGINS}/b/plugin.yaml"), "name: same\ncommand: /bin/echo second\n")
        .write(&format!("{PLUGINS}/c/plugin.yaml"), "name: [\n");
    assert_snapshot!(env.pintle("same"), @r#"
    exit 0
    --- stdout
    first
    --- stderr
    warning: failed to load plugin (ignoring); plugin_yaml: {here}/.local/share/helm/plugins/c/plugin.yaml; error: failed to load plugin "{here}/.local/share/helm/plugins/c": failed to peek plugin.yaml API version: yaml: line 1: did not find expected node content
    warning: the plugin in `{here}/.local/share/helm/plugins/b` is ignored, because that in `{here}/.local/share/helm/plugins/a` has the name `same` too
    "#);
}

#[test]
fn a_list_of_plugins_is_installed_once_and_checksums_count_as_verification() {
    let env = TestEnv::new();
    env.write("src/hi/plugin.yaml", "name: hi\nversion: 1.0.0\ncommand: /bin/echo hi\n");
    let unsigned = env.called("pintle", "plugin package src/hi", &[("PATH", "/usr/bin:/bin")]);
    assert!(unsigned.contains("hint: --key names the key that signs"), "{unsigned}");
    assert!(!env.path().join(".gnupg").exists(), "GnuPG was asked for a key without a name");
    assert!(env.pintle("plugin package src/hi --sign=false").starts_with("exit 0"));
    let archive = std::fs::read(env.path().join("hi-1.0.0.tgz")).unwrap();
    let digest = pintle_provenance::sha256(&archive);
    env.write(
        "plugins.yaml",
        &format!(
            "plugins:\n- name: hi\n  source: ./hi-1.0.0.tgz\n  version: 1.0.0\n  checksum: sha256:{digest}\n"
        ),
    );
    assert_snapshot!(env.pintle("plugin install -f plugins.yaml"), @"
    exit 0
    --- stdout
    Installed plugin: hi
    ");
    assert_snapshot!(env.pintle("plugin install -f plugins.yaml"), @"
    exit 0
    --- stdout
    Already installed: hi
    ");
    assert_snapshot!(env.pintle("plugin list -o json"), @r#"
    exit 0
    --- stdout
    [{"apiVersion":"legacy","name":"hi","provenance":"unsigned","source":"unknown","type":"cli/v1","version":"1.0.0"}]
    "#);
    env.pintle("plugin uninstall hi");
    let wrong = env.pintle(&format!("plugin install hi-1.0.0.tgz --checksum {}", "0".repeat(64)));
    assert!(
        wrong.contains("the archive has the SHA-256") && wrong.contains("nothing was installed"),
        "{wrong}"
    );
    assert!(!env.path().join(PLUGINS).join("hi").exists());
}

#[test]
fn a_plugin_is_updated_to_a_tag_a_range_or_a_branch() {
    let env = TestEnv::new();
    let path = [("PATH", "/usr/bin:/bin")];
    let pintle = |line: &str| env.called("pintle", line, &path);
    env.write("src/x", "");
    git(&env, "src", "init -q -b main .");
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        let manifest = format!(
            "name: hi\nversion: {version}\ncommand: echo at {version}\nhooks:\n  update: echo hook of {version}\n"
        );
        env.write("src/plugin.yaml", &manifest);
        git(&env, "src", "add .");
        git(&env, "src", &format!("commit -qm {version}"));
        git(&env, "src", &format!("tag v{version}"));
    }
    let source = format!("file://{}/src", env.path().display());
    let installed = pintle(&format!("plugin install {source} --verify=false --version v1.0.0"));
    assert!(installed.contains("Installed plugin: hi"), "{installed}");
    for (version, found) in
        [("^1.0", "1.1.0"), ("v1.0.0", "1.0.0"), ("main", "2.0.0"), ("<2", "1.1.0"), (">=1", "2.0.0")]
    {
        let updated = pintle(&format!("plugin update hi --yes --version '{version}'"));
        assert!(updated.starts_with("exit 0"), "{version}: {updated}");
        assert!(updated.contains(&format!("hook of {found}\nUpdated plugin: hi\n")), "{version}: {updated}");
        assert!(pintle("hi").contains(&format!("at {found}\n")), "{version}");
    }
    // Versions that do not exist change nothing.
    for version in ["v9.9.9", ">=3"] {
        let refused = pintle(&format!("plugin update hi --yes --version '{version}'"));
        assert!(refused.starts_with("exit 1"), "{version}: {refused}");
        assert!(refused.contains("does not exist for plugin"), "{version}: {refused}");
        assert!(pintle("hi").contains("at 2.0.0\n"), "{version}");
    }
}

#[test]
fn a_git_repository_counts_as_verified_at_a_full_commit_only() {
    let env = TestEnv::new();
    let path = [("PATH", "/usr/bin:/bin")];
    let refused =
        env.called("pintle", "plugin install https://example.com/x.git --version v1 --keyring none", &path);
    assert!(refused.contains("pin it with --version and a full commit, or pass --verify=false"), "{refused}");
}

#[test]
#[cfg(not(feature = "wasm"))]
fn a_runtime_that_is_not_there_is_told() {
    let env = TestEnv::new();
    env.write(
        &format!("{PLUGINS}/w/plugin.yaml"),
        "apiVersion: v1\nname: w\ntype: cli/v1\nruntime: extism/v1\nversion: 0.1.0\n",
    )
    .write(&format!("{PLUGINS}/w/plugin.wasm"), "");
    assert_snapshot!(env.pintle("w"), @"
    exit 1
    --- stderr
    error: the plugin `w` cannot run: this program was built without the runtime `extism/v1` (the Cargo feature `wasm`)

    hint: `cargo build --release --features wasm` builds it with that runtime
    ");
}

#[test]
fn a_built_in_plugin_can_look_installed() {
    let env = TestEnv::new();
    let installed = env.pintle("plugin install --built-in diff");
    assert!(installed.contains("Installed plugin: diff"), "{installed}");
    let list = env.helm("plugin list");
    assert!(list.contains("diff") && list.contains("3.15.11"), "{list}");
    // What is run is still the built-in command, which needs no program `pintle` in the path.
    for shown in [env.helm("diff version"), env.pintle("diff version")] {
        assert!(shown.contains("3.15.11") && shown.starts_with("exit 0"), "{shown}");
    }
    assert!(env.pintle("plugin install --built-in diff --version v3.15.13").starts_with("exit 0"));
    let file =
        std::fs::read_to_string(env.path().join(format!("{PLUGINS}/pintle-diff/plugin.yaml"))).unwrap();
    assert!(file.contains("\nname: diff\nversion: 3.15.13\n"), "{file}");
    assert!(env.pintle("plugin uninstall diff").contains("Uninstalled plugin: diff"));
    let refused = env.pintle("plugin install --built-in other");
    assert!(
        refused.contains("no plugin \"other\" is built in") && !refused.starts_with("exit 0"),
        "{refused}"
    );
    env.write(
        &format!("{PLUGINS}/diff/plugin.yaml"),
        "name: diff\nversion: 1.0.0\ncommand: /bin/echo the plugin\n",
    );
    let refused = env.pintle("plugin install --built-in diff");
    assert!(refused.contains("a plugin diff is installed in"), "{refused}");
    assert!(env.helm("diff version").contains("the plugin version"));
}

/// A chart archive, and a program that copies what it is to upload.
fn uploader_env() -> TestEnv {
    let env = env();
    program(
        &env,
        "src/put.sh",
        "#!/bin/sh\n[ -n \"$HELM_BIN\" ] || exit 9\nmkdir -p \"$HOME/store\"\ncp \"$4\" \"$HOME/store/\"\necho \"$HELM_PLUGIN_NAME $5 $HELM_PLUGIN_USERNAME\"\n",
    );
    assert!(env.pintle("package web").starts_with("exit 0"));
    env
}

const PUT: [(&str, &str); 1] = [("PATH", "/usr/bin:/bin")];

#[test]
fn a_chart_is_pushed_with_an_uploader_of_either_generation() {
    let old = "name: put\nversion: 0.1.0\nuploaders:\n- {command: put.sh, protocols: [demo]}\n";
    let new = "apiVersion: v1\nname: put\nversion: 0.1.0\ntype: uploader/v1\nruntime: subprocess\nconfig: {protocols: [demo]}\nruntimeConfig:\n  protocolCommands: [{protocols: [demo], platformCommand: [{command: put.sh}]}]\n";
    for manifest in [old, new] {
        let env = uploader_env();
        env.write("src/plugin.yaml", manifest);
        let refused = env.called("pintle", "push web-0.1.0.tgz demo://bucket/charts", &PUT);
        assert!(refused.contains("scheme \"demo\" not supported"), "{refused}");
        let installed = env.called("pintle", "plugin install ./src", &PUT);
        assert!(installed.contains("Installed plugin: put"), "{installed}");
        for name in ["pintle", "helm"] {
            let pushed = env.called(name, "push web-0.1.0.tgz demo://bucket/charts --username me", &PUT);
            assert!(pushed.starts_with("exit 0"), "{pushed}");
            assert!(
                pushed
                    .contains("put demo://bucket/charts me\nPushed: web-0.1.0.tgz to demo://bucket/charts\n"),
                "{pushed}"
            );
            let copied = std::fs::read(env.path().join("store/web-0.1.0.tgz")).unwrap();
            assert_eq!(copied, std::fs::read(env.path().join("web-0.1.0.tgz")).unwrap());
        }
        program(&env, "src/put.sh", "#!/bin/sh\necho no space >&2\nexit 3\n");
        let failed = env.called("pintle", "push web-0.1.0.tgz demo://bucket/charts", &PUT);
        assert!(failed.starts_with("exit 3") && failed.contains("no space"), "{failed}");
        let none = env.called("pintle", "push nothing.tgz demo://bucket/charts", &PUT);
        assert!(none.contains("nothing.tgz: no such file"), "{none}");
    }
}

#[test]
fn an_uploader_in_lua_reads_the_archive_and_the_shipped_one_sends_it_with_put() {
    use std::io::{Read as _, Write as _};
    let env = uploader_env();
    assert!(env.pintle("plugin create shelf --type uploader").starts_with("exit 0"));
    assert!(env.pintle("plugin install ./shelf --yes").contains("Installed plugin: shelf"));
    std::fs::create_dir(env.path().join("charts")).unwrap();
    let pushed = env.pintle("push web-0.1.0.tgz shelf://charts");
    assert!(pushed.contains("Pushed: web-0.1.0.tgz to shelf://charts"), "{pushed}");
    let archive = std::fs::read(env.path().join("web-0.1.0.tgz")).unwrap();
    assert_eq!(std::fs::read(env.path().join("charts/web-0.1.0.tgz")).unwrap(), archive);
    let shipped = format!("{}/../../plugins/http-put", env!("CARGO_MANIFEST_DIR"));
    let refused = env.pintle(&format!("plugin install {shipped}"));
    assert!(refused.contains("network"), "{refused}");
    assert!(env.pintle(&format!("plugin install {shipped} --accept-perms network")).starts_with("exit 0"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let mut bodies = Vec::new();
        for status in ["201 Created", "507 Insufficient Storage"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            let mut buffer = [0; 4096];
            let is_whole = |received: &[u8]| {
                let head = received.windows(4).position(|end| end == b"\r\n\r\n")?;
                let text = String::from_utf8_lossy(&received[..head]).to_lowercase();
                let length: usize =
                    text.split("content-length: ").nth(1)?.lines().next()?.trim().parse().ok()?;
                (received.len() >= head + 4 + length).then(|| (text, received[head + 4..].to_vec()))
            };
            let whole = loop {
                let count = stream.read(&mut buffer).unwrap();
                received.extend_from_slice(&buffer[..count]);
                if let Some(whole) = is_whole(&received) {
                    break whole;
                }
                assert!(count > 0, "the request is not complete");
            };
            bodies.push(whole);
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno").unwrap();
        }
        bodies
    });
    let line = format!("push web-0.1.0.tgz put+http://{address}/repo/ --username me --password pw");
    let pushed = env.pintle(&line);
    assert!(pushed.contains("Pushed: web-0.1.0.tgz"), "{pushed}");
    let failed = env.pintle(&line);
    assert!(failed.starts_with("exit 1") && failed.contains("answered 507: no"), "{failed}");
    let (head, body) = server.join().unwrap().swap_remove(0);
    assert!(
        head.starts_with("put /repo/web-0.1.0.tgz ") && head.contains("authorization: basic bwu6chc="),
        "{head}"
    );
    assert!(body == archive, "the bytes differ");
}

#[test]
fn plugins_that_helm_does_not_know_have_a_folder_of_their_own() {
    let env = TestEnv::new();
    env.pintle("plugin create hello");
    env.pintle("plugin install ./hello");
    let own = env.path().join(".local/share/helm/pintle/plugins/hello");
    assert!(own.exists() && !env.path().join(PLUGINS).join("hello").exists());
    assert!(env.pintle("plugin list").contains("hello"), "it is listed");
    assert!(env.helm("hello").contains("Hello, world!"));
    assert!(env.pintle("plugin install ./hello").contains("plugin already exists"));
    assert!(env.pintle("plugin uninstall hello").contains("Uninstalled plugin: hello") && !own.exists());
    // Those of earlier versions are found where they are.
    std::fs::create_dir_all(env.path().join(PLUGINS)).unwrap();
    std::os::unix::fs::symlink(env.path().join("hello"), env.path().join(PLUGINS).join("hello")).unwrap();
    assert!(env.pintle("hello").contains("Hello, world!"));
}
