//! The programs that tests run, and the result of a run.

use std::path::PathBuf;
use std::process::Output;

/// A program under test, or one to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `pintle`.
    Pintle,
    /// Ours, invoked as `helm`.
    PintleAsHelm,
    /// `pintle-controller`.
    Controller,
    /// The real Helm 4.
    Helm4,
    /// The real Helm 3.
    Helm3,
}

impl Program {
    /// The path from the environment.
    ///
    /// # Panics
    /// If the variable is not set.
    pub(crate) fn path(self) -> PathBuf {
        let variable = match self {
            Program::Pintle | Program::PintleAsHelm => "PINTLE_E2E_PROGRAM",
            Program::Controller => "PINTLE_E2E_CONTROLLER",
            Program::Helm4 => "PINTLE_HELM",
            Program::Helm3 => "PINTLE_HELM3",
        };
        let path = std::env::var_os(variable).map(PathBuf::from);
        path.unwrap_or_else(|| panic!("{variable} is not set; `cargo xtask e2e` sets it"))
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResult {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl CommandResult {
    /// Asserts that the run succeeded.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn succeeded(self) -> CommandResult {
        assert_eq!(self.code, Some(0), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that the run failed with an exit code.
    ///
    /// # Panics
    /// If it succeeded, or was ended by a signal.
    #[track_caller]
    pub fn failed(self) -> CommandResult {
        let failed = self.code.is_some_and(|code| code != 0);
        assert!(failed, "code {:?}\nstdout:\n{}\nstderr:\n{}", self.code, self.stdout, self.stderr);
        self
    }
}

impl From<Output> for CommandResult {
    fn from(output: Output) -> CommandResult {
        CommandResult {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
