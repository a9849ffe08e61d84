//! `bench repositories`: what commands cost that need one chart of a large repository.
//!
//! The index is as large as those of the largest public repositories: 340 charts of 52 versions each, 19 MB. Both
//! programs have it in a home of their own; nothing is fetched. Ours is measured with its index cache and, as the first
//! command after `repo update` of another program, without. Then dependencies are built from three such repositories, and a
//! large chart is pushed and pulled.

mod dependencies;
mod server;
mod transfers;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::bench::{keep, median, millis};
use crate::helm::{bare, helm};
use crate::shell::{dist_binary, output, print_line, root};

const CHARTS: usize = 340;
const VERSIONS: usize = 52;

/// How often each command runs.
const ROUNDS: usize = 7;

const COMMANDS: [&[&str]; 4] = [
    &["search", "repo", "chart-123"],
    &["search", "repo", "--versions", "server"],
    &["show", "chart", "big/chart-123"],
    &["template", "x", "big/chart-123", "--version", "^1.0.0"],
];

/// What a command costs.
struct Cost {
    wall: Duration,
    cpu: f64,
    /// In MiB.
    memory: f64,
}

/// The parts of this bench, by their names on the command line.
const PARTS: [&str; 3] = ["searches", "dependencies", "transfers"];

/// Measures all parts, and keeps the table; parts that are named are only printed. `PINTLE_BIN` names a program to measure
/// instead of the one that is shipped.
pub(crate) fn run(parts: &[String]) -> Result<()> {
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        bail!("unknown part {unknown:?}: it must be one of {}", PARTS.join(", "));
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|one| one == part);
    let ours = match std::env::var_os("PINTLE_BIN") {
        Some(path) => PathBuf::from(path),
        None => dist_binary()?,
    };
    let helm = helm()?;
    let folder = root().join("target/bench/repositories");
    let _ = fs::remove_dir_all(&folder);
    let linked = folder.join("bin/helm");
    fs::create_dir_all(folder.join("bin"))?;
    std::os::unix::fs::symlink(&ours, &linked)?;
    let chart = archive(&folder, &ours)?;
    let mut table = String::new();
    if wanted("searches") {
        table.push_str(&searches(&helm, &linked, &chart, &folder)?);
    }
    if wanted("dependencies") {
        table.push_str(&dependencies::run(&helm, &linked, &chart, &folder)?);
    }
    if wanted("transfers") {
        table.push_str(&transfers::run(&helm, &linked, &folder)?);
    }
    if !parts.is_empty() {
        return Ok(());
    }
    let how = "Command: `cargo xtask bench repositories`. 340 charts of 52 versions in a 19 MB index.yaml; both programs in \
               turn, medians of 7 rounds (1 of dependencies, 5 of transfers); CPU and peak memory by GNU time.";
    keep("-repositories", how, &table)
}

/// Measures commands that need one chart of a large repository.
fn searches(helm: &Path, ours: &Path, chart: &[u8], folder: &Path) -> Result<String> {
    let homes = [folder.join("helm"), folder.join("ours")];
    let index = index(chart);
    print_line(&format!("an index of {:.1} MB", index.len() as f64 / 1e6));
    for home in &homes {
        set_up(home, chart, &index)?;
    }
    let side = homes[1].join(".cache/helm/repository/big-index.pintle");
    let mut table = String::from(
        "| command | Helm ms | Pintle ms | wall | Helm CPU s | Pintle CPU s | Helm MiB | Pintle MiB | memory |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (first, command) in COMMANDS.iter().map(|command| (false, command)).chain([(true, &COMMANDS[0])]) {
        let (mut theirs, mut mine) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(measure(helm, &homes[0], command)?);
            if first {
                fs::remove_file(&side).context("there is an index cache")?;
            }
            mine.push(measure(ours, &homes[1], command)?);
        }
        let name = format!("{}{}", command.join(" "), if first { ", first after an update" } else { "" });
        let line = line(&name, &middle(theirs), &middle(mine));
        print_line(&line);
        writeln!(table, "{line}")?;
    }
    Ok(table)
}

fn line(name: &str, helm: &Cost, ours: &Cost) -> String {
    format!(
        "| {name} | {:.0} | {:.1} | {:.0}× | {:.2} | {:.2} | {:.0} | {:.1} | 1/{:.1} |",
        millis(helm.wall),
        millis(ours.wall),
        helm.wall.as_secs_f64() / ours.wall.as_secs_f64(),
        helm.cpu,
        ours.cpu,
        helm.memory,
        ours.memory,
        helm.memory / ours.memory,
    )
}

fn middle(costs: Vec<Cost>) -> Cost {
    let sorted = |of: fn(&Cost) -> f64| {
        let mut figures: Vec<f64> = costs.iter().map(of).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Cost {
        wall: median(costs.iter().map(|cost| cost.wall).collect()),
        cpu: sorted(|cost| cost.cpu),
        memory: sorted(|cost| cost.memory),
    }
}

fn measure(program: &Path, home: &Path, command: &[&str]) -> Result<Cost> {
    let mut timed = bare(Path::new("/usr/bin/time"));
    timed.args(["--format", "%U %S %M"]).arg(program).args(command).env("HOME", home);
    let start = Instant::now();
    let done =
        timed.stdin(Stdio::null()).output().context("cannot run /usr/bin/time (Debian package `time`)")?;
    let wall = start.elapsed();
    let report = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        bail!("{} {} failed: {report}", program.display(), command.join(" "));
    }
    let words = report.lines().last().unwrap_or_default().split(' ');
    let figures: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    let [user, system, memory] = figures[..] else { bail!("cannot read the figures of GNU time: {report}") };
    Ok(Cost { wall, cpu: user + system, memory: memory / 1024.0 })
}

/// A chart to install, as an archive.
fn archive(folder: &Path, program: &Path) -> Result<Vec<u8>> {
    let chart = folder.join("src");
    fs::create_dir_all(chart.join("templates"))?;
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: chart-123\nversion: 1.51.0\n")?;
    fs::write(chart.join("templates/map.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")?;
    output(Command::new(program).arg("package").arg(&chart).arg("-d").arg(folder))?;
    Ok(fs::read(folder.join("chart-123-1.51.0.tgz"))?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn set_up(home: &Path, chart: &[u8], index: &str) -> Result<()> {
    let digest = hex(&Sha256::digest(chart));
    let content = home.join(".cache/helm/content").join(&digest[..2]);
    let cache = home.join(".cache/helm/repository");
    let config = home.join(".config/helm");
    for folder in [&content, &cache, &config] {
        fs::create_dir_all(folder)?;
    }
    fs::write(content.join(format!("{digest}.chart")), chart)?;
    fs::write(cache.join("big-index.yaml"), index)?;
    fs::write(
        config.join("repositories.yaml"),
        "repositories:\n- {name: big, url: \"http://127.0.0.1:1\"}\n",
    )?;
    Ok(())
}

/// An index with entries of the usual size.
fn index(chart: &[u8]) -> String {
    let digest = hex(&Sha256::digest(chart));
    let mut text = String::from("apiVersion: v1\nentries:\n");
    for number in 0..CHARTS {
        let _ = writeln!(text, "  chart-{number}:");
        for version in (0..VERSIONS).rev() {
            let _ = write!(
                text,
                "  - annotations:\n      category: Infrastructure\n      images: |\n        - name: app\n          image: \
                 docker.io/example/app:{version}.{number}.0-debian-12\n        - name: exporter\n          image: \
                 docker.io/example/exporter:0.{version}.{number}\n      licenses: Apache-2.0\n    apiVersion: v2\n    \
                 appVersion: {version}.{number}.3\n    created: \"2024-03-{:02}T11:22:33.123456789Z\"\n    dependencies:\n    \
                 - name: common\n      repository: oci://registry.example.com/charts\n      tags:\n      - \
                 example-common\n      version: 2.x.x\n    description: Server number {number} does what servers do, in a \
                 sentence\n      that goes on for long enough to be written on two lines.\n    digest: {digest}\n    home: \
                 https://example.com\n    icon: https://example.com/assets/stacks/{number}/img/icon.png\n    keywords:\n    \
                 - server\n    - http\n    - number\n    maintainers:\n    - name: Example, Inc.\n      url: \
                 https://github.com/example/charts\n    name: chart-{number}\n    sources:\n    - \
                 https://github.com/example/charts/tree/main/chart-{number}\n    urls:\n    - \
                 https://charts.example.com/chart-{number}-1.{version}.0.tgz\n    version: 1.{version}.0\n",
                version % 28 + 1,
            );
        }
    }
    text.push_str("generated: \"2024-03-28T11:22:33Z\"\n");
    text
}
