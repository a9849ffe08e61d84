//! `ui`: the page of `pintle ui`. Its sources are in `ui/`; the bundle is committed to `crates/ui/assets`, so that building the
//! program needs no JavaScript.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::shell::{self, ci_binary, print_line, root};
use crate::steps::Outcome;

/// The reason for skipping what needs npm.
const MISSING: &str = "npm is not here";

/// Ten times what starting a server takes.
const START: Duration = Duration::from_secs(60);

/// What the files of the bundle are called.
const ASSETS: [&str; 4] = ["app.css", "app.js", "icon.svg", "index.html"];

/// The largest picture of the documentation.
const LARGEST_PICTURE: u64 = 60_000;

const USAGE: &str = "usage: cargo xtask ui [--check] [--browser [--program PINTLE]] [--pictures]";

/// Runs `ui [--check] [--browser [--program PINTLE]] [--pictures]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    let mut words = arguments.iter().map(String::as_str);
    let (mut is_check, mut in_browser, mut pictures, mut program) = (false, false, false, None);
    while let Some(word) = words.next() {
        match word {
            "--check" => is_check = true,
            "--browser" => in_browser = true,
            "--pictures" => pictures = true,
            "--program" => program = Some(PathBuf::from(words.next().context(USAGE)?)),
            _ => bail!(USAGE),
        }
    }
    if !has("npm") {
        return Ok(Outcome::skipped(MISSING));
    }
    install()?;
    if in_browser {
        let program = program.map_or_else(ci_binary, Ok)?;
        // The servers run in another folder.
        let program =
            fs::canonicalize(&program).with_context(|| format!("cannot find {}", program.display()))?;
        return browser(&program);
    }
    if pictures {
        return take_pictures().map(|()| Outcome::Passed);
    }
    npm(&["run", "--silent", "check"])?;
    npm(&["run", "--silent", "test"])?;
    let assets = root().join("crates/ui/assets");
    if is_check {
        compare(&assets)?;
    } else {
        build(&assets)?;
    }
    Ok(Outcome::Passed)
}

/// The checks that need no cluster: types, unit tests, and whether the committed bundle is what the sources give.
pub(crate) fn check() -> Result<Outcome> {
    run(&["--check".to_owned()])
}

fn has(program: &str) -> bool {
    let mut version = Command::new(program);
    let status = version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn folder() -> PathBuf {
    root().join("ui")
}

fn npm(words: &[&str]) -> Result<()> {
    shell::run(Command::new("npm").args(words).current_dir(folder()))
}

/// Installs what `package-lock.json` names, with the digests that it has; unchanged since the last time, it is there.
fn install() -> Result<()> {
    let lock = fs::read(folder().join("package-lock.json")).context("cannot read ui/package-lock.json")?;
    let mark = folder().join("node_modules/.pintle-lock");
    if fs::read(&mark).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    npm(&["ci", "--silent"])?;
    fs::write(&mark, lock).with_context(|| format!("cannot write {}", mark.display()))
}

fn build(output: &Path) -> Result<()> {
    shell::run(Command::new("node").arg("build.mjs").arg(output).current_dir(folder()))
}

/// Builds the bundle elsewhere and compares it with the committed one, byte for byte.
fn compare(committed: &Path) -> Result<()> {
    let built = tempfile::tempdir().context("cannot make a temporary folder")?;
    build(built.path())?;
    for name in ASSETS {
        let expected = fs::read(built.path().join(name)).with_context(|| format!("no {name} was built"))?;
        if fs::read(committed.join(name)).ok().as_ref() != Some(&expected) {
            bail!("crates/ui/assets/{name} is not what the sources in ui/ give; run `cargo xtask ui`");
        }
    }
    Ok(())
}

/// Debian's Chromium, installed if it is not there and this user may do so.
fn chromium() -> Result<bool> {
    for name in ["chromium", "pngquant"] {
        if !has(name) && has("apt-get") && rustix::process::geteuid().is_root() {
            print_line(&format!("installing {name} (once)"));
            let mut install = Command::new("apt-get");
            install.args(["install", "--yes", "--no-install-recommends", name]).stdout(Stdio::null());
            shell::run(install.env("DEBIAN_FRONTEND", "noninteractive"))?;
        }
    }
    Ok(has("chromium"))
}

/// Runs the tests in a browser: screens with made-up releases, and flows against `ui` itself on an embedded cluster.
pub(crate) fn browser(program: &Path) -> Result<Outcome> {
    if !has("npm") {
        return Ok(Outcome::skipped(MISSING));
    }
    if !chromium()? {
        return Ok(Outcome::skipped("no Chromium is installed; Debian's package is `chromium`"));
    }
    install()?;
    let home = tempfile::tempdir().context("cannot make a temporary folder")?;
    let servers = Servers::start(program, home.path())?;
    let mut tests = Command::new("node");
    tests.arg("test/browser.mjs").current_dir(folder()).env("PINTLE_UI", &servers.link);
    tests.env("PINTLE_UI_CHART", root().join("examples/charts/web"));
    shell::run(&mut tests)?;
    Ok(Outcome::Passed)
}

/// An embedded cluster with a release, and `ui` on it; both end with this value.
struct Servers {
    link: String,
    _ui: Running,
    _cluster: Running,
}

impl Servers {
    fn start(program: &Path, home: &Path) -> Result<Servers> {
        let command = |words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).current_dir(home).env("HOME", home).env("XDG_RUNTIME_DIR", home);
            for name in ["KUBECONFIG", "PINTLE_CLUSTER", "PINTLE_CONTEXT", "HELM_NAMESPACE"] {
                command.env_remove(name);
            }
            command
        };
        let kubeconfig = home.join("kubeconfig.yaml");
        let config = kubeconfig.to_str().context("the temporary folder has no UTF-8 name")?;
        let serve = ["cluster", "serve", "--cluster", "embedded:web.db", "--write-kubeconfig"];
        let cluster = Running::start(command(&serve).arg(config).stdout(Stdio::null()))?;
        let started = Instant::now();
        while !kubeconfig.is_file() {
            if started.elapsed() > START {
                bail!("the embedded cluster has not started after {} s", START.as_secs());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let chart = root().join("examples/charts/web");
        let chart = chart.to_str().context("the repository has no UTF-8 path")?;
        let shop = ["--namespace", "shop", "--kubeconfig", config, "--wait"];
        for words in [
            ["install", "web", chart, "--create-namespace"].as_slice(),
            &["upgrade", "web", chart, "--set", "replicas=3"],
        ] {
            shell::run(command(words).args(shop).stdout(Stdio::null()))?;
        }
        let mut ui = Running::start(
            command(&["ui", "--write", "--no-browser", "--kubeconfig", config]).stdout(Stdio::piped()),
        )?;
        let link = ui.first_line()?;
        Ok(Servers { link, _ui: ui, _cluster: cluster })
    }
}

/// A program that is ended with this value.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Running> {
        let child =
            command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot run {command:?}"))?;
        Ok(Running(child))
    }

    /// The first line that it prints, for which it has a limited time.
    fn first_line(&mut self) -> Result<String> {
        let output = self.0.stdout.take().context("its output is not read")?;
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).lines();
            let _ = sender.send(lines.next());
            // Reading on, so that it can write.
            lines.for_each(drop);
        });
        let line = receiver.recv_timeout(START).context("`ui` has printed no address")?;
        Ok(line.context("`ui` has ended")?.context("cannot read what `ui` prints")?.trim().to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes the pictures of the documentation anew.
fn take_pictures() -> Result<()> {
    if !chromium()? || !has("pngquant") {
        bail!("pictures need Debian's packages `chromium` and `pngquant`");
    }
    let pictures = root().join("docs/pictures");
    let taken = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut command = Command::new("node");
    shell::run(command.args(["test/browser.mjs", "--pictures"]).arg(taken.path()).current_dir(folder()))?;
    for entry in fs::read_dir(taken.path()).context("there are no pictures")? {
        let path = entry?.path();
        let target = pictures.join(path.file_name().unwrap_or_default());
        let mut reduce = Command::new("pngquant");
        reduce.args(["--speed", "1", "--strip", "--force", "--nofs", "64", "--output"]);
        shell::run(reduce.arg(&target).arg("--").arg(&path))?;
        let size = fs::metadata(&target)?.len();
        if size > LARGEST_PICTURE {
            bail!("{} has {size} bytes, more than {LARGEST_PICTURE}", target.display());
        }
        print_line(&format!("{}: {size} bytes", target.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_is_there_and_loads_nothing_from_elsewhere() {
        let assets = root().join("crates/ui/assets");
        let read = |name: &str| fs::read_to_string(assets.join(name)).expect(name);
        let index = read("index.html");
        assert!(index.contains("\"/assets/app.js\"") && index.contains("\"/assets/app.css\""));
        // A policy that allows no inline script and no inline style applies to it.
        assert!(!index.contains("<style") && !index.contains("style=") && !index.contains("onload="));
        let styles = read("app.css");
        assert!(!styles.contains("url(") && !styles.contains("@import") && !styles.contains("@font-face"));
        let script = read("app.js");
        assert!(!script.contains("eval(") && !script.contains("new Function"));
    }

    #[test]
    fn versions_of_npm_packages_are_exact_and_have_digests() {
        let read = |name: &str| -> serde_json::Value {
            serde_json::from_str(&fs::read_to_string(folder().join(name)).expect(name)).expect(name)
        };
        let package = read("package.json");
        for group in ["dependencies", "devDependencies"] {
            for (name, version) in package[group].as_object().expect(group) {
                let version = version.as_str().unwrap_or_default();
                assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{name} is `{version}`");
            }
        }
        let runtime: Vec<&String> = package["dependencies"].as_object().expect("some").keys().collect();
        assert_eq!(runtime, ["@preact/signals", "preact"], "another one needs a decision record");
        let lock = read("package-lock.json");
        for (name, entry) in lock["packages"].as_object().expect("packages") {
            assert!(name.is_empty() || entry["integrity"].is_string(), "{name} has no digest");
            assert!(entry["resolved"].is_null(), "{name} names a host");
        }
    }
}
