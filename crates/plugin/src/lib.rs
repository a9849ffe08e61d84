//! Plugins on disk, as Helm defines them.
//!
//! A plugin is a folder with a `plugin.yaml`: [`Metadata::parse`] reads both generations of that file, with Helm's
//! checks and texts. [`load_all`] finds the plugins of a folder, [`PlatformCommand`] and [`prepare`] choose what to run
//! and expand its variables, and [`Source`] and [`Installer`] bring plugins from folders, archives, registries and git
//! repositories to where they are loaded from. [`pack`] makes archives, and [`signing_status`] says whether one is signed.
//!
//! This crate runs no program, opens no connection and reads no environment: the caller gives it paths, variables and
//! bytes, and executes what is returned. Git is asked through [`Git`].
//!
//! ```
//! use pintle_plugin::{Metadata, PluginType};
//!
//! let text = b"name: hello\nversion: 0.1.0\nusage: say hello\ncommand: $HELM_PLUGIN_DIR/hello.sh\n";
//! let plugin = Metadata::parse(text)?;
//! assert_eq!((plugin.name.as_str(), plugin.plugin_type), ("hello", PluginType::Cli));
//! # Ok::<(), pintle_plugin::Error>(())
//! ```

mod archive;
mod command;
mod completion;
mod copy;
mod decode;
mod error;
mod git;
mod install;
mod load;
mod manifest;
mod package;
mod scripts;
mod signing;
mod source;

pub use archive::{MAX_UNPACKED, metadata_of_archive, unpack};
pub use command::{Platform, PlatformCommand, Prepared, expand, prepare};
pub use completion::{CompletionCommand, read_completion};
pub use copy::{copy_dir, symlink};
pub use error::{Error, Result};
pub use git::{Git, GitFailure, Repository, StagedUpdate, cache_key};
pub use install::{Installer, Locations, check_manifest};
pub use load::{Plugin, WASM, check_duplicates, load_all, load_dir};
pub use manifest::{
    ApiVersion, Cli, ExtismConfig, LuaConfig, Metadata, PluginType, ProtocolCommand, Runtime, Subprocess,
};
pub use package::{archive_name, pack, signed_metadata};
pub use scripts::read_scripts;
pub use signing::signing_status;
pub use source::{Source, plugin_name_of_archive, plugin_name_of_oci};
