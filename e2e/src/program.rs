//! The programs that tests run, and what came of a run.

use std::path::PathBuf;
use std::process::Output;

/// A program that works on releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Ours, as itself.
    Pintle,
    /// Ours, called `helm`.
    PintleAsHelm,
    /// The real Helm 4.
    Helm4,
    /// The real Helm 3.
    Helm3,
}

impl Program {
    /// Where it is, as the environment says.
    ///
    /// # Panics
    /// When the environment does not say it.
    pub(crate) fn path(self) -> PathBuf {
        let variable = match self {
            Program::Pintle | Program::PintleAsHelm => "PINTLE_E2E_PROGRAM",
            Program::Helm4 => "PINTLE_HELM",
            Program::Helm3 => "PINTLE_HELM3",
        };
        let path = std::env::var_os(variable).map(PathBuf::from);
        path.unwrap_or_else(|| panic!("{variable} is not set; `cargo xtask e2e` sets it"))
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// The run, which must have succeeded.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn succeeded(self) -> Ran {
        assert_eq!(self.code, Some(0), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The run, which must have failed with an exit code of its own.
    ///
    /// # Panics
    /// When it succeeded, or was ended by a signal.
    #[track_caller]
    pub fn failed(self) -> Ran {
        let failed = self.code.is_some_and(|code| code != 0);
        assert!(failed, "code {:?}\nstdout:\n{}\nstderr:\n{}", self.code, self.stdout, self.stderr);
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
