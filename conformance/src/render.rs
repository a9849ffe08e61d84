//! Renders complete charts with the program, invoked as `helm`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::Options;
use crate::case::Case;
use crate::report::{Tally, first_difference, print_line};

/// Marks a recorded line of which only the beginning must match.
const VARIES: &[u8] = b"@@VARIES@@";

/// The result of one case: the differences of exit code, standard output and standard error.
struct Outcome {
    name: String,
    exit: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
}

/// Runs all cases of all charts and prints three lines: exit, stdout, stderr.
pub(crate) fn run(charts: &Path, goldens: &Path, options: &Options) -> Result<bool> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let helm = work.path().join("helm");
    let binary = fs::canonicalize(&options.binary).with_context(|| {
        format!("no program at {}; build it or name it with --binary", options.binary.display())
    })?;
    std::os::unix::fs::symlink(binary, &helm).context("cannot link the program")?;
    let names = chart_names(goldens, &options.only)?;
    let newer = NewerLines::read()?;
    let outcomes = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| -> Result<()> {
        let worker = || -> Result<()> {
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut chart = Chart::unpack(charts, goldens, name, work.path())?;
                newer.apply(&mut chart);
                let rows = chart.run(&helm)?;
                outcomes.lock().map_err(|_| anyhow::anyhow!("a worker panicked"))?.extend(rows);
            }
            Ok(())
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for handle in handles {
            handle.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        }
        Ok(())
    })?;
    let mut outcomes = outcomes.into_inner().map_err(|_| anyhow::anyhow!("a worker panicked"))?;
    outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(print(&outcomes, options))
}

fn print(outcomes: &[Outcome], options: &Options) -> bool {
    let (mut exit, mut stdout, mut stderr) = (Tally::default(), Tally::default(), Tally::default());
    for outcome in outcomes {
        exit.add(&outcome.name, "", outcome.exit.clone());
        stdout.add(&outcome.name, "", outcome.stdout.clone());
        stderr.add(&outcome.name, "", outcome.stderr.clone());
    }
    let good = exit.print("render exit", options)
        & stdout.print("render stdout", options)
        & stderr.print("render stderr", options);
    if outcomes.is_empty() {
        print_line("no recorded charts found");
    }
    good && !outcomes.is_empty()
}

fn chart_names(goldens: &Path, only: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(goldens).with_context(|| format!("cannot read {}", goldens.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".tgz")
            && name.contains(only)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The lines of standard output that are others in newer versions of Helm than that of the recordings, by case.
struct NewerLines(Vec<Case>);

impl NewerLines {
    fn read() -> Result<NewerLines> {
        let path = crate::own_folder().join("rerecorded/render.jsonl");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(NewerLines(text.lines().map(Case::parse).collect::<Result<_>>()?))
    }

    /// Replaces the lines of the recorded cases of a chart.
    fn apply(&self, chart: &mut Chart) {
        for case in &self.0 {
            let name = case.id.strip_prefix(&format!("{} [", chart.name));
            let Some(name) = name.and_then(|rest| rest.strip_suffix(']')) else { continue };
            let Some(recorded) = chart.recorded.get_mut(&format!("{name}.out")) else { continue };
            let mut lines: Vec<&[u8]> = recorded.split(|&byte| byte == b'\n').collect();
            for (number, line) in case.output["lines"].as_object().into_iter().flatten() {
                let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                if let Some((slot, line)) = at.and_then(|at| lines.get_mut(at)).zip(line.as_str()) {
                    *slot = line.as_bytes();
                }
            }
            *recorded = lines.join(&b'\n');
        }
    }
}

/// A chart with its recorded cases.
struct Chart {
    name: String,
    archive: PathBuf,
    /// The unpacked chart, for values files inside it.
    folder: PathBuf,
    home: PathBuf,
    recorded: BTreeMap<String, Vec<u8>>,
}

impl Chart {
    fn unpack(charts: &Path, goldens: &Path, name: &str, work: &Path) -> Result<Chart> {
        let recorded = read_archive(&goldens.join(format!("{name}.tgz")))?;
        let recorded = recorded.into_iter().map(|(path, data)| (base_name(&path), data)).collect();
        let archive = fs::canonicalize(charts.join(format!("{name}.tgz")))
            .with_context(|| format!("no chart {name}"))?;
        let root = work.join(name);
        let mut top = None;
        for (path, data) in read_archive(&archive)? {
            let target = root.join(&path);
            top.get_or_insert_with(|| path.split('/').next().unwrap_or_default().to_owned());
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(target, data)?;
        }
        let home = root.join("@home");
        fs::create_dir_all(&home)?;
        let folder = root.join(top.unwrap_or_default());
        Ok(Chart { name: name.to_owned(), archive, folder, home, recorded })
    }

    fn run(&self, helm: &Path) -> Result<Vec<Outcome>> {
        let cases = self.recorded.get("cases.json").context("a chart has no cases.json")?;
        let cases: Vec<Value> = serde_json::from_slice(cases)?;
        let comparable = |case: &&Value| !matches!(case["varies"].as_str(), Some("lines" | "exit"));
        cases.iter().filter(comparable).map(|case| self.run_case(helm, case)).collect()
    }

    fn run_case(&self, helm: &Path, case: &Value) -> Result<Outcome> {
        let name = case["name"].as_str().unwrap_or_default();
        let arguments = case["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let output = Command::new(helm)
            .args(arguments.map(|argument| self.argument(argument)))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("TZ", "UTC")
            .env("KUBECONFIG", "/nonexistent")
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .output()
            .context("cannot run the program")?;
        let wanted_exit = case["exit"].as_i64() == Some(0);
        let exit = (output.status.success() != wanted_exit)
            .then(|| format!("{} wanted, {} got", case["exit"], output.status));
        Ok(Outcome {
            name: format!("{} [{name}]", self.name),
            exit,
            stdout: self.compare(&format!("{name}.out"), &output.stdout),
            stderr: self.compare(&format!("{name}.err"), &output.stderr),
        })
    }

    fn argument(&self, argument: &str) -> PathBuf {
        if argument == "{chart}" {
            return self.archive.clone();
        }
        match argument.strip_prefix("{values:").and_then(|rest| rest.strip_suffix('}')) {
            Some(path) => self.folder.join(path),
            None => argument.into(),
        }
    }

    fn compare(&self, recorded: &str, got: &[u8]) -> Option<String> {
        let mut got = got.to_vec();
        for (path, word) in [(&self.archive, "{chart}"), (&self.folder, "{values}"), (&self.home, "{home}")] {
            got = replace(&got, path.to_string_lossy().as_bytes(), word.as_bytes());
        }
        let want = self.recorded.get(recorded).map(Vec::as_slice).unwrap_or_default();
        (!same(want, &got)).then(|| difference(want, &got))
    }
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

pub(crate) fn read_archive(path: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut files = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let name = entry.path()?.to_string_lossy().into_owned();
            let mut data = Vec::new();
            entry.read_to_end(&mut data)?;
            files.push((name, data));
        }
    }
    Ok(files)
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find(rest, from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    if word.is_empty() { None } else { memchr::memmem::find(text, word) }
}

fn lines_match(want: &[u8], got: &[u8]) -> bool {
    want == got || want.strip_suffix(VARIES).is_some_and(|beginning| got.starts_with(beginning))
}

fn same(want: &[u8], got: &[u8]) -> bool {
    if want == got {
        return true;
    }
    let (mut wanted, mut gotten) = (want.split(|&byte| byte == b'\n'), got.split(|&byte| byte == b'\n'));
    loop {
        match (wanted.next(), gotten.next()) {
            (None, None) => return true,
            (Some(left), Some(right)) if lines_match(left, right) => {}
            _ => return false,
        }
    }
}

/// The first difference; lines with [`VARIES`] that match are treated as equal.
fn difference(want: &[u8], got: &[u8]) -> String {
    let gotten: Vec<&[u8]> = got.split(|&byte| byte == b'\n').collect();
    let wanted: Vec<&[u8]> = want
        .split(|&byte| byte == b'\n')
        .enumerate()
        .map(|(index, line)| match gotten.get(index) {
            Some(other) if lines_match(line, other) => other,
            _ => line,
        })
        .collect();
    first_difference(&wanted.join(&b'\n'), got)
}
