//! What was installed: records, states, version ids and the port to where they are kept.
//!
//! A [`ReleaseVersion`] is one version of a release: the chart it came from, the values that were given, the rendered
//! objects and hooks, and how it went. [`Summary`] is what lists show of it. [`Store`] is the port to where versions are
//! kept; [`MemoryStore`] is the simplest of the stores. [`helm`] is Helm's own format, byte by byte.
//!
//! This room knows no cluster, reads no clock and makes no random numbers: times and ids come from the caller.
//!
//! Enter at [`Store`] to keep releases, or at [`helm::decode`] to read one.
//!
//! ```
//! let text = br#"{"name":"web","info":{"status":"deployed"},"version":3}"#;
//! let version = pintle_release::helm::decode(text).expect("a good record");
//! assert_eq!((version.name.as_str(), version.number), ("web", 3));
//! ```

mod chart;
pub mod chunk;
pub mod helm;
mod lease;
mod memory;
pub mod native;
mod record;
mod selector;
mod status;
mod store;
mod summary;
mod timestamp;
mod version_id;

pub use chart::{StoredChart, StoredFile};
pub use lease::Lease;
pub use memory::MemoryStore;
pub use pintle_objects::HookEvent;
pub use record::{HookRun, Info, PreservedFields, ReleaseVersion, StoredHook};
pub use selector::Selector;
pub use status::{HookPhase, Status};
pub use store::{Query, Store, StoreError, StoreFuture, newest};
pub use summary::Summary;
pub use timestamp::Timestamp;
pub use version_id::{BadVersionRef, VersionId, VersionRef};
