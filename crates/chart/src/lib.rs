//! What a chart is and how it is read, checked, packaged and created.

mod chart;
pub mod metadata;

pub use chart::{Chart, File};
