//! What can be wrong with what relocating is told to do, and the words for it.

use crate::reference::ReferenceError;

/// A result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why images cannot be relocated as told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A source is no registry.
    #[error("Invalid source registry '{text}': {problem}")]
    Source {
        /// What was given.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A target is no registry with a path.
    #[error("invalid target registry '{text}': {problem}")]
    Target {
        /// What was given.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The chart cannot be rendered as it is.
    #[error("{0}")]
    Render(String),
    /// Rendered text cannot be changed.
    #[error("line {line}: {problem}")]
    Rewrite {
        /// The line on which the document begins.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// There is no strategy of that name.
    #[error("unknown path strategy `{name}`; known are: {known}")]
    Strategy {
        /// What was given.
        name: String,
        /// The known names.
        known: String,
    },
    /// The mapping file has problems; all of them.
    #[error("{file} is no registry mapping file:\n{}", list(problems))]
    Mapping {
        /// The file.
        file: String,
        /// What is wrong, in order of lines.
        problems: Vec<MappingProblem>,
    },
    /// The mapping file has the form that is no longer read.
    #[error("{file} maps registries in the old flat form, which is not read")]
    FlatMapping {
        /// The file.
        file: String,
        /// The same mappings in the form that is read.
        structured: String,
    },
    /// Strict mode wants a mapping for every source.
    #[error("registry '{registry}' has no enabled mapping in {file}, and strictMode is on")]
    Unmapped {
        /// The registry.
        registry: String,
        /// The mapping file.
        file: String,
    },
    /// No target is known for a registry.
    #[error("no target registry is known for images of '{registry}'")]
    NoTarget {
        /// The registry.
        registry: String,
    },
    /// A text is no reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// An image would get a name that no registry accepts.
    #[error("'{image}' would become '{relocated}', which is no image reference: {problem}")]
    InvalidDestination {
        /// The image.
        image: String,
        /// What it would become.
        relocated: String,
        /// What is wrong with that.
        problem: String,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::FlatMapping { structured, .. } => {
                Some(format!("write it in the structured form:\n\n{structured}"))
            }
            Error::Unmapped { registry, .. } => Some(format!(
                "add a mapping with `source: {registry}`, enable it, or set `strictMode: false`"
            )),
            Error::NoTarget { registry } => Some(format!(
                "give --target-registry, or a mapping for `{registry}` or a `defaultTarget` in --registry-file"
            )),
            _ => None,
        }
    }
}

/// One problem of a mapping file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingProblem {
    /// The line, counted from one, where it is known.
    pub line: Option<usize>,
    /// The entry, as in `registries.mappings[2].target`; empty for the file as a whole.
    pub entry: String,
    /// What is wrong.
    pub problem: String,
}

impl std::fmt::Display for MappingProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.entry.is_empty() {
            write!(f, "{}: ", self.entry)?;
        }
        f.write_str(&self.problem)
    }
}

fn list(problems: &[MappingProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
    lines.join("\n")
}
