//! Why charts could not be compared.

/// Why charts could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The values of a chart cannot be computed.
    #[error(transparent)]
    Values(#[from] pintle_values::Error),
    /// A template does not parse.
    #[error(transparent)]
    Templates(#[from] Box<pintle_render::Error>),
    /// The old chart does not render with the user's values.
    #[error("the chart that is upgraded from does not render with these values: {0}")]
    OldRender(String),
    /// A values file cannot be edited.
    #[error("{0}")]
    Edit(String),
}
