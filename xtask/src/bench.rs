//! `bench`: both programs side by side on the same charts, interleaved, as ratios.
//!
//! Machines are noisy, so runs of the two programs alternate and the medians are compared; a dated table is kept
//! under `benches/runs`.

mod cluster;
mod controller;
mod diff;
mod repositories;
mod scripts;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::helm::{VERSION, bare, helm};
use crate::instructions::{benches_binary, hot_paths};
use crate::shell::{ci_binary, corpus, dist_binary, output, print_line, root};
use crate::steps::Outcome;

/// Charts of the corpus that are always measured: small ones, the largest, one with generated RSA keys.
const CHARTS: &[&str] = &[
    "helm__testdata.object-order",
    "prometheus-community__prometheus-node-exporter",
    "grafana-community__grafana",
    "bitnami__redis",
    "bitnami__nginx-2",
    "argoproj__argo-cd",
    "prometheus-community__kube-prometheus-stack",
    "cilium__cilium",
    "open-telemetry__opentelemetry-demo",
];

/// The cost of one run of a program.
#[derive(Clone, Copy, Default)]
struct Cost {
    wall: Duration,
    cpu: Duration,
    /// Peak resident memory in KiB.
    memory: u64,
}

/// One row of the table.
struct Row {
    chart: String,
    helm: Cost,
    pintle: Cost,
}

impl Row {
    fn ratios(&self) -> (f64, f64, f64) {
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { f64::INFINITY };
        (
            ratio(self.helm.wall.as_secs_f64(), self.pintle.wall.as_secs_f64()),
            ratio(self.helm.cpu.as_secs_f64(), self.pintle.cpu.as_secs_f64()),
            ratio(self.helm.memory as f64, self.pintle.memory as f64),
        )
    }
}

/// Measures the given charts, or the default ones and the scaling with subcharts, and writes the table.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((first, rest)) if first == "cluster" => return cluster::run(rest),
        Some((first, rest)) if first == "controller" => return controller::run(rest),
        Some((first, rest)) if first == "diff" => return diff::run(rest),
        Some((first, rest)) if first == "repositories" => return repositories::run(rest),
        Some((first, rest)) if first == "scripts" => return scripts::run(rest),
        _ => {}
    }
    if arguments.iter().any(|argument| argument == "--smoke") {
        return smoke().map(drop);
    }
    let rounds = 15;
    let programs = Programs::new()?;
    let charts =
        if arguments.is_empty() { usual_charts()? } else { arguments.iter().map(PathBuf::from).collect() };
    let mut table = heading();
    print_line(&table);
    for chart in &charts {
        let row = programs.measure(chart, rounds)?;
        let line = line(&row);
        print_line(&line);
        writeln!(table, "{line}").expect("writing to a String cannot fail");
    }
    if arguments.is_empty() {
        table.push_str(&growth(&programs)?);
        let how = "Command: `cargo xtask bench`. Both programs run `template release-name CHART` in turn, 15 rounds, output \
                   read from a pipe; medians. CPU and memory: 20 runs each.";
        keep("", how, &table)?;
    }
    Ok(())
}

/// One quick round on a chart of the repository, to check that the bench still runs.
pub(crate) fn smoke() -> Result<Outcome> {
    let chart = root().join("examples/charts/web");
    let pintle = ci_binary()?;
    let start = Instant::now();
    let text = output(bare(&pintle).arg("template").arg(&chart))?;
    print_line(&format!(
        "pintle template examples/charts/web: {} bytes in {:.1} ms",
        text.len(),
        millis(start.elapsed())
    ));
    let benches = benches_binary()?;
    for name in hot_paths(&benches)? {
        crate::shell::run(Command::new(&benches).args([&name, "1"]))?;
    }
    Ok(Outcome::Passed)
}

fn heading() -> String {
    format!(
        "| chart | Helm {VERSION} ms | Pintle ms | wall | CPU | Helm MiB | Pintle MiB | memory |\n|---|---|---|---|---|---|---|---|\n"
    )
}

fn line(row: &Row) -> String {
    let (wall, cpu, memory) = row.ratios();
    format!(
        "| {} | {:.1} | {:.1} | {wall:.1}× | {cpu:.1}× | {:.1} | {:.1} | 1/{memory:.1} |",
        row.chart,
        millis(row.helm.wall),
        millis(row.pintle.wall),
        row.helm.memory as f64 / 1024.0,
        row.pintle.memory as f64 / 1024.0,
    )
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Both programs, ours invoked as `helm`.
struct Programs {
    helm: PathBuf,
    pintle: PathBuf,
}

impl Programs {
    fn new() -> Result<Self> {
        let folder = root().join("target/bench");
        fs::create_dir_all(&folder)?;
        let pintle = folder.join("helm");
        let _ = fs::remove_file(&pintle);
        symlink(dist_binary()?, &pintle).context("cannot link our program under the name helm")?;
        Ok(Programs { helm: helm()?, pintle })
    }

    /// Runs both programs in turn for wall time, then each by itself for CPU time and memory.
    fn measure(&self, chart: &Path, rounds: usize) -> Result<Row> {
        let (mut helm, mut pintle) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            helm.push(wall_time(&mut template(&self.helm, chart))?);
            pintle.push(wall_time(&mut template(&self.pintle, chart))?);
        }
        let name = chart.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let helm = Cost { wall: median(helm), ..usage(&self.helm, chart)? };
        let pintle = Cost { wall: median(pintle), ..usage(&self.pintle, chart)? };
        Ok(Row { chart: name, helm, pintle })
    }
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn template(program: &Path, chart: &Path) -> Command {
    let mut command = bare(program);
    command.args(["template", "release-name"]).arg(chart);
    command
}

/// The wall time from the start of a program until all of its output is read.
///
/// # Errors
/// A program that fails, or that prints nothing: what it would be measured for did not happen.
pub(crate) fn wall_time(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    let mut stdout = child.stdout.take().context("no pipe")?;
    let printed = std::io::copy(&mut stdout, &mut std::io::sink())?;
    let status = child.wait()?;
    let wall = start.elapsed();
    if !status.success() || printed == 0 {
        bail!("{command:?} ended with {status}, having printed {printed} bytes");
    }
    Ok(wall)
}

/// The number of runs for CPU time, which the kernel counts in hundredths of a second only.
const USAGE_RUNS: u32 = 20;

/// The CPU time of one run and the peak memory, which GNU time reads from the kernel.
fn usage(program: &Path, chart: &Path) -> Result<Cost> {
    const LOOP: &str =
        "n=$1; shift; while [ $n -gt 0 ]; do \"$@\" >/dev/null 2>&1 || exit 1; n=$((n-1)); done";
    let mut command = bare(Path::new("/usr/bin/time"));
    command.args(["--format", "%U %S %M", "sh", "-c", LOOP, "sh", &USAGE_RUNS.to_string()]);
    command.arg(program).args(["template", "release-name"]).arg(chart).env("PATH", "/usr/bin:/bin");
    let output =
        command.stdin(Stdio::null()).output().context("cannot run /usr/bin/time (Debian package `time`)")?;
    let report = String::from_utf8_lossy(&output.stderr);
    let words = report.lines().last().unwrap_or_default().split(' ');
    let figures: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    let [user, system, memory] = figures[..] else { bail!("cannot read the figures of GNU time: {report}") };
    let cpu = Duration::from_secs_f64((user + system) / f64::from(USAGE_RUNS));
    Ok(Cost { wall: Duration::ZERO, cpu, memory: memory as u64 })
}

fn usual_charts() -> Result<Vec<PathBuf>> {
    let folder = corpus().context("the corpus is not here; name charts instead")?.join("charts");
    let mut names: Vec<String> = fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let find =
        |prefix: &&str| names.iter().find(|name| name.starts_with(*prefix)).map(|name| folder.join(name));
    Ok(CHARTS.iter().filter_map(find).collect())
}

/// How time scales with the number of subcharts that call `tpl` and `include` heavily.
fn growth(programs: &Programs) -> Result<String> {
    let mut table = String::from("\n| subcharts | Helm ms | Pintle ms |\n|---|---|---|\n");
    for count in [10, 25, 50] {
        let folder = root().join(format!("target/bench/umbrella-{count}"));
        write_umbrella(&folder, count)?;
        let row = programs.measure(&folder, 5)?;
        writeln!(table, "| {count} | {:.1} | {:.1} |", millis(row.helm.wall), millis(row.pintle.wall))
            .expect("writing to a String cannot fail");
    }
    print_line(&table);
    Ok(table)
}

/// Writes a chart with `count` subcharts, each with helpers and templates that call them over and over.
pub(crate) fn write_umbrella(folder: &Path, count: usize) -> Result<()> {
    let write = |path: PathBuf, text: String| -> Result<()> {
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        Ok(fs::write(path, text)?)
    };
    let chart = |name: &str| format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n");
    write(folder.join("Chart.yaml"), chart("umbrella"))?;
    write(folder.join("values.yaml"), "global:\n  suffix: '{{ .Release.Name }}-x'\n".to_owned())?;
    for index in 0..count {
        let name = format!("sub{index}");
        let sub = folder.join("charts").join(&name);
        write(sub.join("Chart.yaml"), chart(&name))?;
        write(sub.join("values.yaml"), "label: '{{ .Chart.Name }}-{{ .Release.Namespace }}'\n".to_owned())?;
        let mut helpers = String::new();
        for helper in 0..20 {
            writeln!(
                helpers,
                "{{{{ define \"{name}.h{helper}\" }}}}{{{{ tpl .Values.label . }}}}-{helper}{{{{ end }}}}"
            )?;
        }
        write(sub.join("templates/_helpers.tpl"), helpers)?;
        let mut text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n");
        for key in 0..60 {
            let helper = key % 20;
            write!(
                text,
                "  k{key}: {{{{ include \"{name}.h{helper}\" . | quote }}}}\n  t{key}: {{{{ tpl .Values.global.suffix . }}}}\n"
            )?;
        }
        write(sub.join("templates/map.yaml"), text)?;
    }
    Ok(())
}

/// Writes a dated table with the machine and the commands.
pub(crate) fn keep(kind: &str, how: &str, table: &str) -> Result<()> {
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let date = String::from_utf8_lossy(&date).trim().to_owned();
    let commit = output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?;
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = root().join("benches/runs").join(format!("{date}{kind}"));
    fs::create_dir_all(&folder)?;
    let scale = match kind {
        "-scripts" | "-controller" => "Less is better.",
        _ => "Ratios are Helm over Pintle: more is better for us.",
    };
    let text = format!(
        "# {date}\n\n{how}\nAt commit {}; {cores} cores of {}.\n\
         {scale}\n\n{table}",
        String::from_utf8_lossy(&commit).trim(),
        cpu.trim_start_matches([' ', '\t', ':']),
    );
    fs::write(folder.join("README.md"), text)?;
    print_line(&format!("kept in benches/runs/{date}{kind}/README.md"));
    Ok(())
}
