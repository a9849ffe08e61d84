//! Timestamps as Helm prints them.

use pintle::release::Timestamp;
use pintle_time::{GoTime, RFC3339, RFC3339_NANO, Zone};

/// Go's layout `time.ANSIC`.
const ANSIC: &str = "Mon Jan _2 15:04:05 2006";

/// The layout of Go's `Time.String`.
const PLAIN: &str = "2006-01-02 15:04:05.999999999 -0700 MST";

/// A time in the layout of C's `asctime`; a missing one prints as Go's zero time.
pub(crate) fn ansic(moment: Option<&Timestamp>) -> String {
    go_time(moment).format(ANSIC)
}

/// A time in Go's default layout or another one; a missing one prints as a dash.
pub(crate) fn plain(moment: Option<&Timestamp>, layout: &str) -> String {
    match moment {
        Some(_) if layout.is_empty() => go_time(moment).format(PLAIN),
        Some(_) => go_time(moment).format(layout),
        None => "-".to_owned(),
    }
}

/// A time without fractions of seconds.
pub(crate) fn seconds(moment: Option<&Timestamp>) -> String {
    go_time(moment).format(RFC3339)
}

/// Converts to Go's `Time`: when Go parses a timestamp whose offset is that of the local zone, it uses the local zone.
fn go_time(moment: Option<&Timestamp>) -> GoTime {
    moment
        .and_then(|moment| GoTime::parse(RFC3339_NANO, moment.to_string(), &Zone::local()).ok())
        .unwrap_or_else(|| GoTime::from_unix(FIRST_SECOND, 0, Zone::utc()))
}

/// Go's zero time, 0001-01-01T00:00:00Z, as Unix time.
const FIRST_SECOND: i64 = -62_135_596_800;

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn times_are_written_as_go_writes_them() {
        let time = moment("2026-11-05T09:03:55.120000000Z");
        assert_eq!(ansic(Some(&time)), "Thu Nov  5 09:03:55 2026");
        assert_eq!(plain(Some(&time), ""), "2026-11-05 09:03:55.12 +0000 UTC");
        assert_eq!(plain(Some(&time), "2006"), "2026");
        assert_eq!(seconds(Some(&time)), "2026-11-05T09:03:55Z");
        assert_eq!((ansic(None), plain(None, "2006")), ("Mon Jan  1 00:00:00 0001".into(), "-".into()));
    }
}
