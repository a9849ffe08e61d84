//! Go's time layouts, durations and calendar.
