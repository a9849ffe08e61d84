//! Running test programs. On a busy machine a test can come too late, so that what fails is run once more, by itself;
//! what fails then, too, has failed. All of it is shown.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::shell::say;

/// What came of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    failed: Vec<String>,
    passed: usize,
    /// Test programs that began and did not tell how it went, because they broke down.
    broken: usize,
}

impl Outcome {
    /// Reads a line of what test programs print when they are to be quiet.
    fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_suffix(" --- FAILED") {
            self.failed.push(name.trim_start_matches('.').to_owned());
        } else if line.starts_with("running ") && line.trim_end_matches('s').ends_with(" test") {
            self.broken += 1;
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.broken = self.broken.saturating_sub(1);
            let passed = counts.split(['.', ';']).find_map(|part| part.trim().strip_suffix(" passed"));
            self.passed += passed.and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        }
    }
}

/// Runs tests: `command` makes the command for some words to the test programs.
///
/// # Errors
/// The tests that failed twice, or whatever else went wrong.
pub(crate) fn run(command: impl Fn(&[String]) -> Command, words: &[String]) -> Result<()> {
    let first = watch(&mut command(words))?;
    if first.failed.is_empty() {
        return Ok(());
    }
    say(&format!("once more, one by one: {}", first.failed.join(", ")));
    let flags = ["--exact", "--test-threads=1"].map(ToOwned::to_owned);
    let words: Vec<String> = flags.into_iter().chain(first.failed.iter().cloned()).collect();
    let second = watch(&mut command(&words))?;
    if !second.failed.is_empty() {
        bail!("these tests failed twice: {}", second.failed.join(", "));
    }
    if second.passed < first.failed.len() {
        bail!("not all of these tests could be run once more: {}", first.failed.join(", "));
    }
    Ok(())
}

/// Runs tests and shows what they print.
fn watch(command: &mut Command) -> Result<Outcome> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut outcome = Outcome::default();
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).lines()) {
        let line = line?;
        outcome.read(&line);
        say(&line);
    }
    let status = child.wait()?;
    if !status.success() && (outcome.failed.is_empty() || outcome.broken > 0) {
        bail!("{command:?} ended with {status}");
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_test_programs_print_is_understood() {
        let mut outcome = Outcome::default();
        for line in [
            "running 3 tests",
            "..one::two --- FAILED",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 6.25s",
            "running 1 test",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "running 7 tests",
        ] {
            outcome.read(line);
        }
        assert_eq!(outcome, Outcome { failed: vec!["one::two".to_owned()], passed: 3, broken: 1 });
    }

    /// A run whose test programs print `first`, and `second` when something is run once more.
    fn run_of(first: &str, second: &str) -> Result<()> {
        let command = |words: &[String]| {
            let again = words.first().is_some_and(|word| word == "--exact");
            let (text, code) = if again { (second, 0) } else { (first, 101) };
            let failed = code != 0 || second.contains("FAILED");
            let mut shell = Command::new("sh");
            shell.args(["-c", "printf '%s' \"$0\"; exit \"$1\"", text, if failed { "101" } else { "0" }]);
            shell
        };
        run(command, &[])
    }

    #[test]
    fn what_fails_is_run_once_more_and_nothing_else_is_forgiven() {
        let failed = "running 2 tests\n.a --- FAILED\ntest result: FAILED. 1 passed; 1 failed\n";
        let passed = "running 1 test\n.\ntest result: ok. 1 passed; 0 failed\n";
        let nothing = "running 0 tests\ntest result: ok. 0 passed; 0 failed\n";
        assert!(run_of(failed, passed).is_ok());
        assert!(run_of(failed, failed).is_err());
        assert!(run_of(failed, nothing).is_err());
        assert!(run_of("running 2 tests\n.", passed).is_err());
        assert!(run_of(&format!("{failed}running 9 tests\n..."), passed).is_err());
    }
}
