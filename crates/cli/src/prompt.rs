//! Prompts: one line from standard input, with or without echo.

use std::io::{self, BufRead as _};

use crate::failure::{Failure, reason};
use crate::ui::Ui;

/// Prompts for a line on standard output, as Helm does.
pub(crate) fn line(ui: &mut Ui, question: &str) -> Result<String, Failure> {
    ui.print(question)?;
    ui.flush()?;
    read()
}

/// Prompts for a line without echo.
///
/// # Errors
///
/// When standard input is not a terminal, because the echo cannot be disabled.
pub(crate) fn hidden(ui: &mut Ui, question: &str) -> Result<String, Failure> {
    // Before the question is printed, so that an immediate answer is not echoed.
    let echo = EchoOff::start();
    ui.print(question)?;
    ui.flush()?;
    let echo = echo.map_err(|error| {
        Failure::run_time(reason(&error))
            .with_pintle_text("standard input is not a terminal, so the input cannot be hidden")
    })?;
    let line = read()?;
    drop(echo);
    ui.print("\n")?;
    Ok(line)
}

/// Reads the answer to a question.
pub(crate) fn read() -> Result<String, Failure> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(
            Failure::run_time("EOF").with_pintle_text("standard input ended before there was an answer")
        );
    }
    Ok(line.trim_end_matches('\n').trim_end_matches('\r').to_owned())
}

/// A terminal without echo, until it is dropped.
#[cfg(unix)]
pub(crate) struct EchoOff(rustix::termios::Termios);

#[cfg(unix)]
impl EchoOff {
    /// Disables the echo of standard input.
    ///
    /// # Errors
    /// When it is not a terminal.
    pub(crate) fn start() -> io::Result<EchoOff> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = rustix::stdio::stdin();
        let before = tcgetattr(stdin)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ICANON | LocalModes::ISIG);
        // At once, as Go does: `Flush` would discard what has been typed already.
        tcsetattr(stdin, OptionalActions::Now, &hidden)?;
        Ok(EchoOff(before))
    }
}

#[cfg(unix)]
impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = rustix::termios::tcsetattr(
            rustix::stdio::stdin(),
            rustix::termios::OptionalActions::Now,
            &self.0,
        );
    }
}

/// Never constructed: disabling the echo is supported on Unix only.
#[cfg(not(unix))]
pub(crate) enum EchoOff {}

#[cfg(not(unix))]
impl EchoOff {
    pub(crate) fn start() -> io::Result<EchoOff> {
        Err(io::Error::other("the input cannot be hidden on this system"))
    }
}
