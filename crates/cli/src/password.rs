//! Reads passwords from the terminal.

use std::io;

/// Reads a line from the terminal without echo.
///
/// # Errors
/// Go's error if standard input is not a terminal.
#[cfg(unix)]
pub(crate) fn read() -> Result<String, String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let stdin = io::stdin();
    let before = tcgetattr(&stdin).map_err(|error| words(error.into()))?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    hidden.local_modes.insert(LocalModes::ICANON | LocalModes::ISIG);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden).map_err(|error| words(error.into()))?;
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    let restored = tcsetattr(&stdin, OptionalActions::Flush, &before);
    let count = read.map_err(words)?;
    restored.map_err(|error| words(error.into()))?;
    if count == 0 {
        return Err("EOF".to_owned());
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// # Errors
/// Always: not supported on this platform.
#[cfg(not(unix))]
pub(crate) fn read() -> Result<String, String> {
    Err("give the password with --password-stdin".to_owned())
}

fn words(error: io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
