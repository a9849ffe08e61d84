//! Replays what helm-diff says about two versions of a chart.
//!
//! A case unpacks a chart twice, edits the second copy, and runs `helm diff local old new ARGS`. Exit code and standard
//! output must be equal.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;

use crate::Options;
use crate::render::read_archive;
use crate::report::{Tally, first_difference};

/// Runs all cases of a file and prints one line.
pub(crate) fn run(charts: &Path, file: &Path, options: &Options) -> Result<bool> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let cases = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let cases: Vec<Value> =
        cases.into_iter().filter(|case| text_of(case, "id").contains(&options.only)).collect();
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let helm = work.path().join("helm");
    let binary =
        fs::canonicalize(&options.binary).context("no program; build it or name it with --binary")?;
    std::os::unix::fs::symlink(binary, &helm).context("cannot link the program")?;
    let tally = Mutex::new(Tally::default());
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let difference = run_case(charts, &helm, work.path(), case)?;
            let group = words(case).join(" ");
            let mut tally = tally.lock().map_err(|_| anyhow!("a worker panicked"))?;
            tally.add(text_of(case, "id"), &group, difference);
        }
        Ok(())
    };
    thread::scope(|scope| -> Result<()> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().try_for_each(|handle| handle.join().map_err(|_| anyhow!("a worker panicked"))?)
    })?;
    Ok(tally.into_inner().map_err(|_| anyhow!("a worker panicked"))?.print("diff local", options))
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn words(case: &Value) -> Vec<&str> {
    case["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn run_case(charts: &Path, helm: &Path, work: &Path, case: &Value) -> Result<Option<String>> {
    let folder = tempfile::tempdir_in(work).context("cannot make a temporary folder")?;
    for (path, data) in read_archive(&charts.join(text_of(case, "chart")))? {
        let inside = path.split_once('/').map_or(path.as_str(), |(_, inside)| inside);
        for copy in ["old", "new"] {
            write(&folder.path().join(copy).join(inside), &data)?;
        }
    }
    for edit in case["edits"].as_array().into_iter().flatten() {
        apply(&folder.path().join("new"), edit)?;
    }
    let mut command = Command::new(helm);
    command.args(["diff", "local", "old", "new"]).args(words(case)).current_dir(folder.path());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder.path()).env("TERM", "dumb");
    command.env("KUBECONFIG", "/nonexistent").stdin(Stdio::null());
    for (name, value) in case["env"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap_or_default());
    }
    let output = command.output().context("cannot run the program")?;
    let wanted = case["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
    if output.status.code() != wanted {
        return Ok(Some(format!("exit {wanted:?} wanted, {:?} got", output.status.code())));
    }
    let wanted = text_of(case, "stdout").as_bytes();
    Ok((wanted != output.stdout).then(|| first_difference(wanted, &output.stdout)))
}

/// Applies an edit: a replaced text, a deleted file or an added one.
fn apply(folder: &Path, edit: &Value) -> Result<()> {
    if let Some(path) = edit["delete"].as_str() {
        return Ok(fs::remove_file(folder.join(path))?);
    }
    if let Some(path) = edit["add"].as_str() {
        return write(&folder.join(path), text_of(edit, "text").as_bytes());
    }
    let path = folder.join(text_of(edit, "file"));
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(fs::write(&path, text.replacen(text_of(edit, "find"), text_of(edit, "replace"), 1))?)
}

fn write(path: &Path, data: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(path, data)?)
}
