//! `dependency build` with 20 dependencies from three large repositories: alone beside Helm, and 250 at once on one cache.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::server::{self, Files};
use super::{Cost, hex, index, line, measure, middle};
use crate::helm::bare;
use crate::shell::print_line;

const REPOSITORIES: usize = 3;
const DEPENDENCIES: usize = 20;
/// One round only, because Helm takes two minutes for it.
const ROUNDS: usize = 1;

/// How many processes share a cache, and which of them are killed.
const AT_ONCE: usize = 250;
const KILLED: usize = 10;

/// A chart with its dependencies, and the repositories that have them.
struct Setup {
    address: String,
    index: Arc<Vec<u8>>,
    chart: Arc<Vec<u8>>,
}

/// Measures both programs in turns, and runs many of ours at once. Gives lines of the table.
pub(super) fn run(helm: &Path, ours: &Path, chart: &[u8], folder: &Path) -> Result<String> {
    let setup = Setup::new(chart)?;
    let homes = ["helm-dependencies", "our-dependencies"].map(|name| folder.join(name));
    for (program, home) in [helm, ours].iter().zip(&homes) {
        setup.fill(home, "app")?;
        let updated = measure(program, home, &["dependency", "update", &chart_of(home, "app")])?;
        print_line(&format!("{} dependency update: {:.1} s", program.display(), updated.wall.as_secs_f64()));
    }
    let (mut theirs, mut mine): (Vec<Cost>, Vec<Cost>) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (program, home, costs) in [(helm, &homes[0], &mut theirs), (ours, &homes[1], &mut mine)] {
            let chart = chart_of(home, "app");
            fs::remove_dir_all(Path::new(&chart).join("charts"))?;
            costs.push(measure(program, home, &["dependency", "build", &chart])?);
        }
    }
    let mut table =
        line("dependency build, 20 dependencies of 3 repositories", &middle(theirs), &middle(mine));
    print_line(&table);
    table.push('\n');
    let at_once = setup.at_once(ours, &folder.join("at-once"))?;
    print_line(&at_once);
    writeln!(table, "\n{at_once}")?;
    Ok(table)
}

fn chart_of(home: &Path, name: &str) -> String {
    home.join(name).to_string_lossy().into_owned()
}

impl Setup {
    fn new(chart: &[u8]) -> Result<Setup> {
        let chart = Arc::new(chart.to_vec());
        let index = Arc::new(index(&chart).replace("https://charts.example.com/", "").into_bytes());
        let mut files = Files::new();
        for repository in 0..REPOSITORIES {
            files.insert(format!("/r{repository}/index.yaml"), Arc::clone(&index));
            for number in 0..DEPENDENCIES {
                files.insert(format!("/r{repository}/chart-{number}-1.51.0.tgz"), Arc::clone(&chart));
            }
        }
        Ok(Setup { address: server::serve(files)?, index, chart })
    }

    fn url(&self, repository: usize) -> String {
        format!("http://{}/r{repository}", self.address)
    }

    /// Writes repositories.yaml, and a chart that depends on 20 others.
    fn fill(&self, home: &Path, name: &str) -> Result<()> {
        let mut repositories = String::from("repositories:\n");
        for repository in 0..REPOSITORIES {
            writeln!(repositories, "- {{name: r{repository}, url: \"{}\"}}", self.url(repository))?;
        }
        let mut chart = format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\ndependencies:\n");
        for number in 0..DEPENDENCIES {
            let url = self.url(number % REPOSITORIES);
            writeln!(chart, "- {{name: chart-{number}, version: 1.51.0, repository: \"{url}\"}}")?;
        }
        fs::create_dir_all(home.join(".config/helm"))?;
        fs::create_dir_all(home.join(name))?;
        fs::write(home.join(".config/helm/repositories.yaml"), repositories)?;
        fs::write(home.join(name).join("Chart.yaml"), chart)?;
        Ok(())
    }

    /// 250 processes on one cache, of which every tenth is killed. Whatever is visible in the cache must be whole at any
    /// time, and all the others must succeed.
    fn at_once(&self, ours: &Path, home: &Path) -> Result<String> {
        self.fill(home, "app-0")?;
        measure(ours, home, &["dependency", "update", &chart_of(home, "app-0")])?;
        for number in 1..AT_ONCE {
            let chart = home.join(format!("app-{number}"));
            fs::create_dir_all(&chart)?;
            for file in ["Chart.yaml", "Chart.lock"] {
                fs::copy(home.join("app-0").join(file), chart.join(file))?;
            }
        }
        let mut children = Vec::new();
        for number in 0..AT_ONCE {
            let mut command = bare(ours);
            command
                .args(["dependency", "build", &chart_of(home, &format!("app-{number}"))])
                .env("HOME", home);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            children.push(command.spawn().context("cannot start so many programs")?);
        }
        let mut looked = 0;
        let mut next = 0;
        while children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None))) {
            self.check_cache(home)?;
            looked += 1;
            // One after the other, so that they are killed in all stages.
            if let Some(child) = children.get_mut(next) {
                child.kill()?;
                next += KILLED;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.check_cache(home)?;
        for number in 0..AT_ONCE {
            self.check_charts(&home.join(format!("app-{number}/charts")), number.is_multiple_of(KILLED))?;
        }
        let failed = failures(children)?;
        ensure!(failed.is_empty(), "{} of {AT_ONCE} failed: {}", failed.len(), failed[0]);
        Ok(format!(
            "{AT_ONCE} `dependency build` at once on one cache, every {KILLED}th killed: all others succeeded; the cache was \
             looked at {looked} times, and had whole files only."
        ))
    }

    /// Archives of a chart are whole, and all are there unless its program was killed.
    fn check_charts(&self, folder: &Path, is_killed: bool) -> Result<()> {
        let found: Vec<PathBuf> = files_of(folder).collect();
        let is_complete = found.len() == DEPENDENCIES || is_killed;
        ensure!(is_complete, "{} has {} archives", folder.display(), found.len());
        for path in found {
            ensure!(fs::read(&path)? == *self.chart, "{} is not whole", path.display());
        }
        Ok(())
    }

    /// Indexes are whole, and archives have the digest that they are named after.
    fn check_cache(&self, home: &Path) -> Result<()> {
        for repository in 0..REPOSITORIES {
            let path = home.join(format!(".cache/helm/repository/r{repository}-index.yaml"));
            ensure!(fs::read(&path)? == *self.index, "{} is not whole", path.display());
        }
        for folder in fs::read_dir(home.join(".cache/helm/content"))?.flatten().map(|entry| entry.path()) {
            for path in files_of(&folder).filter(|path| path.extension().is_some_and(|end| end == "chart")) {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                // A file that was replaced after the listing may be missing, which is no error.
                let Ok(bytes) = fs::read(&path) else { continue };
                ensure!(hex(&Sha256::digest(bytes)) == name, "{} is not whole", path.display());
            }
        }
        Ok(())
    }
}

fn files_of(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The standard error of processes that failed without being killed.
fn failures(children: Vec<Child>) -> Result<Vec<String>> {
    let mut failed = Vec::new();
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output()?;
        if !output.status.success() && !number.is_multiple_of(KILLED) {
            failed.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    Ok(failed)
}

/// Used by the transfers, too: a command that must succeed.
pub(super) fn succeeded(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
