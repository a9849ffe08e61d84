//! Output formats that several commands share.

pub(crate) mod color;
pub(crate) mod format;
pub(crate) mod grid;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod metadata;
pub(crate) mod release;
pub(crate) mod resources;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod time;
