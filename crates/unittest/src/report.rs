//! Writes results: the text that helm-unittest prints, and its four kinds of report files.

pub mod console;
mod junit;
mod nunit;
mod sonar;
mod xml;
mod xunit;

use std::time::Duration;

use crate::{SuiteResult, TestResult};

/// The kind of a report file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JUnit.
    JUnit,
    /// NUnit 2.
    NUnit,
    /// xUnit.net 2.
    XUnit,
    /// SonarQube's generic test data.
    Sonar,
}

impl Format {
    /// Finds a format by its name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "junit" => Some(Format::JUnit),
            "nunit" => Some(Format::NUnit),
            "xunit" => Some(Format::XUnit),
            "sonar" => Some(Format::Sonar),
            _ => None,
        }
    }
}

/// What reports say about the machine and the moment.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The date, as in `2006-01-02`.
    pub date: String,
    /// The time, as in `15:04:05`.
    pub time: String,
    /// The name of the host.
    pub host: String,
    /// The name of the user.
    pub user: String,
    /// The current folder.
    pub folder: String,
    /// The program and the platform.
    pub platform: String,
    /// The locale, as in `en_US.UTF-8`; empty if unknown.
    pub locale: String,
}

/// Returns the text of a report file.
pub fn write(format: Format, suites: &[SuiteResult], setting: &Setting) -> String {
    let root = match format {
        Format::JUnit => junit::report(suites, setting),
        Format::NUnit => nunit::report(suites, setting),
        Format::XUnit => xunit::report(suites, setting),
        Format::Sonar => sonar::report(suites),
    };
    root.to_text()
}

/// The name of the test framework in reports.
const FRAMEWORK: &str = "helm-unittest";

/// The part of a suite's name after the last slash.
fn class_name(suite: &str) -> &str {
    suite.rsplit('/').next().unwrap_or(suite)
}

fn seconds(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64())
}

/// Everything that a test has to say.
fn described(test: &TestResult) -> String {
    let mut text = String::new();
    if test.skipped {
        text.push_str(&format!("SKIPPED '{}' \n", test.name));
    }
    if let Some(error) = &test.error {
        text.push_str(&format!("{error}\n"));
    }
    for assertion in &test.assertions {
        text.push_str(&format!("\t\t {} \n", assertion.title()));
        match assertion.skip_reason {
            Some(reason) => text.push_str(&format!("\t\t\t {reason} \n")),
            None => assertion.info.iter().for_each(|line| text.push_str(&format!("\t\t\t {line} \n"))),
        }
    }
    text
}

#[cfg(test)]
mod tests;
