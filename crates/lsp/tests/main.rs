//! The server as editors use it, and the analysis on the corpus.

mod completion;
mod corpus;
mod edits;
mod navigation;
mod protocol;
mod support;
