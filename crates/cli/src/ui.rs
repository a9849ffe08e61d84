//! The output of the program: data to buffered standard output, everything else to standard error.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, IsTerminal as _, StderrLock, Stdout, Write};

use pintle_time::{GoTime, Zone};
use pintle_tree::quote::quote;
use pintle_tree::{LogLevel, LogLine};

use crate::env::Environment;
use crate::failure::{Failure, FailureKind};
use crate::output::color::Paint;
use crate::output::terminal::SanitizedWriter;
use crate::personality::Personality;

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    /// `auto`: on terminals only.
    Auto,
    /// `always`: also in files and pipes.
    Always,
    /// `never`.
    Never,
}

/// The output streams, with the personality that decides on the wording.
pub(crate) struct Ui {
    personality: Personality,
    out: BufWriter<SanitizedWriter<Stdout>>,
    colored: bool,
    paint: Paint,
    /// Whether lines of level DEBUG are printed.
    debug: bool,
    /// The URNs of schemas that were warned about. Like Helm, once each, however many charts refer to them.
    warned_urns: BTreeSet<String>,
}

const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[1;33m";
const CYAN: &str = "\u{1b}[36m";
const PLAIN: &str = "\u{1b}[0m";

impl Ui {
    pub(crate) fn new(personality: Personality) -> Ui {
        let out = BufWriter::with_capacity(64 * 1024, SanitizedWriter::new(io::stdout()));
        Ui {
            personality,
            out,
            colored: false,
            paint: Paint { on: false },
            debug: false,
            warned_urns: BTreeSet::new(),
        }
    }

    /// Whether lines of level DEBUG are printed.
    pub(crate) fn set_debug(&mut self, debug: bool) {
        self.debug = debug;
    }

    /// Sets the color mode. Helm colors release output but not its messages.
    pub(crate) fn set_color(&mut self, color: Color, environment: &Environment) {
        let poor = environment.variable("NO_COLOR").is_some_and(|text| !text.is_empty())
            || environment.variable("TERM").is_some_and(|text| text == "dumb");
        self.paint.on = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !poor && io::stdout().is_terminal(),
        };
        self.colored = self.personality == Personality::Pintle
            && match color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => io::stderr().is_terminal(),
            };
    }

    /// The buffered standard output.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// The colors of release output.
    pub(crate) fn paint(&self) -> Paint {
        self.paint
    }

    pub(crate) fn personality(&self) -> Personality {
        self.personality
    }

    /// Writes to standard output.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Flushes standard output.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// Writes a line to standard error, after flushing standard output so that the order is kept.
    pub(crate) fn note(&mut self, line: &str) {
        // Errors of standard error are ignored, here and below: there is no other stream to report them on.
        let _ = self.out.flush();
        let _ = eprint_line(line);
    }

    /// Prints a warning.
    pub(crate) fn warn(&mut self, message: &str) {
        self.log(&LogLine::warn(message.to_owned(), Vec::new()));
    }

    /// Prints the warning for a deprecated flag.
    pub(crate) fn deprecated(&mut self, flag: &str, advice: &str) {
        match self.personality {
            Personality::Helm => self.note(&format!("Flag --{flag} has been deprecated, {advice}")),
            Personality::Pintle => self.warn(&format!("--{flag} is deprecated: {advice}")),
        }
    }

    /// Prints a decision with `--debug`.
    pub(crate) fn debug(&mut self, message: &'static str, attributes: &[(&'static str, &str)]) {
        if self.debug {
            let attributes = attributes.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            self.log(&LogLine { level: LogLevel::Debug, message: message.into(), attributes });
        }
    }

    /// Prints a log line of an operation, in Helm's log format or as a warning of ours.
    pub(crate) fn log(&mut self, line: &LogLine) {
        if line.level == LogLevel::Debug && !self.debug {
            return;
        }
        let urn = line.attributes.iter().find(|(name, _)| *name == "urn");
        if urn.is_some_and(|(_, urn)| !self.warned_urns.insert(urn.clone())) {
            return;
        }
        match self.personality {
            Personality::Helm => self.note(&line.to_string()),
            // Errors are also returned, and printed then.
            Personality::Pintle if line.level == LogLevel::Error => {}
            Personality::Pintle => {
                let mut text = line.message.trim_start_matches("warning: ").to_owned();
                for (name, value) in &line.attributes {
                    text.push_str(&format!("; {name}: {value}"));
                }
                let label = match line.level {
                    LogLevel::Debug => self.label(CYAN, "debug:"),
                    _ => self.label(YELLOW, "warning:"),
                };
                self.note(&format!("{label} {text}"));
            }
        }
    }

    /// Prints a failure.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        if matches!(failure.class, FailureKind::BrokenPipe | FailureKind::AlreadyReported) {
            return;
        }
        if matches!(failure.class, FailureKind::Changes | FailureKind::Findings) && failure.text.is_empty() {
            // The output says it all.
            let _ = self.out.flush();
            return;
        }
        let text = match self.personality {
            Personality::Helm => format_as_helm(failure),
            Personality::Pintle => self.format_as_pintle(failure),
        };
        self.note(&text);
    }

    fn format_as_pintle(&self, failure: &Failure) -> String {
        let text = failure.own.as_ref().unwrap_or(&failure.text);
        let mut lines = format!("{} {}", self.label(RED, "error:"), text.trim_end());
        if let Some(excerpt) = &failure.excerpt {
            lines.push('\n');
            lines.push_str(excerpt.trim_end());
        }
        for cause in &failure.causes {
            lines.push_str(&format!("\n{} {}", self.label(RED, "caused by:"), cause.trim_end()));
        }
        if let Some(hint) = &failure.hint {
            lines.push_str(&format!("\n\n{} {hint}", self.label(CYAN, "hint:")));
        }
        lines
    }

    fn label(&self, color: &str, word: &str) -> String {
        if self.colored { format!("{color}{word}{PLAIN}") } else { word.to_owned() }
    }
}

fn format_as_helm(failure: &Failure) -> String {
    match &failure.pointer {
        Some(pointer) => format!("Error: {}\n{pointer}", failure.text),
        None => format!("Error: {}", failure.text),
    }
}

/// Standard error, with control characters escaped. All text that does not come from this program must go through here.
pub(crate) fn stderr() -> SanitizedWriter<StderrLock<'static>> {
    SanitizedWriter::new(io::stderr().lock())
}

/// Writes a line to standard error.
pub(crate) fn eprint_line(line: &str) -> io::Result<()> {
    let mut stream = stderr();
    // In one write, so that concurrent writers do not interleave.
    stream.write_all(format!("{line}\n").as_bytes())
}

/// Prints a warning header of the API server. Helm's client logs it in klog format.
pub(crate) fn print_server_warning(personality: Personality, text: &str) {
    let line = match personality {
        Personality::Helm => {
            let now = GoTime::now(Zone::local()).format("0102 15:04:05.000000");
            let quoted = quote(format!("Warning: {text}").as_bytes());
            format!("I{now} {:7} warnings.go:107] {quoted}", std::process::id())
        }
        Personality::Pintle => format!("warning: server: {text}"),
    };
    let _ = eprint_line(&line);
}

/// Makes a panic print a short message instead of a stack trace.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        // redb panics on damaged files and kube on malformed tokens. Both are caught on these threads and returned as
        // errors.
        let contained = [pintle::embedded::FILE_THREAD, pintle::cluster::CLIENT_THREAD];
        if std::thread::current().name().is_some_and(|name| contained.contains(&name)) {
            return;
        }
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = panic.payload_as_str().unwrap_or("no message");
        let _ = writeln!(
            stderr(),
            "internal error: {text} ({location})\nThis is a bug. Please report it with the command that you ran."
        );
    }));
}
