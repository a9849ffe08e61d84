//! Runs the programs of plugins, with the environment that Helm gives them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use pintle_plugin::{Platform, PlatformCommand, Plugin, Prepared, prepare};
use pintle_tree::quote::quote;
use pintle_tree::{LogLevel, LogLine};

use super::bin::helm_bin;
use super::exited;
use crate::commands::env::variables;
use crate::env::Environment;
use crate::failure::{Failure, FailureKind, reason};
use crate::flag::parsed::Parsed;
use crate::personality::Personality;
use crate::ui::Ui;

/// The most that is taken of what a getter or a post-renderer prints.
pub(crate) const MAX_OUTPUT: u64 = 1 << 30;

/// What is kept of the standard error of a program, for its error.
const MAX_STDERR: u64 = 64 << 10;

/// The variables that a program gets in addition to those of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The settings of Helm, as `env` shows them, with an absolute `HELM_BIN`.
    ///
    /// # Errors
    ///
    /// When there is no path by which plugins can call back.
    pub(crate) fn of_helm(
        personality: Personality,
        called_as: &str,
        flags: &Parsed,
        environment: &Environment,
    ) -> Result<Variables, Failure> {
        Variables::without_bin(called_as, flags, environment).with_bin(personality, called_as, environment)
    }

    /// The settings of Helm, without a `HELM_BIN` that can be relied on.
    pub(crate) fn without_bin(called_as: &str, flags: &Parsed, environment: &Environment) -> Variables {
        let all = variables(called_as, flags, environment);
        Variables(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The same with an absolute `HELM_BIN`.
    ///
    /// # Errors
    ///
    /// When there is no path by which plugins can call back.
    pub(crate) fn with_bin(
        self,
        personality: Personality,
        called_as: &str,
        environment: &Environment,
    ) -> Result<Variables, Failure> {
        Ok(self.with("HELM_BIN", &helm_bin(personality, called_as, environment)?))
    }

    /// None but those of the plugin itself.
    pub(crate) fn none() -> Variables {
        Variables::default()
    }

    /// The same with the name and the folder of a plugin.
    pub(crate) fn for_plugin(&self, plugin: &Plugin) -> Variables {
        let mut all = self.0.clone();
        all.insert("HELM_PLUGIN_NAME".to_owned(), plugin.metadata.name.clone());
        all.insert("HELM_PLUGIN_DIR".to_owned(), plugin.dir.to_string_lossy().into_owned());
        Variables(all)
    }

    /// The same with one more.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Variables {
        self.0.insert(name.to_owned(), value.to_owned());
        self
    }

    /// All variables that the program will see, for the expansion of its command line.
    fn for_expansion(&self, environment: &Environment) -> BTreeMap<String, String> {
        let mut all = environment.all();
        all.extend(self.0.clone());
        all
    }

    /// Chooses what to run of `commands` on this platform.
    ///
    /// # Errors
    ///
    /// When there is nothing for this platform.
    pub(crate) fn prepare(
        &self,
        commands: &[PlatformCommand],
        expand_args: bool,
        extra: &[String],
        environment: &Environment,
    ) -> Result<Prepared, Failure> {
        let all = self.for_expansion(environment);
        Ok(prepare(commands, Platform::current(), expand_args, extra, &all)?)
    }

    /// A command for a program.
    ///
    /// # Errors
    ///
    /// When the program is not on the path.
    pub(crate) fn command(&self, prepared: &Prepared, environment: &Environment) -> Result<Command, Failure> {
        let program = look_path(&prepared.program, environment).map_err(Failure::run_time)?;
        let mut command = Command::new(program);
        command.args(&prepared.args).envs(&self.0);
        Ok(command)
    }
}

/// The path of a program, found as Go's `exec.LookPath` finds it.
///
/// # Errors
///
/// Go's text about a program that is not on the path.
pub(crate) fn look_path(name: &str, environment: &Environment) -> Result<String, String> {
    if name.contains('/') || (cfg!(windows) && name.contains('\\')) {
        return Ok(name.to_owned());
    }
    let not_found = || format!("exec: {}: executable file not found in $PATH", quote(name.as_bytes()));
    let path = environment.variable("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| {
            let endings: &[&str] = if cfg!(windows) { &["", ".exe", ".bat", ".cmd"] } else { &[""] };
            endings.iter().map(move |ending| folder.join(format!("{name}{ending}")))
        })
        .find(|file| is_executable(file))
        .map(|file| file.to_string_lossy().into_owned())
        .ok_or_else(not_found)
}

fn is_executable(file: &Path) -> bool {
    let Ok(found) = std::fs::metadata(file) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        found.is_file() && found.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        found.is_file()
    }
}

/// The failure of a program that could not be started, in Go's words.
pub(crate) fn not_started(command: &Command, error: &io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    let failure = Failure::run_time(format!("fork/exec {program}: {}", reason(error)))
        .with_pintle_text(format!("cannot run `{program}`: {}", reason(error)));
    match error.kind() {
        io::ErrorKind::PermissionDenied => failure.hint(format!("`chmod +x {program}` makes it executable")),
        io::ErrorKind::NotFound => failure.hint("see `command` and `platformCommand` in its plugin.yaml"),
        _ => failure,
    }
}

/// Logs what is run, as Helm does with `--debug`.
pub(crate) fn log_command(ui: &mut Ui, message: &'static str, plugin: &str, command: &Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let attributes = vec![("pluginName", plugin.to_owned()), ("command", words.join(" "))];
    ui.log(&LogLine { level: LogLevel::Debug, message: message.into(), attributes });
}

/// Runs a program of a plugin to its end, on the streams of this process.
///
/// # Errors
///
/// When it cannot be started, and exit codes other than 0.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    outcome(name, status)
}

/// What the end of a program means.
///
/// # Errors
///
/// Exit codes other than 0, and signals.
pub(crate) fn outcome(name: &str, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    match status.code() {
        Some(code) => Err(exited(name, u8::try_from(code & 0xff).unwrap_or(1))),
        // Go has -1 for the exit code of a process that a signal ended, and exits with it.
        None => Err(exited(name, u8::MAX)
            .with_pintle_text(format!("the plugin `{name}` was ended by {}", signal(status)))),
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal().map_or_else(|| "a signal".to_owned(), |signal| format!("signal {signal}"))
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> String {
    "the system".to_owned()
}

/// What a program printed, and how it ended.
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) status: ExitStatus,
}

/// Where the standard error of a program goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stderr {
    /// To that of this process.
    Shown,
    /// Into the result.
    Captured,
}

/// Runs a program, writes `input` to it, and collects what it prints.
///
/// # Errors
///
/// When it cannot be started, or prints more than [`MAX_OUTPUT`].
pub(crate) fn capture(
    command: &mut Command,
    input: Option<&[u8]>,
    stderr: Stderr,
) -> Result<Captured, Failure> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped());
    command.stderr(if stderr == Stderr::Shown { Stdio::inherit() } else { Stdio::piped() });
    let mut child = command.spawn().map_err(|error| not_started(command, &error))?;
    let (stdin, errors) = (child.stdin.take(), child.stderr.take());
    let (stdout, stderr) = std::thread::scope(|scope| {
        scope.spawn(move || {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A program need not read all that it gets.
                let _ = stdin.write_all(input);
            }
        });
        let errors = scope.spawn(move || errors.map(read_start).unwrap_or_default());
        let stdout = read_output(&mut child);
        (stdout, errors.join().unwrap_or_default())
    });
    let status = child.wait()?;
    Ok(Captured { stdout: stdout?, stderr, status })
}

fn read_output(child: &mut Child) -> Result<Vec<u8>, Failure> {
    let Some(stdout) = child.stdout.take() else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    stdout.take(MAX_OUTPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_OUTPUT {
        // Without a reader it would wait for ever.
        let _ = child.kill();
        return Err(Failure::new(
            FailureKind::RunTime,
            format!("the program printed more than {} MiB", MAX_OUTPUT >> 20),
        ));
    }
    Ok(bytes)
}

/// The start of a stream, which is read to its end.
fn read_start(mut stream: impl Read) -> Vec<u8> {
    let mut start = Vec::new();
    let _ = stream.by_ref().take(MAX_STDERR).read_to_end(&mut start);
    let _ = io::copy(&mut stream, &mut io::sink());
    start
}
