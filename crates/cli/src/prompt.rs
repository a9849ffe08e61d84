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
    ui.print(question)?;
    ui.flush()?;
    let line = without_echo(read)?;
    ui.print("\n")?;
    Ok(line)
}

fn read() -> Result<String, Failure> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(
            Failure::run_time("EOF").with_pintle_text("standard input ended before there was an answer")
        );
    }
    Ok(line.trim_end_matches('\n').trim_end_matches('\r').to_owned())
}

#[cfg(unix)]
fn without_echo<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    /// Restores the terminal settings when dropped.
    struct Restore(rustix::termios::Termios);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.0);
        }
    }

    let refused = |error: rustix::io::Errno| {
        let error = io::Error::from(error);
        Failure::run_time(reason(&error))
            .with_pintle_text("standard input is not a terminal, so the input cannot be hidden")
    };
    let before = tcgetattr(rustix::stdio::stdin()).map_err(refused)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    let _restore = Restore(before);
    tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &hidden).map_err(refused)?;
    work()
}

#[cfg(not(unix))]
fn without_echo<T>(_: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    Err(Failure::run_time("the input cannot be hidden on this system")
        .hint("pass it in a file or on standard input"))
}
