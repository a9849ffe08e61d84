//! What came out of a run.

use std::time::Duration;

/// The result of one assertion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssertionResult {
    /// The index in the test.
    pub index: usize,
    /// The assertion type.
    pub kind: &'static str,
    /// Whether `not` is set.
    pub not: bool,
    /// Whether it passed; one that was skipped did.
    pub passed: bool,
    /// Why it was skipped.
    pub skip_reason: Option<&'static str>,
    /// The lines that explain why it failed.
    pub info: Vec<String>,
    /// Whether it is an expectation about the lifecycle, under the key `pintle`.
    pub lifecycle: bool,
}

impl AssertionResult {
    /// The line that names the assertion.
    pub fn title(&self) -> String {
        if self.lifecycle {
            return format!("- pintle `{}` fail", self.kind);
        }
        let not = if self.not { " NOT" } else { "" };
        format!("- asserts[{}]{not} `{}` fail", self.index, self.kind)
    }
}

/// The result of one test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestResult {
    /// The name.
    pub name: String,
    /// Whether all assertions passed.
    pub passed: bool,
    /// Whether it was skipped.
    pub skipped: bool,
    /// Why it could not be run.
    pub error: Option<String>,
    /// The assertions that were checked.
    pub assertions: Vec<AssertionResult>,
    /// How long it took.
    pub duration: Duration,
}

/// What happened to the snapshots of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Comparisons.
    pub total: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that had no snapshot yet.
    pub created: usize,
    /// Stored snapshots that were not compared.
    pub vanished: usize,
}

/// The result of one suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteResult {
    /// The name.
    pub name: String,
    /// The file that it was read from.
    pub file: String,
    /// Whether all tests passed.
    pub passed: bool,
    /// Whether all tests were skipped.
    pub skipped: bool,
    /// Whether the suite was ended by a failure.
    pub fail_fast: bool,
    /// Why it could not be run.
    pub error: Option<String>,
    /// The tests that were run or skipped.
    pub tests: Vec<TestResult>,
    /// The snapshots.
    pub snapshots: SnapshotCounts,
    /// The new text of the snapshot file, if it must be written.
    pub snapshot_file: Option<Vec<u8>>,
}

impl SuiteResult {
    /// How long all tests took.
    pub fn duration(&self) -> Duration {
        self.tests.iter().map(|test| test.duration).sum()
    }
}

/// How many charts, suites, tests or snapshots passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Passed.
    pub passed: usize,
    /// Failed, those with errors included.
    pub failed: usize,
    /// Failed with an error.
    pub errored: usize,
    /// Skipped.
    pub skipped: usize,
}
