//! Everything that is printed: data to standard output through one buffer, everything else to standard error.

use std::io::{self, BufWriter, IsTerminal as _, StderrLock, Stdout, Write};

use pintle_time::{GoTime, Zone};
use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use crate::env::Environment;
use crate::failure::{Failure, FailureKind};
use crate::output::color::Paint;
use crate::output::terminal::Shown;
use crate::personality::Personality;

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    /// Only on terminals.
    Auto,
    /// Also into files and pipes.
    Always,
    /// Not at all.
    Never,
}

/// The output streams, with the name that decides whose texts are printed.
pub(crate) struct Ui {
    personality: Personality,
    out: BufWriter<Shown<Stdout>>,
    colored: bool,
    paint: Paint,
}

const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[1;33m";
const CYAN: &str = "\u{1b}[36m";
const PLAIN: &str = "\u{1b}[0m";

impl Ui {
    /// A user interface for one personality.
    pub(crate) fn new(personality: Personality) -> Ui {
        let out = BufWriter::with_capacity(64 * 1024, Shown::new(io::stdout()));
        Ui { personality, out, colored: false, paint: Paint { on: false } }
    }

    /// Decides on colours; Helm's messages have none, but what it prints about releases has.
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

    /// The colours of what is printed about releases.
    pub(crate) fn paint(&self) -> Paint {
        self.paint
    }

    /// Whose texts are printed.
    pub(crate) fn personality(&self) -> Personality {
        self.personality
    }

    /// Writes to standard output.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Sends what is buffered.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// Writes a line to standard error as it stands, after what was printed before it.
    pub(crate) fn note(&mut self, line: &str) {
        // A failing standard error leaves nobody to tell about it, here and below.
        let _ = self.out.flush();
        let _ = say(line);
    }

    /// Says a warning.
    pub(crate) fn warn(&mut self, message: &str) {
        self.log(&LogLine::warn(message.to_owned(), Vec::new()));
    }

    /// Says that a flag is one to move away from.
    pub(crate) fn deprecated(&mut self, flag: &str, advice: &str) {
        match self.personality {
            Personality::Helm => self.note(&format!("Flag --{flag} has been deprecated, {advice}")),
            Personality::Pintle => self.warn(&format!("--{flag} is deprecated: {advice}")),
        }
    }

    /// Says what an operation has to say: as a line of Helm's log, or in our words.
    pub(crate) fn log(&mut self, line: &LogLine) {
        match self.personality {
            Personality::Helm => self.note(&line.to_string()),
            // What stops an operation is said once, as its error.
            Personality::Pintle if line.level == "ERROR" => {}
            Personality::Pintle => {
                let mut text = line.message.trim_start_matches("warning: ").to_owned();
                for (name, value) in &line.attributes {
                    text.push_str(&format!("; {name}: {value}"));
                }
                let label = self.label(YELLOW, "warning:");
                self.note(&format!("{label} {text}"));
            }
        }
    }

    /// Says what went wrong.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        if matches!(failure.class, FailureKind::BrokenPipe | FailureKind::AlreadyReported) {
            return;
        }
        let text = match self.personality {
            Personality::Helm => helms_voice(failure),
            Personality::Pintle => self.own_voice(failure),
        };
        self.note(&text);
    }

    fn own_voice(&self, failure: &Failure) -> String {
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

fn helms_voice(failure: &Failure) -> String {
    match (&failure.pointer, &failure.hint) {
        (Some(pointer), _) => format!("Error: {}\n{pointer}", failure.text),
        (None, Some(hint)) if failure.class == FailureKind::NotBuilt => {
            format!("Error: {}; {hint}", failure.text)
        }
        (None, _) => format!("Error: {}", failure.text),
    }
}

/// Standard error. Whatever of it a terminal would obey is shown instead; everything that is not of this program must
/// go through here.
pub(crate) fn stderr() -> Shown<StderrLock<'static>> {
    Shown::new(io::stderr().lock())
}

/// Writes a line to standard error.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut stream = stderr();
    // In one piece, so that nothing comes between.
    stream.write_all(format!("{line}\n").as_bytes())
}

/// Passes on what the server warned about. Helm's client logs that in a form of its own.
pub(crate) fn tell_server_warning(personality: Personality, text: &str) {
    let line = match personality {
        Personality::Helm => {
            let now = GoTime::now(Zone::local()).format("0102 15:04:05.000000");
            let quoted = quote(format!("Warning: {text}").as_bytes());
            format!("I{now} {:7} warnings.go:107] {quoted}", std::process::id())
        }
        Personality::Pintle => format!("warning: the server says: {text}"),
    };
    let _ = say(&line);
}

/// Makes a bug of ours end in a short text instead of a stack trace.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        // Damaged files make redb panic, and bad tokens kube, which is caught there and told as an error.
        let contained = [pintle::embedded::FILE_THREAD, pintle::cluster::CLIENT_THREAD];
        if std::thread::current().name().is_some_and(|name| contained.contains(&name)) {
            return;
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = panic.payload_as_str().unwrap_or("no message");
        let _ = writeln!(
            stderr(),
            "internal error: {text} ({place})\nThis is a bug. Please report it with the command that you ran."
        );
    }));
}
