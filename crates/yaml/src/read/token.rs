//! The words of YAML's grammar.

/// A piece of the text, or of what the scanner keeps in its pool.
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

/// A token, the lines it begins and ends on, counted from zero, and the bytes it stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) word: Word,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) bytes: Span,
    /// The indentation of the lines of a block scalar.
    pub(crate) indent: usize,
}

/// What a token is.
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
