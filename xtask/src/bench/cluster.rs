//! `bench cluster`: both programs in turn on one cluster, and the server's time for the same requests alone.
//!
//! The programs and the server share the machine with other work, so only ratios of medians are meaningful.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::bench::{keep, median, millis, wall_time};
use crate::cluster::{self, Cluster, ClusterSpec, Level, RELEASES};
use crate::e2e::Guard;
use crate::helm::{VERSION, helm};
use crate::shell::{cargo, dist_binary, output, print_line, program, run as run_command};

/// How many objects of each of two kinds the large chart has.
const OBJECTS: usize = 250;
/// How many releases are listed.
const MANY_RELEASES: usize = 2_000;
/// How many versions the longest history has.
const MANY_VERSIONS: usize = 200;
/// The size of a record in bytes, and of a small one.
const RECORD: usize = 100_000;
const SMALL_RECORD: usize = 1_000;
/// The steps of a release's life.
const STEPS: [&str; 4] = ["install", "upgrade", "rollback", "uninstall"];

/// Runs `bench cluster [--on NAME] [--rounds COUNT]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut on, mut rounds) = (None, 5);
    for pair in arguments.chunks(2) {
        match pair {
            [flag, value] if flag == "--on" => on = Some(value.clone()),
            [flag, value] if flag == "--rounds" => {
                rounds = value.parse().context("--rounds needs a number")?
            }
            _ => bail!("bench cluster knows --on NAME and --rounds COUNT"),
        }
    }
    let programs = Programs::build()?;
    if let Some(name) = on {
        let cluster = Cluster::load(&name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return measure(&BenchEnv { programs, cluster, rounds });
    }
    let [kubernetes, ..] = RELEASES;
    let name = format!("bench-{}", std::process::id());
    let spec = ClusterSpec { name, level: Level::ControlPlane, kubernetes, program: None };
    let guard = Guard::set(&spec.name)?;
    let measured = cluster::up(&spec).and_then(|cluster| measure(&BenchEnv { programs, cluster, rounds }));
    guard.release()?;
    measured
}

fn measure(bench: &BenchEnv) -> Result<()> {
    let mut table = bench.objects()?;
    print_line(&table);
    let records = bench.records()?;
    print_line(&records);
    table.push_str(&records);
    let how = format!(
        "Command: `cargo xtask bench cluster`. Programs take turns on one control plane, {} rounds, medians.\n\
         `server` is the time that the server takes for the same writes, sent by a loop that does nothing else, sixteen at once.",
        bench.rounds
    );
    keep("-cluster", &how, &table)
}

/// The compared programs; the last segment of each path is the name it is invoked by.
struct Programs {
    helm: PathBuf,
    as_helm: PathBuf,
    pintle: PathBuf,
    /// Sends plain requests, and fills stores.
    load: PathBuf,
}

impl Programs {
    fn build() -> Result<Programs> {
        let built = dist_binary()?;
        run_command(&mut cargo(&[
            "build",
            "--quiet",
            "--profile",
            "ci",
            "--package",
            "pintle-cluster",
            "--example",
            "load",
        ]))?;
        let folder = program("bench")?;
        fs::create_dir_all(&folder)?;
        let as_helm = folder.join("helm");
        let _ = fs::remove_file(&as_helm);
        symlink(&built, &as_helm).context("cannot link our program under the name helm")?;
        Ok(Programs { helm: helm()?, as_helm, pintle: built, load: program("ci/examples/load")? })
    }
}

/// The environment of the measurements.
struct BenchEnv {
    programs: Programs,
    cluster: Cluster,
    rounds: usize,
}

impl BenchEnv {
    fn command(&self, program: &Path, namespace: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", "/nonexistent").env("TZ", "UTC").env("PATH", "/usr/bin:/bin");
        command.env("KUBECONFIG", self.cluster.kubeconfig()).env("HELM_NAMESPACE", namespace);
        command
    }

    fn load(&self, arguments: &[&str]) -> Result<String> {
        let text = output(self.command(&self.programs.load, "default").args(arguments))?;
        Ok(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// The wall time from the start of a program until all of its output is read.
    fn time(&self, program: &Path, namespace: &str, arguments: &[&str]) -> Result<Duration> {
        let mut command = self.command(program, namespace);
        wall_time(command.args(arguments))
    }

    /// The life cycle of a chart with many objects.
    fn objects(&self) -> Result<String> {
        let chart = self.programs.as_helm.with_file_name("many");
        write_chart(&chart)?;
        let namespace = "bench-objects";
        self.load(&["make", namespace])?;
        let subjects = [&self.programs.helm, &self.programs.as_helm, &self.programs.pintle];
        // By step, then by subject; the last is the server alone.
        let mut times = vec![vec![Vec::new(); subjects.len() + 1]; STEPS.len()];
        for _ in 0..self.rounds {
            for (subject, program) in subjects.iter().enumerate() {
                for (step, name) in STEPS.iter().enumerate() {
                    let chart = chart.to_string_lossy();
                    let arguments: &[&str] = match *name {
                        "install" => &["install", "many", &chart],
                        "upgrade" => &["upgrade", "many", &chart, "--set", "text=two"],
                        "rollback" => &["rollback", "many", "1"],
                        _ => &["uninstall", "many"],
                    };
                    times[step][subject].push(self.time(program, namespace, arguments)?);
                }
            }
            let count = OBJECTS.to_string();
            for (step, text) in [(0, "one"), (1, "two"), (2, "one"), (3, "")] {
                let arguments: &[&str] = match text {
                    "" => &["delete", namespace, &count],
                    text => &["apply", namespace, &count, text],
                };
                let milliseconds = self.load(arguments)?.parse().context("load prints milliseconds")?;
                times[step][subjects.len()].push(Duration::from_millis(milliseconds));
            }
        }
        self.load(&["drop", namespace])?;
        let mut table = format!(
            "| {} objects | Helm {VERSION} ms | as `helm` ms | ratio | native ms | ratio | server ms | as `helm` / server | native / server |\n|---|---|---|---|---|---|---|---|---|\n",
            OBJECTS * 2
        );
        for (name, times) in STEPS.iter().zip(times) {
            let medians: Vec<f64> = times.into_iter().map(|times| millis(median(times))).collect();
            let [helm, ours, native, server] = medians[..] else { bail!("a subject is missing") };
            writeln!(
                table,
                "| {name} | {helm:.0} | {ours:.0} | {:.1}× | {native:.0} | {:.1}× | {server:.0} | {:.2} | {:.2} |",
                helm / ours,
                helm / native,
                ours / server,
                native / server,
            )?;
        }
        Ok(table)
    }

    /// Many releases and long histories, in Helm's Secrets and in our own kinds.
    fn records(&self) -> Result<String> {
        let mut table = String::from(
            "\n| records | Helm ms | as `helm` ms | ratio | native ms | ratio | Helm MiB | as `helm` MiB | native MiB |\n|---|---|---|---|---|---|---|---|---|\n",
        );
        let rows = [
            ("list", MANY_RELEASES, 1, SMALL_RECORD),
            ("list", MANY_RELEASES, 1, RECORD),
            ("history", 1, MANY_VERSIONS, RECORD),
        ];
        for (command, releases, versions, bytes) in rows {
            for store in ["secrets", "native"] {
                let namespace = format!("bench-{store}");
                self.load(&["make", &namespace])?;
                let (releases, versions, bytes) =
                    (releases.to_string(), versions.to_string(), bytes.to_string());
                self.load(&["fill", &namespace, store, &releases, &versions, &bytes])?;
            }
            let arguments: &[&str] = match command {
                "list" => &["list", "--max", "0"],
                _ => &["history", "release-0000"],
            };
            let what = format!("{command}: {releases} × {versions} × {} kB", bytes / 1_000);
            writeln!(table, "{}", self.row(&what, arguments)?)?;
            for store in ["secrets", "native"] {
                self.empty(&format!("bench-{store}"))?;
            }
        }
        Ok(table)
    }

    fn row(&self, what: &str, arguments: &[&str]) -> Result<String> {
        let Programs { helm, as_helm, pintle, .. } = &self.programs;
        let subjects = [(helm, "bench-secrets"), (as_helm, "bench-secrets"), (pintle, "bench-native")];
        let mut times = vec![Vec::new(); subjects.len()];
        let mut memory = vec![0.0; subjects.len()];
        for _ in 0..self.rounds {
            for (subject, (program, namespace)) in subjects.iter().enumerate() {
                times[subject].push(self.time(program, namespace, arguments)?);
            }
        }
        for (subject, (program, namespace)) in subjects.iter().enumerate() {
            memory[subject] = self.memory(program, namespace, arguments)?;
        }
        let medians: Vec<f64> = times.into_iter().map(|times| millis(median(times))).collect();
        let [helm, ours, native] = medians[..] else { bail!("a subject is missing") };
        Ok(format!(
            "| {what} | {helm:.0} | {ours:.0} | {:.1}× | {native:.0} | {:.1}× | {:.0} | {:.0} | {:.0} |",
            helm / ours,
            helm / native,
            memory[0],
            memory[1],
            memory[2],
        ))
    }

    /// The peak memory in MiB, which GNU time reads from the kernel.
    fn memory(&self, program: &Path, namespace: &str, arguments: &[&str]) -> Result<f64> {
        let mut command = self.command(Path::new("/usr/bin/time"), namespace);
        command.args(["--format", "%M"]).arg(program).args(arguments).stdin(Stdio::null());
        let output = command.output().context("cannot run /usr/bin/time (Debian package `time`)")?;
        let report = String::from_utf8_lossy(&output.stderr);
        let kibibytes: f64 = report.lines().last().unwrap_or_default().parse().context("no figure")?;
        Ok(kibibytes / 1024.0)
    }

    /// Deletes a namespace and waits until it is gone.
    fn empty(&self, namespace: &str) -> Result<()> {
        self.load(&["drop", namespace])?;
        let limit = Instant::now() + Duration::from_secs(600);
        // Deleting is rejected while the namespace terminates, and fails with `404` once it is gone.
        while self.load(&["has", namespace])? == "true" {
            if Instant::now() > limit {
                bail!("{namespace} does not go away");
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }
}

/// Writes a chart with as many ConfigMaps as Secrets.
pub(crate) fn write_chart(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder.join("templates"))?;
    fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: many\nversion: 1.0.0\n")?;
    fs::write(folder.join("values.yaml"), "text: one\n")?;
    let mut text = format!("{{{{- range $number := until {OBJECTS} }}}}\n");
    for (kind, field) in [("ConfigMap", "data"), ("Secret", "stringData")] {
        write!(
            text,
            "---\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: many-{{{{ $number }}}}\n{field}:\n  \
             text: {{{{ $.Values.text }}}}\n  number: {{{{ $number | quote }}}}\n"
        )?;
    }
    text.push_str("{{- end }}\n");
    fs::write(folder.join("templates/all.yaml"), text)?;
    Ok(())
}
