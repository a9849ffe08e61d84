//! Runs WebAssembly modules of plugins in an interpreter.
//!
//! A module gets one message and returns one, by the functions of Extism (`extism:host/env`), and has standard streams, an
//! environment and a clock by WASI preview 1. It reaches nothing else: HTTP only to hosts that [`Settings`] lists and
//! through [`Host::fetch`], files only in memory. Time and memory are limited; an endless loop is stopped.
//!
//! ```
//! use pintle_wasm::{Host, Settings, Stream, call};
//!
//! struct Quiet;
//! impl Host for Quiet {
//!     fn write(&mut self, _: Stream, _: &[u8]) -> std::io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! let module = br#"\0asm"#;
//! assert!(call(module, &Settings::default(), Box::new(Quiet), b"{}").is_err());
//! ```

mod error;
mod extism;
mod files;
mod guest;
mod http;
mod memory;
mod run;
mod wasi;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

pub use error::{Error, Result};
pub use http::{HttpRequest, HttpResponse};
pub use run::call;

/// What a module may use. Zero stands for the default of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The most pages of 64 KiB of the module's memory; 16,384 by default.
    pub max_pages: u32,
    /// The largest response to an HTTP request, in bytes; 50 MiB by default.
    pub max_http_bytes: u64,
    /// The most bytes of all variables that the module keeps; 1 MiB by default.
    pub max_variable_bytes: u64,
    /// Configuration values that the module can read by name.
    pub config: BTreeMap<String, String>,
    /// The hosts that the module may send HTTP requests to; `*` and `?` match as in file names.
    pub allowed_hosts: Vec<String>,
    /// Whether the module has a folder `/tmp`. It is in memory.
    pub temporary_files: bool,
    /// How long the module may run.
    pub timeout: Duration,
    /// The exported function that is called.
    pub entry: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_pages: 0,
            max_http_bytes: 0,
            max_variable_bytes: 0,
            config: BTreeMap::new(),
            allowed_hosts: Vec::new(),
            temporary_files: false,
            timeout: Duration::from_secs(600),
            entry: "helm_plugin_main".to_owned(),
        }
    }
}

/// Where output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// How important a log message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the author of the module.
    Trace,
    /// For debugging.
    Debug,
    /// For users.
    Info,
    /// Something that is probably wrong.
    Warn,
    /// Something that is wrong.
    Error,
}

/// What a module gets from outside.
pub trait Host: Send {
    /// The environment variables.
    fn variables(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Reads standard input; nothing at its end.
    ///
    /// # Errors
    /// Those of the stream.
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }

    /// Writes to a standard stream.
    ///
    /// # Errors
    /// Those of the stream.
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Sends an HTTP request to a host that is allowed. Whether redirects are followed is decided here.
    ///
    /// # Errors
    /// Why there is no response.
    fn fetch(&mut self, _: &HttpRequest) -> std::result::Result<HttpResponse, String> {
        Err("there is no network here".to_owned())
    }

    /// The minimum level of messages for [`Host::log`]; `None` for no messages.
    fn log_level(&self) -> Option<Level> {
        None
    }

    /// Takes a log message.
    fn log(&mut self, _: Level, _: &str) {}

    /// The time since the start of 1970.
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    /// Fills a buffer with random bytes.
    fn random(&mut self, _: &mut [u8]) {}
}

/// What a module returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// What the function returned, or what the module exited with.
    pub code: u32,
    /// The message.
    pub output: Vec<u8>,
}
