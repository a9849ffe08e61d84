//! Timestamps in objects, as comparable numbers.

use k8s_openapi::jiff::Timestamp;

/// Parses a timestamp such as `2026-01-31T08:00:00Z` to seconds of Unix time.
pub(crate) fn unix_seconds(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// Formats an age as short as kubectl does.
pub(crate) fn age(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7_200 => format!("{}m", seconds / 60),
        seconds @ 7_200..172_800 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_parsed_with_and_without_fractions_and_ages_are_short() {
        assert_eq!(unix_seconds("1970-01-02T00:00:01Z"), Some(86_401));
        assert_eq!(unix_seconds("1970-01-01T01:00:00.123456+01:00"), Some(0));
        assert_eq!(unix_seconds(""), None);
        assert_eq!(
            [age(-3), age(119), age(600), age(90_000), age(900_000)],
            ["0s", "119s", "10m", "25h", "10d"]
        );
    }
}
