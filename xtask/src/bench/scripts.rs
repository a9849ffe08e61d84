//! `bench scripts`: the cost of chart scripts, relative to the same chart without them.
//!
//! One chart has 200 objects and 1 MB of values, another has 50 subcharts. The runs of all variants alternate, and minimum
//! times are compared, because noise only adds to them. Instructions are counted if callgrind is installed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::bench::{keep, millis, wall_time, write_umbrella};
use crate::helm::bare;
use crate::instructions::collected;
use crate::shell::{dist_binary, print_line, root};

/// How many objects the large chart has.
const OBJECTS: usize = 200;

/// How many parts its values have; each takes some 720 bytes.
const PARTS: usize = 1_450;

/// How many subcharts the other chart has.
const SUBCHARTS: usize = 50;

/// The default of ROUNDS.
const ROUNDS: usize = 40;

/// Puts a label on every object, and reads a few values.
const LABELS: &str = r#"events.on("post-render", function(ctx)
    for _, object in ctx.objects do
        object.metadata.labels["example.com/team"] = ctx.values.team
        object.metadata.labels["example.com/tag"] = ctx.values.part_1.image.tag
    end
end)
"#;

/// Changes one of all the values.
const VALUE: &str = r#"events.on("pre-render", function(ctx)
    ctx.values.part_7.image.tag = ctx.values.part_7.image.tag .. "-patched"
end)
"#;

/// Reads every value and every object, and changes one of each.
const EVERYTHING: &str = r#"local function count(branch)
    local found = 0
    for _, value in branch do
        found += if type(value) == "table" then count(value) else 1
    end
    return found
end

events.on("pre-render", function(ctx)
    ctx.values.counted = count(ctx.values)
end)

events.on("post-render", function(ctx)
    ctx.objects[1].metadata.labels["example.com/counted"] = `{count(ctx.objects)}`
end)
"#;

/// A chart, and how it is rendered.
struct Variant {
    name: &'static str,
    chart: PathBuf,
    flags: &'static [&'static str],
}

/// The cost of a variant.
#[derive(Clone, Copy)]
struct Cost {
    /// The minimum time of all runs.
    wall: Duration,
    /// `None` without callgrind.
    instructions: Option<u64>,
}

/// Measures all variants and keeps the table; with a number of rounds it only prints.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let rounds = match arguments {
        [] => ROUNDS,
        [rounds] => rounds.parse().context("the number of rounds must be a number")?,
        _ => bail!("usage: cargo xtask bench scripts [ROUNDS]"),
    };
    let program = dist_binary()?;
    let folder = root().join("target/bench/scripts");
    let mut table = String::from(
        "| chart | scripts | ms | over none | million instructions | over none |\n|---|---|---|---|---|---|\n",
    );
    for (what, variants) in
        [("200 objects, 1 MB of values", large(&folder)?), ("50 subcharts", many(&folder)?)]
    {
        let costs = measure(&program, &variants, rounds)?;
        for (variant, cost) in variants.iter().zip(&costs) {
            table.push_str(&line(what, variant.name, *cost, costs[0]));
        }
    }
    print_line(&table);
    if arguments.is_empty() {
        let how = format!(
            "Command: `cargo xtask bench scripts`. `pintle template demo CHART`, {ROUNDS} rounds in which all variants take \
             turns, output read from a pipe; the least time of each. Instructions as callgrind counts them."
        );
        keep("-scripts", &how, &table)?;
    }
    Ok(())
}

fn line(what: &str, name: &str, cost: Cost, base: Cost) -> String {
    let (ms, none) = (millis(cost.wall), millis(base.wall));
    let million = |count: u64| count as f64 / 1e6;
    let (counted, over) = match (cost.instructions, base.instructions) {
        (Some(count), Some(none)) => {
            (format!("{:.1}", million(count)), format!("{:+.1}", million(count) - million(none)))
        }
        _ => ("–".to_owned(), "–".to_owned()),
    };
    format!("| {what} | {name} | {ms:.1} | {:+.1} | {counted} | {over} |\n", ms - none)
}

fn measure(program: &Path, variants: &[Variant], rounds: usize) -> Result<Vec<Cost>> {
    let mut least = vec![Duration::MAX; variants.len()];
    for round in 0..rounds.max(1) {
        for turn in 0..variants.len() {
            // The run after the heaviest variant is slower (caches, page cache), so the order rotates.
            let number = (round + turn) % variants.len();
            let mut command = bare(program);
            words(&mut command, &variants[number]);
            least[number] = wall_time(&mut command)?.min(least[number]);
        }
    }
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    let cost = |(variant, wall): (&Variant, Duration)| {
        let instructions = has_valgrind.then(|| instructions(program, variant)).transpose()?;
        Ok(Cost { wall, instructions })
    };
    variants.iter().zip(least).map(cost).collect()
}

fn words(command: &mut Command, variant: &Variant) {
    command.args(["template", "demo"]).arg(&variant.chart).args(variant.flags).stdin(Stdio::null());
}

fn instructions(program: &Path, variant: &Variant) -> Result<u64> {
    let mut command = bare(Path::new("/usr/bin/valgrind"));
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    words(&mut command, variant);
    collected(&mut command)
}

/// The large chart without scripts, with scripts that are left alone, and with each of the scripts.
fn large(folder: &Path) -> Result<Vec<Variant>> {
    let all: [(&str, &str, &str, &[&str]); 5] = [
        ("none", "none", "", &[]),
        ("left alone (`--skip-scripts`)", "skipped", EVERYTHING, &["--skip-scripts"]),
        ("label all objects", "labels", LABELS, &[]),
        ("change one value", "value", VALUE, &[]),
        ("look at everything", "everything", EVERYTHING, &[]),
    ];
    let written = |(name, path, script, flags)| {
        let chart = folder.join(path);
        write_large(&chart, script)?;
        Ok(Variant { name, chart, flags })
    };
    all.into_iter().map(written).collect()
}

/// The chart with subcharts, none of which has scripts, and with scripts in all of them.
fn many(folder: &Path) -> Result<Vec<Variant>> {
    let (plain, acting) = (folder.join("plain-umbrella"), folder.join("acting-umbrella"));
    write_umbrella(&plain, SUBCHARTS)?;
    write_umbrella(&acting, SUBCHARTS)?;
    for index in 0..SUBCHARTS {
        let script = "events.on(\"pre-render\", function(ctx)\n    ctx.values.seen = true\nend)\n";
        write(&acting.join(format!("charts/sub{index}/ext/lua/chart.lua")), script)?;
    }
    Ok(vec![
        Variant { name: "none", chart: plain, flags: &[] },
        Variant { name: "one in each", chart: acting, flags: &[] },
    ])
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    Ok(fs::write(path, text)?)
}

fn write_large(folder: &Path, script: &str) -> Result<()> {
    write(&folder.join("Chart.yaml"), "apiVersion: v2\nname: large\nversion: 0.1.0\n")?;
    let mut values = String::from("team: blue\n");
    for index in 0..PARTS {
        write!(values, "part_{index}:\n{PART}")?;
    }
    write(&folder.join("values.yaml"), &values)?;
    const TEMPLATES: usize = 20;
    for template in 0..TEMPLATES {
        let parts = (0..OBJECTS / TEMPLATES).map(|number| format!(" {}", template * 10 + number));
        let text = TEMPLATE.replace("NUMBERS", &parts.collect::<String>());
        write(&folder.join(format!("templates/part-{template}.yaml")), &text)?;
    }
    if !script.is_empty() {
        write(&folder.join("ext/lua/chart.lua"), script)?;
    }
    Ok(())
}

const PART: &str = "  enabled: true
  replicas: 3
  image:
    registry: registry.example.com
    repository: team/application
    tag: v1.2.3
    pullPolicy: IfNotPresent
  resources:
    limits: {cpu: 500m, memory: 512Mi}
    requests: {cpu: 100m, memory: 128Mi}
  env:
    - {name: LOG_LEVEL, value: info}
    - {name: DATABASE_URL, value: \"postgres://database.example.com:5432/application\"}
    - {name: FEATURE_FLAGS, value: a-rather-long-list-of-features-that-nobody-remembers}
  ports:
    - {name: http, containerPort: 8080}
    - {name: metrics, containerPort: 9090}
  annotations:
    prometheus.io/scrape: \"true\"
    prometheus.io/port: \"9090\"
    description: a part among many others
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: []
";

const TEMPLATE: &str = r#"{{- range $number := list NUMBERS }}
{{- $part := index $.Values (printf "part_%d" $number) }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $.Release.Name }}-{{ $number }}
  labels:
    app.kubernetes.io/name: part-{{ $number }}
    app.kubernetes.io/instance: {{ $.Release.Name }}
  annotations:
    {{- toYaml $part.annotations | nindent 4 }}
spec:
  replicas: {{ $part.replicas }}
  selector:
    matchLabels:
      app.kubernetes.io/name: part-{{ $number }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: part-{{ $number }}
    spec:
      containers:
        - name: main
          image: "{{ $part.image.registry }}/{{ $part.image.repository }}:{{ $part.image.tag }}"
          imagePullPolicy: {{ $part.image.pullPolicy }}
          ports:
            {{- toYaml $part.ports | nindent 12 }}
          env:
            {{- toYaml $part.env | nindent 12 }}
          resources:
            {{- toYaml $part.resources | nindent 12 }}
      nodeSelector:
        {{- toYaml $part.nodeSelector | nindent 8 }}
{{- end }}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_chart_is_as_large_as_it_says() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        write_large(folder.path(), LABELS).expect("it can be written");
        let values = fs::metadata(folder.path().join("values.yaml")).expect("it is there").len();
        assert!((1_000_000..1_100_000).contains(&values), "{values}");
        assert!(folder.path().join("ext/lua/chart.lua").exists());
        let templates = fs::read_dir(folder.path().join("templates")).expect("they are there").count();
        assert_eq!(templates * 10, OBJECTS);
    }
}
