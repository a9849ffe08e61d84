//! What tests need from the program.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::absolute;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pintle::SchemaLoader;
use pintle::ops::UnittestHost;
use pintle::rehearse::{Rehearsal, RehearseRequest};
use pintle::unittest::PostRenderer;

use crate::connect;
use crate::env::Environment;
use crate::failure::Failure;
use crate::plugins::process::{Stderr, capture, look_path, timeout};
use crate::scripts::confirm;

/// Runs post-renderers and rehearsals, and has the clock.
pub(super) struct Host<'h> {
    pub(super) start: Instant,
    pub(super) environment: &'h Environment,
    pub(super) schemas: SchemaLoader,
    pub(super) consent: Consent,
}

/// Whether suites may run programs as post-renderers. A suite comes with a chart, and so from anyone.
pub(super) enum Consent {
    /// They may: the user said so, or expects it as of helm-unittest.
    Given,
    /// The user is asked, once for each command line.
    Asked(Mutex<BTreeMap<String, bool>>),
}

impl Consent {
    /// To be asked.
    pub(super) fn asked() -> Consent {
        Consent::Asked(Mutex::default())
    }

    fn check(&self, post_renderer: &PostRenderer) -> Result<(), String> {
        let Consent::Asked(answers) = self else { return Ok(()) };
        let words: Vec<&str> = std::iter::once(&post_renderer.command)
            .chain(&post_renderer.arguments)
            .map(String::as_str)
            .collect();
        let line = words.join(" ");
        // Suites run on several threads, but questions come one at a time.
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = *answers.entry(line.clone()).or_insert_with(|| {
            let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
            can_ask && confirm(&format!("A suite wants to run a program as its post-renderer:\n  {line}\nAllow? (y, yes, n, no) > "))
        });
        if allowed {
            return Ok(());
        }
        Err(format!(
            "the suite runs the program `{line}` as its post-renderer; --allow-post-renderer allows that"
        ))
    }
}

impl UnittestHost for Host<'_> {
    fn post_render(&self, post_renderer: &PostRenderer, text: &[u8]) -> Result<Vec<u8>, String> {
        let name = &post_renderer.command;
        let missing = |reason: String| format!("unable to find binary at {name}: {reason}");
        let program = look_path(name, self.environment).map_err(missing)?;
        let program = absolute(&program).map_or(program, |path| path.to_string_lossy().into_owned());
        let failed = |output: &str, reason: &str| {
            format!(
                "post-render failed: error while running command {program}. error output:\n{output}: {reason}"
            )
        };
        let broken = |failure: Failure| failed("", &failure.text);
        self.consent.check(post_renderer)?;
        let time = timeout(self.environment).map_err(broken)?;
        let mut command = Command::new(&program);
        command.args(&post_renderer.arguments);
        // A program that does not read its input is no error.
        let output = capture(&mut command, Some(text), Stderr::Captured, time).map_err(broken)?;
        if !output.status.success() {
            return Err(failed(&String::from_utf8_lossy(&output.stderr), &describe(output.status)));
        }
        Ok(output.stdout)
    }

    fn rehearse(&self, request: &RehearseRequest) -> pintle::Result<Rehearsal> {
        let runtime = connect::runtime().map_err(|failure| pintle::Error::Input(failure.text.clone()))?;
        runtime.block_on(pintle::rehearse::rehearse(request))
    }

    fn schemas(&self) -> &SchemaLoader {
        &self.schemas
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// The status in Go's words.
fn describe(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit status {code}"))
}
