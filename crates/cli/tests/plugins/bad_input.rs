//! Plugins that misbehave: each is a clear error, leaves nothing half-installed, and does not keep others from working.

use super::write_program;
use crate::support::TestEnv;

const PLUGINS: &str = ".local/share/helm/plugins";
const PATH: (&str, &str) = ("PATH", "/usr/bin:/bin");

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: plain\n");
    env.write(&format!("{PLUGINS}/good/plugin.yaml"), "name: good\ncommand: /bin/echo fine\n");
    env
}

/// A plugin of the old generation that runs a shell script.
fn command(env: &TestEnv, name: &str, script: &str) {
    write_program(&env.path().join(format!("{PLUGINS}/{name}/run.sh")), &format!("#!/bin/sh\n{script}\n"));
    env.write(
        &format!("{PLUGINS}/{name}/plugin.yaml"),
        &format!("name: {name}\ncommand: $HELM_PLUGIN_DIR/run.sh\ndownloaders:\n- command: run.sh\n  protocols: [{name}]\n"),
    );
}

fn fine(env: &TestEnv) {
    let good = env.pintle("good");
    assert!(good.starts_with("exit 0\n--- stdout\nfine\n"), "the other plugin still works: {good}");
}

#[test]
fn getters_post_renderers_and_completions_that_hang_are_stopped() {
    let env = env();
    command(&env, "hang", "exec sleep 600");
    let short = [("PINTLE_PLUGIN_TIMEOUT", "300ms"), PATH];
    let stopped = env.called("pintle", "template web -f hang://x", &short);
    assert!(
        stopped.contains("the program did not end within") && !stopped.starts_with("exit 0"),
        "{stopped}"
    );
    write_program(&env.path().join("hang.sh"), "#!/bin/sh\nexec sleep 600\n");
    let stopped = env.called("pintle", "template web --post-renderer ./hang.sh", &short);
    assert!(stopped.starts_with("exit 1") && stopped.contains("did not end within"), "{stopped}");
    // A process that it leaves behind holds the output open.
    write_program(&env.path().join("left.sh"), "#!/bin/sh\nsleep 600 &\ncat\nexec sleep 600\n");
    let stopped = env.called("pintle", "template web --post-renderer ./left.sh", &short);
    assert!(stopped.starts_with("exit 1") && stopped.contains("did not end within"), "{stopped}");
    let wrong =
        env.called("pintle", "template web --post-renderer ./hang.sh", &[("PINTLE_PLUGIN_TIMEOUT", "soon")]);
    assert!(wrong.contains("$PINTLE_PLUGIN_TIMEOUT is \"soon\", and not a duration"), "{wrong}");
    fine(&env);
}

#[test]
fn hooks_that_hang_or_fail_leave_nothing_installed() {
    let env = env();
    let short = [("PINTLE_PLUGIN_TIMEOUT", "300ms"), PATH];
    for (name, hook, expected) in [
        ("hang", "exec sleep 600", "the install hook of the plugin \"hang\" did not end within 300ms"),
        ("fail", "exit 3", "plugin install hook for \"fail\" exited with error"),
    ] {
        let manifest =
            format!("name: {name}\nversion: 1.0.0\ncommand: /bin/echo\nhooks:\n  install: {hook}\n");
        env.write(&format!("src/{name}/plugin.yaml"), &manifest);
        let refused = env.called("pintle", &format!("plugin install src/{name}"), &short);
        assert!(refused.starts_with("exit 1") && refused.contains(expected), "{refused}");
        assert!(!env.path().join(PLUGINS).join(name).exists());
    }
    env.write("src/odd/plugin.yaml", "name: [\n");
    assert!(!env.pintle("plugin install src/odd").starts_with("exit 0"));
    assert!(std::fs::symlink_metadata(env.path().join(PLUGINS).join("odd")).is_err());
    // The hook of an update has the same limit.
    command(&env, "late", "echo late");
    env.write(
        &format!("{PLUGINS}/late/plugin.yaml"),
        "name: late\ncommand: /bin/echo\nhooks:\n  delete: exec sleep 600\n",
    );
    let stopped = env.called("pintle", "plugin uninstall late", &short);
    assert!(stopped.contains("the delete hook of the plugin \"late\" did not end within"), "{stopped}");
    fine(&env);
}

#[test]
fn a_gigabyte_of_output_is_refused() {
    let env = env();
    command(&env, "flood", "exec head -c 1073741824 /dev/zero");
    let refused = env.called("pintle", "template web -f flood://x", &[PATH]);
    assert!(refused.contains("the program printed more than 256 MiB"), "{refused}");
    write_program(&env.path().join("flood.sh"), "#!/bin/sh\nexec head -c 1073741824 /dev/zero\n");
    let refused = env.called("pintle", "template web --post-renderer ./flood.sh", &[PATH]);
    assert!(refused.starts_with("exit 1") && refused.contains("printed more than 256 MiB"), "{refused}");
}

#[test]
fn signals_missing_run_bits_and_unknown_platforms_are_told() {
    let env = env();
    command(&env, "killed", "kill -9 $$");
    let killed = env.called("pintle", "killed", &[PATH]);
    assert!(killed.starts_with("exit 255") && killed.contains("was ended by signal 9"), "{killed}");
    env.write(&format!("{PLUGINS}/plain/run.sh"), "#!/bin/sh\n")
        .write(&format!("{PLUGINS}/plain/plugin.yaml"), "name: plain\ncommand: $HELM_PLUGIN_DIR/run.sh\n");
    let plain = env.pintle("plain");
    assert!(plain.contains("permission denied") && plain.contains("chmod +x"), "{plain}");
    env.write(
        &format!("{PLUGINS}/other/plugin.yaml"),
        "name: other\nplatformCommand:\n- os: plan9\n  arch: mips\n  command: x\n",
    );
    let other = env.pintle("other");
    assert!(other.starts_with("exit 2") && other.contains("no plugin command is applicable"), "{other}");
    env.write(&format!("{PLUGINS}/template/plugin.yaml"), "name: template\ncommand: /bin/echo stolen\n");
    assert!(!env.pintle("template web").contains("stolen"));
    assert!(!env.called("helm", "template web", &[PATH]).contains("stolen"));
    // One that comes twice, and manifests whose fields have wrong types.
    env.write(&format!("{PLUGINS}/good2/plugin.yaml"), "name: good\ncommand: /bin/echo second\n")
        .write(&format!("{PLUGINS}/types/plugin.yaml"), "name: {a: b}\nversion: [1]\ncommand: 5\n")
        .write(&format!("{PLUGINS}/hooks/plugin.yaml"), "name: x\nhooks: text\n");
    let listed = env.pintle("plugin list");
    assert!(listed.contains("has the name `good` too"), "{listed}");
    assert!(listed.contains("cannot unmarshal !!map into string"), "{listed}");
    assert!(listed.contains("cannot unmarshal !!str `text` into"), "{listed}");
    fine(&env);
}

#[test]
fn archives_that_lead_out_and_hostile_names_install_nothing() {
    let env = env();
    let tar = |script: &str| {
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(env.path())
            .env("PATH", PATH.1)
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    };
    env.write("evil/plugin.yaml", "name: evil\nversion: 1.0.0\n");
    tar("ln -s /etc/passwd evil/link && tar czf evil-1.0.0.tgz evil && rm evil/link");
    tar("cp -r evil up && tar czf up-1.0.0.tgz --transform 's,up/plugin,../plugin,' -P up");
    env.write("odd/plugin.yaml", "name: ../../odd\nversion: 1.0.0\n");
    tar("tar czf odd-1.0.0.tgz odd && printf 'no archive' > bad-1.0.0.tgz");
    let before = std::fs::read_dir(env.path().join(PLUGINS)).unwrap().count();
    for archive in ["evil", "up", "odd", "bad"] {
        let refused = env.pintle(&format!("plugin install ./{archive}-1.0.0.tgz --verify=false"));
        assert!(!refused.starts_with("exit 0"), "{archive}: {refused}");
    }
    let after: Vec<_> = std::fs::read_dir(env.path().join(PLUGINS))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(after.len(), before, "{after:?}");
    assert!(!env.path().join(".local/share/helm/plugin.yaml").exists());
    fine(&env);
}
