//! `bench diff`: `diff upgrade` beside helm-diff with the real Helm, and thirty releases planned in one command.
//!
//! helm-diff is not built here: `--helm-diff` is the path of its program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::bench::cluster::write_chart;
use crate::bench::{keep, median, millis};
use crate::cluster::{self, Cluster, ClusterSpec, Level, RELEASES};
use crate::e2e::Guard;
use crate::helm::{VERSION, helm};
use crate::shell::{ci_binary, corpus, dist_binary, output, print_line, program};

const NAMESPACE: &str = "bench-diff";
/// How many releases are planned together.
const RELEASES_PLANNED: usize = 30;

/// The command line of the task.
struct Options {
    helm_diff: PathBuf,
    on: Option<String>,
    rounds: usize,
    /// Measures the release build instead of the one for shipping, and keeps no table.
    quick: bool,
}

/// Runs `bench diff --helm-diff PATH [--on NAME] [--rounds COUNT] [--quick]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let programs = Programs::new(&options)?;
    if let Some(name) = &options.on {
        let cluster = Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return measure(&BenchEnv { programs, cluster, rounds: options.rounds }, options.quick);
    }
    let [kubernetes, ..] = RELEASES;
    let name = format!("bench-{}", std::process::id());
    let spec = ClusterSpec { name, level: Level::ControlPlane, kubernetes, program: None };
    let guard = Guard::set(&spec.name)?;
    let measured = cluster::up(&spec)
        .and_then(|cluster| measure(&BenchEnv { programs, cluster, rounds: options.rounds }, options.quick));
    guard.release()?;
    measured
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { helm_diff: PathBuf::new(), on: None, rounds: 5, quick: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--helm-diff" => options.helm_diff = PathBuf::from(value()?),
            "--on" => options.on = Some(value()?.clone()),
            "--rounds" => options.rounds = value()?.parse().context("--rounds needs a number")?,
            "--quick" => options.quick = true,
            _ => bail!("bench diff knows --helm-diff PATH, --on NAME, --rounds COUNT and --quick"),
        }
    }
    if !options.helm_diff.is_file() {
        bail!("bench diff needs --helm-diff with the path of the program of helm-diff 3.15.11");
    }
    Ok(options)
}

struct Programs {
    helm: PathBuf,
    helm_diff: PathBuf,
    /// Ours, called `helm` and by its own name.
    as_helm: PathBuf,
    pintle: PathBuf,
}

impl Programs {
    fn new(options: &Options) -> Result<Programs> {
        let pintle = if options.quick { ci_binary()? } else { dist_binary()? };
        let folder = program("bench")?;
        fs::create_dir_all(&folder)?;
        let as_helm = folder.join("helm");
        let _ = fs::remove_file(&as_helm);
        symlink(&pintle, &as_helm).context("cannot link our program under the name helm")?;
        Ok(Programs { helm: helm()?, helm_diff: options.helm_diff.clone(), as_helm, pintle })
    }
}

struct BenchEnv {
    programs: Programs,
    cluster: Cluster,
    rounds: usize,
}

/// The cost of one run.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// CPU time in seconds, with that of programs that it started.
    cpu: f64,
    /// The peak memory in MiB of all its processes together, as far as samples see it, and at least that of the largest.
    memory: f64,
}

/// The time between two samples of memory.
const SAMPLE: Duration = Duration::from_millis(5);

fn measure(bench: &BenchEnv, quick: bool) -> Result<()> {
    let mut table = format!(
        "| `diff upgrade` | helm-diff 3.15.11 with Helm {VERSION} ms | Pintle ms | wall | CPU | helm-diff MiB | Pintle MiB | memory |\n|---|---|---|---|---|---|---|---|\n"
    );
    for (name, chart, set) in charts()? {
        let line = bench.row(name, &chart, set)?;
        print_line(&line);
        writeln!(table, "{line}")?;
    }
    let planned = bench.many_releases()?;
    print_line(&planned);
    table.push_str(&planned);
    if quick {
        return Ok(());
    }
    let how = format!(
        "Command: `cargo xtask bench diff --helm-diff PATH`. Programs take turns on one control plane, {} rounds, medians; \
         memory is that of all processes of a command together.",
        bench.rounds
    );
    keep("-diff", &how, &table)
}

/// The charts, with what an upgrade changes.
fn charts() -> Result<Vec<(&'static str, PathBuf, &'static str)>> {
    let folder = corpus().context("the corpus is not here")?.join("charts");
    let find = |prefix: &str| -> Result<PathBuf> {
        let mut names = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
        let is_chart =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
        names.find(is_chart).with_context(|| format!("the corpus has no {prefix}"))
    };
    let many = program("bench")?.join("many");
    write_chart(&many)?;
    Ok(vec![
        (
            "kube-prometheus-stack",
            find("prometheus-community__kube-prometheus-stack-")?,
            "prometheus.prometheusSpec.replicas=2",
        ),
        ("argo-cd", find("argoproj__argo-cd-")?, "server.replicas=2"),
        ("500 objects", many, "text=two"),
    ])
}

impl BenchEnv {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("TZ", "UTC").env("PATH", "/usr/bin:/bin");
        // Helm keeps what discovery says below the home folder.
        command.env("HOME", self.programs.as_helm.with_file_name("home"));
        command.env("KUBECONFIG", self.cluster.kubeconfig()).env("HELM_NAMESPACE", NAMESPACE);
        command.env("HELM_BIN", &self.programs.helm).stdin(Stdio::null());
        command
    }

    /// Runs a program under GNU time, which reads CPU time and memory from the kernel.
    fn cost(&self, program: &Path, arguments: &[&str]) -> Result<Cost> {
        let mut command = self.command(Path::new("/usr/bin/time"));
        command.args(["--format", "%U %S %M"]).arg(program).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Instant::now();
        let child = command.spawn().context("cannot run /usr/bin/time (Debian package `time`)")?;
        let timer = child.id();
        let is_over = AtomicBool::new(false);
        let (output, wall, together) = std::thread::scope(|scope| {
            let sampled = scope.spawn(|| {
                let mut peak = 0;
                while !is_over.load(Ordering::Relaxed) {
                    // The timer itself does not count.
                    peak = peak.max(resident_below(timer));
                    std::thread::sleep(SAMPLE);
                }
                peak
            });
            let output = child.wait_with_output();
            let wall = start.elapsed();
            is_over.store(true, Ordering::Relaxed);
            (output, wall, sampled.join().unwrap_or(0))
        });
        let output = output.context("/usr/bin/time did not end")?;
        let report = String::from_utf8_lossy(&output.stderr);
        let words = report.lines().last().unwrap_or_default().split(' ');
        let figures: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let [user, system, kibibytes] = figures[..] else { bail!("{command:?}: {report}") };
        // Exit code 2 means that there are differences.
        if !matches!(output.status.code(), Some(0 | 2)) {
            bail!("{command:?}: {report}");
        }
        let together = f64::from(u32::try_from(together).unwrap_or(u32::MAX));
        Ok(Cost { wall, cpu: user + system, memory: kibibytes.max(together) / 1024.0 })
    }

    fn row(&self, name: &str, chart: &Path, set: &str) -> Result<String> {
        let chart = chart.to_string_lossy();
        let install = ["install", "rel", &chart, "--no-hooks", "--create-namespace"];
        output(self.command(&self.programs.helm).args(install))?;
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let words = ["upgrade", "rel", &chart, "--set", set];
            theirs.push(self.cost(&self.programs.helm_diff, &words)?);
            ours.push(self.cost(&self.programs.as_helm, &[&["diff"], &words[..]].concat())?);
        }
        output(self.command(&self.programs.helm).args(["uninstall", "rel", "--no-hooks"]))?;
        let (theirs, ours) = (typical(&theirs), typical(&ours));
        Ok(format!(
            "| {name} | {:.0} | {:.0} | {:.1}× | {:.1}× | {:.0} | {:.0} | 1/{:.1} |",
            millis(theirs.wall),
            millis(ours.wall),
            theirs.wall.as_secs_f64() / ours.wall.as_secs_f64(),
            theirs.cpu / ours.cpu.max(0.01),
            theirs.memory,
            ours.memory,
            theirs.memory / ours.memory,
        ))
    }

    /// Plans many releases in one command, beside the time that the server takes for its share: the CPU time of its
    /// processes during the command, on all CPUs at once. No client could plan in less.
    fn many_releases(&self) -> Result<String> {
        let folder = program("bench")?;
        let [_, (_, chart, _), ..] = &charts()?[..] else { bail!("a chart is missing") };
        let mut list = String::from("releases:\n");
        for number in 0..RELEASES_PLANNED {
            let settings = "{crds: {install: false}, server: {replicas: 2}}";
            writeln!(
                list,
                "- {{name: many-{number}, chart: {}, values: [{settings}, {{fullnameOverride: many-{number}}}]}}",
                chart.display()
            )?;
        }
        let file = folder.join("releases.yaml");
        fs::write(&file, list)?;
        let file = file.to_string_lossy();
        let words = ["plan", "releases", &file, "--create-namespace", "--no-hooks", "--output", "json"];
        let (mut costs, mut server) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let before = self.cluster.cpu_time();
            costs.push(self.cost(&self.programs.pintle, &words)?);
            server.push(self.cluster.cpu_time().saturating_sub(before));
        }
        let (cost, server) = (typical(&costs), median(server));
        let cpus = u32::try_from(std::thread::available_parallelism()?.get())?;
        let own = server / cpus;
        Ok(format!(
            "\n| {RELEASES_PLANNED} releases of argo-cd planned in one command | ms | CPU s | MiB | server's CPU s | on {cpus} CPUs ms | ratio |\n|---|---|---|---|---|---|---|\n| | {:.0} | {:.2} | {:.0} | {:.2} | {:.0} | {:.2}× |\n",
            millis(cost.wall),
            cost.cpu,
            cost.memory,
            server.as_secs_f64(),
            millis(own),
            cost.wall.as_secs_f64() / own.as_secs_f64(),
        ))
    }
}

/// The resident memory in KiB of all that a process has started, directly or not. Processes that have ended count nothing.
fn resident_below(process: u32) -> u64 {
    let mut parents: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for id in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name of the program, in parentheses, may have any character.
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        if let Some(parent) = after_name.split(' ').nth(1).and_then(|parent| parent.parse().ok()) {
            parents.entry(parent).or_default().push(id);
        }
    }
    let mut open = vec![process];
    let mut sum = 0;
    while let Some(process) = open.pop() {
        for child in parents.get(&process).into_iter().flatten() {
            sum += resident(*child);
            open.push(*child);
        }
    }
    sum
}

fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The medians of several runs.
fn typical(costs: &[Cost]) -> Cost {
    let middle = |figures: Vec<f64>| {
        let mut figures = figures;
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Cost {
        wall: median(costs.iter().map(|cost| cost.wall).collect()),
        cpu: middle(costs.iter().map(|cost| cost.cpu).collect()),
        memory: middle(costs.iter().map(|cost| cost.memory).collect()),
    }
}
