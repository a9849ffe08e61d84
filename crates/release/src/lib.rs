//! Release records, statuses, version ids, and the trait of release stores.
//!
//! A [`ReleaseVersion`] is one version of a release: its chart, the user-supplied values, the rendered objects and
//! hooks, and its status. [`Summary`] is what `list` shows of it. [`Store`] is the trait of storage drivers;
//! [`MemoryStore`] is the simplest one. [`helm`] is Helm's storage format, byte for byte.
//!
//! This crate knows no cluster, reads no clock and generates no random numbers: times and ids come from the caller.
//!
//! Start at [`Store`] to store releases, or at [`helm::decode`] to read one.
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
mod source;
mod status;
mod store;
mod summary;
mod version_id;

pub use chart::{StoredChart, StoredFile};
pub use lease::Lease;
pub use memory::MemoryStore;
pub use pintle_objects::HookEvent;
pub use pintle_time::Timestamp;
pub use record::{HookRun, Info, PreservedFields, ReleaseVersion, StoredHook};
pub use selector::Selector;
pub use source::{ChartSource, SOURCE_FILE};
pub use status::{HookPhase, Status};
pub use store::{
    ObjectOwner, Query, RecordPart, ReleaseHead, Store, StoreChange, StoreChanges, StoreError, StoreFuture,
    driver_word, newest,
};
pub use summary::{Summary, interrupted_description};
pub use version_id::{BadVersionRef, VersionId, VersionRef};
