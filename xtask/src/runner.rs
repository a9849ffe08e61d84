//! Runs tests: one process for each, judged by its exit code alone, as many side by side as the machine has room for.
//!
//! A process of its own keeps tests apart (a crash, a leak or a hang is that of one test) and lets the slow ones of one
//! program run beside those of the others.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::rotation::Shard;
use crate::shell::{cargo, print_line, root};

/// A test that takes longer hangs: the slowest take about a minute on a machine with nothing else to do.
const HANGS_AFTER: Duration = Duration::from_secs(15 * 60);

/// How often a running test is asked whether it has ended.
const POLL: Duration = Duration::from_millis(5);

/// What a test prints at the start of a line when something that it needs is not here.
const SKIPPED: &str = "skipped: ";

/// A test executable that cargo built.
#[derive(Clone, Debug)]
struct Program {
    path: PathBuf,
    package: String,
    /// The folder of the package, in which cargo runs its tests.
    folder: PathBuf,
}

/// Tests to run, and how.
pub(crate) struct Suite {
    programs: Vec<Program>,
    filters: Vec<String>,
    environment: Vec<(OsString, OsString)>,
    jobs: usize,
    /// A part of the tests only.
    part: Option<Shard>,
    /// Whether a failed test is run once more by itself; one that passes then is reported as flaky.
    retry: bool,
    /// Whether this process ignores SIGINT, as background jobs of scripts do. Tests would inherit that, and wait in vain
    /// for programs that they interrupt.
    interrupts_ignored: bool,
}

/// The features that the default build leaves out, for builds of the whole workspace.
pub(crate) fn features(selection: &[&str]) -> &'static [&'static str] {
    if selection.contains(&"--workspace") { &["--features", "pintle-cli/wasm"] } else { &[] }
}

/// The results of a suite.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) passed: usize,
    pub(crate) failed: Vec<String>,
    /// Tests that passed at their second run only.
    pub(crate) flaky: Vec<String>,
    /// Tests that could not run here, with the reason.
    pub(crate) skipped: Vec<(String, String)>,
}

struct Test<'a> {
    program: &'a Program,
    name: String,
}

struct Finished<'a> {
    test: Test<'a>,
    passed: bool,
    time: Duration,
    output: String,
}

impl Suite {
    /// Builds the tests that `selection` (flags of `cargo test`) names.
    pub(crate) fn build(selection: &[&str]) -> Result<Suite> {
        let mut command = cargo(&["test", "--quiet", "--no-run", "--message-format=json-render-diagnostics"]);
        let built = command
            .args(selection)
            .args(features(selection))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo")?;
        if !built.status.success() {
            bail!("the tests do not build: {command:?} ended with {}", built.status);
        }
        let messages = String::from_utf8_lossy(&built.stdout).into_owned();
        let programs =
            messages.lines().filter_map(|line| program(&serde_json::from_str(line).ok()?)).collect();
        // One more than there are processors, because some tests wait: for a timeout, the disk or another program.
        let jobs = std::thread::available_parallelism().map_or(2, usize::from) + 1;
        Ok(Suite {
            programs,
            filters: Vec::new(),
            environment: Vec::new(),
            jobs,
            part: None,
            retry: false,
            interrupts_ignored: ignores_interrupts(),
        })
    }

    /// Selects tests whose names contain one of these; none means all.
    pub(crate) fn filters(mut self, filters: &[String]) -> Suite {
        self.filters = filters.to_vec();
        self
    }

    /// Selects packages in these folders.
    pub(crate) fn packages(mut self, packages: &[&str]) -> Suite {
        self.programs.retain(|program| packages.contains(&program.package.as_str()));
        self
    }

    /// Selects a shard of the tests.
    pub(crate) fn part(mut self, part: Option<Shard>) -> Suite {
        self.part = part;
        self
    }

    pub(crate) fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Suite {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets how many tests run in parallel; more than there are processors is useful if tests mostly wait.
    pub(crate) fn jobs(mut self, jobs: usize) -> Suite {
        self.jobs = jobs;
        self
    }

    pub(crate) fn retry(mut self, retry: bool) -> Suite {
        self.retry = retry;
        self
    }

    /// Runs the tests and prints a summary, prefixed with `name`.
    ///
    /// # Errors
    /// Names the tests that failed; their output was shown.
    pub(crate) fn run(&self, name: &str) -> Result<Summary> {
        let mut tests = self.list()?;
        let mut known = known_times();
        // The longest first, so that no processor is idle while the last one runs.
        let seconds = |test: &Test<'_>| known.get(&test.label()).copied().unwrap_or_default();
        tests.make_contiguous().sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
        let finished = self.run_all(tests)?;
        let mut summary = Summary::default();
        let mut times: Vec<(Duration, String)> = Vec::new();
        for one in &finished {
            times.push((one.time, one.test.label()));
            known.insert(one.test.label(), one.time.as_secs_f64());
        }
        keep_times(&known);
        for one in finished {
            self.evaluate(one, &mut summary)?;
        }
        times.sort_by(|a, b| b.cmp(a));
        let slowest: Vec<String> =
            times.iter().take(3).map(|(time, name)| format!("{name} {:.1} s", time.as_secs_f64())).collect();
        print_line(&format!("slowest: {}", slowest.join(", ")));
        for flaky in &summary.flaky {
            print_line(&format!("flaky: {flaky} failed once and passed when it was run again by itself"));
        }
        let (passed, failed, skipped) = (summary.passed, summary.failed.len(), summary.skipped.len());
        print_line(&format!("{name}: {passed} passed, {failed} failed, {skipped} skipped"));
        if failed > 0 {
            bail!("{failed} tests failed: {}", summary.failed.join(", "));
        }
        Ok(summary)
    }

    fn list(&self) -> Result<VecDeque<Test<'_>>> {
        let mut tests = VecDeque::new();
        for program in &self.programs {
            let mut command = self.command(program);
            command.args(["--list", "--format", "terse"]).args(&self.filters);
            let listed = command.output().with_context(|| format!("cannot run {command:?}"))?;
            if !listed.status.success() {
                bail!("{command:?} ended with {}", listed.status);
            }
            let names = String::from_utf8_lossy(&listed.stdout).into_owned();
            let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
            tests.extend(names.map(|name| Test { program, name: name.to_owned() }));
        }
        if let Some(part) = self.part {
            let mut index = 0..;
            tests.retain(|_| index.next().is_some_and(|index| part.has(index)));
        }
        Ok(tests)
    }

    fn command(&self, program: &Program) -> Command {
        let mut command = if self.interrupts_ignored {
            let mut command = Command::new("env");
            command.arg("--default-signal=INT").arg(&program.path);
            command
        } else {
            Command::new(&program.path)
        };
        command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
        command
    }

    fn run_all<'a>(&'a self, tests: VecDeque<Test<'a>>) -> Result<Vec<Finished<'a>>> {
        let (waiting, finished) = (Mutex::new(tests), Mutex::new(Vec::new()));
        let work = || -> Result<()> {
            loop {
                let next = waiting.lock().expect("no thread panics with the lock").pop_front();
                let Some(test) = next else { return Ok(()) };
                let one = self.run_one(test)?;
                if !one.passed {
                    print_line(&format!("FAILED {} after {:.1} s", one.test.label(), one.time.as_secs_f64()));
                }
                finished.lock().expect("as above").push(one);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
        })?;
        Ok(finished.into_inner().expect("no thread panicked with the lock"))
    }

    fn run_one<'a>(&self, test: Test<'a>) -> Result<Finished<'a>> {
        let mut log = tempfile::tempfile().context("cannot make a temporary file")?;
        let start = Instant::now();
        let mut child = self
            .command(test.program)
            .args(["--exact", &test.name, "--nocapture"])
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .spawn()
            .with_context(|| format!("cannot run {}", test.program.path.display()))?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if start.elapsed() > HANGS_AFTER {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(POLL);
        };
        let mut output = read(&mut log)?;
        if status.is_none() {
            output.push_str(&format!("\nkilled: it had not ended after {} s\n", HANGS_AFTER.as_secs()));
        }
        let passed = status.as_ref().is_some_and(ExitStatus::success);
        Ok(Finished { test, passed, time: start.elapsed(), output })
    }

    /// Counts a test that has run, after a second run where that is allowed. What a failure printed is shown.
    fn evaluate(&self, one: Finished<'_>, summary: &mut Summary) -> Result<()> {
        let label = one.test.label();
        if one.passed {
            match one.output.lines().find_map(|line| line.strip_prefix(SKIPPED)) {
                Some(reason) => summary.skipped.push((label, reason.to_owned())),
                None => summary.passed += 1,
            }
            return Ok(());
        }
        print_line(&format!("── {label}\n{}", one.output.trim_end()));
        if self.retry {
            let again = self.run_one(one.test)?;
            if again.passed {
                summary.passed += 1;
                summary.flaky.push(label);
                return Ok(());
            }
            print_line(&format!("── {label}, run again\n{}", again.output.trim_end()));
        }
        summary.failed.push(label);
        Ok(())
    }
}

impl Test<'_> {
    fn label(&self) -> String {
        format!("{} {}", self.program.package, self.name)
    }
}

/// The seconds that tests took when they last ran here.
fn known_times() -> BTreeMap<String, f64> {
    let text = std::fs::read(times_file()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Saves the seconds for the next run. Errors are ignored: without them that run is only slower.
fn keep_times(times: &BTreeMap<String, f64>) {
    if let Ok(text) = serde_json::to_vec(times) {
        let _ = std::fs::write(times_file(), text);
    }
}

fn times_file() -> PathBuf {
    root().join("target/test-times.json")
}

/// Whether SIGINT is ignored here; `false` where there is no `/proc`.
fn ignores_interrupts() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_interrupt_ignored(&status))
}

/// Reads the mask `SigIgn` of a `/proc/PID/status`, in which signal N is bit N - 1.
fn is_interrupt_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << 1) != 0)
}

fn read(log: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    log.seek(SeekFrom::Start(0))?;
    log.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The test executable of a cargo message, if there is one.
fn program(message: &Value) -> Option<Program> {
    if message["profile"]["test"] != Value::Bool(true) {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    Some(Program { path, package, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in for a test program: a script that lists `names` and passes or fails as its last argument says.
    fn suite(folder: &std::path::Path, script: &str) -> Suite {
        use std::os::unix::fs::PermissionsExt as _;

        let path = folder.join("program");
        std::fs::write(&path, format!("#!/bin/sh\ncase \"$1\" in --list) {script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = Program { path, package: "p".to_owned(), folder: folder.to_owned() };
        Suite {
            programs: vec![program],
            filters: vec![],
            environment: vec![],
            jobs: 2,
            part: None,
            retry: false,
            interrupts_ignored: false,
        }
    }

    #[test]
    fn tests_are_judged_by_their_exit_code_and_what_they_skip_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let script = "printf 'a: test\\nb: test\\nc: test\\nd: benchmark\\n';; *) case \"$2\" in b) exit 3;; \
                      c) echo 'skipped: no Helm';; esac;; esac";
        let suite = suite(folder.path(), script);
        let tests = suite.list().unwrap();
        assert_eq!(tests.iter().map(Test::label).collect::<Vec<_>>(), ["p a", "p b", "p c"]);
        let mut summary = Summary::default();
        for one in suite.run_all(tests).unwrap() {
            suite.evaluate(one, &mut summary).unwrap();
        }
        assert_eq!((summary.passed, summary.failed.as_slice()), (1, &["p b".to_owned()][..]));
        assert_eq!(summary.skipped, [("p c".to_owned(), "no Helm".to_owned())]);
        assert!(suite.run("tests").is_err());
    }

    #[test]
    fn what_passes_at_the_second_run_is_named_and_only_where_that_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo 'a: test';; *) if [ -e seen ]; then exit 0; fi; touch seen; exit 1;; esac";
        let suite = suite(folder.path(), script);
        assert!(suite.run("tests").is_err());
        std::fs::remove_file(folder.path().join("seen")).unwrap();
        let summary = suite.retry(true).run("tests").unwrap();
        assert_eq!((summary.passed, summary.flaky), (1, vec!["p a".to_owned()]));
    }

    #[test]
    fn tests_can_be_interrupted_although_this_process_ignores_it() {
        let folder = tempfile::tempdir().unwrap();
        // The shell that runs the suite ignores SIGINT; a test ends itself with it.
        let script = "echo 'a: test';; *) kill -INT $$; exit 0;; esac";
        let mut suite = suite(folder.path(), script);
        let status = |suite: &Suite| {
            let command = suite.command(&suite.programs[0]);
            let mut words = vec![command.get_program()];
            words.extend(command.get_args());
            let mut shell = Command::new("sh");
            shell.args(["-c", "trap '' INT; \"$@\"", "sh"]).args(words).status().unwrap()
        };
        assert!(status(&suite).success());
        suite.interrupts_ignored = true;
        assert_eq!(status(&suite).code(), Some(130));
    }

    #[test]
    fn an_ignored_interrupt_is_found_in_the_masks_of_a_process() {
        assert!(is_interrupt_ignored("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001007\n"));
        assert!(!is_interrupt_ignored("SigBlk:\t0000000000000002\nSigIgn:\t0000000000001000\n"));
        assert!(!is_interrupt_ignored(""));
    }

    #[test]
    fn only_programs_of_tests_are_taken_from_what_cargo_says() {
        let message =
            r#"{"profile":{"test":true},"executable":"/t/x-1","manifest_path":"/r/crates/yaml/Cargo.toml"}"#;
        let found = program(&serde_json::from_str(message).unwrap()).unwrap();
        assert_eq!((found.package.as_str(), found.folder), ("yaml", PathBuf::from("/r/crates/yaml")));
        assert!(program(&serde_json::from_str(&message.replace("true", "false")).unwrap()).is_none());
    }
}
