//! The text that helm-unittest prints.

use crate::{Counts, SuiteResult, TestResult};

/// What was counted in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// The charts.
    pub charts: Counts,
    /// The suites.
    pub suites: Counts,
    /// The tests.
    pub tests: Counts,
    /// The snapshots.
    pub snapshots: Counts,
    /// The suites with snapshots that failed.
    pub snapshot_suites: usize,
}

impl Totals {
    /// Counts a chart.
    pub fn chart(&mut self, passed: bool, has_error: bool) {
        count(&mut self.charts, passed, false, has_error);
    }

    /// Counts a suite and its tests.
    pub fn suite(&mut self, suite: &SuiteResult) {
        count(&mut self.suites, suite.passed && !suite.skipped, suite.skipped, suite.error.is_some());
        self.snapshot_suites += usize::from(!suite.skipped && !suite.passed && suite.snapshots.failed > 0);
        self.snapshots.failed += suite.snapshots.failed;
        self.snapshots.passed += suite.snapshots.total - suite.snapshots.failed;
        for test in &suite.tests {
            count(&mut self.tests, test.passed, test.skipped, test.error.is_some());
        }
    }
}

fn count(counts: &mut Counts, passed: bool, skipped: bool, has_error: bool) {
    if passed {
        counts.passed += 1;
    } else if skipped {
        counts.skipped += 1;
    } else {
        counts.failed += 1;
        counts.errored += usize::from(has_error);
    }
}

/// Writes text with or without colors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Console {
    /// Whether to use colors.
    pub colors: bool,
}

/// An SGR sequence, and the one that ends it.
type Style = (&'static str, &'static str);

const DANGER: Style = ("31", "0");
const WARNING: Style = ("33", "0");
const PASS_LABEL: Style = ("42;30", "0;0");
const FAIL_LABEL: Style = ("41;37", "0;0");
const SKIP_LABEL: Style = ("43;30", "0;0");
const BOLD: Style = ("1", "22");
const FAINT: Style = ("2", "22");

impl Console {
    fn paint(self, (start, end): Style, text: &str) -> String {
        if self.colors { format!("\x1b[{start}m{text}\x1b[{end}m") } else { text.to_owned() }
    }

    /// The heading of a chart.
    pub fn chart(self, name: &str, path: &str) -> String {
        format!("\n### Chart [ {} ] {}\n\n", self.paint(BOLD, name), self.paint(FAINT, path))
    }

    /// A chart that cannot be tested, or a report that cannot be written.
    pub fn error(self, error: &str) -> String {
        format!("\n### {} {error}\n\n", self.paint(DANGER, "Error: "))
    }

    /// A suite, with the tests that did not pass.
    pub fn suite(self, suite: &SuiteResult) -> String {
        let label = if suite.skipped {
            self.paint(SKIP_LABEL, " SKIP ")
        } else if suite.passed {
            self.paint(PASS_LABEL, " PASS ")
        } else {
            self.paint(FAIL_LABEL, " FAIL ")
        };
        let (folder, base) = suite.file.rsplit_once('/').unwrap_or((".", &suite.file));
        let path = match suite.file.as_str() {
            "" => String::new(),
            _ => format!("{}{base}", self.paint(FAINT, &format!("{folder}/"))),
        };
        let mut text = format!("{label} {}\t{path}\n", self.paint(BOLD, &suite.name));
        if let Some(error) = &suite.error {
            text.push_str(&format!("\t{}\n\t\t{error}\n\n", self.paint(BOLD, "- Execution Error: ")));
            return text;
        }
        suite.tests.iter().for_each(|test| self.test(test, &mut text));
        text
    }

    fn test(self, test: &TestResult, text: &mut String) {
        if test.passed {
            return;
        }
        if test.skipped {
            let name = self.paint(WARNING, &format!(" '{}'", test.name));
            let label = self.paint(SKIP_LABEL, "SKIPPED");
            text.push_str(&format!("\t{}{label}{name}\n", self.paint(BOLD, "- ")));
            return;
        }
        if let Some(error) = &test.error {
            let name = self.paint(BOLD, &format!("- {}", test.name));
            text.push_str(&format!("\t{name}\n\t\t{}\n", self.paint(BOLD, &format!("Error: {error}\n"))));
            return;
        }
        text.push_str(&format!("\t{}\n", self.paint(DANGER, &format!("- {}\n", test.name))));
        for assertion in test.assertions.iter().filter(|assertion| !assertion.passed) {
            text.push_str(&format!("\t\t{}\n", self.paint(DANGER, &assertion.title())));
            for line in &assertion.info {
                text.push_str(&format!("\t\t\t{line}\n"));
            }
            text.push('\n');
        }
    }

    /// The end of a run.
    pub fn summary(self, totals: &Totals, elapsed: &str) -> String {
        let mut text = String::new();
        if totals.snapshots.failed > 0 {
            let failed = self.paint(DANGER, &format!("{} snapshot failed", totals.snapshots.failed));
            let advice = self.paint(FAINT, " Check changes and use `-u` to update snapshot.");
            text.push_str(&format!(
                "\nSnapshot Summary: {failed} in {} test suite.{advice}\n",
                totals.snapshot_suites
            ));
        }
        text.push_str(&format!(
            "\nCharts:      {}\nTest Suites: {}\nTests:       {}\nSnapshot:    {}\nTime:        {elapsed}\n\n",
            self.counts(totals.charts),
            self.counts(totals.suites),
            self.counts(totals.tests),
            self.counts(totals.snapshots),
        ));
        text
    }

    fn counts(self, counts: Counts) -> String {
        let mut text = String::new();
        if counts.failed > 0 {
            text.push_str(&self.paint(DANGER, &format!("{} failed, ", counts.failed)));
        }
        if counts.errored > 0 {
            text.push_str(&format!("{} errored, ", counts.errored));
        }
        text.push_str(&format!("{} passed, ", counts.passed));
        if counts.skipped > 0 {
            text.push_str(&format!("{} skipped, ", counts.skipped));
        }
        text.push_str(&format!("{} total", counts.passed + counts.failed + counts.skipped));
        text
    }
}
