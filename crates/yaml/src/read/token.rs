//! The tokens of YAML.

/// A range of the text, or of the scanner's pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    /// The text of the span.
    pub(crate) fn of(self, pool: &[u8]) -> &[u8] {
        &pool[self.start..self.end]
    }

    /// Whether there is no text.
    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A token with its first and last line, counted from zero, and its byte range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) word: Word,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) bytes: Span,
    /// The indentation of the lines of a block scalar.
    pub(crate) indent: usize,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective { handle: Span, prefix: Span },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(Span),
    Anchor(Span),
    Tag { handle: Span, suffix: Span },
    Scalar { text: Span, plain: bool },
}
