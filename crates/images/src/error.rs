//! Errors of relocation: invalid policies, mapping files and references.

use crate::reference::ReferenceError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why images cannot be relocated as requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A source registry is invalid.
    #[error("Invalid source registry '{text}': {problem}")]
    Source {
        /// The given text.
        text: String,
        /// Why it is invalid.
        problem: String,
    },
    /// A target registry or its path is invalid.
    #[error("invalid target registry '{text}': {problem}")]
    Target {
        /// The given text.
        text: String,
        /// Why it is invalid.
        problem: String,
    },
    /// The chart does not render, so there is nothing to relocate.
    #[error("{0}")]
    Render(String),
    /// Rendered text cannot be rewritten.
    #[error("line {line}: {problem}")]
    Rewrite {
        /// The line on which the document starts, counted from one.
        line: usize,
        /// Why it cannot be rewritten.
        problem: String,
    },
    /// The path strategy is unknown.
    #[error("unknown path strategy `{name}`; known are: {known}")]
    Strategy {
        /// The given name.
        name: String,
        /// The known names, comma-separated.
        known: String,
    },
    /// The mapping file is invalid; holds every problem, not just the first.
    #[error("{file} is not a valid registry mapping file:\n{}", list(problems))]
    Mapping {
        /// The file name.
        file: String,
        /// The problems, in order of lines.
        problems: Vec<MappingProblem>,
    },
    /// The mapping file has the flat form (`docker.io: target`), which is not supported.
    #[error("{file} maps registries in the old flat form, which is not read")]
    FlatMapping {
        /// The file name.
        file: String,
        /// The same mappings in the supported form, for the hint.
        structured: String,
    },
    /// Strict mode requires a mapping for every source.
    #[error("registry '{registry}' has no enabled mapping in {file}, and strictMode is on")]
    Unmapped {
        /// The registry.
        registry: String,
        /// The mapping file name.
        file: String,
    },
    /// No target is known for a registry.
    #[error("no target registry is known for images of '{registry}'")]
    NoTarget {
        /// The registry.
        registry: String,
    },
    /// A text is not an image reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The relocated name would be rejected by registries.
    #[error("'{image}' would become '{relocated}', which is not a valid image reference: {problem}")]
    InvalidDestination {
        /// The image.
        image: String,
        /// The name it would get.
        relocated: String,
        /// Why that is invalid.
        problem: String,
    },
}

impl Error {
    /// Returns advice for the user, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::FlatMapping { structured, .. } => {
                Some(format!("write it in the structured form:\n\n{structured}"))
            }
            Error::Unmapped { registry, .. } => Some(format!(
                "add a mapping with `source: {registry}`, enable it, or set `strictMode: false`"
            )),
            Error::NoTarget { registry } => {
                Some(format!("give a target, or a mapping for `{registry}` or a `defaultTarget`"))
            }
            _ => None,
        }
    }
}

/// One problem of a mapping file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingProblem {
    /// The line, counted from one, if known.
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
