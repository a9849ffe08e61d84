//! The exit codes of the program; no other module decides on them.

use crate::failure::FailureKind;
use crate::personality::Personality;

/// The exit code of a failure. As Helm always 1; otherwise 1 for run-time failures, 2 for bad input or configuration, 3
/// for a chart that does not parse, 4 for an unsupported image, 5 for what `--strict` rejects, 130 after Ctrl-C. Commands that
/// answer by their exit code have 2 for differences and 1 for all failures. A closed output pipe (`| head`) is not a failure.
pub(crate) fn code(personality: Personality, class: FailureKind) -> u8 {
    match (personality, class) {
        (_, FailureKind::BrokenPipe) => 0,
        (_, FailureKind::Exit(code)) => code,
        (_, FailureKind::Changes) => CHANGES,
        (_, FailureKind::Findings) => FINDINGS,
        (_, FailureKind::StalePlan) => STALE_PLAN,
        (Personality::Helm, _) | (_, FailureKind::RunTime | FailureKind::AlreadyReported) => 1,
        (Personality::Pintle, FailureKind::Cancelled) => CANCELLED,
        (Personality::Pintle, FailureKind::BadInput) => 2,
        (Personality::Pintle, FailureKind::BadChart) => 3,
        (Personality::Pintle, FailureKind::BadImage) => 4,
        (Personality::Pintle, FailureKind::Unsupported) => 5,
    }
}

/// There are differences, which is what was asked.
const CHANGES: u8 = 2;

/// There are findings that the user wants to fail on.
const FINDINGS: u8 = 3;

/// The state that a saved plan is based on has changed, and nothing was applied.
const STALE_PLAN: u8 = 3;

/// 128 + SIGINT, as shells report it.
const CANCELLED: u8 = 130;

/// Exits immediately: after a second Ctrl-C, or when nothing has been started yet.
#[expect(clippy::exit, reason = "the user has asked twice, or nothing has been done yet")]
pub(crate) fn cancelled() -> ! {
    std::process::exit(i32::from(CANCELLED))
}

/// Exits immediately after a signal, with the code that shells report for it.
#[cfg(unix)]
#[expect(clippy::exit, reason = "the process was told to end, and its handler replaces the default action")]
pub(crate) fn signalled(signal: i32) -> ! {
    std::process::exit(128 + signal)
}

/// The exit code after a panic.
pub(crate) const BUG: u8 = 101;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helm_fails_with_one_and_we_tell_why() {
        let codes = |personality| {
            [FailureKind::RunTime, FailureKind::BadInput, FailureKind::BadChart, FailureKind::BrokenPipe]
                .map(|c| code(personality, c))
        };
        assert_eq!(codes(Personality::Helm), [1, 1, 1, 0]);
        assert_eq!(codes(Personality::Pintle), [1, 2, 3, 0]);
    }
}
