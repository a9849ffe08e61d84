//! When a chart may act: the table of lifecycle events and the emitter.
