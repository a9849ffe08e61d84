//! Runs several steps and prints a table of durations and results; errors are printed last, where they are seen.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::shell::print_line;

/// The outcome of a step that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// A requirement is missing, with the reason.
    Skipped(String),
}

impl Outcome {
    pub(crate) fn skipped(reason: impl Into<String>) -> Outcome {
        Outcome::Skipped(reason.into())
    }

    /// Prints the reason of a skipped task.
    pub(crate) fn report(&self) {
        if let Outcome::Skipped(reason) = self {
            print_line(&format!("skipped: {reason}"));
        }
    }
}

struct Row {
    name: &'static str,
    time: Duration,
    result: String,
}

/// The steps that have run so far.
pub(crate) struct Steps {
    start: Instant,
    rows: Vec<Row>,
    /// Whether to continue after a failed step.
    keep_going: bool,
    failures: Vec<anyhow::Error>,
}

impl Steps {
    pub(crate) fn new(keep_going: bool) -> Steps {
        Steps { start: Instant::now(), rows: Vec::new(), keep_going, failures: Vec::new() }
    }

    /// Runs a step.
    ///
    /// # Errors
    /// The error of the step with its name, unless `keep_going` is set; then it is reported at the end.
    pub(crate) fn run(&mut self, name: &'static str, work: impl FnOnce() -> Result<Outcome>) -> Result<()> {
        print_line(&format!("── {name}"));
        let start = Instant::now();
        let outcome = work().with_context(|| format!("step `{name}` failed"));
        let result = match &outcome {
            Ok(Outcome::Passed) => "passed".to_owned(),
            Ok(Outcome::Skipped(reason)) => format!("skipped: {reason}"),
            Err(_) => "FAILED".to_owned(),
        };
        print_line(&format!("── {name}: {result} ({:.0} s)", start.elapsed().as_secs_f64()));
        self.rows.push(Row { name, time: start.elapsed(), result });
        match outcome {
            Err(error) if self.keep_going => {
                print_line(&format!("error: {error:#}"));
                self.failures.push(error);
                Ok(())
            }
            outcome => outcome.map(drop),
        }
    }

    /// Runs `work` and prints the table, also on failure.
    pub(crate) fn all(keep_going: bool, work: impl FnOnce(&mut Steps) -> Result<()>) -> Result<()> {
        let mut steps = Steps::new(keep_going);
        let done = work(&mut steps);
        print_line(&format!("\n{}", steps.table()));
        done?;
        match steps.failures.len() {
            0 => Ok(()),
            1 => Err(steps.failures.remove(0)),
            count => {
                let all: Vec<String> = steps.failures.iter().map(|error| format!("{error:#}")).collect();
                bail!("{count} steps failed\n{}", all.join("\n"))
            }
        }
    }

    fn table(&self) -> String {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
        let mut table = String::new();
        for Row { name, time, result } in &self.rows {
            table.push_str(&format!("{name:width$}  {:>6.0} s  {result}\n", time.as_secs_f64()));
        }
        table.push_str(&format!("{:width$}  {:>6.0} s\n", "all", self.start.elapsed().as_secs_f64()));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_passed_failed_and_skipped_steps() {
        let mut steps = Steps::new(false);
        steps.run("format", || Ok(Outcome::Passed)).unwrap();
        steps.run("real cluster", || Ok(Outcome::skipped("no Go here"))).unwrap();
        let error = steps.run("tests", || anyhow::bail!("2 tests failed")).unwrap_err();
        assert_eq!(format!("{error:#}"), "step `tests` failed: 2 tests failed");
        let table = steps.table();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["format", "0", "s", "passed"]);
        assert_eq!(lines[1], ["real", "cluster", "0", "s", "skipped:", "no", "Go", "here"]);
        assert_eq!(lines[2], ["tests", "0", "s", "FAILED"]);
        assert_eq!(lines[3], ["all", "0", "s"]);
    }

    #[test]
    fn keep_going_runs_all_steps_and_reports_all_failures() {
        let fail = |steps: &mut Steps| {
            steps.run("one", || bail!("first"))?;
            steps.run("two", || bail!("second"))
        };
        let error = Steps::all(true, fail).unwrap_err().to_string();
        assert_eq!(error, "2 steps failed\nstep `one` failed: first\nstep `two` failed: second");
        assert_eq!(format!("{:#}", Steps::all(false, fail).unwrap_err()), "step `one` failed: first");
    }
}
