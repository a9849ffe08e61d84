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

/// A legacy plugin that runs a shell script.
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
fn getters_and_post_renderers_that_hang_are_stopped() {
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
fn a_completion_that_hangs_or_prints_without_end_is_given_up() {
    let env = env();
    command(&env, "slow", "true");
    let short = [("PINTLE_PLUGIN_TIMEOUT", "300ms"), PATH];
    for script in ["exec sleep 600", "exec head -c 1073741824 /dev/zero"] {
        write_program(
            &env.path().join(format!("{PLUGINS}/slow/plugin.complete")),
            &format!("#!/bin/sh\n{script}\n"),
        );
        let given_up = env.called("pintle", "__complete slow ''", &short);
        assert!(given_up.starts_with("exit 0\n--- stdout\n:0\n"), "{given_up}");
    }
    fine(&env);
}

#[test]
fn the_end_of_a_plugin_by_a_signal_is_an_error_that_names_the_signal() {
    let env = env();
    command(&env, "killed", "kill -9 $$");
    let killed = env.called("pintle", "killed", &[PATH]);
    assert!(killed.starts_with("exit 255") && killed.contains("was ended by signal 9"), "{killed}");
    let killed = env.called("pintle", "template web -f killed://x", &[PATH]);
    assert!(killed.starts_with("exit 1") && killed.contains("was ended by signal 9"), "{killed}");
    fine(&env);
}

#[test]
fn a_program_without_its_run_bit_is_an_error_with_the_remedy() {
    let env = env();
    env.write(&format!("{PLUGINS}/plain/run.sh"), "#!/bin/sh\n")
        .write(&format!("{PLUGINS}/plain/plugin.yaml"), "name: plain\ncommand: $HELM_PLUGIN_DIR/run.sh\n");
    let plain = env.pintle("plain");
    assert!(plain.starts_with("exit 1") && plain.contains("permission denied"), "{plain}");
    assert!(plain.contains("chmod +x"), "{plain}");
    fine(&env);
}

#[test]
fn a_plugin_without_a_command_for_this_platform_is_an_error() {
    let env = env();
    env.write(
        &format!("{PLUGINS}/other/plugin.yaml"),
        "name: other\nplatformCommand:\n- os: plan9\n  arch: mips\n  command: x\n",
    );
    let other = env.pintle("other");
    assert!(other.starts_with("exit 2") && other.contains("no plugin command is applicable"), "{other}");
    fine(&env);
}

#[test]
fn a_plugin_with_the_name_of_a_built_in_command_does_not_take_its_place() {
    let env = env();
    env.write(&format!("{PLUGINS}/template/plugin.yaml"), "name: template\ncommand: /bin/echo stolen\n");
    assert!(env.pintle("template web").contains("name: plain"));
    assert!(env.called("helm", "template web", &[PATH]).contains("name: plain"));
    fine(&env);
}

#[test]
fn plugins_that_come_twice_or_have_fields_of_wrong_types_are_named_and_left_out() {
    let env = env();
    env.write(&format!("{PLUGINS}/good2/plugin.yaml"), "name: good\ncommand: /bin/echo second\n")
        .write(&format!("{PLUGINS}/types/plugin.yaml"), "name: {a: b}\nversion: [1]\ncommand: 5\n")
        .write(&format!("{PLUGINS}/hooks/plugin.yaml"), "name: x\nhooks: text\n");
    let listed = env.pintle("plugin list");
    assert!(listed.contains("has the name `good` too"), "{listed}");
    assert!(listed.contains("cannot unmarshal !!map into string"), "{listed}");
    assert!(listed.contains("cannot unmarshal !!str `text` into"), "{listed}");
    fine(&env);
}

/// Runs a line of shell in the folder of a test.
fn shell(env: &TestEnv, line: &str) {
    let output = std::process::Command::new("sh")
        .args(["-c", line])
        .current_dir(env.path())
        .env("PATH", PATH.1)
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

/// The names of all that is in the folder of plugins.
fn installed(env: &TestEnv) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(env.path().join(PLUGINS)).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

/// Asserts that installing an archive fails with this text and leaves no files.
fn refused(env: &TestEnv, archive: &str, expected: &str) {
    let before = installed(env);
    let refused = env.pintle(&format!("plugin install ./{archive} --verify=false"));
    assert!(!refused.starts_with("exit 0") && refused.contains(expected), "{archive}: {refused}");
    assert_eq!(installed(env), before, "{archive}");
    fine(env);
}

#[test]
fn archives_with_links_or_paths_that_lead_out_install_nothing() {
    let env = env();
    env.write("evil/plugin.yaml", "name: evil\nversion: 1.0.0\n");
    shell(&env, "ln -s /etc/passwd evil/link && tar czf evil-1.0.0.tgz evil && rm evil/link");
    refused(&env, "evil-1.0.0.tgz", "unknown type: 110010 in evil/link");
    shell(&env, "ln evil/plugin.yaml evil/second && tar czf hard-1.0.0.tgz evil && rm evil/second");
    refused(&env, "hard-1.0.0.tgz", "unknown type: 110001 in evil/");
    shell(&env, "cp -r evil up && tar czf up-1.0.0.tgz --transform 's,up/plugin,../plugin,' -P up");
    refused(&env, "up-1.0.0.tgz", "path contains '..', which is illegal");
    assert!(!env.path().join(".local/share/helm/plugin.yaml").exists());
    shell(&env, "cp -r evil abs && tar czf abs-1.0.0.tgz --transform 's,^abs,/tmp/abs,' -P abs");
    refused(&env, "abs-1.0.0.tgz", "path is absolute, which is illegal");
    shell(&env, "printf 'no archive' > bad-1.0.0.tgz");
    refused(&env, "bad-1.0.0.tgz", "gzip: invalid header");
}

#[test]
fn hostile_names_of_plugins_and_of_archives_install_nothing() {
    let env = env();
    env.write("odd/plugin.yaml", "name: ../../odd\nversion: 1.0.0\n");
    shell(&env, "tar czf odd-1.0.0.tgz odd");
    refused(&env, "odd-1.0.0.tgz", "invalid plugin name");
    // Without `.tgz`, the first name means the plugins folder itself, and the second its parent.
    env.write("fair/plugin.yaml", "name: fair\nversion: 1.0.0\n");
    shell(&env, "tar czf .tgz fair && cp .tgz ...tgz");
    refused(&env, ".tgz", "plugin already exists");
    refused(&env, "...tgz", "plugin already exists");
    env.write(&format!("{PLUGINS}/a/plugin.yaml"), "name: ../good\ncommand: /bin/echo stolen\n");
    assert!(env.pintle("plugin list").contains("invalid plugin name"));
    assert!(!env.pintle("plugin uninstall ../good").starts_with("exit 0"));
    fine(&env);
}
