//! What tests need from the program.

use std::io::Write as _;
use std::path::absolute;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use pintle::SchemaLoader;
use pintle::ops::UnittestHost;
use pintle::rehearse::{Rehearsal, RehearseRequest};
use pintle::unittest::PostRenderer;

use crate::connect;
use crate::env::Environment;
use crate::plugins::process::look_path;

/// Runs post-renderers and rehearsals, and has the clock.
pub(super) struct Host<'h> {
    pub(super) start: Instant,
    pub(super) environment: &'h Environment,
    pub(super) schemas: SchemaLoader,
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
        let broken = |error: std::io::Error| failed("", &format!("fork/exec {program}: {error}"));
        let mut child = Command::new(&program)
            .args(&post_renderer.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(broken)?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // A program that does not read its input is no error.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(text)));
            child.wait_with_output()
        })
        .map_err(broken)?;
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
