//! Schemas: the OpenAPI definitions of built-in kinds, from tables of real API servers, and those of custom
//! resources.

mod catalog;
mod resolved;
mod resource;
mod shape;

pub use catalog::{ApiCatalog, CatalogError, Definitions, Group};
pub use resolved::{Kind, Schema};
pub use resource::{Resource, Subresource};
pub use shape::{Additional, Limits, ListType, PatchStrategy, Rule, Shape, ShapeError, Type};
