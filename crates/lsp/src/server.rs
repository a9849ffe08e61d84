//! The state of the server, and the loop that serves a connection.

mod actions;
mod answers;
mod calls;
mod documents;
mod json;
mod main_loop;
mod previews;
mod settings;
mod state;
mod worker;

pub use main_loop::{run, run_stdio};
pub use settings::Settings;
pub use state::Server;
