//! The state of the server, and the loop that serves a connection.

mod answers;
mod main_loop;
mod state;

pub use main_loop::{run, run_stdio};
pub use state::Server;
