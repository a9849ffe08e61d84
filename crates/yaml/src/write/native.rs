//! Writes nodes that have not been through JSON, with the layout of go-yaml 2.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::Str;

use super::emitter::{Emitter, Flavor};
use super::style::analyze;

/// The tag of text that is not UTF-8.
const BINARY: &str = "!!binary";

/// Writes a document event by event.
pub(crate) struct NativeWriter<'o> {
    emitter: Emitter<'o>,
}

impl<'o> NativeWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> Self {
        NativeWriter { emitter: Emitter::new(out, Flavor::Compact) }
    }

    /// Writes a number, a boolean or nil.
    pub(crate) fn word(&mut self, word: &str) {
        self.emitter.word(word);
    }

    /// Writes a string.
    pub(crate) fn text(&mut self, text: &Str) {
        match text.as_str() {
            Some(text) => self.emitter.string(text.as_bytes(), analyze(text.as_bytes(), false)),
            None => self.emitter.tagged(BINARY, STANDARD.encode(text.as_bytes()).as_bytes()),
        }
    }

    /// Writes a key that is no string.
    pub(crate) fn key_word(&mut self, word: &str) {
        self.emitter.key_word(word);
    }

    /// Writes a key.
    pub(crate) fn key_text(&mut self, text: &Str) {
        match text.as_str() {
            Some(text) => self.emitter.key(text.as_bytes(), analyze(text.as_bytes(), false)),
            None => self.emitter.tagged_key(BINARY, STANDARD.encode(text.as_bytes()).as_bytes()),
        }
    }

    pub(crate) fn begin_list(&mut self, length: usize) {
        self.emitter.begin_list(length);
    }

    pub(crate) fn begin_map(&mut self, length: usize) {
        self.emitter.begin_map(length);
    }

    /// Ends the innermost list or map.
    pub(crate) fn end(&mut self) {
        self.emitter.end();
    }

    /// Ends the last line.
    pub(crate) fn finish(&mut self) {
        self.emitter.finish();
    }
}
