//! Runs the programs of plugins, with the environment that Helm gives them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use pintle_plugin::{Platform, PlatformCommand, Plugin, Prepared, prepare};
use pintle_tree::quote::quote;
use pintle_tree::{LogLevel, LogLine};

use super::bin::helm_bin;
use super::exited;
use super::supervise::Supervised;
#[cfg(unix)]
pub(crate) use super::supervise::handle_signals_elsewhere;
use crate::commands::env::variables;
use crate::env::Environment;
use crate::failure::{Failure, reason};
use crate::flag::parsed::Parsed;
use crate::flag::value::read_duration;
use crate::personality::Personality;
use crate::ui::Ui;

/// The limit for the output of a getter or a post-renderer, in bytes.
pub(crate) const MAX_OUTPUT: u64 = 256 << 20;

/// How many bytes of a program's standard error are kept for the error message.
const MAX_STDERR: u64 = 64 << 10;

/// How long the caller waits for a getter, a post-renderer or a hook.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The variable that sets another limit.
const TIMEOUT: &str = "PINTLE_PLUGIN_TIMEOUT";

/// How long the caller waits for the rest of standard error after a program has ended.
const STDERR_GRACE: Duration = Duration::from_secs(1);

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

    /// The settings of Helm, with a `HELM_BIN` that is not resolved to an absolute path yet.
    pub(crate) fn without_bin(called_as: &str, flags: &Parsed, environment: &Environment) -> Variables {
        let all = variables(called_as, flags, environment);
        Variables(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The settings of Helm for a script, which calls no programs and so needs no `HELM_BIN`.
    pub(crate) fn for_script(called_as: &str, flags: &Parsed, environment: &Environment) -> Variables {
        let mut variables = Variables::without_bin(called_as, flags, environment);
        variables.0.remove("HELM_BIN");
        variables
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

    /// The variables.
    pub(crate) fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// All variables that the program will see, for the expansion of its command line.
    pub(crate) fn for_expansion(&self, environment: &Environment) -> BTreeMap<String, String> {
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
        // Programs may print `argv[0]`, and Go passes the word of the manifest unchanged.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, &prepared.program);
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
#[derive(Debug)]
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
    /// Into the standard output, in the order in which the program writes.
    Merged,
}

/// Runs a program, writes `input` to it, and collects what it prints.
///
/// # Errors
///
/// When it cannot be started, prints more than [`MAX_OUTPUT`], or does not end in `time`.
pub(crate) fn capture(
    command: &mut Command,
    input: Option<&[u8]>,
    stderr: Stderr,
    time: Duration,
) -> Result<Captured, Failure> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let merged = match stderr {
        Stderr::Shown => None,
        Stderr::Captured => {
            command.stderr(Stdio::piped());
            None
        }
        Stderr::Merged => {
            let (reader, writer) = io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            Some(reader)
        }
    };
    if merged.is_none() {
        command.stdout(Stdio::piped());
    }
    let spawned = Supervised::spawn(command).map_err(|error| not_started(command, &error));
    // The command keeps the write ends of the pipe open, and while they are open, readers see no end of file.
    command.stdout(Stdio::null()).stderr(Stdio::inherit());
    let mut supervised = spawned?;
    let collected = collect(supervised.child(), merged, input, time);
    if collected.is_err() {
        supervised.stop();
    }
    collected
}

/// Runs a program on the output streams of this process, without input and for at most `time`. `what` names it in the error.
///
/// # Errors
///
/// When it cannot be started, or does not end in time.
pub(crate) fn run_for(what: &str, command: &mut Command, time: Duration) -> Result<ExitStatus, Failure> {
    command.stdin(Stdio::null());
    let mut supervised = Supervised::spawn(command).map_err(|error| not_started(command, &error))?;
    let ended = wait(supervised.child(), Instant::now() + time);
    if !matches!(ended, Ok(Some(_))) {
        supervised.stop();
    }
    ended?.ok_or_else(|| late(what, time))
}

/// Waits for the end of a program; `None` if it does not end in time.
fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    const LONGEST: Duration = Duration::from_millis(5);
    // Most programs end right after their output.
    let mut pause = Duration::from_micros(50);
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() >= deadline => return Ok(None),
            None => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(LONGEST);
    }
}

fn late(what: &str, time: Duration) -> Failure {
    Failure::run_time(format!("{what} did not end within {time:?}, and was stopped"))
        .hint(format!("${TIMEOUT} sets another limit, such as 10m"))
}

/// Reads what a program prints, from `merged` if that is where its streams go.
fn collect(
    child: &mut Child,
    merged: Option<io::PipeReader>,
    input: Option<&[u8]>,
    time: Duration,
) -> Result<Captured, Failure> {
    let deadline = Instant::now() + time;
    // Streams are read on detached threads: a background process that the program started may hold them open.
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        let input = input.to_vec();
        // A program need not read all that it gets.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let errors = child.stderr.take().map(|stream| receive(move || read_start(stream)));
    let stdout = match merged {
        Some(stream) => Some(receive(move || read_output(stream))),
        None => child.stdout.take().map(|stream| receive(move || read_output(stream))),
    };
    let left = || deadline.saturating_duration_since(Instant::now());
    let stdout = match stdout {
        Some(stdout) => stdout.recv_timeout(left()).map_err(|_| late("the program", time))??,
        None => Vec::new(),
    };
    let status = wait(child, deadline)?.ok_or_else(|| late("the program", time))?;
    let stderr =
        errors.and_then(|errors| errors.recv_timeout(STDERR_GRACE.min(left())).ok()).unwrap_or_default();
    Ok(Captured { stdout, stderr, status })
}

/// Runs some work on a thread, and returns the receiver of its result.
fn receive<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || drop(sender.send(work())));
    receiver
}

fn read_output(stream: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    stream.take(MAX_OUTPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_OUTPUT {
        return Err(Failure::run_time(too_much_output()));
    }
    Ok(bytes)
}

/// The text about more output than [`MAX_OUTPUT`].
pub(crate) fn too_much_output() -> String {
    format!("the program printed more than {} MiB", MAX_OUTPUT >> 20)
}

/// How long the caller waits for getters, post-renderers and hooks.
///
/// # Errors
///
/// A setting that is no duration.
pub(crate) fn timeout(environment: &Environment) -> Result<Duration, Failure> {
    let Some(text) = environment.variable(TIMEOUT).filter(|text| !text.is_empty()) else {
        return Ok(DEFAULT_TIMEOUT);
    };
    match read_duration(&text) {
        Ok(nanoseconds) if nanoseconds > 0 => Ok(Duration::from_nanos(nanoseconds.unsigned_abs())),
        _ => Err(Failure::usage(format!(
            "${TIMEOUT} is {}, and not a duration such as 90s or 10m",
            quote(text.as_bytes())
        ))),
    }
}

/// The first [`MAX_STDERR`] bytes of a stream; the rest is read and discarded, so that the writer does not block.
fn read_start(mut stream: impl Read) -> Vec<u8> {
    let mut start = Vec::new();
    let _ = stream.by_ref().take(MAX_STDERR).read_to_end(&mut start);
    let _ = io::copy(&mut stream, &mut io::sink());
    start
}
