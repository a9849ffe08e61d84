//! Go's time layouts, durations and calendar.
//!
//! Templates format dates with Go's layouts (`2006-01-02`), parse them, and print durations. This crate has a
//! [`GoTime`] with the range, rounding and texts of Go's `time.Time`, a [`Duration`], and the [`Zone`]s they live in.
//!
//! It knows nothing of templates. The clock and the local zone are read in two places only: [`GoTime::now`] and
//! [`Zone::local`]. All calendar arithmetic is done on 64-bit seconds; no date is out of range.
//!
//! ```
//! use pintle_time::{GoTime, Zone};
//!
//! let time = GoTime::from_unix(1_700_000_000, 0, Zone::utc());
//! assert_eq!(time.format("Mon Jan _2 15:04:05 2006"), "Tue Nov 14 22:13:20 2023");
//! ```

mod civil;
mod duration;
mod format;
mod layout;
mod parse;
mod quote;
mod scan;
mod time;
mod timestamp;
mod zone;

pub use civil::{Month, Weekday};
pub use duration::Duration;
pub use time::GoTime;
pub use timestamp::Timestamp;
pub use zone::Zone;

/// The layout of RFC 3339 in whole seconds.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

/// The layout of RFC 3339 with as many digits of the second as needed.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";
