//! `instructions`: counts the instructions of each hot path, which do not depend on the load of the machine.
//!
//! A hot path runs once and three times under callgrind; half the difference is one run without the preparation. The
//! baseline is `benches/instructions.tsv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::shell::{ci_binary, output, print_line, program, root};
use crate::steps::Outcome;

/// The tolerance over the baseline, in percent.
const TOLERANCE: f64 = 5.0;

/// Instructions of one run, by hot path.
type Table = BTreeMap<String, u64>;

/// Counts all hot paths and compares them with the baseline, or updates it.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    let renew = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => bail!("usage: cargo xtask instructions [--write]"),
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(Outcome::skipped("counting instructions needs valgrind"));
    }
    let program = benches_binary()?;
    let mut counted = Table::new();
    for name in hot_paths(&program)? {
        let one = count(&program, &name, 1)?;
        let three = count(&program, &name, 3)?;
        counted.insert(name, three.saturating_sub(one) / 2);
    }
    if renew {
        write_table(&counted)?
    } else {
        compare(&counted, &read_table()?)?
    }
    Ok(Outcome::Passed)
}

/// Builds the benches with the profile of tests and returns the path of their program.
pub(crate) fn benches_binary() -> Result<PathBuf> {
    ci_binary()?;
    program("ci/pintle-benches")
}

/// The names of the hot paths.
pub(crate) fn hot_paths(program: &Path) -> Result<Vec<String>> {
    let listed = output(&mut Command::new(program))?;
    Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
}

/// The instructions of the whole program for `count` runs.
fn count(program: &Path, name: &str, runs: u32) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(program).args([name, &runs.to_string()]);
    collected(&mut command)
}

/// Parses the instruction count from callgrind's output.
pub(crate) fn collected(command: &mut Command) -> Result<u64> {
    let finished = command.output().context("cannot run valgrind")?;
    let printed = String::from_utf8_lossy(&finished.stderr);
    if !finished.status.success() {
        bail!("{command:?} ended with {}: {printed}", finished.status);
    }
    // The summary ends in a line like `==1234== Collected : 5678`.
    let collected =
        printed.lines().find_map(|line| line.split_once("Collected :")).map(|(_, figure)| figure.trim());
    collected
        .and_then(|figure| figure.parse().ok())
        .with_context(|| format!("valgrind gives no count: {printed}"))
}

fn table_path() -> PathBuf {
    root().join("benches/instructions.tsv")
}

fn read_table() -> Result<Table> {
    let path = table_path();
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}; --write makes it", path.display()))?;
    let mut table = Table::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, figure) =
            line.split_once('\t').with_context(|| format!("bad line in the table: {line}"))?;
        table.insert(
            name.to_owned(),
            figure.parse().with_context(|| format!("bad figure in the table: {line}"))?,
        );
    }
    Ok(table)
}

fn write_table(counted: &Table) -> Result<()> {
    let mut text =
        String::from("# Instructions of one run, written by `cargo xtask instructions --write`.\n");
    for (name, figure) in counted {
        text.push_str(&format!("{name}\t{figure}\n"));
        print_line(&format!("{name:<16} {figure:>12}"));
    }
    fs::write(table_path(), text).context("cannot write the table")
}

fn compare(counted: &Table, usual: &Table) -> Result<()> {
    let mut slower = Vec::new();
    for (name, &figure) in counted {
        let Some(&before) = usual.get(name) else {
            slower.push(format!("{name} (not in the table)"));
            continue;
        };
        let change = (figure as f64 / before.max(1) as f64 - 1.0) * 100.0;
        print_line(&format!("{name:<16} {figure:>12} {change:>+7.1} %"));
        if change > TOLERANCE {
            slower.push(format!("{name} ({change:+.1} %)"));
        }
    }
    if !slower.is_empty() {
        bail!(
            "more instructions than usual: {}; mend it, or renew the table with --write and say why",
            slower.join(", ")
        );
    }
    Ok(())
}
