//! What objects of each kind look like: tables taken from real API servers, and the schemas of custom resources.

mod place;
mod resource;
mod shape;
mod table;

pub use place::{Kind, Schema};
pub use resource::{Resource, Subresource};
pub use shape::{Additional, Limits, ListType, PatchStrategy, Rule, Shape, ShapeError, Type};
pub use table::{Definitions, Group, Table, TableError};
