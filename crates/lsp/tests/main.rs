//! The server as editors use it, and the analysis on the corpus.

#![allow(unreachable_pub, reason = "the modules of one program")]

mod cases;
mod completion;
mod corpus;
mod edits;
mod features;
mod navigation;
mod protocol;
mod support;
