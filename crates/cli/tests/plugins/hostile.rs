//! Plugins, repositories and suites that try to run what the user has not agreed to.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::write_program;
use crate::support::TestEnv;
use crate::support::archive::{gzip, tar};
use crate::support::terminal::Terminal;

const PATH: [(&str, &str); 1] = [("PATH", "/usr/bin:/bin")];

/// Runs git in the folder of a test, as its author would.
fn git(env: &TestEnv, folder: &str, line: &str) {
    let output = Command::new("git")
        .args(line.split(' '))
        .current_dir(env.path().join(folder))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs([("GIT_AUTHOR_NAME", "me"), ("GIT_AUTHOR_EMAIL", "me@example.com")])
        .envs([("GIT_COMMITTER_NAME", "me"), ("GIT_COMMITTER_EMAIL", "me@example.com")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

fn pintle(env: &TestEnv, line: &str) -> String {
    env.called("pintle", line, &PATH)
}

/// A program that leaves a file `ran` in the folder of the test.
fn trap(env: &TestEnv) -> String {
    let path = env.path().join("trap.sh");
    write_program(&path, &format!("#!/bin/sh\ntouch '{}/ran'\ncat\n", env.path().display()));
    path.to_string_lossy().into_owned()
}

fn ran(env: &TestEnv) -> bool {
    let ran = env.path().join("ran").exists();
    let _ = std::fs::remove_file(env.path().join("ran"));
    ran
}

/// All settings by which a repository can run programs.
fn hostile_config(trap: &str) -> String {
    let mut text = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {trap}\n\thooksPath = hooks\n\tsshCommand = {trap}\n\tpager = {trap}\n\taskPass = {trap}\n\teditor = {trap}\n\talternateRefsCommand = {trap}\n[credential]\n\thelper = {trap}\n[diff]\n\texternal = {trap}\n[gpg]\n\tprogram = {trap}\n[log]\n\tshowSignature = true\n"
    );
    for filter in ["x", "a.b"] {
        text.push_str(&format!(
            "[filter \"{filter}\"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n[diff \"{filter}\"]\n\tcommand = {trap}\n\ttextconv = {trap}\n"
        ));
    }
    text
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

const LUA: &str = "apiVersion: v1\nname: hi\nversion: 1.0.0\ntype: cli/v1\nruntime: lua\n";

#[test]
fn an_archive_brings_no_repository_and_an_update_runs_nothing_of_it() {
    let env = TestEnv::new();
    let trap = trap(&env);
    let config = format!(
        "{}[remote \"origin\"]\n\turl = file://{}/src\n",
        hostile_config(&trap),
        env.path().display()
    );
    let files = [
        ("hi/plugin.yaml", LUA),
        ("hi/plugin.lua", "function main() print(1) end"),
        ("hi/.git/config", config.as_str()),
        ("hi/.git/HEAD", "ref: refs/heads/main\n"),
        ("hi/.git/objects/x", ""),
        ("hi/.git/refs/x", ""),
    ];
    let entries: Vec<(&str, u8, &[u8])> =
        files.iter().map(|(name, text)| (*name, b'0', text.as_bytes())).collect();
    std::fs::write(env.path().join("hi-1.0.0.tgz"), gzip(&tar(&entries))).unwrap();
    let installed = pintle(&env, "plugin install hi-1.0.0.tgz --verify=false");
    assert!(installed.contains("Installed plugin: hi"), "{installed}");
    let dir = env.path().join(".local/share/helm/pintle/plugins/hi");
    assert!(dir.join("plugin.lua").exists() && !dir.join(".git").exists());
    // As a program that unpacks everything would have left it.
    for (name, text) in &files[2..] {
        let path = dir.parent().unwrap().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for _ in 0..2 {
        let refused = pintle(&env, "plugin update hi");
        assert!(refused.starts_with("exit 1") && refused.contains("cannot get information"), "{refused}");
        assert!(!ran(&env), "{refused}");
        // Nor without the archive by which it is known to come from one.
        let _ = std::fs::remove_file(dir.with_file_name("hi-1.0.0.tgz"));
        let _ = std::fs::rename(dir.join(".git"), env.path().join("gone"));
    }
}

#[test]
fn no_setting_of_a_repository_runs_a_program() {
    let env = TestEnv::new();
    let trap = trap(&env);
    let chart = "apiVersion: v2\nname: web\nversion: 0.1.0\n";
    env.write("r/web/Chart.yaml", chart)
        .write("r/web/templates/a.yaml", CONFIG_MAP)
        .write(
            "r/web/tests/a_test.yaml",
            "suite: s\ntests: [{it: x, asserts: [{equal: {path: kind, value: ConfigMap}}]}]\n",
        )
        .write("r/.gitattributes", "* filter=x diff=x\n*.yaml filter=a.b diff=a.b\n")
        .write("r/plugin.yaml", "name: hi\nversion: 1.0.0\ncommand: echo hi\n");
    for line in ["init -q -b main .", "add .", "commit -qm first", "branch other"] {
        git(&env, "r", line);
    }
    git(&env, "r", "remote add origin .");
    git(&env, "r", "fetch -q origin");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"] {
        write_program(&env.path().join("r/hooks").join(hook), &std::fs::read_to_string(&trap).unwrap());
    }
    let config = env.path().join("r/.git/config");
    let own = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{own}{}", hostile_config(&trap))).unwrap();
    // With another content and time, so that git has to look at the files.
    env.write("r/web/templates/a.yaml", &format!("{CONFIG_MAP}\n"));
    // What is tried here would run the trap with git alone.
    let mut plain = Command::new("git");
    plain
        .args(["diff", "--name-only"])
        .current_dir(env.path().join("r"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    plain.output().unwrap();
    assert!(ran(&env), "the repository is not hostile");
    let here = env.path().display().to_string();
    for line in [
        "unittest web --changed",
        "unittest web --changed --since other",
        "rehearse web --from git:main",
        "ct list-changed --chart-dirs . --target-branch main",
    ] {
        let shown = Command::new(env.linked("pintle"))
            .args(line.split(' '))
            .current_dir(env.path().join("r"))
            .env_clear()
            .envs(PATH)
            .env("HOME", env.path())
            .output()
            .unwrap();
        assert!(shown.status.success(), "{line}: {shown:?}");
        assert!(!ran(&env), "{line}: {shown:?}");
    }
    for line in [
        format!("template git+file://{here}/r@web?ref=other"),
        format!("plugin install file://{here}/r --verify=false"),
    ] {
        let shown = pintle(&env, &line);
        assert!(shown.starts_with("exit 0"), "{line}: {shown}");
        assert!(!ran(&env), "{line}: {shown}");
    }
    // The clone of a plugin is hostile, too, if something in it has been changed.
    let plugin = env.path().join(".local/share/helm/plugins/r/.git/config");
    let own = std::fs::read_to_string(&plugin).unwrap();
    std::fs::write(&plugin, format!("{own}{}", hostile_config(&trap))).unwrap();
    git(
        &env,
        "r",
        "-c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.x.required=false -c filter.x.process= -c filter.x.clean= -c filter.a.b.process= -c filter.a.b.clean= -c filter.a.b.required=false commit -q --allow-empty -m second",
    );
    ran(&env);
    let updated = pintle(&env, "plugin update hi");
    assert!(updated.contains("Updated plugin: hi"), "{updated}");
    assert!(!ran(&env), "{updated}");
}

#[test]
fn credentials_of_the_user_reach_a_clone_and_those_of_a_repository_do_not() {
    let env = TestEnv::new();
    env.write("r/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("r/web/templates/a.yaml", "a: 1\n");
    for line in ["init -q -b main .", "add .", "commit -qm first"] {
        git(&env, "r", line);
    }
    // A setting that only the user's configuration has decides where the clone comes from.
    env.write(
        ".gitconfig",
        &format!("[url \"file://{}/\"]\n\tinsteadOf = https://git.invalid/\n", env.path().display()),
    );
    let shown = pintle(&env, "template git+https://git.invalid/r@web");
    assert!(shown.starts_with("exit 0") && shown.contains("a: 1"), "{shown}");
    // Protocols that run programs are not for URLs, whoever writes them.
    env.write(".gitconfig", "[protocol \"ext\"]\n\tallow = always\n[url \"ext::sh -c touch% ran \"]\n\tinsteadOf = https://git.invalid/\n");
    let shown = pintle(&env, "template git+https://git.invalid/r@web");
    assert!(shown.starts_with("exit 1") && !ran(&env), "{shown}");
}

/// A repository of a plugin, with one commit for each manifest.
fn plugin_repository(env: &TestEnv, manifests: &[&str]) {
    env.write("src/plugin.lua", "function main() print(1) end");
    git(env, "src", "init -q -b main .");
    for (at, manifest) in manifests.iter().enumerate() {
        env.write("src/plugin.yaml", &format!("{manifest}# {at}\n"));
        git(env, "src", "add .");
        git(env, "src", &format!("commit -qm {at}"));
        git(env, "src", &format!("tag v{at}"));
    }
}

const PROGRAM: &str = "name: hi\nversion: 1.0.0\ncommand: echo hi\nhooks: {update: touch $HOME/ran}\n";

#[test]
fn an_update_that_may_do_more_asks_and_changes_nothing_when_it_cannot() {
    let more = LUA.replace("runtime: lua\n", "runtime: lua\nruntimeConfig: {permissions: [os]}\n");
    let hooks = PROGRAM.replace("touch", "exec touch");
    for (old, new, name) in [
        (LUA, PROGRAM, "pintle"),
        (LUA, PROGRAM, "helm"),
        (LUA, more.as_str(), "pintle"),
        (PROGRAM, LUA, "pintle"),
        (PROGRAM, hooks.as_str(), "pintle"),
    ] {
        let env = TestEnv::new();
        plugin_repository(&env, &[old, new]);
        let source = format!("file://{}/src", env.path().display());
        let installed = pintle(&env, &format!("plugin install {source} --verify=false --version v0"));
        assert!(installed.contains("Installed plugin"), "{installed}");
        let folder = if old == LUA { "pintle/plugins" } else { "plugins" };
        let folder = env.path().join(".local/share/helm").join(folder);
        let manifest = || std::fs::read_to_string(folder.join("src/plugin.yaml")).unwrap();
        let before = manifest();
        let refused = env.called(name, "plugin update hi --version v1", &PATH);
        assert!(refused.starts_with("exit 1"), "{refused}");
        assert!(refused.contains("was not updated") || refused.contains("not granted: os"), "{refused}");
        assert_eq!((manifest(), ran(&env)), (before, false), "{refused}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "{refused}");
        let updated = env.called(name, "plugin update hi --version v1 --yes", &PATH);
        assert!(updated.contains("Updated plugin: hi"), "{updated}");
        assert!(manifest().ends_with("# 1\n"));
        ran(&env);
    }
}

#[test]
fn programs_are_updated_as_in_helm_and_on_a_terminal_the_user_is_asked() {
    let hooks = PROGRAM.replace("touch", "exec touch");
    let env = TestEnv::new();
    plugin_repository(&env, &[PROGRAM, &hooks, LUA]);
    let source = format!("file://{}/src", env.path().display());
    env.called("helm", &format!("plugin install {source} --verify=false --version v0"), &PATH);
    let updated = env.called("helm", "plugin update hi --version v1", &PATH);
    assert!(updated.contains("Updated plugin: hi") && ran(&env), "{updated}");
    let terminal = Terminal::start_with(&env, "plugin update hi --version v2", &PATH);
    terminal.wait_for("its runtime was `subprocess` and is `lua`", 1).type_in("yes\n");
    let (code, shown, errors) = terminal.end();
    assert!(code == 0 && shown.contains("Updated plugin: hi"), "{shown}{errors}");
}

#[test]
fn links_that_leave_the_chart_of_a_repository_are_refused() {
    let env = TestEnv::new();
    env.write("secret", "key: s3cret\n")
        .write("r/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    env.write("r/web/templates/a.yaml", "a: {{ .Files.Get \"files/key\" | quote }}\n")
        .write("r/web/own", "own");
    std::fs::create_dir_all(env.path().join("r/web/files")).unwrap();
    let link = env.path().join("r/web/files/key");
    git(&env, "r", "init -q -b main .");
    let here = env.path().display().to_string();
    let absolute = env.path().join("secret");
    for (target, expected) in [
        (Path::new("../own"), "a: \"own\""),
        (absolute.as_path(), "leads out of the chart"),
        (Path::new("../../../secret"), "leads out of the chart"),
        (Path::new("../../outside"), "leads out of the chart"),
    ] {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        git(&env, "r", "add -A");
        git(&env, "r", "commit -qm link");
        let shown = pintle(&env, &format!("template git+file://{here}/r@web"));
        assert!(shown.contains(expected) && !shown.contains("s3cret"), "{target:?}: {shown}");
    }
    std::os::unix::fs::symlink("../secret", env.path().join("r/values.yaml")).unwrap();
    std::os::unix::fs::symlink("web/own", env.path().join("r/inside")).unwrap();
    git(&env, "r", "add -A");
    git(&env, "r", "commit -qm link");
    env.write("plain/Chart.yaml", "apiVersion: v2\nname: plain\nversion: 0.1.0\n");
    let shown = pintle(&env, &format!("template plain -f git+file://{here}/r@values.yaml"));
    assert!(shown.contains("leads out of the repository"), "{shown}");
    let shown = pintle(&env, &format!("template plain --set-file a=git+file://{here}/r@inside"));
    assert!(shown.starts_with("exit 0"), "{shown}");
}

#[test]
fn a_failed_installation_leaves_no_archive() {
    let env = TestEnv::new();
    let hook = "name: hi\nversion: 1.0.0\ncommand: echo\nhooks: {install: exit 3}\n";
    let perms = LUA.replace("runtime: lua\n", "runtime: lua\nruntimeConfig: {permissions: [os]}\n");
    for manifest in
        [hook, perms.as_str(), "name: hi\nversion: 1.0.0\ncommand: a\nplatformCommand: [{command: b}]\n"]
    {
        let entries: [(&str, u8, &[u8]); 2] =
            [("hi/plugin.yaml", b'0', manifest.as_bytes()), ("hi/plugin.lua", b'0', b"")];
        std::fs::write(env.path().join("hi-1.0.0.tgz"), gzip(&tar(&entries))).unwrap();
        for variables in [&PATH[..], &[PATH[0], ("HELM_PLUGINS", "elsewhere")]] {
            let failed = env.called("pintle", "plugin install hi-1.0.0.tgz --verify=false", variables);
            assert!(!failed.starts_with("exit 0"), "{failed}");
            for folder in [".local/share/helm/plugins", ".local/share/helm/pintle/plugins"] {
                let left = std::fs::read_dir(env.path().join(folder)).into_iter().flatten().count();
                assert_eq!(left, 0, "{folder}: {failed}");
            }
        }
    }
}

/// Whether a process of a test, which has its folder among its arguments, is still there.
fn lives(env: &TestEnv) -> bool {
    let here = env.path().to_string_lossy().into_owned();
    let is_it = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("sleeper") && line.contains(&here)
    };
    std::fs::read_dir("/proc").unwrap().flatten().any(is_it)
}

/// A post-renderer whose child goes on after it.
fn sleeper(env: &TestEnv) {
    let child = env.path().join("sleeper.sh");
    write_program(&child, "#!/bin/sh\nread x < \"$1\"\n");
    assert!(Command::new("mkfifo").arg(env.path().join("fifo")).status().unwrap().success());
    let text =
        format!("#!/bin/sh\n{0}/sleeper.sh {0}/fifo &\ntouch {0}/started\nwait\n", env.path().display());
    write_program(&env.path().join("post.sh"), &text);
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/templates/a.yaml", "a: 1\n");
}

fn gone(env: &TestEnv) -> bool {
    let start = Instant::now();
    while lives(env) && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !lives(env)
}

#[test]
#[cfg(target_os = "linux")]
fn children_of_a_stopped_post_renderer_are_stopped_too() {
    let env = TestEnv::new();
    sleeper(&env);
    let variables = [PATH[0], ("PINTLE_PLUGIN_TIMEOUT", "300ms")];
    let late = env.called("pintle", "template web --post-renderer ./post.sh", &variables);
    assert!(late.contains("did not end within 300ms"), "{late}");
    assert!(gone(&env), "the child is still there");
    // And when the program itself is told to end.
    for signal in ["INT", "TERM"] {
        let _ = std::fs::remove_file(env.path().join("started"));
        let mut child = Command::new(env.linked("pintle"))
            .args(["template", "web", "--post-renderer", "./post.sh"])
            .current_dir(env.path())
            .env_clear()
            .envs(PATH)
            .env("HOME", env.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !env.path().join("started").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert!(gone(&env), "{signal}: the child is still there");
    }
}

#[test]
fn a_suite_runs_a_program_only_if_the_user_agrees() {
    let env = TestEnv::new();
    let trap = trap(&env);
    let suite = format!(
        "suite: s\npostRenderer: {{cmd: {trap}}}\ntests: [{{it: x, asserts: [{{equal: {{path: a, value: 1}}}}]}}]\n"
    );
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/templates/a.yaml", "a: 1\n")
        .write("web/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n")
        .write("web/charts/sub/templates/a.yaml", "a: 1\n")
        .write("web/charts/sub/tests/a_test.yaml", &suite);
    let refused = pintle(&env, "unittest web");
    assert!(refused.starts_with("exit 1") && refused.contains("--allow-post-renderer"), "{refused}");
    assert!(!ran(&env));
    assert!(pintle(&env, "unittest web --allow-post-renderer").starts_with("exit 0") && ran(&env));
    assert!(env.called("helm", "unittest web", &PATH).starts_with("exit 0") && ran(&env));
    let terminal = Terminal::start_with(&env, "unittest web", &PATH);
    terminal.wait_for("A suite wants to run a program as its post-renderer", 1).type_in("no\n");
    let (code, shown, errors) = terminal.end();
    assert!(code == 1 && !ran(&env), "{shown}{errors}");
    // Time and output are limited for everyone.
    for (program, expected) in
        [("exec sleep 100", "did not end within 300ms"), ("exec yes", "did not end within|more than 256 MiB")]
    {
        write_program(Path::new(&trap), &format!("#!/bin/sh\n{program}\n"));
        let stopped = env.called("helm", "unittest web", &[PATH[0], ("PINTLE_PLUGIN_TIMEOUT", "300ms")]);
        assert!(expected.split('|').any(|text| stopped.contains(text)), "{stopped}");
    }
}
