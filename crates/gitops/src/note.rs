//! What was not understood, or is not done.

use std::fmt;

use crate::Place;

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// Something is as it should be, and a reader may want to know it.
    Info,
    /// Something is left out, so the result may differ from what is deployed.
    LeftOut,
    /// An app or a part of it cannot be rendered.
    Failed,
}

/// Something about the repository that a reader of a result has to know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// How much it matters.
    pub kind: NoteKind,
    /// Where.
    pub place: Option<Place>,
    /// The app that it is about; empty if it is about none.
    pub app: String,
    /// What.
    pub text: String,
}

impl Note {
    /// A note about a place.
    pub fn new(kind: NoteKind, place: Option<Place>, text: impl Into<String>) -> Self {
        Note { kind, place, app: String::new(), text: text.into() }
    }

    /// The same about an app.
    #[must_use]
    pub fn of(self, app: impl Into<String>) -> Self {
        Note { app: app.into(), ..self }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.app.is_empty() {
            write!(formatter, "{}: ", self.app)?;
        }
        formatter.write_str(&self.text)?;
        match &self.place {
            Some(place) => write!(formatter, " ({place})"),
            None => Ok(()),
        }
    }
}
