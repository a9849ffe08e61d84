//! The colors of release output, as Helm has them.

use pintle::release::Status;

/// Colors words if enabled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    /// Whether colors are enabled.
    pub(crate) on: bool,
}

/// The color of a status, by severity; `None` for those that need no attention.
pub(crate) fn color(status: Status) -> Option<u8> {
    match status {
        Status::Deployed => Some(32),
        Status::Failed | Status::Unknown => Some(31),
        Status::PendingInstall | Status::PendingUpgrade | Status::PendingRollback | Status::Uninstalling => {
            Some(33)
        }
        Status::Uninstalled | Status::Superseded => None,
    }
}

impl Paint {
    /// A heading of a table.
    pub(crate) fn heading(self, text: &str) -> String {
        if self.on { format!("\u{1b}[1m{text}\u{1b}[22m") } else { text.to_owned() }
    }

    /// A namespace.
    pub(crate) fn namespace(self, text: &str) -> String {
        self.colored(36, text)
    }

    /// The status of a release, colored by severity. Unknown ones are not colored.
    pub(crate) fn status(self, status: Status, word: &str) -> String {
        if word != status.as_str() {
            return word.to_owned();
        }
        match color(status) {
            Some(color) => self.colored(color, word),
            None => word.to_owned(),
        }
    }

    fn colored(self, code: u8, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
